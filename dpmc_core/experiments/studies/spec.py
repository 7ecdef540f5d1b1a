"""Studies as data: their questions, and the spec that names one completely."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from dpmc_core import limits
from dpmc_core.completion.common.parameters import ITEMS_PER_USER
from dpmc_core.completion.dpals.plan import DPALSConfig, n_frequent
from dpmc_core.config import Config, Settings
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

CellsOf = Callable[[Settings], list["Cell"]]

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
START_ROUNDS = (30, 100, 300)
STARTS = {"nndsvd": "NNDSVD (not private)", "random": "random start"}
PARTS = {"images": (2, 4, 8, 16, 32), "documents": (2, 4, 6, 8, 10, 12, 16)}


@dataclass(frozen=True)
class Cell:
    """One point of one line: runs of ``spec`` with seeds of their own.

    ``fresh`` says that every seed has data of its own.
    """

    series: str
    x: float
    spec: RunSpec
    fresh: bool


def _along(
    s: Settings,
    name: str,
    places: Iterable[float] | Mapping[float, float],
    lines: Mapping[str, Settings],
    *,
    fresh: bool = False,
) -> list[Cell]:
    """Each of the ``lines`` (title → what its runs have beside the settings ``s``) at each of the
    ``places``, which are values of the parameter ``name`` or stand for them.
    """
    values = places if isinstance(places, Mapping) else {x: x for x in places}
    return [
        Cell(title, x, RunSpec.fitting(s, **{**line, name: value}), fresh)
        for title, line in lines.items()
        for x, value in values.items()
    ]


def _private(algorithm: str, epsilon: float | None = None, **more: Any) -> Settings:
    return {"algorithm": algorithm, "epsilon": epsilon, "variance": None, **more}


def _published(epsilon: float | None = None, **more: Any) -> Settings:
    # Gaussian noise is all it has
    return _private("private-nmf-published", epsilon, mechanism="gaussian", **more)


def _quiet(algorithm: str, **more: Any) -> Settings:
    return {"algorithm": algorithm, "mechanism": "none", **more}


def _total(s: Settings) -> float:
    return limits.check("epsilon", s.get("epsilon") or 1.0)


def _title(algorithm: str) -> str:
    return ALGORITHMS[algorithm].title


def _at_epsilon(epsilon: float, *algorithms: str) -> dict[str, Settings]:
    return {f"{_title(name)}, ε = {epsilon:g}": _private(name, epsilon) for name in algorithms}


def _without_noise(*algorithms: str) -> dict[str, Settings]:
    return {f"{_title(name)}, no noise": _quiet(name) for name in algorithms}


def _against_epsilon(
    s: Settings,
    private: Iterable[str],
    quiet: Iterable[str],
    places: Sequence[float] = EPSILONS,
    *,
    fresh: bool = False,
) -> list[Cell]:
    lines = {_title(name): _private(name) for name in private}
    ends = _along(s, "epsilon", _ends(places), _without_noise(*quiet), fresh=fresh)
    return _along(s, "epsilon", places, lines, fresh=fresh) + ends


def _ends(places: Sequence[float]) -> tuple[float, float]:
    return places[0], places[-1]


def _by_epsilon(s: Settings) -> list[Cell]:
    return _against_epsilon(s, RIVALS[s["task"]], ("moments", "dpals"))


def _by_users(s: Settings) -> list[Cell]:
    rows = RunSpec.fitting(s, **_quiet("moments")).data.sizes[0]
    shares = {float(number_of_users(share, rows)): share for share in SHARES_OF_USERS}
    lines = {_title(name): _private(name, _total(s)) for name in RIVALS["rate"]}
    return _along(s, "user_share", shares, lines | _without_noise("moments"))


def _by_share(s: Settings) -> list[Cell]:
    lines = {f"ε = {e:g}": _private("dpals", e) for e in (1.0, 5.0, 20.0)}
    return _along(s, "item_share", SHARES_OF_ITEMS, {**lines, "no noise": _quiet("dpals")})


def _by_rank(s: Settings) -> list[Cell]:
    dpals = _at_epsilon(1.0, "dpals") | _at_epsilon(10.0, "dpals") | _without_noise("dpals")
    return _along(s, "rank", RANKS, dpals | _at_epsilon(10.0, "moments"))


def _by_projection(s: Settings) -> list[Cell]:
    names = {"before λ is added": "inner", "as printed": "printed", "off": "off"}
    lines = {title: _private("dpals", projection=name) for title, name in names.items()}
    return _along(s, "epsilon", (2.0, 5.0, 10.0, 20.0, 50.0), lines)


def _by_gradient_steps(s: Settings) -> list[Cell]:
    lines = {"noisy sums": _private("dpals", solve="perturbed")}
    for n in (2, 10):
        lines[f"{n} gradient steps"] = _private("dpals", solve="gradient", gradient_steps=n)
    return _along(s, "epsilon", (1.0, 2.0, 5.0, 20.0), lines)


def _by_sampling(s: Settings) -> list[Cell]:
    noisy = partial(_private, "dpals", 10.0)
    everything = int(ITEMS_PER_USER.high)
    lines = {
        "uniform": noisy(sampling="uniform"),
        "adaptive": noisy(sampling="adaptive"),
        "by weights": noisy(sampling="weights"),
        "adaptive, no projection": noisy(sampling="adaptive", projection="off"),
        "uniform, no noise": _quiet("dpals", sampling="uniform"),
        "adaptive, no noise": _quiet("dpals", sampling="adaptive"),
        "all ratings, no noise": _quiet("dpals", sampling="uniform", items_per_user=everything),
    }
    return _along(s, "item_share", SHARES_OF_ITEMS, lines)


def _rate_by_users(s: Settings) -> list[Cell]:
    """Errors by the number of users, with data of their own."""
    users = RunSpec.fitting(s, **_quiet("dpals")).data.sizes[0]
    lines = _at_epsilon(_total(s), "dpals", "moments", "private-fw") | _without_noise("dpals")
    return _along(s, "n_users", _sizes(users), lines, fresh=True)


def _rate_by_epsilon(s: Settings) -> list[Cell]:
    delta = limits.check("account_delta", s.get("delta", 1e-5))
    places = [e for e in EPSILONS if e < math.log(1 / delta)]  # as Theorem 2 asks
    return _against_epsilon(s, ("dpals", "private-fw"), ("dpals",), places, fresh=True)


def _rate_by_items(s: Settings) -> list[Cell]:
    """Errors by the number of items, with which k grows."""
    fitted = RunSpec.fitting(s, **_quiet("dpals"))
    m, k = fitted.data.sizes[1], fitted.algorithm.items_per_user
    lines = _at_epsilon(_total(s), "dpals", "private-fw") | _without_noise("dpals")
    shares = (1 / 4, 1 / 2, 1, 2, 4)
    places = {round(share * m): max(round(share * k), 1) for share in shares}
    return [
        Cell(
            title,
            items,
            RunSpec.fitting(s, **line, n_items=items, item_share=1.0, items_per_user=rated),
            fresh=True,
        )
        for title, line in lines.items()
        for items, rated in places.items()
    ]


def _sizes(users: int) -> list[int]:
    return [max(round(share * users), 2) for share in HALVES]


def _regressions(s: Settings) -> list[Cell]:
    """One iteration of DPALS on given users' vectors, all items learned."""
    data = RunSpec.fitting(s, **_quiet("dpals")).data
    users, m = data.sizes
    one: Settings = {
        **s,
        "observed": 1.0,
        "item_share": 1.0,
        "items_per_user": m,
        "iterations": 1,
        "user_sample": "given",
        "centring": "none",
        "rank": data.true_rank,
        # rows of X have a mean square of m: one in a thousand is longer at rank 5
        "clip_norm": 2 * math.sqrt(m),
        "value_clip": 4.0,
    }
    lines = _at_epsilon(_total(s), "dpals") | _without_noise("dpals")
    return _along(one, "n_users", _sizes(users), lines, fresh=True)


def _by_exponents(s: Settings) -> list[Cell]:
    lines = {
        f"μ = {mu:g}, ν = {nu:g}": _private("dpals", _total(s), item_exponent=mu, user_exponent=nu)
        for mu, nu in ((0.0, 0.0), (0.5, 1.0), (1.0, 1.0))
    }
    return _along(s, "item_share", SHARES_OF_ITEMS, lines)


def _by_early_noise(s: Settings) -> list[Cell]:
    noisy = max(RunSpec.fitting(s, **_quiet("als")).length // 5, 1)
    lines = {
        FAMILIES[name].title: _private("als", mechanism=name, noisy_iterations=noisy)
        for name in RUN_FAMILIES
    }
    # without noise first: each run with noise is held against that of its seed
    quiet = _along(s, "variance", _ends(VARIANCES), {"no noise": _quiet("als")})
    return quiet + _along(s, "variance", VARIANCES, lines)


def _by_round(s: Settings) -> list[Cell]:
    # for one replaced by another, as the paper counts: one number ε must mean one promise
    alike = {n: v for n, v in s.items() if n not in ("rounds", "inner")}
    alike |= {"mechanism": "gaussian", "neighbours": "replace-one"}
    quiet = _quiet("private-nmf-published")
    delta = limits.check("account_delta", s.get("delta", 1e-5))
    rounds = RunSpec.fitting(s, **quiet).length
    overall = {e: overall_epsilon(e, rounds, delta) for e in ROUND_EPSILONS}
    corrected = {
        "corrected, same overall ε": _private("private-nmf"),
        "One-shot moment NMF, same overall ε": _private("moment-nmf"),
    }
    return (
        _along(s, "epsilon", ROUND_EPSILONS, {"as published (not private)": _published()})
        + _along(s, "epsilon", _ends(ROUND_EPSILONS), {"as published, no noise": quiet})
        + _along(alike, "epsilon", overall, corrected)
    )


def _by_start(s: Settings) -> list[Cell]:
    quiet = _quiet("private-nmf-published")
    return [
        cell
        for name, title in STARTS.items()
        for cell in _along(
            {**s, "dictionary_start": name},
            "rounds",
            START_ROUNDS,
            {title: _published(0.5), f"{title}, no noise": quiet},
            fresh=True,
        )
    ]


def overall_epsilon(epsilon: float, rounds: int, delta: float) -> float:
    """Return ε of T rounds of A and B, each with Δ/τ = ε/√(2 ln(1.25/δ)).

    By Rényi divergence at the best order: the paper's own formula (nmf-paper section 3.3).
    """
    ratio = epsilon**2 / (2 * math.log(1.25 / delta))
    spent = 2 * rounds * ratio
    order = 1 + math.sqrt(2 * math.log(1 / delta) / spent)
    return order * spent / 2 + math.log(1 / delta) / (order - 1)


def _by_parts(s: Settings) -> list[Cell]:
    smallest = RunSpec.fitting(s, **_quiet("nmf", rank=2)).data
    lines = _without_noise("nmf") | _at_epsilon(_total(s), "moment-nmf")
    parts = (k for k in PARTS[smallest.entry.holds] if k <= smallest.largest_rank)
    return [cell for k in parts for cell in _along(s, "rank", [k], lines)]


def _by_people(s: Settings) -> list[Cell]:
    lines = {
        **_at_epsilon(_total(s), "moment-nmf", "private-nmf"),
        "as published (not private)": _published(0.5, rounds=100),
    }
    return [c for n in PEOPLE for c in _along(s, "n_samples", [n], lines, fresh=True)]


def _by_corruption(s: Settings) -> list[Cell]:
    robust = RunSpec.of(algorithm="robust-nmf").algorithm
    steps, penalty = robust.inner, robust.outlier_penalty  # as many steps for both
    lines = {
        "NMF, no noise": _quiet("nmf", inner=steps),
        **_without_noise("robust-nmf"),
        **_at_epsilon(_total(s), "moment-nmf"),
        "as published (not private)": _published(0.5, rounds=40, outlier_penalty=penalty),
    }
    return [
        cell
        for share in CORRUPTED
        for cell in _along(s, "contaminated", [share], lines, fresh=share > 0)
    ]


_CELLS: dict[str, dict[str, CellsOf]] = {
    "completion": {
        "epsilon": _by_epsilon,
        "people": _by_users,
        "items": _by_share,
        "rank": _by_rank,
        "projection": _by_projection,
        "gradient": _by_gradient_steps,
        "sampling": _by_sampling,
        "exponents": _by_exponents,
        "minima": _by_early_noise,
        "rate": _rate_by_users,
        "rate-epsilon": _rate_by_epsilon,
        "rate-items": _rate_by_items,
        "regressions": _regressions,
        "recall-epsilon": _by_epsilon,
        "diversity": _by_epsilon,
        "recall-rank": _by_rank,
        "recall-items": _by_share,
    },
    "factorization": {
        "epsilon": partial(
            _against_epsilon, private=("moment-nmf", "private-nmf"), quiet=("nmf", "private-nmf")
        ),
        "rounds": _by_round,
        "start": _by_start,
        "parts": _by_parts,
        "people": _by_people,
        "outliers": _by_corruption,
    },
}


# what is measured of a run -> its axis title
MEASURES: dict[str, str] = {
    "error": "held-out RMSE, clipped (rating units)",
    "apart": "objective at the end, against no noise (%)",
    "truth": "RMSE of all entries (that of predicting 0 is 1; log scale)",
    "recall": f"Recall@{RECALL_AT} of held-out users (share)",
    "popular": "places that the most rated tenth takes (share)",
    "coverage": "items that anybody is recommended (share)",
    "objective": "objective (squared error / 2 per column of length at most 1)",
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


STUDIES: dict[str, dict[str, Study]] = {
    room: {
        name: typed(Study, raw, f"data/studies.toml, {name}")
        for name, raw in facts("studies")[room].items()
    }
    for room in _CELLS
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
        usual = "moments" if self.room == "completion" else "moment-nmf"
        return RunSpec.fitting({"algorithm": usual, **dict(self.settings), "task": self.task})

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
    if settings.get("mechanism", "none") == "none":
        settings["mechanism"] = "gaussian"  # of all lines with noise
    points = [c for c in _CELLS[spec.room][spec.kind](settings) if not possible or _possible(c)]
    places = defaultdict[str, list[float]](list)
    for cell in points:
        places[cell.series].append(cell.x)
    return tuple(c for c in points if not spec.short or c.x in ends_and_middle(places[c.series]))


def _possible(cell: Cell) -> bool:
    """Whether a rank is at most the number of items that factors are learned for."""
    data, config = cell.spec.data, cell.spec.algorithm
    if cell.spec.card.name not in ("dpals", "private-svd"):
        return True
    n_users, n_items = data.sizes
    items = n_frequent(n_items, config) if isinstance(config, DPALSConfig) else n_items
    return bool(config.rank <= min(items, round(data.user_share * n_users)))


def seeds_of(spec: StudySpec, cell: Cell) -> int:
    """One where nothing is random: a factorisation without noise, of data that stay the same."""
    random = spec.room == "completion" or cell.fresh or cell.spec.noise.kind != "none"
    return spec.seeds if random else 1
