"""What was read of somebody's file is asked about where it is doubtful."""

import shlex
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from dpmc_core.datasets import own
from dpmc_core.datasets.own.cells import coded, option_text
from dpmc_core.datasets.own.table_files import open_table
from dpmc_core.datasets.own.table_guesses import guess_ratings
from dpmc_core.datasets.own.tables import RatingsReading
from dpmc_core.errors import DataError, ParameterError
from tests.own.files import entries, faces_like, mat, npy, read_table, table_of


def jokes(header: bool = False, code: float = 99, users: int = 60, items: int = 12) -> bytes:
    """Ratings from -10 to 10 with 99 for "not rated" and a first column of counts."""
    rng = np.random.default_rng(7)
    values = rng.uniform(-10, 10, (users, items)).round(2)
    rated = rng.random((users, items)) < 0.6
    rows = [
        ",".join(
            [
                str(int(kept.sum())),
                *(f"{v:g}" if k else f"{code:g}" for v, k in zip(row, kept, strict=True)),
            ]
        )
        for row, kept in zip(values, rated, strict=True)
    ]
    names = [",".join(["rated", *(f"joke {k}" for k in range(items))])] if header else []
    return "\n".join([*names, *rows]).encode()


def test_codes_and_counts_are_found_and_asked_about() -> None:
    for header in (False, True):
        one = read_table(jokes(header))
        assert (one.ratings.n_users, one.ratings.n_items) == (60, 12)
        assert -10 <= one.ratings.low < one.ratings.high <= 10
        said = " ".join(one.doubts)
        assert "99 stands in" in said
        assert "far from all others (-" in said
        assert ("'rated'" if header else "'column 1'") + " counts or sums up" in said
        assert "are a code for “not rated” (99)" in " ".join(one.notes)


def test_the_answer_may_be_another_and_is_not_asked_again() -> None:
    one = read_table(jokes(), missing="", without="")
    assert (one.ratings.n_items, one.ratings.high) == (13, 99)
    assert one.doubts == ()
    assert one.options() == {"missing": "", "without": ""}


def test_both_forms_of_repeating_it_read_the_same() -> None:
    """Commas, quotes and blanks in names of columns included."""
    table = jokes(header=True).decode().replace("joke 3", '"a, ""b"" \'c\'"').encode()
    one = read_table(table, without=("a, \"b\" 'c'", "joke 5"), missing=(99.0, -3))
    words = shlex.split(one.words())
    given = dict(w.split("=", 1) for w in words[words.index("--read") + 1 :: 2])
    again = read_table(table, **given)
    assert again.reading == one.reading
    assert read_table(table, **one.options()).reading == one.reading


def table(values: np.ndarray) -> bytes:
    return "\n".join(
        [",".join(["user", *(f"i{k}" for k in range(values.shape[1]))])]
        + [",".join([f"u{k}", *(f"{v:g}" for v in row)]) for k, row in enumerate(values)]
    ).encode()


def doubts_of(values: np.ndarray) -> tuple[RatingsReading, dict[str, str]]:
    reading, asked = guess_ratings(open_table("a.csv", table(values)))
    return reading, {question.field: question.text for question in asked}


STARS = np.random.default_rng(3).integers(1, 6, (40, 6)).astype(float)


@pytest.mark.parametrize("code", [99, 999, -1, -9, -99, -999, 9999])
def test_usual_codes_far_from_all_others(code: float) -> None:
    values = STARS.copy()
    values[::3, ::2] = code
    reading, doubts = doubts_of(values)
    assert reading.missing == (code,)
    assert list(doubts) == ["missing"]


def test_two_codes_in_one_table() -> None:
    values = STARS.copy()
    values[::3, ::2], values[1::3, ::2] = 99, -1
    assert set(doubts_of(values)[0].missing) == {99.0, -1.0}


@pytest.mark.parametrize(
    "values",
    [
        STARS,
        np.where(STARS > 3, 1.0, -1.0),  # thumbs
        STARS - 3,  # -2 to 2, through -1
        STARS * 20 - 1,  # 19 to 99
        STARS / 2,
        STARS * 20,  # to 100
        np.where(STARS > 4, 0.0, 1.0),
        np.random.default_rng(4).uniform(-10, 10, (40, 6)),
        np.random.default_rng(4).lognormal(3, 1, (40, 6)).round(),  # counts
        np.where(np.arange(240).reshape(40, 6) == 7, 1.0, 9 + STARS % 2),  # a low rating
        np.tile(np.arange(1.0, 7.0), (40, 1)),  # every row the same
    ],
)
def test_what_is_no_code_and_no_count_stays(values: np.ndarray) -> None:
    reading, doubts = doubts_of(values)
    assert (reading.missing, reading.without, doubts) == ((), (), {})


@pytest.mark.parametrize("kind", ["sum", "mean", "count"])
def test_sums_and_means_are_no_items(kind: str) -> None:
    values = STARS.copy()
    values[np.random.default_rng(5).random(values.shape) < 0.3] = np.nan
    more = {
        "sum": np.nansum(values, axis=1),
        "mean": np.nanmean(values, axis=1).round(3),
        "count": np.isfinite(values).sum(axis=1),
    }[kind]
    reading, doubts = doubts_of(np.column_stack([values, more]))
    assert reading.without == ("i6",)
    assert "without" in doubts


def wide(head: str, cell: Callable[[int], str], rows: int = 60) -> bytes:
    lines = [",".join([head, *(f"j{k}" for k in range(12))])]
    for row in range(rows):
        values = (str(1 + (row * 7 + k * 3) % 5) for k in range(12))
        lines.append(",".join([cell(row), *values]))
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    ("head", "cell", "users", "asked"),
    [
        ("city", lambda k: ("Rome", "Oslo", "Bonn")[k % 3], 60, "says the same in several rows"),
        ("name", lambda k: f"Film {k}", 60, "Each row is taken as one user, by 'name'"),
        ("Produkt", lambda k: f"P{k}", 12, "Rows are taken as items and columns as users"),
        ("age", lambda k: str(1000 + 3 * k), 60, "by 'age'"),
        ("user", lambda k: f"u{k // 2}", 30, "rows with the same name are one user"),
        ("user", lambda k: f"u{k}", 60, ""),
        ("id", lambda k: f"a{k}", 60, ""),
        ("", lambda k: str(k), 60, ""),
    ],
)
def test_who_is_a_user_of_a_wide_table_is_asked(
    head: str, cell: Callable[[int], str], users: int, asked: str
) -> None:
    made = read_table(wide(head, cell))
    assert made.ratings.n_users == users
    said = [doubt for doubt in made.doubts if "What is protected" in doubt]
    assert len(said) == bool(asked)
    assert not asked or asked in said[0]


@pytest.mark.parametrize("values", [(-1, 0, 1), (9, 1, 2, 3, 4, 5), (99, 1, 20, 40, 60)])
def test_what_could_be_a_code_is_asked_about_and_read_as_a_rating(values: tuple[int, ...]) -> None:
    table_of = np.random.default_rng(9).choice(np.array(values, dtype=float), (60, 8))
    reading, doubts = doubts_of(table_of)
    assert reading.missing == ()
    assert f"{values[0]} stands in" in doubts["missing"]
    assert "Read as ratings" in doubts["missing"]


def test_names_in_a_reading_are_written_as_they_are() -> None:
    assert option_text(("Group 1.0", 5.0, -1.5)) == "Group 1.0,5,-1.5"


def test_many_different_slips_are_asked_about_too() -> None:
    values = np.tile(STARS, (5, 1))
    values.flat[::120] = 20 + np.arange(values.flat[::120].size)
    _, doubts = doubts_of(values)
    assert f"and {values.flat[::120].size - 6} more numbers stand in" in doubts["missing"]


SCALES = {
    "stars": STARS,
    "half stars": STARS / 2,
    "to 100": STARS * 20 - 20 * (STARS == 1),
    "both sides of 0": np.random.default_rng(4).uniform(-10, 10, (40, 6)),
    "yes and no": STARS % 2,
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("slips", [(999,), (-99,), (555, 777), (-999, 999)], ids=str)
def test_few_ratings_far_from_all_others_are_asked_about(
    scale: str, slips: tuple[float, ...]
) -> None:
    values = SCALES[scale].copy()
    values.flat[[8, 100][: len(slips)]] = slips
    reading, doubts = doubts_of(values)
    assert reading.missing == ()
    first, last = min(slips, default=0), max(slips)
    cells = "1 cell" if first == last else "2 cells"
    assert doubts["missing"].startswith(" and ".join(map(str, sorted(slips))) + " stand")
    assert f"in {cells}, first in line 3; all others are " in doubts["missing"]


@pytest.mark.parametrize("slip", [0, -1, 6, 9, 11, 45])
def test_a_slip_beyond_an_end_of_stars_widens_the_scale_only_if_one_says_so(slip: float) -> None:
    values = STARS.copy()
    values[5, 5] = slip
    made = read_table(table(values))
    (asked,) = made.asked
    assert f"{slip:g} stands in 1 cell, first in line 7; all others are 1 to 5." in asked.text
    assert asked.choices == ("", f"{slip:g}")
    for choice, scale in zip(asked.choices, [(min(1, slip), max(5, slip)), (1, 5)], strict=True):
        again = read_table(table(values), missing=choice)
        assert again.entry.scale == scale
        assert again.asked == ()


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
    made = read_table(
        table_of(*(f"u{k % 9},i{k},{k % most}" for k in range(90)), header=f"user,item,{name}")
    )
    asked = [question.text for question in made.asked if question.field == "value"]
    assert len(asked) == (most == 40)
    assert all(f"'{name}' looks like counts" in text for text in asked)
    assert set(asked) <= set(made.doubts)


def test_ids_that_differ_in_blanks_around_them_are_one() -> None:
    rows = [f"{who},i{k},{1 + k % 5}" for k in range(12) for who in ("bob", " bob", "ann ")]
    made = read_table(table_of(*rows))
    assert made.ratings.user_labels == ("ann", "bob")
    assert any("rated already" in note for note in made.notes)


def test_items_that_hardly_anybody_rates_are_no_counts() -> None:
    rng = np.random.default_rng(5)
    reading, doubts = doubts_of((rng.random((500, 5)) < 0.002).astype(float))
    assert reading.without == ()
    assert "without" not in doubts


def test_what_else_is_known_of_items_is_nobodys_rating() -> None:
    rng = np.random.default_rng(6)
    lines = ["title,rating,votes,year,len"]
    for k in range(60):
        lines.append(f"film {k},{rng.integers(1, 6)},{1000 + 7 * k},{1950 + k},{90 + k % 40}")
    preview = own.inspect("ratings", "a.csv", "\n".join(lines).encode())
    assert (preview.reading.layout, preview.reading.value) == ("long", "rating")
    (asked,) = (question.text for question in preview.asked if question.field == "user")
    assert "No column says that it names users" in asked


def test_a_long_table_of_codes_and_one_without_a_users_column() -> None:
    rows = [f"{k % 20},b{k % 7},{99 if k % 5 == 0 else k % 4 + 1}" for k in range(140)]
    one = read_table("\n".join(["who,what,stars", *rows]).encode())
    assert one.ratings.high == 4
    assert any("No column says that it names users: 'who'" in said for said in one.doubts)
    assert any("99 stands in 28 cells" in said for said in one.doubts)
    known = read_table("\n".join(["user,what,stars", *rows]).encode())
    assert not any("names users" in said for said in known.doubts)


def test_a_table_of_items_by_users_protects_users() -> None:
    wide = read_table(table(STARS))
    lines = table(STARS.T).decode().splitlines()
    header = ",".join(["movie", *(f"u{k}" for k in range(40))])
    rows = [f"i{k}," + line.split(",", 1)[1] for k, line in enumerate(lines[1:])]
    turned = read_table("\n".join([header, *rows]).encode())
    assert turned.reading.layout == "turned"
    assert any("Rows are taken as items" in said for said in turned.doubts)
    assert entries(wide) == entries(turned)
    back = read_table("\n".join([header, *rows]).encode(), layout="wide", user="movie")
    assert back.ratings.n_users == 6


@pytest.mark.parametrize("said", ["many", "nan", "inf", "1e99", "99;1", ",".join(["1"] * 21)])
def test_what_is_no_code_is_refused(said: str) -> None:
    with pytest.raises(ParameterError, match=r"missing = .* at most 20 numbers with commas"):
        read_table(table(STARS), missing=said)


def test_a_column_to_pass_over_must_be_there() -> None:
    with pytest.raises(ParameterError, match=r"without = .* names of columns"):
        read_table(table(STARS), without="x" * 200_000)
    with pytest.raises(ParameterError, match=r"without = 'age' is not allowed: it must be one of"):
        read_table(table(STARS), without="age")


@pytest.mark.parametrize(("count", "side"), [(400, 16), (49, 20), (64, 8)])
def test_both_ways_of_a_flat_table_are_told_apart_by_their_pixels(count: int, side: int) -> None:
    """Where the number of images is a square as well as that of pixels."""
    faces = faces_like(count, side)
    flat = faces.reshape(count, -1)
    for made, rows in ((flat, "images"), (flat.T, "pixels")):
        one = own.read("images", "a.npy", npy(made))
        assert one.reading.rows == rows
        assert (len(one.images), one.images.shape) == (count, (side, side))
        assert any(f"is read as {count} images of {side}×{side}" in said for said in one.doubts)
    one = own.read("images", "a.mat", mat(faces=flat.T))
    assert one.reading.rows == "pixels"


def test_a_stack_is_told_apart_by_its_pixels() -> None:
    faces = faces_like(30, 32)  # fewer images than an image has rows
    for made, usual in ((faces, True), (np.moveaxis(faces, 0, 2), False)):
        one = own.read("images", "a.npy", npy(made))
        assert len(one.images) == 30
        assert bool(one.doubts) is not usual


@pytest.mark.long
def test_a_table_as_large_as_a_file_may_be() -> None:
    """20,000 rows of 101 columns, as collections of ratings of jokes have."""
    one = read_table(jokes(users=20_000, items=100))
    assert one.ratings.n_items == 100


def test_the_ends_of_the_scale_choose_no_column() -> None:
    rows = "".join(f"g{k % 9},t{k // 9},{k % 5 + 1}\n" for k in range(60))
    data = f"group,title,rating\n{rows}".encode()
    plain, scaled = (own.describe("ratings", "a.csv", data, **ends) for ends in ({}, {"low": 1}))
    assert plain["columns"] == scaled["columns"]


def test_a_cell_too_long_is_refused_with_its_line() -> None:
    data = b"user,item,rating\n" + b"a,b,3\n" * 20 + b"a," + b"x" * 200_000 + b",3\n"
    with pytest.raises(DataError, match=r"after line 21: .* more than 131,072 characters"):
        read_table(data)


def test_an_index_that_is_given_is_asked_about_no_more() -> None:
    rows = "".join(f"{k},p{k},{','.join('12345')}\n" for k in range(9))
    data = f"row,user,i1,i2,i3,i4,i5\n{rows}".encode()
    assert own.describe("ratings", "a.csv", data, index="row")["asked"] == []
    assert "row number" not in own.describe("ratings", "a.csv", data, index="none")["columns"]


def test_nobodys_ratings_decide_what_is_not_rated_once_the_scale_is_given() -> None:
    """One more 99 is a code without a given scale, and a rating like the others with it."""
    rows = [f"u{k},i{j},{(k * j) % 30 + 1}" for k in range(40) for j in range(30)]
    for often in (2, 3):
        table = "\n".join(["user,item,rating", *rows, *(f"v{k},i0,99" for k in range(often))])
        guessed = read_table(table.encode())
        given = read_table(table.encode(), low=1, high=100, users=60)
        assert guessed.reading.missing == ((99.0,) if often == 3 else ())
        assert 99.0 not in given.reading.missing
        assert 999.0 in given.reading.missing
        assert (given.ratings.values == 99).sum() == often


def test_one_odd_id_renames_no_other() -> None:
    """Of floating ids in Parquet: one user's item 1.5 would else make all others 1.0, 2.0, …"""
    codes, names = coded(pd.Series([1.0, 2.0, np.nan, 1.5, 2.0]))
    assert [names[code] if code >= 0 else "" for code in codes] == ["1", "2", "", "1.5", "2"]
