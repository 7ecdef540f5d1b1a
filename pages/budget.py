"""Budget: what many releases add up to, by every accounting method that holds, and how much noise a budget asks for."""

import json
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dpmc_core.errors import DPMCError
from dpmc_core.privacy import Ledger, Statement, ledger_from_text, odds_sentence, state, subject
from dpmc_core.privacy.compare import price
from dpmc_core.privacy.ledger_file import MOST_BYTES
from dpmc_core.wording import three
from pages.parts.budget import charts as budget_charts
from pages.parts.budget import stories
from pages.parts.budget.counts import USUAL, Question
from pages.parts.ui import controls, describe, glossary
from pages.parts.ui.bullet_list import notice
from pages.parts.ui.figures import IDENTITY, show

RUNS = {
    "own": "your own",
    "irls": "Huber paper: IRLS, T = 50 × K = 20",
    "als": "Huber paper: ALS, T = 50",
}
LOOSE = (
    "Several numbers move: Gaussian noise is counted exactly, Huber and Laplace noise by upper bounds that are not tight, so part of their "
    "disadvantage is the counting's (up to about a fifth)."
)
USUAL_VARIANCE = {
    "own": USUAL.amount,
    "irls": 2.0,
    "als": 2.0,
}  # your own: small shifts; the papers': what they use
MODES = {"variance": "variance", "epsilon": "ε of one release"}


def usual_variance() -> None:
    """The papers' variance for their runs; one that shows small shifts for your own."""
    st.session_state["u_variance"] = USUAL_VARIANCE[st.session_state["u_run"]]


controls.on_page("budget.py", {"u_run": RUNS, "u_by": MODES})
with st.sidebar:
    st.subheader("What is released")
    run = controls.choice("A run like", "u_run", RUNS, USUAL.run, then=usual_variance)
    if run == "own":
        count = int(controls.number("Releases T", "u_count", "releases_shown", USUAL.count))
        sensitivity = controls.number(
            "Sensitivity Δ (ℓ1)",
            "u_sensitivity",
            "nominal_sensitivity",
            USUAL.sensitivity,
            step=0.5,
        )
        spread = int(
            controls.number(
                "Numbers that one person moves",
                "u_moved",
                "moved",
                USUAL.spread,
                help="With ℓ1 sensitivity Δ spread evenly over m numbers, the ℓ2 sensitivity is Δ/√m.",
            )
        )
    else:
        count, sensitivity, spread = {"irls": 1000, "als": 50}[run], 5.0, 1
    usual = USUAL_VARIANCE[run]
    st.subheader("Compare at equal")
    compare = controls.segments(
        "Compare at equal", "u_by", MODES, USUAL.by, label_visibility="collapsed"
    )
    if compare == "variance":
        amount = controls.slider(
            "Variance of every noise",
            "u_variance",
            "variance",
            usual,
            low=0.5,
            high=200.0,
            step=0.5,
        )
    else:
        amount = controls.slider(
            "ε of one release", "u_epsilon", "epsilon", 0.1, low=0.01, high=5.0, step=0.01
        )
    alpha = controls.slider(
        "Huber's α", "u_alpha", "alpha", USUAL.alpha, low=0.05, high=6.0, step=0.01
    )
    st.subheader("Budget")
    target = controls.number(
        "ε for everything together", "u_target", "noise_epsilon", USUAL.target, step=0.5
    )
    with st.expander("More"):
        delta = controls.number(
            "δ", "u_delta", "account_delta", USUAL.delta, step=1e-6, format="%.1e"
        )


def statement_card(title: str, said: Statement) -> None:
    """One statement: what it protects, how counted, in odds."""
    with st.container(border=True):
        st.markdown(f"**{title}**")
        at = f"at δ = {said.delta:g}" if said.delta else "that never fails (δ = 0)"
        st.metric(
            f"{'nominal' if said.nominal else 'sound'} ε of {said.draws:,} draws {at}",
            three(said.epsilon),
        )
        st.caption(f"One draw alone: ε = {three(said.epsilon_per_draw)}.")
        st.caption(odds_sentence(said.epsilon, said.delta, subject(said.unit)))
        st.caption(f"Unit: one {said.unit}; neighbours: {said.neighbours}. {said.how}.")


asked = Question(
    run=run,
    count=count,
    sensitivity=sensitivity,
    spread=spread,
    by=compare,
    amount=amount,
    alpha=alpha,
    target=target,
    delta=delta,
)
glossary.title("What does a whole run spend?", "budget")
st.markdown(
    "One noisy answer costs some privacy, **ε**. An algorithm gives many answers, and the costs add up: less than one by one, if one counts "
    "well. Here every counting method that holds is applied to the same releases."
)
controls.link_problems()
try:
    mechanisms = asked.mechanisms()
    with st.spinner("Composing the privacy losses…"):
        curves = [asked.curve(noise) for noise in mechanisms]
        statements = [asked.statement(noise) for noise in mechanisms]
except DPMCError as error:
    st.error(controls.plain(str(error)))
    st.stop()
titles = [IDENTITY[noise.name].title for noise in mechanisms]
shapes = asked.shapes()
by_name = dict(zip((noise.name for noise in mechanisms), statements, strict=True))

figure, numbers = budget_charts.composition(
    mechanisms,
    curves,
    budget_charts.COUNTS,
    [noise.epsilon(sensitivity) for noise in mechanisms],
    count,
    delta,
)
said = ", ".join(f"{title} {three(s.epsilon)}" for title, s in zip(titles, statements, strict=True))
show(
    figure,
    "composition",
    f"ε of all releases grows with their number. After {count:,} releases: {said}.",
    numbers,
)
st.caption(
    f"Thick: the tightest method, at δ = {delta:g}. Thin: ε added up, which never fails (δ = 0); Gaussian noise has none. "
    f"Sensitivity Δ = {three(sensitivity)}, "
    + (f"spread over {spread} numbers, " if spread > 1 else "")
    + f"at equal {MODES[compare]}: "
    + "; ".join(f"{describe.describe(noise)} (sd {three(noise.std)})" for noise in mechanisms)
    + "."
)
notice(stories.notice_budget(statements, mechanisms, sensitivity))

for column, title, statement in zip(st.columns(3), titles, statements, strict=True):
    with column:
        statement_card(title, statement)
st.subheader("Every method, on the same releases", anchor=False)
st.dataframe(
    budget_charts.methods_table(titles, [s.accounts for s in statements]),
    hide_index=True,
    width="stretch",
    alt="ε of the whole run by each accounting method and noise; the tightest is marked.",
)
st.caption(
    "◀ the tightest; – does not apply. "
    + " ".join(f"**{a.title}:** {a.how}" for a in statements[0].accounts)
)
if any(not answer.published for s in statements for answer in s.accounts):
    st.caption(
        "\\* rests on a proof in this project (docs/huber-composition.md) that has not been peer-reviewed. By published results alone: "
        + ", ".join(
            f"{t} {three(s.epsilon_published)}" for t, s in zip(titles, statements, strict=True)
        )
        + "."
    )
for caveat in statements[0].caveats[:1] if run == "own" else statements[0].caveats[1:3]:
    st.caption(f":material/warning: {caveat}")

left, right = st.columns(2)
with left:
    st.subheader("The price of Huber's shape", anchor=False)
    shift = sensitivity / mechanisms[0].std
    figure, numbers = budget_charts.price_curve(alpha, shift)
    at_alpha = mechanisms[0].fisher_information * mechanisms[0].variance
    show(
        figure,
        "price",
        f"At equal variance Huber noise with α = {alpha:g} costs {three(at_alpha)} times Gaussian noise per small shift, and "
        f"{three(price(mechanisms[0], sensitivity))} times at the chosen Δ.",
        numbers,
    )
    st.caption(
        "What one release adds to a long composition, relative to Gaussian noise of equal variance (Kullback–Leibler divergence). "
        "For small shifts it is I(α)·σ²(α), I the Fisher information; for shifts of a standard deviation and more the order can turn."
    )
with right:
    st.subheader(f"Which noise is least for ε = {three(target)}?", anchor=False)
    try:
        with st.spinner("Searching the least noise for each number of releases…"):
            variances = [asked.needed(shape) for shape in shapes]
        figure, numbers = budget_charts.needed(variances, mechanisms, target)
        winners = stories.least_by_count(variances, mechanisms)
        show(figure, "needed", f"Variance that each noise needs for the budget. {winners}", numbers)
        st.caption(
            f"{winners} Shape kept (Huber's α = {alpha:g}), sensitivity as chosen, δ = {delta:g}. "
            + (LOOSE if spread > 1 else "Tightest count for each, right to 0.2 %.")
        )
    except DPMCError as error:
        st.warning(controls.plain(str(error)))

st.subheader(f"How much noise buys ε = {three(target)} for {count:,} releases?", anchor=False)
rows: list[dict[str, Any]] = []
with st.spinner("Searching the least noise…"):
    for title, shape in zip(titles, shapes, strict=True):
        try:
            noise = asked.least(shape)
        except DPMCError as error:
            st.warning(controls.plain(str(error)))
            continue
        rows.append({"noise": title, "standard deviation": noise.std, "variance": noise.variance})
if rows:
    least = min(row["variance"] for row in rows)
    for row in rows:
        row["times the least variance"] = row["variance"] / least
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        width="stretch",
        column_config={c: st.column_config.NumberColumn(format="%.4g") for c in list(rows[0])[1:]},
        alt=f"Least noise of each family for ε = {target:g} at δ = {delta:g} over {count:,} releases.",
    )
    st.caption(
        f"The least noise with which {count:,} releases at Δ = {three(sensitivity)} together have ε ≤ {three(target)} at "
        f"δ = {delta:g}, Huber's α = {alpha:g} kept. "
        + (LOOSE if spread > 1 else "Right to 0.01 %, on the safe side.")
    )

st.subheader("Where the papers count otherwise", anchor=False)
stories.tell(by_name, amount if compare == "variance" else 2.0, alpha, sensitivity, delta)

st.subheader("A ledger of yours", anchor=False)
st.markdown(
    "*Completion* exports the ledger of a run; `complete … --json` and `account … --json` print one. Put a file here to have it counted by all "
    "methods; it stays in this session."
)


def keep_upload() -> None:
    """Remember the file beside the widget, which forgets it when the visitor leaves the page."""
    given = st.session_state["u_file"]
    st.session_state["u_ledger"] = None if given is None else (given.name, given.getvalue())


st.file_uploader(
    "A ledger file (JSON)",
    type=["json"],
    max_upload_size=MOST_BYTES // 1_000_000,
    key="u_file",
    on_change=keep_upload,
)
kept = st.session_state.get("u_ledger")
if kept is not None:
    name, content = kept
    try:
        yours = state(ledger_from_text(content, name), delta)
        st.button(
            f"Forget {controls.plain(name)}",
            icon=":material/delete:",
            key="u_forget",
            on_click=lambda: st.session_state.update(u_ledger=None),
        )
        statement_card(controls.plain(name), yours)
        st.caption("Unit, sensitivities and whether they are derived are as the file declares.")
        st.dataframe(
            budget_charts.methods_table(["ε"], [yours.accounts]),
            hide_index=True,
            width="stretch",
            alt="ε of your ledger by each method.",
        )
        for caveat in yours.caveats:
            st.caption(f":material/warning: {controls.plain(caveat)}")
    except DPMCError as error:
        st.error(controls.plain(str(error)), icon=":material/error:")
with st.expander(
    "Take it with you", icon=":material/download:", on_change="rerun", key="u_take"
) as fold:
    if fold.open:
        for title, noise in zip(titles, mechanisms, strict=True):
            st.download_button(
                f"Ledger, {title} (JSON)",
                data=json.dumps(
                    Ledger((replace(asked.release(noise), count=count),)).as_dict(), indent=1
                ),
                file_name=f"dpmc-ledger-{title.lower()}.json",
                mime="application/json",
                on_click="ignore",
            )
        st.markdown("On the command line:")
        st.code(
            "python -m dpmc_core account --ledger dpmc-ledger-huber.json --delta " + f"{delta:g}",
            language="bash",
        )
