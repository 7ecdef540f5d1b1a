"""The small family of errors that DPMC Lab raises on purpose.

One class per thing a caller can do about it. Every message is one sentence for a person: what was
wrong, which value, what is allowed. Pages and the command line show the message and nothing else.
"""

from collections.abc import Iterable


class DPMCError(Exception):
    """Base of every error raised on purpose; its text is fit to be shown to a visitor."""


class ParameterError(DPMCError, ValueError):
    """A parameter is out of range, of the wrong kind, or unknown. Fix the value and try again.

    Attributes: ``name`` (the parameter), ``value`` (what was given), ``allowed`` (what would be
    accepted).
    """

    def __init__(self, name: str, value: object, allowed: str) -> None:
        shown = repr(value) if isinstance(value, str) else str(value)
        if len(shown) > 80:
            shown = shown[:77] + "..."
        problem = "is missing" if value is None else f"= {shown} is not allowed"
        super().__init__(f"{name} {problem}: it must be {allowed}.")
        self.name, self.value, self.allowed = name, value, allowed

    def __reduce__(self) -> tuple[type["ParameterError"], tuple[str, object, str]]:
        """Pickle by the three parts, so that the error survives a process boundary."""
        return type(self), (self.name, self.value, self.allowed)


def one_of(names: Iterable[str]) -> str:
    """What is allowed where one of ``names`` is, as ``ParameterError`` takes it; "" is not told."""
    return "one of " + ", ".join(filter(None, names))


def check_choice(name: str, value: object, allowed: Iterable[str]) -> None:
    """Raise ``ParameterError`` unless ``value`` is one of the ``allowed`` names."""
    names = tuple(allowed)
    if not isinstance(value, str) or value not in names:
        raise ParameterError(name, value, one_of(names))


def check_names(what: str, given: Iterable[object], allowed: Iterable[str]) -> None:
    """Raise ``ParameterError`` about ``what`` unless all that is ``given`` is ``allowed``."""
    names = sorted(allowed)
    for name in given:
        check_choice(what, name, names)


class DataError(DPMCError, ValueError):
    """Ratings or a data file cannot be used as they are: NaN, infinite, empty, malformed."""


class DownloadError(DPMCError, OSError):
    """A download failed, was cut short, had the wrong checksum, or could not be written."""

    def __str__(self) -> str:
        """The sentence itself: OSError would add an errno."""
        return str(self.args[0]) if self.args else ""


class DatasetMissingError(DPMCError, FileNotFoundError):
    """A dataset is not on this machine; the message says how to get it."""

    __str__ = DownloadError.__str__


class NotApplicable(DPMCError):
    """An accounting method does not apply to a ledger, or would take too long.

    The message says why. Others may apply.
    """
