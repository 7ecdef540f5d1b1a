"""A PostgreSQL of its own on loopback, for tests."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from benchmarks.server.visitor import free_port

_CONTROL = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), reverse=True)), None)


def installed() -> bool:
    """Whether a server can be started here. It refuses to be root's, who alone may start it as
    somebody else without a password.
    """
    if _CONTROL is None or shutil.which("su") is None or find_spec("psycopg") is None:
        return False
    return os.geteuid() == 0


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a new database."""
    assert _CONTROL is not None
    folder, port, tools = Path(tempfile.mkdtemp(prefix="dpmc-pg-")), free_port(), _CONTROL.parent
    folder.chmod(0o777)

    def run(command: str) -> None:
        subprocess.run(
            ["su", "postgres", "-c", command], check=True, capture_output=True, timeout=120
        )

    try:
        run(f"{tools}/initdb -D {folder}/db -A trust -U postgres")
        run(
            f"{tools}/pg_ctl -D {folder}/db -o '-p {port} -k {folder} -c "
            f"listen_addresses=127.0.0.1' -w -l {folder}/log start"
        )
        try:
            yield f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres"
        finally:
            run(f"{tools}/pg_ctl -D {folder}/db -m immediate stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
