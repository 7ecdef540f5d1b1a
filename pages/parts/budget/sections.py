"""The sections of the *Budget* page, one function each.

The last are ledgers as files: one to be counted, and those of the page to take away.
"""

from dataclasses import dataclass, replace

import streamlit as st

from dpmc_core.errors import DPMCError, ParameterError
from dpmc_core.experiments.worker.reading import account
from dpmc_core.mechanisms import Mechanism
from dpmc_core.planning.project import Item, Project, share_out_after
from dpmc_core.privacy import Ledger, Release, Statement
from dpmc_core.privacy.account import choice_epsilon, tightest
from dpmc_core.privacy.compare import price
from dpmc_core.privacy.ledger import MOST_BYTES
from dpmc_core.privacy.statement import group_epsilon
from dpmc_core.wording import JsonObject, power, three
from pages.parts.budget import charts, stories
from pages.parts.budget.controls import DEFINITIONS, MANY, MODES, Question
from pages.parts.frame import drag, python_lines
from pages.parts.frame.page import cards, caveats
from pages.parts.frame.upload import OF_THE_FILE, ask_for_file, once
from pages.parts.server import sandbox
from pages.parts.ui import controls, declared, densities, on_screen
from pages.parts.ui.figures import Drawn, show
from pages.parts.ui.looks import IDENTITY, describe
from pages.parts.ui.on_screen import code, download, show_table

_RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.5, 0.9)
_LOOSE = (
    "Several coordinates change: Gaussian noise is accounted for exactly, Huber and Laplace noise "
    "by upper bounds that are not tight. Part of their disadvantage is the accounting's (up to "
    "about a fifth)."
)


@dataclass(frozen=True)
class Counts:
    """What a question comes to.

    The noises at equal terms, for each of them ε after rising numbers of releases (``curves``)
    and what all releases spend (``statements``).
    """

    question: Question
    mechanisms: list[Mechanism]
    curves: list[tuple[float, ...]]
    statements: list[Statement]

    @property
    def titles(self) -> list[str]:
        """What the noises are called."""
        return [IDENTITY[noise.name].title for noise in self.mechanisms]

    @property
    def named(self) -> list[tuple[str, Statement]]:
        """The statements with what their noises are called."""
        return list(zip(self.titles, self.statements, strict=True))

    @property
    def nominal(self) -> str:
        """The word before an ε where one of them is no guarantee."""
        return "nominal " * any(statement.nominal for statement in self.statements)


def count(question: Question) -> Counts:
    """Count what is asked. Raises ``DPMCError``."""
    mechanisms = question.mechanisms()
    curves = [question.curve(noise) for noise in mechanisms]
    statements = [question.statement(noise) for noise in mechanisms]
    return Counts(question, mechanisms, curves, statements)


def follow(question: Question) -> None:
    """Have the figure follow the number of releases."""

    def frame(releases: float) -> drag.Frame:
        counts = count(replace(question, count=int(releases)))
        return drag.Frame(verdict(counts), {"composition": _composition(counts)[0]})

    if question.run == "own":
        values = controls.with_linked("u_count", MANY, "releases_shown")
        drag.follow("u_count", values, frame, replace(question, count=1), playing="Play")


def verdict(counts: Counts) -> str:
    """Say what all releases cost together, the cheapest mechanism first."""
    question = counts.question
    costs = sorted((statement.epsilon, title) for title, statement in counts.named)
    totals = ", ".join(f"{three(epsilon)} with {title}" for epsilon, title in costs)
    many = f"{question.count:,} releases cost" if question.count > 1 else "One release costs"
    return f"{many} a {counts.nominal}total ε of {totals} noise, at δ = {power(question.delta)}."


def unreviewed(counts: Counts) -> str:
    """Name the noises whose ε rests on a proof that nobody has reviewed; "" for none."""
    ours = [
        f"{title} {three(s.epsilon_published)}"
        for title, s in counts.named
        if s.epsilon_published > 1.005 * s.epsilon
    ]
    if not ours:
        return ""
    return (
        "A part of these ε rests on our own proof (docs/huber-composition.md), not yet peer-"
        f"reviewed. By published results alone: {', '.join(ours)}."
    )


def composition(counts: Counts) -> None:
    """Draw how ε grows with the number of releases."""
    totals = ", ".join(f"{title} {three(s.epsilon)}" for title, s in counts.named)
    show(
        _composition(counts),
        "composition",
        "ε of all releases grows with their number. "
        f"After {counts.question.count:,} releases: {totals}.",
    )


def _composition(counts: Counts) -> Drawn:
    question = counts.question
    return charts.composition(
        counts.mechanisms, counts.curves, question.sensitivity, question.count, question.delta
    )


def lines(counts: Counts) -> None:
    """Remember the Python of the total."""
    question = counts.question
    ledgers = ",\n    ".join(
        repr(question.ledger(noise).releases[0]) for noise in counts.mechanisms
    )
    on_screen.add_lines(
        "The total privacy cost of each mechanism",
        f"{python_lines.imports_of(counts.mechanisms)}"
        "from dpmc_core.privacy import Ledger, Release, state\n\n"
        f"releases = [\n    {ledgers},\n]\n"
        "for release in releases:\n"
        f"    statement = state(Ledger((release,)), {question.delta!r})\n"
        "    print(release.mechanism.name, statement.epsilon, statement.label)\n",
    )


def method(counts: Counts) -> None:
    """Say what composition is, and what the lines of the figure are."""
    st.markdown(
        "One noisy answer costs some privacy, **ε**. An algorithm gives many answers, and their "
        "costs compose: the total is less than the sum of all ε. Every accounting method that "
        "holds is applied to the same releases."
    )
    question, mechanisms = counts.question, counts.mechanisms
    st.caption(
        f"Thick: the tightest method, at δ = {power(question.delta)}. Thin: the sum of ε, which "
        f"never fails (δ = 0); Gaussian noise has none. Sensitivity Δ = "
        f"{three(question.sensitivity)}, "
        + f"over {question.spread} numbers ({DEFINITIONS[question.bounded]}), "
        * (question.spread > 1)
        + f"at equal {MODES[question.by]}: "
        + "; ".join(f"{describe(noise)} (sd {three(noise.std)})" for noise in mechanisms)
        + "."
    )


def statements(counts: Counts) -> None:
    """Draw what each noise spends, side by side."""
    for named in cards(counts.named):
        statement_card(*named)


def attackers(counts: Counts) -> None:
    """Draw what an attacker finds who sees all releases with each noise."""
    densities.show_attackers(
        [counts.question.ledger(noise) for noise in counts.mechanisms],
        f"After all {counts.question.count:,} releases: no rule that tells “in” from “out” lies "
        "above its noise's line (the trade-off function, f-DP). Gaussian noise exactly; the others "
        "by their privacy loss distribution, a bound.",
    )


def carried_over(counts: Counts) -> None:
    """Draw what a release means for several units, and for what is made of a release."""
    left, right = st.columns(2)
    question = counts.question
    with left:
        st.subheader("Several units at once", anchor=False)
        with st.spinner("Composing the privacy losses…"):
            of_sizes = {
                noise.name: [
                    group_epsilon(question.ledger(noise), size, question.delta)
                    for size in charts.GROUPS
                ]
                for noise in counts.mechanisms
            }
        ten = ", ".join(
            f"{IDENTITY[name].title} {three(epsilons[charts.GROUPS.index(10)])}"
            for name, epsilons in of_sizes.items()
        )
        unit = counts.statements[0].unit
        sentence = (
            f"For ten units (each one {unit}) that change together, the {counts.nominal}ε is {ten}."
        )
        show(
            charts.by_number(of_sizes, "units that change together", charts.GROUPS, question.delta),
            "groups",
            sentence,
        )
        st.caption(
            f"{sentence} Group privacy: they move each release by up to ten times Δ. At δ = 0 "
            "this is at most ten times the ε of one; at the same δ > 0 it may be more."
        )
    with right:
        st.subheader("Post-processing", anchor=False)
        show(
            charts.rounded(counts.mechanisms, question.sensitivity),
            "rounded",
            "Rounding a release never helps an attacker.",
        )
        st.caption(
            "Whatever is computed from a release alone, here its rounding, is at least as "
            "private: no line rises above its dotted one, the release as it is. One release of a "
            f"single number, Δ = {three(question.sensitivity)}."
        )


def sampling(counts: Counts) -> None:
    """Draw what all releases would cost if each were made from a sample of the records."""
    from dpmc_core.privacy.losses import sampled_epsilons  # takes seconds to load

    question = counts.question
    rate = controls.steps_slider("Sampling rate q", "u_rate", _RATES, 0.1, limit="sampling_rate")
    deltas = tuple(sorted({*charts.DELTAS, question.delta}))
    of_samples, of_all = dict[str, list[float]](), dict[str, list[float]]()
    try:
        with st.spinner("Composing the privacy losses…"):
            for noise in counts.mechanisms:
                ledger = question.ledger(noise)
                sampled = (replace(release, sampling_rate=rate) for release in ledger.releases)
                of_all[noise.name] = [tightest(ledger, delta, coarse=True) for delta in deltas]
                # of samples never more than of all: H((1−q)P + qP′ ‖ P) ≤ H(P′ ‖ P)
                of_samples[noise.name] = [
                    *map(min, sampled_epsilons(Ledger(tuple(sampled)), deltas), of_all[noise.name])
                ]
    except DPMCError as error:
        st.info(controls.plain(error))
        return
    at = deltas.index(question.delta)
    totals = "; ".join(
        f"{three(of_samples[name][at])}, not {three(of_all[name][at])} ({IDENTITY[name].title})"
        for name in of_samples
    )
    most = "at most " * (question.spread > 1)
    sentence = f"At q = {three(rate)} the nominal ε would be {most}{totals}."
    st.markdown(sentence)
    show(charts.sampled(of_samples, of_all, deltas, question.delta), "sampled", sentence)
    st.caption(
        "Amplification by sub-sampling (Balle, Barthe & Gaboardi 2018). Each release is made from "
        "a new sample that every record is in with probability q (Poisson sampling); one record "
        "added or removed. Gaussian and Laplace noise by dp-accounting; Huber noise by its own "
        "δ(ε): q·δ(ε) at log(1 + q(e^ε − 1)). Dotted: without sampling. Of this app's algorithms "
        "private NMF, corrected, samples where asked to; every other release uses every record."
        + " For vectors with Huber or Laplace noise this is an upper bound: all of Δ on one number."
        * (question.spread > 1)
    )


def choice(counts: Counts) -> None:
    """Draw what the best of several such runs costs, against their mean number."""
    question = counts.question
    with st.spinner("Composing the privacy losses…"):
        of_each = {
            noise.name: [
                choice_epsilon(question.ledger(noise), runs, question.delta)
                for runs in charts.MEAN_RUNS
            ]
            for noise in counts.mechanisms
        }
    at = charts.MEAN_RUNS.index(10)
    totals = "; ".join(
        f"{three(epsilons[at])}, not {three(one.epsilon)} ({title})"
        for epsilons, (title, one) in zip(of_each.values(), counts.named, strict=True)
    )
    sentence = f"The best of 10 such runs on average has a {counts.nominal}ε of {totals}."
    st.markdown(sentence)
    show(
        charts.by_number(
            of_each, "mean number of runs", charts.MEAN_RUNS, question.delta, "of the best run"
        ),
        "choice",
        sentence,
    )
    st.caption(
        "A private choice of settings: each run draws settings at random and releases a score "
        "within its ε (a held-out error needs noise for that); the number of runs is drawn from "
        "a geometric distribution, and only the best run is published. Pure ε grows threefold, "
        "whatever the number (Liu & Talwar 2019); else by Rényi divergences (Papernot & Steinke "
        "2022, Theorem 2). These are bounds: one run by itself may have less than the line at 1."
    )


def statement_card(title: str, statement: Statement) -> None:
    """Draw one statement: what it protects, how counted, in odds."""
    st.markdown(f"**{title}**")
    at = f"at δ = {power(statement.delta)}" if statement.delta else "that never fails (δ = 0)"
    st.metric(
        f"{'nominal' if statement.nominal else 'guaranteed'} ε of {statement.draws:,} releases "
        f"{at}",
        three(statement.epsilon),
    )
    st.caption(f"One release: ε = {three(statement.epsilon_per_draw)}.")
    st.caption(f"{statement.odds} The tab *Attacker* draws the best attack on this noise.")
    st.caption(f"Unit: one {statement.unit}; neighbours: {statement.neighbours}. {statement.how}.")


def methods(counts: Counts) -> None:
    """Show ε by every counting method, and how each counts."""
    of_each, first = counts.statements, counts.statements[0]
    show_table(
        charts.methods_table(counts.titles, [s.accounts for s in of_each]),
        "ε of the whole run by each accounting method and noise; the tightest is marked.",
    )
    st.caption(
        "◀ the tightest; – does not apply. "
        + " ".join(f"**{a.title}:** {a.how}" for a in first.accounts)
    )
    if any(not answer.published for s in of_each for answer in s.accounts):
        published = ", ".join(f"{title} {three(s.epsilon_published)}" for title, s in counts.named)
        st.caption(
            "\\* rests on a proof in this project (docs/huber-composition.md) that has not been "
            "peer-reviewed. By published results alone: " + published + "."
        )
    caveats(first.caveats[:1] if counts.question.run == "own" else first.caveats[1:3])


def price_and_need(counts: Counts, shapes: list[Release]) -> None:
    """Draw the price of Huber's shape, and which noise is least for the budget."""
    left, right = st.columns(2)
    with left:
        _price(counts.question, counts.mechanisms[0])
    with right:
        _needed(counts, shapes)


def _price(question: Question, huber: Mechanism) -> None:
    st.subheader("The price of Huber's shape", anchor=False)
    at_alpha = huber.fisher_information * huber.variance
    show(
        charts.price_curve(question.alpha, question.sensitivity / huber.std),
        "price",
        f"At equal variance Huber noise with α = {question.alpha:g} costs {three(at_alpha)} times "
        f"Gaussian noise per small shift, and {three(price(huber, question.sensitivity))} times at "
        "the chosen Δ.",
    )
    st.caption(
        "What one release adds to a long composition, relative to Gaussian noise of equal "
        "variance (Kullback–Leibler divergence). For small shifts it is I(α)·σ²(α), I the "
        "Fisher information; for shifts of a standard deviation and more the order can turn. The "
        "Huber thesis asks whether its noise needs another definition of sensitivity. *Sensitivity "
        "by*, of your own run, has three. By ℓ1 one release has ε = α·Δ₁/s; by ℓ2 each of many "
        "adds at most I·Δ₂²/2, as with Gaussian noise; by ℓ∞ the worst movement is known, Δ/m of "
        "each number, which saves Huber and Laplace noise some ε and Gaussian noise none "
        "(docs/huber-composition.md)."
    )


def _needed(counts: Counts, shapes: list[Release]) -> None:
    question = counts.question
    st.subheader(f"Which noise is least for ε = {three(question.target)}?", anchor=False)
    try:
        with st.spinner("Searching the least noise for each number of releases…"):
            variances = [question.needed(shape) for shape in shapes]
        winners = stories.least_by_count(variances, counts.mechanisms)
        show(
            charts.needed(variances, counts.mechanisms, question.target),
            "needed",
            f"Variance that each noise needs for the budget. {winners}",
        )
        st.caption(
            f"{winners} Shape kept (Huber's α = {question.alpha:g}), sensitivity as chosen, δ = "
            f"{power(question.delta)}. "
            + (_LOOSE if question.loose else "Tightest count for each, right to 0.2 %.")
        )
    except DPMCError as error:
        st.warning(controls.plain(error))


def least_noise(counts: Counts, shapes: list[Release]) -> None:
    """Show the least noise of each family that keeps to the budget."""
    question = counts.question
    st.subheader(
        f"How much noise buys ε = {three(question.target)} for {question.count:,} releases?",
        anchor=False,
    )
    rows: list[JsonObject] = []
    with st.spinner("Searching the least noise…"):
        for title, shape in zip(counts.titles, shapes, strict=True):
            try:
                noise = question.least(shape)
            except DPMCError as error:
                st.warning(controls.plain(error))
                continue
            rows.append(
                {"noise": title, "standard deviation": noise.std, "variance": noise.variance}
            )
    if not rows:
        return
    least = min(row["variance"] for row in rows)
    show_table(
        [{**row, "times the least variance": row["variance"] / least} for row in rows],
        f"Least noise of each family for ε = {question.target:g} at δ = "
        f"{power(question.delta)} over {question.count:,} releases.",
        column_config={
            name: st.column_config.NumberColumn(format="%.4g")
            for name in ("standard deviation", "variance", "times the least variance")
        },
    )
    st.caption(
        f"The least noise with which {question.count:,} releases at Δ = "
        f"{three(question.sensitivity)} together have ε ≤ {three(question.target)} at δ = "
        f"{power(question.delta)}, Huber's α = {question.alpha:g} kept. "
        + (_LOOSE if question.loose else "Right to 0.01 %, on the safe side.")
    )


def findings(counts: Counts) -> None:
    """Tell where the papers count otherwise, with live numbers."""
    question = counts.question
    (of_huber,) = (
        statement
        for noise, statement in zip(counts.mechanisms, counts.statements, strict=True)
        if noise.name == "huber"
    )
    variance = question.amount if question.by == "variance" else 2.0
    stories.tell(of_huber, variance, question.alpha, question.sensitivity, question.delta)


_COUNTED = "u_counted"


def upload(delta: float) -> None:
    """Draw the upload of a ledger, and what it spends by every method."""
    st.markdown(
        "*Completion* exports the ledger of a run; `complete … --json` and `account … --json` "
        "print one. Put a file here to account for it by all methods; it stays in this session."
    )
    brought = ask_for_file("A ledger file (JSON)", "json", MOST_BYTES, "u", _COUNTED)
    if brought is not None:
        _count(*brought, delta)


def _count(name: str, content: bytes, delta: float) -> None:
    request = (name, content, delta)
    try:  # it may take long: elsewhere, and in turn
        yours: Statement = once(
            _COUNTED,
            request,
            "Accounting for the ledger…",
            lambda: sandbox.read_file(account, *request),
        )
        for statement in cards([yours]):
            statement_card(controls.plain(name), statement)
        st.caption("Unit, sensitivities and whether they are derived are as the file declares.")
        show_table(
            charts.methods_table(["ε"], [yours.accounts]), "ε of your ledger by each method."
        )
        caveats(yours.caveats)
        st.markdown(_left(name, content, delta))
        st.page_link(
            "plan.py",
            label="Plan what follows (Several statistics)",
            icon=":material/target:",
            query_params={"n_kind": "Several statistics"},
        )
    except DPMCError as error:
        controls.show_error(error)


def _left(name: str, content: bytes, delta: float) -> str:
    """Say what is left of a budget after a ledger, as the noise of one more count."""
    epsilon = declared.box("project.epsilon", "u_budget", 2.0, label="Budget: total ε")
    more = Project(items=(Item(name="one more count"),), epsilon=epsilon, delta=delta)
    spec = (name, content, more.to_toml())
    try:
        allocation = once(
            "u_left",
            spec,
            "Searching what is left…",
            lambda: sandbox.read_file(share_out_after, *spec),
        )
    except OF_THE_FILE as error:
        if isinstance(error, ParameterError) and error.name == "neighbours":
            return "What is left can be said of ledgers about one record (one person) only."
        return f"**Left**: {controls.plain(error)}"
    (release,) = allocation.releases
    nominal = "" if allocation.ledger.sound else "nominal "
    return (
        f"**Left** of {nominal}ε = {three(epsilon)}: for example one more count (one "
        f"person moves it by 1) with Gaussian noise of standard deviation at least "
        f"{three(release.mechanism.std)}, which then is the end of the budget."
    )


def export(counts: Counts) -> None:
    """Offer the ledger of each noise as a file, and the command that counts it."""
    question = counts.question
    for title, noise in zip(counts.titles, counts.mechanisms, strict=True):
        ledger = question.ledger(noise).as_dict()
        download(f"Ledger, {title} (JSON)", f"dpmc-ledger-{title.lower()}.json", ledger)
    code(
        f"python -m dpmc_core account --ledger dpmc-ledger-huber.json --delta {question.delta:g}",
        "bash",
        "On the command line:",
    )
