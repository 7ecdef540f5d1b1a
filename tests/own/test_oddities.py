"""Files as they come in the wild.

Ids with gaps, tables from a pivot, sixteen bits, names that occur twice.
"""

import gc
import time
import unicodedata
import weakref
from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest

from dpmc_core.datasets import own, user_datasets
from dpmc_core.datasets.own.table_files import open_table
from dpmc_core.datasets.own.table_guesses import guess_ratings
from dpmc_core.datasets.samples import Samples
from dpmc_core.datasets.text import TextFilter
from dpmc_core.errors import DataError
from dpmc_core.experiments.presets import WELL_REGULARISED, fitted, preset
from dpmc_core.experiments.worker.reading import call, inspect, read
from dpmc_core.experiments.worker.worker import Worker
from dpmc_core.metrics.factors import keep_words, learned_words, tc_w2v
from tests.own.files import (
    PLAIN,
    documents_zip,
    long_csv,
    npy,
    picture_file,
    pictures_zip,
    read_table,
    table_of,
    zipped,
)


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
    read_table(table_of(*rows, header="PK,item,rating"), user="PK")
    lines = "\n".join(f"PK line {k}" for k in range(9)).encode()
    assert len(own.read("documents", "a.txt", lines).documents.texts) == 9
    # and names in an archive with a dot and a slash
    archive = zipped({f"./{k}.txt": b"some words here" for k in range(6)})
    assert len(own.read("documents", "a.zip", archive).documents.texts) == 6


def test_sixteen_bits_keep_their_shades() -> None:
    shades = np.linspace(0, 65535, 144).astype(np.uint16).reshape(12, 12)
    files = {f"{k}.png": picture_file(np.roll(shades, k)) for k in range(5)}
    images = own.read("images", "a.zip", zipped(files)).images
    assert len(np.unique(np.asarray(images.values)[:, 0])) > 100


def test_one_image_says_nothing_about_the_shades_of_another() -> None:
    """Else adding one would move all others, and no sensitivity would hold."""
    stack = np.random.default_rng(0).random((7, 20, 20))
    without, bright = (
        np.asarray(own.read("images", "a.npy", npy(images), side=8).images.values)
        for images in (stack, np.concatenate([stack, 1000 * stack[:1]]))
    )
    np.testing.assert_array_equal(bright[:, :7], without)


def words_of_documents() -> Samples:
    every_word = TextFilter(min_documents=1, max_share=1.0, stop_words=False)
    return own.read("documents", "a.zip", documents_zip(40)).samples(every_word)


def test_a_model_of_words_goes_with_the_documents() -> None:
    samples = words_of_documents()
    tc_w2v(samples, np.random.default_rng(0).random((samples.dimension, 2)))
    gone = weakref.ref(samples)
    del samples
    gc.collect()
    assert gone() is None


@pytest.mark.long
def test_words_are_learned_in_a_process_of_their_own_as_they_would_be_here() -> None:
    samples = words_of_documents()
    dictionary = np.random.default_rng(0).random((samples.dimension, 2))
    here = tc_w2v(samples, dictionary)
    with closing(Worker()) as worker:
        job = learned_words, samples.texts, samples.words
        states = [state for state in worker.draw(call, [job]) if state is not None]
    keep_words(samples, states[0][1])
    np.testing.assert_array_equal(tc_w2v(samples, dictionary), here)


@pytest.mark.parametrize("function", [inspect, read])
def test_a_process_that_has_read_a_file_ends_with_it(function: Callable[..., object]) -> None:
    with closing(Worker()) as worker:
        job = function, "images", "a.zip", pictures_zip(), {}
        drawn = worker.draw(call, [job], private=True)
        states = [next(drawn)]
        first = worker.pid
        states += drawn
        assert [(s[0], s[2]) for s in states if s is not None] == [(0, False), (0, True)]
        assert worker.pid != first


def test_decimal_commas_are_read_as_points() -> None:
    rows = [
        f"r{k % 20};book {k % 7};{1 + k % 4},{'05'[k % 2]};{1_600_000_000 + 17 * k}"
        for k in range(140)
    ]
    data = table_of(*rows, header="reader;book;stars;time")
    own_set = read_table(data)
    assert {*own_set.ratings.values} == {1.0, 2.5, 3.0, 4.5}
    assert any("have a decimal comma, which is read as a point" in note for note in own_set.notes)
    thousands = data.replace(b",5;", b",500;").replace(b",0;", b",000;")
    with pytest.raises(DataError, match="leaves 0 ratings of 0 items by 0 users"):
        read_table(thousands, value="stars")


def test_usual_settings_fit_a_small_set() -> None:
    own_set = read_table(long_csv(60, 12), name="own-ratings-x")
    large, small = {"rank": 12, "item_share": 0.15}, {"rank": 2, "item_share": 0.9}
    with user_datasets.using(own_set):
        assert preset(WELL_REGULARISED, own_set.name)["rank"] == 4
        reduced = {"rank": 4, "item_share": 0.7, "reg": 3.0}
        assert fitted({**large, "reg": 3.0}, own_set.name) == reduced
        assert fitted(small, own_set.name) == small
    assert fitted(large, "ml-100k") == large


def test_many_zeros_are_asked_about() -> None:
    rows = [
        ",".join([f"u{u}", *(str((u * i) % 2 * (1 + (u + i) % 4)) for i in range(1, 7))])
        for u in range(1, 12)
    ]
    data = table_of(*rows, header="who,a,b,c,d,e,f")
    question = "of the ratings are 0 and are taken as ratings; if 0 says “not rated” here"
    for choices, expected in (({}, True), ({"zeros": "missing"}, False)):
        own_set = read_table(data, layout="wide", user="who", **choices)
        assert any(question in note for note in own_set.notes) == expected
    assert not any("are taken as ratings" in note for note in read_table(long_csv()).notes)


@pytest.mark.parametrize(
    "name", ["x" * 114, "Zo\u00eb\u200b", "a\u2028b", "\x1b[31m", "Zoe\u0308", "NA"]
)
def test_names_identify_whole_and_are_cut_only_where_they_are_shown(name: str) -> None:
    rows = [
        f"u{u},{item},{(u + k) % 5 + 1}" for u in range(9) for k, item in enumerate((name, "b"))
    ]
    ratings = read_table(table_of(*rows)).ratings
    assert unicodedata.normalize("NFC", name) in ratings.item_labels
    table = table_of(f"{name},1", "b,0", header="item,comedy")
    listed = own.read_item_table("items.csv", table)
    assert sorted(listed.labels) == sorted(ratings.item_labels)
    for item in range(2):
        shown = ratings.item_label(item)
        assert len(shown) <= 80
        assert shown.isprintable()


def test_names_that_begin_alike_are_held_out_apart() -> None:
    rows = [f"{'u' * 90}{u},i{i},{(u + i) % 5 + 1}" for u in range(9) for i in range(4)]
    ratings = read_table(table_of(*rows)).ratings
    assert ratings.n_users == len({*ratings.drawing_numbers.tolist()}) == 9


def test_quotes_that_are_letters_are_told() -> None:
    own_set = read_table(table_of(*PLAIN, 'u1,"i5,3'))
    message = "Quotes are read as letters: not all are in pairs (the first: line 92)."
    assert any(note.startswith(message) for note in own_set.notes)
