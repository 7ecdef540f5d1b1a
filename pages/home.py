"""Home: what ε means for an attacker, and what it costs, side by side."""

from pages.parts import home
from pages.parts.frame import drag
from pages.parts.frame.page import control, head, observations, tab, verdict
from pages.parts.home import LINK_TITLES, epsilon_slider, form
from pages.parts.ui import controls, deployments, glossary, on_screen

head("home", LINK_TITLES)
with controls.settings():
    mechanism, seed = form()
with control():
    epsilon = epsilon_slider()
    drag.follow(
        "home_epsilon",
        home.EPSILONS,
        lambda value: home.frame(value, mechanism, seed),
        mechanism,
        seed,
        playing="Play",
        reverse=True,
    )
verdict(home.verdict(epsilon, mechanism, seed))
home.privacy_and_cost(epsilon, mechanism, seed)
observations(home.observations(epsilon, mechanism, seed))
home.lines(epsilon, mechanism, seed)
tab("Noise at this ε", "noises", lambda: home.noises(epsilon))
tab("ε in use", "in-use", lambda: deployments.draw(epsilon))
tab("Method", "method", lambda: home.method(epsilon))
tab("Glossary", "glossary", glossary.all_words)
if not on_screen.presenting():
    home.invitations()
