"""Plan: the least ε, the fewest people or the best mechanism for an accuracy."""

from dpmc_core.errors import DPMCError
from pages.parts.frame.page import control, head, observations, tab, verdict
from pages.parts.plan import sections
from pages.parts.plan.model_view import MODEL_TITLES, model
from pages.parts.plan.model_view import form as model_form
from pages.parts.plan.project_view import PROJECT_TITLES, project
from pages.parts.plan.sections import KINDS, LINK_TITLES, form, goal, kind
from pages.parts.ui import controls, on_screen

controls.on_page("plan.py", {"n_kind": KINDS, **LINK_TITLES, **MODEL_TITLES, **PROJECT_TITLES})
head("plan")
row = control()


def numbers() -> None:
    """What is exact: a number, sum or histogram."""
    with row:
        target = goal()
    try:
        with row:
            spec = form(target)
            sections.follow(spec)
        controls.link_problems()
        made = sections.answer(spec)
    except DPMCError as error:
        verdict("This cannot be planned.")
        controls.show_error(error)
        return
    verdict(made.sentence)
    sections.noise_figure(made)
    on_screen.add_lines("The same plan", made.spec.python())
    observations(sections.notes(made))
    tab("All mechanisms", "mechanisms", lambda: sections.mechanisms(made))
    tab("Attacker", "tradeoff-function", lambda: sections.attackers(made))
    tab("Method", "method", lambda: sections.method(made))
    tab("Export", "export", lambda: sections.export(made))


with row:
    planned = kind()
if planned == "model":
    with row:
        asked = model_form()
    controls.link_problems()
    model(asked, row)
elif planned == "project":
    project(row)
else:
    numbers()
