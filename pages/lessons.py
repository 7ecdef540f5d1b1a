"""Lessons: three guided paths over the live pages."""

import numpy as np
import pandas as pd
import streamlit as st

from dpmc_core.privacy import guess_bound
from pages.parts.lessons.lessons import begin, lessons
from pages.parts.ui import controls, glossary
from pages.parts.ui.figures import figure, show

controls.on_page("lessons.py")
glossary.title("Where do I begin?", "lessons")
st.markdown(
    "Three guided paths. Each step opens a page of the app with its settings made, says what to "
    "look at, and asks one question. Every step has a link of its own, to share with a class."
)
for column, lesson in zip(st.columns(3), lessons().values(), strict=True):
    with column.container(border=True):
        st.subheader(lesson.title, anchor=False)
        st.caption(f"For {lesson.audience}. {len(lesson.steps)} steps.")
        if st.button(
            "Begin", icon=":material/play_arrow:", key=f"begin-{lesson.name}", width="stretch"
        ):
            begin(lesson.name)
        st.markdown(
            "\n".join(f"{k}. {step.question}" for k, step in enumerate(lesson.steps, start=1))
        )
epsilons = np.geomspace(0.01, 10, 101)
chances = [100 * guess_bound(float(e)) for e in epsilons]
drawn = figure("ε (log scale)", "right guesses in 100, at most", height=300, log_x=True)
drawn.add_scatter(
    x=epsilons,
    y=chances,
    mode="lines",
    line={"color": "#0072B2", "width": 3},
    hovertemplate="ε = %{x:.2f}: %{y:.0f} in 100<extra></extra>",
)
drawn.update_layout(margin={"r": 20})
numbers = pd.DataFrame({"epsilon": epsilons, "right_in_100_at_most": chances})
show(
    drawn,
    "lessons-odds",
    "The most that an attacker can be right grows from 50 in 100 at ε = 0 to "
    f"{100 * guess_bound(1.0):.0f} at ε = 1 and {100 * guess_bound(5.0):.0f} at ε = 5.",
    numbers,
)
st.caption(
    "The one curve to remember: what ε allows an attacker who tries to tell whether one person "
    "is in the data."
)
glossary.all_words()
controls.link_problems()
