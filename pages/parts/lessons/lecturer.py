"""The page for lecturers: agenda, links, expected answers, and what to do without a network."""

from functools import partial

import streamlit as st

from pages.parts.frame.page import fold, verdict
from pages.parts.lessons.lessons import Lesson, lessons, link

_BEFORE = """\
1. Open each step's link once on the projector: examples are then computed and stay in the server's
   memory.
2. Turn on *Presenter mode* at the foot of a page: large type, no sidebar; ← and → move the control,
   Page Up and Page Down change the page.
3. Share the link of a step with the class: it opens the page with its settings made.
4. Save a *Handout* of each page (one HTML file with its figures) and print this page: both work
   without a network.
"""


def agenda() -> None:
    """Draw every lesson's steps with links, questions and expected answers."""
    minutes = sum(lesson.minutes for lesson in lessons().values())
    verdict(f"{len(lessons())} lessons, {minutes} minutes in all, with expected answers.")
    st.markdown(f"**Before the class**\n\n{_BEFORE}")
    for lesson in lessons().values():
        fold(
            f"{lesson.title} {lesson.minutes} minutes, for {lesson.audience}",
            f"agenda-{lesson.name}",
            partial(_lesson, lesson),
        )


def _lesson(lesson: Lesson) -> None:
    base = (st.context.url or "").split("?")[0].rsplit("/", 1)[0]
    each = lesson.minutes / len(lesson.steps)
    for k, step in enumerate(lesson.steps, start=1):
        st.markdown(
            f"**{k}. {step.question}** ({round((k - 1) * each)} to {round(k * each)} min, "
            f"[open the step]({link(lesson, k, base)}))\n\n"
            f"- Expected: {step.options[step.right].strip()}\n"
            f"- Why: {step.feedback[step.right].strip()}"
        )
    st.markdown(f"**When the network fails.** {lesson.offline}")
