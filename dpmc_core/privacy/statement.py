"""Statements: what can honestly be said about a ledger, and ε as an attacker's odds.

Who is protected, against what, how much and how that was counted; and the caveats of the papers'
algorithms, whose sensitivities are assumed, not derived. Odds were the clearest of the
explanations of ε compared by Nanayakkara et al. (USENIX Security 2023).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace

from dpmc_core.errors import ParameterError
from dpmc_core.facts import facts
from dpmc_core.mechanisms import Gaussian
from dpmc_core.privacy.account import OWN_PROOF, Account, account, best, best_published, tightest
from dpmc_core.privacy.ledger import Ledger, Release
from dpmc_core.wording import JsonObject, finite, power, three

_CAVEATS = facts("caveats")
_GROUP = 10  # images or documents of one person
(
    NOMINAL_CAVEATS,
    JOINT_CAVEATS,
    FACTOR_CAVEATS,
    PUBLISHED_NMF_CAVEATS,
    RANDOM_NMF_CAVEATS,
    ROW_CAVEATS,
) = (
    tuple(text.format(**_CAVEATS["shared"]) for text in _CAVEATS[kind])
    for kind in ("nominal", "joint", "factors", "published_nmf", "random_nmf", "rows")
)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What a run protects and how that was counted; by default that of a run without noise.

    One ε at one δ, by the tightest valid method, the others beside it.

    ``epsilon`` holds for everything released together, at ``delta`` (0 where adding up ε is
    tightest); ``epsilon_per_draw`` is one draw counted as the papers do (their printed Gaussian
    values use another formula). ``epsilon_published`` follows from published results
    alone; it differs from ``epsilon`` only where that rests on this project's own proof.
    ``nominal`` is True when any sensitivity is assumed, or what should be public was read off the
    data (``uncovered``): then nothing here is a guarantee. Infinite ε is None in ``as_dict``.
    ``secret`` says whether nobody can draw the noise again (None: not known).
    """

    unit: str = "none"
    neighbours: str = "none"
    epsilon: float = math.inf
    delta: float = 0.0
    epsilon_per_draw: float = math.inf
    epsilon_published: float = math.inf
    draws: int = 0
    how: str = "no noise was added, so nothing is protected"
    nominal: bool = False
    accounts: tuple[Account, ...] = ()
    caveats: tuple[str, ...] = ()
    secret: bool | None = None
    uncovered: tuple[str, ...] = ()

    @property
    def private(self) -> bool:
        """Whether any noise was drawn."""
        return self.draws > 0

    @property
    def label(self) -> str:
        """One short line for tables and metrics."""
        if not self.private:
            return f"not private: {self.how.partition(', so ')[0]}"
        kind = "nominal" if self.nominal else "guaranteed"
        at = f" at δ = {power(self.delta)}" if self.delta else ""
        if self.secret is False and not self.nominal:
            at += "; repeatable for teaching"
        if self.uncovered:
            at += f"; {', '.join(self.uncovered)} read off the data"
        if self.draws == 1:
            return f"{kind} ε = {three(self.epsilon)} for one release{at}"
        # noise is spread unevenly over the releases: only the total means something
        if self.uncovered or not self.nominal:
            return f"{kind} ε = {three(self.epsilon)} in total, over {self.draws:,} releases{at}"
        return (
            f"{kind} ε = {three(self.epsilon_per_draw)} per release, {three(self.epsilon)} over "
            f"{self.draws:,} releases{at}"
        )

    @property
    def odds(self) -> str:
        """What its ε says of an attacker's odds, in one sentence."""
        return odds_sentence(self.epsilon, self.delta, subject(self.unit))

    @property
    def lines(self) -> list[str]:
        """What is protected, of whom, and how that was counted, as lines of text."""
        lines = [self.label + "; not a guarantee" * (self.private and self.nominal)]
        if self.private:
            lines += [f"unit: one {self.unit}, neighbours: {self.neighbours}; {self.how}"]
        return [*lines, *(f"  - {caveat}" for caveat in self.caveats)]

    def as_dict(self) -> JsonObject:
        """A JSON-able copy; an infinite ε becomes None."""
        return finite({**asdict(self), "label": self.label})


def state(
    ledger: Ledger,
    delta: float = 1e-5,
    rating_width: float | None = None,
    draws_so_far: int | None = None,
    *,
    secret: bool | None = None,
    public: Mapping[str, str] | None = None,
) -> Statement:
    """The statement of a ledger at ``delta``.

    ``rating_width`` is the width of the data's rating scale, told beside an assumed Δ.
    ``draws_so_far`` says how many releases of a planned ledger were made (all, left out): the
    others count too, since who stops a run has seen what it came to. ``secret`` says whether its
    noise came from the operating system, or follows from a seed (None: not known here). ``public``
    has what is assumed public of the data, and by what; "" where it was read off the data without
    noise: ε does not cover that, so it is nominal. Raises ``ParameterError`` for δ out of range, or
    a ledger that mixes units or neighbours: one ε cannot speak of both.
    """
    if not ledger.private:
        return Statement()
    if any(release.kind == "huber-stopped" for release in ledger.releases):
        return Statement(how="noise ends before the last iteration, so nothing is protected")
    first, public = ledger.releases[0], public or {}
    uncovered = tuple(fact for fact, by in public.items() if not by)
    stated = tuple(f"{fact} ({by})" for fact, by in public.items() if by)
    for field in ("unit", "neighbours"):
        named = sorted({getattr(release, field) for release in ledger.releases})
        if len(named) > 1:
            raise ParameterError(
                field, " and ".join(named), "the same for all releases of a ledger"
            )
    answers = account(ledger, delta)
    tight, published = best(answers), best_published(answers)
    proof = (
        ""
        if tight.published
        else f"; this {OWN_PROOF}. By published results alone ε = {three(published.epsilon)}"
    )
    return Statement(
        unit=first.unit,
        neighbours=first.neighbours,
        epsilon=tight.epsilon,
        delta=tight.delta,
        epsilon_per_draw=max(_one_draw(release, delta) for release in ledger.releases),
        epsilon_published=published.epsilon,
        draws=ledger.draws,
        how=f"{tight.title}: {tight.how[0].lower()}{tight.how[1:].rstrip('.')}{proof}",
        nominal=bool(uncovered) or not ledger.sound,
        accounts=answers,
        caveats=(
            *_of_this_run(ledger, uncovered, stated, secret=secret, draws_so_far=draws_so_far),
            *_caveats(ledger, delta, rating_width),
        ),
        secret=secret,
        uncovered=uncovered if ledger.sound else (),
    )


def _of_this_run(
    ledger: Ledger,
    uncovered: tuple[str, ...],
    stated: tuple[str, ...],
    *,
    secret: bool | None,
    draws_so_far: int | None,
) -> Iterator[str]:
    """What is to be said of what was public, how noise was drawn, and how far the run has come."""
    if uncovered:
        yield _CAVEATS["public"]["uncovered"].format(facts=", ".join(uncovered))
    if ledger.failure and ledger.releases[0].unit == "document":
        yield _CAVEATS["words"]["chosen"].format(failure=three(ledger.failure))
    if ledger.sound and secret is not None:
        yield _CAVEATS["chance"]["secret" if secret else "repeatable"]
    for runs in sorted({release.mean_runs for release in ledger.releases} - {1.0}):
        yield _CAVEATS["chance"]["chosen"].format(runs=three(runs))
    if ledger.sampled:
        yield _CAVEATS["chance"]["sampled"]
    if draws_so_far not in (None, ledger.draws):
        yield (
            f"So far {draws_so_far:,} of the {ledger.draws:,} planned releases were made. ε is of "
            "the whole plan all the same: when to stop may depend on errors, which are computed "
            "without noise."
        )
    if stated:
        yield _CAVEATS["public"]["stated"].format(facts="; ".join(stated))


def _one_draw(release: Release, delta: float) -> float:
    """ε of one draw as the papers count it.

    ΑΔ/s (huber-paper Theorem 2.1), Δ/b, or the exact Gaussian ε at δ.
    """
    if isinstance(release.mechanism, Gaussian):
        return release.mechanism.epsilon_at_delta(delta, release.l2_sensitivity)
    return release.mechanism.epsilon(release.l1_sensitivity)


def group_epsilon(ledger: Ledger, size: int, delta: float) -> float:
    """ε at the same ``delta`` for ``size`` units that change together.

    They move each release by at most ``size`` times as much, so it is the ε of the ledger whose
    sensitivities are ``size`` times as large; of samples, which one of them is in more often than
    each, it is taken as of all data. Where δ > 0 that may be more than ``size``·ε.

    >>> from dpmc_core.privacy.ledger import Release
    >>> noise = Gaussian.with_epsilon(1.0, 1.0, delta=1e-5)
    >>> one = Release(what="x", mechanism=noise, l1_sensitivity=1.0, l2_sensitivity=1.0,
    ...     unit="image", neighbours="add/remove-one", coordinates=1, count=1, sound=True,
    ...     source="y")
    >>> round(group_epsilon(Ledger((one,)), 10, 1e-5), 1)
    14.4

    Infinite where releases may fail: what several have alone may be above a threshold that what one
    has is below.
    """
    if ledger.failure:
        return math.inf
    moved = (
        replace(
            release,
            l1_sensitivity=size * release.l1_sensitivity,
            l2_sensitivity=size * release.l2_sensitivity,
            linf_sensitivity=release.linf_sensitivity and size * release.linf_sensitivity,
            sampling_rate=1.0,
        )
        for release in ledger.releases
    )
    return tightest(Ledger(tuple(moved)), delta)


def _caveats(ledger: Ledger, delta: float, rating_width: float | None) -> tuple[str, ...]:
    """What an assumed sensitivity leaves out; for sound statements about users, what they cover."""
    kinds, unit = {release.kind for release in ledger.releases}, ledger.releases[0].unit
    if ledger.sound:
        if kinds & {"factorization", "average", "photographs"}:
            of_group = group_epsilon(ledger, _GROUP, delta)
            images, of_images = _CAVEATS["images"], unit == "image"
            return (
                *FACTOR_CAVEATS,
                *(images["alike"],) * (of_images and "photographs" in kinds),
                *(images["few"],) * (of_images and kinds == {"average"}),
                f"One {unit} is protected, not a person: for somebody in {_GROUP} of them "
                + (
                    f"ε is {'at most ' * ledger.sampled}{three(of_group)} at the same δ."
                    if math.isfinite(of_group)
                    else "nothing is promised: a word that only they use may be on the list."
                ),
            )
        return JOINT_CAVEATS if "completion" in kinds else ROW_CAVEATS if "rows" in kinds else ()
    if kinds <= {"nmf-paper", "nmf-random"}:
        weighted = (_CAVEATS["shared"]["weights"],) * (unit == "document")
        of_start = PUBLISHED_NMF_CAVEATS if "nmf-paper" in kinds else RANDOM_NMF_CAVEATS
        return (*of_start, *weighted)
    if kinds == {"dpnmf"}:
        return (
            f"Printed ε are of one release; this run made {ledger.draws:,}.",
            "The users' vectors are computed from their ratings without noise: changing one "
            "rating changes that user's vector, hence the terms of every item the user rated. "
            "No Δ is derived for that.",
            *NOMINAL_CAVEATS[1:2],
            "Only the abstract of Ran et al. 2022 was at hand; details are this project's "
            "(dpmc_core/completion/dpnmf.py).",
        )
    from_paper = [r for r in ledger.releases if r.kind.startswith("huber-")]
    if not from_paper:
        return (
            "The sensitivity is assumed, not derived: its author must show why nobody can "
            "move the release more.",
        )
    of_sums, of_users, *others = NOMINAL_CAVEATS
    of_sums = _CAVEATS["noise_on"]["output"] if "huber-output" in kinds else of_sums
    of_users = _CAVEATS["noise_on"]["both"] if "huber-users" in kinds else of_users
    of_counts = (_CAVEATS["noise_on"]["ratings"],) * ("huber-ratings" in kinds)
    width = "" if rating_width is None else f" Ratings here span {three(rating_width)}."
    return (
        f"Printed ε in the papers are of one release; this run made {ledger.draws:,}.",
        f"The sensitivity is taken to be Δ = {three(from_paper[0].l1_sensitivity)}, as the "
        f"papers assume for all their data (about the width of the rating range).{width}",
        "Each draw is accounted for as if one coordinate changed by Δ; one rating affects many.",
        of_sums,
        of_users,
        *of_counts,
        *others,
    )


def guess_bound(epsilon: float, delta: float = 0.0) -> float:
    """The best probability of guessing right which of two neighbouring datasets was used, each
    having had chance 1/2.

    (e^ε + δ)/(1 + e^ε), from the region of attainable errors (Kairouz, Oh & Viswanath 2015, Theorem
    2.1: an (ε, δ)-DP release gives an attacker at most (e^ε − 1 + 2δ)/(e^ε + 1) over chance).

    >>> round(guess_bound(1.0), 3)
    0.731
    """
    if epsilon > 700:
        return 1.0
    odds = math.exp(epsilon)
    return min((odds + delta) / (1 + odds), 1.0)


def subject(unit: str) -> str:
    """What the attacker tries to tell, for a unit of privacy.

    >>> subject("rating")
    'a rating had this value or another'
    """
    if unit == "rating":
        return "a rating had this value or another"
    return (
        "one person is in the data" if unit in ("user", "record") else f"one {unit} is in the data"
    )


def odds_sentence(epsilon: float, delta: float = 0.0, subject: str = "you are in the data") -> str:
    """The same in words, for a person.

    >>> odds_sentence(1.0)
    'An attacker who guesses whether you are in the data is right at most about 73 times in 100
    (chance: 50), according to ε alone.'
    """
    if math.isinf(epsilon):
        return f"No bound: an attacker may be certain whether {subject}."
    chance, alone = 100 * guess_bound(epsilon, delta), "ε and δ" if delta else "ε"
    if chance > 99.99:
        return (
            f"According to {alone} alone, an attacker may be more than 99.99 % sure whether "
            f"{subject}."
        )
    shown = (
        f"{chance:.0f}" if chance < 98.5 else f"{chance:.1f}" if chance < 99.85 else f"{chance:.2f}"
    )
    return (
        f"An attacker who guesses whether {subject} is right at most about {shown} times in 100 "
        f"(chance: 50), according to {alone} alone."
    )
