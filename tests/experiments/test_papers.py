"""The papers' tables: verdicts by one rule, stored results that can be made again, and nothing left
out.
"""

import csv
import json
import math
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize

from dpmc_core.datasets import entry as dataset
from dpmc_core.datasets.catalogue import data_dir
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.papers import (
    ENTRIES,
    PAPERS,
    compute,
    rows_of,
    stored,
    stored_all,
    verdict,
)
from dpmc_core.experiments.papers.claims import claims, contrasts
from dpmc_core.experiments.papers.compute import (
    DIFFERS,
    MISSING,
    REPRODUCED,
    TREND,
    UNPRINTED,
    PaperResult,
    RowResult,
    Verdict,
    new_trial,
    prediction_interval,
    specs_of,
    taken,
    verdict_of,
    write,
)
from dpmc_core.experiments.papers.entries import errata
from dpmc_core.experiments.papers.row import Row, row_names
from dpmc_core.experiments.store.records import record_of, run_single_threaded
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.metrics.intervals import t_half_width
from dpmc_core.wording import printed

ROOT = Path(__file__).resolve().parents[2]
COMPUTED = [e.id for e in ENTRIES if e.computed]


def test_every_printed_number_has_a_row() -> None:
    """Hyper-parameters (the Huber paper's table 2, DPALS's 3 and 4), bounds (DPALS's 1), sizes of
    data (its 2, the K of the NMF paper's 2) and results on data that is not at hand (its 5) are
    shown as printed; all else is compared.
    """
    rows = {
        id(row.printed) for name in COMPUTED for row in rows_of(name) if row.printed is not None
    }
    left = [p for p in printed() if id(p) not in rows]
    shown = {("huber", "2"), ("nmf", "2"), *(("dpals", table) for table in "12345")}
    assert {(p.paper, p.table) for p in left} == shown
    assert {p.metric for p in left if p.paper == "nmf"} == {"K"}
    with (ROOT / "data" / "papers" / "printed.csv").open(newline="") as file:
        assert len(printed()) == sum(1 for _ in csv.DictReader(file)) > 300


def test_every_entry_says_what_stands_for_it() -> None:
    assert len({e.id for e in ENTRIES}) == len(ENTRIES)
    for entry in ENTRIES:
        assert entry.paper in PAPERS
        assert entry.id.startswith(entry.paper)
        assert entry.source in {e.id for e in ENTRIES}
        assert "{" not in entry.made + entry.finding + entry.missing
        if entry.computed:
            assert entry.made or entry.missing
    for name in COMPUTED:
        rows = rows_of(name)
        assert len({r.id for r in rows}) == len({*row_names(rows).values()}) == len(rows)
        for row in rows:
            assert row.reference is None or row.reference in {r.id for r in rows}
            assert sum(way is not None for way in (row.spec, row.exact, row.measured)) <= 1


def test_synthetic_tables_have_ten_trials_of_their_own_data() -> None:
    """Three with 20,000 users, whose runs take up to a minute."""
    for name in ("huber-table-3", "huber-table-6", "huber-table-7", "dpals-figure-4"):
        for row in rows_of(name):
            specs = specs_of(row)
            assert len(specs) == (3 if row.setting.get("users") == "20,000" else 10)
            assert len({s.data.data_seed for s in specs}) == len(specs)
            result = stored(name).row(row.id)
            assert len(result.values) + len(result.failed) == len(specs)


def test_figures_of_dpals_show_its_rivals_and_ours() -> None:
    """On the paper's numbers of users; DPALS as tuned at each ε, on other seeds than the rows'."""
    private = {"dpals", "private-fw", "private-svd", "moments", "private-means"}
    for name, users in (("dpals-figure-3", {""}), ("dpals-figure-4", {"5,000", "20,000"})):
        cells: dict[tuple[str, str], set[str]] = {}
        for row in rows_of(name):
            where = row.setting.get("users", ""), row.setting["ε"]
            cells.setdefault(where, set()).add(row.setting["algorithm"])
            assert not {s.seed for s in specs_of(row)} & {101, 102, 103}
        assert {n for n, _ in cells} == users
        for (_, epsilon), algorithms in cells.items():
            assert algorithms == ({"als", "global mean"} if epsilon == "none" else private)


def row_of(name: str, **setting: str) -> Row:
    """The first row of a table with these settings."""
    return next(r for r in rows_of(name) if setting.items() <= r.setting.items())


def difference(name: str, one: dict[str, str], other: dict[str, str]) -> str:
    """Whether the rows of settings ``one`` have "lower" or "higher" values than those of ``other``,
    by a paired 95 % interval; "" where neither.
    """
    first, second = (stored(name).row(row_of(name, **s).id).values for s in (one, other))
    steps = np.subtract(first, second)
    half = t_half_width(tuple(steps))
    return "lower" if steps.mean() < -half else "higher" if steps.mean() > half else ""


def test_findings_on_dpals_are_those_of_its_rows() -> None:
    """Where the page says better or worse, the paired interval does."""
    for epsilon in ("1", "5", "10", "20"):

        def against(
            one: str, other: str, epsilon: str = epsilon, name: str = "dpals-figure-3", **more: str
        ) -> str:
            shared = {"ε": epsilon, **more}
            return difference(name, {**shared, "algorithm": one}, {**shared, "algorithm": other})

        assert against("dpals", "private-fw") == "lower"
        assert against("dpals", "private-means") == ("" if epsilon == "20" else "higher")
        for rival in ("private-means", "private-svd", "dpals"):
            assert against("moments", rival) == "lower"
        for users in ("5,000", "20,000"):
            for rival in ("private-fw", "private-svd", "private-means"):
                assert against("dpals", rival, name="dpals-figure-4", users=users) == "lower"
            expected = {("5,000", "1"): "lower", ("20,000", "1"): ""}.get(
                (users, epsilon), "higher"
            )
            assert against("dpals", "moments", name="dpals-figure-4", users=users) == expected


def test_how_far_dpals_is_ahead_of_frank_wolfe_is_stated_as_stored() -> None:
    finding = next(e.finding for e in ENTRIES if e.id == "dpals-figure-4")
    for users in ("5,000", "20,000"):
        mean = {
            (r.setting["ε"], r.setting["algorithm"]): stored("dpals-figure-4").row(r.id).mean
            for r in rows_of("dpals-figure-4")
            if r.setting["users"] == users
        }
        ratios = [mean[e, "private-fw"] / mean[e, "dpals"] for e in ("1", "5", "10", "20")]
        assert f"{min(ratios):.1f} to {max(ratios):.1f} times" in finding
    assert mean["none", "als"] < mean["20", "dpals"]


def test_whether_noise_helps_on_ml_100k_belongs_to_its_variance() -> None:
    signs = {
        (error, variance): difference(
            "huber-table-4",
            {"variance": variance, "error": error},
            {"variance": "none", "error": error},
        )
        for error in ("clipped", "not clipped")
        for variance in ("0.5", "1", "1.5", "2", "3", "4")
    }
    assert {v for (e, v), sign in signs.items() if e == "clipped" and sign == "higher"} == {"0.5"}
    unclipped = {v for (e, v), sign in signs.items() if e == "not clipped" and sign == "higher"}
    assert unclipped == {"0.5", "1", "4"}
    assert signs["clipped", "2"] == signs["not clipped", "2"] == "lower"


def test_settings_are_the_printed_ones() -> None:
    (spec, *_) = specs_of(
        row_of("huber-table-3", observed="0.15", algorithm="irls", mechanism="huber", variance="2")
    )
    solver = spec.algorithm
    assert (solver.iterations, solver.inner, solver.reg, solver.rank) == (50, 20, 0.5, 5)
    assert spec.data.true_rank == 5
    assert spec.data.observed * (1 - spec.data.test_fraction) == pytest.approx(0.15)
    assert (spec.noise.mechanism, spec.noise.variance) == ("huber", 2.0)
    assert solver.loss_alpha == pytest.approx(1.076, abs=5e-4)  # the α of variance 2
    (spec, *_) = specs_of(
        row_of("huber-table-5", observed="0.10", algorithm="als", mechanism="none")
    )
    assert (1 - spec.data.test_fraction) * 44_543 / (1476 * 77) == pytest.approx(0.10)
    assert (spec.algorithm.rank, spec.algorithm.iterations) == (32, 100)
    assert spec.data.zeros == "rating"


@pytest.mark.parametrize(
    ("text", "value", "rounding", "within", "kind"),
    [
        ("1.50", 1.504, 0.005, 0.0, REPRODUCED),
        ("1.50", 1.51, 0.005, 0.0, DIFFERS),
        ("1.50", 1.51, 0.005, 0.01, REPRODUCED),
        # both sides of every border
        ("1.50", 1.495, 0.005, 0.0, REPRODUCED),
        ("1.50", 1.494, 0.005, 0.0, DIFFERS),
        ("1.50", 1.48, 0.0, 0.01, DIFFERS),
        ("-1.50", -1.51, 0.0, 0.01, REPRODUCED),
    ],
)
def test_verdicts_on_what_is_exact(
    text: str, value: float, rounding: float, within: float, kind: str
) -> None:
    judged = verdict(text, rounding, [value], exact=True, within=within)
    assert judged.kind == kind
    assert judged.why.endswith(".")


@pytest.mark.parametrize(
    ("text", "values", "kind"),
    [
        ("1.00", [1.015, 1.016, 1.014], REPRODUCED),  # within 2 %
        ("1.00", [1.03, 1.031, 1.029], DIFFERS),
        ("1.00", [0.8, 1.3, 1.1], REPRODUCED),  # within what chance allows
        ("2.00", [], MISSING),
        # both sides of every border
        ("1.00", [1.0201, 1.0201, 1.0201], DIFFERS),
        ("1.00", [0.9801, 0.9801, 0.9801], REPRODUCED),
        ("1.00", [0.9799, 0.9799, 0.9799], DIFFERS),
        ("1.00", [1.101, 1.201, 1.151], REPRODUCED),  # √2 × 0.1242 = 0.1757 allows 0.151
        ("1.00", [1.128, 1.228, 1.178], DIFFERS),  # 0.178 is beyond 0.1757
        ("1.00", [0.722, 0.922, 0.822], REPRODUCED),  # mean .822, allowed .351
        (None, [1.0], UNPRINTED),
    ],
)
def test_verdicts_on_trials(text: str | None, values: list[float], kind: str) -> None:
    judged = verdict(text, 0.0, values)
    assert judged.kind == kind
    assert judged.why.endswith(".")


@pytest.mark.parametrize(
    ("text", "values", "printed_other", "others", "kind"),
    [
        ("2.00", [1.5, 1.6, 1.55], 1.0, [1.0, 1.1, 1.06], TREND),
        ("2.00", [1.5, 1.6, 1.55], 3.0, [1.0, 1.1, 1.06], DIFFERS),  # the other way
        ("2.00", [1.5, 1.6, 1.55], 1.0, [1.4, 1.7, 1.54], DIFFERS),  # not told apart
        ("2.00", [1.2, 1.3, 1.25], 1.0, [0.9, 1.0, 0.94], DIFFERS),  # too far
        # both sides of every border
        ("1.00", [1.49, 1.49, 1.491], 0.5, [1.0, 1.001, 1.0], TREND),
        ("1.00", [1.51, 1.51, 1.511], 0.5, [1.0, 1.001, 1.0], DIFFERS),
        ("1.00", [0.67, 0.67, 0.671], 0.5, [0.4, 0.401, 0.4], TREND),
        ("1.00", [0.66, 0.66, 0.661], 0.5, [0.4, 0.401, 0.4], DIFFERS),
        ("1.00", [1.3], 0.5, [1.0], DIFFERS),  # one trial shows no trend
    ],
)
def test_verdicts_beside_a_reference(
    text: str, values: list[float], printed_other: float, others: list[float], kind: str
) -> None:
    pairs = list(zip(values, others, strict=True))
    judged = verdict(text, 0.0, values, reference=(printed_other, pairs))
    assert judged.kind == kind
    assert judged.why.endswith(".")


def test_a_prediction_interval_holds_the_next_one_as_often_as_it_says() -> None:
    """10,000 draws of six normals and a seventh.

    Misses are Binomial(10000, .05), sd 21.8; within 4.5 of them.
    """
    rng = np.random.default_rng(2)
    misses = 0
    for row in rng.normal(size=(10_000, 7)):
        low, high = prediction_interval(row[:6])
        misses += not low <= row[6] <= high
    assert abs(misses - 500) < 98


def test_what_is_stored_can_be_traced() -> None:
    found = list(stored_all())
    assert {r.entry for r in found} >= set(COMPUTED)
    for result in found:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", result.date)
        assert result.command == f"python -m dpmc_core paper {result.entry}"
        assert {"dpmc_lab", "python", "numpy", "scipy"} <= result.versions.keys()
        names = {row.id for row in rows_of(result.entry)}
        for row in result.rows:
            assert row.id in names
            assert all(math.isfinite(v) for v in row.values)


def quick() -> list[tuple[str, str]]:
    """Rows whose one trial takes a few seconds at most, with the data that needs no file or is
    here.
    """
    out = []
    for result in stored_all():
        for row in rows_of(result.entry):
            mine = result.row(row.id)
            ready = not row.needs or dataset(row.needs).present()
            trials = max(len(mine.values), 1)
            if (
                row.spec is not None
                and ready
                and mine.values
                and not mine.failed
                and mine.seconds / trials < 2
            ):
                out.append((result.entry, row.id))
    return out


def test_some_rows_made_again_give_what_is_stored() -> None:
    """Four random ones (a fixed choice).

    A stored trial's numbers come back, and a trial with a new seed falls inside the stored
    interval.

    The interval is that of one more trial at 99.99 %, so that four of them miss by chance in one
    choice of 2,500.
    """
    chosen = np.random.default_rng(6).choice(len(quick()), 4, replace=False)
    for k in chosen:
        name, row_id = quick()[k]
        row, mine = next(r for r in rows_of(name) if r.id == row_id), stored(name).row(row_id)
        again = taken(row, record_of(run_single_threaded(specs_of(row)[0])))
        assert again == pytest.approx(mine.values[0], rel=1e-6), (name, row_id)
        low, high = prediction_interval(mine.values, 0.9999)
        assert low <= new_trial(row, 12_345) <= high, (name, row_id)


def test_exact_rows_made_again_are_equal() -> None:
    for name in ("huber-table-1", "dpals-table-4"):
        for row in rows_of(name):
            assert new_trial(row, 1) == pytest.approx(stored(name).row(row.id).values[0], rel=1e-6)


def test_table_1_as_we_found_it() -> None:
    """Finding 1 by its formula, and finding 2 by what is printed."""
    rows = {
        (r.setting["mechanism"], float(r.setting["variance"])): r for r in rows_of("huber-table-1")
    }
    for variance, exact in ((1, 33.10), (2, 20.68), (3, 15.87), (4, 13.21)):
        row = rows["gaussian", variance]
        assert new_trial(row, 0) == pytest.approx(exact, abs=0.006)
        assert row.printed.value == pytest.approx(
            5 * math.sqrt(2 * math.log10(1.25e5)) / math.sqrt(variance), abs=6e-4
        )
        assert verdict_of(row, stored("huber-table-1")).kind == DIFFERS
        assert verdict_of(rows["laplace", variance], stored("huber-table-1")).kind == REPRODUCED


def test_a_table_can_be_computed_stopped_and_kept(tmp_path: Path) -> None:
    said: list[str] = []
    name = "dpals-table-4"
    with RunStore(tmp_path / "runs") as store:
        result = compute(name, store, tell=said.append)
        with pytest.raises(ParameterError, match="a table or figure with rows"):
            compute("nmf-table-1", store)
    assert [r.values for r in result.rows] == [pytest.approx(r.values) for r in stored(name).rows]
    file = write(result, tmp_path)
    raw = json.loads(file.read_text())
    assert raw["format"] == 1
    assert verdict_of(rows_of(name)[0], None).kind == MISSING
    assert PaperResult(entry="x", command="", seed=0, date="", seconds=0.0).row("y") == RowResult(
        id="y"
    )


def test_a_row_without_data_cannot_be_run() -> None:
    row = Row(id="none", setting={}, metric="RMSE", missing="It is not at hand.")
    with pytest.raises(DataError, match="cannot be computed here"):
        new_trial(row, 0)
    assert verdict_of(row, None) == Verdict(MISSING, "It is not at hand.")


def test_runs_go_through_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cheap rows in the place of a table: computed, kept, and not made again."""
    row = row_of("huber-table-3", algorithm="als", mechanism="none")
    small = RunSpec.of(n_users=60, n_items=60, observed=0.5, iterations=2, rank=5, reg=0.5)

    def cheap(seed: int, data: int) -> RunSpec:
        return small.replace(seed=seed, data_seed=data)

    two = (
        replace(row, spec=cheap),
        replace(row, id="other", spec=lambda seed, data: cheap(seed, data).replace(rank=2)),
    )
    monkeypatch.setattr(
        sys.modules["dpmc_core.experiments.papers.compute"], "rows_of", lambda _: two
    )
    with RunStore(tmp_path / "runs") as store:
        first = compute("huber-table-3", store, trials=3)
        assert store.count() == 6
        again = compute("huber-table-3", store, trials=3)
    assert [r.values for r in first.rows] == [r.values for r in again.rows]
    assert [len(r.values) for r in first.rows] == [3, 3]
    expected = [record_of(run_single_threaded(s)).truth for s in specs_of(two[0], 3)]
    assert list(first.rows[0].values) == expected
    assert first.command.endswith("--trials 3")
    file = write(first, tmp_path)
    assert json.loads(file.read_text())["rows"][0]["values"] == expected


@pytest.mark.parametrize("name", ["nmf-figure-2", "nmf-figure-5"])
def test_private_nmf_is_compared_with_itself(name: str) -> None:
    """The paper's gap is to the same algorithm without noise, not to another solver."""
    made = stored(name)
    curves = [row for row in rows_of(name) if "ε = 0." in row.setting["method"]]
    noisy = [row for row in curves if row.setting["rounds"] == "1000"]
    assert len(noisy) == 4
    for row, sentence in zip(noisy, claims(name, made), strict=True):
        quiet = row.setting | {"method": "as published, without noise"}
        (own,) = [r for r in rows_of(name) if r.setting == quiet]
        assert row.reference == own.id
        share = made.row(row.id).mean / made.row(own.id).mean - 1
        assert 0 < share < 0.1
        curve = [r for r in curves if r.setting | {"rounds": "1000"} == row.setting]
        start, end = made.row(curve[0].id).values, made.row(curve[-1].id).values
        assert (min(end) > max(start)) == (row.setting["dataset"] == "uci-news")  # as is said
        assert f"{row.setting['method']}: {100 * share:+.2g} % against" in sentence
        assert own.spec(1, 1).replace(mechanism="gaussian", epsilon=0.5).algorithm.rounds == 1000


def test_what_can_be_computed_of_the_nmf_papers_tables() -> None:
    """Table 4's own column, with columns of length 1, and the size of TDT2, a tenth of its file."""
    made, rows = stored("nmf-table-4"), rows_of("nmf-table-4")
    own = [row for row in rows if row.setting["algorithm"] == "private-nmf"]
    means = [made.row(row.id).mean for row in own]
    np.testing.assert_allclose(means, [0.0630, 0.0637, 0.0633, 0.0632], atol=1e-4)
    assert {verdict_of(row, made).kind for row in own} == {REPRODUCED, TREND}
    sizes = stored("nmf-table-2")
    for what in ("N", "D"):
        (row,) = [r for r in rows_of("nmf-table-2") if r.id == f"dataset=tdt2;what={what}"]
        assert verdict_of(row, sizes).kind == REPRODUCED


def test_claims_are_paired_arithmetic() -> None:
    """On made-up trials whose answer is known.

    Huber is worse by 0.01 in every trial of every setting, within noise that both share.
    """
    rng = np.random.default_rng(4)
    rows = rows_of("huber-table-3")
    shared = {r.id.rsplit("mechanism", 1)[0]: rng.normal(size=10) for r in rows}
    results = []
    for r in rows:
        worse = 0.01 * (r.setting["mechanism"] == "huber") + 1e-4 * rng.normal(size=10)
        values = shared[r.id.rsplit("mechanism", 1)[0]] + worse
        results.append(RowResult(id=r.id, values=tuple(values)))
    made = replace(stored("huber-table-3"), rows=tuple(results))
    laplace, gaussian, _ = contrasts("huber-table-3", made)
    for c in (laplace, gaussian):
        assert (c.settings, c.lower, c.higher) == (12, 0, 12)
        assert c.pooled.mean == pytest.approx(0.01, abs=1e-4)
        assert c.pooled.half_width < 1e-4
    printed_apart = [
        r.printed.value
        - next(o for o in rows if o.id == r.id.replace("huber", "laplace")).printed.value
        for r in rows
        if r.setting["mechanism"] == "huber"
    ]
    assert laplace.printed == pytest.approx(float(np.mean(printed_apart)))
    assert all("worse" in sentence for sentence in claims("huber-table-3", made)[:2])
    assert claims("huber-table-1", stored("huber-table-1")) == []


def test_a_failed_trial_keeps_its_number() -> None:
    row = RowResult(id="x", values=(1.0, 3.0), failed=(1,))
    assert row.by_trial == {0: 1.0, 2: 3.0}


def inverse() -> dict[str, str]:
    """Thesis eq. 4.4 as printed, term by term, against the root of its eq. 4.3."""
    alpha, y = 1.0764, 0.99
    core = 2 * math.exp(-(alpha**2) / 2)
    erf = alpha * math.sqrt(2 * math.pi) * math.erf(alpha / math.sqrt(2))
    total = core + erf  # α·N(α)
    printed = math.log(core + erf - y * total) / alpha + alpha / 2
    true = optimize.brentq(
        lambda x: (core + erf - math.exp(-alpha * (x - alpha / 2))) / total - y, alpha, 50
    )
    below = math.exp(alpha * (printed + alpha / 2)) / total
    return {
        "as printed": f"x = −{-printed:.2f} as printed",
        "its mass": f"is {below:.3f}",
        "correct": f"{true:.2f} correct",
    }


def pieces() -> dict[str, str]:
    """Thesis A.43 against H(x + Δf) − H(x) with eq. 3.15."""
    alpha, shift = 1.0, 5.0

    def loss(x: float) -> float:
        return x * x / 2 if abs(x) <= alpha else alpha * (abs(x) - alpha / 2)

    third = alpha * (2 * -2 + shift) / 2, loss(-2 + shift) - loss(-2)
    fourth = alpha * shift / 2 - (0 - alpha) ** 2 / 2, loss(shift) - loss(0)
    return {
        "third": f"x = −2, {third[0]:.1f} as printed and {third[1]:.1f} correct",
        "fourth": f"x = 0, {fourth[0]:.1f} and {fourth[1]:.1f}",
    }


def logarithm() -> dict[str, str]:
    variance, width, log = 1.0, 5.0, math.log(1.25 / 1e-5)
    printed = math.sqrt(2 / variance) * log * width
    correct = width * math.sqrt(2 * log / variance)
    base_10 = width * math.sqrt(2 * log / math.log(10) / variance)
    return {
        "both": f"{printed:.2f} as printed, {correct:.2f} correct",
        "table 1": f"The {base_10:.3f} of Table 1",
    }


def sweets() -> dict[str, str]:
    """The file's own counts, where it is here: with them the thesis's share comes out."""
    users, items, ratings = 1476, 77, 44_543
    file = data_dir() / "sweetrs" / "ratings-final.csv"
    if file.exists():
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        assert len(rows) == ratings
        assert len({row["user"] for row in rows}) == users
        assert len({row["product"] for row in rows}) == items
    return {
        "file": f"{users:,} users, {items} items and {ratings:,} ratings",
        "share": f"{100 * ratings / (users * items):.2f} % of the matrix",
        "printed": f"{100 * 45_000 / (2000 * items):.2f} %",
    }


def noise() -> dict[str, str]:
    """One vector for each of 100 ratings: variances add up."""
    draws = np.random.default_rng(0).normal(scale=math.sqrt(2), size=(20_000, 100)).sum(axis=1)
    assert draws.var() == pytest.approx(200, rel=4.5 * math.sqrt(2 / 20_000))
    return {"sum": f"would have noise of variance {100 * 2}"}


def clip() -> dict[str, str]:
    lengths = {
        kind: [length * bound(1, 1 / length) for length in (2, 0.5)]
        for kind, bound in (("printed", max), ("correct", min))
    }
    printed, correct = ([f"{x:g}" for x in lengths[kind]] for kind in ("printed", "correct"))
    return {
        "printed": f"the lengths {printed[0]} and {printed[1]} as printed",
        "correct": f"{correct[0]} and {correct[1]} by the projection",
    }


@pytest.mark.parametrize(
    ("paper", "place", "check"),
    [
        ("huber", "Section 2.1", logarithm),
        ("huber", "SweetRS", sweets),
        ("thesis", "SweetRS", sweets),
        ("thesis", "Equation 4.4", inverse),
        ("thesis", "Equation A.43", pieces),
        ("thesis", "Equation 3.11", noise),
        ("dpals", "Notation of Algorithm 1", clip),
    ],
)
def test_misprints_have_the_numbers_that_show_them(
    paper: str, place: str, check: Callable[[], dict[str, str]]
) -> None:
    (sentence,) = [one for one in errata(paper) if one.startswith(f"**{place}")]
    for text in check().values():
        assert text in sentence, (text, sentence)
