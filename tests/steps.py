"""Runs of algorithms, step by step, as tests look at them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.privacy import Ledger, Release
from dpmc_core.privacy.budget import Curator


def steps_of(
    config: Any, data: Any, seed: int | np.random.Generator = 0, *more: Any, task: str = ""
) -> Iterator[Any]:
    """Steps of the algorithm whose settings ``config`` are, at the first task that it has if no
    other is named; ``more`` is what else the task takes.
    """
    (card,) = (card for card in ALGORITHMS.values() if card.config is type(config))
    solve = getattr(card, task or card.tasks[0])
    return solve(data, config, np.random.default_rng(seed), *more)  # a generator stays itself


def last_of(*run: Any, **task: str) -> Any:
    """The last of the steps."""
    *_, last = steps_of(*run, **task)
    return last


def spending(steps: Iterable[Any]) -> tuple[Any, Ledger]:
    """Run to the end: the last step, and the ledger of what all steps released."""
    ledger, last = Ledger(), None
    for last in steps:
        ledger = ledger.plus(last.releases)
    return last, ledger


def parts_used(release: Release, change: np.ndarray) -> np.ndarray:
    """The ℓ1, ℓ2 and ℓ∞ norms of a change, each as a part of the recorded sensitivity."""
    largest = release.linf_sensitivity or release.l2_sensitivity
    norms = np.abs(change).sum(), np.linalg.norm(change), np.abs(change).max(initial=0)
    return np.divide(norms, (release.l1_sensitivity, release.l2_sensitivity, largest))


@dataclass
class Tape:
    """What goes into each release of a run, with its plan, and what comes out: the outputs of the
    run ``replayed``, if there is one, whatever goes in.
    """

    replayed: "Tape | None" = None
    sums: list[tuple[Release, np.ndarray]] = field(default_factory=list)
    outputs: list[np.ndarray] = field(default_factory=list)

    def output(self, own: np.ndarray) -> np.ndarray:
        """``own``, or what came out in its place before."""
        self.outputs.append(self.replayed.outputs[len(self.outputs)] if self.replayed else own)
        return np.array(self.outputs[-1])

    def record(
        self,
        patch: pytest.MonkeyPatch,
        noisy: Callable[[str, np.ndarray, np.ndarray], np.ndarray] = lambda *sums: sums[-1],
    ) -> None:
        """Record releases, whose outputs are ``noisy`` of their name, sums and own outputs."""
        release_sum = Curator.release

        def release(curator: Curator, name: str, exact: Any, **how: bool) -> np.ndarray:
            exact = exact() if callable(exact) else exact
            own = release_sum(curator, name, exact, **how)  # checks the plan, writes the ledger
            self.sums.append((curator._plan[name], np.array(exact)))
            return self.output(noisy(name, exact, own))

        patch.setattr(Curator, "release", release)

    def moved(self, other: "Tape") -> Iterator[tuple[str, np.ndarray]]:
        """What each release is of, and by which parts of its sensitivities its sums are apart from
        those of another run.
        """
        for (release, before), (planned, now) in zip(self.sums, other.sums, strict=True):
            assert release == planned
            yield release.what, parts_used(release, now - before)
