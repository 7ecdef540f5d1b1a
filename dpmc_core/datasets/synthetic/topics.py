"""Made-up documents about known topics.

Twelve topics with words of their own and the generator of documents. The list of words is fixed
(``data/topics.toml``) before any document, so nothing about a document can be read off
it.
"""

import numpy as np
from scipy import sparse

from dpmc_core import limits
from dpmc_core.arrays import FloatArray
from dpmc_core.datasets.samples import Samples
from dpmc_core.datasets.text import TextFilter, samples_of_counts
from dpmc_core.facts import facts

_TOPIC_WORDS: dict[str, str] = facts("topics")["topics"]
_BACKGROUND: set[str] = set(facts("topics")["background"].split())
TOPICS = tuple(_TOPIC_WORDS)
_OWN_SHARE = 0.75  # of a document's words that belong to its topics; the others are background
_LENGTH = 60  # words of a document, on average
_SPREAD = 0.15  # Dirichlet parameter: mostly one topic, sometimes two or three
_CHUNK = 10_000


def vocabulary() -> tuple[str, ...]:
    """All words, in alphabetical order."""
    return tuple(
        sorted({word for words in _TOPIC_WORDS.values() for word in words.split()} | _BACKGROUND)
    )


def true_topics() -> FloatArray:
    """D×12: how often each word is used by each topic, columns of length 1.

    Within a topic the k-th word has weight 1/√k.
    """
    words = vocabulary()
    table = np.zeros((len(words), len(TOPICS)))
    for k, own in enumerate(_TOPIC_WORDS.values()):
        for place, word in enumerate(own.split(), start=1):
            table[words.index(word), k] = place**-0.5
    return np.asarray(table / np.linalg.norm(table, axis=0))


def topic_documents(n: int, seed: int = 0) -> Samples:
    """``n`` documents, each a draw of words from a mixture of the topics and of background words.

    TF-IDF as for real text.

    Raises ``ParameterError`` for n out of range.
    """
    n = limits.check_int("n_samples", n)
    rng = np.random.default_rng([seed, 0x70C])
    words = vocabulary()
    topics = true_topics()
    topics = topics / topics.sum(axis=0)
    background = np.zeros(len(words))
    background[[words.index(word) for word in _BACKGROUND]] = 1 / len(_BACKGROUND)
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
