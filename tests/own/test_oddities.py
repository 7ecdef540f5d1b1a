"""Files as they come in the wild.

Ids with gaps, tables from a pivot, sixteen bits, names that occur twice.
"""

import gc
import re
import time
import unicodedata
import weakref
from collections.abc import Callable
from io import BytesIO

import numpy as np
import pandas as pd
import pytest

from dpmc_core.datasets import own, user_datasets
from dpmc_core.datasets.own.table_files import open_table
from dpmc_core.datasets.own.table_guesses import guess_ratings
from dpmc_core.datasets.text import TextFilter
from dpmc_core.errors import DataError
from dpmc_core.experiments.presets import WELL_REGULARISED, fitted, preset
from dpmc_core.experiments.worker.reading import call, inspect, read
from dpmc_core.experiments.worker.worker import Worker
from dpmc_core.metrics.factors import keep_words, learned_words, tc_w2v
from tests.own.files import (
    documents_zip,
    long_csv,
    mat,
    npy,
    picture_file,
    pictures_zip,
    read_table,
    table_of,
    zipped,
)


def test_long_ids_and_those_with_noughts_before_them_stay_apart_in_spite_of_gaps() -> None:
    first = 76561198000000000  # as Steam numbers people: neighbours are one number as fractions
    rows = [f"{first + u},{i},{(u + i) % 5 + 1}" for u in range(60) for i in range(4)]
    one = read_table(table_of(*rows, ",3,4"))
    assert (one.ratings.n_users, len(one.ratings)) == (60, 240)
    assert one.ratings.user_label(0) == str(first)
    noughts = [f"{u},{i},{(len(u) + i) % 5 + 1}" for u in ("007", "7", "70", "8") for i in range(4)]
    apart = read_table(table_of(*noughts))
    assert apart.ratings.n_users == 4
    buffer = BytesIO()
    table = pd.DataFrame(
        {
            "user": pd.array([first + u for u in range(60)] * 4, dtype="Int64"),
            "item": [i for i in "abcd" for _ in range(60)],
        }
    )
    table["rating"] = np.arange(240) % 5 + 1.0
    table.loc[3, "user"] = pd.NA
    table.to_parquet(buffer)
    whole = read_table(buffer.getvalue(), "steam.parquet").ratings
    assert (whole.n_users, len(whole)) == (60, 239)


def test_thousands_of_columns_of_one_name_are_told_apart_at_once() -> None:
    alike = "a" * 90
    header = ",".join(["user", *[alike] * 4000])
    rows = [",".join([f"u{k}", *["3"] * 4000]) for k in range(3)]
    started = time.process_time()
    table = open_table("w.csv", "\n".join([header, *rows]).encode())
    guess_ratings(table)
    assert len(set(table.frame.columns)) == 4001
    # pairs of names, or worse, take minutes; this is a hundredth of that
    assert time.process_time() - started < 20


def test_a_text_may_begin_with_two_letters_that_archives_begin_with() -> None:
    rows = [f"PK{k},{i},{i % 5 + 1}" for k in range(4) for i in range(4)]
    read_table("\n".join(["PK,item,rating", *rows]).encode(), user="PK")
    texts = own.read(
        "documents", "a.txt", "\n".join(f"PK line {k}" for k in range(9)).encode()
    ).documents
    assert len(texts.texts) == 9


def test_names_in_an_archive_may_begin_with_a_dot_and_a_slash() -> None:
    one = own.read(
        "documents", "a.zip", zipped({f"./{k}.txt": b"some words here" for k in range(6)})
    )
    assert len(one.documents.texts) == 6


def test_sixteen_bits_keep_their_shades() -> None:
    shades = np.linspace(0, 65535, 144).astype(np.uint16).reshape(12, 12)
    files = {}
    for k in range(5):
        files[f"{k}.png"] = picture_file(np.roll(shades, k))
    images = own.read("images", "a.zip", zipped(files)).images
    assert len(np.unique(np.asarray(images.values)[:, 0])) > 100


def test_one_image_says_nothing_about_the_shades_of_another() -> None:
    """Else adding one would move all others, and no sensitivity would hold."""
    rng = np.random.default_rng(0)
    stack = rng.random((7, 20, 20))
    without = own.read("images", "a.npy", npy(stack), side=8).images
    bright = own.read(
        "images", "a.npy", npy(np.concatenate([stack, 1000 * stack[:1]])), side=8
    ).images
    np.testing.assert_array_equal(np.asarray(bright.values)[:, :7], np.asarray(without.values))


@pytest.mark.parametrize("spoil", [-1.0, np.nan])
def test_pixels_that_are_none_are_refused_before_they_are_resized(spoil: float) -> None:
    stack = np.ones((7, 20, 20))
    stack[3, 2, 2] = spoil
    with pytest.raises(DataError, match="below 0 or without a value"):
        own.read("images", "a.npy", npy(stack), side=8)


def test_a_matlab_file_names_each_variable_once() -> None:
    once = mat(faces=np.random.default_rng(0).random((6, 64)))
    head, body = once[:128], once[128:]
    with pytest.raises(DataError, match="two variables of one name"):
        own.read("images", "a.mat", head + body + body)


def test_an_exported_scale_is_the_scale_to_the_last_digit() -> None:
    data = long_csv() + b"\n9,r0,new,0.1234567\n"
    one = read_table(data, low=0.1234567)
    assert one.options() == {"low": "0.1234567"}
    read_table(data, **one.options())


def test_a_model_of_words_goes_with_the_documents() -> None:
    one = own.read("documents", "a.zip", documents_zip(40))
    samples = one.samples(TextFilter(min_documents=1, max_share=1.0, stop_words=False))
    tc_w2v(samples, np.random.default_rng(0).random((samples.dimension, 2)))
    gone = weakref.ref(samples)
    del one, samples
    gc.collect()
    assert gone() is None


@pytest.mark.long
def test_words_are_learned_in_a_process_of_their_own_as_they_would_be_here() -> None:
    samples = own.read("documents", "a.zip", documents_zip(40)).samples(
        TextFilter(min_documents=1, max_share=1.0, stop_words=False)
    )
    dictionary = np.random.default_rng(0).random((samples.dimension, 2))
    here = tc_w2v(samples, dictionary)
    worker = Worker()
    try:
        drawn = [
            found
            for found in worker.draw(call, [(learned_words, samples.texts, samples.words)])
            if found is not None
        ]
    finally:
        worker.close()
    keep_words(samples, drawn[0][1])
    np.testing.assert_array_equal(tc_w2v(samples, dictionary), here)


@pytest.mark.parametrize("function", [inspect, read])
def test_a_process_that_has_read_a_file_ends_with_it(function: Callable[..., object]) -> None:
    worker = Worker()
    try:
        spec = (function, "images", "a.zip", pictures_zip(), {})
        drawn = worker.draw(call, [spec], private=True)
        found = next(drawn)
        first = worker.pid
        ends = [(k, last) for k, _, last in [f for f in (found, *drawn) if f is not None]]
        assert ends == [(0, False), (0, True)]
        assert worker.pid != first
    finally:
        worker.close()


def test_decimal_commas_are_read_as_points() -> None:
    rows = [
        f"r{k % 20};book {k % 7};{1 + k % 4},{'05'[k % 2]};{1_600_000_000 + 17 * k}"
        for k in range(140)
    ]
    data = "\n".join(["reader;book;stars;time", *rows]).encode()
    assert guess_ratings(open_table("a.csv", data))[0].value == "stars"
    one = read_table(data)
    assert (one.ratings.low, one.ratings.high) == (1.0, 4.5)
    assert sorted(set(one.ratings.values)) == [1.0, 2.5, 3.0, 4.5]
    assert any("have a decimal comma, which is read as a point" in note for note in one.notes)
    thousands = data.replace(b",5;", b",500;").replace(b",0;", b",000;")
    with pytest.raises(DataError, match="leaves 0 ratings of 0 items by 0 users"):
        read_table(thousands, value="stars")


def test_files_of_another_kind_are_told_so() -> None:
    with pytest.raises(DataError, match="The table has 1 column; one rating a row takes three"):
        read_table(b"some words and more words\n" * 30)
    with pytest.raises(
        DataError, match="no document holds a word of three letters; is 'n' the column"
    ):
        own.read("documents", "a.csv", b"n,m\n" + b"123456,7\n" * 30, text="n")
    preview = own.inspect(
        "documents",
        "a.csv",
        b"time,said\n" + b"2026-11-22T10:11:12.123456+00:00,a good book\n" * 30,
    )
    assert preview.reading.text == "said"


def test_usual_settings_fit_a_small_set() -> None:
    one = read_table(long_csv(60, 12), name="own-ratings-x")
    with user_datasets.using(one):
        assert preset(WELL_REGULARISED, one.name)["rank"] == 4
        assert fitted({"rank": 12, "item_share": 0.15, "reg": 3.0}, one.name) == {
            "rank": 4,
            "item_share": 0.7,
            "reg": 3.0,
        }
        assert fitted({"rank": 2, "item_share": 0.9}, one.name) == {"rank": 2, "item_share": 0.9}
    assert fitted({"rank": 12, "item_share": 0.15}, "ml-100k") == {"rank": 12, "item_share": 0.15}


def test_many_zeros_are_asked_about() -> None:
    rows = [
        ",".join(["u" + str(u), *(str((u * i) % 2 * (1 + (u + i) % 4)) for i in range(1, 7))])
        for u in range(1, 12)
    ]
    data = "\n".join(["who,a,b,c,d,e,f", *rows]).encode()
    one = read_table(data, layout="wide", user="who")
    assert any(
        "of the ratings are 0 and are taken as ratings; if 0 says “not rated” here" in note
        for note in one.notes
    )
    told = read_table(data, layout="wide", user="who", zeros="missing")
    assert not any("are taken as ratings" in note for note in told.notes)
    assert not any("are taken as ratings" in note for note in read_table(long_csv()).notes)


@pytest.mark.parametrize(
    "name", ["x" * 114, "Zo\u00eb\u200b", "a\u2028b", "\x1b[31m", "Zoe\u0308", "NA"]
)
def test_names_identify_whole_and_are_cut_only_where_they_are_shown(name: str) -> None:
    rows = [
        f"u{u},{item},{(u + k) % 5 + 1}" for u in range(9) for k, item in enumerate((name, "b"))
    ]
    made = read_table(table_of(*rows)).ratings
    assert unicodedata.normalize("NFC", name) in made.item_labels
    table = "\n".join(["item,comedy", f"{name},1", "b,0"]).encode()
    listed = own.read_item_table("items.csv", table)
    assert sorted(listed.labels) == sorted(made.item_labels)
    for item in range(2):
        shown = made.item_label(item)
        assert len(shown) <= 80
        assert shown.isprintable()


def test_names_that_begin_alike_are_held_out_apart() -> None:
    rows = [f"{'u' * 90}{u},i{i},{(u + i) % 5 + 1}" for u in range(9) for i in range(4)]
    made = read_table(table_of(*rows)).ratings
    assert made.n_users == 9
    assert len(set(made.drawing_numbers.tolist())) == 9


PLAIN = [f"u{k % 9},i{k % 7},{k % 5 + 1}" for k in range(90)]
QUOTED = [f'"u{k % 9}","film, {k % 7}",{k % 5 + 1}' for k in range(90)]
ALLOWED = "4 cells where the others have 3: put quotes around a cell that holds the separator"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([*PLAIN[:5], "u,Good, Bad,4", *PLAIN], f"line 7 has {ALLOWED}"),
        (
            [*QUOTED[:5], '"u","i,4', *QUOTED],
            f"lines 7 to 8, which a quote holds together, have {ALLOWED}",
        ),
        ([*QUOTED, '"u","i,4'], "a quote is opened in line 92 and never closed: close it, or"),
    ],
    ids=["a cell too many", "a quote within", "a quote at the end"],
)
def test_a_line_that_does_not_fit_is_named_with_what_is_allowed(
    lines: list[str], said: str
) -> None:
    for end in ("", "\n\n"):
        with pytest.raises(DataError, match=re.escape(f"a.csv: {said}")):
            read_table(("\n".join(["user,item,rating", *lines]) + end).encode())


def test_forms_that_spreadsheets_write_are_read_without_a_question() -> None:
    plain = "\n".join(["user,item,rating", *PLAIN])
    comma = plain.replace(",", ";").replace("1\n", "1,5\n")
    for text, high in ((plain, 5), (plain + "\n\n \n", 5), (comma, 5), ("sep=;\n" + comma, 5)):
        for data in (text, "\ufeff" + text, text.replace("\n", "\r\n")):
            made = read_table(data.encode())
            assert (made.entry.users, made.entry.items, made.entry.ratings) == (9, 7, 63)
            assert made.asked == ()
            assert made.entry.scale[1] == high


def test_quotes_that_are_letters_are_told() -> None:
    text = "\n".join(["user,item,rating", *PLAIN, 'u1,"i5,3'])
    made = read_table(text.encode())
    said = "Quotes are read as letters: not all are in pairs (the first: line 92)."
    assert any(note.startswith(said) for note in made.notes)
