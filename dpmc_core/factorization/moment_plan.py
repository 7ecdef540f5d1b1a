"""What one-shot moment NMF releases: its settings, over how many numbers, and each one's share.

Provides ``MomentConfig`` and the plan of ``moments``, all by what is public: N, D and ε.
"""

import math
from dataclasses import dataclass

from dpmc_core.config import Config
from dpmc_core.factorization.contributions import frequency_part, words_worth_it
from dpmc_core.factorization.corrected import CorrectedNMFConfig, parts_of_rounds
from dpmc_core.factorization.parameters import NeighbourChoice, Parts, Refinements, Rounds
from dpmc_core.factorization.units import Units
from dpmc_core.privacy.budget import Budget, Part, for_replacing, plan
from dpmc_core.privacy.moments import sum_part, whole_moment_part


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
MEAN_SHARE, WORDS_SHARE = {"image": 0.07, "document": 0.1}, 0.15
REFINED_SHARE = 0.5  # of what mean and frequencies leave, where rounds refine the parts
RESIDUAL_CLIP = 0.9  # in units of the typical length of a centred column
PHOTOGRAPHS = _Look(
    frequencies=2.8, unseen=(0.5, 0.25), wider=2.0, worth_one=150.0, worth_two=150.0
)
DRAWN = _Look(frequencies=6.0, unseen=(0.0, 0.0), wider=1.0, worth_one=0.0, worth_two=100.0)
FEWEST_FREQUENCIES = 16
FIRST_SHARE = 0.15  # of the second moments' budget
EVENED_CLIP = 1.2  # of the second stage
WORDS_PER_SIGNAL, MOST_WORDS = 4.0, 1500


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
class MomentConfig(Config):
    """K parts; ``rounds`` of the NMF of synthetic columns; ``budget`` None for no noise.

    ``neighbours`` as in ``CorrectedNMFConfig``. ``refinements`` rounds of the corrected form begin
    at the parts of the moments, for half of the budget.
    """

    rank: Parts = 16
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
    if math.isinf(snr):
        return dimension
    look = DRAWN if drawn else PHOTOGRAPHS
    return max(
        min(FEWEST_FREQUENCIES, dimension),
        min(dimension, int(look.frequencies * math.sqrt(n * snr))),
    )


def sizes_of(units: Units, config: MomentConfig) -> Sizes:
    """By D, N and ε alone."""
    text = units.unit == "document"
    rows = min(units.dimension, MOST_WORDS) if text else units.dimension
    if config.budget is None:
        return Sizes(rows, rows, 1, rows)
    planned = plan(parts_of(units, Sizes(rows, min(64, rows), 1, rows), config), config.budget)
    assert planned is not None
    snr = RESIDUAL_CLIP**2 / planned["together"].mechanism.std
    if text:
        kept = words_worth_it(units.given, snr, WORDS_PER_SIGNAL, rows)
        after = 0
        if config.refinements:
            after = words_worth_it(
                units.given, 1 / planned["B"].mechanism.std, WORDS_PER_SIGNAL, rows
            )
        return Sizes(kept, kept, 1, after)
    if units.shape is None:
        return Sizes(rows, rows, 1, rows)  # of columns that are no pictures nothing is public
    look, worth = DRAWN if units.drawn else PHOTOGRAPHS, units.given * snr
    stages = 0 if worth < look.worth_one else 1 if worth < look.worth_two else 2
    return Sizes(rows, frequencies_worth_it(rows, units.given, snr, units.drawn), stages, rows)


def parts_of(units: Units, sizes: Sizes, config: MomentConfig) -> dict[str, Part]:
    """The releases by name; where they come from is derived in ``moments``."""
    unit = units.unit
    parts = frequency_part(units, WORDS_SHARE)
    parts["mean"] = sum_part(
        "the sum of all columns",
        clip=1.0,
        norm=2,
        coordinates=sizes.rows,
        share=MEAN_SHARE[unit] if sizes.stages or config.refinements else 1.0,
        unit=unit,
        non_negative=True,
    )
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
    return for_replacing(parts) if config.neighbours == "replace-one" else parts
