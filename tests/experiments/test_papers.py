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
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from dpmc_core.completion.common.population import Whole
from dpmc_core.completion.dpals.plan import dpals_plan
from dpmc_core.completion.sgld import posterior_epsilon
from dpmc_core.datasets import entry as dataset
from dpmc_core.datasets.data import split_of
from dpmc_core.datasets.synthetic.ratings import skewed
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.examples import example
from dpmc_core.experiments.papers import ENTRIES, compute, rows_of, stored
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
    judged,
    new_trial,
    prediction_interval,
    specs_of,
    taken,
    verdict,
    verdict_of,
    write,
)
from dpmc_core.experiments.papers.entries import errata
from dpmc_core.experiments.papers.row import Row, row_names
from dpmc_core.experiments.presets import PEOPLE
from dpmc_core.experiments.store.records import record_of, run_single_threaded
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.metrics.intervals import t_half_width
from dpmc_core.privacy import Ledger
from dpmc_core.privacy.account import tightest
from dpmc_core.privacy.compare import dpals_counts
from dpmc_core.wording import Printed, printed, signed, three

ROOT = Path(__file__).resolve().parents[2]
COMPUTED = {e.id: rows_of(e.id) for e in ENTRIES if e.computed}
TABLE_1 = stored("huber-table-1")


def test_every_printed_number_has_a_row() -> None:
    """Hyper-parameters (the Huber paper's table 2, DPALS's 3 and 4), bounds (DPALS's 1) and sizes
    of data (its 2, the K of the NMF paper's 2) are shown as printed; all else is compared.
    """
    compared = {id(row.printed) for rows in COMPUTED.values() for row in rows}
    left = [p for p in printed() if id(p) not in compared]
    shown = {("huber", "2"), ("nmf", "2"), *(("dpals", table) for table in "1234")}
    assert {(p.paper, p.table) for p in left} == shown
    assert {p.metric for p in left if p.paper == "nmf"} == {"K"}
    with (ROOT / "data" / "papers" / "printed.csv").open(newline="") as file:
        assert len(printed()) == sum(1 for _ in csv.DictReader(file)) > 300


def test_every_entry_says_what_stands_for_it_and_its_results_can_be_traced() -> None:
    names = {e.id for e in ENTRIES}
    assert len(names) == len(ENTRIES)
    for entry in ENTRIES:
        assert entry.id.startswith(entry.paper)
        assert entry.source in names
        assert "{" not in entry.made + entry.finding + entry.missing
        assert entry.made or entry.missing or not entry.computed
    for name, rows in COMPUTED.items():
        ids = {row.id for row in rows}
        assert len(ids) == len({*row_names(rows).values()}) == len(rows)
        assert {row.reference for row in rows} <= {None, *ids}
        for row in rows:
            assert sum(way is not None for way in (row.spec, row.exact, row.measured)) <= 1
        result = stored(name)
        assert result.command == f"python -m dpmc_core paper {name}"
        assert {"dpmc_lab", "python", "numpy", "scipy"} <= result.versions.keys()
        assert {row.id for row in result.rows} <= ids
        assert np.isfinite([value for row in result.rows for value in row.values]).all()


def test_synthetic_tables_have_ten_trials_of_their_own_data() -> None:
    """Fewer with more users, whose runs take up to minutes; none has a seed that DPALS was tuned
    on.
    """
    fewer = {"10,000": 5, "20,000": 3, "50,000": 2}
    for name in ("huber-table-3", "huber-table-6", "huber-table-7", "dpals-figure-4"):
        for row in COMPUTED[name]:
            count = fewer.get(row.setting.get("users", ""), 10)
            result = stored(name).row(row.id)
            assert len({s.data.data_seed for s in specs_of(row)}) == count
            assert len(result.values) + len(result.failed) == count
    for name in ("dpals-figure-3", "dpals-figure-3c", "dpals-figure-4"):
        assert {101, 102, 103}.isdisjoint(s.seed for row in COMPUTED[name] for s in specs_of(row))


def rows_with(name: str, **setting: str) -> list[Row]:
    """The rows of a table with these settings."""
    return [r for r in COMPUTED[name] if setting.items() <= r.setting.items()]


def sign(name: str, first: dict[str, str], second: dict[str, str]) -> str:
    """Whether the rows of settings ``first`` have lower or higher values than those of ``second``,
    by a paired 95 % interval: "<" or ">", "=" where neither.
    """
    left, right = (stored(name).row(rows_with(name, **s)[0].id).values for s in (first, second))
    steps = np.subtract(left, right)
    half = t_half_width(tuple(steps))
    return "<" if steps.mean() < -half else ">" if steps.mean() > half else "="


# an algorithm, its rival, and whose error is lower at ε = 1, 5, 10 and 20
FIGURE_3 = [
    ("dpals", "private-fw", "<<<<"),
    ("dpals", "private-means", ">>>="),
    ("moments", "private-means", "<<<<"),
    ("moments", "private-svd", "<<<<"),
    ("moments", "dpals", "<<<<"),
]
FIGURE_3C = [  # of recalls
    ("dpals", "popular", "<>>>"),
    ("moments", "dpals", ">>>>"),
    ("moments", "popular", ">>>>"),
]
FIGURE_4 = [
    *(
        (users, rival, "<<<<")
        for users in ("5,000", "10,000", "20,000", "50,000")
        for rival in ("private-fw", "private-svd", "private-means")
    ),
    ("5,000", "moments", "<>>>"),
    ("10,000", "moments", "<>>>"),
    ("20,000", "moments", "=>>>"),
    ("50,000", "moments", ">>>="),
]


def test_findings_on_dpals_are_those_of_its_rows() -> None:
    """Where the page says better or worse, the paired interval does."""
    comparisons = [("dpals-figure-3", {}, *row) for row in FIGURE_3]
    comparisons += [("dpals-figure-3c", {}, *row) for row in FIGURE_3C]
    comparisons += [("dpals-figure-4", {"users": n}, "dpals", *row) for n, *row in FIGURE_4]
    for name, users, algorithm, rival, signs in comparisons:
        for epsilon, expected in zip(("1", "5", "10", "20"), signs, strict=True):
            shared = {"ε": epsilon, **users}
            pair = [{**shared, "algorithm": a} for a in (algorithm, rival)]
            assert sign(name, *pair) == expected, pair
    finding = next(e.finding for e in ENTRIES if e.id == "dpals-figure-4")
    for users in ("5,000", "10,000", "20,000", "50,000"):
        mean = {
            (r.setting["ε"], r.setting["algorithm"]): stored("dpals-figure-4").row(r.id).mean
            for r in rows_with("dpals-figure-4", users=users)
        }
        ratios = [mean[e, "private-fw"] / mean[e, "dpals"] for e in ("1", "5", "10", "20")]
        told = f"{min(ratios):.1f} to {max(ratios):.1f} times"
        assert told in " ".join(finding.split())
    assert mean["none", "als"] < mean["20", "dpals"]


def test_findings_have_the_numbers_that_are_computed() -> None:
    found = {entry.id: " ".join(entry.finding.split()) for entry in ENTRIES}
    starts = example("factorization", "start").study.lines().values()
    spec = RunSpec.fitting({**PEOPLE, "algorithm": "private-sgld"})
    train = split_of(spec.data, spec.seed).train
    nominal = posterior_epsilon(Whole(train), spec.card.prepare(spec.algorithm, spec.noise, train))
    lines = example("completion", "gradient").study.lines()
    two, sums = (lines[name][0].mean for name in ("2 gradient steps", "noisy sums"))
    for name, *texts in (
        ("nmf-section-4.1", *(three(points[-1].mean) for points in starts)),
        ("dpals-private-sgld", f"ε = {nominal:.0f}, nominal"),
        ("dpals-remark-6", f"({two:.3f} against {sums:.3f})"),
    ):
        assert [text for text in texts if text not in found[name]] == []
    noisy_sums, *steps = lines.values()
    pairs = [(p, q) for one in steps for p, q in zip(one, noisy_sums, strict=True)]
    assert {p.x for p, q in pairs if p.minus(q, len(pairs)).better} == {1.0}


def test_whether_noise_helps_on_ml_100k_belongs_to_its_variance() -> None:
    for error, signs in (("clipped", "><<<<<"), ("not clipped", ">><<=>")):
        for variance, expected in zip(("0.5", "1", "1.5", "2", "3", "4"), signs, strict=True):
            noisy, plain = ({"error": error, "variance": v} for v in (variance, "none"))
            assert sign("huber-table-4", noisy, plain) == expected, noisy


def test_settings_are_the_printed_ones() -> None:
    cell = {"observed": "0.15", "algorithm": "irls", "mechanism": "huber", "variance": "2"}
    spec = specs_of(rows_with("huber-table-3", **cell)[0])[0]
    solver = spec.algorithm
    assert (solver.iterations, solver.inner, solver.reg, solver.rank) == (50, 20, 0.5, 5)
    assert spec.data.true_rank == 5
    assert spec.data.observed * (1 - spec.data.test_fraction) == pytest.approx(0.15)
    assert (spec.noise.mechanism, spec.noise.variance) == ("huber", 2.0)
    assert solver.loss_alpha == pytest.approx(1.076, abs=5e-4)  # the α of variance 2
    cell = {"observed": "0.10", "algorithm": "als", "mechanism": "none"}
    spec = specs_of(rows_with("huber-table-5", **cell)[0])[0]
    assert (1 - spec.data.test_fraction) * 44_543 / (1476 * 77) == pytest.approx(0.10)
    assert (spec.algorithm.rank, spec.algorithm.iterations) == (32, 100)
    assert spec.data.zeros == "rating"
    for count, row in zip(dpals_counts(), COMPUTED["dpals-table-5"], strict=True):
        assert [count.dataset, f"{count.printed:g}"] == [*row.setting.values()]
        spec = specs_of(row)[0]
        if spec.task == "rate":
            config = spec.card.prepare(spec.algorithm, spec.noise, 0)
            ledger = Ledger(tuple(dpals_plan(skewed(50, 1100, 2000), config).values()))
            assert tightest(ledger, 1e-5) == pytest.approx(count.derived_exact, rel=1e-9)


# a reference row: its printed value, and its trials
NEAR, LESS = (0.5, 1.0, 1.001, 1.0), (0.5, 0.4, 0.401, 0.4)
EXACT = {"exact": lambda: 1.5}
WITHIN = EXACT | {"within": 0.01}


@pytest.mark.parametrize(
    ("text", "values", "kind", "more"),
    [
        # both sides of every border: the rounding, or the share that a row allows
        ("1.50", [1.51], REPRODUCED, WITHIN),
        ("1.50", [1.495], REPRODUCED, EXACT),
        ("1.50", [1.494], DIFFERS, EXACT),
        ("1.50", [1.48], DIFFERS, WITHIN),
        ("-1.50", [-1.51], REPRODUCED, WITHIN),
        ("2.00", [], MISSING, {}),
        # 2 %, or what chance allows
        ("1.00", [0.9801, 0.9801, 0.9801], REPRODUCED, {}),
        ("1.00", [0.9799, 0.9799, 0.9799], DIFFERS, {}),
        ("1.00", [1.101, 1.201, 1.151], REPRODUCED, {}),  # √2 × 0.1242 = 0.1757 allows 0.151
        ("1.00", [1.128, 1.228, 1.178], DIFFERS, {}),  # 0.178 is beyond 0.1757
        (None, [1.0], UNPRINTED, {}),
        ("2.00", [1.5, 1.6, 1.55], DIFFERS, {"reference": (3.0, 1.0, 1.1, 1.06)}),  # the other way
        ("2.00", [1.5, 1.6, 1.55], DIFFERS, {"reference": (1.0, 1.4, 1.7, 1.54)}),  # not told apart
        ("2.00", [1.2, 1.3, 1.25], DIFFERS, {"reference": (1.0, 0.9, 1.0, 0.94)}),  # too far
        ("1.00", [1.49, 1.49, 1.491], TREND, {"reference": NEAR}),
        ("1.00", [1.51, 1.51, 1.511], DIFFERS, {"reference": NEAR}),
        ("1.00", [0.67, 0.67, 0.671], TREND, {"reference": LESS}),
        ("1.00", [0.66, 0.66, 0.661], DIFFERS, {"reference": LESS}),
        ("1.00", [1.3], DIFFERS, {"reference": (0.5, 1.0)}),  # one trial shows no trend
    ],
)
def test_verdicts(text: str | None, values: list[float], kind: str, more: dict[str, Any]) -> None:
    reference = None
    if "reference" in more:
        base, *trials = more["reference"]
        reference = (base, list(zip(values, trials, strict=True)))
    number = text and Printed("huber", "3", {}, "rmse", text, "")
    outcome = verdict(Row(setting={}, metric="", printed=number, **more), values, reference)
    assert outcome.kind == kind
    assert outcome.why.endswith(".")


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


@pytest.mark.parametrize("seconds", [0.2, pytest.param(2.0, marks=pytest.mark.nightly)])
def test_some_rows_made_again_give_what_is_stored(seconds: float) -> None:
    """Four random ones (a fixed choice) of which a trial takes no longer.

    A stored trial's numbers come back, and a trial with a new seed falls inside the stored
    interval.

    The interval is that of one more trial at 99.99 %, so that four of them miss by chance in one
    choice of 2,500.
    """
    rows = [
        (row, result)
        for one in map(stored, sorted(COMPUTED))
        for row in rows_of(one.entry)
        if (result := one.row(row.id)).values
        and row.spec is not None
        and (not row.needs or dataset(row.needs).present())  # whose data needs no file, or is here
        and not result.failed
        and result.seconds / len(result.values) < seconds
    ]
    for k in np.random.default_rng(6).choice(len(rows), 4, replace=False):
        row, result = rows[k]
        again = taken(row, record_of(run_single_threaded(specs_of(row)[0])))
        assert again == pytest.approx(result.values[0], rel=1e-6), row
        low, high = prediction_interval(result.values, 500)
        assert low <= new_trial(row, 12_345) <= high, row


def test_exact_rows_made_again_are_equal_and_table_1_is_as_we_found_it() -> None:
    """Finding 1 by its formula, and finding 2 by what is printed."""
    for name in ("huber-table-1", "dpals-table-4"):
        for row in COMPUTED[name]:
            assert new_trial(row, 1) == pytest.approx(stored(name).row(row.id).values[0], rel=1e-6)
    for variance, exact in ((1, 33.10), (2, 20.68), (3, 15.87), (4, 13.21)):
        gaussian, laplace = (
            judged(rows_with("huber-table-1", mechanism=name, variance=str(variance)), TABLE_1)[0]
            for name in ("gaussian", "laplace")
        )
        assert gaussian.result.mean == pytest.approx(exact, abs=0.006)
        assert gaussian.row.printed.value == pytest.approx(
            5 * math.sqrt(2 * math.log10(1.25e5) / variance), abs=6e-4
        )
        assert (gaussian.verdict.kind, laplace.verdict.kind) == (DIFFERS, REPRODUCED)


def test_a_table_is_computed_through_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cheap row in the place of a table: computed, kept, and not made again."""
    row = rows_with("huber-table-3", algorithm="als", mechanism="none")[0]
    small = RunSpec.of(n_users=60, n_items=60, observed=0.5, iterations=2, rank=5, reg=0.5)
    row = replace(row, spec=lambda seed, data: small.replace(seed=seed, data_seed=data))
    with RunStore(tmp_path / "runs") as store:
        with pytest.raises(ParameterError, match="a table or figure with rows"):
            compute("nmf-table-1", store)
        module = sys.modules["dpmc_core.experiments.papers.compute"]
        monkeypatch.setattr(module, "rows_of", lambda _: (row,))
        first = compute("huber-table-3", store, trials=3)
        assert store.count() == 3
        assert compute("huber-table-3", store, trials=3).rows[0].values == first.rows[0].values
    trials = [record_of(run_single_threaded(spec)).truth for spec in specs_of(row, 3)]
    assert first.command.endswith("--trials 3")
    raw = json.loads(write(first, tmp_path).read_text())
    assert (raw["format"], raw["rows"][0]["values"]) == (1, trials)


def test_a_row_without_data_cannot_be_run_and_a_failed_trial_keeps_its_number() -> None:
    row = Row(setting={}, metric="RMSE")
    with pytest.raises(DataError, match="cannot be computed here"):
        new_trial(row, 0)
    missing = Verdict(MISSING, "What it takes was not at hand when the table was computed.")
    assert judged([row], None)[0].verdict == missing
    assert RowResult(id="x", values=(1.0, 3.0), failed=(1,)).by_trial == {0: 1.0, 2: 3.0}


@pytest.mark.parametrize("name", ["nmf-figure-2", "nmf-figure-5"])
def test_private_nmf_is_compared_with_itself(name: str) -> None:
    """The paper's gap is to the same algorithm without noise, not to another solver."""
    result = stored(name)
    rows = rows_with(name, rounds="1000")
    noisy = [r for r in rows if "ε = 0." in r.setting["method"] and result.row(r.id).values]
    assert len(noisy) == 4
    for row, sentence in zip(noisy, claims(name, result), strict=True):
        method = row.setting["method"]
        (own,) = rows_with(name, **row.setting | {"method": "as published, without noise"})
        assert row.reference == own.id
        share = result.row(row.id).mean / result.row(own.id).mean - 1
        assert 0 < share < 0.1
        assert f"{method}: {100 * share:+.2g} % against" in sentence
        (first,) = rows_with(name, **row.setting | {"rounds": "25"})
        start, end = (result.row(one.id).values for one in (first, row))
        assert (min(end) > max(start)) == (row.setting["dataset"] == "uci-news")  # as is said
        assert own.spec(1, 1).replace(mechanism="gaussian", epsilon=0.5).algorithm.rounds == 1000


def test_npmi_stands_beside_each_printed_coherence() -> None:
    result, rows = stored("nmf-table-3"), COMPUTED["nmf-table-3"]
    for row, beside in zip(rows[::2], rows[1::2], strict=True):
        assert (beside.printed, beside.setting) == (None, row.setting | {"coherence": "NPMI"})
        assert len(result.row(beside.id).values) == len(result.row(row.id).values)
    ends = [result.row(row.id).mean for row in rows[3::4]]  # UCI News, by ε of a round
    np.testing.assert_allclose([ends[k] for k in (0, -2, -1)], [-0.34, -0.28, -0.24], atol=5e-3)


def test_what_can_be_computed_of_the_nmf_papers_tables() -> None:
    """Table 4's own column, with columns of length 1, and the size of TDT2, a tenth of its file."""
    result, own = stored("nmf-table-4"), rows_with("nmf-table-4", algorithm="private-nmf")
    means = [result.row(row.id).mean for row in own]
    np.testing.assert_allclose(means, [0.0630, 0.0637, 0.0633, 0.0632], atol=1e-4)
    assert {verdict_of(row, result).kind for row in own} == {REPRODUCED, TREND}
    sizes = [r for r in COMPUTED["nmf-table-2"] if re.fullmatch("dataset=tdt2;what=[ND]", r.id)]
    assert [verdict_of(r, stored("nmf-table-2")).kind for r in sizes] == [REPRODUCED] * 2


def test_claims_are_paired_arithmetic() -> None:
    """On made-up trials whose answer is known.

    Huber is worse by 0.01 in every trial of every setting, within noise that both share.
    """
    rng = np.random.default_rng(4)
    rows = COMPUTED["huber-table-3"]
    shared = {r.id.rsplit("mechanism", 1)[0]: rng.normal(size=10) for r in rows}
    made = {}
    for r in rows:
        worse = 0.01 * (r.setting["mechanism"] == "huber") + 1e-4 * rng.normal(size=10)
        made[r.id] = shared[r.id.rsplit("mechanism", 1)[0]] + worse

    def invented(times: float = 1) -> PaperResult:
        """With Laplace noise, errors are so many times as large."""
        results = (
            RowResult(id=name, values=tuple(values * times ** ("laplace" in name)))
            for name, values in made.items()
        )
        return replace(stored("huber-table-3"), rows=tuple(results))

    def apart(share: str, values: Callable[[Row], float]) -> float:
        """By how much variance 2 is worse than 1, at this share observed."""
        two, one = (
            [
                values(r)
                for r in rows_with("huber-table-3", variance=v, observed=share)
                if r.setting["mechanism"] != "none"
            ]
            for v in "21"
        )
        return float(np.mean(two) - np.mean(one))

    mean = lambda r: made[r.id].mean()  # noqa: E731
    laplace, gaussian, neither, *others = contrasts("huber-table-3", invented())
    assert (neither.one, neither.settings, neither.lower + neither.higher) == (
        "Gaussian noise",
        12,
        0,
    )
    for c in (laplace, gaussian):
        assert (c.settings, c.lower, c.higher, c.pooled.pairs) == (12, 0, 12, 10)
        assert c.pooled.mean == pytest.approx(0.01, abs=1e-4)
        assert c.pooled.half_width < 1e-4
    huber, plain = (
        [r.printed.value for r in rows_with("huber-table-3", mechanism=name)]
        for name in ("huber", "laplace")
    )
    assert laplace.printed == pytest.approx(np.mean(huber) - np.mean(plain))
    # of other conclusions: how many rows they pair
    settings = {c.one: c.settings for c in others}
    assert settings == {
        **{f"IRLS with Huber noise at {p} % observed": 2 for p in (5, 10, 15)},
        **{f"IRLS with Huber noise of variance {v}": 3 for v in (1, 2)},
        **{f"IRLS with {name} noise": 6 for name in ("Huber", "Laplace", "Gaussian")},
        **{f"{name} noise of variance 2": 6 for name in ("Huber", "Laplace", "Gaussian")},
        **{f"Noise of variance 2 at {p} % observed": 6 for p in (5, 15)},
    }
    sentences = claims("huber-table-3", invented())
    assert all("worse" in sentence for sentence in sentences[:2])
    (more,) = (s for s in sentences if "5 % observed against 15 %" in s and "Variance" in s)
    effect, printed = (
        apart("0.05", value) - apart("0.15", value) for value in (mean, lambda r: r.printed.value)
    )
    assert f"differences: {signed(effect, 4)} ±" in more
    assert f"The paper prints {signed(printed, 4)}." in more
    (lowest,) = (s for s in sentences if "Lowest" in s)
    ours, theirs = lowest.split("; as printed: ")
    assert theirs.startswith("Huber 12.")
    assert "Huber" not in ours  # it is worse in each setting
    for times in (1, 3):
        text = f"the standard deviation of errors is {times:.2f} times that with Huber noise"
        assert text in claims("huber-table-3", invented(times))[-1]
    costs = [s for s in claims("huber-table-4", stored("huber-table-4")) if "IRLS-2" in s]
    assert [s.endswith(" A pass makes 2 solves for every item, not 10.") for s in costs] == [True]


def test_a_higher_rank_alone_raises_the_error() -> None:
    """The rows of Tables 3, 6 and 7, whose matrices have one shape."""
    name = "huber-appendix-b"
    result = stored(name)
    by_name = {c.one: c for c in contrasts(name, result)}
    finding = next(e.finding for e in ENTRIES if e.id == name).replace(",", " ")
    tables = {"5": "3", "10": "6", "20": "7"}
    printed = {
        rank: np.mean(
            [
                r.printed.value
                for r in rows_with(f"huber-table-{table}", algorithm="als")
                if r.setting["mechanism"] != "none"
            ]
        )
        for rank, table in tables.items()
    }
    for rank, significant in (("10", 14), ("20", 18)):
        c = by_name[f"Rank {rank} with noise"]
        assert (c.settings, c.lower, c.higher, c.solves) == (18, 0, significant, (1, 1))
        assert f"{c.pooled.mean:.2f} " in finding
        assert f"{printed[rank] - printed['5']:.2f} " in finding
    for rank, table in tables.items():
        for row in rows_with(name, rank=rank):
            same = stored(f"huber-table-{table}").row(row.id)
            assert result.row(row.id).values == same.values
    sentences = " ".join(claims(name, result))
    assert "settings: Gaussian 12, Huber 6." in sentences
    assert "prints" not in sentences
    for noise in ("Gaussian", "Laplace"):
        effect = f"Huber noise instead of {noise}, rank 20 against 5.*?: no difference detected"
        assert re.search(effect, sentences)


def test_starts_are_near_the_truth_with_enough_users() -> None:
    """|w·v| > 0.6 (Theorem 10) is a sine below 0.8."""
    result = stored("dpals-theorem-5")
    finding = next(e.finding for e in ENTRIES if e.id == "dpals-theorem-5")
    firsts = {("1", "10"): "4,000", ("1", "1"): "16,000", ("5", "10"): "8,000", ("5", "1"): ""}
    for (rank, epsilon), first in firsts.items():
        rows = rows_with("dpals-theorem-5", rank=rank, ε=epsilon)
        near = [max(result.row(row.id).values) < 0.8 for row in rows]
        assert near == sorted(near)
        assert first == (rows[near.index(True)].setting["users"] if any(near) else "")
        assert first in finding
    quiet = [result.row(row.id).values for row in rows_with("dpals-theorem-5", ε="none")]
    assert f"{np.min(quiet):.2f} to {np.max(quiet):.2f}" in finding
    (row, *_) = rows_with("dpals-theorem-5", rank="5", ε="none")
    assert new_trial(row, 3) < 0.1


def inverse() -> list[str]:
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
    return [f"x = −{-printed:.2f} as printed", f"is {below:.3f}", f"{true:.2f} correct"]


def pieces() -> list[str]:
    """Thesis A.43 against H(x + Δf) − H(x) with eq. 3.15."""
    alpha, shift = 1.0, 5.0

    def loss(x: float) -> float:
        return x * x / 2 if abs(x) <= alpha else alpha * (abs(x) - alpha / 2)

    third = alpha * (2 * -2 + shift) / 2, loss(-2 + shift) - loss(-2)
    fourth = alpha * shift / 2 - (0 - alpha) ** 2 / 2, loss(shift) - loss(0)
    return [
        f"x = −2, {third[0]:.1f} as printed and {third[1]:.1f} correct",
        f"x = 0, {fourth[0]:.1f} and {fourth[1]:.1f}",
    ]


def logarithm() -> list[str]:
    """The printed formula of Gaussian noise, the correct one, and with logarithms to base 10."""
    variance, width, log = 1.0, 5.0, math.log(1.25 / 1e-5)
    printed = math.sqrt(2 / variance) * log * width
    correct = width * math.sqrt(2 * log / variance)
    base_10 = width * math.sqrt(2 * log / math.log(10) / variance)
    return [f"{printed:.2f} as printed, {correct:.2f} correct", f"The {base_10:.3f} of Table 1"]


def sweets() -> list[str]:
    """With the file's own counts, of which a test of loaders is, the thesis's share comes out."""
    users, items, ratings = 1476, 77, 44_543
    return [
        f"{users:,} users, {items} items and {ratings:,} ratings",
        f"{100 * ratings / (users * items):.2f} % of the matrix",
        f"{100 * 45_000 / (2000 * items):.2f} %",
    ]


def noise() -> list[str]:
    """One vector of variance 2 for each of 100 ratings: variances add up."""
    return [f"would have noise of variance {100 * 2}"]


def clip() -> list[str]:
    """What clipping to length 1 makes of vectors of lengths 2 and 1/2."""
    printed, correct = ([x * bound(1, 1 / x) for x in (2, 0.5)] for bound in (max, min))
    return [
        "the lengths {:g} and {:g} as printed".format(*printed),
        "{:g} and {:g} by the projection".format(*correct),
    ]


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
    paper: str, place: str, check: Callable[[], list[str]]
) -> None:
    (sentence,) = [s for s in errata(paper) if s.startswith(f"**{place}")]
    for text in check():
        assert text in sentence
