"""Studies as data: their questions, and the spec that names one completely."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from dpmc_core import limits
from dpmc_core.completion.common.parameters import ITEMS_PER_USER
from dpmc_core.completion.dpals.plan import DPALSConfig, n_frequent
from dpmc_core.config import Config, Settings
from dpmc_core.datasets.configs import RatingsData
from dpmc_core.datasets.ratings import number_of_users
from dpmc_core.errors import ParameterError, check_choice
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.sweeps.spec import ManyRuns, Planned, ends_and_middle
from dpmc_core.facts import facts, typed
from dpmc_core.limits import LIMITS
from dpmc_core.mechanisms import FAMILIES, RUN_FAMILIES
from dpmc_core.metrics import RECALL_AT
from dpmc_core.wording import JsonObject

Lines = Callable[[Settings], list["Cell"]]

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
RIVALS = {
    "rate": ("moments", "private-means", "dpals"),
    "recommend": ("moments", "popular", "dpals"),
}
SHARES_OF_USERS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
HALVES = (1 / 32, *SHARES_OF_USERS)
SHARES_OF_ITEMS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
RANKS = (2, 4, 8, 16, 32)
ROUND_EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.999)
PEOPLE = (300, 1000, 3000, 10_000, 30_000)
VARIANCES = (0.5, 2.0, 8.0, 32.0, 128.0)
CORRUPTED = (0.0, 0.05, 0.1, 0.2, 0.3)
PARTS = {"images": (2, 4, 8, 16, 32), "documents": (2, 4, 6, 8, 10, 12, 16)}


@dataclass(frozen=True)
class Cell:
    """One point of one line: runs of ``spec`` with seeds of their own.

    ``fresh`` says that every seed has data of its own.
    """

    series: str
    x: float
    spec: RunSpec
    fresh: bool = False


def _noisy(s: Settings, algorithm: str, epsilon: float | None, **changes: Any) -> RunSpec:
    mechanism = s.get("mechanism", "none")
    noise = {
        "mechanism": "gaussian" if mechanism == "none" else mechanism,
        "epsilon": epsilon,
        "variance": None,
    }
    return RunSpec.fitting(s, algorithm=algorithm, **{**noise, **changes})


def _published(s: Settings, epsilon: float, **changes: Any) -> RunSpec:
    gaussian = {**s, "mechanism": "gaussian"}  # the only noise it has
    return _noisy(gaussian, "private-nmf-published", epsilon, **changes)


def _quiet(s: Settings, algorithm: str, **changes: Any) -> RunSpec:
    return RunSpec.fitting(s, algorithm=algorithm, mechanism="none", **changes)


def _total(s: Settings) -> float:
    return limits.check("epsilon", s.get("epsilon") or 1.0)


def _title(algorithm: str) -> str:
    return ALGORITHMS[algorithm].title


def _by_epsilon(s: Settings) -> list[Cell]:
    ends = (EPSILONS[0], EPSILONS[-1])
    rivals = RIVALS[s["task"]]
    return [Cell(_title(a), e, _noisy(s, a, e)) for a in rivals for e in EPSILONS] + [
        Cell(f"{_title(a)}, no noise", e, _quiet(s, a)) for a in ("moments", "dpals") for e in ends
    ]


def _by_users(s: Settings) -> list[Cell]:
    epsilon = _total(s)
    rows = _quiet(s, "moments").data.sizes[0]
    part = {share: float(number_of_users(share, rows)) for share in SHARES_OF_USERS}
    return [
        Cell(_title(a), users, _noisy(s, a, epsilon, user_share=share))
        for a in RIVALS["rate"]
        for share, users in part.items()
    ] + [
        Cell("One-shot moments, no noise", users, _quiet(s, "moments", user_share=share))
        for share, users in part.items()
    ]


def _by_share(s: Settings) -> list[Cell]:
    return [
        Cell(f"ε = {e:g}", b, _noisy(s, "dpals", e, item_share=b))
        for e in (1.0, 5.0, 20.0)
        for b in SHARES_OF_ITEMS
    ] + [Cell("no noise", b, _quiet(s, "dpals", item_share=b)) for b in SHARES_OF_ITEMS]


def _by_rank(s: Settings) -> list[Cell]:
    return (
        [
            Cell(f"DPALS, ε = {e:g}", r, _noisy(s, "dpals", e, rank=r))
            for e in (1.0, 10.0)
            for r in RANKS
        ]
        + [Cell("DPALS, no noise", r, _quiet(s, "dpals", rank=r)) for r in RANKS]
        + [Cell("One-shot moments, ε = 10", r, _noisy(s, "moments", 10.0, rank=r)) for r in RANKS]
    )


def _by_projection(s: Settings) -> list[Cell]:
    names = {"inner": "before λ is added", "printed": "as printed", "off": "off"}
    return [
        Cell(title, e, _noisy(s, "dpals", e, projection=name))
        for name, title in names.items()
        for e in (2.0, 5.0, 10.0, 20.0, 50.0)
    ]


def _by_sampling(s: Settings) -> list[Cell]:
    uniform, adaptive, weights = ({"sampling": n} for n in ("uniform", "adaptive", "weights"))
    noisy: dict[str, Settings] = {
        "uniform": uniform,
        "adaptive": adaptive,
        "by weights": weights,
        "adaptive, no projection": {**adaptive, "projection": "off"},
    }
    everything = {**uniform, "items_per_user": int(ITEMS_PER_USER.high)}
    quiet: dict[str, Settings] = {
        "uniform": uniform,
        "adaptive": adaptive,
        "all ratings": everything,
    }
    return [
        Cell(name, b, _noisy(s, "dpals", 10.0, **changes, item_share=b))
        for name, changes in noisy.items()
        for b in SHARES_OF_ITEMS
    ] + [
        Cell(f"{name}, no noise", b, _quiet(s, "dpals", **changes, item_share=b))
        for name, changes in quiet.items()
        for b in SHARES_OF_ITEMS
    ]


def _by_rate(s: Settings) -> list[Cell]:
    epsilon = _total(s)
    lines = {
        f"DPALS, ε = {epsilon:g}": _noisy(s, "dpals", epsilon),
        f"One-shot moments, ε = {epsilon:g}": _noisy(s, "moments", epsilon),
        "DPALS, no noise": _quiet(s, "dpals"),
    }
    return [
        Cell(name, n, spec.replace(n_users=n), fresh=True)
        for name, spec in lines.items()
        for n in (max(round(share * spec.data.sizes[0]), 2) for share in HALVES)
    ]


def _by_exponents(s: Settings) -> list[Cell]:
    return [
        Cell(
            f"μ = {mu:g}, ν = {nu:g}",
            b,
            _noisy(s, "dpals", _total(s), item_exponent=mu, user_exponent=nu, item_share=b),
        )
        for mu, nu in ((0.0, 0.0), (0.5, 1.0), (1.0, 1.0))
        for b in SHARES_OF_ITEMS
    ]


def _by_early_noise(s: Settings) -> list[Cell]:
    # without noise first: each run with noise is held against that of its seed
    quiet = _quiet(s, "als")
    noisy = max(quiet.length // 5, 1)
    return [Cell("no noise", v, quiet) for v in (VARIANCES[0], VARIANCES[-1])] + [
        Cell(
            FAMILIES[name].title,
            v,
            _noisy({**s, "mechanism": name}, "als", None, variance=v, noisy_iterations=noisy),
        )
        for name in RUN_FAMILIES
        for v in VARIANCES
    ]


def _parts_by_epsilon(s: Settings) -> list[Cell]:
    lines = (("NMF, no noise", "nmf"), ("Private NMF, corrected, no noise", "private-nmf"))
    return [
        Cell(_title(a), e, _noisy(s, a, e)) for a in ("moment-nmf", "private-nmf") for e in EPSILONS
    ] + [
        Cell(name, e, _quiet(s, algorithm))
        for name, algorithm in lines
        for e in (EPSILONS[0], EPSILONS[-1])
    ]


def _by_round(s: Settings) -> list[Cell]:
    # for one replaced by another, as the paper counts: one number ε must mean one promise
    alike = {n: v for n, v in s.items() if n not in ("rounds", "inner")}
    alike |= {"mechanism": "gaussian", "neighbours": "replace-one"}
    quiet = _quiet(s, "private-nmf-published")
    delta = limits.check("account_delta", s.get("delta", 1e-5))
    total = {e: overall_epsilon(e, quiet.length, delta) for e in ROUND_EPSILONS}
    return (
        [Cell("as published (not private)", e, _published(s, e)) for e in ROUND_EPSILONS]
        + [
            Cell("as published, no noise", e, quiet)
            for e in (ROUND_EPSILONS[0], ROUND_EPSILONS[-1])
        ]
        + [
            Cell(f"{title}, same overall ε", e, _noisy(alike, algorithm, total[e]))
            for title, algorithm in (
                ("corrected", "private-nmf"),
                ("One-shot moment NMF", "moment-nmf"),
            )
            for e in ROUND_EPSILONS
        ]
    )


def overall_epsilon(epsilon: float, rounds: int, delta: float) -> float:
    """Return ε of T rounds of A and B, each with Δ/τ = ε/√(2 ln(1.25/δ)).

    By Rényi divergence at the best order: the paper's own formula (nmf-paper section 3.3).
    """
    ratio = epsilon**2 / (2 * math.log(1.25 / delta))
    spent = 2 * rounds * ratio
    order = 1 + math.sqrt(2 * math.log(1 / delta) / spent)
    return order * spent / 2 + math.log(1 / delta) / (order - 1)


def _by_parts(s: Settings) -> list[Cell]:
    smallest = _quiet(s, "nmf", rank=2)
    epsilon, out = _total(s), []
    for k in PARTS[smallest.data.entry.holds]:
        if k <= smallest.data.largest_rank:
            moments = _noisy(s, "moment-nmf", epsilon, rank=k)
            out.append(Cell("NMF, no noise", k, _quiet(s, "nmf", rank=k)))
            out.append(Cell(f"One-shot moment NMF, ε = {epsilon:g}", k, moments))
    return out


def _by_people(s: Settings) -> list[Cell]:
    epsilon, out = _total(s), []
    for n in PEOPLE:
        for name, spec in (
            (
                f"One-shot moment NMF, ε = {epsilon:g}",
                _noisy(s, "moment-nmf", epsilon, n_samples=n),
            ),
            (
                f"Private NMF, corrected, ε = {epsilon:g}",
                _noisy(s, "private-nmf", epsilon, n_samples=n),
            ),
            ("as published (not private)", _published(s, 0.5, rounds=100, n_samples=n)),
        ):
            out.append(Cell(name, n, spec, fresh=True))
    return out


def _by_corruption(s: Settings) -> list[Cell]:
    epsilon = _total(s)
    robust = RunSpec.of(algorithm="robust-nmf").algorithm
    steps, penalty = robust.inner, robust.outlier_penalty  # as many steps for both
    return [
        Cell(name, share, spec, fresh=share > 0)
        for share in CORRUPTED
        for name, spec in (
            ("NMF, no noise", _quiet(s, "nmf", inner=steps, contaminated=share)),
            ("Robust NMF, no noise", _quiet(s, "robust-nmf", contaminated=share)),
            (
                f"One-shot moment NMF, ε = {epsilon:g}",
                _noisy(s, "moment-nmf", epsilon, contaminated=share),
            ),
            (
                "as published (not private)",
                _published(s, 0.5, rounds=40, outlier_penalty=penalty, contaminated=share),
            ),
        )
    ]


COMPLETION: dict[str, Lines] = {
    "epsilon": _by_epsilon,
    "people": _by_users,
    "items": _by_share,
    "rank": _by_rank,
    "projection": _by_projection,
    "sampling": _by_sampling,
    "exponents": _by_exponents,
    "minima": _by_early_noise,
    "rate": _by_rate,
    "recall-epsilon": _by_epsilon,
    "recall-rank": _by_rank,
    "recall-items": _by_share,
}
FACTORIZATION: dict[str, Lines] = {
    "epsilon": _parts_by_epsilon,
    "rounds": _by_round,
    "parts": _by_parts,
    "people": _by_people,
    "outliers": _by_corruption,
}


# what is measured of a run -> its axis title
MEASURES: dict[str, str] = {
    "error": "held-out RMSE, clipped (rating units)",
    "apart": "objective at the end, against no noise (%)",
    "truth": "RMSE of all entries (that of predicting 0 is 1; log scale)",
    "recall": f"Recall@{RECALL_AT} of held-out users (share)",
    "objective": "objective (squared error / 2 per column of length 1)",
    "found": "true parts found (share)",
    "npmi": "NPMI coherence (−1 to 1)",
    "tc_w2v": "TC-W2V coherence (cosine; see the warning)",
    "epsilon": "overall ε, by the paper's formula",
}


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study as a visitor meets it; the fields are described at the top of ``studies.toml``."""

    title: str
    intro: str
    x_title: str
    log_x: bool
    source: str
    own_epsilon: bool = False
    protected: bool = True
    measures: tuple[str, ...] = ("error",)
    holds: tuple[str, ...] = ("images", "documents")
    made: bool = False
    task: str = ""
    dataset: str = ""
    log_y: bool = False


_LINES = {"completion": COMPLETION, "factorization": FACTORIZATION}


STUDIES: dict[str, dict[str, Study]] = {
    room: {
        name: typed(Study, raw, f"data/studies.toml, {name}")
        for name, raw in facts("studies")[room].items()
    }
    for room in _LINES
}


@dataclass(frozen=True)
class StudySpec(Config, ManyRuns):
    """A study named completely.

    ``room`` is "completion" or "factorization", ``kind`` one of its ``STUDIES``; ``settings`` are
    flat names and values that its runs share (dataset, δ, the first seed …): each algorithm takes
    what it has a use for. ``seeds`` is how many seeds in a row each point has; ``short``: lines
    have three points at most. Raises ``ParameterError``.
    """

    room: str
    kind: str
    settings: tuple[tuple[str, Any], ...]
    seeds: Annotated[int, LIMITS["study_seeds"]] = 3
    short: bool = False

    def consistent(self) -> None:
        check_choice("room", self.room, STUDIES)
        check_choice("study", self.kind, STUDIES[self.room])
        given = dict(self.settings).get("task", self.task)
        if given != self.task:
            raise ParameterError("task", given, f"{self.task} for this study")
        base = self.base
        if self.room == "completion":
            if self.study.dataset not in ("", base.dataset):
                allowed = f"{self.study.dataset}, the data that this question is about"
                raise ParameterError("dataset", base.dataset, allowed)
            if base.data.split != "random":
                allowed = "random: every seed of a study has a split of its own"
                raise ParameterError("split", base.data.split, allowed)
        else:
            study, entry = self.study, base.data.entry
            if entry.holds not in study.holds or (study.made and not entry.synthetic):
                synthetic_kinds = "synthetic data (cartoon faces or synthetic topics)"
                allowed = f"{synthetic_kinds if study.made else 'images'} for this question"
                raise ParameterError("dataset", base.dataset, allowed)
        limits.check("seed", base.seed + self.seeds - 1)
        limits.check("data_seed", base.data.data_seed + self.seeds - 1)
        if not cells(self):  # which checks every run's own settings before the first is made
            most = min(base.data.sizes)
            rank = getattr(base.algorithm, "rank", most)
            allowed = f"at most {most} here, for any point of the study to exist"
            raise ParameterError("rank", rank, allowed)

    @classmethod
    def of(cls, room: str, kind: str, settings: Mapping[str, Any], seeds: int = 3) -> "StudySpec":
        """A study from a mapping of settings."""
        return cls(room, kind, tuple(sorted(settings.items())), seeds)

    @property
    def quick(self) -> "StudySpec":
        """A few of its runs, for a quick look: three points of each line, two seeds."""
        return replace(self, seeds=min(self.seeds, 2), short=True)

    @property
    def one_epsilon(self) -> float | None:
        """The total ε of all its runs; None where ε is what it varies."""
        return None if self.study.own_epsilon else dict(self.settings).get("epsilon")

    @property
    def study(self) -> Study:
        """What it asks."""
        return STUDIES[self.room][self.kind]

    @property
    def task(self) -> str:
        """The task of its runs."""
        return self.study.task or ("rate" if self.room == "completion" else "factorize")

    @property
    def base(self) -> RunSpec:
        """A run with the study's settings, for its data, δ and noise."""
        settings = {**dict(self.settings), "task": self.task}
        if "algorithm" not in settings:
            settings["algorithm"] = "moments" if self.room == "completion" else "moment-nmf"
        return RunSpec.fitting(settings)

    @property
    def dataset(self) -> str:
        """The dataset's name."""
        return self.base.dataset

    @property
    def amount(self) -> int:
        return sum(seeds_of(self, cell) for cell in cells(self))

    def weighted_runs(self) -> Iterable[tuple[RunSpec, float]]:
        return ((cell.spec, float(seeds_of(self, cell))) for cell in cells(self))

    @property
    def word_vectors(self) -> bool:
        return "tc_w2v" in self.study.measures

    def plan(self) -> Iterator[Planned]:
        wanted = cells(self)
        fresh = any(cell.fresh for cell in wanted)
        for k in range(self.seeds):
            for n, cell in enumerate(wanted):
                if k < seeds_of(self, cell):
                    data = {"data_seed": cell.spec.data.data_seed + k} if fresh else {}
                    yield Planned(
                        cell=n,
                        settings=(("series", cell.series), ("x", cell.x)),
                        replicate=k,
                        spec=cell.spec.repetition(cell.spec.seed + k, **data),
                    )

    def as_dict(self) -> JsonObject:
        """A JSON-able copy; ``from_dict`` reads it back."""
        return {**vars(self), "settings": dict(self.settings)}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> "StudySpec":
        """Read ``as_dict``'s form."""
        return cls(**{**raw, "settings": tuple(sorted(raw["settings"].items()))})

    def python(self) -> str:
        """Python lines that make this study."""
        return (
            "from dpmc_core.experiments.studies.engine import study\n"
            "from dpmc_core.experiments.studies.spec import StudySpec\n\n"
            f"result = study(StudySpec.from_dict({self.as_dict()!r}))\n"
        )


def cells(spec: StudySpec, *, possible: bool = True) -> tuple[Cell, ...]:
    """The points of a study, before seeds.

    ``possible``: without those that its data cannot have.
    """
    settings = {n: v for n, v in spec.settings if n != "algorithm"} | {"task": spec.task}
    points = [c for c in _LINES[spec.room][spec.kind](settings) if not possible or _possible(c)]
    places = defaultdict[str, list[float]](list)
    for cell in points:
        places[cell.series].append(cell.x)
    return tuple(c for c in points if not spec.short or c.x in ends_and_middle(places[c.series]))


def _possible(cell: Cell) -> bool:
    """Whether a rank is at most the number of items that factors are learned for."""
    data, config = cell.spec.data, cell.spec.algorithm
    if not isinstance(data, RatingsData) or cell.spec.card.name not in ("dpals", "private-svd"):
        return True
    n_users, n_items = data.sizes
    items = n_frequent(n_items, config) if isinstance(config, DPALSConfig) else n_items
    return bool(config.rank <= min(items, round(data.user_share * n_users)))


def seeds_of(spec: StudySpec, cell: Cell) -> int:
    """One where nothing is random: a factorisation without noise, of data that stay the same."""
    random = spec.room == "completion" or cell.fresh or cell.spec.noise.kind != "none"
    return spec.seeds if random else 1
