"""A visitor's own files: read as meant, refused in a sentence, and never more than a sentence."""

import gc
import itertools
import pickle
import time
import weakref

import numpy as np
import pytest

from dpmc_core.datasets import entry, own, user_datasets
from dpmc_core.errors import DataError, DPMCError, ParameterError
from dpmc_core.experiments import RunSpec, run
from tests.own.files import (
    documents_zip,
    entries,
    long_csv,
    mat,
    npy,
    picture,
    picture_file,
    read_table,
    spoiled,
    zipped,
)


def test_what_is_left_out_is_counted() -> None:
    data = (
        long_csv()
        + b"\n1,r0,book 0,many\n1,r0,book 1,\n1,,book 1,3\n1,r1,book 2,inf\n"
        + b"1,r5,new,4\n1,r5,new,2\n1,r6,new,0\n"
    )
    choices = {"value": "stars", "twice": "mean", "zeros": "missing"}
    own_set = read_table(data, **choices)
    notes = " ".join(own_set.notes)
    for note in (
        "2 values are no finite numbers",
        "'many'",
        "1 row names no user or no item and is left out",
        "1 zero counts as not rated",
        "1 of 79 rows hold no rating and are taken as not rated.",
        "already; their mean counts",
    ):
        assert note in notes
    assert entries(own_set)["r5", "new"] == 3.0
    assert ("r6", "new") not in entries(own_set)
    assert (own_set.ratings.low, own_set.ratings.high) == (1.0, 5.0)
    assert own_set.options() == choices


def test_pictures_of_different_sizes_need_a_side_and_are_told_so() -> None:
    mixed = zipped({f"{k}.png": picture(10 + k, 12, seed=k) for k in range(6)})
    assert own.inspect("images", "a.zip", mixed).reading.side == 32
    with pytest.raises(DataError, match="different sizes"):
        own.read("images", "a.zip", mixed, side=0)
    images = own.read("images", "a.zip", mixed, side=8).images
    assert (len(images), images.shape) == (6, (8, 8))


def test_images_are_the_same_from_every_form() -> None:
    stack = np.random.default_rng(1).integers(1, 256, (7, 8, 8)).astype(np.uint8)
    as_files = zipped({f"{k}.png": picture_file(image) for k, image in enumerate(stack)})
    flat = stack.reshape(7, 64)
    columns = stack.transpose(0, 2, 1).reshape(7, 64)  # column by column, as MATLAB lays images
    pixels = {"rows": "pixels"}
    expected = own.read("images", "a.zip", as_files).images.values
    for file, data, choices in (
        ("a.npy", npy(stack), {}),
        ("a.npy", npy(flat), {}),
        ("a.npy", npy(flat.T), pixels),
        ("a.mat", mat(fea=columns, gnd=np.arange(7)[:, None]), {}),
        ("a.mat", mat(faces=np.moveaxis(stack, 0, 2)), pixels),
    ):
        images = own.read("images", file, data, **choices).images
        np.testing.assert_allclose(images.values, expected, rtol=1e-12)


def test_documents_are_the_same_from_every_form() -> None:
    texts = [f"word{'abc'[k % 3]} common text number" for k in range(6)]
    classes = [f"c{k % 2}" for k in range(6)]
    rows = [f"{label},{text}" for label, text in zip(classes, texts, strict=True)]
    files = {f"c{k % 2}/{k}.txt": t.encode() for k, t in enumerate(texts)}
    for file, data, labels in (
        ("a.txt", "\n".join(texts).encode(), []),
        ("a.txt", "\n\n".join(texts).encode(), []),
        ("a.csv", "\n".join(["class,body", *rows]).encode(), classes),
        ("a.zip", zipped(files), classes),
    ):
        documents = own.read("documents", file, data).documents
        order = sorted if file == "a.zip" else list
        assert order(documents.texts) == order(texts)
        assert not labels or order(documents.labels) == order(labels)


def test_a_set_is_seen_only_where_it_was_put() -> None:
    own_set = read_table(long_csv())
    small = len(pickle.dumps(own_set))
    assert own_set.megabytes > 0
    with pytest.raises(ParameterError, match="a set of this visit"):
        RunSpec.of(dataset=own_set.name)
    with user_datasets.using(own_set):
        spec = RunSpec.of(dataset=own_set.name, rank=2, iterations=2)
        listed = entry(own_set.name)
        assert (listed.users, listed.holds) == (12, "ratings")
        assert run(spec).split.train.name == "Your ratings"
        with pytest.raises(
            ParameterError, match="a set of images or documents; this one holds ratings"
        ):
            RunSpec.of(dataset=own_set.name, algorithm="nmf")
    assert len(pickle.dumps(own_set)) == small  # it travels without what was worked out
    with pytest.raises(ParameterError, match="a set of this visit"):
        run(spec)
    with pytest.raises(ParameterError, match="a set of this visit"):
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
        topics = run(
            RunSpec.of(dataset=words.name, rank=2, rounds=2, min_documents=1, max_share=1.0)
        )
        run(spec.replace(task="rate"))
    whole = table, table.ratings.values, result.split.train.values
    traces = [weakref.ref(x) for x in (*whole, words, topics.clean, topics.clean.counts)]
    del table, words, result, topics, whole
    gc.collect()
    assert [trace() for trace in traces] == [None] * 6


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
