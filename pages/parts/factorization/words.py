"""A topic's heaviest words as a class may see them."""

import re
from collections.abc import Sequence

from dpmc_core.factorization.step import FloatArray
from dpmc_core.metrics.topics import top_words

__all__ = ["CUT", "shown_words"]

CUT = "Coarse words, which the list of common words has too, are cut to their first letter."
_COARSE = re.compile(
    r"asshole|bitch|bollock|bullshit|chickenshit|cocksuck|cunt|dickhead|dicks?$|faggot|fuck|goddam"
    r"|horseshit|jackass|motherfuck|nigger|piss|prick|pussy$|shit|slut|tits$|twat|wank|whore"
)


def shown_words(
    dictionary: FloatArray, words: Sequence[str], count: int
) -> list[list[tuple[str, float]]]:
    """``top_words`` of a dictionary (words × topics), the coarse ones as their first letter."""
    return [
        [(f"{word[0]}…" if _COARSE.match(word) else word, weight) for word, weight in topic]
        for topic in top_words(dictionary, words, count)
    ]
