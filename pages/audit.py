"""Audit: attack a release with and without Alice, and play against it."""

import json
from typing import Any

import streamlit as st

from dpmc_core.errors import DPMCError
from dpmc_core.experiments.factor_registry import FACTORIZERS
from dpmc_core.experiments.registry import ALGORITHMS
from dpmc_core.experiments.tasks.audit import AuditResult, audit
from dpmc_core.experiments.tasks.audit_spec import (
    CASES,
    FACTOR_TARGETS,
    NEIGHBOURS,
    VIEWS,
    AuditSpec,
)
from dpmc_core.experiments.tasks.audit_targets import neighbours, pictures, true_counts
from dpmc_core.privacy import odds_sentence, subject
from dpmc_core.privacy.audit import proves_at_most
from dpmc_core.wording import three
from pages.parts.audit import charts as audit_charts
from pages.parts.audit import game
from pages.parts.server import jobs
from pages.parts.ui import controls, glossary, live
from pages.parts.ui.bullet_list import notice
from pages.parts.ui.figures import IDENTITY, draw, show

TARGETS = {
    "number": "One published number",
    **{
        n: f"{a.title}, as published" if a.protects == "rating" else a.title
        for n, a in ALGORITHMS.items()
        if a.protects and a.rates
    },
    **{n: FACTORIZERS[n].title for n in FACTOR_TARGETS},
}
NOISES = {name: IDENTITY[name].title for name in ("laplace", "huber", "gaussian", "staircase")}
CASE_TITLES = {
    "as-claimed": "as claimed",
    "half-noise": "broken: half the noise",
    "unclipped": "broken: input not clipped",
    "low-bits": "floating-point noise, last bits read",
    "on-grid": "noise on a grid, last bits read",
}
NEIGHBOUR_TITLES = {"rating": "one of her ratings", "user": "all of her ratings"}
SAID_NEIGHBOURS = {**NEIGHBOUR_TITLES, "image": "Alice's picture"}
VIEW_TITLES = {
    "matrix": "whole completed matrix",
    "others": "everybody else's rows",
    "items": "item factors",
    "factors": "factors of others and items",
}

USER_VIEWS = {name: title for name, title in VIEW_TITLES.items() if name != "matrix"}

controls.on_page(
    "audit.py",
    {
        "x_target": TARGETS,
        "x_noise": NOISES,
        "x_case": CASE_TITLES,
        "x_neighbours": NEIGHBOUR_TITLES,
        "x_view": VIEW_TITLES,
        "x_user_view": USER_VIEWS,
    },
)
fields: dict[str, Any] = {}


def about_users() -> bool:
    """Whether the target claims to protect whole users."""
    return fields["target"] in ALGORITHMS and ALGORITHMS[fields["target"]].protects == "user"


with st.sidebar:
    st.subheader("What is attacked")
    fields["target"] = controls.choice("Target", "x_target", TARGETS, "number")
    if fields["target"] == "number":
        fields["case"] = controls.choice(
            "The mechanism is",
            "x_case",
            CASE_TITLES,
            "as-claimed",
            help="  \n".join(f"**{CASE_TITLES[k]}** {v}" for k, v in CASES.items()),
        )
    elif fields["target"] in FACTOR_TARGETS:
        st.caption(
            "Alice's picture is in the data, or its place is empty; the attacker sees the learned parts."
        )
    elif about_users():
        fields["neighbours"] = "user"
        fields["view"] = controls.choice(
            "The attacker sees",
            "x_user_view",
            USER_VIEWS,
            "factors",
            help="  \n".join(f"**{title}**: {VIEWS[k]}" for k, title in USER_VIEWS.items()),
        )
    else:
        fields["neighbours"] = controls.choice(
            "The two datasets differ in Alice's",
            "x_neighbours",
            NEIGHBOUR_TITLES,
            "rating",
            help="  \n".join(NEIGHBOURS[name] for name in NEIGHBOUR_TITLES),
        )
        fields["view"] = controls.choice(
            "The attacker sees",
            "x_view",
            VIEW_TITLES,
            "matrix",
            help="  \n".join(f"**{title}**: {VIEWS[k]}" for k, title in VIEW_TITLES.items()),
        )
    st.subheader("Privacy")
    noises = (
        NOISES
        if fields["target"] == "number"
        else {k: v for k, v in NOISES.items() if k != "staircase"}
    )
    if fields["target"] in FACTOR_TARGETS:
        noises = {k: v for k, v in noises.items() if k in FACTORIZERS[fields["target"]].mechanisms}
    if st.session_state.get("x_noise", next(iter(noises))) not in noises:
        st.session_state["x_noise"] = next(iter(noises))
    fields["mechanism"] = controls.choice(
        "Noise", "x_noise", noises, "laplace" if "laplace" in noises else "gaussian"
    )
    sound = fields["target"] in FACTOR_TARGETS and FACTORIZERS[fields["target"]].claims == "sound"
    claim = (
        "Claimed ε"
        if fields["target"] == "number"
        else "Total ε"
        if about_users() or sound
        else "Nominal ε of one draw"
    )
    fields["epsilon"] = controls.number(claim, "x_epsilon", "noise_epsilon", 1.0, step=0.5)
    if fields["target"] not in ("number", "moment-nmf"):  # moment NMF makes no rounds on the data
        fields["iterations"] = int(controls.number("Iterations T", "x_iterations", "iterations", 2))
    runs = (
        [1000, 10_000, 100_000, 1_000_000]
        if fields["target"] == "number"
        else [200, 500, 1000, 3000, 10_000]
    )
    if fields.get("case") == "on-grid":
        runs = [1000, 5000, 20_000]
    key, usual = ("x_runs", 100_000) if fields["target"] == "number" else ("x_algorithm_runs", 1000)
    if fields.get("case") == "on-grid":
        key, usual = "x_grid_runs", 5000
    fields["runs"] = int(controls.steps_slider("Outputs of each dataset", key, runs, usual))
    with st.expander("More"):
        if fields["mechanism"] == "huber":
            fields["alpha"] = controls.number("Huber's α", "x_alpha", "alpha", 1.5, step=0.1)
        if fields["target"] in ("irls",):
            fields["inner"] = int(controls.number("Inner iterations K", "x_inner", "inner", 2))
        fields["delta"] = controls.number(
            "δ", "x_delta", "account_delta", 1e-5, step=1e-6, format="%.1e"
        )
        fields["confidence"] = controls.number(
            "Confidence", "x_confidence", "confidence", 0.999, step=0.001, format="%.4f"
        )
        fields["seed"] = int(controls.number("Seed", "x_seed", "seed", 0))


@st.cache_resource(max_entries=8, show_spinner=False)
def preview(spec: AuditSpec) -> AuditResult:
    """A finished audit of few numbers."""
    return audit(spec)


def said(spec: AuditSpec) -> str:
    """What is attacked, in a few words."""
    noise = f"{NOISES[spec.mechanism]} noise"
    if spec.target == "number":
        return f"one number, {CASE_TITLES[spec.case]}, {noise}, claimed ε = {three(spec.epsilon)}"
    amount = (
        f"total ε = {three(spec.epsilon)}"
        if spec.about_the_whole_run
        else f"nominal ε = {three(spec.epsilon)} per draw"
    )
    return (
        f"{TARGETS[spec.target]}, T = {spec.iterations}, {noise} at {amount}; the two datasets differ in "
        f"{SAID_NEIGHBOURS[spec.neighbours]}; the attacker sees the {VIEW_TITLES.get(spec.view, 'learned parts')}"
    )


def show_result(result: AuditResult, title: str) -> None:
    """Verdict, scores, and how it was counted."""
    bound = result.attack.bound
    lost = any(result.beaten.values())
    st.caption(
        f"{title}: {said(result.spec)}; {result.runs:,} outputs of each dataset, seed {result.spec.seed}."
    )
    (st.error if lost else st.info)(
        controls.plain(result.verdict), icon=":material/gavel:" if lost else ":material/info:"
    )
    figure, numbers = audit_charts.scores(result)
    show(
        figure,
        "scores",
        f"Scores in the two datasets, as far as they can be told apart. {result.verdict}",
        numbers,
    )
    ceiling = proves_at_most(result.runs - result.runs // 2, bound.confidence, bound.delta)
    first, second = audit_charts.worlds(result.spec)
    likely, other = (first, second) if bound.likely_in else (second, first)
    notice(
        [
            f"The attacker looks for a score {'above' if bound.above else 'at or below'} {three(bound.threshold)}, a rule chosen on the other half of the outputs. It occurred in "
            f"{bound.hits_likely:,} of {bound.runs_likely:,} fresh outputs with “{likely}” and in {bound.hits_unlikely:,} of {bound.runs_unlikely:,} with “{other}”.",
            f"The rule that is right most often attributes {100 * bound.accuracy:.1f} of 100 fresh outputs correctly ({100 * bound.accuracy_low:.1f} to "
            f"{100 * bound.accuracy_high:.1f} with {100 * bound.confidence:g} % confidence; 50 is chance).",
            f"So many outputs could prove at most ε = {three(ceiling)}, if the attack never erred: a low bound is no proof of privacy.",
        ]
    )
    for name, epsilon in result.claims.items():
        claim = result.statement
        st.caption(
            f"**{name[0].upper()}{name[1:]} ε = {three(epsilon)}**{f' at δ = {claim.delta:g}' if claim.delta else ''}, for one {claim.unit} "
            f"({claim.neighbours}): {odds_sentence(epsilon, claim.delta, subject(claim.unit))}"
        )
    st.caption(
        f"{result.seconds:.1f} s. Exact binomial (Clopper–Pearson) bounds on outputs that no rule was chosen on; with "
        f"probability at most {1 - bound.confidence:.2g} the bound is too high. {'' if result.finished else 'Stopped early: choosing when to stop by looking at the bound weakens that figure. '}"
        "A tighter attack may exist; an audit never proves that a mechanism is private."
    )
    with st.expander(
        "Take it with you", icon=":material/download:", on_change="rerun", key="x_take"
    ) as fold:
        if fold.open:
            st.download_button(
                "Audit (JSON)",
                data=lambda: json.dumps(result.summary(), indent=1, default=float),
                file_name="dpmc-audit.json",
                mime="application/json",
                on_click="ignore",
            )
            st.code(result.spec.command(), language="bash")


glossary.title("Can an attacker tell whether Alice is in?", "audit")
st.markdown(
    "Two datasets differ only in Alice. The attacker sees what is published from one of them, many times over, and learns to tell them apart. How well that works "
    "on fresh outputs *proves* a lower bound on ε: if a claim is below it, the claim is wrong."
)
problems = st.container()
spec: AuditSpec | None = None
problem = ""
try:
    spec = AuditSpec(**fields)
except DPMCError as error:
    problem = str(error)
    st.error(controls.plain(problem), icon=":material/error:")

job = jobs.current("audit")
if fields["target"] == "number":
    with_alice, without = true_counts()
    if fields["case"] in ("low-bits", "on-grid"):
        with_alice, without = 1, 0
    st.markdown(
        f"**Attacked:** the number of people in the data, published once with noise. It is **{with_alice}** with Alice and **{without}** without her. "
        f"{CASES[fields['case']]}"
    )
elif fields["target"] in FACTOR_TARGETS:
    st.markdown(
        f"**Attacked:** {TARGETS[fields['target']]}, on twelve tiny pictures with Alice's or without it. The attacker knows all twelve and sees {VIEWS['parts']}."
    )
    draw(
        audit_charts.two_sets(pictures()),
        "pictures",
        "Twelve tiny pictures with Alice's, first, and the same with her place empty.",
        toolbar=False,
    )
    st.caption(
        "Above with Alice, whose picture is the first; below her place is empty. The paper's claim is about one picture replaced by another: an empty one is a special case, and moves its statistics by half of what it allows."
    )
else:
    st.markdown(
        f"**Attacked:** {TARGETS[fields['target']]}, on the left or the right table. The attacker knows both and sees "
        f"{VIEWS[fields['view']]}."
    )
    with st.expander(
        "The two tables of ratings", icon=":material/table_chart:", expanded=job is None
    ):
        pair = neighbours(fields["neighbours"])
        names = (
            ("Alice's film C: 5", "Alice's film C: 1")
            if fields["neighbours"] == "rating"
            else ("with Alice", "without Alice")
        )
        figure, numbers = audit_charts.two_tables(pair, names)
        show(
            figure,
            "tables",
            f"Two tables of ratings, {names[0]} and {names[1]}; all else is equal.",
            numbers,
        )

pressed = st.button(
    "**Attack**", icon=":material/play_arrow:", disabled=bool(problem), key="x_go", width="content"
)
linked = st.query_params.get("audit") == "1" and "audit-linked" not in st.session_state
if (pressed or linked) and spec is not None:
    st.session_state["audit-linked"] = True
    st.query_params["audit"] = "1"
    try:
        job = jobs.start_audit(spec)
    except DPMCError as error:
        st.error(controls.plain(str(error)))


def show_example() -> None:
    """A quick audit of the chosen number, labelled as what it is; algorithms take longer and wait for the button."""
    if spec is None:
        return
    if spec.target != "number":
        st.info(
            "Press *Attack*: the algorithm is run on both tables, over and over, and what it publishes is compared.",
            icon=":material/info:",
        )
        return
    few = 1000 if spec.case == "on-grid" else 20_000
    st.caption(
        ":material/info: **Example** with few outputs, computed on the spot. Press *Attack* for as many as the sidebar says."
    )
    show_result(preview(spec.but(runs=few)), "Example")


if job is None:
    show_example()
elif job.active:
    running: AuditSpec = job.specs[0]
    owner, trail = st.session_state.get("audit-trail", (None, []))
    if owner is not job:
        trail = []
        st.session_state["audit-trail"] = (job, trail)

    def so_far() -> bool:
        """The bound after each batch seen."""
        result: AuditResult | None = job.results[0]
        if result is None:
            return False
        if not trail or trail[-1][0] < result.runs:
            trail.append((result.runs, result.attack.bound.epsilon))
        ceiling = proves_at_most(
            max(running.runs // 2, 8), running.confidence, result.attack.bound.delta
        )
        figure, _ = audit_charts.bound_so_far(
            trail, result.claims, ceiling, max(running.runs, result.runs)
        )
        draw(figure, "live-bound", "The proved lower bound on ε so far, against what is claimed.")
        return True

    if spec is not None and running != spec:
        st.info(
            f"The settings have changed. The attack going on is still: {said(running)}.",
            icon=":material/update:",
        )
    live.watch(job, "output", so_far)
else:
    standing = jobs.standing("audit")
    if job.state == "failed":
        st.error(controls.plain(job.error), icon=":material/error:")
    if job.state == "cancelled":
        st.info(
            f"Cancelled after {job.progress[0]:,} of {job.progress[1]:,} outputs of each dataset.",
            icon=":material/stop_circle:",
        )
    if standing is None:
        show_example()
    else:
        if spec is not None and standing.specs != (spec,):
            st.query_params.pop("audit", None)
            st.info(
                "The settings have changed since this attack; press *Attack* to use them.",
                icon=":material/update:",
            )
        show_result(standing.results[0], "Attacked")

if spec is not None:
    game.play(spec)
with problems:
    controls.link_problems()
