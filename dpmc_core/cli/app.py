"""The command ``app``: open the dashboard in a browser."""

import argparse
import importlib.util
import os
import socket
import sys
from pathlib import Path

from dpmc_core.cli.common.main import EXTRAS
from dpmc_core.cli.common.options import add_number
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.limits import Limit
from dpmc_core.wording import JsonObject

_PACKAGE = Path(__file__).resolve().parents[1]
_NEEDS = [name for extra in ("data", "text", "runs", "app") for name in EXTRAS[extra]]
_PORT = Limit(1, 65535, "port of this machine that the app answers on", integer=True, name="port")


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_number(parser, "port", _PORT, 8501)


def run(arguments: argparse.Namespace) -> JsonObject:
    """Become Streamlit's server, in the folder of the app: its settings are read from there."""
    port = arguments.port
    for name in _NEEDS:
        if importlib.util.find_spec(name) is None:
            raise DataError(
                f"this needs {name}, which is not installed: pip install 'dpmc-lab[app]'."
            )
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server will
        try:
            trial.bind(("127.0.0.1", port))
        except OSError as error:
            raise ParameterError("port", port, f"one that is free ({error.strerror})") from None
    places = (_PACKAGE / "app", _PACKAGE.parent)  # installed, or a checkout of the project
    home = next((place for place in places if (place / "app.py").is_file()), None)
    if home is None:
        raise DataError("The app is not part of this installation: install dpmc-lab from a wheel.")
    os.chdir(home)
    words = ["-m", "streamlit", "run", "app.py", f"--server.port={port}"]
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *words])
