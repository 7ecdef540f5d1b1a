"""What was read of somebody's file is asked about where it is doubtful."""

import re
import shlex
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest

from dpmc_core.datasets import own
from dpmc_core.datasets.own.cells import numbers, numbers_of
from tests.own.files import faces_like, mat, npy, read_table, table_of, wide_csv


def jokes(header: bool = False, users: int = 60, items: int = 12) -> bytes:
    """Ratings from -10 to 10 with 99 for "not rated" and a first column of counts."""
    rng = np.random.default_rng(7)
    values = rng.uniform(-10, 10, (users, items)).round(2)
    rated = rng.random((users, items)) < 0.6
    cells = np.column_stack([rated.sum(axis=1), np.where(rated, values, 99)])
    rows = [",".join(f"{value:g}" for value in row) for row in cells]
    names = [",".join(["rated", *(f"joke {k}" for k in range(items))])] if header else []
    return "\n".join([*names, *rows]).encode()


def test_columns_are_the_same_numbers_together_as_each_alone() -> None:
    frame = pd.DataFrame(
        {
            "words": ["1,5", "x", "true"],
            "whole": [1, 2, 3],
            "parts": [0.5, np.nan, np.inf],
            "flags": [True, False, True],
            "gaps": pd.array([1, None, 3], dtype="Int64"),
            "more words": ["", "-1e3", "n/a"],
        }
    )
    for some in (list(frame), ["words", "more words"], ["gaps", "flags", "parts"], []):
        alone = {name: numbers(frame[name]) for name in some}
        pd.testing.assert_frame_equal(
            numbers_of(frame[some]), pd.DataFrame(alone, index=frame.index), check_column_type=False
        )


def test_codes_and_counts_are_recognised_and_asked_about() -> None:
    for header in (False, True):
        own_set = read_table(jokes(header))
        assert (own_set.ratings.n_users, own_set.ratings.n_items) == (60, 12)
        assert -10 <= own_set.ratings.low < own_set.ratings.high <= 10
        doubts = " ".join(own_set.doubts)
        assert "99 stands in" in doubts
        assert "far from all others (-" in doubts
        assert ("'rated'" if header else "'column 1'") + " counts or sums up" in doubts
        assert "are a code for “not rated” (99)" in " ".join(own_set.notes)
    # of codes that stand nowhere there is nothing to say
    assert "are a code" not in " ".join(read_table(jokes(), missing="98", without="").notes)
    # the answer may be another, and is not asked again
    answered = read_table(jokes(), missing="", without="")
    assert (answered.ratings.n_items, answered.ratings.high) == (13, 99)
    assert answered.doubts == ()
    assert answered.options() == {"missing": "", "without": ""}


def test_both_forms_of_repeating_it_read_the_same() -> None:
    """Commas, quotes and blanks in names of columns included."""
    data = jokes(header=True).decode().replace("joke 3", '"a, ""b"" \'c\'"').encode()
    choices = {"without": ("a, \"b\" 'c'", "joke 5"), "missing": (99.0, -3), "low": -10.1234567}
    own_set = read_table(data, **choices)
    assert own_set.options()["low"] == "-10.1234567"  # to the last digit
    words = shlex.split(own_set.words())
    repeated = dict(w.split("=", 1) for w in words[words.index("--read") + 1 :: 2])
    for options in (repeated, own_set.options()):
        assert read_table(data, **options).reading == own_set.reading


RNG = np.random.default_rng
STARS = RNG(3).integers(1, 6, (40, 6)).astype(float)


USUAL = [(99,), (999,), (-1,), (-9,), (-99,), (-999,), (9999,), (99, -1)]
NO_CODES = {
    "stars": STARS,
    "thumbs": np.where(STARS > 3, 1.0, -1.0),
    "-2 to 2, through -1": STARS - 3,
    "19 to 99": STARS * 20 - 1,
    "half stars": STARS / 2,
    "to 100": STARS * 20,
    "0 and 1": np.where(STARS > 4, 0.0, 1.0),
    "both sides of 0": RNG(4).uniform(-10, 10, (40, 6)),
    "counts": RNG(4).lognormal(3, 1, (40, 6)).round(),
    "a low rating": np.where(np.arange(240).reshape(40, 6) == 7, 1.0, 9 + STARS % 2),
    "every row the same": np.tile(np.arange(1.0, 7.0), (40, 1)),
    "hardly rated": (RNG(5).random((500, 5)) < 0.002).astype(float),
}
# what could be a code is asked about and read as a rating
POSSIBLE = [(-1, 0, 1), (9, 1, 2, 3, 4, 5), (99, 1, 20, 40, 60)]
SCALES = {
    "stars": STARS,
    "half stars": STARS / 2,
    "from 0 to 100": STARS * 20 - 20 * (STARS == 1),
    "both sides of 0": NO_CODES["both sides of 0"],
    "yes and no": STARS % 2,
}
SLIPS = [(999,), (-99,), (555, 777), (-999, 999)]


def with_codes(codes: tuple[float, ...]) -> np.ndarray:
    values = STARS.copy()
    for k, code in enumerate(codes):
        values[k::3, ::2] = code
    return values


def with_slips(values: np.ndarray, places: Sequence[int], slips: Sequence[float]) -> np.ndarray:
    slipped = values.copy()
    slipped.flat[[*places]] = slips
    return slipped


MANY = with_slips(np.tile(STARS, (5, 1)), range(0, 1200, 120), range(20, 30))
TABLES: list[tuple[str, np.ndarray, set[float], str]] = [
    *(
        (
            f"codes {codes}",
            with_codes(codes),
            {*codes},
            "far from all others .* read as “not rated”",
        )
        for codes in USUAL
    ),
    *((f"no codes: {name}", values, set(), "") for name, values in NO_CODES.items()),
    *(
        (
            f"a code perhaps: {values[0]}",
            RNG(9).choice(np.array(values, dtype=float), (60, 8)),
            set(),
            rf"{values[0]} stands in .*Read as ratings",
        )
        for values in POSSIBLE
    ),
    ("many slips", MANY, set(), "and 4 more numbers stand in"),
    *(
        (
            f"slips {slips} in {name}",
            with_slips(values, (8, 100)[: len(slips)], slips),
            set(),
            f"^{' and '.join(map(str, slips))} stands? in {len(slips)} cells?, first in line 3; "
            "all others are ",
        )
        for name, values in SCALES.items()
        for slips in SLIPS
    ),
]


@pytest.mark.parametrize(
    ("values", "codes", "question"), [row for _, *row in TABLES], ids=[name for name, *_ in TABLES]
)
def test_codes_far_from_all_others_are_recognised_or_asked_about(
    values: np.ndarray, codes: set[float], question: str
) -> None:
    """And what is no code, and no count, is neither."""
    preview = own.inspect("ratings", "a.csv", wide_csv(values))
    doubts = {question.field: question.text for question in preview.questions}
    assert {*preview.reading.missing} == codes
    assert preview.reading.without == ()
    assert doubts.keys() - {"zeros"} == {"missing"} if question else not doubts
    assert re.search(question, doubts.get("missing", ""))


@pytest.mark.parametrize(
    ("head", "cell", "users", "question"),
    [
        ("city", lambda k: ("Rome", "Oslo", "Bonn")[k % 3], 60, "says the same in several rows"),
        ("name", "Film {}".format, 60, "Each row is taken as one user, by 'name'"),
        ("Produkt", "P{}".format, 12, "Rows are taken as items and columns as users"),
        ("age", lambda k: str(1000 + 3 * k), 60, "by 'age'"),
        ("user", lambda k: f"u{k // 2}", 30, "rows with the same name are one user"),
        ("user", "u{}".format, 60, ""),
        ("id", "a{}".format, 60, ""),
        ("", str, 60, ""),
    ],
)
def test_who_is_a_user_of_a_wide_table_is_asked(
    head: str, cell: Callable[[int], str], users: int, question: str
) -> None:
    lines = [",".join([head, *(f"j{k}" for k in range(12))])]
    for row in range(60):
        lines.append(",".join([cell(row), *(str(1 + (row * 7 + k * 3) % 5) for k in range(12))]))
    own_set = read_table("\n".join(lines).encode())
    assert own_set.ratings.n_users == users
    doubts = [doubt for doubt in own_set.doubts if "What is protected" in doubt]
    assert len(doubts) == bool(question)
    assert question in "".join(doubts)


@pytest.mark.parametrize("slip", [0, -1, 6, 9, 11, 45])
def test_a_slip_beyond_an_end_of_stars_widens_the_scale_only_if_one_says_so(slip: float) -> None:
    values = STARS.copy()
    values[5, 5] = slip
    (question,) = read_table(wide_csv(values)).questions
    assert f"{slip:g} stands in 1 cell, first in line 7; all others are 1 to 5." in question.text
    assert question.choices == ("", f"{slip:g}")
    for choice, scale in (("", (min(1, slip), max(5, slip))), (f"{slip:g}", (1, 5))):
        again = read_table(wide_csv(values), missing=choice)
        assert again.entry.scale == scale
        assert again.questions == ()


@pytest.mark.parametrize(
    ("name", "most"),
    [
        *((n, 40) for n in ("plays", "n_plays", "views", "clicks", "listen_count", "purchases")),
        ("quantity", 40),
        *((n, 5) for n in ("rating", "viewpoint", "score", "player", "country_rating")),
    ],
)
def test_columns_of_counts_are_asked_about_and_those_of_ratings_are_not(
    name: str, most: int
) -> None:
    rows = (f"u{k % 9},i{k},{k % most}" for k in range(90))
    own_set = read_table(table_of(*rows, header=f"user,item,{name}"))
    texts = [question.text for question in own_set.questions if question.field == "value"]
    assert len(texts) == (most == 40)
    assert all(f"'{name}' looks like counts" in text for text in texts)
    assert set(texts) <= set(own_set.doubts)


@pytest.mark.parametrize("decimals", [1, 2])
def test_a_column_of_averages_is_no_item(decimals: int) -> None:
    """However it is called and rounded; rounded to whole numbers only its name tells."""
    means = STARS.mean(axis=1)
    own_set = read_table(wide_csv(np.column_stack([STARS, means.round(decimals)])))
    (question,) = own_set.questions
    assert "'i6' counts or sums up the other columns: passed over." in question.text
    assert own_set.ratings is not None
    assert own_set.ratings.n_items == STARS.shape[1]
    named = wide_csv(np.column_stack([STARS, means.round()])).replace(b"i6", b"Average")
    assert "'Average' counts" in read_table(named).questions[0].text


def test_what_else_is_known_of_items_is_nobodys_rating() -> None:
    rng = RNG(6)
    rows = (
        f"film {k},{rng.integers(1, 6)},{1000 + 7 * k},{1950 + k},{90 + k % 40}" for k in range(60)
    )
    data = table_of(*rows, header="title,rating,votes,year,len")
    preview = own.inspect("ratings", "a.csv", data)
    assert (preview.reading.layout, preview.reading.value) == ("long", "rating")
    (text,) = (question.text for question in preview.questions if question.field == "user")
    assert "No column says that it names users" in text


def test_long_tables_of_codes_without_a_users_column_and_without_ratings() -> None:
    rows = [f"{k % 20},b{k % 7},{99 if k % 5 == 0 else k % 4 + 1}" for k in range(140)]
    unnamed, named = (
        read_table(table_of(*rows, header=f"{w},what,stars")) for w in ("who", "user")
    )
    assert unnamed.ratings.high == 4
    assert any("No column says that it names users: 'who'" in doubt for doubt in unnamed.doubts)
    assert any("99 stands in 28 cells" in doubt for doubt in unnamed.doubts)
    assert not any("names users" in doubt for doubt in named.doubts)
    rows = (f"u{k % 9},m{k % 7},2024-01-0{1 + k % 9}" for k in range(60))
    likes = table_of(*rows, header="user,movie,when")
    (question,) = own.inspect("ratings", "a.csv", likes).questions
    assert question.text.startswith("No column holds ratings: each row is taken as a like")


@pytest.mark.parametrize(("count", "side"), [(400, 16), (49, 20), (64, 8)])
def test_both_ways_of_a_flat_table_are_told_apart_by_their_pixels(count: int, side: int) -> None:
    """Where the number of images is a square as well as that of pixels."""
    flat = faces_like(count, side).reshape(count, -1)
    for values, rows in ((flat, "images"), (flat.T, "pixels")):
        own_set = own.read("images", "a.npy", npy(values))
        assert own_set.reading.rows == rows
        assert (len(own_set.images), own_set.images.shape) == (count, (side, side))
        text = f"is read as {count} images of {side}×{side}"
        assert any(text in doubt for doubt in own_set.doubts)
    assert own.read("images", "a.mat", mat(faces=flat.T)).reading.rows == "pixels"


def test_a_stack_is_told_apart_by_its_pixels() -> None:
    faces = faces_like(30, 32)  # fewer images than an image has rows
    for values, usual in ((faces, True), (np.moveaxis(faces, 0, 2), False)):
        own_set = own.read("images", "a.npy", npy(values))
        assert len(own_set.images) == 30
        assert bool(own_set.doubts) is not usual


@pytest.mark.long
def test_a_table_as_large_as_a_file_may_be() -> None:
    """20,000 rows of 101 columns, as collections of ratings of jokes have."""
    assert read_table(jokes(users=20_000, items=100)).ratings.n_items == 100


def test_the_ends_of_the_scale_choose_no_column() -> None:
    rows = (f"g{k % 9},t{k // 9},{k % 5 + 1}" for k in range(60))
    data = table_of(*rows, header="group,title,rating")
    usual, scaled = (own.describe("ratings", "a.csv", data, **low) for low in ({}, {"low": 1}))
    assert usual["columns"] == scaled["columns"]


def test_an_index_that_is_given_is_asked_about_no_more() -> None:
    rows = (f"{k},p{k},1,2,3,4,5" for k in range(9))
    data = table_of(*rows, header="row,user,i1,i2,i3,i4,i5")
    assert own.describe("ratings", "a.csv", data, index="row")["asked"] == []
    assert "row number" not in own.describe("ratings", "a.csv", data, index="none")["columns"]


def test_nobodys_ratings_decide_what_is_not_rated_once_the_scale_is_given() -> None:
    """One more 99 is a code without a given scale, and a rating like the others with it."""
    rows = [f"u{k},i{j},{(k * j) % 30 + 1}" for k in range(40) for j in range(30)]
    for often in (2, 3):
        data = table_of(*rows, *(f"v{k},i0,99" for k in range(often)))
        assert read_table(data).reading.missing == ((99.0,) if often == 3 else ())
        scaled = read_table(data, low=1, high=100, users=60)
        assert 99.0 not in scaled.reading.missing
        assert 999.0 in scaled.reading.missing
        assert (scaled.ratings.values == 99).sum() == often
