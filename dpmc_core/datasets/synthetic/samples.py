"""Synthetic images and documents made of known parts, which learned ones are scored against.

Cartoon faces are put together from twenty drawn parts, documents from twelve topics with words of
their own. Any number of either can be made, so that "privacy needs N" can be seen. The list of
words is fixed (``data/topics.toml``) before any document, so nothing about a document can be read
off it.
"""

import numpy as np
from scipy import sparse

from dpmc_core import limits
from dpmc_core.arrays import FloatArray
from dpmc_core.datasets.samples import Samples
from dpmc_core.datasets.text import TextFilter, samples_of_counts
from dpmc_core.facts import facts

SIDE = 24  # pixels a side

# name -> x, y, half-width and half-height of a blob, and how often a face has it
_PARTS: dict[str, tuple[float, ...]] = facts("faces")
_RINGS = {"outline, round", "glasses"}  # their edge alone is drawn
_PAIRS = {"glasses", "moustache", "mouth, corners", "ear rings"}  # with one on the left as well
_FACES_AT_A_TIME = 20_000


def parts() -> FloatArray:
    """The true parts, D×20, every column of length 1.

    Overlaps are small but there (glasses and eyes, moustache and nose).
    """
    axis = (2 * np.arange(SIDE) + 1) / SIDE - 1
    x, y = np.meshgrid(axis, axis)
    columns = []
    for name, (right, cy, rx, ry, _) in _PARTS.items():
        drawn = np.zeros((SIDE, SIDE))
        for cx in (right, -right) if name in _PAIRS else (right,):
            radius = np.hypot((x - cx) / rx, (y - cy) / ry)
            away = np.abs(radius - 1) if name in _RINGS else np.maximum(radius - 1, 0)
            drawn = np.maximum(drawn, np.exp(-((away * min(rx, ry) / 0.06) ** 2)))
        columns.append(np.where(drawn > 0.05, drawn, 0.0).ravel())
    table = np.stack(columns, axis=1)
    return np.asarray(table / np.linalg.norm(table, axis=0))


def cartoon_faces(n: int, seed: int = 0) -> Samples:
    """``n`` faces: each part is there with its own chance, as strong as 0.5 to 1.5 times its
    brightness, plus a little pixel noise.

    Raises ``ParameterError`` for n out of range.
    """
    n = limits.check_int("n_samples", n)
    rng = np.random.default_rng([seed, 0xFACE])
    table = parts() / parts().max(axis=0)
    chances = np.array([chance for *_, chance in _PARTS.values()])
    stack = np.empty((n, SIDE, SIDE))
    for start in range(0, n, _FACES_AT_A_TIME):
        size = min(_FACES_AT_A_TIME, n - start)
        there = rng.random((chances.size, size)) < chances[:, None]
        there[6, ~there.any(axis=0)] = True  # nobody is a blank page: the left eye
        strength = there * rng.uniform(0.5, 1.5, there.shape)
        pixels = table @ strength + rng.exponential(0.02, (SIDE * SIDE, size))
        stack[start : start + size] = pixels.T.reshape(size, SIDE, SIDE)
    return Samples.of_images(stack, name="Cartoon faces", truth=parts(), drawn=True)


_TOPIC_WORDS: dict[str, str] = facts("topics")["topics"]
_BACKGROUND: set[str] = set(facts("topics")["background"].split())
TOPICS = tuple(_TOPIC_WORDS)
_OWN_SHARE = 0.75  # of a document's words that belong to its topics; the others are background
_LENGTH = 60  # words of a document, on average
_SPREAD = 0.15  # Dirichlet parameter: mostly one topic, sometimes two or three
_DOCUMENTS_AT_A_TIME = 10_000


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
    for start in range(0, n, _DOCUMENTS_AT_A_TIME):
        size = min(_DOCUMENTS_AT_A_TIME, n - start)
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
