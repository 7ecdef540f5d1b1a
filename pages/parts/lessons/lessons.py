"""Guided paths over the live pages.

Lives here: lessons as data (``data/lessons.toml``), and the bar that a step draws above its page.
The path and step are in the address (``lesson``, ``step``), answers in the session. Does not live
here: the pages themselves, which know nothing of lessons.
"""

from dataclasses import dataclass
from functools import lru_cache

import streamlit as st

from dpmc_core.errors import DataError
from dpmc_core.facts import facts, typed
from pages.parts.ui import controls

__all__ = ["Lesson", "Step", "bar", "begin", "lessons"]

_ANSWERS = "lesson-answers"


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One step: the ``page`` and its ``settings`` (names and numbers, as its controls hold them),
    what to look at, a question, its options, which is right, and what to say to each.
    """

    page: str
    settings: dict[str, str | float]
    text: str
    question: str
    options: tuple[str, ...]
    right: int
    feedback: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Lesson:
    """A path of steps, and whom it is for."""

    name: str
    title: str
    audience: str
    steps: tuple[Step, ...]


@lru_cache(maxsize=1)
def lessons() -> dict[str, Lesson]:
    """All paths by name.

    Raises ``DataError`` for a step whose feedback does not fit its options.
    """
    out = {}
    for lesson in facts("lessons")["lesson"]:
        where = f"data/lessons.toml, {lesson['name']}"
        steps = tuple(
            typed(Step, step, f"{where}, step {k}")
            for k, step in enumerate(lesson["steps"], start=1)
        )
        for k, step in enumerate(steps, start=1):
            if not len(step.options) == len(step.feedback) > step.right:
                raise DataError(
                    f"Step {k} of the lesson {lesson['name']} has not one feedback for each option."
                )
        out[lesson["name"]] = typed(Lesson, {**lesson, "steps": steps}, where)
    return out


def begin(name: str, step: int = 1) -> None:
    """Go to a step: its page, with its settings."""
    to = lessons()[name].steps[step - 1]
    path, place = f"{to.page}.py", {"lesson": name, "step": str(step)}
    if (
        controls.current_page() == path
    ):  # its widgets hold their values, and the address follows them
        st.session_state.update(to.settings)
        st.query_params.update(place)
        st.rerun()
    st.switch_page(
        path,
        query_params={
            **{k: f"{v:g}" if isinstance(v, float) else str(v) for k, v in to.settings.items()},
            **place,
        },
    )


def bar() -> None:
    """The step that the address names, above its page; nothing without one."""
    asked = st.query_params.get("lesson", "")
    lesson = lessons().get(asked)
    text = st.query_params.get("step", "1")
    if lesson is None:
        if asked:
            st.warning(
                f"There is no lesson called '{controls.plain(asked[:40])}': it must be one of "
                f"{', '.join(lessons())}.",
                icon=":material/link_off:",
            )
        return
    step = (
        int(text)
        if text.isascii()
        and text.isdigit()
        and len(text) < 4
        and 1 <= int(text) <= len(lesson.steps)
        else 1
    )
    at = lesson.steps[step - 1]
    key = f"lesson-{lesson.name}-{step}"
    with st.container(border=True, key="lesson"):
        st.progress(
            step / len(lesson.steps), text=f"**{lesson.title}** Step {step} of {len(lesson.steps)}"
        )
        st.markdown(at.text)
        given = st.session_state.setdefault(
            _ANSWERS, {}
        )  # a widget's own memory ends when another step is shown
        before = given.get(key)
        answer = st.radio(
            at.question,
            list(at.options),
            index=None if before is None else at.options.index(before),
            key=key,
        )
        if answer is not None:
            given[key] = answer
            k = at.options.index(answer)
            (st.success if k == at.right else st.warning)(
                at.feedback[k], icon=":material/check:" if k == at.right else ":material/replay:"
            )
        left, right, leave = st.columns([1, 1, 1])
        if left.button(
            "Back",
            icon=":material/arrow_back:",
            disabled=step == 1,
            key="lesson-back",
            width="stretch",
        ):
            begin(lesson.name, step - 1)
        last = step == len(lesson.steps)
        if right.button(
            "Finish" if last else "Next",
            icon=":material/flag:" if last else ":material/arrow_forward:",
            key="lesson-next",
            width="stretch",
        ):
            if last:
                st.switch_page(
                    "lessons.py", query_params={}
                )  # what the page has in the address is its own
            begin(lesson.name, step + 1)
        if leave.button(
            "Leave the lesson", icon=":material/close:", key="lesson-leave", width="stretch"
        ):
            for name in ("lesson", "step"):
                st.query_params.pop(name, None)
            st.rerun()
