"""The choices of the *Datasets* page: which set, how to read it, and one's own.

The form that takes a visitor's own data: choosing a file and what came of it.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.own import KINDS, OwnSet, read_item_table, with_items
from dpmc_core.datasets.own.sets import MOST_MEGABYTES
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.worker.reading import inspect, read
from pages.parts.datasets import reading_form
from pages.parts.frame import share
from pages.parts.frame.upload import once
from pages.parts.server import user_data
from pages.parts.server.layers import edge
from pages.parts.server.sandbox import expect_file, read_file
from pages.parts.ui import controls, links
from pages.parts.ui.glossary import PAGES
from pages.parts.ui.on_screen import points

TITLES = {"ratings": "Ratings", "documents": "Documents", "images": "Images"}
_HOW = {
    "ratings": (
        "A table as **CSV, TSV or Parquet**: one rating a row (user, item, rating, in any "
        "order, other columns are passed over), or one user a row with a column for each item "
        "and gaps where nothing was rated. MovieLens files fit."
    ),
    "documents": (
        "A **TXT** file with a document in each line or paragraph, a **CSV** with a column of "
        "text, or a **zip archive of TXT** files, whose folders become classes."
    ),
    "images": (
        "A **zip archive of PNG or JPEG** pictures, whose folders become classes, a **NPY** "
        "array (images × height × width, or images × pixels), or a **MAT** file of MATLAB up to "
        "version 7.2. Colours become grey."
    ),
}
_TURN = "own-turn"  # how often something was removed
# what menus of datasets are called in the addresses of the pages that take them
_MENUS = {
    "ratings": {"completion": "dataset", "plan": "n_data_ratings", "tradeoffs": "t_dataset_user"},
    "documents": {"factorization": "f_data"},
    "images": {"factorization": "f_data"},
}
# titles, as addresses have them: names are translated there, and Back would come by this page again
_MODEL_PLAN = {"n_kind": "A model", "n_method": ALGORITHMS["moments"].title}


def own_form() -> None:
    """The form, and below it the datasets of this visit."""
    kind = controls.segments("What does the file hold?", "d_holds", TITLES, "ratings")
    controls.link_problems()
    st.markdown(_HOW[kind])
    if not edge.takes_files():
        st.info(
            "**No file can be taken here**: this page is inside another site, or this browser "
            "keeps no cookies; files are taken only with the cookie that shows that you, and no "
            "other site, sent them. Open the page in a tab of its own.",
            icon=":material/tab:",
        )
        share.own_tab("Open this page")
        return
    file = st.file_uploader(
        f"Your file (at most {MOST_MEGABYTES} MB)",
        type=list(KINDS[kind]),
        key=f"own-file-{kind}-{st.session_state.get(_TURN, 0)}",
        max_upload_size=MOST_MEGABYTES,
        help="What is larger stays on your machine: the command `dpmc large` completes or "
        "factorises a folder of Parquet files, up to a billion ratings, on one machine or a "
        "cluster (docs/cluster.md).",
    )
    st.caption(
        ":material/lock: **Where it goes**: into the memory of this visit and nowhere else. It "
        "is not written to a disk or a log, its runs are not kept among past runs, no other "
        "visitor can reach it, and it is gone when you press *Remove*, or "
        "within a few minutes of closing this tab. It does travel to the server that runs this "
        "app: for data that must not leave your machine, run the app there."
    )
    if file is not None:
        # a browser writes quotes and ends of lines in a name as codes, and nothing else
        name = re.sub("%(22|0A|0D)", lambda code: chr(int(code[1], 16)), file.name)
        _take(kind, name, file.getvalue(), file.file_id)
    else:
        expect_file()
    own_set = user_data.of_kind(kind)
    if own_set is not None:
        if file is None:
            st.caption("To read it in another way, give the file again.")
        if kind == "ratings":
            own_set = _with_items(own_set)
        _ready(kind, own_set)


def _take(kind: str, name: str, data: bytes, file_id: str) -> None:
    """Read the file as guessed or corrected, unless just that was done."""
    called = {"name": user_data.name_of(kind), "title": f"Your {kind}"}
    preview = None
    try:
        chosen = reading_form.chosen_separator(file_id)
        take_key = ("take", file_id, kind, *chosen.values())
        preview, guessed = _once(take_key, inspect, kind, name, data, called, chosen)
        if guessed is not None:  # one set at a time is held
            st.session_state["own-read"] = (("read", *take_key[1:], ()), guessed)
            st.session_state["own-take"] = (take_key, (preview, None))
        choices = reading_form.choices(kind, preview, file_id)
        key = ("read", *take_key[1:], tuple(sorted(choices.items())))
        one: OwnSet = _once(key, read, kind, name, data, {**choices, **called, **chosen})
        if st.session_state.get(f"own-base-{kind}") is not one:
            try:
                user_data.add(one)
            except DPMCError:
                for step in ("take", "read"):  # what there is no room for is not kept here either
                    st.session_state.pop(f"own-{step}", None)
                raise
            st.session_state.update({f"own-base-{kind}": one})
    except DPMCError as error:
        controls.show_error(error)
        if preview is None and kind == "ratings" and not name.lower().endswith(".parquet"):
            reading_form.separator(file_id)
        before = user_data.of_kind(kind)
        if before is not None:
            st.caption(f"What was read before ({controls.plain(before.file)}) is still in use.")


def _once(key: tuple[Any, ...], function: Callable[..., Any], *given: Any) -> Any:
    """What a worker makes of the file.

    The last answer of each kind (the first word of ``key``) is kept in the visit, a refusal too.
    """
    # always there: what comes after them keeps its place, and what is open stays open
    line, waits = st.empty(), st.empty()

    def tell(place: int) -> None:
        if place:
            line.caption(f"{place - 1} files of other visitors come before yours.")
        else:
            line.empty()

    try:
        with waits:
            reading = partial(read_file, function, *given, tell=tell)
            return once(f"own-{key[0]}", key, "Reading the file…", reading)
    finally:
        waits.empty()


def _with_items(own_set: OwnSet) -> OwnSet:
    """The set on the public list of its items, where the visitor gives one."""
    with st.expander("Public list of your items", key="own-items-fold"):
        st.markdown(
            "A table (CSV, TSV or Parquet) under a heading: its first column names **all items**, "
            "rated or not, as your ratings do; ratings of others are left out. Without it the "
            "items are those that somebody rated, which no ε covers. Further columns hold numbers, "
            "such as 1 for a comedy: One-shot moments and DPALS can shrink items towards them "
            "(*Item features*, under *More settings* of *Completion*). **All of it is taken as "
            "public**: nothing in it may come from anybody's ratings."
        )
        file = st.file_uploader(
            "Table of items",
            type=["csv", "tsv", "parquet"],
            key=f"own-items-{st.session_state.get(_TURN, 0)}",
            max_upload_size=MOST_MEGABYTES,
        )
        if file is None:
            return own_set
        base = st.session_state.get("own-base-ratings", own_set)
        try:
            key = ("call", file.file_id, "ratings")
            table = _once(key, read_item_table, file.name, file.getvalue())
            cached = st.session_state.get("own-listed", (None, None, None))
            if cached[0] is not base or cached[1] is not table or cached[2] is not own_set:
                cached = base, table, with_items(base, table)
                user_data.add(cached[2])
                st.session_state["own-listed"] = cached
        except DPMCError as error:
            controls.show_error(error)
            return own_set
    listed: OwnSet = cached[2]
    return listed


def _ready(kind: str, one: OwnSet) -> None:
    with st.container(border=True):
        st.markdown(
            f":material/check_circle: **{one.entry.title}** can be chosen on every page that "
            f"takes {kind}, in its menu of datasets."
        )
        points(controls.plain(note) for note in one.notes)
        if one.ratings is not None and (open_facts := one.ratings.uncovered):
            st.info(
                f"**Its ε will be nominal**: {', '.join(open_facts)} read off the data, which "
                "one person may change. It is guaranteed once all of them are given: in *The scale "
                "and the number of users* (bring the file again if that is no longer shown) and in "
                "*Public list of your items*.",
                icon=":material/public:",
            )
        st.warning(
            "**Whatever is computed without noise leaks.** The non-private side of each "
            "comparison, its errors, pictures, words and lists are for teaching and for your "
            "own eyes: do not publish them, and read on each private run what its ε covers and "
            "what it leaves out.",
            icon=":material/visibility:",
        )
        *links, last = st.columns([2] * len(_MENUS[kind]) + [1], vertical_alignment="center")
        for cell, (page, menu) in zip(links, _MENUS[kind].items(), strict=True):
            model = page == "plan"
            cell.page_link(
                f"{page}.py",
                label=(
                    "Least ε of a private model on it"
                    if model
                    else f"Use it on the {PAGES[page].title} page"
                ),
                icon=f":material/{PAGES[page].icon}:",
                query_params={menu: one.entry.title, **(_MODEL_PLAN if model else {})},
            )
        last.button(
            "Remove",
            icon=":material/delete:",
            key=f"own-remove-{kind}",
            on_click=_remove,
            args=(kind, one.name),
            width="stretch",
        )


def _remove(kind: str, name: str) -> None:
    """Forget the set, the file and what was read from it."""
    user_data.remove(name)
    user_data.deselect(name)
    for held in (f"own-base-{kind}", "own-listed"):
        st.session_state.pop(held, None)
    files = {
        answer[0][1]
        for step in ("take", "read", "call")
        if (answer := st.session_state.pop(f"own-{step}", None))
    }
    # the browser would send the file's number again for the same field: that is another one from
    # now on
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1
    context = get_script_run_ctx()
    if context is not None:
        manager = context.uploaded_file_mgr
        assert isinstance(
            manager, MemoryUploadedFileManager
        )  # Streamlit has no other, and only this one can forget
        for file in files:
            manager.remove_file(context.session_id, file)


ZEROS = {"missing": "missing", "rating": "a rating"}
VIEWS = {"known": "Known datasets", "own": "Your own data"}
LINK_TITLES: links.LinkTitles = {
    "d_name": user_data.linked,
    "d_zeros": ZEROS,
    "d_view": VIEWS,
    "d_holds": TITLES,
}


def own_name() -> str:
    """The visitor's own set of the chosen kind; "" where there is none yet."""
    mine = user_data.name_of(str(st.session_state.get("d_holds", "ratings")))
    return mine if mine in user_datasets.current() else ""


def form(row: DeltaGenerator) -> tuple[str, str, str]:
    """Draw the choice between known sets and the visitor's own, and of a known set, in ``row``;
    returns the view, the set ("" for none), and whether a 0 is "missing" or a "rating".
    """
    with row:
        view = controls.segments(
            "Which data", "d_view", VIEWS, "known", label_visibility="collapsed"
        )
        if view == "known":
            name = controls.choice("Dataset", "d_name", user_data.catalogue(), "low-rank")
        else:
            name = own_name()
        zeros = (
            controls.segments("A 0 in the file is", "d_zeros", ZEROS, "missing")
            if name == "sweetrs"
            else "missing"
        )
    return view, name, zeros
