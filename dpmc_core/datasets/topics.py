"""Made-up documents about known topics.

Lives here: twelve topics with words of their own and the generator of documents. The list of words is fixed here, before any document, so
nothing about a document can be read off it. Does not live here: weighting (``text``) or scoring (``metrics.factors``).
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpmc_core import limits
from dpmc_core.datasets.samples import Samples
from dpmc_core.datasets.text import TextFilter, samples_of_counts

__all__ = ["TOPICS", "topic_documents", "vocabulary"]

_TOPIC_WORDS = {
    "cooking": "oven butter flour recipe onion simmer pepper taste kitchen garlic sauce dough",
    "football": "goal striker referee penalty league stadium midfield tackle corner keeper derby transfer",
    "weather": "storm rainfall forecast thunder cloud humid breeze frost drought sunny hail gale",
    "space": "orbit rocket planet lunar astronaut comet telescope satellite gravity galaxy launch crater",
    "music": "guitar melody chorus drummer concert rhythm album violin opera singer tempo encore",
    "health": "doctor vaccine symptom clinic nurse fever therapy patient surgery dose allergy diagnosis",
    "money": "bank loan interest inflation deposit budget credit mortgage dividend savings currency broker",
    "law": "judge verdict lawyer trial appeal witness statute jury prison evidence defendant court",
    "travel": "passport airport hotel luggage ferry tourist itinerary visa cruise hostel souvenir railway",
    "garden": "compost seedling pruning tulip lawn hedge greenhouse orchard mulch weeds blossom spade",
    "school": "teacher pupil homework exam lesson classroom textbook grammar algebra semester diploma tutor",
    "ocean": "coral whale tide plankton lagoon dolphin seabed reef harbour trawler kelp current",
}
_BACKGROUND = [
    "people",
    "year",
    "time",
    "day",
    "week",
    "report",
    "story",
    "place",
    "group",
    "number",
    "week",
    "world",
    "question",
    "thing",
    "part",
    "point",
    "case",
    "example",
    "morning",
    "evening",
    "letter",
    "office",
    "street",
    "house",
    "city",
    "region",
    "visit",
    "meeting",
    "change",
    "result",
    "reason",
    "idea",
    "name",
    "photo",
    "plan",
    "word",
    "list",
    "page",
    "line",
    "minute",
    "member",
    "family",
    "friend",
    "event",
    "public",
    "local",
    "recent",
    "common",
]
TOPICS = tuple(_TOPIC_WORDS)
_OWN_SHARE = 0.75  # of a document's words that belong to its topics; the others are background
_LENGTH = 60  # words of a document, on average
_SPREAD = 0.15  # Dirichlet parameter: mostly one topic, sometimes two or three
_CHUNK = 10_000


def vocabulary() -> tuple[str, ...]:
    """All words, in alphabetical order."""
    return tuple(
        sorted(
            {word for words in _TOPIC_WORDS.values() for word in words.split()} | set(_BACKGROUND)
        )
    )


def true_topics() -> NDArray[np.float64]:
    """D×12: how often each word is used by each topic, columns of length 1; within a topic the k-th word has weight 1/√k."""
    words = vocabulary()
    table = np.zeros((len(words), len(TOPICS)))
    for k, own in enumerate(_TOPIC_WORDS.values()):
        for place, word in enumerate(own.split(), start=1):
            table[words.index(word), k] = place**-0.5
    return np.asarray(table / np.linalg.norm(table, axis=0))


def topic_documents(n: int, seed: int = 0) -> Samples:
    """``n`` documents, each a draw of words from a mixture of the topics and of background words; TF-IDF as for real text.

    Raises ``ParameterError`` for n out of range.
    """
    n = limits.check_int("n_samples", n)
    rng = np.random.default_rng([seed, 0x70C])
    words = vocabulary()
    topics = true_topics()
    topics = topics / topics.sum(axis=0)
    background = np.zeros(len(words))
    background[[words.index(word) for word in set(_BACKGROUND)]] = 1 / len(set(_BACKGROUND))
    blocks, labels = [], []
    for start in range(0, n, _CHUNK):
        size = min(_CHUNK, n - start)
        mix = rng.dirichlet(np.full(len(TOPICS), _SPREAD), size)
        chances = _OWN_SHARE * mix @ topics.T + (1 - _OWN_SHARE) * background
        lengths = 10 + rng.poisson(_LENGTH - 10, size)
        blocks.append(
            sparse.csc_array(
                rng.multinomial(lengths, chances / chances.sum(axis=1, keepdims=True)).T.astype(
                    np.float64
                )
            )
        )
        labels += [TOPICS[k] for k in mix.argmax(axis=1)]
    return samples_of_counts(
        sparse.csc_array(sparse.hstack(blocks)),
        words,
        name="Synthetic topics",
        chosen=TextFilter(min_documents=1, max_share=1.0, most_words=len(words)),
        labels=tuple(labels),
        truth=true_topics(),
        public_words=True,
    )
