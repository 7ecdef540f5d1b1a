"""Visitors' own files: read as meant, as they come in the wild, and kept nowhere."""

import gc
import itertools
import pickle
import time
import unicodedata
import weakref
from contextlib import closing

import numpy as np
import pytest

from dpmc_core.datasets import entry, own, user_datasets
from dpmc_core.datasets.own.table_files import open_table
from dpmc_core.datasets.own.table_guesses import guess_ratings
from dpmc_core.datasets.text import TextFilter
from dpmc_core.errors import DataError, DPMCError, ParameterError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.presets import WELL_REGULARISED, fitted, preset
from dpmc_core.experiments.worker.reading import call, read
from dpmc_core.experiments.worker.worker import Worker
from dpmc_core.metrics.factors import keep_words, learned_words, tc_w2v
from tests.own.files import (
    PLAIN,
    decimal_commas,
    documents_zip,
    entries,
    long_csv,
    mat,
    npy,
    picture,
    picture_file,
    pictures_zip,
    read_table,
    spoiled,
    table_of,
    wide_csv,
    zipped,
)


def test_what_is_left_out_is_counted() -> None:
    data = (
        long_csv()
        + b"\n1,r0,book 0,many\n1,r0,book 1,\n1,,book 1,3\n1,r1,book 2,inf\n"
        + b"1,r5,new,4\n1,r5,new,2\n1,r6,new,0\n"
    )
    choices = {"value": "stars", "twice": "mean", "zeros": "missing"}
    table = read_table(data, **choices)
    for note in (
        "2 values are no finite numbers",
        "'many'",
        "1 row names no user or no item and is left out",
        "1 zero counts as not rated",
        "1 of 79 rows hold no rating and are taken as not rated.",
        "already; their mean counts",
    ):
        assert note in " ".join(table.notes)
    assert entries(table.ratings)["r5", "new"] == 3.0
    assert ("r6", "new") not in entries(table.ratings)
    assert (table.entry.scale, table.options()) == ((1.0, 5.0), choices)
    for twice, rating in (("first", 4.0), ("last", 2.0)):
        assert entries(read_table(data, value="stars", twice=twice).ratings)["r5", "new"] == rating


def test_many_zeros_are_asked_about() -> None:
    user, item = np.mgrid[1:12, 1:7]
    data = wide_csv((user * item) % 2 * (1 + (user + item) % 4))
    question = "of the ratings are 0 and are taken as ratings; if 0 says “not rated” here"
    for zeros in ("rating", "missing"):
        notes = " ".join(read_table(data, layout="wide", user="user", zeros=zeros).notes)
        assert (question in notes) == (zeros == "rating")
    assert "are taken as ratings" not in " ".join(read_table(long_csv()).notes)


def test_decimal_commas_and_quotes_that_are_letters_are_told() -> None:
    for data, note in (
        (decimal_commas("5"), "90 ratings have a decimal comma, which is read as a point."),
        (
            table_of(*PLAIN, 'u1,"i5,3'),
            "Quotes are read as letters: not all are in pairs (the first: line 92).",
        ),
    ):
        assert note in " ".join(read_table(data).notes)


def test_thousands_of_columns_of_one_name_are_told_apart_at_once() -> None:
    header = ",".join(["user", *["a" * 90] * 4000])
    rows = (",".join([f"u{k}", *["3"] * 4000]) for k in range(3))
    started = time.process_time()
    table = open_table("w.csv", table_of(*rows, header=header))
    guess_ratings(table)
    assert len({*table.frame.columns}) == 4001
    # pairs of names, or worse, take minutes; this is a hundredth of that
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    "name", ["x" * 114, "Zo\u00eb\u200b", "a\u2028b", "\x1b[31m", "Zoe\u0308", "NA"]
)
def test_names_identify_whole_and_are_cut_only_where_they_are_shown(name: str) -> None:
    rows = (f"u{u},{item},{(u + len(item)) % 5 + 1}" for u in range(9) for item in (name, "b"))
    ratings = read_table(table_of(*rows)).ratings
    assert {*ratings.item_labels} == {unicodedata.normalize("NFC", name), "b"}
    listed = own.read_item_table("i.csv", table_of(f"{name},1", "b,0", header="item,comedy"))
    assert sorted(listed.labels) == sorted(ratings.item_labels)
    for item in range(2):
        shown = ratings.item_label(item)
        assert len(shown) <= 80
        assert shown.isprintable()


def test_names_that_begin_alike_are_held_out_apart() -> None:
    rows = (f"{'u' * 90}{u},i{i},{(u + i) % 5 + 1}" for u in range(9) for i in range(4))
    assert len({*read_table(table_of(*rows)).ratings.drawing_numbers}) == 9


def test_a_text_may_begin_with_two_letters_that_archives_begin_with() -> None:
    rows = (f"PK{k},{i},{i % 5 + 1}" for k in range(4) for i in range(4))
    read_table(table_of(*rows, header="PK,item,rating"), user="PK")
    lines = "\n".join(f"PK line {k}" for k in range(9)).encode()
    # and names in an archive with a dot and a slash
    archive = zipped({f"./{k}.txt": b"some words here" for k in range(6)})
    for file, data, count in (("a.txt", lines, 9), ("a.zip", archive, 6)):
        assert len(own.read("documents", file, data).documents.texts) == count


def test_documents_are_the_same_from_every_form() -> None:
    texts = [f"word{'abc'[k % 3]} common text number" for k in range(6)]
    classes = [f"c{k % 2}" for k in range(6)]
    rows = map(",".join, zip(classes, texts, strict=True))
    files = {f"c{k % 2}/{k}.txt": text.encode() for k, text in enumerate(texts)}
    for file, data, labels in (
        ("a.txt", "\n".join(texts).encode(), []),
        ("a.txt", "\n\n".join(texts).encode(), []),
        ("a.csv", table_of(*rows, header="class,body"), classes),
        ("a.zip", zipped(files), classes),
    ):
        documents = own.read("documents", file, data).documents
        for mine, expected in ((documents.texts, texts), (documents.labels, labels)):
            assert sorted(mine) == sorted(expected)
            assert file == "a.zip" or list(mine) == expected


def test_images_are_the_same_from_every_form() -> None:
    stack = np.random.default_rng(1).integers(1, 256, (7, 8, 8)).astype(np.uint8)
    as_files = zipped({f"{k}.png": picture_file(image) for k, image in enumerate(stack)})
    flat = stack.reshape(7, 64)
    columns = stack.transpose(0, 2, 1).reshape(7, 64)  # column by column, as MATLAB lays images
    expected = own.read("images", "a.zip", as_files).images.values
    for file, data, choices in (
        ("a.npy", npy(stack), {}),
        ("a.npy", npy(flat), {}),
        ("a.npy", npy(flat.T), {"rows": "pixels"}),
        ("a.mat", mat(fea=columns, gnd=np.arange(7)[:, None]), {}),
        ("a.mat", mat(faces=np.moveaxis(stack, 0, 2)), {"rows": "pixels"}),
    ):
        values = own.read("images", file, data, **choices).images.values
        np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_pictures_of_different_sizes_need_a_side_and_are_told_so() -> None:
    mixed = zipped({f"{k}.png": picture(10 + k, 12, seed=k) for k in range(6)})
    assert own.inspect("images", "a.zip", mixed).reading.side == 32
    with pytest.raises(DataError, match="different sizes"):
        own.read("images", "a.zip", mixed, side=0)
    images = own.read("images", "a.zip", mixed, side=8).images
    assert (len(images), images.shape) == (6, (8, 8))


def test_sixteen_bits_keep_their_shades() -> None:
    shades = np.linspace(0, 65535, 144).astype(np.uint16).reshape(12, 12)
    files = {f"{k}.png": picture_file(np.roll(shades, k)) for k in range(5)}
    images = own.read("images", "a.zip", zipped(files)).images
    assert len(np.unique(images.values[:, 0])) > 100


def test_one_image_says_nothing_about_the_shades_of_another() -> None:
    """Else adding one would move all others, and no sensitivity would hold."""
    stack = np.random.default_rng(0).random((7, 20, 20))
    without, bright = (
        own.read("images", "a.npy", npy(images), side=8).images.values
        for images in (stack, np.concatenate([stack, 1000 * stack[:1]]))
    )
    np.testing.assert_array_equal(bright[:, :7], without)


def test_a_set_is_seen_only_where_it_was_put() -> None:
    table = read_table(long_csv())
    small = len(pickle.dumps(table))
    assert table.megabytes > 0
    elsewhere = pytest.raises(ParameterError, match="a set of this visit")
    with elsewhere:
        RunSpec.of(dataset=table.name)
    with user_datasets.using(table):
        spec = RunSpec.of(dataset=table.name, rank=2, iterations=2)
        listed = entry(table.name)
        assert (listed.users, listed.holds) == (12, "ratings")
        assert run(spec).split.train.name == "Your ratings"
        with pytest.raises(ParameterError, match="images or documents; this one holds ratings"):
            RunSpec.of(dataset=table.name, algorithm="nmf")
    assert len(pickle.dumps(table)) == small  # it travels without what was worked out
    with elsewhere:
        run(spec)
    with elsewhere:
        RunSpec.from_json(spec.to_json())


def test_nothing_of_a_set_stays_behind_in_the_process() -> None:
    """Caches of the process hold names and settings, never what came of a set.

    With the set gone, so is everything made of it.
    """
    table = read_table(long_csv())
    words = own.read("documents", "a.zip", documents_zip(), name="own-words")
    with user_datasets.using(table, words):
        spec = RunSpec.of(dataset=table.name, rank=2, iterations=2, reg=0.5)
        result = run(spec.replace(algorithm="moments", mechanism="gaussian", epsilon=5.0))
        of_words = {"rounds": 2, "min_documents": 1, "max_share": 1.0}
        topics = run(RunSpec.of(dataset=words.name, rank=2, word_list="documents", **of_words))
        run(spec.replace(task="rate"))
    tc_w2v(topics.clean, topics.dictionary)  # a model of words goes with the documents
    whole = table, table.ratings.values, result.split.train.values
    traces = [weakref.ref(x) for x in (*whole, words, topics.clean, topics.clean.counts)]
    del table, words, result, topics, whole
    gc.collect()
    assert [trace() for trace in traces] == [None] * 6


@pytest.mark.long
def test_words_are_learned_in_a_process_of_their_own_as_they_would_be_here() -> None:
    every_word = TextFilter(min_documents=1, max_share=1.0, stop_words=False)
    samples = own.read("documents", "a.zip", documents_zip(40)).samples(every_word)
    dictionary = np.random.default_rng(0).random((samples.dimension, 2))
    here = tc_w2v(samples, dictionary)
    with closing(Worker()) as worker:
        job = learned_words, samples.texts, samples.words
        states = [state for state in worker.draw(call, [job]) if state is not None]
    keep_words(samples, states[0][1])
    np.testing.assert_array_equal(tc_w2v(samples, dictionary), here)


def test_a_process_that_has_read_a_file_ends_with_it() -> None:
    with closing(Worker()) as worker:
        drawn = worker.draw(call, [(read, "images", "a.zip", pictures_zip(), {})], private=True)
        states = [next(drawn)]
        first = worker.pid
        states += drawn
        assert [(s[0], s[2]) for s in states if s is not None] == [(0, False), (0, True)]
        assert worker.pid != first


def test_usual_settings_fit_a_small_set() -> None:
    table = read_table(long_csv(60, 12), name="own-ratings-x")
    large, small = {"rank": 12, "item_share": 0.15}, {"rank": 2, "item_share": 0.9}
    with user_datasets.using(table):
        assert preset(WELL_REGULARISED, table.name)["rank"] == 4
        reduced = {"rank": 4, "item_share": 0.7, "reg": 3.0}
        assert fitted({**large, "reg": 3.0}, table.name) == reduced
        assert fitted(small, table.name) == small
    assert fitted(large, "ml-100k") == large


@pytest.mark.nightly
def test_spoiled_files_end_in_a_sentence() -> None:
    """Of the corpus that ``benchmarks/server/malformed.py`` goes through at length."""
    slowest, refused = 0.0, 0
    for kind, file, data in itertools.islice(spoiled(seed=1), 1500):
        started = time.process_time()  # of this process alone, however busy the machine
        try:
            own.read(kind, file, data)
        except DPMCError:
            refused += 1
        slowest = max(slowest, time.process_time() - started)
    assert 300 < refused < 1500
    assert slowest < 5.0
