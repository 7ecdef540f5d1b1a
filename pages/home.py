"""Home: what is protected, ε in odds, three densities, and one picture that degrades."""

import streamlit as st

from dpmc_core.mechanisms import Gaussian, Huber, Laplace
from dpmc_core.privacy import guess_bound, odds_sentence
from dpmc_core.wording import three
from pages.parts.home import charts
from pages.parts.home.picture import EPSILONS, NOISES, panels, picture
from pages.parts.ui import controls, densities, glossary
from pages.parts.ui.figures import IDENTITY, draw, show

controls.on_page("home.py", {"home_noise": NOISES})
with st.sidebar:
    st.subheader("Privacy")
    epsilon = controls.steps_slider(
        "ε: more private ← → more accurate",
        "home_epsilon",
        EPSILONS,
        1.0,
        help=glossary.meaning("epsilon"),
    )
    mechanism = controls.choice("Noise in the picture", "home_noise", NOISES, "huber")
    seed = int(controls.number("Seed", "home_seed", "seed", 0))
    st.button(
        "Draw again",
        icon=":material/casino:",
        on_click=lambda: st.session_state.update(home_seed=int(st.session_state.home_seed) + 1),
        help="New noise: the next seed.",
    )

glossary.title("How much noise hides one person?", "home")
st.markdown(
    "People rate films; a service learns from the ratings and publishes what it learned. **Differential privacy** adds noise, "
    "so that what is published says little about whether *you* were in the data: how little, the odds below bound. The noise has a price: the picture below "
    "degrades. Move **ε** in the sidebar and watch both."
)
controls.link_problems()

chance = guess_bound(epsilon)
st.subheader(odds_sentence(epsilon), anchor=False)
left, right = st.columns(2)
with left:
    draw(
        charts.icon_array(0.5, "Without any release: right 50 times in 100"),
        "icons-before",
        "Without a release an attacker guesses right 50 times in 100.",
        toolbar=False,
    )
with right:
    draw(
        charts.icon_array(
            chance, f"After the release: right at most about {100 * chance:.0f} times in 100"
        ),
        "icons-after",
        f"After a release with ε = {epsilon:g} an attacker guesses right at most {100 * chance:.0f} times in 100.",
        toolbar=False,
    )

st.caption(
    f"True of any release that really has ε = {epsilon:g}: no attacker can do better, whatever else they know about the other "
    "people, and most noises allow less (the Mechanisms page gives exact figures)."
)

clean, noisy = picture("none", 1.0, seed), picture(mechanism, epsilon, seed)
st.subheader(
    f"One picture that degrades (nominal ε = {epsilon:g} per draw: not the odds above)",
    anchor=False,
)
figure, numbers = panels(mechanism, epsilon, seed)
show(
    figure,
    "home-picture",
    f"Three matrices of ratings: the truth, completed without noise (RMSE {clean.error:.2f}), and completed with noise at "
    f"nominal ε = {epsilon:g} (RMSE {noisy.error:.2f}).",
    numbers,
)
verdict = "still beats" if noisy.error < clean.trivial else "no longer beats"
st.markdown(
    f"30 % of a 150 × 150 matrix of ratings is known; the rest is completed. Without noise the held-out error (RMSE, clipped to the scale) is "
    f"**{three(clean.error)}** rating units; noise with standard deviation {three(noisy.noise)} makes it "
    f"**{three(noisy.error)}**, which {verdict} the best trivial predictor ({three(clean.trivial)})."
)
st.caption(
    f"Counted: {noisy.label}. *Nominal* means counted as the Huber paper counts: per rating, at an assumed sensitivity of 5. The odds "
    "above are **not** those of this picture, whose true loss is larger; the Completion page says what the count leaves out."
)

st.subheader("The three kinds of noise at this ε", anchor=False)
trio = [
    Huber.with_epsilon(epsilon, 1.0),
    Laplace.with_epsilon(epsilon, 1.0),
    Gaussian.with_epsilon(epsilon, 1.0, delta=1e-5),
]
figure, numbers = densities.densities(trio)
sds = ", ".join(f"{IDENTITY[m.name].title} {three(m.std)}" for m in trio)
show(
    figure,
    "home-densities",
    f"Densities at ε = {epsilon:g} and sensitivity 1. Standard deviations: {sds}.",
    numbers,
)
st.caption(
    f"One number whose value moves by at most 1 when one person changes. Huber (α = 1.5) and Laplace hold ε = {epsilon:g} "
    f"always; Gaussian only up to a failure probability δ = 10⁻⁵. Standard deviations: {sds}."
)

st.page_link(
    "lessons.py", label="New here? Take a guided path of ten minutes", icon=":material/school:"
)
st.subheader("Try this", anchor=False)
st.markdown(
    "- Pull ε from 10 down to 0.1: at which ε does the completed matrix stop looking like the truth, and does it still beat the trivial predictor?\n"
    "- Press *Draw again*: how much of what you see is luck?\n"
    "- Copy the address of this page: it holds every setting, the seed included."
)
links = (
    ("mechanisms", "Compare the mechanisms", ":material/ssid_chart:"),
    ("budget", "Count a whole run", ":material/account_balance_wallet:"),
    ("completion", "Run a completion", ":material/grid_on:"),
    ("factorization", "Learn faces and topics", ":material/face:"),
    ("tradeoffs", "Weigh the trade-off", ":material/balance:"),
    ("audit", "Attack it", ":material/search_insights:"),
    ("papers", "Check the papers", ":material/menu_book:"),
    ("datasets", "See the data", ":material/database:"),
)
for k, (page, label, icon) in enumerate(links):
    if k % 4 == 0:
        cells = st.columns(4)
    cells[k % 4].page_link(f"{page}.py", label=label, icon=icon)
st.caption(
    "The noise here comes from a teaching sampler: exact in theory, but floating-point numbers can leak through their last "
    "digits (Mironov 2012). Do not publish numbers about real people with it."
)
