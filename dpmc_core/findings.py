"""What comparisons show, as values, and the one wording of each, for pages and commands."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from dpmc_core.metrics import Comparison
from dpmc_core.wording import measured, possessive

BASELINE = "the best baseline"


@dataclass(frozen=True)
class NoiseEffect:
    """What noise does to a method: the ``change`` of its error (or recall) against the same runs
    without noise, whose mean is ``quiet``.
    """

    change: Comparison
    quiet: float

    def on(self, method: str) -> str:
        """The clause about ``method``.

        >>> NoiseEffect(Comparison(0.1, 0.01), 1.0).on("DPALS")
        "raises DPALS's error by 10 ± 1 %"
        >>> NoiseEffect(Comparison(0.1, 0.2, less_is_better=False), 0.5).on("moments")
        "does not change moments' recall significantly"
        """
        what = f"{possessive(method)} "
        what += "error" if self.change.less_is_better else "recall"
        if not self.change.detected:
            return f"does not change {what} significantly"
        percent = 100 / self.quiet
        size = measured(percent * abs(self.change.mean), percent * self.change.half_width)
        return f"{'raises' if self.change.mean > 0 else 'lowers'} {what} by {size} %"


def noise_and_baseline(
    noise: str,
    method: str,
    effect: NoiseEffect | None,
    standing: Comparison,
    without: Comparison | None = None,
) -> str:
    """What ``noise`` does to a ``method`` (None: not known), and how that stands against the best
    baseline; ``without`` is how the method stands without noise.

    >>> effect = NoiseEffect(Comparison(0.1, 0.01), 1.0)
    >>> noise_and_baseline("Huber", "ALS", effect, Comparison(-0.2, 0.1))
    "Huber noise raises ALS's error by 10 ± 1 %, still better than the best baseline"
    >>> noise_and_baseline("Huber", "ALS", None, Comparison(0.2, 0.1))
    'ALS with Huber noise is worse than the best baseline'
    """
    than = standing.than(BASELINE)
    if effect is None:
        return f"{method} with {noise} noise is {than}"
    if effect.change.worse and standing.better:
        than = f"still {than}"
    elif without is not None and without.better and effect.change.worse and not standing.detected:
        than = f"no longer significantly better than {BASELINE}"
    elif without is not None and without.worse and standing.worse:  # not the noise's doing
        than += " with or without noise"
    joint = "," if effect.change.detected else ", and the run is"
    return f"{noise} noise {effect.on(method)}{joint} {than}"


@dataclass(frozen=True)
class Standings:
    """Where along a line a method is ``better`` or ``worse`` than the best baseline, where neither
    (``unclear``) and where one repetition gives no interval (``single``).
    """

    better: tuple[float, ...]
    worse: tuple[float, ...]
    unclear: tuple[float, ...]
    single: tuple[float, ...]

    @classmethod
    def of(cls, line: Iterable[tuple[float, Comparison]]) -> Self:
        """Of a line's places, each with its difference from the baseline."""
        kinds = {k: list[float]() for k in ("better", "worse", "unclear", "single")}
        for x, apart in line:
            clear = "better" if apart.better else "worse" if apart.worse else "unclear"
            kinds[clear if apart.pairs > 1 else "single"].append(x)
        return cls(*map(tuple, kinds.values()))

    def words(self, places: Callable[[Sequence[float]], str]) -> str:
        """The clause, with ``places`` as "at ε = 1, 2".

        >>> places = {x: Comparison(mean, 0.1) for x, mean in ((1, 0.2), (2, 0.0), (5, -0.2))}
        >>> def words(*line):
        ...     at = Standings.of((x, places[x]) for x in line)
        ...     return at.words(lambda xs: "at ε = " + ", ".join(f"{x:g}" for x in xs))
        >>> words(1, 5)
        'is better than the best baseline at ε = 5 and worse at ε = 1'
        >>> words(1, 2)
        'is nowhere significantly better than the best baseline and worse at ε = 1; elsewhere not
        significantly different'
        >>> words(1), words(5)
        ('is worse than the best baseline throughout',
         'is better than the best baseline throughout')
        """
        counts = [len(kind) for kind in (self.better, self.worse, self.unclear)]
        if not any(counts):
            return "has one repetition, which gives no interval"
        if not self.single and max(counts[:2]) == sum(counts):
            return f"is {'better' if self.better else 'worse'} than {BASELINE} throughout"
        clause = f"is nowhere significantly better than {BASELINE}"
        if self.better:
            clause = f"is better than {BASELINE} {places(self.better)}"
        if self.worse:
            clause += f" and worse {places(self.worse)}"
        if self.unclear and (self.better or self.worse):
            clause += "; elsewhere not significantly different"
        if self.single:
            clause += f"; {len(self.single)} with one repetition, which gives no interval"
        return clause
