"""A visitor's own files: read as meant, refused in a sentence, and never more than a sentence."""

import gc
import itertools
import pickle
import stat
import struct
import time
import weakref
import zipfile
import zlib

import numpy as np
import pandas as pd
import pytest

from dpmc_core.datasets import entry, own, user_datasets
from dpmc_core.errors import DataError, DPMCError, ParameterError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.store.records import PassingRuns
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import sweep
from tests.own.files import (
    documents_zip,
    entries,
    good_files,
    long_csv,
    mat,
    npy,
    picture,
    picture_file,
    pictures_zip,
    read_table,
    six,
    spoiled,
    table_of,
    zipped,
)


def test_a_wide_table_is_the_same_as_a_long_one() -> None:
    known = entries(read_table(long_csv()))
    wide = pd.Series(known).unstack()
    own_set = read_table(wide.rename_axis("user").to_csv().encode())
    assert own_set.reading.layout == "wide"
    assert entries(own_set) == known
    assert "hold no rating" in " ".join(own_set.notes)


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
        "already; their mean counts",
    ):
        assert note in notes
    assert entries(own_set)["r5", "new"] == 3.0
    assert ("r6", "new") not in entries(own_set)
    assert (own_set.ratings.low, own_set.ratings.high) == (1.0, 5.0)
    assert own_set.options() == choices


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (
            {"user": "nobody"},
            "user = 'nobody' is not allowed: it must be one of the file's columns",
        ),
        ({"user": "book"}, "three different columns"),
        ({"low": 5.0, "high": 1.0}, "low = 5.0 is not allowed: it must be below high"),
        ({"low": "x"}, "low = 'x' is not allowed"),
        ({"layout": "deep"}, "layout = 'deep' is not allowed: it must be one of long, wide"),
        ({"colour": "red"}, "read = 'colour' is not allowed: it must be one of layout"),
    ],
)
def test_wrong_choices_are_named(choices: dict[str, object], message: str) -> None:
    with pytest.raises(DPMCError, match=message):
        read_table(long_csv(), **choices)


def link_zip() -> bytes:
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    return zipped({link: b"/etc/passwd"})


def lying_zip() -> bytes:
    """Declares a byte where there are a million."""
    data = bytearray(zipped({"a.txt": b"x" * 1_000_000}))
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = data.index(mark) + at
        data[place : place + 4] = struct.pack("<I", 1)
    return bytes(data)


def png_bomb() -> bytes:
    """40,000 × 40,000 pixels in a few kilobytes."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        whole = kind + body
        return struct.pack(">I", len(body)) + whole + struct.pack(">I", zlib.crc32(whole))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 40_000, 40_000, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(b"\0" * 100_000))
    return b"\x89PNG\r\n\x1a\n" + header + pixels + chunk(b"IEND", b"")


def header_bomb() -> bytes:
    """A NumPy file that declares a billion numbers and holds none."""
    return npy(np.zeros((5, 8, 8))).replace(b"(5, 8, 8)", b"(99999, 99, 99)")[:200]


@pytest.mark.parametrize(
    ("file", "data", "message"),
    [
        ("a.exe", b"x", "is not allowed for ratings: choose a file that ends in csv"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"\n\n \n", "is empty; a table"),
        ("a.csv", b"a,b,c\n", "holds no row"),
        ("a.csv", b"a,b,c\n1,2,3\n", "at least 10 ratings"),
        ("a.csv", b"\x00\x01\x02", "is no text"),
        ("a.csv", b"\x80\x04\x95" + b"x" * 50, "is a Python pickle"),
        ("a.csv", table_of(*(f"{k % 5},{k},3" for k in range(30))), "every rating is 3"),
        ("a.parquet", b"PAR1" + b"x" * 50, "cannot be read as a Parquet file"),
        ("a.csv", b"x" * 25_000_001, "at most 25 are allowed"),
        ("a.csv", b"," * 30_000 + b"\n", "at most 5,000,000 rows, 20,000 columns"),
    ],
)
def test_bad_tables_get_one_sentence(file: str, data: bytes, message: str) -> None:
    refused("ratings", file, data, message)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PKnothing", "cannot be read as a zip archive"),
        (zipped({"../../etc/passwd.txt": b"x"}), "leads out of the archive"),
        (zipped({"/etc/passwd.txt": b"x"}), "leads out of the archive"),
        (zipped({"C:\\a.txt": b"x"}), "leads out of the archive"),
        (link_zip(), "is a link"),
        (zipped({f"{k}.txt": b"a" * 19_000_000 for k in range(12)}),
         "would unpack to more than 200 MB"),
        (zipped({"a.txt": b"a" * 21_000_000}), "would unpack to more than 20 MB"),
        (lying_zip(), "is damaged"),
        (zipped({f"{k}.md": b"x" for k in range(9)}), "holds no .txt file"),
        (zipped({"a.txt": b"x"}, zipfile.ZIP_BZIP2), "packed in an unusual way"),
    ],
)  # fmt: skip
def test_bad_archives_get_one_sentence(data: bytes, message: str) -> None:
    refused("documents", "a.zip", data, message)


@pytest.mark.parametrize(
    ("file", "data", "message"),
    [
        ("a.zip", six(png_bomb()), "is no PNG or JPEG picture|at most 16 million"),
        ("a.zip", six(b"GIF89a"), "is no PNG or JPEG picture"),
        ("a.zip", six(picture()[:60]), "is damaged|is no PNG"),
        ("a.zip", pictures_zip(3), "holds 3 images as read; at least 5"),
        ("a.npy", npy(np.array([object()] * 5), allow_pickle=True), "would be a pickle"),
        ("a.npy", header_bomb(), "more than it holds"),
        ("a.npy", npy(np.ones((10, 7))), "are not square"),
        ("a.npy", npy(-np.ones((9, 8, 8))), "the lowest pixel is -1"),
        ("a.npy", npy(np.full((9, 8, 8), np.nan)), "NaN or infinite"),
        ("a.npy", npy(np.zeros((9, 8, 8))), "every image is black"),
        ("a.npy", npy(np.ones((6, 200, 200))), "choose a smaller side"),
        ("a.npy", b"\x93NUMPY\x09\x00", "cannot be read as a NumPy file"),
        ("a.mat", mat(name=np.array(["x"])), "holds no table or stack of numbers"),
        ("a.mat", b"MATLAB 5.0" + b"\0" * 300,
         "cannot be read as a MATLAB file|holds no table"),
    ],
)  # fmt: skip
def test_bad_images_get_one_sentence(file: str, data: bytes, message: str) -> None:
    refused("images", file, data, message)


def refused(kind: str, file: str, data: bytes, message: str) -> None:
    """Fail unless reading ends in one sentence that says ``message``."""
    with pytest.raises(DPMCError, match=message) as error:
        own.read(kind, file, data)
    assert str(error.value).count("\n") == 0
    assert len(str(error.value)) < 600


def test_files_of_no_kind_and_too_few_documents_get_one_sentence() -> None:
    refused("pickles", "a.pkl", b"x", "kind = 'pickles' is not allowed")
    refused("documents", "a.txt", b"one\ntwo\n", "at least 5 are needed")


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
    with pytest.raises(ParameterError, match="a set of this visit"):
        RunSpec.of(dataset=own_set.name)
    with user_datasets.using(own_set):
        spec = RunSpec.of(dataset=own_set.name, rank=2, iterations=2)
        assert entry(own_set.name).users == 12
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


def test_private_runs_on_own_data_keep_to_their_budget() -> None:
    table = "\n".join(["book", *(f"book {k}" for k in range(20))])
    items = own.read_item_table("books.csv", table.encode())
    own_set = own.with_items(read_table(long_csv(40, 20), low=1, high=5, users=40), items)
    noise = {"algorithm": "moments", "mechanism": "gaussian", "epsilon": 2.0, "rank": 3}
    with user_datasets.using(own_set):
        result = run(RunSpec.of(noise, dataset=own_set.name))
    assert result.statement.epsilon == pytest.approx(2.0, rel=1e-3)
    assert not result.statement.nominal
    assert not any("read off" in note for note in own_set.notes)


@pytest.mark.nightly
def test_a_sweep_of_own_data_runs_in_processes_and_is_kept_nowhere() -> None:
    own_set, runs = read_table(long_csv(20, 12)), PassingRuns()
    with user_datasets.using(own_set):
        spec = SweepSpec.from_toml(
            f'seeds = 2\n[base]\ndataset = "{own_set.name}"\nrank = 2\nreg = 0.5\n'
            'iterations = 2\n[grid]\nmechanism = ["none", "gaussian"]\n'
        )
        *_, last = sweep(spec, runs, jobs=2, sets=[own_set])
        assert (last.done, last.failures) == (4, 0)
        *_, again = sweep(spec, runs, jobs=1)
        assert again.before == 4


@pytest.mark.parametrize(("kind", "file", "data"), good_files())
def test_good_files_are_read(kind: str, file: str, data: bytes) -> None:
    own.inspect(kind, file, data)
    own_set = own.read(kind, file, data)
    assert own_set.entry.holds == kind
    assert own_set.megabytes > 0


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
