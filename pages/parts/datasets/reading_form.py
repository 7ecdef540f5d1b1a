"""How a visitor's file was read, for them to correct.

None of these controls is in the page's address: what they show may be from somebody's data.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from dpmc_core.config import Settings
from dpmc_core.datasets.own import Preview
from dpmc_core.datasets.own.images import ORDERS, ROWS
from dpmc_core.datasets.own.table_files import SEPARATORS
from dpmc_core.datasets.own.tables import LARGEST, LAYOUTS, TWICE, ZEROS
from dpmc_core.datasets.own.texts import PARTS
from dpmc_core.wording import not_computed
from pages.parts.ui import controls
from pages.parts.ui.on_screen import show_table

_NONE = "(none)"
# what is chosen only where it is asked
_BY_QUESTION = {
    "header": "The first line holds names of columns",
    "totals": "Rows that sum up others",
}
_ROW_PIXELS = 35  # of a table, as Streamlit draws it


def choices(kind: str, preview: Preview, file_id: str) -> Settings:
    """How the file was read, for the visitor to correct; another file begins with its own guess.

    Returns what differs from that.
    """
    st.markdown("**How it is read** — guessed from names and values; correct what is wrong.")
    if preview.head is not None:
        # the browser loads what draws tables when the first one comes: it has its room from the
        # start, for boxes that move close
        tall = _ROW_PIXELS * (len(preview.head) + 1) + 2
        with st.container(height=tall, border=False):
            show_table(
                not_computed(preview.head),
                "The first rows of your file.",
                width="stretch",
                height=tall,
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
    questions = st.container()
    given = make(preview, file_id)
    usual = dataclasses.asdict(preview.reading)
    changed = {name: value for name, value in given.items() if value != usual[name]}
    for question in preview.questions:
        picked = given.get(question.field)
        if question.field in _BY_QUESTION:
            picked = st.selectbox(
                _BY_QUESTION[question.field],
                question.choices,
                format_func=lambda choice: choice or _NONE,
                key=f"own-{question.field}-{file_id}",
            )
            if picked != question.choices[0]:
                changed[question.field] = picked
        if question.field in changed:
            continue
        notice = questions.empty()
        codes = question.choices[1:] if question.field == "missing" else ()
        for code in codes:
            questions.button(
                f"Leave out {code.replace(',', ', ')}" if code else "All are ratings",
                key=f"own-code-{code}-{file_id}",
                on_click=st.session_state.update,
                args=({f"own-missing-{file_id}": code},),
            )
        if questions.checkbox("It is right as read", key=f"own-right-{question.field}-{file_id}"):
            changed[question.field] = picked
            continue
        text = controls.plain(question.text)
        options = ", ".join(f"“{controls.plain(one) or 'none'}”" for one in question.choices[:8])
        text += f" *Choices: {options}.*" if options and not codes else ""
        notice.warning(f"**Please check.** {text}", icon=":material/help:")
    return changed


def separator(file_id: str, detected: str = "") -> None:
    """Draw the choice of what separates cells, ``detected`` where none is chosen."""
    st.selectbox(
        "Cells are separated by",
        ["", *SEPARATORS],
        format_func=lambda name: name or f"as it seems{f': {detected}' * bool(detected)}",
        key=f"own-separator-{file_id}",
    )


def chosen_separator(file_id: str) -> dict[str, str]:
    """Return the choice of what separates cells, as a reading has it, if there is one."""
    chosen = st.session_state.get(f"own-separator-{file_id}")
    return {"separator": chosen} if chosen else {}


def _rating_choices(preview: Preview, file_id: str) -> Settings:
    reading, columns = dataclasses.asdict(preview.reading), list(preview.columns)
    left, middle, right = st.columns(3)
    layout = _pick(left, "Layout", LAYOUTS, reading["layout"], file_id)
    given: Settings = {"layout": layout}
    if layout == "long":
        for cell, what, label in (
            (left, "user", "User column"),
            (middle, "item", "Item column"),
            (right, "value", "Rating column"),
        ):
            # where none was found, what fits best is taken
            listed = columns if reading[what] else [_NONE, *columns]
            picked = _pick(cell, label, listed, reading[what] or _NONE, file_id)
            given[what] = "" if picked == _NONE else picked
    else:
        down = "user" if layout == "wide" else "item"
        picked = _pick(
            middle, f"Column with {down}s", [_NONE, *columns], reading[down] or _NONE,
            file_id,
        )  # fmt: skip
        given[down] = "" if picked == _NONE else picked
    given["zeros"] = _pick(middle, "Meaning of 0", ZEROS, reading["zeros"], file_id)
    given["twice"] = _pick(right, "If a user rates an item twice", TWICE, reading["twice"], file_id)
    given["missing"] = right.text_input(
        "Codes for “not rated”",
        ", ".join(f"{code:g}" for code in reading["missing"]),
        key=f"own-missing-{file_id}",
        max_chars=2000,
        help="Numbers with commas between them that mean “not rated” in this file, such as 99.",
    )
    if reading["separator"]:
        with left:
            separator(file_id, reading["separator"])
    if layout != "long":
        given["without"] = tuple(
            left.multiselect(
                "Columns without ratings",
                columns,
                [c for c in reading["without"] if c in columns],
                key=f"own-without-{file_id}",
                help="Counts, sums, ages …: they are passed over.",
            )
        )
    with st.expander("The scale and the number of users"):
        st.markdown(
            "Private runs scale their noise by the ends of the scale, and plan what they release "
            "by the number of users. Read off the data, as they are now, one user may change them, "
            "which no ε covers: for a guarantee write what was known before. Ratings off the "
            "scale are moved onto it."
        )
        low, high, users = st.columns(3)
        for cell, name, which in ((low, "low", "lowest"), (high, "high", "highest")):
            given[name] = cell.number_input(
                f"{which.capitalize()} possible rating",
                value=None,
                placeholder=f"the file's {which}",
                min_value=-LARGEST,
                max_value=LARGEST,
                key=f"own-{name}-{file_id}",
            )
        given["users"] = users.number_input(
            "Number of users, at most",
            2,
            200_000,
            value=None,
            placeholder="as many as in the file",
            key=f"own-users-{file_id}",
        )
    # as the reading has it: a list of codes as numbers; raises for one that is none
    return dataclasses.asdict(dataclasses.replace(preview.reading, **given))


def _document_choices(preview: Preview, file_id: str) -> Settings:
    reading, columns = dataclasses.asdict(preview.reading), list(preview.columns)
    left, right = st.columns(2)
    if columns:
        label = _pick(
            right, "Classes are in", [_NONE, *columns], reading["label"] or _NONE, file_id
        )
        return {
            "text": _pick(left, "Text is in", columns, reading["text"], file_id),
            "label": "" if label == _NONE else label,
        }
    if preview.file.lower().endswith(".zip"):
        st.caption("Each file of the archive is a document.")
        return {}
    return {"part": _pick(left, "A document is", PARTS, reading["part"], file_id)}


def _image_choices(preview: Preview, file_id: str) -> Settings:
    reading = dataclasses.asdict(preview.reading)
    left, middle, right = st.columns(3)
    given: Settings = {
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
        given["variable"] = _pick(
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


def _pick(
    cell: Any, label: str, choices: Mapping[str, str] | Sequence[str], usual: str, file_id: str
) -> str:
    """Draw a select box over names, with their titles if they have any."""
    names = list(choices)
    return str(
        cell.selectbox(
            label,
            names,
            index=names.index(usual) if usual in names else 0,
            format_func=lambda name: choices[name] if isinstance(choices, Mapping) else name,
            key=f"own-{label}-{file_id}",
        )
    )
