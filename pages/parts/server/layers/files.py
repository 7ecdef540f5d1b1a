"""Files that a button makes when it is pressed: each is made once, and is let go again.

Streamlit makes one anew for each message that asks for it, and holds all of them by nobody: two
scripts of others that end before the browser fetches a file take it away.
"""

import logging
import threading
from collections import OrderedDict
from typing import Any

from streamlit.runtime import Runtime
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError

__all__ = ["MOST", "MOST_OF_ONE", "MadeFiles", "hold_made_files"]

MOST_OF_ONE, MOST = 4, 40  # files that are held for one visit and for all, the latest


class _Superseded(MediaFileStorageError):
    """The page was drawn again meanwhile, or never had such a button."""


class MadeFiles:
    """The files of ``manager`` that were made on demand; its own function makes them."""

    def __init__(self, manager: MediaFileManager) -> None:
        self._manager, self._make = manager, manager.execute_deferred
        self._sessions: OrderedDict[str, str] = OrderedDict()  # by the place of a file, latest last

    def address(self, name: str) -> str:
        """Return where the file is that the button called ``name`` makes.

        Raises ``MediaFileStorageError`` where there is no such button or its file cannot be made.
        """
        entry: Any = self._manager._deferred_callables.get(name)
        if entry is None:
            raise _Superseded(name)
        with entry.setdefault("lock", threading.Lock()):
            file = entry.get("file")
            if file is None or self._manager.read_file(file) is None:
                address = self._make(name)
                file = entry["file"] = address.rpartition("/")[2].partition(".")[0]
                entry["address"] = address
            self._hold(entry["session_id"], f"made {name}", file)
            return str(entry["address"])

    def _hold(self, session: str, place: str, file: str) -> None:
        """Hold ``file`` until the page is drawn again, its visit ends, or there are too many."""
        with self._manager._lock:
            files = self._manager._files_by_session_and_coord
            if session not in files:
                return
            files[session][place] = file
            self._sessions[place] = session
            self._sessions.move_to_end(place)
            mine = [known for known, of in self._sessions.items() if of == session]
            for old in {*mine[:-MOST_OF_ONE], *list(self._sessions)[:-MOST]}:
                files.get(self._sessions.pop(old), {}).pop(old, None)


def hold_made_files(server: Runtime) -> None:
    """Have ``server`` make each file once."""
    manager: Any = server.media_file_mgr
    manager.execute_deferred = MadeFiles(manager).address
    logging.getLogger("streamlit.runtime.backend_operation_handler").addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    """Whoever asks for a file that is none writes no traceback."""
    return not (record.exc_info and isinstance(record.exc_info[1], _Superseded))
