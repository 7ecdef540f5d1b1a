"""Files that a button makes when it is pressed: each is made once, and is let go again.

Streamlit makes one again for each message that asks for it, and holds all of them by nobody: two
scripts of others that end before the browser fetches a file take it away.
"""

import threading
from collections import deque
from pathlib import PurePath
from typing import Any

from pages.parts.server import logs

_MOST = 40  # files that are held at once for all visits, the latest


def hold_made_files(manager: Any) -> None:
    """Have Streamlit's ``manager`` of files make each once, and hold it for its visit.

    Until the page is drawn again, the visit ends, or there are too many. Much of this is of the
    inside of ``manager``: tests hold that it is there.
    """
    make = manager.execute_deferred
    held: deque[Any] = deque()

    def address(name: str) -> str:
        button = manager._deferred_callables.get(name, {})
        with button.setdefault("lock", threading.Lock()):
            found = button.get("address", "")
            if manager.read_file(PurePath(found).name) is None:
                found = button["address"] = make(name)
            with manager._lock:
                files = manager._files_by_session_and_coord.get(button["session_id"], {})
                if name not in files:
                    held.append((files, name))
                files[name] = PurePath(found).stem
                if len(held) > _MOST:
                    of_one, oldest = held.popleft()
                    of_one.pop(oldest, None)
        return str(found)

    manager.execute_deferred = address
    # for requests for a file that no button makes
    logs.hush("streamlit.runtime.backend_operation_handler", "Deferred file ")
