"""An algorithm's card: what it is called, what it protects, its parameters and its solvers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from dpmc_core.config import Config
from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms import RUN_FAMILIES
from dpmc_core.privacy.noise import Noise, NoNoise, TotalEpsilon

Solver = Callable[..., Iterator[Any]]


def budgeted(config: Any, noise: Noise, data: Any) -> Any:
    """``config`` with the total budget that ``noise`` names.

    The plan of the run follows from it.
    """
    del data
    return replace(config, budget=noise.budget)


def with_mechanism(config: Any, noise: Noise, data: Any) -> Any:
    """``config`` with the noise of each release, at the sensitivity that it assumes."""
    del data
    return replace(config, mechanism=noise.of_release(config.sensitivity))


@dataclass(frozen=True, kw_only=True, eq=False)
class Algorithm:
    """An algorithm as visitors, the command line and runs meet it.

    ``tuned`` names the data on which its defaults were chosen, which flatter it there; ``noise``
    lists the kinds of amount it takes, the usual one first; empty: it has no private
    form. ``unit`` is whom its noise is about ("rating", "user", or "sample" for an image or
    document); ``guarantee`` says that every sensitivity is derived. ``prepare(config, noise,
    data)`` puts the noise into the config. ``learn(population, config, rng, journal)`` is for
    users in groups, wherever they are; ``rate(ratings, config, rng, workers)``,
    ``recommend(likes, config, rng, workers, visitors)`` and ``factorize(samples, config, rng)``
    solve the tasks that it can do. ``steps`` is how many steps it makes, None for the config's T.
    """

    name: str
    title: str
    summary: str
    source: str
    tuned: str = ""
    config: type[Config]
    order: int = 1000
    noise: tuple[type[Noise], ...] = ()
    mechanisms: tuple[str, ...] = RUN_FAMILIES
    unit: str = ""
    guarantee: bool = False
    prepare: Callable[[Any, Noise, Any], Any] = budgeted
    rate: Solver | None = None
    learn: Solver | None = None
    recommend: Solver | None = None
    factorize: Solver | None = None
    steps: int | None = None
    images_only: bool = False

    @property
    def origin(self) -> str:
        """Its source, and the data on which its defaults were chosen."""
        return f"{self.source}; defaults chosen on {self.tuned}" if self.tuned else self.source

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that it can do."""
        return tuple(t for t in ("rate", "recommend", "factorize") if getattr(self, t) is not None)

    def length(self, config: Any) -> int:
        """How many steps a run with ``config`` makes."""
        if self.steps is not None:
            return self.steps
        return int(config.rounds if hasattr(config, "rounds") else config.iterations)

    def check_noise(self, noise: Noise) -> None:
        """Raise ``ParameterError`` unless the algorithm takes this noise."""
        if isinstance(noise, NoNoise):
            return
        if not self.noise:
            allowed = f"none for {self.title}, which has no private form here"
            raise ParameterError("mechanism", noise.mechanism, allowed)
        if noise.mechanism not in self.mechanisms:
            allowed = f"{' or '.join(('none', *self.mechanisms))} for {self.title}"
            raise ParameterError("mechanism", noise.mechanism, allowed)
        if type(noise) not in self.noise:  # a round's ε is a subclass of a release's
            names = ", ".join(sorted(kind.amount() for kind in self.noise))
            allowed = f"left out for {self.title}: its noise is given by {names}"
            raise ParameterError(noise.amount(), getattr(noise, noise.field()), allowed)


# the card of an algorithm whose every sensitivity is derived, for users unless it says otherwise
guaranteed = partial(Algorithm, noise=(TotalEpsilon,), unit="user", guarantee=True)
