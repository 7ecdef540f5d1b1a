"""Documents to words, counts and TF-IDF (by scikit-learn)."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress
from typing import Any

import numpy as np
from scipy import sparse

from dpmc_core.datasets.samples import Samples, check_entries
from dpmc_core.errors import DataError
from dpmc_core.wording import counted

_INVISIBLE = re.compile("[\u00ad\u2060\ufeff]")  # soft hyphens and marks that join: inside a word

LANGUAGES = {
    "english": "en",
    "german": "de",
    "spanish": "es",
    "french": "fr",
    "italian": "it",
    "portuguese": "pt",
    "dutch": "nl",
}
_COMMONEST = 200  # of a language other than English: they stand for its stop words


@dataclass(frozen=True, kw_only=True)
class TextFilter:
    """Which words count.

    ``word_list`` "documents": those in at least ``min_documents`` documents, in at most a share
    ``max_share`` of them, and of those the ``most_words`` that occur most often. That reads every
    document: which words there are may tell that one is there. Otherwise the list is public: the
    ``most_words`` most frequent of one of ``LANGUAGES``, or "published", as a file of counts names
    them. "private": all words, of which a run chooses with noise. ``stop_words`` leaves out
    scikit-learn's English list.
    """

    word_list: str = "documents"
    min_documents: int = 3
    max_share: float = 0.5
    most_words: int = 5000
    stop_words: bool = True

    @property
    def sentence(self) -> str:
        """The filter in words, for an error message."""
        if self.word_list == "private":
            return "any word at all"
        if self.word_list != "documents":
            return f"the {self.word_list} list of words; word_list = documents takes their own"
        return (
            f"words in at least {self.min_documents} documents and at most "
            f"{100 * self.max_share:g} % of them, the {self.most_words:,} most frequent, "
            f"{'without' if self.stop_words else 'with'} stop words"
        )


@lru_cache(maxsize=1)
def word_pattern() -> str:
    """The regular expression of a word in any script.

    A letter and two or more letters or combining marks (Unicode M: accents, and the vowel signs of
    Indic scripts, Thai, Arabic and Hebrew, which ``\\w`` leaves out), with zero-width joiners
    between them. What holds a digit is none: numbers make poor topic words.

    >>> re.findall(word_pattern(), "दिन में x\u0301yz B2B3 को")
    ['दिन', 'में', 'x́yz']
    """
    is_mark = [unicodedata.category(chr(c))[0] == "M" for c in range(0x20000)]
    ends = np.flatnonzero(np.diff(is_mark)) + 1  # of ranges, which are matched faster than marks
    mark = "".join(f"{chr(a)}-{chr(b - 1)}" for a, b in ends.reshape(-1, 2))
    mark += "\U000e0100-\U000e01ef"  # the only others: variants of Chinese characters
    letter = r"[^\W\d_]"
    word = rf"{letter}(?:[\u200c\u200d]*(?:{letter}|[{mark}])){{2,}}+"
    return rf"(?<![\w{mark}]){word}(?![\w{mark}])"


def _composed(text: str) -> str:
    """``text`` in lower case and as its readers see it, however its accents are written."""
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", text)).lower()


def _vectorizer(stop_words: bool = False) -> Any:
    """Scikit-learn's counter of words."""
    # here: it takes a second to load, and few need it
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(
        preprocessor=_composed,
        token_pattern=word_pattern(),
        stop_words="english" if stop_words else None,
    )


@lru_cache(maxsize=8)
def public_words(language: str, count: int, stop_words: bool) -> tuple[str, ...]:
    """The ``count`` most frequent words of a language, in alphabetical order.

    From pyspellchecker's lists, which know nothing of the documents. ``stop_words`` leaves out
    scikit-learn's English ones, or the 200 most frequent of another language.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
    from spellchecker import SpellChecker  # here: its lists take half a second

    often = SpellChecker(language=LANGUAGES[language]).word_frequency.dictionary
    word = re.compile(word_pattern())
    ranked = sorted((w for w in often if word.fullmatch(w)), key=lambda w: (-often[w], w))
    if stop_words:
        left_out = ENGLISH_STOP_WORDS if language == "english" else set(ranked[:_COMMONEST])
        ranked = [word for word in ranked if word not in left_out]
    return tuple(sorted(ranked[:count]))


def tokens(texts: Sequence[str], words: Sequence[str]) -> list[list[str]]:
    """Each document as its words in order, those in ``words`` only."""
    vocabulary, analyse = set(words), _vectorizer().build_analyzer()
    return [[word for word in analyse(text) if word in vocabulary] for text in texts]


def samples_of_texts(
    texts: Sequence[str], *, name: str, chosen: TextFilter, **about: Any
) -> Samples:
    """TF-IDF columns of ``texts`` after the filter ``chosen``; ``about`` as in
    ``samples_of_counts``.

    Raises ``DataError`` when no word is left.
    """
    if not texts:
        raise DataError(f"{name}: there is no document.")
    maker = _vectorizer(chosen.stop_words)
    public = chosen.word_list in LANGUAGES
    if public:
        words = public_words(chosen.word_list, chosen.most_words, chosen.stop_words)
        maker.set_params(vocabulary=words, stop_words=None)
    try:
        counts = sparse.csc_array(maker.fit_transform(texts).T, dtype=np.float64)
    except ValueError:  # scikit-learn's word for an empty vocabulary
        raise DataError(
            f"{name}: no document holds a word of three letters or more that is not a stop word."
        ) from None
    words = tuple(map(str, maker.get_feature_names_out()))
    return samples_of_counts(
        counts, words, chosen=chosen, name=name, texts=tuple(texts), public_words=public, **about
    )


def samples_of_counts(
    counts: sparse.csc_array, words: tuple[str, ...], *, chosen: TextFilter, **about: Any
) -> Samples:
    """TF-IDF columns of raw ``counts`` (D×N), after the filter ``chosen``; ``about`` are other
    fields of ``Samples``: its name, and what is known of the documents.

    Documents that no word is left of are left out and counted in ``notes``.

    TF-IDF is scikit-learn's: count · (ln((1+N)/(1+df)) + 1), columns brought to length 1 (nmf-paper
    appendix A.2 names the same function). With ``public_words`` the list of words stays whole: it
    was fixed before any document. Raises ``DataError`` when no word or document is left.
    """
    whole = Samples(values=counts, counts=counts, unit="document", words=words, **about)
    check_entries(counts, whole.name, "count", "document")
    table = sparse.csr_array(counts)
    table.eliminate_zeros()
    if not whole.public_words and chosen.word_list != "private":
        in_documents, n = np.diff(table.indptr), len(whole)
        keep = (in_documents >= chosen.min_documents) & (in_documents <= chosen.max_share * n)
        if not keep.any():
            raise DataError(
                f"{whole.name}: the filter leaves no word ({chosen.sentence}; {n:,} documents). "
                "Lower the least number of documents or raise the largest share."
            )
        often = np.asarray(table.sum(axis=1)).ravel()
        most = min(chosen.most_words, int(keep.sum()))
        order = np.sort(np.argsort(np.where(keep, -often, np.inf), kind="stable")[:most])
        table, words = table[order], tuple(words[k] for k in order)
    kept_counts = sparse.csc_array(table)
    filled = np.diff(kept_counts.indptr) > 0
    if not filled.any():
        raise DataError(f"{whole.name}: no document holds any word of it ({chosen.sentence}).")
    notes, left_out = whole.notes, int((~filled).sum())
    if left_out:
        holds = counted(left_out, "document holds", "documents hold")
        notes = (*notes, f"{holds} none of the words: left out.")
        kept_counts = sparse.csc_array(kept_counts[:, filled])
    from sklearn.feature_extraction.text import TfidfTransformer  # here, as above

    weighted = TfidfTransformer(norm=None).fit_transform(sparse.csr_array(kept_counts.T))
    return replace(
        whole,
        values=whole.normalised(sparse.csc_array(weighted.T)),
        words=words,
        counts=kept_counts,
        texts=tuple(compress(whole.texts, filled)),
        labels=tuple(compress(whole.labels, filled)),
        notes=notes,
        of=whole.places.where(filled),
    )
