"""Lessons over the live pages: their data, and the box of a step beside its page.

Lesson and step are in the address (``lesson``, ``step``), answers in the session.
"""

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlencode

import streamlit as st

from dpmc_core.errors import DataError
from dpmc_core.facts import facts, typed
from pages.parts.ui import controls, glossary, on_screen
from pages.parts.ui.run_panel import Button

# the first answer to each question, which is scored, and the last; whether the box is folded
_ANSWERS, _FOLDED = "lesson-answers", "lesson-is-folded"
CLASS = "class"  # the lesson for a whole class


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step: the ``page`` and its ``settings`` (names and numbers, as its controls hold them),
    what to look at, a question, its options, which is right, and what to say to each. In a class
    it takes some ``minutes``; ``offline`` is what to do without a network.
    """

    page: str
    settings: dict[str, str | float]
    text: str
    question: str
    options: tuple[str, ...]
    right: int
    feedback: tuple[str, ...]
    minutes: int
    offline: str = ""


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A path of steps, and whom it is for."""

    name: str
    title: str
    audience: str
    steps: tuple[Step, ...]

    @property
    def minutes(self) -> int:
        """How long it takes."""
        return sum(step.minutes for step in self.steps)


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
    if "run" in to.settings:
        place["run"] = "1"
        st.session_state.pop(Button.used_key, None)  # each such step runs
    if on_screen.presenting():
        place["present"] = "true"
    if (
        controls.current_page() == path
    ):  # its widgets hold their values, and the address follows them
        st.session_state.update(to.settings)
        st.query_params.update(place)
        st.rerun()
    st.switch_page(path, query_params={**_in_address(to), **place})


def again(lesson: Lesson) -> None:
    """Go to the first step, with no answer given."""
    st.session_state.get(_ANSWERS, {}).pop(lesson.name, None)
    begin(lesson.name)


def link(lesson: Lesson, step: int, base: str) -> str:
    """The address that opens a step, on the server whose address is ``base``."""
    to = lesson.steps[step - 1]
    path = "" if to.page == "home" else to.page
    query = urlencode({**_in_address(to), "lesson": lesson.name, "step": step})
    return f"{base.rstrip('/')}/{path}?{query}"


def _in_address(step: Step) -> dict[str, str]:
    return {k: f"{v:g}" if isinstance(v, float) else str(v) for k, v in step.settings.items()}


def score(lesson: Lesson) -> list[bool | None]:
    """For each step whether its first answer was right; None where none was given.

    Later ones follow what the page says to a wrong one.
    """
    given = st.session_state.get(_ANSWERS, {}).get(lesson.name, {})
    out: list[bool | None] = []
    for k, step in enumerate(lesson.steps, start=1):
        answer, _ = given.get(k, (None, None))
        out.append(None if answer is None else answer == step.options[step.right])
    return out


def from_address() -> tuple[Lesson, int] | None:
    """The lesson and step that the address names; a sentence where there is no such one."""
    name = st.query_params.get("lesson", "")
    if not name:
        return None
    lesson = lessons().get(name)
    if lesson is None:
        st.warning(
            f"There is no lesson called '{controls.plain(name[:40])}': it must be one of "
            f"{', '.join(lessons())}.",
            icon=":material/link_off:",
        )
        return None
    text, count = st.query_params.get("step", "1"), len(lesson.steps)
    if text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= count:
        return lesson, int(text)
    st.warning(
        f"There is no step '{controls.plain(text[:20])}' in this lesson: it must be from 1 to "
        f"{count}. This is step 1.",
        icon=":material/link_off:",
    )
    return lesson, 1


def box(lesson: Lesson, step: int) -> None:
    """Draw the box of a step: what to look at, one question, the way on.

    On a phone it lies over the page, and can be folded away.
    """
    folded = bool(st.session_state.get(_FOLDED, False))
    with st.container(border=True, key="lesson"):
        st.button(
            "Question" if folded else "Fold",
            icon=":material/expand_less:" if folded else ":material/expand_more:",
            type="tertiary",
            key="lesson-fold",
            on_click=lambda: st.session_state.update({_FOLDED: not folded}),
        )
        with st.container(key="lesson-folded" if folded else "lesson-open"):
            _step(lesson, step)


def _step(lesson: Lesson, step: int) -> None:
    at, last = lesson.steps[step - 1], step == len(lesson.steps)
    st.progress(
        step / len(lesson.steps), text=f"**{lesson.title}** Step {step} of {len(lesson.steps)}"
    )
    st.markdown(at.text, help=glossary.listed(glossary.PAGES[at.page].words))
    on_screen.hold_verdict(not _question(lesson, step))
    with st.container(horizontal=True, key="lesson-way"):
        if st.button(
            "Finish" if last else "Next",
            icon=":material/flag:" if last else ":material/arrow_forward:",
            type="primary",
            key="lesson-next",
            shortcut="PageDown" if on_screen.presenting() else None,
        ):
            if last:  # what the page has in the address is its own
                st.switch_page("lessons.py", query_params={"done": lesson.name})
            begin(lesson.name, step + 1)
        if st.button("Back", icon=":material/arrow_back:", disabled=step == 1, key="lesson-back"):
            begin(lesson.name, step - 1)
        if st.button("Leave", icon=":material/close:", key="lesson-leave"):
            for name in ("lesson", "step"):
                st.query_params.pop(name, None)
            st.rerun()


def _question(lesson: Lesson, step: int) -> bool:
    """Draw the question of a step, and what to say to the answer; says whether there is one."""
    at = lesson.steps[step - 1]
    # a widget's own memory ends when another step is shown
    given = st.session_state.setdefault(_ANSWERS, {}).setdefault(lesson.name, {})
    first, last = given.get(step, (None, None))
    answer = st.radio(
        f"**{at.question}**",
        list(at.options),
        index=None if last is None else at.options.index(last),
        key=f"lesson-{lesson.name}-{step}",
        help="Your first answer is the one that is scored; then try the others.",
    )
    if answer is not None:
        given[step] = (first or answer, answer)
        k = at.options.index(answer)
        (st.success if k == at.right else st.warning)(
            at.feedback[k], icon=":material/check:" if k == at.right else ":material/replay:"
        )
    return answer is not None
