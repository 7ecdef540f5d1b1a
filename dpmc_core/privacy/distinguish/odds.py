"""ε as an attacker's odds, the clearest of the explanations of ε compared by Nanayakkara et al.
(USENIX Security 2023).
"""

import math

__all__ = ["guess_bound", "odds_sentence", "subject"]


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
    "An attacker's chance to tell whether you are in the data rises from 50 in
    100 to at most about 73 in 100, by ε alone."
    """
    if math.isinf(epsilon):
        return f"No bound: an attacker may be certain whether {subject}."
    chance, alone = 100 * guess_bound(epsilon, delta), "ε and δ" if delta else "ε"
    if chance > 99.99:
        return (
            f"An attacker may be all but certain whether {subject} (more than 99.99 in 100), by "
            f"{alone} alone."
        )
    shown = (
        f"{chance:.0f}" if chance < 98.5 else f"{chance:.1f}" if chance < 99.85 else f"{chance:.2f}"
    )
    return (
        f"An attacker's chance to tell whether {subject} rises from 50 in 100 to at most about "
        f"{shown} in 100, by {alone} alone."
    )
