"""A list of words chosen privately: its threshold, its sums, and what its failing costs."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

from dpmc_core.datasets.samples import Places, Samples, unit_maximum
from dpmc_core.datasets.text import TextFilter, samples_of_counts, samples_of_texts
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.factorization import word_choice
from dpmc_core.factorization.contributions import UnitGroup, _frequencies
from dpmc_core.factorization.moments import MomentConfig
from dpmc_core.factorization.word_choice import MOST_DIFFERENT, choose_words, plan_words, threshold
from dpmc_core.mechanisms import Gaussian, Laplace
from dpmc_core.privacy import Ledger, account, least_noise, state
from dpmc_core.privacy.account import tightest
from dpmc_core.privacy.budget import Budget, Curator
from dpmc_core.privacy.tradeoff import of_ledger
from tests.privacy.helpers import ledger, release
from tests.steps import last_of

ALL_WORDS = TextFilter(word_list="private", stop_words=False)
SHARED = ["river", "music", "garden", "window", "summer", "winter", "doctor", "market"]


def letters(number: int) -> str:
    """A word of its own for each number."""
    return "w" + "".join(chr(97 + number // 26**k % 26) for k in range(5))


def of_texts(texts: list[str]) -> Samples:
    return samples_of_texts(texts, name="Mine", chosen=ALL_WORDS)


def released_words(neighbours: Any = "add/remove-one", n: int = 3000, **budget: Any) -> Any:
    """The release by which ``n`` documents choose their words."""
    return plan_words(Budget(**{"epsilon": 5.0, **budget}), neighbours, n).release


def lee(algorithm: str, **settings: Any) -> RunSpec:
    """A run on articles whose words are chosen privately."""
    spec = RunSpec.of(dataset="lee", algorithm=algorithm, rank=2, mechanism="gaussian")
    return spec.replace(word_list="private", **settings)


def chosen_words(
    samples: Samples, budget: Budget | None, neighbours: Any = "add/remove-one", seed: int = 0
) -> Any:
    """What ``choose_words`` gives: the samples with the words, and the releases."""
    return choose_words(samples, budget, neighbours, 5000, np.random.default_rng(seed))


@pytest.mark.parametrize("std", [0.1, 1.0, 12.0])
@pytest.mark.parametrize("failure", [1e-12, 1e-6, 0.05])
def test_no_word_of_one_document_is_shown_more_often_than_said(std: float, failure: float) -> None:
    least, t = threshold(std, failure), np.arange(1, MOST_DIFFERENT + 1)
    beyond = stats.norm.sf((least - 1 / np.sqrt(t)) / std)
    shown = -np.expm1(t * np.log1p(-beyond))
    assert shown.max() == pytest.approx(failure, rel=1e-6)


@pytest.mark.nightly
@pytest.mark.parametrize("own_words", [1, 40, 3000])
def test_how_often_words_of_one_document_are_shown(own_words: int) -> None:
    texts = [" ".join(SHARED)] * 50 + [" ".join(letters(k) for k in range(own_words))]
    samples, budget = of_texts(texts), Budget(epsilon=4.0, delta=0.5)
    failure, runs = word_choice.KEPT * budget.delta, 2000
    shown = 0
    for seed in range(runs):
        try:
            chosen, _ = chosen_words(samples, budget, seed=seed)
        except DataError:  # nothing at all was shown
            continue
        shown += any(word not in SHARED for word in chosen.words)
    planned = plan_words(budget, "add/remove-one", len(texts))
    t, noise = min(own_words, MOST_DIFFERENT), planned.release.mechanism
    each = stats.norm.sf((planned.threshold - t**-0.5) / noise.std)
    expected = runs * -math.expm1(t * math.log1p(-each))
    assert expected <= runs * failure * (1 + 1e-9)
    assert abs(shown - expected) <= 5 * math.sqrt(expected)  # of a count: five standard deviations


def test_chosen_words_keep_unit_maximum() -> None:
    samples = unit_maximum(of_texts([" ".join(SHARED[: k % 8 + 1]) for k in range(40)]))
    chosen, _ = chosen_words(samples, None)
    np.testing.assert_allclose(chosen.values.max(axis=0).toarray(), 0.25)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), gone=st.integers(0, 21))
def test_one_document_moves_the_sums_by_one_and_nothing_else(seed: int, gone: int) -> None:
    rng = np.random.default_rng(seed)
    long = [letters(k) for k in rng.choice(4000, 1500, replace=False)]
    texts = [
        " ".join(rng.choice([*SHARED, *long[:60]], rng.integers(1, 25))) for _ in range(20)
    ] + [" ".join(long), " ".join([*long[::-1], *SHARED])]
    exact_sums = []

    def recorded(self: Curator, name: str, exact: np.ndarray, least: float) -> np.ndarray:
        exact_sums.append(exact)
        return exact

    both = [of_texts(part) for part in (texts, texts[:gone] + texts[gone + 1 :])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Curator, "above", recorded)
        for samples in both:
            choose_words(samples, None, "add/remove-one", 9999, rng)
    whole, fewer = (
        dict(zip(samples.words, sums, strict=True))
        for samples, sums in zip(both, exact_sums, strict=True)
    )
    apart = np.array([total - fewer.pop(word, 0.0) for word, total in whole.items()])
    assert not fewer
    assert np.linalg.norm(apart) == pytest.approx(1.0, abs=1e-12)
    moved = apart[np.abs(apart) > 1e-12]
    assert moved.size <= MOST_DIFFERENT
    assert np.allclose(moved, 1 / math.sqrt(moved.size))


@pytest.mark.parametrize("q", [1e-6, 1e-3, 0.05])
@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_what_failing_costs_is_enough(q: float, scale: float) -> None:
    """Against the two outputs themselves: N(0, σ²), and N(1, σ²) or, with probability q, a word."""
    delta, noise = 10 * q, Gaussian(scale=scale)
    epsilon, surely = (
        tightest(ledger(noise, failure=failure), left)
        for failure, left in ((q, delta), (0.0, delta - q))
    )
    # (1 − q)·p is above e^ε·p′ from one cut on, and p′ above e^ε·(1 − q)·p up to another
    odds, log_left = math.exp(epsilon), math.log1p(-q)
    cut = 0.5 + scale**2 * (epsilon - log_left)
    first = (1 - q) * stats.norm.sf((cut - 1) / scale) - odds * stats.norm.sf(cut / scale)
    assert q + first <= delta * (1 + 1e-9)
    cut = 0.5 - scale**2 * (epsilon + log_left)
    rest = odds * (1 - q) * stats.norm.cdf((cut - 1) / scale)
    assert stats.norm.cdf(cut / scale) - rest <= delta * (1 + 1e-9)
    assert epsilon <= surely


@pytest.mark.parametrize("q", [1e-3, 0.2])
def test_the_trade_off_of_what_may_fail_is_never_below_what_an_attacker_reaches(q: float) -> None:
    claimed, surely = (
        of_ledger(ledger(Gaussian(scale=1.0), failure=failure)) for failure in (q, 0.0)
    )
    cuts = np.linspace(-8, 9, 4001)
    # "in" above a cut, or where a word is shown; and "out" below it
    above, below = stats.norm.sf(cuts), (1 - q) * stats.norm.cdf(cuts - 1)
    for alarms, misses in ((above, below), (below, above)):
        assert np.all(claimed.misses(alarms) <= misses + 1e-12)
    assert not claimed.exact
    assert claimed.misses(0.05) >= 0.7 * surely.misses(0.05)


def test_failing_adds_up_and_is_asked_for() -> None:
    noise = Gaussian(scale=3.0)
    twice = ledger(noise, 2, failure=1e-6).plus((release(noise, failure=1e-5, what="others"),))
    assert twice.failure == pytest.approx(1 - (1 - 1e-6) ** 2 * (1 - 1e-5), rel=1e-9)
    answers = account(twice, 1e-4)
    assert {a.method: a.epsilon for a in answers}["exact"] == tightest(twice, 1e-4)
    for answer in answers:
        assert "added to δ, a bound" in answer.how
        assert answer.delta == 1e-4
    # nothing that may fail holds at δ = 0
    pure = {a.method: a.delta for a in account(ledger(Laplace(scale=1.0), failure=1e-6), 1e-5)}
    assert pure["pure"] == 1e-5
    surely = ledger(noise, 1_000_000, failure=0.999999999999)
    for book, least in ((twice, r": it must be above 1\.2e"), (surely, "")):
        with pytest.raises(ParameterError, match="delta = 1e-05 is not allowed" + least):
            account(book, 1e-5)


def test_other_noise_would_want_another_threshold() -> None:
    with pytest.raises(ParameterError, match=r"target ε = '0\.5' is not allowed: .* threshold"):
        least_noise(Ledger((released_words(n=1000),)), 0.5, 1e-5)


def test_only_what_was_chosen_of_documents_is_called_words() -> None:
    for unit in ("document", "record"):
        statement = state(ledger(Laplace(scale=1.0), failure=1e-6, unit=unit))
        caveats = " ".join(statement.caveats)
        assert caveats.count("list of words was chosen") == (unit == "document")


@pytest.mark.parametrize("neighbours", ["add/remove-one", "replace-one"])
def test_what_is_spent_after_the_words_does_not_depend_on_them(neighbours: str) -> None:
    """Σ(Δ/σ)² of all Gaussian releases, by which adaptive ones compose."""
    budget = Budget(epsilon=5.0, spent=(released_words(neighbours),))
    sums = []
    for words in (2, 8, 287, 4000):
        empty = samples_of_counts(
            sparse.csc_array(np.ones((words, 1))),
            tuple(letters(k) for k in range(words)),
            name="x",
            chosen=ALL_WORDS,
            public_words=True,
            of=Places(np.zeros(1, dtype=int), 3000),
        )
        last = last_of(MomentConfig(rank=2, budget=budget, neighbours=neighbours), empty)
        planned = (*last.releases, *last.rest)
        sums.append(sum(r.count * (r.l2_sensitivity / r.mechanism.std) ** 2 for r in planned))
    assert max(sums) / min(sums) < 1 + 1e-4
    with pytest.raises(ParameterError, match=r"mechanism = .laplace. is not allowed: .* gaussian"):
        released_words(neighbours, family="laplace")


def test_two_documents_may_have_no_word_in_common() -> None:
    once, replaced = released_words(), released_words("replace-one")
    assert replaced.coordinates == 2 * once.coordinates == 2 * MOST_DIFFERENT
    assert replaced.l1_sensitivity == 2 * once.l1_sensitivity
    assert replaced.l2_sensitivity == pytest.approx(math.sqrt(2) * once.l2_sensitivity)


@pytest.mark.parametrize("algorithm", ["moment-nmf", "private-nmf"])
@pytest.mark.parametrize("neighbours", ["add/remove-one", "replace-one"])
def test_a_run_on_words_of_its_own_choice_keeps_to_its_budget(
    algorithm: str, neighbours: str
) -> None:
    spec = lee(algorithm, rank=3, epsilon=20, neighbours=neighbours)
    result = run(spec)
    assert 19.9 < result.statement.epsilon <= 20
    assert result.statement.label.startswith("guaranteed ε")
    assert result.ledger.failure == pytest.approx(1e-6)
    assert result.ledger.releases[0].what == "which words are in more than one document"
    assert result.dictionary.shape == (len(result.samples.words), 3)
    caveats = " ".join(result.statement.caveats)
    assert "With probability 10⁻⁶ a word that one document alone has" in caveats
    assert "a word that only they use may be on the list" in caveats
    assert any("words were chosen, with noise" in note for note in result.samples.notes)
    assert result.reference < result.baseline
    again, other = (run(one).samples.words for one in (spec, spec.repetition(1)))
    assert again == result.samples.words != other


def test_a_table_of_counts_in_any_order_stays_as_it_is() -> None:
    samples = of_texts([f"beta alpha {letters(k)}" for k in range(30)])
    table = sparse.csc_array(samples.counts)
    table.indices = table.indices.reshape(30, 3)[:, ::-1].ravel()
    table.data = np.arange(1.0, 91.0)
    before = table.toarray()
    _frequencies(UnitGroup(replace(samples, counts=table)))
    np.testing.assert_array_equal(table.toarray(), before)


@pytest.mark.parametrize("neighbours", ["add/remove-one", "replace-one"])
def test_how_many_documents_hold_nothing_is_not_read(neighbours: str) -> None:
    texts, plans = [" ".join(SHARED)] * 40, []
    for empty in (0, 5):
        of = Places(np.arange(empty, 40), 40)
        samples = samples_of_texts(texts[empty:], name="Mine", chosen=ALL_WORDS, of=of)
        chosen, releases = chosen_words(samples, Budget(epsilon=20.0), neighbours)
        assert chosen.places.given == 40
        assert len(chosen) == 40 - empty
        plans.append(releases)
    assert plans[0] == plans[1] == (released_words(neighbours, 40, epsilon=20.0),)


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"epsilon": 0.1}, ParameterError, "another list for 300 documents: at ε = 0.1"),
        ({"epsilon": 1e-3, "delta": 1e-14}, ParameterError, "or a larger ε or δ"),
        ({"epsilon": 20, "delta": 1e-15}, ParameterError, "delta = 1e-15 is .* 2e-15 or more for"),
        (
            {"epsilon": 1.0},
            DataError,
            "no word is in so many documents that it may be shown.* has spent ε = 0",
        ),
        (
            {"epsilon": 5.0, "rank": 50},
            DataError,
            "only [0-9]+ words may be shown, too few for rank = 50: .* has spent ε = 1",
        ),
        ({"min_documents": 5}, ParameterError, 'left out unless word_list = "documents"'),
    ],
)
def test_mistakes_are_one_sentence(
    settings: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        run(lee("moment-nmf", **settings))


def test_without_noise_words_of_one_document_are_left_out_too() -> None:
    texts = [f"{' '.join(SHARED)} {letters(k)}" for k in range(30)]
    chosen, releases = chosen_words(of_texts(texts), None)
    assert releases == ()
    assert sorted(chosen.words) == sorted(SHARED)
    assert "without noise" in chosen.notes[-1]
    assert not chosen.public_words
    assert state(Ledger(releases)).label.startswith("not private")


def test_a_nominal_run_chooses_without_noise_and_says_so() -> None:
    statement = run(lee("private-nmf-published", rounds=2)).statement
    assert statement.nominal
    assert statement.caveats[0].startswith("Not covered: list of words")
