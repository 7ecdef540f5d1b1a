"""What was read of somebody's file is asked about where it is doubtful."""

import re
import shlex
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpmc_core.datasets import own
from dpmc_core.datasets.own.columns import role_of
from tests.own.files import faces_like, mat, npy, read_table, table_by, table_of, wide_csv

RNG = np.random.default_rng
STARS = RNG(3).integers(1, 6, (40, 6)).astype(float)


def questions_about(data: bytes, **choices: Any) -> dict[str, str]:
    """The questions about a table, by field of its reading."""
    questions = own.inspect("ratings", "a.csv", data, **choices).questions
    return {question.field: question.text for question in questions}


def jokes(header: bool, users: int = 60, items: int = 12) -> bytes:
    """Ratings from -10 to 10 with 99 for "not rated" and a first column of counts."""
    rng = RNG(7)
    values = rng.uniform(-10, 10, (users, items)).round(2)
    rated = rng.random(values.shape) < 0.6
    cells = np.column_stack([rated.sum(axis=1), np.where(rated, values, 99)])
    rows = [",".join(f"{value:g}" for value in row) for row in cells]
    names = ",".join(["rated", *(f"joke {k}" for k in range(items))])
    return "\n".join([names, *rows][not header :]).encode()


@pytest.mark.parametrize("header", [False, True])
def test_codes_and_counts_are_recognised_and_asked_about(header: bool) -> None:
    table = read_table(jokes(header))
    assert (table.ratings.n_users, table.ratings.n_items) == (60, 12)
    assert -10 <= table.ratings.low < table.ratings.high <= 10
    counts = "rated" if header else "column 1"
    for doubt in ("99 stands in", "far from all others (-", f"'{counts}' counts or sums up"):
        assert doubt in str(table.questions)
    assert "are a code for “not rated” (99)" in " ".join(table.notes)
    # of codes that stand nowhere there is nothing to say
    assert "are a code" not in " ".join(read_table(jokes(header), missing="98", without="").notes)
    # the answer may be another, and is not asked again
    answered = read_table(jokes(header), missing="", without="")
    assert (answered.ratings.n_items, answered.ratings.high) == (13, 99)
    assert (answered.questions, answered.options()) == ((), {"missing": "", "without": ""})


@pytest.mark.long
def test_a_table_as_large_as_a_file_may_be_is_read() -> None:
    """20,000 rows of 101 columns, as collections of ratings of jokes have."""
    assert read_table(jokes(header=False, users=20_000, items=100)).ratings.n_items == 100


def test_both_forms_of_repeating_it_read_the_same() -> None:
    """Commas, quotes and blanks in names of columns included."""
    data = jokes(header=True).decode().replace("joke 3", '"a, ""b"" \'c\'"').encode()
    choices = {"without": ("a, \"b\" 'c'", "joke 5"), "missing": (99.0, -3), "low": -10.1234567}
    table = read_table(data, **choices)
    assert table.options()["low"] == "-10.1234567"  # to the last digit
    words = shlex.split(table.words())
    repeated = dict(w.split("=", 1) for w in words[words.index("--read") + 1 :: 2])
    for options in (repeated, table.options()):
        assert read_table(data, **options).reading == table.reading


USUAL = [(99,), (999,), (-1,), (-9,), (-99,), (-999,), (9999,), (99, -1)]
NO_CODES = {
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


def with_cells(values: np.ndarray, at: Any, numbers: Any) -> np.ndarray:
    """A copy with these numbers in these cells, counted through row after row."""
    changed = values.copy()
    changed.flat[at] = numbers
    return changed


def coded(*codes: int) -> np.ndarray:
    values = STARS.copy()
    for k, code in enumerate(codes):
        values[k::3, ::2] = code
    return values


MANY = with_cells(np.tile(STARS, (5, 1)), range(0, 1200, 120), range(20, 30))
TABLES: dict[str, tuple[np.ndarray, tuple[float, ...], str]] = {
    **{
        f"codes {codes}": (coded(*codes), codes, "far from all others .* read as “not rated”")
        for codes in USUAL
    },
    **{f"no codes: {name}": (values, (), "") for name, values in NO_CODES.items()},
    **{
        f"perhaps {code}": (
            RNG(9).choice(np.array([code, *others], dtype=float), (60, 8)),
            (),
            rf"{code} stands in .*Read as ratings",
        )
        for code, *others in POSSIBLE
    },
    "many slips": (MANY, (), "and 4 more numbers stand in"),
    **{
        f"slips {slips} in {name}": (
            with_cells(values, [8, 100][: len(slips)], slips),
            (),
            f"^{' and '.join(map(str, slips))} stands? in {len(slips)} cells?, first in line 3; "
            "all others are ",
        )
        for name, values in SCALES.items()
        for slips in SLIPS
    },
}


@pytest.mark.parametrize(("values", "codes", "question"), TABLES.values(), ids=TABLES)
def test_codes_far_from_all_others_are_recognised_or_asked_about(
    values: np.ndarray, codes: tuple[float, ...], question: str
) -> None:
    """And what is no code, and no count, is neither."""
    preview = own.inspect("ratings", "a.csv", wide_csv(values))
    doubts = {question.field: question.text for question in preview.questions}
    assert {*preview.reading.missing} == {*codes}
    assert preview.reading.without == ()
    assert doubts.keys() - {"zeros"} == {"missing"} if question else not doubts
    assert re.search(question, doubts.get("missing", ""))


@pytest.mark.parametrize("slip", [0, -1, 6, 9, 11, 45])
def test_a_slip_beyond_an_end_of_stars_widens_the_scale_only_if_one_says_so(slip: int) -> None:
    table = wide_csv(with_cells(STARS, 35, slip))
    (question,) = read_table(table).questions
    assert f"{slip} stands in 1 cell, first in line 7; all others are 1 to 5." in question.text
    assert question.choices == ("", f"{slip}")
    for choice, scale in (("", (min(1, slip), max(5, slip))), (f"{slip}", (1, 5))):
        again = read_table(table, missing=choice)
        assert (again.entry.scale, again.questions) == (scale, ())


@pytest.mark.parametrize(
    ("head", "cell", "users", "question"),
    [
        ("city", lambda k: ("Rome", "Oslo", "Bonn")[k % 3], 60, "says the same in several rows"),
        ("name", "Film {}".format, 60, "Each row is taken as one user, by 'name'"),
        ("Produkt", "P{}".format, 12, "Rows are taken as items and columns as users"),
        ("age", lambda k: str(1000 + 3 * k), 60, "by 'age'"),
        ("user", lambda k: f"u{k // 2}", 30, "rows with the same name are one user"),
    ],
)
def test_who_is_a_user_of_a_wide_table_is_asked(
    head: str, cell: Callable[[int], str], users: int, question: str
) -> None:
    columns = [[head, *map(cell, range(60))]]
    columns += [
        [f"j{k}", *(f"{1 + (7 * row + 3 * k) % 5}" for row in range(60))] for k in range(12)
    ]
    table = read_table("\n".join(map(",".join, zip(*columns, strict=True))).encode())
    assert table.ratings.n_users == users
    (doubt,) = (doubt for doubt in map(str, table.questions) if "What is protected" in doubt)
    assert question in doubt


def test_columns_of_counts_are_asked_about_and_those_of_ratings_are_not() -> None:
    counts = {"plays", "n_plays", "views", "clicks", "listen_count", "purchases", "quantity"}
    others = {"rating", "viewpoint", "score", "player", "country_rating"}
    assert {name for name in counts | others if role_of(name)[0] == "count"} == counts
    for name in ("plays", "rating"):
        data = table_of(*(f"u{k % 9},i{k},{k % 40}" for k in range(90)), header=f"u,i,{name}")
        assert ("'plays' looks like counts" in questions_about(data).get("value", "")) == (
            name in counts
        )


@pytest.mark.parametrize(
    ("decimals", "name"), [(1, "i6"), (2, "i6"), (0, "Average")], ids=["1", "2", "by name"]
)
def test_a_column_of_averages_is_no_item(decimals: int, name: str) -> None:
    """However it is called and rounded; rounded to whole numbers only its name tells."""
    means = STARS.mean(axis=1).round(decimals)
    table = read_table(wide_csv(np.column_stack([STARS, means])).replace(b"i6", name.encode()))
    (question,) = table.questions
    assert f"{name!r} counts or sums up the other columns: passed over." in question.text
    assert table.ratings.n_items == 6


def test_columns_that_say_nothing_are_asked_about() -> None:
    # what else is known of items is nobody's rating
    films = table_by(
        lambda k: f"f{k},{k * 7 % 5},{k * 7 + 9},{1900 + k},{90 + k % 40}",
        140,
        "title,rating,votes,year,len",
    )
    reading = own.inspect("ratings", "a.csv", films).reading
    assert (reading.layout, reading.value) == ("long", "rating")
    assert "No column says that it names users" in questions_about(films)["user"]
    for who in ("who", "user"):
        stars = table_by(
            lambda k: f"{k % 20},b{k % 7},{k % 4 + 1 if k % 5 else 99}", 140, f"{who},what,stars"
        )
        assert read_table(stars).ratings.high == 4
        doubts = questions_about(stars)
        assert "99 stands in 28 cells" in doubts["missing"]
        assert ("names users: 'who'" in doubts.get("user", "")) == (who == "who")
    (question,) = questions_about(
        table_by(lambda k: f"u{k % 9},m{k % 7},2024-01-0{1 + k % 9}", 140, "user,movie,when")
    ).values()
    assert question.startswith("No column holds ratings: each row is taken as a like")


def test_what_is_given_is_asked_about_no_more() -> None:
    data = table_of(*(f"{k},p{k},1,2,3,4,5" for k in range(9)), header="row,user,i1,i2,i3,i4,i5")
    assert not questions_about(data, index="row")
    assert "row number" not in own.describe("ratings", "a.csv", data, index="none")["columns"]
    # the ends of the scale choose no column
    rows = (f"g{k % 9},t{k // 9},{k % 5 + 1}" for k in range(60))
    data = table_of(*rows, header="group,title,rating")
    guessed, scaled = (own.describe("ratings", "a.csv", data, **low) for low in ({}, {"low": 1}))
    assert guessed["columns"] == scaled["columns"]


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


@pytest.mark.parametrize(("count", "side"), [(400, 16), (49, 20), (64, 8)])
def test_both_ways_of_a_flat_table_are_told_apart_by_their_pixels(count: int, side: int) -> None:
    """Where the number of images is a square as well as that of pixels."""
    flat = faces_like(count, side).reshape(count, -1)
    for file, data, rows in (
        ("a.npy", npy(flat), "images"),
        ("a.npy", npy(flat.T), "pixels"),
        ("a.mat", mat(faces=flat.T), "pixels"),
    ):
        images = own.read("images", file, data)
        assert images.reading.rows == rows
        assert (len(images.images), images.images.shape) == (count, (side, side))
        (question,) = images.questions
        assert f"is read as {count} images of {side}×{side}" in question.text


def test_a_stack_is_told_apart_by_its_pixels() -> None:
    faces = faces_like(30, 32)  # fewer images than an image has rows
    for values, doubtful in ((faces, False), (np.moveaxis(faces, 0, 2), True)):
        images = own.read("images", "a.npy", npy(values))
        assert (len(images.images), bool(images.questions)) == (30, doubtful)
