"""Plan: the least ε, the fewest people or the best mechanism for an accuracy."""

from pages.parts.frame.page import control, head
from pages.parts.plan.model_view import MODEL_TITLES, model_panel
from pages.parts.plan.project_view import PROJECT_TITLES, project_panel
from pages.parts.plan.statistic_view import LINK_TITLES, statistic_panel
from pages.parts.ui import controls

KINDS = {"numbers": "A statistic", "model": "A model", "project": "Several statistics"}
PANELS = {"numbers": statistic_panel, "model": model_panel, "project": project_panel}
head("plan", {"n_kind": KINDS, **LINK_TITLES, **MODEL_TITLES, **PROJECT_TITLES})
row = control()

with row:
    planned = controls.segments(
        "What is planned", "n_kind", KINDS, "numbers", label_visibility="collapsed"
    )
PANELS[planned](row)
