"""Plan: the least ε, the fewest people or the best mechanism for an accuracy."""

from dpmc_core.errors import DPMCError
from pages.parts.frame.page import control, head, observations, tab, verdict
from pages.parts.plan import statistic_view
from pages.parts.plan.model_view import MODEL_TITLES, model_form, model_panel
from pages.parts.plan.project_view import PROJECT_TITLES, project_panel
from pages.parts.plan.statistic_view import KINDS, LINK_TITLES
from pages.parts.ui import controls, on_screen

controls.on_page("plan.py", {"n_kind": KINDS, **LINK_TITLES, **MODEL_TITLES, **PROJECT_TITLES})
head("plan")
row = control()


def statistic() -> None:
    """What is exact: a number, sum or histogram."""
    try:
        with row:
            spec = statistic_view.statistic_form(statistic_view.goal_box())
            statistic_view.follow_margin(spec)
        controls.link_problems()
        made = statistic_view.search_mechanisms(spec)
    except DPMCError as error:
        verdict("This cannot be planned.")
        controls.show_error(error)
        return
    verdict(made.sentence)
    statistic_view.show_figure(made)
    on_screen.add_lines("The same plan", made.spec.python())
    observations(statistic_view.findings(made))
    tab("All mechanisms", "mechanisms", lambda: statistic_view.show_mechanisms(made))
    tab("Attacker", "tradeoff-function", lambda: statistic_view.show_attackers(made))
    tab("Method", "method", lambda: statistic_view.show_method(made))
    tab("Export", "export", lambda: statistic_view.offer_export(made))


with row:
    planned = statistic_view.kind_of_plan()
if planned == "model":
    with row:
        asked = model_form()
    controls.link_problems()
    model_panel(asked, row)
elif planned == "project":
    project_panel(row)
else:
    statistic()
