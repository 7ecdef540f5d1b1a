"""What an audit is: one frozen, JSON-able value that names it, and what its names mean."""

from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

from dpmc_core.completion.common.parameters import Iterations, Penalty
from dpmc_core.config import Choice, Config, Settings, changed, values_of
from dpmc_core.datasets import entry, user_datasets
from dpmc_core.errors import ParameterError, check_names
from dpmc_core.experiments.algorithms import ALGORITHMS, held_for
from dpmc_core.experiments.spec import RunSpec, Spec, read_json
from dpmc_core.limits import LIMITS, Limit
from dpmc_core.mechanisms import FAMILIES, RUN_FAMILIES
from dpmc_core.wording import JsonObject

# What is done to the one number of the "number" target, or (SEARCHES) how an algorithm's noise is
# drawn where the attacker tries every seed. "as-claimed", "on-grid" and "secret" keep the claim.
CASES: dict[str, str] = {
    "as-claimed": "Noise and input range are as claimed.",
    "half-noise": "Broken on purpose: the noise has half the scale claimed.",
    "unclipped": (
        "Broken on purpose: Alice adds 3 where at most 1 was promised, and nobody clips it."
    ),
    "low-bits": (
        "The noise claimed, added in floating point to a count of 1 (Alice) or 0; the "
        "attacker reads the last bits."
    ),
    "on-grid": (
        "The noise that was promised, sampled exactly on a grid: there are no finer bits, so "
        "the same attack has nothing to read."
    ),
    "seed-search": (
        "Repeatable noise, from one of 256 seeds. The attacker sees the item factors, knows "
        "everybody but Alice, and runs the algorithm with every seed."
    ),
    "secret": (
        "Secret noise, from the operating system. The same attacker tries the same seeds, and "
        "finds none that fits."
    ),
}
SEARCHES = ("seed-search", "secret")
SEEDS = 256  # that the attacker tries; all 2³² that a run can have would take some months
NEIGHBOURS: dict[str, str] = {
    "rating": "One of Alice's ratings is a 5 or a 1 (replace one rating).",
    "user": "All of Alice's ratings are in the data or not (add or remove one user).",
    "image": "Alice's picture is in the data, or its place is empty (add or remove one image).",
}
VIEWS: dict[str, str] = {
    "matrix": "the whole completed matrix, Alice's row included",
    "others": "the completed rows of everybody but Alice",
    "items": "the item factors only (as VVᵀ)",
    "factors": "the factors of all other users and of all items",
    "parts": "the learned parts (W)",
}
_ATTACKED = {
    n: card for n, card in ALGORITHMS.items() if card.noise and card.tasks != ("recommend",)
}
FACTOR_TARGETS = tuple(n for n, card in _ATTACKED.items() if card.factorize is not None)
TARGETS = ("number", *_ATTACKED)
# the solvers that ask for sums alone, so that canaries can be planted among the records
ONE_RUN_TARGETS = tuple(n for n, card in _ATTACKED.items() if card.guarantee and card.learn)
_USUAL_RUNS = {"number": 100_000, "on-grid": 20_000, "algorithm": 1_000, "dataset": 500}
_MOST_RUNS = {
    "number": 10_000_000,
    "on-grid": 20_000,
    "algorithm": 10_000,
    "dataset": 10_000,
}  # exact sampling and algorithms are slow
_MOST_WORK = (
    200_000  # iterations (inner ones counted) of all runs on one dataset: about three minutes
)
Possible = tuple[tuple[str, ...], str]  # values, the usual first, and for whom they are
_MOST_ITERATIONS = 500  # of one run, so that an audit can be cancelled between outputs


def seen_by_attacker(view: str, whose: str) -> str:
    """What a ``view`` shows, in words, of the data of ``whose`` record."""
    return VIEWS[view].replace("Alice", whose)


@dataclass(frozen=True, kw_only=True)
class AuditSpec(Config, Spec):
    """Everything that determines an audit. Raises ``ParameterError`` naming field, value and range.

    ``target`` "number" is a count of people released once with ``mechanism`` noise of claimed
    ``epsilon`` (at ``delta`` for Gaussian noise), as ``case`` says; any other target is an
    algorithm, run on a small table of ratings with noise of nominal ``epsilon`` per draw, between
    ``neighbours``, the attacker seeing ``view``. For algorithms with a guarantee ``epsilon`` is the
    total of the run; factorisations are run on a few tiny pictures, ``rank`` parts in
    ``iterations`` rounds. ``runs`` outputs of each dataset are drawn, by default 100,000 numbers
    (20,000 on a grid) or 1,000 models. "" for ``neighbours`` and ``view`` is what the target's
    noise is about.

    With ``canaries`` the algorithm is run once, with so many synthetic records each in or out at
    random, on the dataset (or synthetic data of usual size); the attacker sees all releases.

    With a ``dataset`` (of the catalogue, or one's own) the algorithm is run on that, as it is and
    without its ``record``: a user's name, or the number of a user, image or document, from 1; ""
    for one that stands out. By default 500 models of each are made.
    """

    target: Annotated[str, Choice(TARGETS, "what is attacked")] = "number"
    mechanism: Annotated[str, Choice(tuple(FAMILIES), "distribution of the noise")] = "laplace"
    epsilon: Annotated[float, Limit(1e-3, 1e6, "claimed ε of the release or run")] = 1.0
    alpha: Annotated[float, LIMITS["alpha"]] = 1.5
    delta: Annotated[float, LIMITS["account_delta"]] = 1e-5
    case: Annotated[str, Choice(tuple(CASES), "what is done to the number")] = "as-claimed"
    neighbours: Annotated[str, Choice(("", *NEIGHBOURS), "in what the two datasets differ")] = ""
    view: Annotated[str, Choice(("", *VIEWS), "what the attacker sees")] = ""
    iterations: Iterations = 1
    inner: Annotated[int, Limit(1, 100, "inner reweighting iterations K of IRLS per item pass")] = 2
    rank: Annotated[int, Limit(1, 8, "number of latent factors r on the audit's small table")] = 2
    reg: Penalty = 0.5
    runs: Annotated[
        int,
        Limit(
            0, 10**7, "how many outputs of each of the two datasets are drawn (0: the usual number)"
        ),
    ] = 0
    canaries: Annotated[
        int,
        Limit(
            0,
            5_000,  # pairs of them are held in memory
            "synthetic records, each in or out at random, of an audit from one run (0: by repeated "
            "runs)",
        ),
    ] = 0
    confidence: Annotated[float, LIMITS["confidence"]] = 0.999
    seed: Annotated[int, LIMITS["seed"]] = 0
    dataset: str = ""
    record: str = ""

    @property
    def amount(self) -> int:
        return self.run_spec(0).length if self.canaries else self.runs

    @property
    def own_data(self) -> frozenset[str]:
        return frozenset(filter(user_datasets.is_own, [self.dataset]))

    def consistent(self) -> None:
        self._check_dataset()
        for name, (allowed, whom) in self._choices.items():
            value = getattr(self, name)
            if value == "":
                object.__setattr__(self, name, allowed[0])
            elif value not in allowed:
                among = " or ".join(filter(None, (", ".join(allowed[:-1]), allowed[-1])))
                among = among or "left out"
                raise ParameterError(name, value, f"{among} for {whom}")
        on_grid = "on-grid" if self.case == "on-grid" else "number"
        kind = ("dataset" if self.dataset else "algorithm") if self.target != "number" else on_grid
        if self.canaries:
            if self.runs > 1:
                raise ParameterError("runs", self.runs, "left out with canaries, which take one")
            object.__setattr__(self, "runs", 1)
            return
        if self.runs == 0:
            object.__setattr__(self, "runs", _USUAL_RUNS[kind])
        if not 100 <= self.runs <= _MOST_RUNS[kind]:
            most = f"a whole number from 100 to {_MOST_RUNS[kind]:,} for this target"
            raise ParameterError("runs", self.runs, most)
        if kind in ("algorithm", "dataset"):
            self._check_work()

    @property
    def _choices(self) -> dict[str, Possible]:
        """What is possible for the target and the case."""
        whom = "this target, which is about ratings"
        neighbours: Possible = (("rating", "user"), whom)
        views: Possible = (("matrix", "others", "items", "factors"), whom)
        if self.target in FACTOR_TARGETS:
            whom = "this target, a factorisation"
            neighbours, views = (("image",), whom), (("parts",), whom)
        elif self.target in ALGORITHMS and ALGORITHMS[self.target].unit == "user":
            whom = f"{self.target}, whose claim is about one user added or removed"
            shown = "joint privacy does not hide from Alice what only she is shown"
            neighbours = (("user",), whom)
            views = (("factors", "others", "items"), f"this target: {shown}")
        if self.searches:
            views = (("items",), "the search of seeds")
        mechanisms: Possible = (RUN_FAMILIES, "algorithms")
        if self.target == "number":
            mechanisms = (tuple(FAMILIES), "one number")
        if self.case in ("low-bits", "on-grid"):
            mechanisms = (("huber", "laplace"), self.case)
        targets = TARGETS
        if self.canaries:
            targets, views = ONE_RUN_TARGETS, (("",), "one run, of which all releases are seen")
        return {
            "target": (targets, "an audit from one run"),
            "case": (self.cases, self.target),
            "neighbours": neighbours,
            "view": views,
            "mechanism": mechanisms,
        }

    def _check_dataset(self) -> None:
        if not isinstance(self.record, str) or (
            self.record and (not self.dataset or self.canaries)
        ):
            allowed = "the name or number of a record, left out without a dataset or with canaries"
            raise ParameterError("record", self.record, allowed)
        if self.dataset == "":
            return
        if self.target == "number" or self.searches:
            allowed = "left out for one number, and where all seeds are tried"
            raise ParameterError("dataset", self.dataset, allowed)
        entry(self.dataset, *held_for(ALGORITHMS[self.target].tasks))

    def _check_work(self) -> None:
        spec = self.run_spec(0)
        each = self.iterations if ALGORITHMS[self.target].steps is None else 1
        if self.target not in FACTOR_TARGETS:
            each *= getattr(spec.algorithm, "inner", 1)
        if each > _MOST_ITERATIONS or each * self.runs > _MOST_WORK:
            most = min(_MOST_ITERATIONS, _MOST_WORK // self.runs)
            allowed = f"so few that each run makes at most {most} solves, with {self.runs:,} runs"
            raise ParameterError("iterations", self.iterations, allowed)

    @property
    def searches(self) -> bool:
        """Whether the attacker tries every seed."""
        return self.case in SEARCHES

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases that the target has."""
        if self.target == "number":
            return tuple(name for name in CASES if name not in SEARCHES)
        if self.canaries:
            return "as-claimed", "half-noise"
        return ("as-claimed", *(SEARCHES if self.target == "moments" else ()))

    @property
    def noise_options(self) -> dict[str, float]:
        """What the noise needs beside ε: α for Huber, δ for Gaussian."""
        family = FAMILIES[self.mechanism]
        names = (*family.shape, *(() if family.pure else ("delta",)))
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    @property
    def about_the_whole_run(self) -> bool:
        """Whether ε is the total of an algorithm's whole run, not of one draw."""
        return self.target in ALGORITHMS and ALGORITHMS[self.target].guarantee

    def replace(self, **changes: Any) -> "AuditSpec":
        """A copy with some fields changed."""
        return replace(self, **changes)

    def as_dict(self) -> JsonObject:
        """All fields, JSON-able; ``dataset`` and ``record`` where there are any."""
        named = {"dataset": self.dataset, "record": self.record}
        return values_of(self) | {name: value for name, value in named.items() if value}

    @classmethod
    def from_json(cls, text: str) -> "AuditSpec":
        """An audit from JSON. Raises ``ParameterError`` for anything else, and unknown fields."""
        raw = read_json(text)
        if not isinstance(raw, dict):
            raise ParameterError("spec", raw, "a JSON object as the app exports it")
        check_names("spec field", raw, (f.name for f in fields(cls)))
        return cls(**raw)

    def command(self) -> str:
        """The command line that makes this audit.

        >>> AuditSpec(mechanism="huber", case="half-noise").command()
        'python -m dpmc_core audit --case half-noise --mechanism huber'
        >>> AuditSpec(epsilon=1.23456789, seed=123456789).command()
        'python -m dpmc_core audit --epsilon 1.23456789 --seed 123456789'
        """
        decisive = {n: v for n, v in changed(self).items() if n in ("target", "case", "canaries")}
        usual = values_of(AuditSpec(**decisive, dataset=self.dataset))
        options = {n: v for n, v in self.as_dict().items() if v != usual.get(n)}
        return " ".join(["python -m dpmc_core audit", *user_datasets.flags(decisive | options)])

    def python(self) -> str:
        """Python lines that make this audit."""
        named = {"dataset": self.dataset} if self.dataset else {}
        return (
            user_datasets.lines_of(self.dataset)
            + "from dpmc_core.experiments.tasks.audit import audit\n"
            + "from dpmc_core.experiments.tasks.audit_spec import AuditSpec\n\n"
            + f"print(audit(AuditSpec({user_datasets.keywords(changed(self) | named)})).verdict)\n"
        )

    def run_spec(self, seed: int) -> RunSpec:
        """The run of an algorithm target with this seed.

        Nominal noise is ε per draw at Δ = 5, as the papers assume. What is published of one-shot
        moment NMF needs no rounds on the data.
        """
        card = ALGORITHMS[self.target]
        named: Settings = {
            "algorithm": self.target,
            "mechanism": self.mechanism,
            "epsilon": self.epsilon,
            "alpha": self.noise_options.get("alpha"),
            "delta": self.delta,
            "rank": self.rank,
            **({"secret": True} if self.case == "secret" else {"seed": seed}),
        }
        if card.factorize is not None:
            rounds = 20 if self.target == "moment-nmf" else self.iterations
            data = {"dataset": self.dataset or "cartoon", "n_samples": 100}
            return RunSpec.fitting(named, rounds=rounds, **data)
        rounds_made = {"reg": self.reg, "iterations": self.iterations, "inner": self.inner}
        if self.dataset:
            return RunSpec.fitting(named, dataset=self.dataset, **rounds_made)
        return RunSpec.fitting(named, centring="user", item_share=1.0, clip_norm=1.0, **rounds_made)
