"""A topic's heaviest words as a class may see them."""

import re
from collections.abc import Sequence

from dpmc_core.arrays import FloatArray
from dpmc_core.metrics.topics import top_words

_COARSE = re.compile(
    r"asshole|bitch|bollock|bullshit|chickenshit|cocksuck|cunt|dickhead|dicks?$|faggot|fuck|goddam"
    r"|horseshit|jackass|motherfuck|nigger|piss|prick|pussy$|shit|slut|tits$|twat|wank|whore"
)


def shown_words(
    dictionary: FloatArray, words: Sequence[str], count: int
) -> list[list[tuple[str, float]]]:
    """``top_words`` of a dictionary (words × topics) without the coarse ones, which lists of common
    words have too.
    """
    kept = [row for row, word in enumerate(words) if not _COARSE.match(word)]
    return top_words(dictionary[kept], [words[row] for row in kept], count)
