"""Names that several pages use: configurations and noise distributions."""

from pages.parts.ui.figures import IDENTITY

__all__ = ["LETTERS", "NOISES", "TOTALS"]


LETTERS = ("A", "B", "C")


NOISES = {name: IDENTITY[name].title for name in ("none", "huber", "laplace", "gaussian")}


TOTALS = (
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    20.0,
    50.0,
)  # ε of the slider, evenly spaced on a logarithmic scale
