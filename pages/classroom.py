"""Class: a room in which students answer on their phones, and a projector shows what they do."""

from pages.parts.audit import classroom
from pages.parts.audit.controls import LINK_TITLES
from pages.parts.audit.room import Question
from pages.parts.frame.page import head
from pages.parts.lessons.lessons import lessons
from pages.parts.lessons.overview import curve

polls = {
    f"{lesson.name}-{k}": Question(
        text=f"{step.question} ({lesson.title} Step {k})", options=step.options, right=step.right
    )
    for lesson in lessons().values()
    for k, step in enumerate(lesson.steps, start=1)
}
head(
    "classroom",
    {
        **LINK_TITLES,
        "k_activity": classroom.ACTIVITIES,
        "k_poll": {name: poll.text for name, poll in polls.items()},
    },
)
if classroom.draw_page(polls):
    curve()
