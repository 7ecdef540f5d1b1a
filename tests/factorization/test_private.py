"""What the private factorisations release.

Replayed with one unit in and out, against the sensitivities that the ledger states.
"""

from collections import defaultdict
from dataclasses import replace
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
from dp_accounting import dp_event, pld
from scipy import sparse

from dpmc_core.datasets.loaders import load_samples
from dpmc_core.datasets.samples import Samples, contaminate, unit_columns, unit_maximum
from dpmc_core.datasets.synthetic.samples import cartoon_faces, topic_documents
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.tasks.factorize import baselines_of
from dpmc_core.factorization import (
    CorrectedNMFConfig,
    MomentConfig,
    PublishedConfig,
    RobustConfig,
    corrected,
    fit_coefficients,
    objective,
)
from dpmc_core.factorization.contributions import AllUnits, Selection, keep_rows
from dpmc_core.factorization.moments import _evened, frequencies_worth_it
from dpmc_core.factorization.public_images import cosine_basis, parts_without_data, smooth_shades
from dpmc_core.factorization.published import paper_sigma
from dpmc_core.factorization.step import nndsvd
from dpmc_core.metrics.factors import share_found
from dpmc_core.privacy import Ledger, losses, state
from dpmc_core.privacy.account import tightest
from dpmc_core.privacy.budget import Budget, Curator
from dpmc_core.privacy.tradeoff import of_ledger
from tests.steps import Tape, last_of, spending, steps_of

BUDGET = Budget(epsilon=4.0, delta=1e-5)
PRIVATE = (CorrectedNMFConfig, MomentConfig)


def record(
    config: Any, samples: Samples, replayed: Tape | None = None
) -> tuple[Tape, np.ndarray, Ledger]:
    """A run that gets the outputs of ``replayed``, if given, whatever goes into its releases: these
    sums, its dictionary and its ledger.
    """
    tape = Tape(replayed)

    def noisy(name: str, exact: np.ndarray, _: np.ndarray) -> np.ndarray:
        spread = 0.02 * (1 + np.abs(exact).mean())
        noise = np.random.default_rng(len(tape.outputs)).normal(0, spread, exact.shape)
        # smaller B than it is makes short parts, which ask for coefficients longer than 1
        return (0.2 if name == "B" else 1.0) * exact + noise

    with pytest.MonkeyPatch.context() as patch:
        tape.record(patch, noisy)
        step, ledger = spending(steps_of(config, samples, 9))
    return tape, step.dictionary, ledger


def only(samples: Samples, keep: np.ndarray) -> Samples:
    """The same number of places; those not kept are empty."""
    if samples.unit == "image":
        return replace(samples, values=np.asarray(samples.values) * keep)
    mask = sparse.diags_array(keep.astype(float))
    return replace(
        samples,
        values=sparse.csc_array(samples.values @ mask).sorted_indices(),
        counts=sparse.csc_array(samples.counts @ mask).sorted_indices(),
    )


def extreme(faces: Samples) -> Samples:
    """Two places taken by what is least like a face.

    The first is bright on the left alone, the second five times too long.
    """
    values = np.array(faces.values)
    half = np.zeros(faces.shape)
    half[:, : faces.shape[1] // 2] = 1
    values[:, 0] = half.ravel() / np.linalg.norm(half)
    values[:, 1] *= 5
    return replace(faces, values=values)


FACES = extreme(contaminate(cartoon_faces(40, 3), 0.2, 0.7, 3))
TEXTS = topic_documents(60, 3)
MOMENTS = MomentConfig(rank=4, rounds=5, budget=Budget(epsilon=500.0))
CORRECTED = CorrectedNMFConfig(rank=4, rounds=2, budget=BUDGET)
CASES = {
    "sound, mean": replace(CORRECTED, rounds=3),
    "sound, random": replace(CORRECTED, start="random"),
    "sound, outliers": replace(CORRECTED, outlier_penalty=0.5),
    "sound, sampled": replace(CORRECTED, rounds=3, sampling_rate=0.9),
    "moments": MOMENTS,
    "moments, Laplace": replace(MOMENTS, budget=Budget(epsilon=5000.0, family="laplace")),
    "moments, refined": replace(MOMENTS, refinements=2),
    "moments, too little ε for them": replace(MOMENTS, budget=Budget(epsilon=1.0)),
}
PHOTOGRAPHS = replace(FACES, drawn=False, name="photographs")
ROWS = replace(FACES, drawn=False, shape=None, name="rows that are no pictures")


SETS = {
    "sound": (FACES, TEXTS, unit_maximum(TEXTS)),
    "sound, outliers": (FACES,),
    "moments": (FACES, TEXTS, PHOTOGRAPHS, ROWS),
    "moments, refined": (FACES, unit_maximum(TEXTS)),
    "moments, too little ε for them": (PHOTOGRAPHS,),
}


STRANGE = (0.0, 5e-324, 1e-310, 1.7e308, 1e200, 255.0, 0.5)


def strange(samples: Samples, place: int) -> list[Samples]:
    """The same images, but two unlike any photograph in turns at ``place``."""
    pictures = []
    for seed in range(2 * (samples.unit == "image")):
        pixels = np.random.default_rng(seed).choice(STRANGE, (samples.dimension, 1))
        values = np.array(samples.values)
        values[:, [place]] = unit_columns(pixels)
        pictures.append(replace(samples, values=values))
    return pictures


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("case", "samples"),
    [(case, s) for case in CASES for s in SETS.get(case, SETS[case.split(",")[0]])],
    ids=lambda x: x if isinstance(x, str) else f"{x.unit}s, {x.name}",
)
def test_every_release_is_a_sum_over_units_within_its_sensitivity(
    case: str, samples: Samples
) -> None:
    """A place empty, with what is in it, and with any picture in it."""
    longest: dict[str, float] = defaultdict(float)
    for alice in (0, 1, 7, 11):
        alone = np.arange(len(samples)) == alice
        empty, dictionary, ledger = record(CASES[case], only(samples, ~alone))
        assert sum(release.count for release in ledger.releases) == len(empty.sums)
        for units in (samples, *strange(samples, alice)):
            (whole, same, _), (hers, _, _) = (
                record(CASES[case], some, empty) for some in (units, only(units, alone))
            )
            # what was released decides everything: with the same releases W is the same, whoever
            # is there
            np.testing.assert_array_equal(dictionary, same)
            for (_, a), (_, b), (_, c) in zip(whole.sums, empty.sums, hers.sums, strict=True):
                np.testing.assert_allclose(a - b, c, atol=1e-8)
            for what, parts in empty.moved(whole):
                assert parts.max() <= 1 + 1e-9, what
                if units is samples:
                    longest[what] = max(longest[what], parts[1])
    # each bound is reached, so none is of something else than what is released
    near = 0.5 if "outliers" in case or samples.at_maximum else 0.9
    assert all(ratio > near for ratio in longest.values()), longest


@pytest.mark.nightly
@pytest.mark.parametrize("epsilon", [0.5, 5.0])
@pytest.mark.parametrize("family", ["gaussian", "laplace", "huber"])
def test_runs_spend_what_they_were_given(epsilon: float, family: str) -> None:
    budget = Budget(epsilon=epsilon, family=family)
    for samples, config in product((FACES, TEXTS), PRIVATE):
        steps = list(steps_of(config(rank=3, rounds=3, budget=budget), samples))
        for step in steps:
            assert step.dictionary.shape == (samples.dimension, 3)
            assert np.isfinite(step.dictionary).all()
            assert step.dictionary.min() >= 0
        statement = state(spending(steps)[1])
        assert 0.9 * epsilon < statement.epsilon <= epsilon * (1 + 1e-6)
        assert not statement.nominal
        assert statement.unit == samples.unit
        assert "computed from the data without noise" in statement.caveats[0]


@pytest.mark.parametrize("epsilon", [20.0, 50.0])
def test_one_round_of_laplace_noise_is_counted_by_what_applies(
    epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where dp-accounting refuses its own grid, broken by rounding, the other methods step in."""

    def refuse(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr(losses, "_single", refuse)
    config = CorrectedNMFConfig(
        rank=9, rounds=1, inner=1, budget=Budget(epsilon=epsilon, family="laplace")
    )
    (step,) = steps_of(config, load_samples("lfw"))
    statement = state(Ledger(step.releases))
    assert 0.9 * epsilon < statement.epsilon <= epsilon * (1 + 1e-6)
    assert "cannot be put on a grid" in str(statement.accounts)


@pytest.mark.parametrize("samples", [FACES, TEXTS], ids=lambda s: s.unit)
def test_replacing_one_is_planned_with_root_two_of_the_sensitivities(samples: Samples) -> None:
    """All that is summed here is without negative entries, or an outer product."""
    for config in PRIVATE:
        releases = []
        for neighbours in ("add/remove-one", "replace-one"):
            planned = config(rank=3, rounds=3, budget=Budget(epsilon=2.0), neighbours=neighbours)
            _, ledger = spending(steps_of(planned, samples))
            statement = state(ledger)
            assert statement.neighbours == neighbours
            assert statement.epsilon == pytest.approx(2.0, rel=1e-5)
            releases.append(ledger.releases)
        for once, replaced in zip(*releases, strict=True):
            assert replaced.what == once.what
            root = np.sqrt(2)
            assert replaced.l2_sensitivity == pytest.approx(root * once.l2_sensitivity, rel=1e-14)
            assert replaced.mechanism.std == pytest.approx(root * once.mechanism.std, rel=1e-4)


def test_random_starts_read_no_data() -> None:
    """Those of faces that have nothing in common; the noise of one swamps its data, the other's
    steps are next to none.
    """
    faces = [cartoon_faces(40, seed) for seed in (3, 8)]
    config = CorrectedNMFConfig(rank=3, rounds=1, start="random", budget=Budget(epsilon=0.0101))
    first, other = (next(steps_of(config, some, 1)).dictionary for some in faces)
    assert np.linalg.norm(first - other) < 0.1 * np.linalg.norm(first)
    still = PublishedConfig(rank=3, rounds=1, dictionary_start="random", dictionary_step=1e-9)
    (one, ledger), (two, _) = (spending(steps_of(still, some, 1)) for some in faces)
    np.testing.assert_allclose(one.dictionary, two.dictionary, atol=1e-6)
    assert 0 < one.moved < 1e-6
    statement = state(ledger)
    assert statement.nominal
    assert statement.caveats[0].startswith("The parts start at random")


def test_as_published_takes_the_printed_steps() -> None:
    """Equations 8 and 11 to 12 as they stand, each with its 1/N, η_H = N/λ_max(WᵀW)."""
    faces, n, steps = cartoon_faces(60, 0), 60, (3, 2)
    v = np.asarray(faces.values)
    w, h = nndsvd(v, 4)
    length = np.linalg.norm(w, axis=0)
    w, h = w / length, h * length[:, None]
    eta_h = n / np.linalg.eigvalsh(w.T @ w)[-1]
    eta_w = eta_h / 10_000
    for _ in range(steps[0]):
        h = np.maximum(h - eta_h * (w.T @ w @ h - w.T @ v) / n, 0)
    h = h / np.maximum(1, np.linalg.norm(h, axis=0))
    a, b, start = h @ h.T / n, v @ h.T / n, w
    for _ in range(steps[1]):
        w = np.maximum(w - eta_w * (w @ a - b), 0)
        w = w / np.maximum(1, np.linalg.norm(w, axis=0))
    config = PublishedConfig(
        rank=4, rounds=1, inner=steps[0], dictionary_steps=steps[1], epsilon=None
    )
    assert config.dictionary_step == 1e-4
    (step,) = steps_of(config, faces)
    np.testing.assert_allclose(step.dictionary, w, rtol=0, atol=1e-12)
    np.testing.assert_allclose(step.coefficients, h, rtol=0, atol=1e-12)
    moved = np.linalg.norm(w - start) / np.linalg.norm(start)
    assert step.moved == pytest.approx(moved, rel=1e-6)


def _apart(*, alice: bool) -> Samples:
    """400 images of two parts, and Alice's, or an empty place, on three pixels of her own."""
    values = np.zeros((9, 400))
    values[:6] = np.repeat(np.random.default_rng(0).random((2, 400)), 3, axis=0)
    values[:, 0] = 0
    values[6:, 0] = alice
    return replace(cartoon_faces(400, 0), values=unit_columns(values), shape=(3, 3), truth=None)


# the printed step, eq. 7's, and one at which the noise of the rounds covers the last dictionary
@pytest.mark.parametrize("step", [1e-4, 1e-4 / 400, 1e-2])
@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.5])
def test_the_start_as_published_gives_one_image_away(epsilon: float, step: float) -> None:
    """Not by its steps: W₀, which has no noise, holds Alice's image or nothing in its place."""
    images = {alice: _apart(alice=alice) for alice in (True, False)}
    starts = {alice: nndsvd(data.values, 3)[0][6:] for alice, data in images.items()}
    assert not starts[False].any()
    np.testing.assert_allclose(starts[True][:, 2] / np.linalg.norm(starts[True]), 3**-0.5)
    config = PublishedConfig(rank=3, rounds=10, epsilon=epsilon, dictionary_step=step)
    traces: dict[bool, list[float]] = defaultdict(list)
    for (alice, data), seed in product(images.items(), range(20)):
        last, ledger = spending(steps_of(config, data, seed))
        traces[alice].append(last.dictionary[6:].sum(axis=0).max())
    statement = state(ledger)
    assert statement.nominal
    assert statement.caveats[0].startswith("Not private")
    assert 0.02 < statement.epsilon < 2
    assert (min(traces[True]) > max(traces[False])) == (step < 1e-2)


def test_as_published_releases_what_algorithm_2_prints() -> None:
    config = PublishedConfig(rank=4, rounds=1, outlier_penalty=0.5)
    (step,) = steps_of(config, cartoon_faces(50, 0))
    a, b = step.releases
    assert (a.coordinates, b.coordinates) == (16, 576 * 4)
    assert (a.l2_sensitivity, b.l2_sensitivity) == (2 / 50, 4 / 50)
    assert a.mechanism.std == pytest.approx(2 / 50 / 0.5 * np.sqrt(2 * np.log(1.25e5)))
    assert paper_sigma(1.0, 1.0, 1e-5) == pytest.approx(4.844805262605389)
    assert np.linalg.norm(step.coefficients, axis=0).max() <= 1 + 1e-9
    assert np.linalg.norm(step.outliers, axis=0).max() <= 1 + 1e-9


def test_unit_maximum_has_the_papers_bound_over_the_root_of_the_pixels() -> None:
    """Where the brightest pixel is 1, a white image of one part in the place of one of another
    moves B by more than eq. 14 prints; over √D it moves it by less, and nothing is cut.
    """
    images = np.random.default_rng(4).random((9, 4, 4))
    images[0] = 7.0
    samples = unit_maximum(Samples.of_images(images, name="x"))
    values = np.asarray(samples.values)
    brightest = images.max(axis=(1, 2))
    np.testing.assert_allclose(4 * values, (images / brightest[:, None, None]).reshape(9, -1).T)
    assert np.linalg.norm(values, axis=0).max() == pytest.approx(1.0)
    (step,) = steps_of(PublishedConfig(rank=3, rounds=1), samples)
    white, parts = values[:, 0], np.eye(3)
    moved = np.linalg.norm(np.outer(white, parts[0] - parts[1])) / 9
    assert moved <= step.releases[1].l2_sensitivity < 4 * moved


def test_unit_maximum_of_documents_cuts_the_longest() -> None:
    """2 and 5 long where the largest weight is 1, over 4."""
    counts = sparse.csc_array(np.array([[3.0] * 4 + [0.0] * 25, [0.0] * 4 + [2.0] * 25]).T)
    given = Samples(values=counts, counts=counts, unit="document", name="x")
    samples = unit_maximum(given)
    for values in (
        samples.values,
        Selection(np.arange(29), np.ones(29)).columns(AllUnits(samples).whole),
    ):
        np.testing.assert_allclose(values.max(axis=0).toarray(), [0.25, 0.2])
        np.testing.assert_allclose(sparse.linalg.norm(values, axis=0), [0.5, 1.0])


@pytest.mark.parametrize("samples", [TEXTS, cartoon_faces(300, 1)], ids=lambda s: s.unit)
def test_moments_do_not_depend_on_how_bright_or_long_each_is(samples: Samples) -> None:
    """Each is brought to length 1 from itself alone: e² = 1 − ‖mean‖² holds of no shorter ones."""
    config = MomentConfig(rank=2, budget=Budget(epsilon=50.0))
    first, second = (steps_of(config, some) for some in (samples, unit_maximum(samples)))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one.dictionary, other.dictionary, atol=1e-6)


@pytest.mark.nightly
def test_more_faces_bring_the_true_parts_out() -> None:
    shares = []
    for n in (300, 20_000):
        samples = cartoon_faces(n, 0)
        step = last_of(MomentConfig(rank=20, budget=Budget(epsilon=1.0)), samples)
        shares.append(share_found(samples.truth, step.dictionary))
    assert shares[0] < 0.5
    assert shares[1] > 0.9


@pytest.mark.nightly
def test_faces_beat_the_average_face_however_few() -> None:
    """A hundred photographs at ε = 1: what little is released is filled up with what is public."""
    faces = load_samples("lfw")
    average = float(baselines_of(faces, 25)["average column"].mean())
    for seed in range(5):
        step = last_of(MomentConfig(rank=25, budget=Budget(epsilon=1.0)), faces, seed)
        fits = fit_coefficients(faces.values, step.dictionary)
        assert objective(faces.values, step.dictionary, fits) < 0.65 * average


@pytest.mark.nightly
@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("neighbours", ["add/remove-one", "replace-one"])
def test_few_photographs_release_their_mean_alone_and_say_so(
    drawn: bool, neighbours: Literal["add/remove-one", "replace-one"]
) -> None:
    faces = replace(cartoon_faces(200, 0), drawn=drawn)
    for epsilon, count, few in ((20.0, 3, False), (1.0, 2 if drawn else 1, not drawn)):
        config = MomentConfig(rank=9, budget=Budget(epsilon=epsilon), neighbours=neighbours)
        step, ledger = spending(steps_of(config, faces))
        statement = state(ledger)
        assert 0.999 * epsilon < statement.epsilon <= epsilon * (1 + 1e-9)
        assert (step.dictionary.max(axis=0) > 0).all()
        assert len(ledger.releases) == count
        assert ("Too few images" in " ".join(statement.caveats)) == few


def test_parts_made_without_data_are_always_the_same_and_whole() -> None:
    first = parts_without_data((12, 10), 9)
    parts_without_data.cache_clear()
    np.testing.assert_array_equal(first, parts_without_data((12, 10), 9))
    assert first.shape == (120, 9)
    assert first.min() >= 0
    np.testing.assert_allclose(np.linalg.norm(first, axis=0), 1)
    shades = smooth_shades((12, 10))
    assert np.vdot(shades, shades) == pytest.approx(1)
    # the energy falls with the frequency, along orthogonal directions
    energy = np.sum(shades**2, axis=0)
    assert (np.diff(energy) <= 1e-12).all()
    np.testing.assert_allclose(shades.T @ shades, np.diag(energy), atol=1e-12)


def test_evening_is_undone_exactly_and_evens() -> None:
    rng = np.random.default_rng(1)
    strengths = np.geomspace(100, 0.01, 20)
    z = rng.normal(size=(20, 5000)) * np.sqrt(strengths / strengths.sum())[:, None]
    even, back = _evened(z @ z.T, 0.1, 5000)
    np.testing.assert_allclose(back @ even, np.eye(20), atol=1e-9)
    np.testing.assert_allclose(even, even.T, atol=1e-9)
    spread = np.linalg.eigvalsh(even @ (z @ z.T) @ even)
    assert spread[-1] / spread[-5] < 0.5 * strengths[0] / strengths[4]
    assert np.mean(np.sum((even @ z) ** 2, axis=0)) == pytest.approx(1, rel=0.05)


def test_the_cosine_basis_is_orthonormal_and_lowest_first() -> None:
    basis = cosine_basis((6, 5), 30)
    np.testing.assert_allclose(basis.T @ basis, np.eye(30), atol=1e-12)
    np.testing.assert_allclose(basis[:, 0], np.full(30, 30**-0.5))
    assert frequencies_worth_it(100, 50, 0.01) == 16
    assert frequencies_worth_it(100, 10**6, 1.0) == 100
    assert frequencies_worth_it(100, 50, np.inf) == 100


@pytest.mark.parametrize("samples", [TEXTS, FACES], ids=["documents", "images"])
def test_refinements_are_of_one_plan(samples: Samples) -> None:
    """Frequencies and mean are paid for once, two rounds come after, and all is in the budget."""
    config = MomentConfig(rank=3, rounds=3, refinements=2, budget=Budget(epsilon=3.0))
    step, ledger = spending(steps_of(config, samples))
    assert not step.rest
    counts = {release.what: release.count for release in ledger.releases}
    for what in ("which parts go together (A)", "what goes with each part (B)"):
        assert counts.pop(what) == 2
    assert set(counts.values()) == {1}
    assert len(counts) == (3 if samples is TEXTS else 2)
    assert tightest(ledger, 1e-5) == pytest.approx(3.0, rel=1e-5)


def test_refinements_explain_more_than_the_moments() -> None:
    errors = []
    for refinements in (0, 3):
        config = MomentConfig(rank=3, rounds=30, refinements=refinements)
        step = last_of(config, TEXTS, 1)
        fits = fit_coefficients(TEXTS.values, step.dictionary, 40)
        errors.append(objective(TEXTS.values, step.dictionary, fits))
    assert errors[1] < errors[0]


def test_words_are_chosen_by_what_was_released() -> None:
    """Without noise: the most frequent words, weighted by an IDF near scikit-learn's, every column
    of length 1.
    """
    units = AllUnits(TEXTS)
    curator = Curator(None, np.random.default_rng(0))
    many, few = (keep_rows(units, curator, count) for count in (40, 10))
    values = many.columns(units.whole)
    assert values.shape == (40, len(TEXTS))
    assert np.diff(many.rows).min() > 0
    lengths = np.sqrt(np.asarray(values.multiply(values).sum(axis=0)).ravel())
    np.testing.assert_allclose(lengths[lengths > 0], 1)
    fewer = many.fewer(10)
    assert few.rows.tolist() == fewer.rows.tolist()
    np.testing.assert_array_equal(few.idf, fewer.idf)


SAMPLED = CorrectedNMFConfig(rank=4, rounds=6, sampling_rate=0.2, budget=BUDGET)


@pytest.mark.parametrize("start", ["mean", "random"])
def test_samples_cost_what_dp_accounting_says(start: str) -> None:
    """A and B of a round are of one sample: together one release of it."""
    _, ledger = spending(steps_of(replace(SAMPLED, start=start), FACES))
    event, shifts = pld.PLDAccountant(), defaultdict[float, float](float)
    for release in ledger.releases:
        shifts[release.sampling_rate] += (release.l2_sensitivity / release.mechanism.std) ** 2
    for rate, square in shifts.items():
        one = dp_event.GaussianDpEvent(square**-0.5)
        if rate < 1:
            event.compose(dp_event.PoissonSampledDpEvent(rate, one), 6)
        else:
            event.compose(one)
    assert sorted(shifts) == [0.2, 1.0][: len(ledger.releases) - 1]
    assert tightest(ledger, 1e-5) == pytest.approx(event.get_epsilon(1e-5), rel=1e-3)
    assert tightest(ledger, 1e-5) == pytest.approx(BUDGET.epsilon, rel=1e-3)
    statement = state(ledger, 1e-5)
    assert statement.epsilon <= BUDGET.epsilon
    assert any("of new samples" in caveat for caveat in statement.caveats)
    whole = Ledger(tuple(replace(release, sampling_rate=1.0) for release in ledger.releases))
    assert tightest(whole, 1e-5) > 1.5 * BUDGET.epsilon
    curves = of_ledger(ledger), of_ledger(whole)
    assert curves[0].misses(np.array([0.05])) > curves[1].misses(np.array([0.05]))


def test_samples_are_taken_in_memory_alone() -> None:
    units = AllUnits(FACES)
    units.whole = None
    with pytest.raises(ParameterError, match="must be 1 for units in partitions"):
        next(corrected.learn_corrected(units, SAMPLED, np.random.default_rng(0)))


def test_each_round_is_of_another_sample() -> None:
    """Of images all alike, A says how many took part."""
    values = np.tile(FACES.values[:, 5:6], 400)
    alike = replace(FACES, values=values, labels=None)
    config = replace(SAMPLED, rank=1, rounds=30, start="random", budget=None)
    counts = []
    with pytest.MonkeyPatch.context() as patch:
        statistics = corrected.gram_and_target

        def counted(values: np.ndarray, coefficients: np.ndarray) -> Any:
            counts.append((coefficients > 0).sum())
            return statistics(values, coefficients)

        patch.setattr(corrected, "gram_and_target", counted)
        spending(steps_of(config, alike))
    assert len(set(counts)) > 5
    assert abs(np.mean(counts) - 80) < 4 * np.sqrt(400 * 0.2 * 0.8 / 30)
    assert 0.4 < np.var(counts) / (400 * 0.2 * 0.8) < 2.2


@pytest.mark.parametrize(
    ("samples", "kind", "settings", "error", "message"),
    [
        *(
            (TEXTS, kind, {"outlier_penalty": 0.5}, DataError, "documents × words")
            for kind in (CorrectedNMFConfig, RobustConfig)
        ),
        (FACES, MomentConfig, {"rank": 41}, ParameterError, "at most 40"),
        (FACES, RobustConfig, {"rank": 41}, ParameterError, "rank = 41 .* at most 40"),
        (
            FACES,
            CorrectedNMFConfig,
            {"sampling_rate": 0.999, "neighbours": "replace-one"},
            ParameterError,
            "sampling_rate = 0.999 .* must be 1 for one unit replaced",
        ),
    ],
)
def test_what_cannot_be_done_is_refused(
    samples: Samples, kind: Any, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        next(steps_of(kind(**{"rank": 3, **settings}), samples))
