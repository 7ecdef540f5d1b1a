"""What a class sees: the way into a room, the projector, and a phone."""

from collections.abc import Mapping
from math import log

import numpy as np
import pandas as pd
import segno
import streamlit as st

from dpmc_core.errors import DPMCError
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.experiments.tasks.audit_targets import true_counts
from dpmc_core.wording import three
from pages.parts.audit.charts import IN, OUT
from pages.parts.audit.controls import CASE_TITLES, NOISES, one_number
from pages.parts.audit.game import Rounds, allowed, claim_of
from pages.parts.audit.room import (
    HOURS,
    LENGTH,
    Question,
    Room,
    RoomError,
    Round,
    open_room,
    room_of,
    share_of,
    unbiased,
)
from pages.parts.frame.page import control, pair, tab, verdict
from pages.parts.frame.share import server_address
from pages.parts.server import visits
from pages.parts.server.layers.early import COOKIE
from pages.parts.ui import controls
from pages.parts.ui.figures import Drawn, bars, draw, figure
from pages.parts.ui.looks import Identity, intervals
from pages.parts.ui.series import Line, named_lines

CODE = "code"  # in the address
ACTIVITIES = {"guess": "Guess", "poll": "Poll", "coin": "Coin"}
# seconds between two looks at the room; phones are told of a round besides
_PROJECTED, _ON_PHONES = 1.0, 30.0
_TRIES, _PROBLEM = "class-tries", "class-problem"  # in the session
_FLIP = 0.25  # two coins: the first decides whether the truth is told, the second what else
_COINS = (
    "Toss two coins, and show nobody. First heads: answer truly. First tails: answer Yes if the "
    "second is heads, No if it is tails."
)
_SENSITIVE = "Have you ever copied in an exam?"


def _visit() -> tuple[str, str]:
    """The token by which this tab is known, and the one that it came with."""
    return st.session_state[COOKIE], st.context.cookies.get(COOKIE, "")


def draw_page(polls: Mapping[str, Question]) -> bool:
    """Draw the room that the address names, to who leads it or has a seat; the way into one where
    there is none, which is returned. ``polls`` are what a class may be asked, by name.
    """
    room = None
    if (text := st.query_params.get(CODE)) is not None:
        try:
            room = room_of(text, st.session_state.setdefault(_TRIES, []), _visit())
        except RoomError as error:
            st.warning(controls.plain(error), icon=":material/link_off:")
            st.query_params.pop(CODE)  # else it would be tried again whenever the page is drawn
    if room is None:
        _entrance()
    elif room.is_led_by(*_visit()):
        _projector(room, polls)
    else:
        _phone(room)
    return room is None


def _entrance() -> None:
    verdict("Open a room: students guess on their phones, and the bound holds for the whole class.")
    with control():
        code = st.text_input(
            "Code of a room", max_chars=20, key="class-code", placeholder=f"{LENGTH} letters"
        )
        join = st.button("Join", icon=":material/login:", key="class-join")
        if st.button(
            "Open a room", icon=":material/add:", type="primary", key="class-open", help=_HELP
        ):
            try:
                _enter(open_room(_visit()[0]).code)
            except RoomError as error:
                st.warning(controls.plain(error), icon=":material/block:")
    if join or code:
        _enter(code)
    tab("Method", "method", lambda: st.markdown(_METHOD))


_HELP = (
    f"You lead it from this tab, and this button leads back to it. It ends after {HOURS} hours or "
    "when you close it; no name is asked for, and nothing is stored."
)


def _enter(code: str) -> None:
    st.session_state.pop("class-code", None)
    st.query_params[CODE] = code
    st.rerun()


def _projector(room: Room, polls: Mapping[str, Question]) -> None:
    question = None
    with control():
        activity = controls.segments("Activity", "k_activity", ACTIVITIES, "guess")
        try:
            question = _question(activity, polls)
        except DPMCError as error:
            controls.show_error(error)
        ask = st.button(
            "Ask the class",
            icon=":material/campaign:",
            type="primary",
            key="class-ask",
            disabled=question is None,
            help="For a broken mechanism close the sidebar and fill the screen (F11) first: its "
            "settings and the address tell which it is.",
        )
    if ask and question is not None:
        room.ask(question)
    address = f"{server_address()}/classroom?{CODE}={room.code}"
    verdict(f"Room **{room.code}**: scan, or open *Class* on this site and enter the code.")
    left, right = pair()
    with left:
        picture = segno.make(address, micro=False).svg_inline(scale=8, border=2, light="white")
        st.image(picture, width=290, alt="QR code of the address below")
        st.markdown(address)
        if "//localhost" in address or "//127." in address:
            st.caption("Phones cannot reach this address: open the app by this machine's name.")
    with right:
        st.fragment(_live, run_every=_PROJECTED)(room)
    tab("Rounds", "rounds", lambda: st.fragment(_rounds, run_every=_PROJECTED)(room))
    tab("Method", "method", lambda: st.markdown(_METHOD))
    here = room.rounds[-1] if room.rounds else None
    guessed = here is not None and here.question.audit is not None
    if here and not here.revealed and (guessed or here.question.right is not None):
        st.button(
            "Show the mechanism" if guessed else "Show the right answer",
            icon=":material/visibility:",
            key="class-reveal",
            on_click=room.reveal,
        )
    if st.button("Close the room", icon=":material/close:", key="class-close", type="tertiary"):
        room.close()
        st.query_params.pop(CODE, None)
        st.rerun()


def _question(activity: str, polls: Mapping[str, Question]) -> Question:
    """Draw the controls of an activity; returns what they ask."""
    if activity == "poll":
        titles = {name: poll.text for name, poll in polls.items()}
        return polls[controls.choice("Question", "k_poll", titles, next(iter(titles)))]
    if activity == "coin":
        text = controls.plain(
            st.text_input("Question", _SENSITIVE, max_chars=200, key="class-question")
        )
        if not text.strip():
            raise RoomError("The question is empty: write one that Yes or No answers.")
        return Question(text=f"{text}\n\n{_COINS}", options=("Yes", "No"), flip=_FLIP)
    return Question(
        text="A coin of your own decided whether Alice is in the data. Is she?",
        options=("She is in", "She is out"),
        audit=AuditSpec(target="number", **one_number(controls.settings())),
    )


_METHOD = f"""\
- **Guess**: each phone has a coin and noise of its own, so that guesses are independent, however
  phones are shared. The interval is exact (Clopper–Pearson), of each round by itself, for one
  look when all have answered. A claim of ε bounds what is right on average; then the interval is
  above it by chance once in 40 rounds at most, but at some moment of a round of 100 answers, looked
  at after each, in up to one of 8.
- **Coin**: randomised response (Warner 1965), the oldest mechanism. Each answer is the other one
  with q = {_FLIP}, so that ε = log((1 − q)/q) = {log((1 - _FLIP) / _FLIP):.2f} for each
  person, before anybody has collected anything. Of the share p of Yes, (p − q)/(1 − 2q) is true.
- **Once**: the first answer of a seat counts. A seat is a tab; a second tab, the lecturer's
  too, is a second seat. Without names nobody can tell whose they are.
- **Nothing stored**: a room is in the memory of this one server, for {HOURS} hours at most. A
  phone that is sent to another replica of it finds no room.
"""


def _live(room: Room) -> None:
    """What the class has answered by now."""
    if not room.rounds:
        st.markdown(f"**{room.seats}** in the room. Ask the first question.")
        return
    here = room.rounds[-1]
    st.markdown(f"**{len(room.rounds)}.** {here.question.text}")
    st.markdown(f"**{len(here.answers)}** of {room.seats} answered. {_so_far(here)}")
    drawn, _ = _over_rounds(room) if here.question.audit else _answers(here)
    draw(drawn, "class", _so_far(here), toolbar=False)


def _so_far(here: Round) -> str:
    """One sentence on a round."""
    question, answers = here.question, len(here.answers)
    if not answers:
        return "Nobody has answered yet."
    if question.audit is not None:
        share, low, high = share_of(here.right, answers)
        rounds = Rounds(question.audit)
        text = (
            f"**{100 * share:.0f} % right** (95 % interval {100 * low:.0f} to {100 * high:.0f}); "
            f"{allowed(rounds)}."
        )
        above = " The class does better than the claim allows: luck, or the claim is false."
        which = f" The mechanism is {CASE_TITLES[question.audit.case]}."
        return text + above * (low > rounds.bound) + which * here.revealed
    if question.flip:
        share, low, high = _truly(here)
        epsilon = log((1 - question.flip) / question.flip)
        return (
            f"**About {share:.0f} % truly say yes** (95 % interval {low:.0f} to {high:.0f}); "
            f"nobody's own answer tells (ε = {three(epsilon)})."
        )
    if question.right is None or not here.revealed:
        return "The right answer is still hidden."
    return f"Right: **{question.options[question.right]}**, {100 * here.right / answers:.0f} %."


def _truly(here: Round) -> list[float]:
    """What share (%) truly says yes, with its interval, from randomised responses."""
    shares = share_of(here.counts[0], len(here.answers))
    return [100 * max(0.0, min(1.0, unbiased(s, here.question.flip))) for s in shares]


def _answers(here: Round) -> Drawn:
    """First answers as bars; of randomised responses what is true besides."""
    names, counts = list(here.question.options), here.counts
    heights = [100 * count / max(1, sum(counts)) for count in counts]
    above = below = [0.0] * len(heights)
    room = 50.0
    if here.question.flip and here.answers:
        share, low, room = _truly(here)
        names, heights = [*names, "truly yes"], [*heights, share]
        above, below = [*above, room - share], [*below, share - low]
    right = here.question.right if here.revealed else None
    colours = [OUT if k == right else IN for k in range(len(names))]
    drawn = bars(names, heights, above, colours, "first answers (%)", {}, max(room, 50.0))
    drawn.update_traces(error_y={"symmetric": False, "arrayminus": below})
    return drawn, pd.DataFrame({"answer": names, "%": heights})


def _over_rounds(room: Room) -> Drawn:
    """Right guesses of each round against what its claim allows."""
    played = [(k, r) for k, r in enumerate(room.rounds, start=1) if r.question.audit and r.answers]
    fig = figure("round", "right guesses (%)", height=300)
    numbers = [k for k, _ in played]
    shares = np.array([share_of(r.right, len(r.answers)) for _, r in played])
    most = [100 * Rounds(r.question.audit).bound for _, r in played if r.question.audit]
    middle, low, high = 100 * shares.reshape(-1, 3).T
    error = intervals(high - middle, symmetric=False, arrayminus=middle - low)
    lines = [
        Line(Identity("ε allows", OUT, "dash", "line-ew-open"), numbers, most),
        Line(
            Identity("the class", IN, "solid", "circle"), numbers, middle, trace={"error_y": error}
        ),
    ]
    fig.update_xaxes(range=[0.5, len(room.rounds) + 0.5], dtick=1)
    fig.update_yaxes(range=[0, 101])
    named_lines(fig, lines, {"chance": 50.0})
    return fig, pd.DataFrame(
        {"round": numbers, "right (%)": middle, "95 % from": low, "95 % to": high, "most (%)": most}
    )


def _rounds(room: Room) -> None:
    """All rounds in a table, with what was wrong with them."""
    if not room.rounds:
        st.markdown("No round yet.")
        return
    rows = [
        {
            "Round": k,
            "Asked": _short_question(here, k < len(room.rounds)),
            "Answers": len(here.answers),
            "Outcome": _so_far(here),
        }
        for k, here in enumerate(room.rounds, start=1)
    ]
    st.table(pd.DataFrame(rows), hide_index=True)  # whole, on a phone too


def _short_question(here: Round, over: bool) -> str:
    """What was asked, in short; what was wrong with a mechanism once its round is over."""
    spec = here.question.audit
    if spec is None:
        return here.question.text.splitlines()[0]
    case = f", {CASE_TITLES[spec.case]}" if over or here.revealed else ""
    return f"{NOISES[spec.mechanism]}, {claim_of(Rounds(spec))}{case}"


def _phone(room: Room) -> None:
    try:
        seat = room.seat(*_visit())
    except RoomError as error:
        st.warning(controls.plain(error), icon=":material/event_seat:")
        return
    verdict(f"You sit in room {room.code}. Nobody learns who you are.")
    st.fragment(_seated, run_every=_ON_PHONES)(room, seat)


def _seated(room: Room, seat: int) -> None:
    """What a phone shows: the question, its options, and what became of the answer."""
    room.phones[seat] = visits.waker()
    if room.over:
        st.rerun()
    if not room.rounds:
        st.markdown("Wait: the first question is to come.")
        return
    number, here = len(room.rounds) - 1, room.rounds[-1]
    question, answer = here.question, here.answers.get(seat)
    with st.container(key="class-phone"):
        st.markdown(f"**{number + 1}.** {question.text}")
        if question.audit is not None:
            with_alice, without = true_counts()
            st.markdown(
                f"Published: **{room.coin(number, seat)[1]:.3f}**  \n{with_alice} people with "
                f"Alice, {without} without; {NOISES[question.audit.mechanism]} noise of claimed "
                f"{claim_of(Rounds(question.audit))}."
            )
        for k, option in enumerate(question.options):
            st.button(
                option,
                key=f"class-{number}-{k}",
                icon=":material/check:" if answer == k else None,
                disabled=answer is not None,
                on_click=_answer,
                args=(room, number, seat, k),
                width="stretch",
            )
        if problem := st.session_state.pop(_PROBLEM, ""):
            st.warning(problem, icon=":material/timer_off:")
        elif answer is not None:
            st.markdown(_became(here, seat, answer))


def _answer(room: Room, number: int, seat: int, option: int) -> None:
    try:
        room.answer(number, seat, option)
    except RoomError as error:
        st.session_state[_PROBLEM] = controls.plain(error)


def _became(here: Round, seat: int, answer: int) -> str:
    right = here.right_of(seat)
    if right is None or (here.question.audit is None and not here.revealed):
        return "Your answer counts. Look at the projector."
    truth = here.question.options[right]
    return f"{'Right' if answer == right else 'Wrong'}: {truth.lower()}. Look at the projector."
