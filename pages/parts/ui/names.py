"""Names that several pages use: configurations, noises, amounts, and mechanisms in a few words."""

import re
from dataclasses import fields

from dpmc_core.mechanisms import Mechanism
from dpmc_core.privacy.noise import MECHANISMS
from dpmc_core.wording import three
from pages.parts.ui.figures import IDENTITY

__all__ = ["LETTERS", "NOISES", "TOTALS", "describe", "lowered"]

LETTERS = ("A", "B", "C", "D")  # of configurations side by side
NOISES = {name: IDENTITY[name].title for name in MECHANISMS}
# ε of the slider, evenly spaced on a logarithmic scale
TOTALS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)


def describe(mechanism: Mechanism) -> str:
    """Name a mechanism and its parameters in a few words.

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


def lowered(title: str) -> str:
    """A title within a sentence; "ALS" and "Γ of ratings" stay what they are.

    >>> lowered("One-shot moments"), lowered("ALS"), lowered("DPALS")
    ('one-shot moments', 'ALS', 'DPALS')
    """
    return title[0].lower() + title[1:] if re.match("[A-Z][a-z]", title) else title
