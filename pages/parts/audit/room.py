"""Rooms in which a class plays: who sits in one, what it is asked, and what it answered.

A room is in the memory of one server and nowhere else, without names: a seat is a number, known to
the tab that took it. It ends when it is closed, or after three hours. Phones with one room's code
that reach another replica of the server find no room there.

Nobody guesses a code: of 24⁶ (190 million) at most ``_MOST_ROOMS`` are open, a visit that enters
``_TRIES`` wrong ones waits a minute, and a server serves a few hundred visits, so that all of them
together take weeks for an even chance, and a room ends after hours.
"""

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.experiments.tasks.audit_targets import outputs
from dpmc_core.privacy.attack import clopper_pearson

SEATS = 300  # in one room
HOURS = 3
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # without I and O, which are read as 1 and 0
LENGTH = 6
_MOST_ROOMS = 20
_APART = 0.01  # seconds between two phones that hear of a round
_TRIES, _WAIT = 5, 60.0  # wrong codes of one visit in so many seconds


class RoomError(DPMCError):
    """What a room does not allow, in one sentence."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a class is asked: ``text`` and ``options``, of which ``right`` may be the answer.

    With an ``audit`` each seat has a coin and a published number of its own, and is to say which
    way the coin fell (option 0: Alice is in). With ``flip`` the answers are randomised responses,
    each the other one with that probability.
    """

    text: str
    options: tuple[str, ...]
    right: int | None = None
    audit: AuditSpec | None = None
    flip: float = 0.0


@dataclass(kw_only=True)
class Round:
    """One question, what each seat was shown (the coin and the number), and its first answer."""

    question: Question
    revealed: bool = False  # the right option of a poll, or what is wrong with a mechanism
    coins: dict[int, tuple[bool, float]] = field(default_factory=dict)
    answers: dict[int, int] = field(default_factory=dict)

    @property
    def counts(self) -> list[int]:
        """How many chose each option."""
        given = list(self.answers.values())  # a copy: answers come meanwhile
        return [given.count(k) for k in range(len(self.question.options))]

    def right_of(self, seat: int) -> int | None:
        """The right option of ``seat``; None where there is none."""
        if self.question.audit is None:
            return self.question.right
        return 0 if self.coins[seat][0] else 1

    @property
    def right(self) -> int:
        """How many answered rightly."""
        return sum(self.right_of(seat) == answer for seat, answer in list(self.answers.items()))


def share_of(hits: int, answers: int) -> tuple[float, float, float]:
    """``hits`` of ``answers`` as a share, with its exact 95 % interval (Clopper & Pearson 1934).

    Each answer counts by itself: seats have coins and noise of their own, so that no two guesses
    are about one draw.
    """
    low, high = clopper_pearson(hits, answers, 0.025)
    return hits / answers if answers else 0.5, float(low), float(high)


def unbiased(share: float, flip: float) -> float:
    """What share says yes, from the ``share`` of randomised responses that do (Warner 1965):
    (share − flip)/(1 − 2 flip).
    """
    return (share - flip) / (1 - 2 * flip)


class Room:
    """One room. The visit with the token of its ``host`` leads it; other visits have seats."""

    def __init__(self, code: str, host: str) -> None:
        self.code, self.until = code, time.monotonic() + 3600 * HOURS
        self.rounds: list[Round] = []
        self.phones: dict[int, Callable[[float], None]] = {}  # wakes a seat's, after some seconds
        self._hosts, self._seats = {host}, dict[str, int]()
        self._lock = threading.Lock()

    @property
    def seats(self) -> int:
        """How many there are."""
        return len(set(self._seats.values()))

    def is_led_by(self, token: str, earlier: str = "") -> bool:
        """Whether the visit leads the room, by its ``token`` or the one it had ``earlier``."""
        if earlier in self._hosts:
            self._hosts.add(token)
        return token in self._hosts

    def seat(self, token: str, earlier: str = "") -> int:
        """The seat of a visit, which it has back after a reload by the token it had ``earlier``.

        Raises ``RoomError`` where all are taken.
        """
        with self._lock:
            taken = self._seats.get(token, self._seats.get(earlier))
            if taken is None:
                taken = self.seats
                if taken >= SEATS:
                    raise RoomError(f"This room is full: it has {SEATS} seats.")
            self._seats[token] = taken
            return taken

    def ask(self, question: Question) -> None:
        """Begin a round; answers to the one before count no more."""
        with self._lock:
            self.rounds.append(Round(question=question))
        self._tell()

    def reveal(self) -> None:
        """Show the right answer of the last round, or what was wrong with its mechanism."""
        self.rounds[-1].revealed = True
        self._tell()

    def _tell(self) -> None:
        """Have phones drawn again, one after the other: the server has time for other visits."""
        for k, wake in enumerate(list(self.phones.values())):
            wake(_APART * k)

    def coin(self, number: int, seat: int) -> tuple[bool, float]:
        """The coin and the published number of ``seat`` in round ``number``, tossed once."""
        here = self.rounds[number]
        if here.question.audit is None:
            raise ValueError("only rounds of guesses have coins")
        with self._lock:
            if seat not in here.coins:
                inside = secrets.randbelow(2) == 1
                seed = np.random.SeedSequence(secrets.randbits(128))
                published: FloatArray = outputs(here.question.audit, inside, 1, seed)
                here.coins[seat] = inside, float(published[0][0])
            return here.coins[seat]

    def answer(self, number: int, seat: int, option: int) -> None:
        """Take the first answer of ``seat`` in round ``number``.

        Raises ``RoomError`` for a second one, or where that round is over.
        """
        with self._lock:
            here = self.rounds[number]
            if number != len(self.rounds) - 1 or self.over:
                raise RoomError(f"Round {number + 1} is over: this answer came too late.")
            if here.answers.setdefault(seat, option) != option:
                raise RoomError("Your first answer of this round counts, and stays.")

    @property
    def over(self) -> bool:
        """Whether the room has ended."""
        return time.monotonic() >= self.until

    def close(self) -> None:
        """End the room now."""
        self.until = 0.0
        self._tell()


_rooms: dict[str, Room] = {}
_lock = threading.Lock()


def open_room(host: str) -> Room:
    """Open a room that the visit with the token ``host`` leads; the one that it leads already, if
    there is one.

    Raises ``RoomError`` where as many are open as a server has.
    """
    with _lock:
        _forget_ended()
        if own := next((room for room in _rooms.values() if room.is_led_by(host)), None):
            return own
        if len(_rooms) >= _MOST_ROOMS:
            raise RoomError(f"{_MOST_ROOMS} rooms are open here, as many as may be: try later.")
        code = ""
        while not code or code in _rooms:
            code = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
        _rooms[code] = Room(code, host)
        return _rooms[code]


def room_of(text: str, tries: list[float], visit: tuple[str, str] = ("", "")) -> Room:
    """The open room with the code ``text``; small letters and spaces do as well.

    ``tries`` are the times of a visit's wrong codes, and grow. Raises ``RoomError`` for a code of
    no room, and where there were too many, unless ``visit`` (its tokens) leads the room.
    """
    code = "".join(text.split()).upper()
    if len(code) != LENGTH or not set(code) <= set(LETTERS):
        raise RoomError(f"'{text[:20]}' is no code: it must be {LENGTH} letters, as ABCDEF.")
    with _lock:
        _forget_ended()
        room = _rooms.get(code)
    if room is not None and room.is_led_by(*visit):
        return room
    now = time.monotonic()
    tries[:] = [at for at in tries if now - at < _WAIT]
    if len(tries) >= _TRIES:
        raise RoomError(f"{_TRIES} wrong codes: the next one may be entered in a minute.")
    if room is not None:
        return room
    tries.append(now)
    raise RoomError(
        f"There is no room {code}: it may have been closed, have ended after {HOURS} hours, or be "
        "on another server."
    )


def _forget_ended() -> None:
    for code in [code for code, room in _rooms.items() if room.over]:
        del _rooms[code]
