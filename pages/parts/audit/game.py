"""The game: is Alice in the data?

Rounds in which the visitor guesses from one released output, and their score against the bound.
The coin and the noise come from the operating system's randomness, so that nobody can look ahead.
"""

import secrets
from dataclasses import dataclass, field

import numpy as np
import streamlit as st

from dpmc_core.arrays import FloatArray
from dpmc_core.experiments.tasks.audit_spec import FACTOR_TARGETS, AuditSpec
from dpmc_core.experiments.tasks.audit_targets import (
    ALICE,
    FILM,
    claimed_release,
    outputs,
    true_counts,
)
from dpmc_core.privacy import guess_bound
from dpmc_core.wording import power, three
from pages.parts.audit import charts
from pages.parts.audit.controls import link_to
from pages.parts.ui import on_screen
from pages.parts.ui.figures import draw, show

_LAST = 10  # rounds that are marked as right or wrong


@dataclass
class Rounds:
    """What one visitor played on one spec.

    The output on screen, where it came from, and which guesses were right.
    """

    spec: AuditSpec
    inside: bool = False
    output: FloatArray = field(default_factory=lambda: np.zeros((1, 1)))
    hits: list[bool] = field(default_factory=list)
    last: str = ""

    def deal(self) -> None:
        """Toss a coin and release one output."""
        self.inside = secrets.randbelow(2) == 1
        self.output = outputs(
            self.spec, self.inside, 1, np.random.SeedSequence(secrets.randbits(128))
        )

    def guess(self, inside: bool) -> None:
        """Score a guess and deal again."""
        hit = inside == self.inside
        self.hits.append(hit)
        truth = _answer(self.spec, self.inside)
        a_number = self.spec.target == "number" and self.spec.case not in ("low-bits", "on-grid")
        seen = f" ({float(self.output[0][0]):.3f})" if a_number else ""
        self.last = f"Last round{seen}: **{'right' if hit else 'wrong'}, {truth}.**"
        self.deal()

    @property
    def delta(self) -> float:
        """The δ of the claim."""
        spec = self.spec
        if spec.target == "number":
            return spec.noise_options.get("delta", 0.0)
        return spec.delta if spec.about_the_whole_run else 0.0

    @property
    def bound(self) -> float:
        """The largest share of right guesses that the claim allows."""
        return guess_bound(self.spec.epsilon, self.delta)

    @property
    def best(self) -> float | None:
        """The largest share that anybody reaches with the noise as claimed, where it is known and
        no lesson asks for it.
        """
        if self.spec.target != "number" or on_screen.verdict_held():
            return None
        return claimed_release(self.spec).mechanism.best_guess(1.0)

    @property
    def score(self) -> str:
        """Right guesses of all."""
        return f"{sum(self.hits)} of {len(self.hits)}"


def rounds_of(spec: AuditSpec) -> Rounds:
    """The rounds played on ``spec``, with an output to judge."""
    rounds: Rounds | None = st.session_state.get("audit-game")
    # δ counts with some noises only
    unmoved = None if rounds is None or rounds.delta else rounds.spec.replace(delta=spec.delta)
    if rounds is None or spec not in (rounds.spec, unmoved):
        rounds = Rounds(spec)
        rounds.deal()
        st.session_state["audit-game"] = rounds
    return rounds


def verdict(rounds: Rounds) -> str:
    """The score so far against the bound."""
    most = allowed(rounds)
    if not rounds.hits:
        return f"Guess, round by round: on average {most} right guesses."
    share, low, _ = charts.rates(rounds.hits)
    played = f"You were right in {rounds.score} rounds ({100 * share[-1]:.0f} %)"
    if low[-1] > rounds.bound:
        return f"{played}, and {most} on average: {_reason(rounds.spec)}."
    return f"{played}; on average {most}."


def _reason(spec: AuditSpec) -> str:
    """Why a score can be above the bound."""
    if spec.target == "number" and spec.case == "as-claimed":
        return "luck, as this claim is true"
    if spec.target != "number" and not spec.about_the_whole_run:
        return "the ε of one release bounds no whole run"
    return "great luck, or a claim that is false here"


def claim_of(rounds: Rounds) -> str:
    """Return ε and, where it is not 0, δ."""
    return f"ε = {three(rounds.spec.epsilon)}" + (
        f", δ = {power(rounds.delta)}" if rounds.delta else ""
    )


def allowed(rounds: Rounds) -> str:
    """Say what the claim allows, as the end of a sentence."""
    spec, most, claim = rounds.spec, f"at most {100 * rounds.bound:.1f} %", claim_of(rounds)
    if spec.target == "number" or spec.about_the_whole_run:
        return f"{claim} allows {most}"
    return f"nominal {claim} of one release would allow {most}"


def play(rounds: Rounds) -> None:
    """Draw one output, two buttons, and how the last rounds went."""
    spec = rounds.spec
    st.markdown(_question(spec))
    with st.container(key="game"):
        _picture(rounds)
    answers = (("She is in", "I"), ("She is out", "O"))
    if charts.about_one_rating(spec):
        answers = (("It is a 5", "5"), ("It is a 1", "1"))
    looks = (("in", "person", True), ("out", "person_off", False))
    with st.container(horizontal=True, vertical_alignment="center"):
        for (title, letter), (name, icon, inside) in zip(answers, looks, strict=True):
            st.button(
                title,
                icon=f":material/{icon}:",
                on_click=rounds.guess,
                args=(inside,),
                key=f"guess-{name}",
                shortcut=letter,
                width="stretch",
            )
    marks = [":blue[●]" if hit else ":orange[✕]" for hit in rounds.hits[-_LAST:]]
    last = " ".join([*marks, *["○"] * (_LAST - len(marks))])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Last ten: {last}  \n{rounds.last}", width="content")
        st.button(
            "Start over",
            on_click=lambda: st.session_state.pop("audit-game", None),
            key="guess-again",
            type="tertiary",
            disabled=not rounds.hits,
        )


def chart(rounds: Rounds) -> None:
    """Draw the share of right guesses against what the claim allows."""
    show(
        charts.score(rounds.hits, rounds.bound, rounds.best),
        "game-score",
        f"Right guesses: {rounds.score}; on average {allowed(rounds)}.",
    )
    st.caption(
        "Shaded: 95 % interval of each round by itself."
        if rounds.hits
        else "Your share of right guesses will be drawn here after each round."
    )
    on_screen.add_lines("The bound", _LINES.format(rounds.spec.epsilon, rounds.delta))


def score(rounds: Rounds) -> None:
    """Say how sure the score is and what it is held against, in a line to copy too."""
    if rounds.hits:
        _, low, high = charts.rates(rounds.hits)
        st.markdown(
            f"You were right in **{rounds.score}** rounds. With 95 % confidence your rate is "
            f"{100 * low[-1]:.0f} to {100 * high[-1]:.0f} %. Luck can exceed the bound for a "
            "while, and looking after every round makes that likelier."
        )
        st.code(
            f"Is Alice in the data? I was right in {rounds.score} rounds; on average "
            f"{allowed(rounds)}.",
            language=None,
            wrap_lines=True,
        )
    best = ""
    if rounds.best is not None:
        best = f" With this noise as claimed, the best possible is {100 * rounds.best:.1f} %."
    st.markdown(
        f"The bound: {allowed(rounds)} right guesses on average, whatever the attacker knows of "
        f"the other people.{best}"
    )
    st.latex(r"\frac{e^\varepsilon+\delta}{1+e^\varepsilon}")
    link_to("audit.py", "See what a trained attacker proves", ":material/search_insights:")


_LINES = """\
from dpmc_core.privacy import guess_bound

print("right guesses in 100, at most:", 100 * guess_bound({}, {}))
"""


def _question(spec: AuditSpec) -> str:
    if spec.target == "number":
        return "A coin decided whether Alice is in the data. Is she?"
    if spec.target in FACTOR_TARGETS:
        return "A coin decided whether Alice's picture is in the data. Is it?"
    if spec.neighbours == "rating":
        return "A coin decided whether Alice rated film C with a 5 or a 1. Which?"
    return "A coin decided whether Alice's ratings are in the data. Are they?"


def _answer(spec: AuditSpec, inside: bool) -> str:
    if charts.about_one_rating(spec):
        return f"she gave it a {5 if inside else 1}"
    return f"she was {'in' if inside else 'not in'}"


def _picture(rounds: Rounds) -> None:
    spec, output = rounds.spec, rounds.output[0]
    if spec.target == "number":
        value = float(output[0])
        if spec.case in ("low-bits", "on-grid"):
            verb = "does" if value else "does not"
            st.markdown(
                f"The published number **{verb}** lie within ±½ with bits finer than 2⁻⁵³, "
                "which 1 + noise cannot have."
            )
            return
        with_alice, without = true_counts()
        noise = claimed_release(spec).mechanism
        figure = charts.number_line(value, (float(with_alice), float(without)), noise.std)
        alt = f"The published number is {value:.3f}."
        draw(figure, "game-number", alt, toolbar=False, question=True)
        return
    if spec.target in FACTOR_TARGETS:
        parts = charts.published_parts(output, spec.rank)
        draw(parts, "game-parts", "The parts learned in this round.", toolbar=False)
        return
    figure, numbers = charts.published_matrix(spec, output)
    alt = "What was published in this round."
    if spec.view == "matrix" and charts.about_one_rating(spec):
        cell = f"{numbers.iloc[ALICE, FILM]:.2f}"
        figure.update_xaxes(title_text=f"film (framed: {cell})")
        alt += f" Framed: her completed rating, {cell} (noise moves some outside 1–5)."
    draw(figure, "game-matrix", alt, toolbar=False)
