"""Computing the rows of a table, keeping what came out, and whether a printed number was met.

Running all trials of a table through the run store (so that it can be stopped and goes on), the
file of results, and one new trial of one row.

One rule for all rows. *Reproduced*: ours equals the printed value to its rounding or within the
share that the row allows (exact rows), or lies no farther from it than two means of as many trials
as ours may lie apart by chance (√2 times the half-width of our 95 % interval), or 2 % of it. *Same
trend*: not that, but within a factor of 1.5, and the row differs from its reference row (the same
without noise; without noise, the one with more or less data) in the printed direction, by a paired
95 % interval: noise, or less data, hurts here too. *Differs*: neither. The paper's number of trials
is taken to be ours. Of exact replicates one in twenty would not be *reproduced* by chance. *No
printed value*: the paper draws it, or the row is ours.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import numpy as np

from dpmc_core import paths
from dpmc_core.datasets.catalogue import entry as dataset_entry
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.papers.entries import rows_of
from dpmc_core.experiments.papers.row import Row
from dpmc_core.experiments.spec import RunSpec, Spec
from dpmc_core.experiments.store.records import Record, key_of, record_of, run_single_threaded
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.experiments.sweeps.spec import seeds_of
from dpmc_core.experiments.sweeps.sweep import make_all
from dpmc_core.experiments.sweeps.tradeoff import largest
from dpmc_core.experiments.sweeps.workers import Workers
from dpmc_core.experiments.tasks.solve import versions
from dpmc_core.metrics.intervals import t_half_width
from dpmc_core.wording import three

REPRODUCED, TREND, DIFFERS, UNPRINTED, MISSING = KINDS = (
    "reproduced",
    "same trend",
    "differs",
    "no printed value",
    "not computed here",
)
_CLOSE = 0.02
_FAR = 1.5  # beyond this factor no trend makes up for the distance


@dataclass(frozen=True)
class Verdict:
    """``kind`` is one of ``KINDS``; ``why`` one sentence with the numbers that decide."""

    kind: str
    why: str


def verdict(
    row: Row,
    values: Sequence[float],
    reference: tuple[float, Sequence[tuple[float, float]]] | None = None,
) -> Verdict:
    """The verdict on ``row`` by our ``values`` by trial, and the reference row's printed value and
    pairs of values (this row's, that row's) of the same trials.

    >>> from dpmc_core.wording import Printed
    >>> row = Row(setting={}, metric="", printed=Printed("huber", "3", {}, "rmse", "2.0", ""))
    >>> verdict(row, [1.99, 2.01, 2.03]).kind
    'reproduced'
    >>> verdict(row, [1.1, 1.2, 1.15], (1.0, [(1.1, 0.9), (1.2, 1.0), (1.15, 0.97)])).kind
    'differs'
    >>> verdict(row, [1.5, 1.6, 1.55], (1.0, [(1.5, 0.9), (1.6, 1.0), (1.55, 0.97)])).kind
    'same trend'
    """
    if not values:
        return Verdict(MISSING, "There is no data for it here.")
    if row.printed is None:
        return Verdict(
            UNPRINTED,
            "The paper draws this, or does not have it: there is no number to compare with.",
        )
    text, target, mean = row.printed.text, row.printed.value, float(np.mean(values))
    apart = mean - target
    if row.exact is not None:
        if abs(apart) <= row.printed.rounding * (1 + 1e-9):
            return Verdict(REPRODUCED, f"Equal to the printed {text} as it is rounded.")
        if abs(apart) <= row.within * abs(target):
            return Verdict(
                REPRODUCED,
                f"Within {100 * row.within:g} % of the printed {text} "
                f"({100 * apart / target:+.2f} %).",
            )
        share = apart / target
        percent = f"{100 * share:+,.0f}" if abs(share) >= 0.1 else f"{100 * share:+.2g}"
        return Verdict(DIFFERS, f"Ours is {apart:+.3g} from the printed {text} ({percent} %).")
    half = t_half_width(values)
    allowed = max(_CLOSE * abs(target), 0.0 if math.isnan(half) else math.sqrt(2) * half)
    if abs(apart) <= allowed:
        how = (
            "2 % of it"
            if allowed <= _CLOSE * abs(target)
            else "what two means of as many trials may differ by"
        )
        return Verdict(
            REPRODUCED,
            f"Ours is {apart:+.3g} from the printed {text}, within {how} (±{three(allowed)}).",
        )
    far = (
        f"Ours is {apart:+.3g} from the printed {text} ({100 * apart / target:+.0f} %), more "
        f"than ±{three(allowed)}"
    )
    if reference is None:
        return Verdict(DIFFERS, far + ".")
    base, pairs = reference
    steps = [mine - other for mine, other in pairs]
    step, wide = float(np.mean(steps)), t_half_width(steps)
    comparison = f"{target - base:+.3g} in the paper, {step:+.3g} ± {three(wide)} here"
    same_way = not math.isnan(wide) and abs(step) > wide and step * (target - base) > 0
    if same_way and 1 / _FAR <= mean / target <= _FAR:
        return Verdict(
            TREND, f"{far}; but against its reference row it goes the same way ({comparison})."
        )
    return Verdict(
        DIFFERS,
        f"{far}"
        + (f", beyond a factor of {_FAR:g}" if same_way else "")
        + f"; against its reference row: {comparison}.",
    )


RESULTS = paths.RESULTS / "papers"
_ROOT = 20_261_121  # the master seed
FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class RowResult:
    """What came out for one row.

    ``values`` by trial, the best baseline's on the same data (empty where there is none),
    the largest ε that the runs state (None without noise or a finite one) and whether that is
    nominal; ``epsilon_published`` by published results alone. ``failed`` are the numbers of the
    trials that overflowed; ``values`` leaves them out.
    """

    id: str
    values: tuple[float, ...] = ()
    baselines: tuple[float, ...] = ()
    epsilon: float | None = None
    epsilon_published: float | None = None
    nominal: bool = False
    failed: tuple[int, ...] = ()
    seconds: float = 0.0

    @property
    def by_trial(self) -> dict[int, float]:
        """Number of the trial → value."""
        numbers = [k for k in range(len(self.values) + len(self.failed)) if k not in self.failed]
        return dict(zip(numbers, self.values, strict=True))

    @property
    def mean(self) -> float:
        """Mean over trials; NaN without any."""
        return float(np.mean(self.values)) if self.values else math.nan


@dataclass(frozen=True, kw_only=True)
class PaperResult:
    """The results of one table, with all that is needed to make them again."""

    entry: str
    command: str
    seed: int
    date: str
    seconds: float
    versions: dict[str, str] = field(default_factory=dict)
    rows: tuple[RowResult, ...] = ()

    def row(self, name: str) -> RowResult:
        """The row called ``name``, empty where it was not computed."""
        return next((row for row in self.rows if row.id == name), RowResult(id=name))

    def pairs(self, one: str, other: str) -> list[tuple[float, float]]:
        """The values of two rows, by their names, in each trial that both have."""
        a, b = self.row(one).by_trial, self.row(other).by_trial
        return [(a[k], b[k]) for k in sorted(a.keys() & b.keys())]


def compute(
    entry: str,
    store: RunStore,
    *,
    jobs: int = 1,
    trials: int | None = None,
    dataset: str = "",
    tell: Callable[[str], None] = lambda _: None,
) -> PaperResult:
    """All rows of ``entry`` whose data is here, or those that need one ``dataset``; ``jobs`` runs
    at once, ``trials`` of each instead of the row's own number. ``tell`` hears about progress.

    Runs are kept in ``store`` as they finish: called again, those are not made again. Raises
    ``ParameterError`` for a name without rows.
    """
    rows = rows_of(entry)
    if not rows:
        raise ParameterError("paper", entry, "a table or figure with rows to compute")
    started = time.perf_counter()
    able = [
        row
        for row in rows
        if row.computable
        and dataset in ("", row.needs)
        and (not row.needs or dataset_entry(row.needs).present())
    ]
    specs = {
        row.id: {key_of(s): s for s in specs_of(row, trials)}
        for row in able
        if row.spec is not None
    }
    last_report = -math.inf
    keyed = {key: spec for of_row in specs.values() for key, spec in of_row.items()}
    with Workers(jobs) as workers:
        for status in make_all(keyed, store, workers):
            if status.seconds - last_report > 10 or status.done == status.total:
                last_report = status.seconds
                left = "" if status.remaining is None else f", about {status.remaining:.0f} s left"
                tell(f"{entry}: {status.done} of {status.total} runs{left}")
    saved = store.find(keyed)
    results = []
    for row in able:
        tell(f"{entry}: {row.id}") if row.measured else None
        results.append(_row_result(row, [saved[key] for key in specs.get(row.id, ())], trials))
    return PaperResult(
        entry=entry,
        command=f"python -m dpmc_core paper {entry}"
        + ("" if trials is None else f" --trials {trials}"),
        seed=_ROOT,
        date=datetime.now(UTC).date().isoformat(),
        seconds=round(time.perf_counter() - started, 1),
        versions=versions(),
        rows=tuple(results),
    )


def specs_of(row: Row, trials: int | None = None) -> list[RunSpec]:
    """The specs of a row's trials: trial k has the seeds that every row's k-th trial has."""
    assert row.spec is not None  # the caller has rows with runs
    return [row.spec(*seeds) for seeds in _seeds(row, trials)]


def _seeds(row: Row, trials: int | None) -> list[tuple[int, int]]:
    return seeds_of(_ROOT, row.trials if trials is None else trials)


def _row_result(row: Row, records: list[Record], trials: int | None) -> RowResult:
    started = time.perf_counter()
    if row.exact is not None:
        return RowResult(id=row.id, values=(row.exact(),))
    if row.measured is not None:
        values = tuple(row.measured(seed) for seed, _ in _seeds(row, trials))
        return RowResult(id=row.id, values=values, seconds=time.perf_counter() - started)
    good = [record for record in records if not record.error]
    stating = [] if row.after else good  # what a run states is of all its rounds
    return RowResult(
        id=row.id,
        values=tuple(taken(row, record) for record in good),
        baselines=tuple(record.baseline for record in good if record.baseline is not None),
        epsilon=largest([record.epsilon for record in stating]),
        epsilon_published=largest([record.epsilon_published for record in stating]),
        nominal=any(record.nominal for record in good),
        failed=tuple(k for k, record in enumerate(records) if record.error),
        seconds=sum(record.seconds for record in records),
    )


def taken(row: Row, record: Record) -> float:
    """Return the number of ``record`` that ``row`` is about."""
    numbers = {"value": record.value, "truth": record.truth}
    if row.after:
        steps = record.summary["steps"]
        numbers = next(step for step in steps if step["iteration"] == row.after)
    return float({**record.summary["baselines"], **record.summary, **numbers}[row.take])


def new_trial(row: Row, seed: int) -> float:
    """One more trial of ``row`` with seeds of its own.

    Raises ``DatasetMissingError`` or ``DataError``.
    """
    if row.exact is not None:
        return row.exact()
    if row.measured is not None:
        return row.measured(seeds_of(seed, 1)[0][0])
    if (spec := spec_of(row, seed)) is None:
        raise DataError("This row cannot be computed here.")
    return taken(row, record_of(run_single_threaded(spec)))


def spec_of(row: Row, seed: int) -> RunSpec | None:
    """The run of a new trial of ``row``; None where it takes none."""
    return None if row.spec is None else row.spec(*seeds_of(seed, 1)[0])


@dataclass(frozen=True)
class Trial(Spec):
    """One more trial of the row called ``row`` of the table ``entry``."""

    entry: str
    row: str
    seed: int
    amount = 1


def trial_steps(spec: Trial) -> Iterator[float]:
    """The one result of a new trial."""
    yield new_trial(next(row for row in rows_of(spec.entry) if row.id == spec.row), spec.seed)


def prediction_interval(values: Sequence[float], together: int = 1) -> tuple[float, float]:
    """Where one more trial falls 95 times in 100, were trials normal, or each of so many rows'
    ``together``.

    Mean ± t·s·√(1 + 1/n). Of one value, or equal ones, that value ± a millionth.
    """
    mean = float(np.mean(values))
    n, wide = len(values), 1e-6 * abs(mean)
    if n > 1:
        wide = max(wide, t_half_width(values, together) * math.sqrt(n + 1))
    return mean - wide, mean + wide


def verdict_of(row: Row, result: PaperResult) -> Verdict:
    """The verdict on ``row`` from what is stored."""
    mine = result.row(row.id)
    reference = None
    if row.reference is not None and result.rows:
        other = next(r for r in rows_of(result.entry) if r.id == row.reference)
        pairs = result.pairs(row.id, row.reference)
        if other.printed is not None and pairs:
            reference = (other.printed.value, pairs)
    if not mine.values and not mine.failed:
        title = dataset_entry(row.needs).title if row.needs else "What it takes"
        return Verdict(MISSING, f"{title} was not at hand when the table was computed.")
    outcome = verdict(row, mine.values, reference)
    if row.fitted and outcome.kind == REPRODUCED:
        why = f"{outcome.why} The matrix's shape was chosen so that rows like this come near."
        return replace(outcome, why=why)
    return outcome


_NOTHING_STORED = PaperResult(entry="", command="", seed=_ROOT, date="", seconds=0.0)


@dataclass(frozen=True)
class Judged:
    """One row of a table, what came out for it, and the verdict on that."""

    row: Row
    result: RowResult
    verdict: Verdict


def judged(rows: Sequence[Row], result: PaperResult | None) -> list[Judged]:
    """The ``rows`` of one table with what is stored of each."""
    results = result or _NOTHING_STORED
    return [Judged(row, results.row(row.id), verdict_of(row, results)) for row in rows]


def write(result: PaperResult, folder: Path = RESULTS) -> Path:
    """Keep ``result`` in ``folder``; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{result.entry}.json"
    file.write_text(
        json.dumps({"format": FORMAT, **asdict(result)}, indent=1) + "\n", encoding="utf-8"
    )
    return file


@lru_cache(maxsize=64)
def stored(entry: str) -> PaperResult | None:
    """The results that come with the project, None where a table has none."""
    file = RESULTS / f"{entry}.json"
    if not file.exists():
        return None
    raw = json.loads(file.read_text(encoding="utf-8"))
    if raw.pop("format", None) != FORMAT:
        raise DataError(
            f"{file} is of another format than {FORMAT}: make it again with '{raw.get('command')}'."
        )
    rows = tuple(
        RowResult(
            **{**row, **{name: tuple(row[name]) for name in ("values", "baselines", "failed")}}
        )
        for row in raw.pop("rows")
    )
    return PaperResult(**raw, rows=rows)
