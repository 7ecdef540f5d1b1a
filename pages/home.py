"""Home: what ε means for an attacker, and what it costs, side by side."""

from pages.parts.frame import drag
from pages.parts.frame.page import control, head, observations, tab, verdict
from pages.parts.home import sections
from pages.parts.home.sections import LINK_TITLES, epsilon_slider, form
from pages.parts.ui import controls, glossary, on_screen

controls.on_page("home.py", LINK_TITLES)
with controls.settings():
    mechanism, seed = form()

head("home")
with control():
    epsilon = epsilon_slider()
    drag.follow(
        "home_epsilon",
        sections.EPSILONS,
        lambda value: sections.frame(value, mechanism, seed),
        mechanism,
        seed,
        playing="Play",
        reverse=True,
    )
controls.link_problems()
verdict(sections.verdict(epsilon, mechanism, seed))
sections.privacy_and_cost(epsilon, mechanism, seed)
observations(sections.observations(epsilon, mechanism, seed))
sections.lines(epsilon, mechanism, seed)
tab("Noise at this ε", "noises", lambda: sections.noises(epsilon))
tab("Method", "method", lambda: sections.method(epsilon))
tab("Glossary", "glossary", glossary.all_words)
if not on_screen.presenting():
    sections.invitations()
