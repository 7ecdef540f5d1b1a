"""How much of the server's memory visitors hold, each and together."""

import threading
import weakref

__all__ = ["OWN_DATA", "RESULTS", "Held"]


class Held:
    """Megabytes by what they belong to; given back when that is gone, however it goes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sizes: weakref.WeakKeyDictionary[object, float] = weakref.WeakKeyDictionary()

    @property
    def megabytes(self) -> float:
        """All together."""
        return sum(list(self._sizes.values()))

    def of(self, owner: object) -> float:
        """What ``owner`` holds."""
        return self._sizes.get(owner, 0.0)

    def take(self, owner: object, megabytes: float, most: float) -> bool:
        """Let ``owner`` hold ``megabytes`` in the place of what it held, if all together then hold
        at most ``most``; says whether it may.
        """
        with self._lock:
            if self.megabytes - self.of(owner) + megabytes > most:
                return False
            self._sizes[owner] = megabytes
            return True


OWN_DATA, RESULTS = Held(), Held()
