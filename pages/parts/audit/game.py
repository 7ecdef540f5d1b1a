"""The game of the *Audit* page: is Alice in the data?

Rounds in which the visitor guesses from one released output, and their hit rate against the bound.
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
from dpmc_core.privacy.distinguish.events import clopper_pearson
from dpmc_core.wording import power, three
from pages.parts.audit import charts as audit_charts
from pages.parts.ui.figures import draw


@dataclass
class Rounds:
    """What one visitor played on one spec.

    The output on screen, where it came from, and the score.
    """

    spec: AuditSpec
    inside: bool = False
    output: FloatArray = field(default_factory=lambda: np.zeros((1, 1)))
    played: int = 0
    right: int = 0
    last: str = ""

    def deal(self) -> None:
        """Toss a coin and release one output."""
        self.inside = secrets.randbelow(2) == 1
        self.output = outputs(
            self.spec, self.inside, 1, np.random.SeedSequence(secrets.randbits(128))
        )

    def guess(self, inside: bool) -> None:
        """Score a guess and deal again."""
        self.played += 1
        hit = inside == self.inside
        self.right += hit
        truth = _answer(self.spec, self.inside)
        a_number = self.spec.target == "number" and self.spec.case not in ("low-bits", "on-grid")
        seen = f" ({float(self.output[0][0]):.3f})" if a_number else ""
        self.last = f"Last round{seen}: **{'right' if hit else 'wrong'}, {truth}.**"
        self.deal()


def play(spec: AuditSpec) -> None:
    """One output, two buttons, and the score so far."""
    rounds: Rounds | None = st.session_state.get("audit-game")
    played_on = spec.replace(runs=100, seed=0, confidence=0.999)  # what the rounds do not depend on
    if rounds is None or rounds.spec != played_on:
        rounds = Rounds(played_on)
        rounds.deal()
        st.session_state["audit-game"] = rounds
    st.markdown(_question(spec))
    _picture(rounds)
    yes, no, restart = st.columns([2, 2, 1])
    titles = (
        ("It is a 5", "It is a 1")
        if audit_charts.about_one_rating(spec)
        else ("She is in", "She is out")
    )
    yes.button(
        titles[0],
        icon=":material/person:",
        on_click=rounds.guess,
        args=(True,),
        key="guess-in",
        width="stretch",
    )
    no.button(
        titles[1],
        icon=":material/person_off:",
        on_click=rounds.guess,
        args=(False,),
        key="guess-out",
        width="stretch",
    )
    restart.button(
        "Start over",
        on_click=lambda: st.session_state.pop("audit-game", None),
        key="guess-again",
        width="stretch",
        disabled=not rounds.played,
    )
    _score(rounds)


def _question(spec: AuditSpec) -> str:
    if spec.target == "number":
        return (
            "A coin decided whether Alice is in. One number was published. Guess, and see how "
            "far you get."
        )
    if spec.target in FACTOR_TARGETS:
        return (
            "A coin decided whether Alice's picture is in the data. These parts were learned. "
            "Is it?"
        )
    if spec.neighbours == "rating":
        return (
            "A coin decided whether Alice rated film C with a 5 or a 1. This was published. "
            "Which was it?"
        )
    return "A coin decided whether Alice's ratings are in the data. This was published. Are they?"


def _answer(spec: AuditSpec, inside: bool) -> str:
    if audit_charts.about_one_rating(spec):
        return f"she gave it a {5 if inside else 1}"
    return f"she was {'in' if inside else 'not in'}"


def _picture(rounds: Rounds) -> None:
    spec, output = rounds.spec, rounds.output[0]
    if spec.target == "number":
        value = float(output[0])
        if spec.case in ("low-bits", "on-grid"):
            found = "does" if value else "does not"
            st.markdown(
                f"The published number **{found}** lie within ±½ with bits finer than 2⁻⁵³, "
                "which 1 + noise cannot have."
            )
            return
        with_alice, without = true_counts()
        noise = claimed_release(spec).mechanism
        figure = audit_charts.number_line(value, (float(with_alice), float(without)), noise.std)
        draw(figure, "game-number", f"The published number is {value:.3f}.", toolbar=False)
        return
    if spec.target in FACTOR_TARGETS:
        draw(
            audit_charts.published_parts(output, spec.rank),
            "game-parts",
            "The parts learned in this round.",
            toolbar=False,
        )
        return
    figure, numbers = audit_charts.published_matrix(spec, output)
    draw(figure, "game-matrix", "What was published in this round.", toolbar=False)
    if spec.view == "matrix" and audit_charts.about_one_rating(spec):
        cell = numbers.iloc[ALICE, FILM]
        st.caption(
            f"Framed: Alice's completed rating of {numbers.columns[FILM]}, {cell:.2f}. Noise "
            "moves completed ratings outside 1–5."
        )


def _score(rounds: Rounds) -> None:
    if rounds.last:
        st.markdown(rounds.last)
    if not rounds.played:
        st.caption("Chance alone gets half of the rounds right.")
        return
    spec = rounds.spec
    low, high = (float(x) for x in clopper_pearson(rounds.right, rounds.played, 0.025))
    st.markdown(
        f"You were right in **{rounds.right} of {rounds.played}** rounds "
        f"({100 * rounds.right / rounds.played:.0f} %; with 95 % confidence your rate is "
        f"{100 * low:.0f} to {100 * high:.0f} %)."
    )
    if spec.target == "number":
        noise = claimed_release(spec).mechanism
        pure = noise.epsilon(1.0)
        limit = guess_bound(spec.epsilon, spec.delta if np.isinf(pure) else 0.0)
        st.caption(
            f"If the claimed ε = {three(spec.epsilon)} holds, nobody errs in fewer than 1/(1 + "
            f"e^ε) = {100 * (1 - limit):.1f} of 100 rounds, so nobody is right in more than "
            f"{100 * limit:.1f}. With this noise as claimed the best possible is "
            f"{100 * noise.best_guess(1.0):.1f}. Luck can exceed both for a while, and looking "
            "after every round makes that likelier."
        )
    elif spec.about_the_whole_run:
        limit = guess_bound(spec.epsilon, spec.delta)
        st.caption(
            f"The claim for the run is ε = {three(spec.epsilon)} at δ = {power(spec.delta)}: "
            f"then nobody is right in more than {100 * limit:.1f} of 100 rounds in the long run."
        )
    else:
        limit = guess_bound(spec.epsilon)
        st.caption(
            f"If one release's nominal ε = {three(spec.epsilon)} were all, nobody would be right "
            f"in more than {100 * limit:.1f} of 100 rounds. The attack on this page says what a "
            "trained attacker reaches."
        )
