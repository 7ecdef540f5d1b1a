"""Studies as data: their questions, and the spec that names one completely."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpmc_core import limits
from dpmc_core.completion.dpals.plan import DPALSConfig, n_frequent
from dpmc_core.datasets.configs import RatingsData
from dpmc_core.errors import ParameterError
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.studies.cells import COMPLETION, FACTORIZATION, Cell
from dpmc_core.facts import facts, typed

# what is measured of a run -> its axis title
MEASURES: dict[str, str] = {
    "error": "held-out RMSE, clipped (rating units)",
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
    measures: tuple[str, ...] = ("error",)
    holds: tuple[str, ...] = ("images", "documents")
    made: bool = False


_LINES = {"completion": COMPLETION, "factorization": FACTORIZATION}


STUDIES: dict[str, dict[str, Study]] = {
    room: {
        name: typed(Study, said, f"data/studies.toml, {name}")
        for name, said in facts("studies")[room].items()
    }
    for room in _LINES
}


@dataclass(frozen=True)
class StudySpec:
    """A study named completely.

    ``room`` is "completion" or "factorization", ``kind`` one of its ``STUDIES``; ``settings`` are
    flat names and values that its runs share (dataset, δ, the first seed …): each algorithm takes
    what it has a use for. ``seeds`` is how many seeds in a row each point has. Raises
    ``ParameterError``.
    """

    room: str
    kind: str
    settings: tuple[tuple[str, Any], ...]
    seeds: int = 3

    def __post_init__(self) -> None:
        if self.room not in STUDIES:
            raise ParameterError("room", self.room, "one of " + ", ".join(STUDIES))
        if self.kind not in STUDIES[self.room]:
            raise ParameterError("study", self.kind, "one of " + ", ".join(STUDIES[self.room]))
        object.__setattr__(self, "seeds", limits.check_int("study_seeds", self.seeds, said="seeds"))
        base = self.base
        if base.task == "recommend" or dict(self.settings).get("task") == "recommend":
            raise ParameterError("task", base.task, "rate: the studies are of predicted ratings")
        if self.room == "completion":
            if base.task != "rate":
                allowed = "an algorithm that predicts ratings"
                raise ParameterError("algorithm", base.card.name, allowed)
            if base.data.split != "random":
                allowed = "random: every seed of a study has a split of its own"
                raise ParameterError("split", base.data.split, allowed)
        else:
            study, known = self.study, base.data.entry
            if known.holds not in study.holds or (study.made and not known.synthetic):
                made = "synthetic data (cartoon faces or synthetic topics)"
                allowed = f"{made if study.made else 'images'} for this question"
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
    def one_epsilon(self) -> float | None:
        """The total ε of all its runs; None where ε is what it varies."""
        own = STUDIES[self.room][self.kind].own_epsilon
        return None if own else dict(self.settings).get("epsilon")

    @property
    def study(self) -> Study:
        """What it asks."""
        return STUDIES[self.room][self.kind]

    @property
    def base(self) -> RunSpec:
        """A run with the study's settings, for its data, δ and noise."""
        settings = dict(self.settings)
        if "algorithm" not in settings:
            settings["algorithm"] = "moments" if self.room == "completion" else "moment-nmf"
        return RunSpec.fitting(settings)

    @property
    def dataset(self) -> str:
        """The dataset's name."""
        return self.base.dataset

    def as_dict(self) -> dict[str, Any]:
        """A JSON-able copy; ``from_dict`` reads it back."""
        settings = dict(self.settings)
        return {"room": self.room, "kind": self.kind, "settings": settings, "seeds": self.seeds}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> "StudySpec":
        """Read ``as_dict``'s form."""
        return cls.of(raw["room"], raw["kind"], raw["settings"], raw["seeds"])

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.as_dict(), sort_keys=True)

    def python(self) -> str:
        """Python lines that make this study."""
        return (
            "from dpmc_core.experiments.studies.engine import StudySpec, study\n\n"
            f"settings = {dict(self.settings)!r}\n"
            f"result = study(StudySpec.of({self.room!r}, {self.kind!r}, settings, {self.seeds}))\n"
        )


def cells(spec: StudySpec, *, possible: bool = True) -> tuple[Cell, ...]:
    """The points of a study, before seeds.

    ``possible``: without those that its data cannot have.
    """
    settings = {n: v for n, v in spec.settings if n not in ("algorithm", "task")}
    return tuple(c for c in _LINES[spec.room][spec.kind](settings) if not possible or _possible(c))


def _possible(cell: Cell) -> bool:
    """Whether a rank is at most the number of items that factors are learned for."""
    data, config = cell.spec.data, cell.spec.algorithm
    if not isinstance(data, RatingsData) or cell.spec.card.name not in ("dpals", "private-svd"):
        return True
    n_users, n_items = data.sizes
    items = n_frequent(n_items, config) if isinstance(config, DPALSConfig) else n_items
    return bool(config.rank <= min(items, round(cell.users * n_users)))


def count_runs(spec: StudySpec) -> int:
    """How many runs a study makes in all."""
    return sum(seeds_of(spec, cell) for cell in cells(spec))


def seeds_of(spec: StudySpec, cell: Cell) -> int:
    """One where nothing is random: a factorisation without noise, of data that stay the same."""
    random = spec.room == "completion" or cell.fresh or cell.spec.noise.kind != "none"
    return spec.seeds if random else 1
