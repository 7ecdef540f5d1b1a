"""Files that cannot be used, each told in one sentence that says what is allowed."""

import re
import struct
import zipfile
import zlib
from typing import Any

import numpy as np
import pytest

from dpmc_core.datasets import own
from dpmc_core.errors import DPMCError
from tests.own.files import (
    PLAIN,
    decimal_commas,
    link,
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


def bad_pixel(value: float) -> bytes:
    stack = np.ones((7, 20, 20))
    stack[3, 2, 2] = value
    return npy(stack)


def noise(size: int) -> bytes:
    return np.random.default_rng(3).integers(1, 256, size, dtype=np.uint8).tobytes()


QUOTED = [f'"u{k % 9}","film, {k % 7}",{k % 5 + 1}' for k in range(90)]
ALLOWED = "4 cells where the others have 3: put quotes around a cell that holds the separator"
# no row names: they repeat
HEADING = "line 2 has 4 cells and the heading 3: name every column, or put quotes around a cell"
LINES = (
    ([*PLAIN[:5], "u,Good, Bad,4", *PLAIN], f"line 7 has {ALLOWED}"),
    (
        [*QUOTED[:5], '"u","i,4', *QUOTED],
        f"lines 7 to 8, which a quote holds together, have {ALLOWED}",
    ),
    ([*QUOTED, '"u","i,4'], "a quote is opened in line 92 and never closed: close it, or"),
    ([f"{line},5" for line in PLAIN], HEADING),
    ([f"u{k % 250},i{k % 7},{k % 5 + 1},5" for k in range(500)], HEADING),
    ([line.replace(",", ",The Good, ", 1) for line in PLAIN], HEADING),
)
STARS = wide_csv(np.random.default_rng(3).integers(1, 6, (40, 6)))
FACES = mat(faces=np.random.default_rng(0).random((6, 64)))
NO_TEXT = r"noise\.txt is no text; TXT, CSV or a zip archive"
WORDS = {f"{k}.txt": b"some words" for k in range(6)}
# the file's name, its content, what is said, and how it is to be read
FILES: dict[str, list[Any]] = {
    "ratings": [
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
            for lines, message in LINES
            for end in (b"", b"\n\n")
        ),
        *(
            ("a.csv", long_csv(), message, choices)
            for message, choices in (
                *(
                    (f"{what} = 'no' .* must be one of the file's columns", {what: "no"})
                    for what in ("user", "item", "value", "index", "without")
                ),
                ("three different columns", {"user": "book"}),
                ("low = 5.0 is not allowed: it must be below high", {"low": 5.0, "high": 1.0}),
                ("low = 'x' is not allowed", {"low": "x"}),
                ("layout = 'deep' .* must be one of long, wide", {"layout": "deep"}),
                ("read = 'colour' .* must be one of layout", {"colour": "red"}),
            )
        ),
        (
            "a.csv",
            decimal_commas("500"),  # thousands
            "leaves 0 ratings of 0 items by 0 users",
            {"value": "rating"},
        ),
        *(
            ("a.csv", STARS, r"missing = .* at most 20 numbers with commas", {"missing": codes})
            for codes in ("many", "nan", "inf", "1e99", "99;1", ",".join(["1"] * 21))
        ),
        ("a.csv", STARS, r"without = .* names of columns", {"without": "x" * 200_000}),
        ("a.csv", STARS, "without = 'age' is not allowed: it must be one of", {"without": "age"}),
    ],
    "documents": [
        ("a.zip", b"PKnothing", "cannot be read as a zip archive"),
        *(
            ("a.zip", zipped({name: b"x"}), "leads out of the archive")
            for name in ("../../etc/passwd.txt", "/etc/passwd.txt", "C:\\a.txt")
        ),
        ("a.zip", zipped({link("link.txt"): b"/etc/passwd"}), "is a link"),
        (
            "a.zip",
            zipped({f"{k}.txt": b"a" * 19_000_000 for k in range(12)}),
            "would unpack to more than 200 MB",
        ),
        ("a.zip", zipped({"a.txt": b"a" * 21_000_000}), "would unpack to more than 20 MB"),
        ("a.zip", lying_zip(), "is damaged"),
        ("a.zip", zipped({f"{k}.md": b"x" for k in range(9)}), "holds no .txt file"),
        ("a.zip", zipped({"a.txt": b"x"}, zipfile.ZIP_BZIP2), "packed in an unusual way"),
        # inside an archive as outside
        *(("noise.txt", noise(size), NO_TEXT) for size in (150, 3000)),
        *(("a.zip", zipped(WORDS | {"noise.txt": noise(n)}), NO_TEXT) for n in (150, 3000)),
        ("a.txt", b"one\ntwo\n", "at least 5 are needed"),
        (
            "a.csv",
            b"n,m\n" + b"123456,7\n" * 30,
            "no document holds a word of three letters; is 'n' the column",
            {"text": "n"},
        ),
    ],
    "images": [
        ("a.zip", six(png_bomb()), "is no PNG or JPEG picture|at most 16 million"),
        ("a.zip", six(b"GIF89a"), "is no PNG or JPEG picture"),
        ("a.zip", six(picture()[:60]), "is damaged|is no PNG"),
        ("a.zip", pictures_zip(3), "holds 3 images as read; at least 5"),
        ("a.npy", npy(np.array([object()] * 5), allow_pickle=True), "would be a pickle"),
        # declares a billion numbers and holds none
        (
            "a.npy",
            npy(np.zeros((5, 8, 8))).replace(b"(5, 8, 8)", b"(99999, 99, 99)")[:200],
            "more than it holds",
        ),
        ("a.npy", npy(np.ones((10, 7))), "are not square"),
        ("a.npy", npy(np.ones((6, 200, 200))), "choose a smaller side"),
        ("a.npy", b"\x93NUMPY\x09\x00", "cannot be read as a NumPy file"),
        ("a.mat", mat(name=np.array(["x"])), "holds no table or stack of numbers"),
        ("a.mat", b"MATLAB 5.0" + b"\0" * 300, "cannot be read as a MATLAB file|holds no table"),
        ("a.mat", FACES + FACES[128:], "two variables of one name"),
        # before they are resized: pixels that are none
        *(
            ("a.npy", bad_pixel(value), "below 0 or without a value", {"side": 8})
            for value in (-1.0, np.nan)
        ),
    ],
    "pickles": [("a.pkl", b"x", "kind = 'pickles' is not allowed")],
}


REFUSED = [
    pytest.param(kind, file, data, message, dict(*choices), id=message[:40])
    for kind, files in FILES.items()
    for file, data, message, *choices in files
]


@pytest.mark.parametrize(("kind", "file", "data", "message", "choices"), REFUSED)
def test_a_file_that_cannot_be_used_gets_one_sentence(
    kind: str, file: str, data: bytes, message: str, choices: dict[str, Any]
) -> None:
    with pytest.raises(DPMCError, match=message) as error:
        own.read(kind, file, data, **choices)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 600
