"""One-shot moment NMF: mean and second moments leave once, with noise, and what left is factorised.

Provides this project's own private factorisation. Six ideas, none of which
costs privacy:

* *Centre before squaring.* The mean leaves first. Each unit then takes its part along the mean out
  of its own column; what is left has a typical length e, which follows from the released mean
  because columns have length 1 (each image is brought to it, from itself alone): e² = 1 − ‖mean‖².
  In units of e it is cut to length 0.9, so its
  second moment moves by at most 0.81 (a column itself would move it by 1/e², ten times as much for
  faces).
* *A public basis for images.* Neighbouring pixels look alike: that is known before any face is
  seen. So the second moment is released over the lowest d frequencies of a cosine transform, d by
  the number of images and ε alone. Fewer numbers bring less noise.
* *Two stages where there are enough images* (in the spirit of CoinPress, Biswas et al. 2020): a
  small share of the budget buys a first second moment; each unit then scales its column so that all
  directions vary more alike, and is cut there. Weak directions stand above the noise that strong
  ones made necessary.
* *What no release shows is not absent*: the variation that is left over is spread over frequencies
  as in any photograph (``public_images``).
* *Few photographs for their noise*: then only the mean is released, with the whole budget, and all
  variation is taken to be as in any photograph. By N and ε alone.
* *A private choice of words for text*: those whose released document frequency is highest, so many
  as N and ε say are worth their noise.

Then eigenvalues are shrunk by what the noise alone would show (``shrink``), columns are drawn from
the Gaussian that is left, negative entries are cut to 0, and an ordinary NMF of this made-up data
gives the parts. Everything after the releases is free.

Rounds on the data come after that only where they are asked for (``refinements``). Mean and
frequencies keep their shares of the budget; half of the rest pays for rounds of the corrected form
(``corrected``) from the parts that the moments gave. What was released of the frequencies chooses
the words of both and weights them: it is paid for once. In each round a unit's column v and its
coefficients h, which follow from v, the released frequencies and the parts released last alone,
have length at most 1; so it moves A = Σ h hᵀ by ‖h‖² ≤ 1 and B = Σ v hᵀ by ‖v‖·‖h‖ ≤ 1 in ℓ2, as
there. All releases are in one plan.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse

from dpmc_core.arrays import FloatArray, pieces
from dpmc_core.datasets.samples import Samples, direction_of
from dpmc_core.factorization.contributions import (
    AllUnits,
    Selection,
    UnitGroup,
    Units,
    clipped_columns,
    frequency_part,
    keep_rows,
    mean_part,
    planned_for,
    rows_worth_it,
    sum_of_columns,
)
from dpmc_core.factorization.corrected import (
    CorrectedNMFConfig,
    around,
    parts_of_rounds,
    rounds_from,
    statistics_of_group,
)
from dpmc_core.factorization.public_images import cosine_basis, made_parts, smooth_shades
from dpmc_core.factorization.step import (
    FactorStep,
    NeighbourChoice,
    Refinements,
    Rounds,
    RoundsConfig,
    check_parts,
    random_dictionary,
)
from dpmc_core.privacy.algorithm import guaranteed
from dpmc_core.privacy.budget import Budget, Curator, Journal, Part, plan
from dpmc_core.privacy.ledger import Kind
from dpmc_core.privacy.moments import packed, shrink, unpacked, whole_moment_part


@dataclass(frozen=True)
class _Look:
    """What is public about a kind of images: how many frequencies are worth their noise for one
    √(N·Δ/σ), which share of the variation that no release shows is taken to be smooth (two shares:
    below N·Δ/σ = 1,500, and from there on, where releases show most of what is), and by how much
    made-up columns vary more than the released moments say (wider apart, their parts explain
    columns that the Gaussian does not).
    """

    frequencies: float
    unseen: tuple[float, float]
    wider: float
    worth_one: float  # N·Δ/σ from which the second moment is released,
    worth_two: float  # and from which in two stages


# Fixed in advance of any run; chosen on CBCL faces, LFW, cartoon faces and synthetic topics, so
# figures on those are slightly flattered.
MEAN_SHARE = {"image": 0.07, "document": 0.1}
REFINED_SHARE = 0.5  # of what mean and frequencies leave, where rounds refine the parts
RESIDUAL_CLIP = 0.9  # in units of the typical length of a centred column
PHOTOGRAPHS = _Look(
    frequencies=2.8, unseen=(0.5, 0.25), wider=2.0, worth_one=150.0, worth_two=150.0
)
DRAWN = _Look(frequencies=6.0, unseen=(0.0, 0.0), wider=1.0, worth_one=0.0, worth_two=100.0)
FEWEST_FREQUENCIES = 16
FIRST_SHARE = 0.15  # of the second moments' budget
EVENED_CLIP = 1.2  # of the second stage
MOST_WORDS = 1500


@dataclass(frozen=True)
class Sizes:
    """How many rows take part in the moments, how many numbers of each column the second moment is
    over, in how many stages it leaves, and how many rows take part in the rounds after it.
    """

    rows: int
    size: int
    stages: int
    after: int


@dataclass(frozen=True, kw_only=True)
class MomentConfig(RoundsConfig):
    """K parts; ``rounds`` of the NMF of synthetic columns; ``budget`` None for no noise.

    ``neighbours`` as in ``CorrectedNMFConfig``. ``refinements`` rounds of the corrected form begin
    at the parts of the moments, for half of the budget.
    """

    rounds: Rounds = 150
    neighbours: NeighbourChoice = "add/remove-one"
    refinements: Refinements = 0
    budget: Budget | None = None

    @property
    def after(self) -> CorrectedNMFConfig:
        """The rounds that begin at the parts of the moments, where there are any."""
        return CorrectedNMFConfig(rank=self.rank, rounds=max(self.refinements, 1))


def frequencies_worth_it(dimension: int, n: int, snr: float, drawn: bool = False) -> int:
    """How many frequencies of D pixels the second moment is released over.

    2.8·√(N·Δ/σ), 6·√(N·Δ/σ) for drawn images, whose edges are sharp; at least 16, at most D.
    """
    look = DRAWN if drawn else PHOTOGRAPHS
    return rows_worth_it(n, snr, dimension, look.frequencies, FEWEST_FREQUENCIES)


def sizes_of(units: Units, config: MomentConfig) -> Sizes:
    """By D, N and ε alone."""
    text = units.unit == "document"
    rows = min(units.dimension, MOST_WORDS) if text else units.dimension
    whole = Sizes(rows, rows, 1, rows)
    if config.budget is None:
        return whole
    planned = plan(parts_of(units, replace(whole, size=min(64, rows)), config), config.budget)
    assert planned is not None
    snr = RESIDUAL_CLIP**2 / planned["together"].mechanism.std
    if text:
        n_words, after = rows_worth_it(units.given, snr, rows), 0
        if config.refinements:
            after = rows_worth_it(units.given, 1 / planned["B"].mechanism.std, rows)
        return Sizes(n_words, n_words, 1, after)
    if units.shape is None:
        return whole  # of columns that are no pictures nothing is public
    look, worth = DRAWN if units.drawn else PHOTOGRAPHS, units.given * snr
    stages = 0 if worth < look.worth_one else 1 if worth < look.worth_two else 2
    return Sizes(rows, frequencies_worth_it(rows, units.given, snr, units.drawn), stages, rows)


def parts_of(units: Units, sizes: Sizes, config: MomentConfig) -> dict[str, Part]:
    """The releases by name; where they come from is derived in ``moments``."""
    unit = units.unit
    parts = frequency_part(units)
    share = MEAN_SHARE[unit] if sizes.stages or config.refinements else 1.0
    parts["mean"] = mean_part(units, sizes.rows, share)
    left = 1.0 - sum(part.share for part in parts.values())
    if config.refinements:
        share = left * REFINED_SHARE if sizes.stages else left
        parts |= parts_of_rounds(unit, config.after, sizes.after, share)
        left -= share
    if sizes.stages == 2:
        parts["first"] = whole_moment_part(
            "what goes together at first sight (second moment, centred)",
            clip=RESIDUAL_CLIP,
            size=sizes.size,
            share=FIRST_SHARE * left,
            unit=unit,
        )
        left *= 1 - FIRST_SHARE
    if sizes.stages:
        parts["together"] = whole_moment_part(
            "what goes together (second moment, centred)",
            clip=RESIDUAL_CLIP if sizes.stages == 1 else EVENED_CLIP,
            size=sizes.size,
            share=left,
            unit=unit,
        )
    kinds: dict[str, Kind] = dict.fromkeys(("first", "together"), "photographs")
    return planned_for(config.neighbours, parts, mean="average", **kinds)


MOST_SEEN = 1500.0  # N·Δ/σ from which releases show most of what varies
EVENED_POWER, FLOOR = 0.3, 0.1  # of the second stage; its floor in noise edges
MOST_DIRECTIONS = 300
_CHUNK = 4096


def learn_moments(
    units: Units, config: MomentConfig, rng: np.random.Generator, journal: Journal | None = None
) -> Iterator[FactorStep]:
    """Two steps: (1) the average as the only part, (2) K parts.

    What does not stand above the noise adds no part: then the rest are empty.
    """
    check_parts((units.dimension, units.given), config.rank)
    sizes = sizes_of(units, config)
    curator = Curator(plan(parts_of(units, sizes, config), config.budget), rng, journal)
    if journal is not None and curator.is_secret:
        # what goes on later makes the same parts
        seed = curator.once("seed of parts", lambda: np.array([rng.integers(2**63)]))
        rng = np.random.default_rng(int(seed[0]))
    wide = keep_rows(units, curator, max(sizes.rows, sizes.after))
    selection = wide.fewer(sizes.rows)
    even = replace(selection, lengthened=True)  # e follows from the mean only at length 1
    steps = _from_moments(units, even, sizes, config, curator, rng)
    for k, dictionary in enumerate(steps, start=1):
        whole = selection.spread(dictionary, units.dimension)
        if k == 2 and config.refinements:
            last = wide.fewer(sizes.after)
            refined = _refined(units, last, whole[last.rows], config, curator, rng)
            whole = last.spread(refined, units.dimension)
        yield FactorStep(k, whole, releases=curator.made(), rest=curator.rest())


def moment_nmf(
    samples: Samples, config: MomentConfig, rng: np.random.Generator
) -> Iterator[FactorStep]:
    """``learn_moments`` of images or documents in memory."""
    return learn_moments(AllUnits(samples), config, rng)


def _refined(
    units: Units,
    selection: Selection,
    start: FloatArray,
    config: MomentConfig,
    curator: Curator,
    rng: np.random.Generator,
) -> FloatArray:
    """The parts (M×K) after the rounds that begin at ``start``, over the ``selection``."""
    empty = ~start.any(axis=0)
    if empty.any():
        drawn = random_dictionary(len(start), config.rank, rng)
        start[:, empty] = around(start.sum(axis=1), drawn)[:, empty]
    statistics = partial(units.total, statistics_of_group, selection, config.after)
    *_, refined = rounds_from(statistics, start, config.after, curator)
    return refined


def _from_moments(
    units: Units,
    selection: Selection,
    sizes: Sizes,
    config: MomentConfig,
    curator: Curator,
    rng: np.random.Generator,
) -> Iterator[FloatArray]:
    """The average as the only part (M×K), and the parts, over the ``selection``."""
    size, n = sizes.size, units.given
    basis = cosine_basis(units.shape, size) if units.shape is not None else None

    mean = curator.total("mean", units, sum_of_columns, selection) / n
    std = curator.std("mean") / n
    energy = min(max(float(mean @ mean) - len(mean) * std**2, 0.0), 1.0)
    mean = np.maximum(_smooth(mean, units.shape, std), 0.0)
    if not mean.any() and units.unit == "image":
        mean = np.ones(len(mean))  # plain grey, where noise left nothing
    direction = direction_of(mean)
    alone = np.zeros((len(mean), config.rank))
    alone[:, 0] = direction
    yield alone

    typical = math.sqrt(max(1.0 - energy, 0.01))
    if sizes.stages == 0 and units.shape is not None:
        shades = PHOTOGRAPHS.wider * typical * smooth_shades(units.shape)
        yield made_parts(direction, shades, config.rank, config.rounds, rng)
        return

    def moment(name: str, evened: FloatArray | None) -> FloatArray:
        args = selection, direction, basis, typical, evened
        return unpacked(curator.total(name, units, _moment, *args), size)

    evened, back = None, np.eye(size)
    if sizes.stages == 2:
        first = moment("first", None)
        evened, back = _evened(first, _entry_std(curator, "first"), n)
    together = moment("together", evened)
    vectors, strengths = shrink(
        together, _entry_std(curator, "together"), min(size, MOST_DIRECTIONS)
    )
    spread = typical * (back @ (vectors * np.sqrt(strengths / n)))
    directions = spread if basis is None else basis @ spread
    if units.shape is not None and curator.private:
        look = DRAWN if units.drawn else PHOTOGRAPHS
        share = look.unseen[n * curator.shift("together") >= MOST_SEEN]
        unseen = share * max(typical**2 - float(np.vdot(directions, directions)), 0.0)
        directions = look.wider * np.hstack([directions, _unseen(units.shape, unseen, directions)])
    if not directions.any():
        yield alone
        return
    yield made_parts(direction, directions, config.rank, config.rounds, rng)


def _entry_std(curator: Curator, name: str) -> float:
    """σ of an entry off the diagonal: the packed noise comes back divided by √2."""
    return curator.std(name) / math.sqrt(2)


def _moment(
    group: UnitGroup,
    selection: Selection,
    direction: FloatArray,
    basis: FloatArray | None,
    typical: float,
    evened: FloatArray | None,
) -> FloatArray:
    """Σ z zᵀ over units, packed: z the column without its part along ``direction``, in ``basis``,
    over ``typical``, ``evened`` (size×size) where there was a first stage, and cut; in pieces.
    """
    values = selection.columns(group)
    size = len(direction) if basis is None else basis.shape[1]
    clip = RESIDUAL_CLIP if evened is None else EVENED_CLIP
    total = np.zeros((size, size))
    for part in pieces(values.shape[1], _CHUNK):
        piece = values[:, part]
        dense = piece.toarray() if sparse.issparse(piece) else piece
        left = dense - np.outer(direction, direction @ dense)
        left = (left if basis is None else basis.T @ left) / typical
        alone = clipped_columns(left if evened is None else evened @ left, clip)
        total += alone @ alone.T
    return packed(total)


def _evened(first: FloatArray, std: float, n: int) -> tuple[FloatArray, FloatArray]:
    """A symmetric map (size×size) that makes directions vary more alike, by a ``first`` noisy
    second moment of N = ``n`` units with ``std`` of an entry, and the map back.

    (Ĉ + pI)^−0.3, Ĉ the shrunk covariance and p a tenth of the largest eigenvalue that the noise
    alone shows, scaled so that columns have a length of about 1. Reads nothing else.
    """
    size = len(first)
    vectors, strengths = shrink(first, std, min(size, MOST_DIRECTIONS))
    covariance = (vectors * (strengths / n)) @ vectors.T
    floor = FLOOR * 2 * std * math.sqrt(size) / n
    strength, axes = np.linalg.eigh(covariance + floor * np.eye(size))
    strength = np.maximum(strength, floor)
    even = (axes * strength**-EVENED_POWER) @ axes.T
    back = (axes * strength**EVENED_POWER) @ axes.T
    seen = min(max(float(np.trace(first)) / n, 0.25), 1.0)
    rest = max(seen - float(strengths.sum()) / n, 0.0) / size
    length = math.sqrt(float(np.trace(even @ (covariance + rest * np.eye(size)) @ even)))
    return even / length, back * length


def _unseen(shape: tuple[int, int], energy: float, seen: FloatArray) -> FloatArray:
    """Directions (D×q) of smooth variation with this ``energy``, at right angles to those ``seen``
    (D×r); none without energy.
    """
    if energy <= 0:
        return np.zeros((len(seen), 0))
    smooth = smooth_shades(shape)
    axes, weights, _ = np.linalg.svd(seen, full_matrices=False)
    axes = axes[:, weights > 0]
    smooth -= axes @ (axes.T @ smooth)
    return smooth * math.sqrt(energy / max(float(np.vdot(smooth, smooth)), 1e-12))


def _smooth(mean: FloatArray, shape: tuple[int, int] | None, std: float) -> FloatArray:
    """The released mean image without its highest frequencies.

    As many are kept as make Stein's unbiased estimate of the error least, Σ_{dropped} y² − (dropped
    − kept)·σ² up to a constant. Reads nothing but what was released and the known σ.
    """
    if shape is None or std == 0:
        return mean
    basis = cosine_basis(shape, len(mean))
    seen = basis.T @ mean
    gain = np.cumsum(2 * std**2 - seen**2)
    n_frequencies = int(gain.argmin()) + 1
    return basis[:, :n_frequencies] @ seen[:n_frequencies]


ALGORITHMS = (
    guaranteed(
        name="moment-nmf",
        title="One-shot moment NMF",
        summary="The average and what varies together leave once, with noise; the parts are made "
        "from what left.",
        source="this project, after finding 15 (docs/moment-nmf.md)",
        config=MomentConfig,
        order=25,
        unit="sample",
        factorize=moment_nmf,
        learn=learn_moments,
        steps=2,
    ),
)
