"""The form that takes a visitor's own data.

Lives here: choosing a file, how it was read, correcting that, and what came of it. None of these
controls is in the page's address: what they show may be from somebody's data. Does not live here:
reading (``dpmc_core.datasets.own``), or keeping the sets (``server.user_data``).
"""

import dataclasses
from typing import Any

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpmc_core.datasets.own import KINDS, OwnSet, Preview
from dpmc_core.datasets.own.images import ORDERS, ROWS
from dpmc_core.datasets.own.sets import MOST_MEGABYTES
from dpmc_core.datasets.own.tables import LAYOUTS, TWICE, ZEROS
from dpmc_core.datasets.own.texts import PARTS
from dpmc_core.errors import DPMCError
from pages.parts.server import edge
from pages.parts.server import user_data as own_data
from pages.parts.server.sandbox import expect_file, read_file
from pages.parts.ui import controls, share
from pages.parts.ui.bullet_list import points
from pages.parts.ui.glossary import PAGES

__all__ = ["own_form"]

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
_NONE = "(none)"
_ROW_PIXELS = 35  # of a table, as Streamlit draws it
_TURN = "own-turn"  # how often something was removed
_PAGES = {
    "ratings": ("completion", "tradeoffs"),
    "documents": ("factorization",),
    "images": ("factorization",),
}
_MENU = {
    "completion": "dataset",
    "tradeoffs": "t_dataset_user",
    "factorization": "f_data",
}  # what menus of datasets are called in addresses


def own_form() -> None:
    """The form, and below it the datasets of this visit."""
    kind = controls.segments("What does the file hold?", "d_holds", TITLES, "ratings")
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
    )
    st.caption(
        ":material/lock: **Where it goes**: into the memory of this visit and nowhere else. It "
        "is not written to a disk or a log, its runs are not kept among past runs, no other "
        "visitor can reach it, and it is gone when you press *Remove*, reload the page, or "
        "within a few minutes of closing this tab. It does travel to the server that runs this "
        "app: for data that must not leave your machine, run the app there."
    )
    if file is not None:
        _take(kind, file.name, file.getvalue(), file.file_id)
    else:
        expect_file()
    known = own_data.of_kind(kind)
    if known is not None:
        if file is None:
            st.caption("To read it in another way, give the file again.")
        _ready(kind, known)


def _take(kind: str, name: str, data: bytes, file_id: str) -> None:
    """Read the file as guessed or corrected, unless just that was done."""
    try:
        preview = _once(
            ("inspect", file_id, kind), "Looking at the file…", "inspect", (kind, name, data)
        )
        choices = _choices(kind, preview, file_id)
        key = ("read", file_id, kind, tuple(sorted(choices.items())))
        title = f"Your {kind}"
        one: OwnSet = _once(
            key,
            "Reading the file…",
            "read",
            (kind, name, data, {**choices, "name": own_data.name_of(kind), "title": title}),
        )
        if own_data.of_kind(kind) is not one:
            try:
                own_data.add(one)
            except DPMCError:
                del st.session_state[
                    "own-read"
                ]  # what there is no room for is not kept here either
                raise
    except DPMCError as error:
        st.error(controls.plain(str(error)), icon=":material/error:")
        if own_data.of_kind(kind) is not None:
            st.caption("What was read before is still in use.")


def _once(key: tuple[Any, ...], said: str, steps: str, spec: tuple[Any, ...]) -> Any:
    """What a worker makes of the file.

    The last answer of each kind is kept in the visit, a refusal too.
    """
    held = st.session_state.get(f"own-{steps}")
    if held is None or held[0] != key:
        with st.spinner(said):
            try:
                held = (key, read_file(steps, spec))
            except DPMCError as error:
                held = (key, error)
        st.session_state[f"own-{steps}"] = held
    if isinstance(held[1], DPMCError):
        raise held[1]
    return held[1]


def _choices(kind: str, preview: Preview, file_id: str) -> dict[str, Any]:
    """How the file was read, for the visitor to correct; another file begins with its own guess.

    Returns what differs from that.
    """
    st.markdown("**How it is read** — guessed from names and values; correct what is wrong.")
    if preview.head is not None:
        # the browser loads what draws tables when the first one comes: it has its room from the
        # start, for boxes that move close
        tall = _ROW_PIXELS * (len(preview.head) + 1) + 2
        with st.container(height=tall, border=False):
            st.dataframe(
                preview.head,
                hide_index=True,
                width="stretch",
                height=tall,
                alt="The first rows of your file.",
            )
        st.caption(
            f"The first of {preview.rows:,} row{'s' * (preview.rows != 1)}"
            + (
                f", and of {len(preview.columns)} columns."
                if len(preview.columns) > preview.head.shape[1]
                else "."
            )
        )
    make = {"ratings": _rating_choices, "documents": _document_choices, "images": _image_choices}[
        kind
    ]
    given = make(preview, file_id)
    usual = dataclasses.asdict(preview.reading)
    return {name: value for name, value in given.items() if value != usual[name]}


def _rating_choices(preview: Preview, file_id: str) -> dict[str, Any]:
    reading, columns = dataclasses.asdict(preview.reading), list(preview.columns)
    left, middle, right = st.columns(3)
    layout = _pick(left, "Layout", LAYOUTS, reading["layout"], file_id)
    given: dict[str, Any] = {"layout": layout}
    if layout == "long":
        for cell, what, label in (
            (left, "user", "Users are in"),
            (middle, "item", "Items are in"),
            (right, "value", "Ratings are in"),
        ):
            given[what] = _column(cell, label, columns, reading[what], file_id)
    else:
        picked = _column(
            middle, "Users are named in", [_NONE, *columns], reading["user"] or _NONE, file_id
        )
        given["user"] = "" if picked == _NONE else picked
    given["zeros"] = _pick(middle, "A 0 is", ZEROS, reading["zeros"], file_id)
    given["twice"] = _pick(right, "If a user rates an item twice", TWICE, reading["twice"], file_id)
    with st.expander("The ends of the rating scale"):
        st.markdown(
            "Private runs clip what they predict to the scale and take its ends as **public**. "
            "Read off the data, as they are now, they tell its smallest and largest rating: for "
            "a real release write what was known before. The scale must hold all ratings of the "
            "file."
        )
        low, high = st.columns(2)
        given["low"] = low.number_input(
            "Lowest possible rating",
            value=None,
            placeholder="the file's lowest",
            key=f"own-low-{file_id}",
        )
        given["high"] = high.number_input(
            "Highest possible rating",
            value=None,
            placeholder="the file's highest",
            key=f"own-high-{file_id}",
        )
    return given


def _document_choices(preview: Preview, file_id: str) -> dict[str, Any]:
    reading, columns = dataclasses.asdict(preview.reading), list(preview.columns)
    left, right = st.columns(2)
    if columns:
        label = _column(
            right, "Classes are in", [_NONE, *columns], reading["label"] or _NONE, file_id
        )
        return {
            "text": _column(left, "Text is in", columns, reading["text"], file_id),
            "label": "" if label == _NONE else label,
        }
    if preview.file.lower().endswith(".zip"):
        st.caption("Each file of the archive is a document.")
        return {}
    return {"part": _pick(left, "A document is", PARTS, reading["part"], file_id)}


def _image_choices(preview: Preview, file_id: str) -> dict[str, Any]:
    reading = dataclasses.asdict(preview.reading)
    left, middle, right = st.columns(3)
    given: dict[str, Any] = {
        "side": int(
            left.number_input(
                "Bring all to this side (pixels; 0: as they are)", 0, 128, int(reading["side"]),
                key=f"own-side-{file_id}",
                help=(
                    "Images must be of one size. 24 to 64 pixels show parts well and take "
                    "seconds."
                ),
            )
        )
    }  # fmt: skip
    if preview.variables:
        given["variable"] = _column(
            middle,
            "Images are in the variable",
            list(preview.variables),
            reading["variable"],
            file_id,
        )
    if not preview.file.lower().endswith(".zip"):
        given["rows"] = _pick(right, "The table holds", ROWS, reading["rows"], file_id)
        given["order"] = _pick(right, "An image's pixels are", ORDERS, reading["order"], file_id)
    return given


def _pick(cell: Any, label: str, titles: dict[str, str], usual: str, file_id: str) -> str:
    return str(
        cell.selectbox(
            label,
            list(titles),
            index=list(titles).index(usual),
            format_func=lambda n: titles[n],
            key=f"own-{label}-{file_id}",
        )
    )


def _column(cell: Any, label: str, columns: list[str], usual: str, file_id: str) -> str:
    return str(
        cell.selectbox(
            label,
            columns,
            index=columns.index(usual) if usual in columns else 0,
            key=f"own-{label}-{file_id}",
        )
    )


def _ready(kind: str, one: OwnSet) -> None:
    with st.container(border=True):
        st.markdown(
            f":material/check_circle: **{one.entry.title}** can be chosen on every page that "
            f"takes {kind}: it is in their menus of datasets."
        )
        points(controls.plain(note) for note in one.notes)
        st.warning(
            "**Whatever is computed without noise leaks.** The non-private side of each "
            "comparison, its errors, pictures, words and lists are for teaching and for your "
            "own eyes: do not publish them, and read on each private run what its ε covers and "
            "what it leaves out.",
            icon=":material/visibility:",
        )
        *links, last = st.columns([2] * len(_PAGES[kind]) + [1], vertical_alignment="center")
        for cell, page in zip(links, _PAGES[kind], strict=True):
            cell.page_link(
                f"{page}.py",
                label=f"Use it on the {PAGES[page].title} page",
                icon=f":material/{PAGES[page].icon}:",
                query_params={_MENU[page]: one.entry.title},
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
    own_data.remove(name)
    own_data.deselect(name)
    files = {
        held[0][1]
        for step in ("inspect", "read")
        if (held := st.session_state.pop(f"own-{step}", None))
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
