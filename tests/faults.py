"""What goes wrong where tests want it to."""

from collections.abc import Callable
from typing import NoReturn

FULL_DISK = OSError(28, "No space left on device")


def raising(error: BaseException) -> Callable[..., NoReturn]:
    """A function that does nothing but raise ``error``, however it is called."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    return fail
