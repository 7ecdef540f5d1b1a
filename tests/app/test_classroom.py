"""Rooms for a class: seats, answers, codes, and what projector and phone show."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from scipy import stats

from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from pages.parts.audit import classroom
from pages.parts.audit import room as rooms
from pages.parts.audit.room import Question, Room, RoomError, Round, share_of
from tests.app.visits import Visit, open_page, read, shows

POLL = Question(text="Which?", options=("a", "b", "c"), right=1)


@pytest.fixture(autouse=True)
def no_rooms() -> Iterator[None]:
    rooms._rooms.clear()
    yield
    rooms._rooms.clear()


def exact_interval(right: int, of: int) -> np.ndarray:
    return np.array(stats.binomtest(right, of).proportion_ci(0.95, method="exact"))


def test_the_first_answer_of_a_seat_counts_however_many_come_at_once() -> None:
    room = Room("ABCDEF", "host")
    room.ask(POLL)

    def answer(seat: int) -> None:
        for option in (seat % 3, (seat + 1) % 3):
            with suppress(RoomError):
                room.answer(0, room.seat(f"tab-{seat}"), option)

    with ThreadPoolExecutor(90) as threads:
        list(threads.map(answer, [k % 90 for k in range(180)]))
    assert room.seats == 90
    assert sum(room.rounds[0].counts) == 90
    stays = room.rounds[0].answers[0]
    with pytest.raises(RoomError, match="Your first answer of this round counts"):
        room.answer(0, 0, 1 - stays)
    room.ask(POLL)
    with pytest.raises(RoomError, match="Round 1 is over"):
        room.answer(0, 0, 1)


def test_a_seat_is_found_again_and_a_room_has_no_more_than_its_seats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rooms, "SEATS", 2)
    room = Room("ABCDEF", "host")
    assert [room.seat("a"), room.seat("b"), room.seat("c", "a"), room.seat("c")] == [0, 1, 0, 0]
    with pytest.raises(RoomError, match="full: it has 2 seats"):
        room.seat("d", "unknown")
    assert room.is_led_by("later", "host")
    assert room.is_led_by("later")
    assert not room.is_led_by("a", "b")


def test_codes_are_random_and_guesses_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    room = rooms.open_room("host")
    spaced = f" {room.code[:3].lower()} {room.code[3:].lower()} "
    assert rooms.room_of(spaced, []) is room
    assert len({rooms.open_room(f"host {k}").code for k in range(19)} | {room.code}) == 20
    with pytest.raises(RoomError, match="as many as may be"):
        rooms.open_room("another host")
    assert rooms.open_room("host") is room  # each leads one
    tries: list[float] = []
    for text, sentence in (("AAAAA", "is no code: it must be 6 letters"), ("ÄÖÜSSS", "is no code")):
        with pytest.raises(RoomError, match=sentence):
            rooms.room_of(text, tries)
    wrong = next(c for c in ("ABCDEF", "ABCDEG") if c not in rooms._rooms)
    for _ in range(5):
        with pytest.raises(RoomError, match=f"no room {wrong}: it may have been closed"):
            rooms.room_of(wrong, tries)
    with pytest.raises(RoomError, match="5 wrong codes"):
        rooms.room_of(room.code, tries, ("another", "host 0"))
    assert rooms.room_of(room.code, tries, ("later", "host")) is room  # which is no guess
    now_is = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now_is + 61)
    assert rooms.room_of(room.code, tries) is room
    monkeypatch.setattr(time, "monotonic", lambda: now_is + 3 * 3600 + 1)
    room.ask(POLL)
    with pytest.raises(RoomError, match="too late"):
        room.answer(0, 0, 0)
    with pytest.raises(RoomError, match="ended after 3 hours"):
        rooms.room_of(room.code, tries)
    assert not rooms._rooms


@pytest.mark.parametrize(("case", "scale"), [("as-claimed", 1.0), ("half-noise", 0.5)])
def test_a_class_that_guesses_best_reaches_what_the_noise_allows(case: str, scale: float) -> None:
    """The likelier side of 41.5 is right with probability 1 − exp(−1/(2b))/2 for Laplace noise of
    scale b; the bound for ε = 1 is e/(1 + e), which half the noise exceeds.
    """
    room, seats = Room("ABCDEF", "host"), 2000
    audit = AuditSpec(mechanism="laplace", epsilon=1.0, case=case)
    room.ask(Question(text="Is she?", options=("in", "out"), audit=audit))
    for seat in range(seats):
        room.answer(0, seat, 0 if room.coin(0, seat)[1] > 41.5 else 1)
    expected = 1 - np.exp(-1 / (2 * scale)) / 2
    low, high = stats.binom.ppf([5e-10, 1 - 5e-10], seats, expected)
    right = room.rounds[0].right
    assert low <= right <= high
    share, *ends = share_of(right, seats)
    assert share == right / seats
    np.testing.assert_allclose(ends, exact_interval(right, seats), rtol=1e-12)
    assert (ends[0] > np.e / (1 + np.e)) == (case == "half-noise")


@pytest.mark.parametrize("yes", [0, 1, 4, 8])
def test_the_interval_of_randomised_responses_is_drawn_as_it_is_told(yes: int) -> None:
    answers = dict(enumerate([0] * yes + [1] * (8 - yes)))
    question = Question(text="?", options=("Yes", "No"), flip=0.25)
    drawn, _ = classroom._answers(Round(question=question, answers=answers))
    (bar,) = drawn.data
    ends = bar.y[-1] - bar.error_y.arrayminus[-1], bar.y[-1] + bar.error_y.array[-1]
    exact = 100 * np.clip((exact_interval(yes, 8) - 0.25) * 2, 0, 1)
    np.testing.assert_allclose(ends, exact, atol=1e-10)
    assert not any([*bar.error_y.array[:-1], *bar.error_y.arrayminus[:-1]])


def led(activity: str = "guess") -> tuple[Visit, Visit]:
    """A projector and a phone in its room."""
    host = open_page(f"classroom?k_activity={activity}").press("class-open")
    code = host.query_params["code"]
    phone = open_page(f"classroom?code={code}")
    shows(phone, "Wait: the first question")
    host.press("class-ask")
    return host, phone.run()


def test_a_guess_on_a_phone_is_on_the_projector_and_stays() -> None:
    host, phone = led()
    shows(phone, "Laplace noise of claimed ε = 1")
    host.press("class-ask")  # before the phone has heard of it
    shows(phone.press("class-0-0"), "Round 1 is over", kinds=["warning"])
    assert phone.press("class-1-0").widget("class-1-1").disabled
    room = rooms.room_of(host.query_params["code"], [])
    assert [len(r.answers) for r in room.rounds] == [0, 1]
    truth = "in" if room.rounds[1].right else "out"
    shows(phone, f"she is {truth}. Look at the projector")
    shows(host.run(), "**1** of 1 answered", "ε = 1 allows at most 73.1 %")
    assert "code" not in host.press("class-close").query_params
    shows(phone.run(), "There is no room", kinds=["warning"])


def test_a_poll_shows_the_right_answer_when_the_lecturer_does() -> None:
    host, phone = led("poll")
    shows(phone.press("class-0-0"), "Your answer counts")
    shows(host.run(), "Somebody says Yes", without=["Right:"])
    shows(host.press("class-reveal"), "Right: **3 times, at most**, 0 %")
    assert "class-reveal" not in host.buttons
    shows(phone.run(), "Wrong: 3 times, at most")


def test_coins_tell_the_share_and_nobodys_answer() -> None:
    host, phone = led("coin")
    shows(phone, "Toss two coins")
    phone.press("class-0-0")
    shows(host.run(), "About 100 % truly say yes", "(ε = 1.1)")
    shows(host.choose("class-question", " "), "The question is empty", kinds=["error"])
    assert host.widget("class-ask").disabled


def test_what_is_wrong_with_a_mechanism_is_hidden_until_the_lecturer_shows_it() -> None:
    host = open_page("classroom?x_case=half-noise&x_noise=gaussian").press("class-open")
    host.press("class-ask")
    claim = "Gaussian, ε = 1, δ = 10⁻⁵"
    assert read(host.table[-1].value["Asked"][0]) == claim
    host.press("class-reveal")
    assert read(host.table[-1].value["Asked"][0]) == f"{claim}, broken: half the noise"


@pytest.mark.parametrize("code", ["", "ABC", "ABCDEF", "<b>", "%F0%9F%98%80"])
def test_a_bad_code_in_the_address_has_one_sentence_and_the_way_in(code: str) -> None:
    app = open_page(f"classroom?code={code}")
    assert app.texts("warning")
    for _ in range(6):  # drawn again, it is not tried again
        app.run()
    assert app.texts("warning") == ""
    assert len(app.session_state["class-tries"]) == (code == "ABCDEF")  # others are no guess
    assert app.widget("class-open")
