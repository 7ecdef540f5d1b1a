"""A mechanism in a few words."""

from dataclasses import fields

from dpmc_core.mechanisms import Mechanism
from dpmc_core.wording import three
from pages.parts.ui.figures import IDENTITY

__all__ = ["describe"]


def describe(mechanism: Mechanism) -> str:
    """A mechanism and its parameters in a few words.

    >>> from dpmc_core.mechanisms import Huber
    >>> describe(Huber(alpha=1.07597, scale=1.0))
    'Huber noise, α = 1.08, scale = 1'
    """
    names = {"alpha": "α", "epsilon_design": "ε", "gamma": "γ", "sensitivity": "Δ"}
    parameters = ", ".join(
        f"{names.get(f.name, f.name)} = {three(getattr(mechanism, f.name))}"
        for f in fields(mechanism)
    )
    return f"{IDENTITY[mechanism.name].title} noise, {parameters}"
