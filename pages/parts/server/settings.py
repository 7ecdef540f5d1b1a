"""What the operator of the app can set, by environment variables.

Every such setting of the app itself with its usual value, read once; docs/deploying.md has the same
list, and a test holds them together.
"""

import os
import re
from dataclasses import dataclass
from importlib.util import find_spec

from dpmc_core.errors import ParameterError
from dpmc_core.limits import Limit

_SITE = re.compile(r"https?://((\*\.)?[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?")

_SCHEDULER = re.compile(r"(tcp|tls)://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}")


@dataclass(frozen=True)
class Setting:
    """A whole number that an environment variable may set."""

    name: str
    usual: int
    low: int
    high: int
    meaning: str


SETTINGS = {
    s.name: s
    for s in (
        Setting(
            "DPMC_JOBS",
            2,
            1,
            64,
            "jobs (runs, studies, audits, sweeps) that compute at the same time, each in a "
            "process of its own",
        ),
        Setting(
            "DPMC_JOB_MEMORY_MB",
            4000,
            500,
            1_000_000,
            "memory limit in megabytes for the process of a job (on Linux)",
        ),
        Setting(
            "DPMC_JOB_NICE",
            19,
            0,
            19,
            "niceness of the process of a job: 0 equals the pages, 19 always yields to them and "
            "to other programs (on Unix)",
        ),
        Setting("DPMC_QUEUE", 60, 1, 10_000, "jobs of all visitors that may wait in the queue"),
        Setting("DPMC_QUEUE_OF_ONE", 4, 1, 100, "jobs of one visitor that may wait in the queue"),
        Setting(
            "DPMC_GRACE_SECONDS",
            30,
            1,
            3600,
            "seconds after a visitor's tab has gone until their jobs are cancelled and their "
            "results let go, 120 at most",
        ),
        Setting(
            "DPMC_VISITS", 300, 1, 100_000, "visits (open tabs) that are served at the same time"
        ),
        Setting(
            "DPMC_OWN_MB",
            1000,
            1,
            1_000_000,
            "megabytes of own data that all visitors together may hold",
        ),
        Setting(
            "DPMC_RESULTS_OF_ONE_MB",
            400,
            1,
            1_000_000,
            "megabytes of results that one visit may hold; for more, its oldest are let go",
        ),
        Setting(
            "DPMC_RESULTS_MB",
            1000,
            1,
            1_000_000,
            "megabytes of results that all visits together may hold",
        ),
        Setting(
            "DPMC_DELETE_RUNS",
            2,
            0,
            2,
            "who may delete any run of the store on the Runs page: 0: nobody; 1: every visitor; 2: "
            "who is on the server's own machine, where nobody else reaches it",
        ),
        Setting(
            "DPMC_FETCH",
            1,
            0,
            1,
            "1: visitors may fetch datasets from their publishers; 0: they may not",
        ),
        Setting(
            "DPMC_METRICS",
            0,
            0,
            1,
            "1: the server's own figures (memory, sessions, uploads) are at /_stcore/metrics for "
            "everybody; 0: they are not",
        ),
    )
}


def of(name: str) -> int:
    """The value of the setting called ``name``.

    Raises ``ParameterError`` where the environment has one that is not allowed.
    """
    setting = SETTINGS[name]
    text = os.environ.get(name, "").strip()
    if not text:
        return setting.usual
    return int(Limit(setting.low, setting.high, name, integer=True, name=name).parse(text))


def framers() -> tuple[str, ...]:
    """The sites that may show pages in a frame: ``DPMC_EMBED``, all (``*``) unless set.

    Raises ``ParameterError`` for what is no site.
    """
    sites = (os.environ.get("DPMC_EMBED", "").strip() or "*").split()
    for site in sites:
        if sites not in (["*"], ["none"]) and not _SITE.fullmatch(site):
            raise ParameterError(
                "DPMC_EMBED", site, "* (all sites), none, or sites as https://example.org"
            )
    return () if sites == ["none"] else tuple(sites)


def scheduler() -> str:
    """The address of a Dask cluster that computes for the pages: ``DPMC_SCHEDULER``; "" for none.

    Raises ``ParameterError`` for what is no address.
    """
    address = os.environ.get("DPMC_SCHEDULER", "").strip()
    if address and not _SCHEDULER.fullmatch(address):
        allowed = "an address as tcp://host:8786, or tls://host:8786"
        raise ParameterError("DPMC_SCHEDULER", address, allowed)
    if address and find_spec("distributed") is None:
        allowed = "left out without the package distributed (pip install 'dpmc-lab[cluster]')"
        raise ParameterError("DPMC_SCHEDULER", address, allowed)
    return address


def check() -> None:
    """Raise ``ParameterError`` for the first setting whose value is not allowed.

    At the start, not when it is first needed.
    """
    for name in SETTINGS:
        of(name)
    framers()
    scheduler()
