"""A visitor's own files: read as meant, refused in a sentence, and never more than a sentence."""

import io
import itertools
import pickle
import stat
import struct
import time
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
    parquet,
    picture,
    picture_file,
    pictures_zip,
    read_table,
    spoiled,
    zipped,
)


def reference(data: bytes) -> dict[tuple[str, str], float]:
    """Long tables read by hand."""
    rows = [line.split(",") for line in data.decode().splitlines()[1:]]
    return {(user, item): float(value) for _, user, item, value in rows}


@pytest.mark.parametrize(
    ("file", "data"),
    [
        ("a.csv", long_csv()),
        ("a.tsv", long_csv(separator="\t")),
        ("a.csv", long_csv(separator=";")),
        ("a.dat", long_csv().replace(b",", b"::")),
        ("a.parquet", parquet(long_csv())),
        ("a.csv", b"\xef\xbb\xbf" + long_csv()),
        ("a.csv", long_csv().decode().encode("utf-16")),
        ("a.csv", long_csv().replace(b"\n", b"\r\n")),
    ],
)
def test_the_same_ratings_come_from_every_form(file: str, data: bytes) -> None:
    assert entries(read_table(data, file)) == reference(long_csv())


def test_columns_are_guessed_without_names() -> None:
    lines = long_csv().decode().splitlines()[1:]
    body = "\n".join(
        ",".join((*line.split(",")[1:], line.split(",")[0])) for line in lines
    )  # user, item, rating, time
    one = read_table(body.encode())
    assert one.reading.value == "column 3"
    assert (one.reading.user, one.reading.item) == ("column 1", "column 2")
    assert one.options() == {}


def test_a_wide_table_is_the_same_as_a_long_one() -> None:
    known = reference(long_csv())
    users, items = sorted({u for u, _ in known}), sorted({i for _, i in known})
    rows = [
        ",".join([user, *(f"{known[user, i]:g}" if (user, i) in known else "" for i in items)])
        for user in users
    ]
    wide = "\n".join([",".join(["user", *items]), *rows]).encode()
    one = read_table(wide)
    assert one.reading.layout == "wide"
    assert entries(one) == known
    assert "hold no rating" in " ".join(one.notes)


def test_what_is_left_out_is_counted() -> None:
    data = (
        long_csv()
        + b"\n1,r0,book 0,many\n1,r0,book 1,\n1,,book 1,3\n1,r1,book 2,inf\n"
        + b"1,r5,new,4\n1,r5,new,2\n1,r6,new,0\n"
    )
    one = read_table(data, value="stars", twice="mean", zeros="missing")
    said = " ".join(one.notes)
    assert "2 values are no finite numbers" in said
    assert "'many'" in said
    assert "1 row names no user or no item and is left out" in said
    assert "1 zero counts as not rated" in said
    assert "already; their mean counts" in said
    ratings = one.ratings
    new = list(ratings.item_labels).index("new")
    assert ratings.values[ratings.items == new].tolist() == [3.0]
    assert (ratings.low, ratings.high) == (1.0, 5.0)
    assert one.options() == {"value": "stars", "twice": "mean", "zeros": "missing"}


@pytest.mark.parametrize(
    ("choices", "said"),
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
def test_wrong_choices_are_named(choices: dict[str, object], said: str) -> None:
    with pytest.raises(DPMCError, match=said):
        read_table(long_csv(), **choices)


HUGE = zipped({f"{k}.txt": b"a" * 19_000_000 for k in range(12)})
LINK = zipfile.ZipInfo("link.txt")
LINK.external_attr = (stat.S_IFLNK | 0o777) << 16


def link_zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(LINK, "/etc/passwd")
    return out.getvalue()


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
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", 40_000, 40_000, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 100_000))
        + chunk(b"IEND", b"")
    )


def header_bomb() -> bytes:
    """A NumPy file that declares a billion numbers and holds none."""
    return npy(np.zeros((5, 8, 8))).replace(b"(5, 8, 8)", b"(99999, 99, 99)")[:200]


@pytest.mark.parametrize(
    ("kind", "file", "data", "said"),
    [
        ("ratings", "a.exe", b"x", "is not allowed for ratings: choose a file that ends in csv"),
        ("ratings", "a.csv", b"", "is empty"),
        ("ratings", "a.csv", b"\n\n \n", "is empty; a table"),
        ("ratings", "a.csv", b"a,b,c\n", "holds no row"),
        ("ratings", "a.csv", b"a,b,c\n1,2,3\n", "at least 10 ratings"),
        ("ratings", "a.csv", b"\x00\x01\x02", "is no text"),
        ("ratings", "a.csv", b"\x80\x04\x95" + b"x" * 50, "is a Python pickle"),
        ("ratings", "a.csv",
         b"user,item,rating\n" + b"\n".join(b"%d,%d,3" % (k % 5, k) for k in range(30)),
         "every rating is 3"),
        ("ratings", "a.parquet", b"PAR1" + b"x" * 50, "cannot be read as a Parquet file"),
        ("ratings", "a.csv", b"x" * 25_000_001, "at most 25 are allowed"),
        ("ratings", "a.csv", b"," * 30_000 + b"\n", "at most 5,000,000 rows, 20,000 columns"),
        ("documents", "a.txt", b"one\ntwo\n", "at least 5 are needed"),
        ("documents", "a.zip", b"PKnothing", "cannot be read as a zip archive"),
        ("documents", "a.zip", zipped({"../../etc/passwd.txt": b"x"}), "leads out of the archive"),
        ("documents", "a.zip", zipped({"/etc/passwd.txt": b"x"}), "leads out of the archive"),
        ("documents", "a.zip", zipped({"C:\\a.txt": b"x"}), "leads out of the archive"),
        ("documents", "a.zip", link_zip(), "is a link"),
        ("documents", "a.zip", HUGE, "would unpack to more than 200 MB"),
        ("documents", "a.zip", zipped({"a.txt": b"a" * 21_000_000}),
         "would unpack to more than 20 MB"),
        ("documents", "a.zip", lying_zip(), "is damaged"),
        ("documents", "a.zip", zipped({f"{k}.md": b"x" for k in range(9)}), "holds no .txt file"),
        ("documents", "a.zip", zipped({"a.txt": b"x"}, zipfile.ZIP_BZIP2),
         "packed in an unusual way"),
        ("images", "a.zip", zipped({f"{k}.png": png_bomb() for k in range(6)}),
         "is no PNG or JPEG picture|at most 16 million"),
        ("images", "a.zip", zipped({f"{k}.png": b"GIF89a" for k in range(6)}),
         "is no PNG or JPEG picture"),
        ("images", "a.zip", zipped({f"{k}.png": picture(seed=k)[:60] for k in range(6)}),
         "is damaged|is no PNG"),
        ("images", "a.zip", pictures_zip(3), "holds 3 images as read; at least 5"),
        ("images", "a.npy", npy(np.array([object()] * 5), allow_pickle=True), "would be a pickle"),
        ("images", "a.npy", header_bomb(), "more than it holds"),
        ("images", "a.npy", npy(np.ones((10, 7))), "are not square"),
        ("images", "a.npy", npy(-np.ones((9, 8, 8))), "the lowest pixel is -1"),
        ("images", "a.npy", npy(np.full((9, 8, 8), np.nan)), "NaN or infinite"),
        ("images", "a.npy", npy(np.zeros((9, 8, 8))), "every image is black"),
        ("images", "a.npy", npy(np.ones((6, 200, 200))), "choose a smaller side"),
        ("images", "a.npy", b"\x93NUMPY\x09\x00", "cannot be read as a NumPy file"),
        ("images", "a.mat", mat(name=np.array(["x"])), "holds no table or stack of numbers"),
        ("images", "a.mat", b"MATLAB 5.0" + b"\0" * 300,
         "cannot be read as a MATLAB file|holds no table"),
        ("pickles", "a.pkl", b"x", "kind = 'pickles' is not allowed"),
    ],
)  # fmt: skip
def test_bad_files_get_one_sentence(kind: str, file: str, data: bytes, said: str) -> None:
    with pytest.raises(DPMCError, match=said) as error:
        own.read(kind, file, data)
    assert str(error.value).count("\n") == 0
    assert len(str(error.value)) < 600


def test_pictures_of_different_sizes_need_a_side_and_are_told_so() -> None:
    mixed = zipped({f"{k}.png": picture(10 + k, 12, seed=k) for k in range(6)})
    assert own.inspect("images", "a.zip", mixed).reading.side == 32
    with pytest.raises(DataError, match="different sizes"):
        own.read("images", "a.zip", mixed, side=0)
    images = own.read("images", "a.zip", mixed, side=8).images
    assert images.shape == (8, 8)
    assert len(images) == 6


def test_images_are_the_same_from_every_form() -> None:
    stack = np.random.default_rng(1).integers(1, 256, (7, 8, 8)).astype(np.uint8)
    as_files = zipped({f"{k}.png": picture_file(image) for k, image in enumerate(stack)})
    columns = stack.transpose(0, 2, 1).reshape(7, 64)  # column by column, as MATLAB lays images
    forms = [
        own.read("images", "a.zip", as_files),
        own.read("images", "a.npy", npy(stack)),
        own.read("images", "a.npy", npy(stack.reshape(7, 64))),
        own.read("images", "a.npy", npy(stack.reshape(7, 64).T), rows="pixels"),
        own.read("images", "a.mat", mat(fea=columns, gnd=np.arange(7)[:, None])),
        own.read("images", "a.mat", mat(faces=np.moveaxis(stack, 0, 2)), rows="pixels"),
    ]
    first, *others = [np.asarray(one.images.values) for one in forms if one.images is not None]
    assert len(others) == 5
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-12)


def test_documents_are_found_in_every_form() -> None:
    texts = [f"word{'abc'[k % 3]} common text number" for k in range(6)]
    lines = own.read("documents", "a.txt", "\n".join(texts).encode()).documents
    paragraphs = own.read("documents", "a.txt", "\n\n".join(texts).encode()).documents
    table = own.read(
        "documents",
        "a.csv",
        ("class,body\n" + "\n".join(f"c{k % 2},{t}" for k, t in enumerate(texts))).encode(),
    ).documents
    archive = own.read(
        "documents", "a.zip", zipped({f"c{k % 2}/{k}.txt": t.encode() for k, t in enumerate(texts)})
    ).documents
    assert list(lines.texts) == list(paragraphs.texts) == list(table.texts) == texts
    assert sorted(archive.texts) == sorted(texts)
    assert table.labels == tuple(f"c{k % 2}" for k in range(6))
    assert sorted(archive.labels) == sorted(table.labels)


def test_a_set_is_seen_only_where_it_was_put() -> None:
    mine = read_table(long_csv())
    with pytest.raises(ParameterError, match="a set of this visit"):
        RunSpec.of(dataset=mine.name)
    with user_datasets.using(mine):
        spec = RunSpec.of(dataset=mine.name, rank=2, iterations=2)
        assert entry(mine.name).users == 12
        assert run(spec).split.train.name == "Your ratings"
        with pytest.raises(
            ParameterError, match="a set of images or documents; this one holds ratings"
        ):
            RunSpec.of(dataset=mine.name, algorithm="nmf")
    with pytest.raises(ParameterError, match="a set of this visit"):
        run(spec)
    with pytest.raises(ParameterError, match="a set of this visit"):
        RunSpec.from_json(spec.to_json())


def test_nothing_of_a_set_stays_behind_in_the_process() -> None:
    """Caches of the process hold names and settings, never what came of a set.

    With the set gone, so is everything made of it.
    """
    import gc
    import weakref

    mine = read_table(long_csv())
    words = own.read("documents", "a.zip", documents_zip(), name="own-words")
    with user_datasets.using(mine, words):
        spec = RunSpec.of(dataset=mine.name, rank=2, iterations=2, reg=0.5)
        private = {"algorithm": "moments", "mechanism": "gaussian", "epsilon": 5.0}
        result = run(spec.replace(**private))
        topics = run(
            RunSpec.of(dataset=words.name, rank=2, rounds=2, min_documents=1, max_share=1.0)
        )
        run(spec.replace(task="rate"))
    traces = [
        weakref.ref(x)
        for x in (
            mine,
            mine.ratings.values,
            result.split.train.values,
            words,
            topics.clean,
            topics.clean.counts,
        )
    ]
    del mine, words, result, topics
    gc.collect()
    assert [trace() for trace in traces] == [None] * 6


def test_private_runs_on_own_data_keep_to_their_budget() -> None:
    mine = read_table(long_csv(40, 20), low=1, high=5, users=40)
    table = "book\n" + "\n".join(f"book {k}" for k in range(20))
    mine = own.with_items(mine, own.read_item_table("books.csv", table.encode()))
    with user_datasets.using(mine):
        result = run(
            RunSpec.of(
                dataset=mine.name, algorithm="moments", mechanism="gaussian", epsilon=2.0, rank=3
            )
        )
    assert result.statement.epsilon == pytest.approx(2.0, rel=1e-3)
    assert not result.statement.nominal
    assert not any("read off" in note for note in mine.notes)


@pytest.mark.nightly
def test_a_sweep_of_own_data_runs_in_processes_and_is_kept_nowhere() -> None:
    mine = read_table(long_csv(20, 12))
    runs = PassingRuns()
    with user_datasets.using(mine):
        spec = SweepSpec.from_dict(
            {
                "seeds": 2,
                "base": {"dataset": mine.name, "rank": 2, "reg": 0.5, "iterations": 2},
                "grid": {"mechanism": ["none", "gaussian"]},
            }
        )
        *_, last = sweep(spec, runs, jobs=2, sets=[mine])
        assert (last.done, last.failures) == (4, 0)
        *_, again = sweep(spec, runs, jobs=1)
        assert again.before == 4


def test_a_set_travels_without_what_was_worked_out() -> None:
    mine = read_table(long_csv())
    small = len(pickle.dumps(mine))
    with user_datasets.using(mine):
        run(RunSpec.of(dataset=mine.name, rank=2, iterations=1, reg=0.5))
    assert len(pickle.dumps(mine)) == small


@pytest.mark.parametrize(("kind", "file", "data"), good_files())
def test_good_files_are_read(kind: str, file: str, data: bytes) -> None:
    own.inspect(kind, file, data)
    one = own.read(kind, file, data)
    assert one.entry.holds == kind
    assert one.megabytes > 0


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


def test_a_frame_with_odd_columns_is_read() -> None:
    frame = pd.DataFrame(
        {
            "user": [1.0, 2.0] * 8,
            "item": sorted(list(range(8)) * 2),
            "when": pd.date_range("2020", periods=16),
            "rating": ([1, 2, 3, 4] * 4),
        }
    )
    out = io.BytesIO()
    frame.to_parquet(out)
    one = read_table(out.getvalue(), "a.parquet")
    assert one.ratings.user_labels == ("1", "2")  # whole numbers stay whole
    assert one.reading.value == "rating"
