"""The lessons to choose from, the summary of one, and the curve to remember."""

import json
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from dpmc_core.privacy import guess_bound
from pages.parts.frame.page import tab, verdict
from pages.parts.frame.share import server_address
from pages.parts.lessons.lessons import CLASS, Lesson, again, begin, lessons, link, score
from pages.parts.ui import looks, on_screen
from pages.parts.ui.figures import figure, show
from pages.parts.ui.on_screen import download

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
    """Draw the timetable of a class, and give the lessons tabs."""
    whole = lessons()[CLASS]
    verdict(f"A class in {whole.minutes} minutes, and three lessons, with expected answers.")
    st.page_link(
        "classroom.py", label="Open a room: the class answers on phones", icon=":material/groups:"
    )
    _timetable(whole)
    for lesson in _alone():
        tab(lesson.title.rstrip("."), f"agenda-{lesson.name}", partial(_timetable, lesson))
    tab("Before the class", "before", lambda: st.markdown(_BEFORE))


def _alone() -> list[Lesson]:
    """The lessons that somebody takes alone."""
    return [lesson for name, lesson in lessons().items() if name != CLASS]


def _timetable(lesson: Lesson) -> None:
    base = server_address()
    ends = np.cumsum([step.minutes for step in lesson.steps])
    rows = [
        {
            "Min": f"{end - step.minutes}–{end}",
            "Show": step.text,
            "Ask": f"**{step.question}**",
            "Expected": f"**{step.options[step.right].strip()}.** {step.feedback[step.right]}",
            "Link": f"[Open]({link(lesson, k, base)})",
            "If the network fails": step.offline,
        }
        for k, (step, end) in enumerate(zip(lesson.steps, ends, strict=True), start=1)
    ]
    st.markdown(f"{lesson.minutes} minutes, for {lesson.audience}")
    with st.container(key=f"timetable-{lesson.name}"):
        st.table(pd.DataFrame(rows), hide_index=True)


_FOLDER = Path(__file__).parents[3] / "notebooks"


def files() -> list[Path]:
    """The notebooks in their order."""
    return sorted(_FOLDER.glob("*.ipynb"))


@lru_cache
def title_of(file: Path) -> str:
    """What a notebook is called: its first heading."""
    first = json.loads(file.read_text(encoding="utf-8"))["cells"][0]["source"]
    return "".join(first).splitlines()[0].removeprefix("# ")


def offer() -> None:
    """Draw a button for each."""
    st.markdown(
        "For Jupyter, each 20 to 30 minutes with exercises. They need DPMC Lab where Jupyter runs: "
        "`pip install '.[all]'` in the project's folder, or its wheel."
    )
    for file in files():
        download(
            title_of(file),
            file.name,
            file.read_bytes,
            icon=":material/download:",
            key=f"take-{file.stem}",
        )


_CURVE = """\
from dpmc_core.privacy import guess_bound

for epsilon in (0.01, 0.1, 0.5, 1, 2, 5, 10):
    print(epsilon, 100 * guess_bound(epsilon))
"""


def cards() -> None:
    """Draw each lesson with a button that begins it."""
    for column, lesson in zip(st.columns(len(_alone())), _alone(), strict=True):
        with column.container(border=True, horizontal=True, vertical_alignment="center"):
            st.markdown(
                f"**{lesson.title}**  \n{lesson.minutes} minutes",
                help=f"For {lesson.audience}. {len(lesson.steps)} steps.",
                width="stretch",
            )
            if st.button(
                "Begin", icon=":material/play_arrow:", type="primary", key=f"begin-{lesson.name}"
            ):
                begin(lesson.name)


def summary(lesson: Lesson) -> None:
    """Draw the score of a finished lesson, with the right answers, and offer it as a file."""
    results = score(lesson)
    right, given = sum(r is True for r in results), sum(r is not None for r in results)
    verdict(
        f"{lesson.title} You answered {right} of {len(results)} questions correctly at the first "
        "try."
    )
    if given < len(results):
        st.caption(f"{len(results) - given} questions have no answer yet.")
    marks = {
        True: ":material/check: You were right.",
        False: ":material/close: Your first answer was another.",
        None: "You gave no answer.",
    }
    lines = [
        f"{k}. **{step.question}** Correct: {step.options[step.right].strip()}. {marks[result]}"
        for k, (step, result) in enumerate(zip(lesson.steps, results, strict=True), start=1)
    ]
    st.markdown("\n".join(lines))
    with st.container(horizontal=True):
        if st.button("Again", icon=":material/replay:", key="lesson-again"):
            again(lesson)
        download(
            "Summary (Markdown)",
            f"dpmc-lesson-{lesson.name}.md",
            lambda: _as_text(lesson, results),
            icon=":material/download:",
        )
        if st.button("All lessons", icon=":material/school:", key="lesson-all"):
            st.query_params.pop("done", None)
            st.rerun()


def _as_text(lesson: Lesson, results: list[bool | None]) -> str:
    words = {True: "right at first", False: "another answer at first", None: "no answer"}
    lines = [f"# {lesson.title}", "", "A lesson of DPMC Lab.", ""]
    for k, (step, result) in enumerate(zip(lesson.steps, results, strict=True), start=1):
        lines += [
            f"{k}. {step.question}",
            f"   Answer: {step.options[step.right].strip()} (you: {words[result]})",
            f"   {step.feedback[step.right].strip()}",
            "",
        ]
    return "\n".join(lines)


def curve() -> None:
    """Draw the odds of an attacker against ε: the one curve to remember."""
    epsilons = np.geomspace(0.01, 10, 101)
    chances = [100 * guess_bound(float(e)) for e in epsilons]
    drawn = figure("ε (log scale)", "right guesses in 100, at most", height=300, log_x=True)
    at = "ε = %{x:.2f}: %{y:.0f} in 100<extra></extra>"
    looks.curve(drawn, looks.Identity("", "#0072B2", "solid"), epsilons, chances, hovertemplate=at)
    ticks = [0.01, 0.1, 1, 10]
    drawn.update_xaxes(tickvals=ticks, ticktext=[f"{t:g}" for t in ticks])
    drawn.update_layout(margin={"r": 20}, hovermode="closest")
    show(
        drawn,
        "lessons-odds",
        "The most that an attacker can be right grows from 50 in 100 at ε = 0 to "
        f"{100 * guess_bound(1.0):.0f} at ε = 1 and {100 * guess_bound(5.0):.0f} at ε = 5.",
        pd.DataFrame({"epsilon": epsilons, "right_in_100_at_most": chances}),
    )
    on_screen.add_lines("The curve", _CURVE)
    st.caption(
        "What ε allows an attacker who wants to know whether one person is in the data; 50 is "
        "chance."
    )
