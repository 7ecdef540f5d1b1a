"""A visitor's own data, for every page.

The datasets of a visit (in its session and nowhere else; uploads on their way to it included), the
menus of datasets with these, and the runs made of it.
"""

import secrets
from collections.abc import Mapping

import streamlit as st
from starlette.formparsers import MultiPartParser

from dpmc_core.datasets import Entry, entry, names, user_datasets
from dpmc_core.datasets.own import OwnSet
from dpmc_core.datasets.own.sets import MOST_MEGABYTES
from dpmc_core.errors import DataError
from dpmc_core.experiments.store.records import PassingRuns, Runs
from dpmc_core.experiments.store.session import Beside, Session
from dpmc_core.wording import counted
from pages.parts.server import job, jobs, logs, run_store, settings

_SETS, _TOKEN, _RUNS = "own-sets", "own-token", "own-runs"
BROUGHT, OPENED = "s_brought", "opened-session"  # a file of a session, and what was made of it
KEYS = (_SETS, _TOKEN, _RUNS, BROUGHT, OPENED)  # of the session's state


def _of_this_visit() -> Mapping[str, OwnSet]:
    if not jobs.session():  # no visitor's page runs here
        return {}
    return st.session_state.get(_SETS, {})


user_datasets.ask(_of_this_visit)
# an upload is held in memory however large it is: the server's parser of requests would put what is
# over a megabyte into a file
MultiPartParser.spool_max_size = 2 * MOST_MEGABYTES * 1_000_000


def menu(*holds: str) -> dict[str, str]:
    """Name → title of the visitor's own sets and of the catalogue's that hold one of ``holds``
    ("ratings", "images", "documents"; any without an argument), with what must be fetched first.
    """
    own = {
        name: one.entry.title
        for name, one in user_datasets.current().items()
        if not holds or one.entry.holds in holds
    }
    return own | catalogue(*holds)


def catalogue(*holds: str) -> dict[str, str]:
    """Name → title of the catalogue's sets, with how to get those that are not here."""
    sets = {name: entry(name) for name in names(*holds)}
    return {name: one.title if one.present() else _to_get(one) for name, one in sets.items()}


def absent(one: Entry) -> str:
    """Say that a set is not on this machine, and what to do; "" for one that is."""
    if one.present():
        return ""
    where = "fetch it on" if one.fetchable else "see where to get it on"
    return (
        f"{one.title} is not on this machine yet: {where} the Datasets page, or choose a set that "
        "needs no files."
    )


def _to_get(one: Entry) -> str:
    how = f"to fetch, {one.megabytes:g} MB" if one.fetchable else "to place by hand"
    return f"{one.title} ({how})"


def linked(*holds: str) -> dict[str, str]:
    """What a link may call a set of the catalogue (by name, or by title as when it was here or was
    not) → its title in the ``menu``.
    """
    return {
        call: title
        for name, title in catalogue(*holds).items()
        for call in (name, entry(name).title, _to_get(entry(name)))
    }


def name_of(kind: str) -> str:
    """What the visitor's own set of this ``kind`` is called.

    Nobody can guess it, and nobody else's page finds anything by it.
    """
    token = st.session_state.setdefault(_TOKEN, secrets.token_hex(8))
    return f"{user_datasets.OWN}{kind}-{token}"


def of_kind(kind: str) -> OwnSet | None:
    """The visitor's own set of this ``kind``, if there is one."""
    return _of_this_visit().get(name_of(kind))


def add(one: OwnSet) -> None:
    """Add ``one`` to the visitor's datasets, in place of what had its name.

    Raises ``DataError`` where all visitors together have more than the server allows.
    """
    size, most = one.megabytes, settings.of("DPMC_OWN_MB")
    if not job.OWN_DATA.take(one, size, most):
        raise DataError(
            f"{one.entry.title} would take {size:.0f} MB, and all visitors' own data together may "
            f"take {most:,} MB here: try a smaller file, or later."
        )
    remove(one.name)
    st.session_state[_SETS] = {**_of_this_visit(), one.name: one}
    logs.note("own data", jobs.session(), holds=one.entry.holds, megabytes=round(size, 1))


def remove(name: str) -> None:
    """Forget the set called ``name`` and everything made of it."""
    st.session_state[_SETS] = {key: one for key, one in _of_this_visit().items() if key != name}
    st.session_state.pop(_RUNS, None)
    jobs.visit_box().forget(name)


def deselect(name: str) -> None:
    """Let every menu that shows the set called ``name`` go back to its usual one."""
    for key, value in list(st.session_state.items()):
        if isinstance(value, str) and value == name:
            del st.session_state[key]


def runs_for(dataset: str = "") -> Runs:
    """Where runs on the ``dataset`` of that name are kept.

    The store, or for the visitor's own data this visit only. Raises ``StoreError``.
    """
    if not user_datasets.is_own(dataset):
        return run_store.store()
    return st.session_state.setdefault(_RUNS, PassingRuns())


def shown_runs(dataset: str) -> Beside:
    """The same to be shown, not added to: with the runs of a session that was opened."""
    runs = runs_for(dataset)
    opened = st.session_state.get(OPENED, (None, None))[1]
    with_opened = isinstance(opened, Session) and not user_datasets.is_own(dataset)
    return Beside(runs, opened.runs if with_opened else PassingRuns())


def say_from_file(runs: Beside) -> None:
    """Say how many of the runs that were found in ``runs`` are a file's."""
    if runs.used:
        st.caption(
            f":material/upload_file: {counted(len(runs.used), 'run', 'runs')} from a file: not "
            "computed here."
        )
