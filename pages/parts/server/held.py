"""How much of the server's memory visitors hold, each and together."""

import threading
import weakref
from collections.abc import Iterable


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

    def fits(self, megabytes: float, most: float, instead_of: Iterable[object] = ()) -> bool:
        """Whether all together hold at most ``most`` with ``megabytes`` in the place of what
        ``instead_of`` hold.
        """
        return self.megabytes - sum(map(self.of, instead_of)) + megabytes <= most

    def take(
        self, owner: object, megabytes: float, most: float, instead_of: Iterable[object] = ()
    ) -> bool:
        """Let ``owner`` hold ``megabytes`` in the place of what it and ``instead_of`` held, if that
        ``fits``; says whether it may. If not, nothing changes.
        """
        former = {owner, *instead_of}
        with self._lock:
            if not self.fits(megabytes, most, former):
                return False
            for one in former:
                self._sizes.pop(one, None)
            self._sizes[owner] = megabytes
            return True


OWN_DATA, RESULTS = Held(), Held()
