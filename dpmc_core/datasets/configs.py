"""One config for each kind of dataset: how it is made or split, and making it."""

from dataclasses import dataclass, field
from typing import Annotated

from dpmc_core.config import Choice, Config, changed
from dpmc_core.datasets import loaders
from dpmc_core.datasets.catalogue import Entry, entry
from dpmc_core.datasets.loaders import load_samples
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.datasets.samples import CORRUPTIONS, Samples
from dpmc_core.datasets.synthetic import ratings as synthetic
from dpmc_core.datasets.synthetic.samples import cartoon_faces, topic_documents
from dpmc_core.datasets.text import LANGUAGES, TextFilter
from dpmc_core.errors import ParameterError
from dpmc_core.limits import LIMITS, Limit

Seed = Annotated[int, LIMITS["data_seed"]]


@dataclass(frozen=True, kw_only=True)
class Data(Config):
    """A dataset by its name, and how it is made or split. Raises ``ParameterError``."""

    dataset: str
    data_seed: int = field(default=0, init=False, repr=False)

    @property
    def entry(self) -> Entry:
        """Its entry in the catalogue."""
        return entry(self.dataset)

    @property
    def synthetic(self) -> bool:
        """Whether it is made here from a seed."""
        return self.entry.synthetic

    @property
    def open_words(self) -> bool:
        """Whether a list of words is made from the documents, which no ε covers."""
        return False

    @property
    def sizes(self) -> tuple[int, int]:
        """Rows and columns, 0 where that is not known before the data is read."""
        return 0, 0

    @property
    def amounts(self) -> str:
        """How many of what there are, in words."""
        return f"{self.sizes[1]:,} {self.entry.holds}"


SPLITS = {
    "random": "random",
    "leave-k-out": "some of each user",
    "latest": "latest",
    "u1": "published u1",
}


def _splits(*more: str) -> Choice:
    """The ways to hold ratings out that need nothing but ratings, and ``more``."""
    names = "random", "leave-k-out", *more
    meaning = "how ratings are held out"
    return Choice(names, meaning, "Split", tuple(SPLITS[name] for name in names))


@dataclass(frozen=True, kw_only=True)
class RatingsData(Data):
    """Ratings, some of which are held out (``split``: a share at random, or ``left_out`` of each
    user), of all users or a share of them: both drawn by the run's seed.
    """

    split: Annotated[str, _splits()] = "random"
    test_fraction: Annotated[float, LIMITS["test_fraction"]] = 0.2
    left_out: Annotated[
        int,
        Limit(
            1,
            100,
            "ratings held out of each user who has more, where split is leave-k-out",
            label="Held out of each user",
        ),
    ] = 1
    user_share: Annotated[float, LIMITS["user_share"]] = 1.0
    top_items: (
        Annotated[
            int,
            Limit(
                2,
                200_000,
                "the most rated items, which alone stay with their ratings; their list is read off "
                "the data without noise and taken as public",
                400,
                label="Most rated items only",
                step=100,
            ),
        ]
        | None
    ) = None

    @property
    def unread(self) -> frozenset[str]:
        """The parameters that its split does not read."""
        read = {"random": "test_fraction", "latest": "test_fraction", "leave-k-out": "left_out"}
        return frozenset({"test_fraction", "left_out"} - {read.get(self.split)})

    def make(self) -> Ratings:
        """All ratings."""
        return loaders.load(self.dataset)

    @property
    def whole(self) -> tuple[int, int]:
        """Users and items before any are left out."""
        return self.entry.users, self.entry.items

    @property
    def sizes(self) -> tuple[int, int]:
        users, items = self.whole
        return users, min(items, self.top_items or items)

    @property
    def amounts(self) -> str:
        users, items = self.sizes
        ratings = getattr(self, "n_ratings", self.entry.ratings) if self.sizes == self.whole else 0
        listed = {"users": users, "items": items, "ratings": ratings}
        return ", ".join(f"{number:,} {what}" for what, number in listed.items() if number)


@dataclass(frozen=True, kw_only=True)
class TimedData(RatingsData):
    """Ratings whose file says when each was given."""

    split: Annotated[str, _splits("latest")] = "random"


@dataclass(frozen=True, kw_only=True)
class SplitData(RatingsData):
    """Ratings whose file says when each was given, and that come with a published split."""

    split: Annotated[str, _splits("latest", "u1")] = "random"


@dataclass(frozen=True, kw_only=True)
class ZerosData(RatingsData):
    """Ratings whose file writes 0 where a person gave none."""

    zeros: Annotated[str, Choice(loaders.ZEROS, "what a 0 in the file is")] = "missing"

    def make(self) -> Ratings:
        return loaders.load(self.dataset, zeros=self.zeros)


@dataclass(frozen=True, kw_only=True)
class _Synthetic(RatingsData):
    n_users: Annotated[int, LIMITS["n_users"]] = 300
    n_items: Annotated[int, LIMITS["n_items"]] = 300
    true_rank: Annotated[int, LIMITS["true_rank"]] = 5
    data_seed: Seed = 0

    @property
    def whole(self) -> tuple[int, int]:
        return self.n_users, self.n_items


@dataclass(frozen=True, kw_only=True)
class OrthogonalData(_Synthetic):
    """See ``synthetic.orthogonal``."""

    dataset: str = "orthogonal"
    observed: Annotated[float, LIMITS["observed"]] = 0.1

    def make(self) -> Ratings:
        return synthetic.orthogonal(
            *self.whole, rank=self.true_rank, observed=self.observed, seed=self.data_seed
        )


@dataclass(frozen=True, kw_only=True)
class LowRankData(OrthogonalData):
    """See ``synthetic.low_rank``."""

    dataset: str = "low-rank"
    value_scale: Annotated[float, LIMITS["value_scale"]] = 1.0

    def make(self) -> Ratings:
        return synthetic.low_rank(
            *self.whole,
            rank=self.true_rank,
            observed=self.observed,
            value_scale=self.value_scale,
            seed=self.data_seed,
        )


@dataclass(frozen=True, kw_only=True)
class SkewedData(_Synthetic):
    """See ``synthetic.skewed``."""

    dataset: str = "skewed"
    n_ratings: Annotated[int, LIMITS["n_ratings"]] = 20_000
    popularity: Annotated[float, LIMITS["popularity"]] = 0.9
    noise_floor: Annotated[float, LIMITS["noise_floor"]] = 0.5

    def consistent(self) -> None:
        if self.n_ratings > self.n_users * self.n_items // 2:
            allowed = f"at most half of the {self.n_users} × {self.n_items} cells"
            raise ParameterError("n_ratings", self.n_ratings, allowed)

    def make(self) -> Ratings:
        return synthetic.skewed(
            *self.whole,
            self.n_ratings,
            rank=self.true_rank,
            popularity=self.popularity,
            noise_floor=self.noise_floor,
            seed=self.data_seed,
        )


@dataclass(frozen=True, kw_only=True)
class SampleData(Data):
    """Images or documents; ``data_seed`` draws whatever is drawn of them."""

    data_seed: Seed = 0
    contaminated: float = field(default=0.0, init=False, repr=False)
    normalisation: str = field(default="length", init=False, repr=False)
    n_samples: int = field(default=0, init=False, repr=False)

    def make(self) -> Samples:
        """The data before any corruption."""
        return load_samples(self.dataset, chosen=self.chosen, seed=self.data_seed)

    @property
    def chosen(self) -> TextFilter:
        """Which words of text count."""
        return TextFilter()

    @property
    def sizes(self) -> tuple[int, int]:
        return self._rows, self.entry.samples or self.n_samples

    @property
    def largest_rank(self) -> int:
        """The smaller side of the matrix, as far as it is known before the data is read."""
        return min(n for n in (*self.sizes, 10**9) if n)

    @property
    def _rows(self) -> int:
        return self.entry.dimension


Normalisation = Annotated[
    str,
    Choice(
        ("length", "maximum"),
        "what every image or document is divided by: its length (ℓ2), or its largest entry, the "
        "paper's unit maximum, and √pixels or 4, on a scale where none is longer than 1 (longer "
        "documents are cut)",
        "Normalisation",
        ("length 1", "unit maximum"),
    ),
]


@dataclass(frozen=True, kw_only=True)
class ImageData(SampleData):
    """Images, a share of which may be corrupted; errors are then taken on the clean ones."""

    contaminated: Annotated[float, LIMITS["contaminated"]] = 0.0
    spoiled_pixels: Annotated[float, LIMITS["spoiled_pixels"]] = 0.7
    corruption: Annotated[
        str,
        Choice(
            tuple(CORRUPTIONS),
            "what a corrupted pixel gets: uniform noise, as in the paper, or impulse noise, black "
            "or as bright as the image's brightest pixel",
            "Kind of corruption",
            tuple(CORRUPTIONS.values()),
        ),
    ] = "uniform"
    normalisation: Normalisation = "length"


@dataclass(frozen=True, kw_only=True)
class CartoonData(ImageData):
    """See ``cartoons.cartoon_faces``."""

    dataset: str = "cartoon"
    n_samples: Annotated[int, LIMITS["n_samples"]] = 2000

    def make(self) -> Samples:
        return cartoon_faces(self.n_samples, self.data_seed)


_UNCOVERED = "from the documents (not covered by ε)"


@dataclass(frozen=True, kw_only=True)
class DocumentData(SampleData):
    """Documents, and which of their words count.

    ``min_documents`` and ``max_share`` choose among the documents' own words.
    """

    word_list: Annotated[
        str,
        Choice(
            (*LANGUAGES, "private", "documents"),
            "where the list of words comes from: the most frequent ones of a language (public), a "
            "private choice (a part of ε and δ; not on pages), or the documents, which no ε covers",
            "Word list",
            (*(f"public: {name}" for name in LANGUAGES), "private choice", _UNCOVERED),
        ),
    ] = "english"
    min_documents: Annotated[int, LIMITS["min_documents"]] = 3
    max_share: Annotated[float, LIMITS["max_share"]] = 0.5
    most_words: Annotated[int, LIMITS["most_words"]] = 5000
    stop_words: Annotated[str, Choice(("left-out", "kept"), "stop words (and, the …)")] = "left-out"
    normalisation: Normalisation = "length"

    def consistent(self) -> None:
        for name, value in changed(self).items():
            if name in ("min_documents", "max_share") and not self.open_words:
                allowed = 'left out unless word_list = "documents": a public list reads none'
                raise ParameterError(name, value, allowed)

    @property
    def open_words(self) -> bool:
        return self.word_list == "documents"

    @property
    def chosen(self) -> TextFilter:
        return TextFilter(
            word_list=self.word_list,
            min_documents=self.min_documents,
            max_share=self.max_share,
            most_words=self.most_words,
            stop_words=self.stop_words == "left-out",
        )

    @property
    def _rows(self) -> int:
        if self.word_list in LANGUAGES:
            return self.most_words
        return self.entry.dimension or self.most_words


@dataclass(frozen=True, kw_only=True)
class TermCountData(DocumentData):
    """Documents that are counts of terms without words, a share of which is drawn."""

    word_list: Annotated[
        str,
        Choice(
            ("published", "documents"),
            "where the list of terms comes from: the file as published, or which documents hold "
            "them, which no ε covers",
            "Term list",
            ("public: all of the file", _UNCOVERED),
        ),
    ] = "published"
    term_share: Annotated[float, LIMITS["term_share"]] = 1.0

    def make(self) -> Samples:
        return load_samples(
            self.dataset, chosen=self.chosen, term_share=self.term_share, seed=self.data_seed
        )


@dataclass(frozen=True, kw_only=True)
class TopicData(DocumentData):
    """See ``topics.topic_documents``."""

    dataset: str = "topics"
    word_list: str = field(default="published", init=False, repr=False)  # fixed before any document
    n_samples: Annotated[int, LIMITS["n_samples"]] = 2000

    def make(self) -> Samples:
        return topic_documents(self.n_samples, self.data_seed)


# by the name of a synthetic set, an option of an entry, or what a set holds
_CONFIGS: dict[str, type[Data]] = {
    "low-rank": LowRankData,
    "orthogonal": OrthogonalData,
    "skewed": SkewedData,
    "cartoon": CartoonData,
    "topics": TopicData,
    "split": SplitData,
    "times": TimedData,
    "zeros": ZerosData,
    "term_share": TermCountData,
    "ratings": RatingsData,
    "images": ImageData,
    "documents": DocumentData,
}


def config_of(dataset: str, *holds: str) -> type[Data]:
    """The config of the dataset called ``dataset``, which must hold one of ``holds`` if given.

    Raises ``ParameterError`` that lists the names.
    """
    record = entry(dataset, *holds)
    names = record.name, *record.options, record.holds
    return next(_CONFIGS[name] for name in names if name in _CONFIGS)
