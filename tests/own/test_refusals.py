"""Files that cannot be used, each told in one sentence that says what is allowed."""

import re
import stat
import struct
import zipfile
import zlib

import numpy as np
import pytest

from dpmc_core.datasets import own
from dpmc_core.errors import DPMCError
from tests.own.files import (
    PLAIN,
    long_csv,
    mat,
    npy,
    picture,
    pictures_zip,
    six,
    table_of,
    wide_csv,
    zipped,
)


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
    """Of 40,000 × 40,000 pixels, by its header."""
    whole = picture()
    at = whole.index(b"IHDR")
    header = b"IHDR" + struct.pack(">II", 40_000, 40_000) + whole[at + 12 : at + 17]
    return whole[:at] + header + struct.pack(">I", zlib.crc32(header)) + whole[at + 21 :]


def header_bomb() -> bytes:
    """A NumPy file that declares a billion numbers and holds none."""
    return npy(np.zeros((5, 8, 8))).replace(b"(5, 8, 8)", b"(99999, 99, 99)")[:200]


def spoilt(value: float) -> bytes:
    stack = np.ones((7, 20, 20))
    stack[3, 2, 2] = value
    return npy(stack)


def variable_twice() -> bytes:
    once = mat(faces=np.random.default_rng(0).random((6, 64)))
    return once + once[128:]


QUOTED = [f'"u{k % 9}","film, {k % 7}",{k % 5 + 1}' for k in range(90)]
ALLOWED = "4 cells where the others have 3: put quotes around a cell that holds the separator"
# no row names: they repeat
HEADING = "line 2 has 4 cells and the heading 3: name every column, or put quotes around a cell"
LINES = {
    "a cell too many": ([*PLAIN[:5], "u,Good, Bad,4", *PLAIN], f"line 7 has {ALLOWED}"),
    "a quote within": (
        [*QUOTED[:5], '"u","i,4', *QUOTED],
        f"lines 7 to 8, which a quote holds together, have {ALLOWED}",
    ),
    "a quote at the end": (
        [*QUOTED, '"u","i,4'],
        "a quote is opened in line 92 and never closed: close it, or",
    ),
    "decimal commas": ([f"{line},5" for line in PLAIN], HEADING),
    "many users": ([f"u{k % 250},i{k % 7},{k % 5 + 1},5" for k in range(500)], HEADING),
    "titles": ([line.replace(",", ",The Good, ", 1) for line in PLAIN], HEADING),
}
TABLES = [
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
    (
        "a.csv",
        table_of(*["a,b,3"] * 20, f"a,{'x' * 200_000},3"),
        r"after line 21: .* more than 131,072 characters",
    ),
    (
        "a.txt",
        b"1:\n" + b"7,3,2005-09-06\n" * 5 + b"2:\n" + b"9,4,2005-09-07\n" * 9,
        "the line '1:' says whose the lines below it are",
    ),
    (
        "a.csv",
        b"some words and more words\n" * 30,
        "The table has 1 column; one rating a row takes three",
    ),
    *(
        ("a.csv", table_of(*lines) + end, re.escape(f"a.csv: {message}"))
        for lines, message in LINES.values()
        for end in (b"", b"\n\n")
    ),
]
ARCHIVES = [
    (b"PKnothing", "cannot be read as a zip archive"),
    (zipped({"../../etc/passwd.txt": b"x"}), "leads out of the archive"),
    (zipped({"/etc/passwd.txt": b"x"}), "leads out of the archive"),
    (zipped({"C:\\a.txt": b"x"}), "leads out of the archive"),
    (link_zip(), "is a link"),
    (
        zipped({f"{k}.txt": b"a" * 19_000_000 for k in range(12)}),
        "would unpack to more than 200 MB",
    ),
    (zipped({"a.txt": b"a" * 21_000_000}), "would unpack to more than 20 MB"),
    (lying_zip(), "is damaged"),
    (zipped({f"{k}.md": b"x" for k in range(9)}), "holds no .txt file"),
    (zipped({"a.txt": b"x"}, zipfile.ZIP_BZIP2), "packed in an unusual way"),
]
IMAGES = [
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
    ("a.mat", b"MATLAB 5.0" + b"\0" * 300, "cannot be read as a MATLAB file|holds no table"),
    ("a.mat", variable_twice(), "two variables of one name"),
]
RESIZED = "below 0 or without a value"  # pixels that are none are refused before that
STARS = wide_csv(np.random.default_rng(3).integers(1, 6, (40, 6)))
CHOICES = [
    (long_csv(), {"user": "nobody"}, "user = 'nobody' .* must be one of the file's columns"),
    (long_csv(), {"user": "book"}, "three different columns"),
    (long_csv(), {"low": 5.0, "high": 1.0}, "low = 5.0 is not allowed: it must be below high"),
    (long_csv(), {"low": "x"}, "low = 'x' is not allowed"),
    (long_csv(), {"layout": "deep"}, "layout = 'deep' .* must be one of long, wide"),
    (long_csv(), {"colour": "red"}, "read = 'colour' .* must be one of layout"),
    *(
        (STARS, {"missing": codes}, r"missing = .* at most 20 numbers with commas")
        for codes in ("many", "nan", "inf", "1e99", "99;1", ",".join(["1"] * 21))
    ),
    (STARS, {"without": "x" * 200_000}, r"without = .* names of columns"),
    (STARS, {"without": "age"}, "without = 'age' is not allowed: it must be one of"),
]


def noise(size: int) -> bytes:
    return np.random.default_rng(3).integers(1, 256, size, dtype=np.uint8).tobytes()


NO_TEXT = r"noise\.txt is no text; TXT, CSV or a zip archive"
WORDS = {f"{k}.txt": b"some words" for k in range(6)}
REFUSED: list[tuple[str, str, bytes, str, dict[str, object]]] = [
    *(("ratings", *row, {}) for row in TABLES),
    *(("documents", "a.zip", *row, {}) for row in ARCHIVES),
    *(("images", *row, {}) for row in IMAGES),
    *(("images", "a.npy", spoilt(value), RESIZED, {"side": 8}) for value in (-1.0, np.nan)),
    *(("ratings", "a.csv", data, message, choices) for data, choices, message in CHOICES),
    # inside an archive as outside
    *(("documents", "noise.txt", noise(size), NO_TEXT, {}) for size in (150, 3000)),
    *(
        ("documents", "a.zip", zipped(WORDS | {"noise.txt": noise(size)}), NO_TEXT, {})
        for size in (150, 3000)
    ),
    ("pickles", "a.pkl", b"x", "kind = 'pickles' is not allowed", {}),
    ("documents", "a.txt", b"one\ntwo\n", "at least 5 are needed", {}),
    (
        "documents",
        "a.csv",
        b"n,m\n" + b"123456,7\n" * 30,
        "no document holds a word of three letters; is 'n' the column",
        {"text": "n"},
    ),
]


@pytest.mark.parametrize(
    ("kind", "file", "data", "message", "choices"),
    REFUSED,
    ids=[f"{kind}, {message[:40]}" for kind, _, _, message, _ in REFUSED],
)
def test_a_file_that_cannot_be_used_gets_one_sentence(
    kind: str, file: str, data: bytes, message: str, choices: dict[str, object]
) -> None:
    with pytest.raises(DPMCError, match=message) as error:
        own.read(kind, file, data, **choices)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 600
