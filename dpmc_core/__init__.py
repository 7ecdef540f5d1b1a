"""DPMC Lab's core: numpy in, numpy out.

Lives here: mechanisms, ledgers and statements, matrix completion, datasets, metrics, and the one
path from a ``RunSpec`` to a ``RunResult``. Does not live here: anything that draws a page or a
chart (see ``pages/``).
"""

__version__ = "0.1.0"
