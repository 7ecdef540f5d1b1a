"""The attack of the *Audit* page: a button, the attack while it runs, and what it found, with the
verdict, the scores, how it was counted, and the bound so far.

A visitor's own mechanism is audited from a file of its outputs with and without a record.
"""

from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.errors import DPMCError
from dpmc_core.experiments.tasks.audit import Audited, AuditResult, OneRunResult, audit
from dpmc_core.experiments.tasks.audit_outputs import INSIDE, MOST_BYTES, OutputsAudit, audit_text
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.privacy import odds_sentence, subject
from dpmc_core.privacy.attack import Bound, CurveTest, proves_at_most
from dpmc_core.wording import power, three
from pages.parts.audit import charts
from pages.parts.audit.attacked import in_words, two_datasets
from pages.parts.audit.controls import DELTAS
from pages.parts.frame import python_lines
from pages.parts.frame.page import observations, tab, verdict
from pages.parts.frame.upload import ask_for_file, once
from pages.parts.server import jobs, sandbox
from pages.parts.ui import controls, declared, on_screen
from pages.parts.ui.figures import draw, show
from pages.parts.ui.on_screen import code, download
from pages.parts.ui.run_panel import Button, Panel, draw_panel

_NO_PROOF = "A tighter attack may exist; an audit never proves that a mechanism is private."
_BUTTON = Button(
    label="Attack",
    key="x_go",
    flag="audit",
    used_key="audit-linked",
    changed="The settings have changed since this attack; press *Attack* to use them.",
    strict=False,
)


def attack(spec: AuditSpec | None, problem: str, row: DeltaGenerator) -> None:
    """Draw the panel."""
    draw_panel(
        Panel(
            kind="audit",
            wanted=() if spec is None else (spec,),
            problem=problem,
            step="step" if spec is not None and spec.canaries else "output",
            so_far=so_far,
            show=lambda results: result_of(results[0], "Attacked"),
            example=lambda: example(spec),
            while_running=lambda job: _going_on(job, spec),
            row=row,
            button=_BUTTON,
        )
    )


def _going_on(job: jobs.Job, spec: AuditSpec | None) -> None:
    """Say what is attacked where the settings ask for something else by now."""
    if spec is not None and job.specs[0] != spec:
        st.info(
            f"The settings have changed. The attack going on is still: {in_words(job.specs[0])}.",
            icon=":material/update:",
        )


_preview = st.cache_resource(max_entries=8, show_spinner=False)(audit)


def example(spec: AuditSpec | None) -> None:
    """Show a quick audit of a number; algorithms take longer and wait for the button."""
    if spec is None:
        return
    if spec.canaries:
        verdict("Not attacked yet: *Attack* runs it once and guesses which canaries are in.")
        return
    if spec.target != "number":
        verdict(
            "Not attacked yet: *Attack* runs it on both datasets and compares what is published."
        )
        two_datasets(spec)
        return
    few = 1000 if spec.case == "on-grid" else 20_000
    st.caption(
        f":material/info: **Example** with {few:,} outputs. **Attack** takes as many as the "
        "settings say."
    )
    on_screen.now().note = "Example: "
    result_of(_preview(spec.replace(runs=few)), "Example")


def so_far(job: jobs.Job) -> bool:
    """Draw the bound after each batch seen; says whether there was any."""
    running: AuditSpec = job.specs[0]
    result: Audited | None = job.results[0]
    if isinstance(result, OneRunResult):
        figure, _ = charts.canaries(result)
        draw(figure, "live-canaries", "Scores of the canaries so far.")
    if not isinstance(result, AuditResult):
        return result is not None
    bound, trail = result.attack.bound, job.trail
    if not trail or trail[-1][0] < result.runs:
        trail.append((result.runs, bound.epsilon))
    ceiling = proves_at_most(max(running.runs, 8), running.confidence, bound.delta)
    figure, _ = charts.bound_so_far(trail, result.claims, ceiling, max(running.runs, result.runs))
    draw(figure, "live-bound", "The proved lower bound on ε so far, against what is claimed.")
    return True


def result_of(result: Audited, title: str) -> None:
    """Draw the verdict, the scores, and what they prove."""
    if isinstance(result, OneRunResult):
        _one_run(result)
    elif isinstance(result, AuditResult):
        _repeated(result, title)
    on_screen.add_lines("The same attack", result.spec.python())
    tab("Export", "export", lambda: _export(result))


def _one_run(result: OneRunResult) -> None:
    first, conclusion = result.verdict.split(". ", 1)
    verdict(controls.plain(f"{_claimed(result)}; {first[0].lower()}{first[1:]}."))
    _judged(result)
    text = "Scores of the canaries that are in the data, and of the others."
    show(charts.canaries(result), "canaries", f"{text} {result.verdict}")
    observations([conclusion, *result.accounts])
    tab("Method and claim", "method", lambda: _canaries(result))


def _canaries(result: OneRunResult) -> None:
    st.caption(f"Attacked: {in_words(result.spec)}, seed {result.spec.seed}.")
    _claims(result)
    st.caption(
        "Each canary is in the data with probability 1/2. The attacker knows the other records and "
        "all releases. How many guesses there are was fixed before the run; two bounds (after "
        "Steinke et al. 2023 and Mahloujifar et al. 2025) share the "
        f"probability of {1 - result.spec.confidence:.2g} that one is too high. {_NO_PROOF}"
    )


def _repeated(result: AuditResult, title: str) -> None:
    first, *others = result.verdict.split(". ", 1)
    proved, *seen = first.rstrip(".").split(", for ", 1)
    attacks = _proved(result, proved)
    verdict(controls.plain(f"{_claimed(result)}; {attacks[0].lower()}{attacks[1:]}."))
    _judged(result)
    show(
        charts.scores(result.attack, charts.axis_of(result), charts.worlds(result.spec)),
        "scores",
        f"Scores in the two datasets, as far as an attacker can distinguish them. {result.verdict}",
    )
    conditions = [f"That holds for {one}." for one in seen]
    observations([*map(controls.plain, [*others, *conditions]), *_observed(result)])
    if (test := result.attack.test) is not None:
        tab("Claimed and measured", "curve", lambda: _curve(result, test))
    tab("Method and claim", "method", lambda: _method(result, title))
    if result.spec.target != "number":
        tab("What was attacked", "was-attacked", lambda: two_datasets(result.spec))


def _claimed(result: Audited) -> str:
    """Say what is claimed, in a few words."""
    claims, statement = list(result.claims.values()), result.statement
    at = f" at δ = {power(statement.delta)}" if statement.delta else ""
    if not statement.nominal:
        return f"The claim is ε = {three(claims[0])}{at}"
    total = f" per release, {three(claims[-1])} in total" if len(claims) > 1 else ""
    return f"Nominal for one {statement.unit}: ε = {three(claims[0])}{total}"


def _proved(result: AuditResult, first: str) -> str:
    """Say what the attack proves, as short as a verdict has to be."""
    test, bound = result.attack.test, result.attack.bound
    if test is not None and test.exceeded and bound.epsilon <= result.claims["claimed"]:
        return (
            "The attack finds more than the claim allows, with "
            f"{100 * bound.confidence:g} % confidence"
        )
    return first.split(", more than", 1)[0]


def _judged(result: Audited) -> None:
    """Say which of the claims the attack proves wrong, if it does."""
    lost = [name for name, larger in result.beaten.items() if larger]
    if not lost:
        return
    if result.about_another_unit:
        st.info(
            "The claim is about one rating; this attack is about a whole user, of whom the claim "
            "says nothing.",
            icon=":material/group:",
        )
    elif len(lost) < len(result.claims):
        st.error(
            "As a claim about all that the attacker sees, the nominal ε of one release is "
            "**wrong**; the total is not contradicted.",
            icon=":material/gavel:",
        )
    else:
        claims = "Both nominal ε are" if len(result.claims) > 1 else "The claim is"
        st.error(f"{claims} **wrong**.", icon=":material/gavel:")


def _method(result: AuditResult, title: str) -> None:
    bound = result.attack.bound
    st.caption(
        f"{title}: {in_words(result.spec)}; {result.runs:,} outputs of each dataset, seed "
        f"{result.spec.seed}."
        + (f" The record: {controls.plain(result.record)}." if result.spec.dataset else "")
    )
    _claims(result)
    early = (
        f"Stopped early, after {result.looked_at:,} outputs: the looks were planned, and "
        "share that probability, so stopping costs no confidence. "
    ) * (not result.finished)
    st.caption(
        "Exact binomial (Clopper–Pearson) bounds on outputs that no "
        f"rule was chosen on; with probability at most {1 - bound.confidence:.2g} the bound is "
        f"too high. {early}"
        f"{_NO_PROOF}"
    )


def _observed(result: AuditResult) -> list[str]:
    bound = result.attack.bound
    ceiling = proves_at_most(bound.runs_likely, bound.confidence, bound.delta)
    first, second = charts.worlds(result.spec)
    likely, other = (first, second) if bound.likely_in else (second, first)
    seen = "published number" if charts.axis_of(result) == "published number" else "score"
    return [
        _event(bound, likely, other, seen),
        f"The rule that is right most often attributes {100 * bound.accuracy:.1f} of 100 "
        f"fresh outputs correctly ({100 * bound.accuracy_low:.1f} to "
        f"{100 * bound.accuracy_high:.1f} with {100 * bound.confidence:g} % confidence; 50 "
        "is chance).",
        f"So many outputs could prove at most ε = {three(ceiling)}, if the attack never "
        "erred: a low bound is no proof of privacy.",
    ]


def _event(bound: Bound, likely: str, other: str, seen: str) -> str:
    if bound.other is None:
        return (
            f"The attacker looks for a {seen} {'above' if bound.above else 'at or below'} "
            f"{three(bound.threshold)}, a rule chosen on other outputs. It "
            f"occurred in {bound.hits_likely:,} of {bound.runs_likely:,} fresh outputs with "
            f"“{likely}” and in {bound.hits_unlikely:,} of {bound.runs_unlikely:,} with "
            f"“{other}”."
        )
    return (
        f"The attacker says “{likely}” where the {seen} is above {three(bound.threshold)} and "
        f"“{other}” where it is at most {three(bound.other)}, a rule chosen on other outputs. Of "
        f"{bound.runs_likely:,} fresh pairs of outputs, one of each dataset, it was right in "
        f"{bound.hits_likely:,} and wrong in {bound.hits_unlikely:,}; in the others it said "
        "nothing, or both."
    )


def _curve(result: AuditResult, test: CurveTest) -> None:
    """Draw the claim's own limit and what was measured."""
    text = charts.measured(test, result.attack.bound.confidence)
    if result.epsilon_if_gaussian:
        text += (
            f" If the noise is Gaussian, as claimed, that proves ε ≥ "
            f"{three(result.epsilon_if_gaussian)}."
        )
    st.markdown(text)
    curve = charts.claimed_and_measured(result.attack, result.claimed_curve)
    show(curve, "claimed-curve", text.replace("**", ""))


def _claims(result: Audited) -> None:
    for name, epsilon in result.claims.items():
        claim, budget = result.statement, result.spec.epsilon
        # a paper's formula for its noise may ask for more than that ε needs
        wasted = name.endswith("one release") and claim.nominal and epsilon < 0.99 * budget
        other = f" The paper adds the noise of ε = {three(budget)} by its own formula." * wasted
        st.caption(
            f"**{controls.capitalized(name)} ε = "
            f"{three(epsilon)}**{f' at δ = {power(claim.delta)}' if claim.delta else ''}, for one "
            f"{claim.unit} ({claim.neighbours}): "
            f"{odds_sentence(epsilon, claim.delta, subject(claim.unit))}{other}"
        )


def _export(result: Audited) -> None:
    download("Audit (JSON)", "dpmc-audit.json", result.summary)
    python_lines.elsewhere("The attack", result.spec)


_OUTPUTS_AUDITED = "y_audited"


def audit_yours() -> None:
    """Draw the upload of outputs, the claim, and what an attack on them shows."""
    st.markdown(
        "Run it many times on data with one record and on the same data without it; each row of a "
        f"CSV file is one output. The column `{INSIDE}` is 1 with the record and 0 without, every "
        "other column a number that was released. Shuffle the rows and leave out row numbers. The "
        "file stays in this session."
    )
    columns, claimed = st.columns(3), dict[str, Any]()
    with columns[0]:
        claimed["epsilon"] = declared.box("nominal.epsilon", "y_epsilon", 1.0, label="Claimed ε")
    with columns[1]:
        claimed["delta"] = float(controls.choice("Claimed δ", "y_delta", DELTAS, "0"))
    with columns[2]:
        claimed["confidence"] = declared.box("confidence", "y_confidence")
    brought = ask_for_file("Outputs (CSV)", "csv", MOST_BYTES, "y", _OUTPUTS_AUDITED)
    if brought is None:
        return
    name, content = brought

    def audited() -> Any:  # it may take long: elsewhere, and in turn
        return sandbox.read_file(partial(audit_text, **claimed), content, name)

    try:
        request = (*brought, claimed)
        _show_outputs(once(_OUTPUTS_AUDITED, request, "Attacking your outputs…", audited))
    except DPMCError as error:
        controls.show_error(error)


def _show_outputs(result: OutputsAudit) -> None:
    attack, test = result.attack, result.attack.test
    assert test is not None
    say, icon = (st.error, "gavel") if result.beaten else (st.info, "info")
    say(controls.plain(result.verdict), icon=f":material/{icon}:")
    show(
        charts.scores(attack, "the attacker's score of an output", ("with the record", "without")),
        "your-scores",
        f"Scores of your outputs. {result.verdict}",
    )
    text = charts.measured(test, attack.bound.confidence)
    st.markdown(text)
    show(charts.claimed_and_measured(attack, result.claimed_curve), "your-curve", text)
    bound = attack.bound
    st.caption(
        f"The attacker attributes {100 * bound.accuracy:.1f} of 100 held-out outputs correctly "
        f"({100 * bound.accuracy_low:.1f} to {100 * bound.accuracy_high:.1f}; 50 is chance). The "
        f"first rows choose the rule, the others count: exact binomial (Clopper–Pearson) bounds. "
        f"{_NO_PROOF}"
    )
    download("Audit (JSON)", "dpmc-own-audit.json", result.summary, key="y_take")
    code(
        f"python -m dpmc_core audit --outputs FILE.csv --epsilon {result.epsilon!r} "
        f"--delta {result.delta!r} --confidence {bound.confidence!r}",
        "bash",
    )
