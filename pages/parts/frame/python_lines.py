"""The Python that computes what a page shows, for its notebook; and a run as files."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from dpmc_core.datasets import user_datasets
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.examples import example
from dpmc_core.experiments.release import archive
from dpmc_core.experiments.studies.engine import StudyResult
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.mechanisms import Mechanism
from dpmc_core.wording import finite
from pages.parts.ui import on_screen
from pages.parts.ui.on_screen import code, download

LONG = "it takes minutes or longer"
_AGAIN = (
    "its noise is secret: nothing repeats this run, each execution is another release about the "
    "same people, and the two compose"
)
_STUDY = """\
from dpmc_core.experiments.examples import example

result = example({room!r}, {kind!r}).study
for measure in result.measures:
    for point in result.points(measure):
        print(measure, point.series, point.x, point.mean, point.half_width)
"""
_SWEEP = """\
from dpmc_core.experiments.examples import example

for point in example("tradeoffs", {name!r}).points:
    print(dict(point.settings), point.mean, point.half_width)
"""


def of_dataset(name: str, holds: str) -> None:
    """Reading a dataset, the visitor's own from the file it came from. ``holds`` as it has."""
    own = user_datasets.is_own(name)
    expression = "mine.name" if own else repr(name)
    what, size = ("ratings", "density") if holds == "ratings" else ("samples", "dimension")
    on_screen.add_lines(
        "The same set",
        (user_datasets.find(name).lines() if own else "")
        + "from dpmc_core.datasets.configs import config_of\n"
        + f"from dpmc_core.datasets.data import {what}_of\n\n"
        + f"{what} = {what}_of(config_of({expression}, {what!r})(dataset={expression}))\n"
        + f"print(len({what}), {what}.{size})\n",
    )


def imports_of(mechanisms: Sequence[Mechanism]) -> str:
    """The line that imports the classes of ``mechanisms``."""
    names = ", ".join(sorted({type(mechanism).__name__ for mechanism in mechanisms}))
    return f"from dpmc_core.mechanisms import {names}\n"


def of_runs(runs: Sequence[tuple[str, RunSpec]]) -> None:
    """Each run with its label."""
    for label, spec in runs:
        on_screen.add_lines(label, spec.python(), held_back=_AGAIN if spec.secret else "")


def export(
    file: str,
    runs: Sequence[tuple[str, str, Any]],
    more: Callable[[str, str, Any], None] = lambda *_: None,
) -> None:
    """Offer runs, each with its label and a key, as files: all results, and of each its ledger and
    what it released, with what ``more`` offers of it; and how to make them elsewhere.
    """
    download(
        "Results with ledgers (JSON)",
        f"dpmc-{file}.json",
        lambda: [finite(result.summary()) for *_, result in runs],
    )
    for label, key, result in runs:
        with st.container(horizontal=True):
            more(label, key, result)
            if result.ledger.private:
                name = f"dpmc-ledger-{key.lower()}.json"
                ledger = result.ledger.as_dict
                download(f"Ledger of {label} (JSON)", name, ledger, key=f"ledger-{key}")
            if getattr(result, "released", result.finished and result.spec.task == "factorize"):
                name = f"dpmc-release-{key.lower()}.zip"
                zipped = partial(archive, result)
                download(f"Release of {label} (ZIP)", name, zipped, key=f"release-{key}")
    for label, _, result in runs:
        elsewhere(label, result.spec)


def elsewhere(label: str, spec: Any) -> None:
    """Draw the command and the Python that make what is called ``label`` again."""
    st.markdown(f"**{label}** on the command line, and in Python:")
    code(spec.command(), "bash")
    code(spec.python(), "python")


def of_study(result: StudyResult) -> None:
    """A study: read where it is one that comes with the app, else made."""
    room, kind = result.spec.room, result.spec.kind
    if result is example(room, kind).study:
        on_screen.add_lines("The stored study", _STUDY.format(room=room, kind=kind))
        on_screen.add_lines("The same study, made again", result.spec.python(), held_back=LONG)
    else:
        on_screen.add_lines("The study", result.spec.python(), held_back=LONG)


def of_stored_sweep(name: str) -> None:
    """The sweep of that name that comes with the app."""
    on_screen.add_lines("The stored sweep", _SWEEP.format(name=name))


def of_sweep(spec: SweepSpec, example: str) -> None:
    """A sweep: read where it is the stored ``example`` of that name, else made."""
    if example:
        of_stored_sweep(example)
    on_screen.add_lines("The sweep, made again", spec.python(), held_back=LONG)
