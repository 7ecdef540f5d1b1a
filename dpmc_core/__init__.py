"""DPMC Lab's core: numpy in, numpy out.

Mechanisms, ledgers and statements, matrix completion, datasets, metrics, and the one path from a
``RunSpec`` to a ``RunResult``.
"""

import importlib
from types import ModuleType

__version__ = "0.1.0"

_ROOMS = (
    "mechanisms",
    "privacy",
    "completion",
    "factorization",
    "datasets",
    "metrics",
    "experiments",
    "planning",
    "partitioned",
    "estimators",
)


def __getattr__(name: str) -> ModuleType:
    """A room, loaded when it is first asked for: ``import dpmc_core`` alone loads none."""
    if name in _ROOMS:
        return importlib.import_module(f"dpmc_core.{name}")
    raise AttributeError(f"module 'dpmc_core' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_ROOMS]
