"""The session of a visit as a file on the *Runs* page: saved, and opened again."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Any
from urllib.parse import parse_qs

import streamlit as st

from dpmc_core.errors import DataError, DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.store.records import Record, key_of
from dpmc_core.experiments.store.session import MOST_BYTES, MOST_RUNS, Session, read_session
from dpmc_core.experiments.sweeps.spec import ManyRuns
from dpmc_core.planning.goal import ModelPlan
from dpmc_core.wording import counted
from pages.parts.frame.upload import ask_for_file, once
from pages.parts.server import job, jobs, run_store, sandbox, settings, user_data
from pages.parts.ui import controls
from pages.parts.ui.glossary import PAGES
from pages.parts.ui.on_screen import download


def opened() -> tuple[Session | None, str]:
    """The session of the file that the visitor brought; what is wrong where it is none."""
    brought = st.session_state.get(user_data.BROUGHT)
    if brought is None:
        return None, ""
    try:
        session: Session = once(
            user_data.OPENED, brought, "Opening the session…", lambda: _read(*brought)
        )
        return session, ""
    except DPMCError as error:
        return None, str(error)


def _read(name: str, content: bytes) -> Session:
    session: Session = sandbox.read_file(read_session, name, content)
    if not job.OWN_DATA.take(session, 2 * len(content) / 1e6, settings.of("DPMC_OWN_MB")):
        raise DataError("This server holds too many files at the moment: try again later.")
    return session


def rows(
    session: Session | None, where: dict[str, tuple[str, ...]]
) -> tuple[list[dict[str, Any]], set[str]]:
    """The runs of a session as rows that fit the filters, and the keys of those that the store
    has not.
    """
    shown = user_data.shown_runs("")
    records = shown.find(() if session is None else (one.key for one in session.records))
    names = [field.name for field in fields(Record) if field.name != "summary"]
    all_rows = [{name: getattr(one, name) for name in names} for one in records.values()]
    chosen = [row for row in all_rows if all(row[name] in some for name, some in where.items())]
    return chosen, shown.used & {row["key"] for row in chosen}


def offer(session: Session | None, problem: str) -> None:
    """Draw the download of this visit's runs, the upload of a file, and the links of that."""
    st.markdown(
        "A file of what you ran in this visit, to go on another day: numbers and settings of runs, "
        "and links to pages. Ledgers, and results on your own data, stay out. *Tradeoffs* and "
        "*Plan* draw opened runs without running them again; other pages compute their figures "
        "again. What was opened is for this visit alone, and marked unless this server has "
        "computed it too."
    )
    # asked here: the file is made where no visit is known
    mine, of_visit = jobs.runs(), jobs.of_visit()
    download(
        "Session (JSON)",
        "dpmc-session.json",
        lambda: saved(mine, of_visit, session).as_dict(),
        icon=":material/download:",
    )
    ask_for_file("A session file (JSON)", "json", MOST_BYTES, "s", user_data.OPENED)
    if problem:
        controls.show_error(problem)
    if session is None:
        return
    st.caption(
        f":material/check: {counted(len(session.records), 'run', 'runs')} and "
        f"{counted(len(session.links), 'page', 'pages')} of the file are open."
    )
    for link in session.links:
        page, _, query = link.partition("?")
        with suppress(ValueError):
            if page in PAGES:
                st.page_link(
                    f"{page}.py",
                    label=f"{PAGES[page].title}, with its settings",
                    icon=f":material/{PAGES[page].icon}:",
                    help=controls.plain(query[:200]) or None,
                    query_params=parse_qs(query, max_num_fields=200),
                )


_MANY = ("sweep", "study", "plan")  # kinds of jobs that make many runs


def mine() -> dict[str, str]:
    """The keys of the visit's runs in the store: "yes", or of what they are a part."""
    parts = {
        key: kind
        for job in jobs.of_visit()
        for kind in _MANY
        if kind in job.kind and not job.sets
        for key in _keys(job)
    }
    return parts | dict.fromkeys(jobs.runs(), "yes")


def saved(mine: Iterable[str], of_visit: Sequence[jobs.Job], before: Session | None) -> Session:
    """The session of a visit: runs of its jobs that the store has, and what was opened
    ``before``.
    """
    public = [one for one in of_visit if not one.sets]
    keys = {*mine, *(key for one in public for key in _keys(one))}
    records = run_store.store().find(keys, whole=False)
    links = dict.fromkeys(one.address for one in public if one.address)
    if before is not None:
        records = {one.key: one for one in before.records} | records
        links |= dict.fromkeys(before.links)
    return Session(tuple(links), tuple(records.values())[:MOST_RUNS])


def _keys(of: jobs.Job) -> Iterable[str]:
    for spec, result in zip(of.specs, of.results, strict=True):
        if isinstance(spec, RunSpec):
            yield key_of(spec)
        elif isinstance(spec, ManyRuns):
            yield from (key_of(run.spec) for run in spec.plan())
        elif isinstance(spec, ModelPlan) and result is not None:
            for probe in result.probes:
                yield from (key_of(spec.spec_at(probe.place, k)) for k in range(len(probe.values)))
