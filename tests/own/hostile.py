"""Files that somebody made to do harm, or that were never meant for this: by what they are."""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.lib import format as npy_format
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from scipy import sparse
from scipy.io import savemat

from tests.own.files import (
    documents_zip,
    long_csv,
    mat,
    npy,
    picture,
    picture_file,
    pictures_zip,
    saved,
    six,
    zipped,
)


def rows(cells: Callable[[int], str], count: int = 200, head: str = "user,item,rating") -> bytes:
    return "\n".join([head, *(cells(k) for k in range(count))]).encode("utf-8", "surrogatepass")


def parquet(**columns: object) -> bytes:
    return saved(lambda out: pq.write_table(pa.table(columns), out))


def millions_of_rows_in_a_kilobyte() -> bytes:
    return parquet(**dict.fromkeys(("user", "item", "r"), np.ones(5_000_001, np.int8)))


def text_that_is_no_text() -> bytes:
    offsets = pa.py_buffer(struct.pack("<41i", *range(0, 82, 2)))
    broken = pa.StringArray.from_buffers(40, offsets, pa.py_buffer(b"\xff\xfe" * 40))
    return parquet(user=broken, item=range(40), rating=range(40))


def a_footer_that_is_cut() -> bytes:
    whole = parquet(user=[1], item=[2], rating=[3])
    return whole[:-8] + struct.pack("<I", 2**31 - 1) + b"PAR1"


def eight(content: bytes, name: str = "{}.txt") -> bytes:
    """An archive of eight members with a number each in their names and contents."""
    return zipped({name.format(k): content.replace(b"#", b"%d" % k) for k in range(8)})


def members_of_one_name() -> bytes:
    whole = eight(b"some words here #")
    for k in range(8):
        whole = whole.replace(b"%d.txt" % k, b"0.txt")
    return whole


def members_in_one_place() -> bytes:
    """Many names for the same megabyte: the directory says so, the file is small."""
    packed = zipped({"0.txt": b"word " * 200_000})
    at = packed.index(b"PK\x01\x02")
    end = packed.index(b"PK\x05\x06")
    one = packed[at:end]
    many = b"".join(one.replace(b"0.txt", b"%d.txt" % k) for k in range(10))
    last = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 10, 10, len(many), at, 0)
    return packed[:at] + many + last


def names_with_an_end_in_the_middle() -> bytes:
    return eight(b"some words here", "{}XX.png.txt").replace(b"XX.png", b"\0\0.png")


def members_that_are_locked() -> bytes:
    whole = bytearray(documents_zip())
    for mark, flag in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := whole.find(mark, at + 1)) >= 0:
            whole[at + flag] |= 1
    return bytes(whole)


SHADES = np.random.default_rng(1).integers(0, 255, (24, 24)).astype(np.uint8)


def pictures_with_texts_that_unpack_to_much() -> bytes:
    about = PngInfo()
    about.add_text("Comment", "a" * 60_000_000, zip=True)
    return six(picture_file(SHADES, pnginfo=about))


def pictures_that_move() -> bytes:
    first, *others = [Image.new("L", (24, 24), 40 * k + 9) for k in range(5)]
    return six(picture_file(first, save_all=True, append_images=others))


def pictures_of_a_palette_with_holes() -> bytes:
    palette = Image.fromarray(SHADES).convert("P")
    return six(picture_file(palette, transparency=bytes(range(200))))


def pictures_whose_checksums_are_wrong() -> bytes:
    whole = picture()
    at = whole.index(b"IDAT") + 4
    size = struct.unpack(">I", whole[at - 8 : at - 4])[0]
    broken = zlib.compress(zlib.decompress(whole[at : at + size])[:-40])
    made = whole[: at - 8] + struct.pack(">I", len(broken)) + b"IDAT" + broken
    return six(made + b"\0\0\0\0" + whole[at + size + 4 :])


def an_archive_with_a_comment_and_more() -> bytes:
    out = io.BytesIO(pictures_zip())
    with zipfile.ZipFile(out, "a") as made:
        made.comment = b"PK\x05\x06" * 10_000
    return out.getvalue()


FACES = np.random.default_rng(2).random((9, 8, 8))


def an_array_of_half_numbers_without_end() -> bytes:
    with np.errstate(all="ignore"):
        return npy((FACES * 1e9).astype(np.float16))


def headed(header: bytes, version: int = 1) -> bytes:
    """A NumPy file that begins with this header."""
    line = header + b"\n"
    size = struct.pack("<H", len(line) % 65536) if version == 1 else struct.pack("<I", len(line))
    return npy_format.magic(version, 0) + size + line


def a_cell_of_cells() -> bytes:
    cells = np.empty((3, 3), dtype=object)
    cells[:] = "x"
    return mat(faces=cells, other={"a": cells})  # type: ignore[arg-type]


def array(*shape: int) -> bytes:
    return npy(np.arange(float(np.prod(shape))).reshape(shape))


def a_size_below_nothing() -> bytes:
    whole = saved(lambda out: savemat(out, {"faces": FACES.reshape(9, 64)}))
    sizes = struct.pack("<ii", 9, 64)
    assert sizes in whole
    return whole.replace(sizes, struct.pack("<ii", -9, 2**31 - 1))


def a_frame_with_an_index_of_its_own() -> bytes:
    frame = pd.DataFrame({"user": range(30), "item": range(30), "rating": [1, 2, 3] * 10})
    return frame.set_index(["user", "item"]).to_parquet()


ALIKE = ("é", "e\u0301", "é ")
ROWS: dict[str, Callable[[int], str]] = {
    "line ends within quotes": lambda k: f'"u\n{k % 9}","i\r\n{k % 7}",{k % 5 + 1}',
    "surrogates": lambda k: f"u\udc80{k % 9},i{k % 7},{k % 5 + 1}",
    "ids of control characters": lambda k: (
        f"\x1b[31m{k % 9}\x07,\u202e\u2066{k % 7}\x85,{k % 5 + 1}"
    ),
    "ids of thousands of digits": lambda k: f"{'7' * 4400}{k % 9},{k % 7},{k % 5 + 1}",
    "ratings as large as numbers are": lambda k: f"{k % 9},{k % 7},{(-1) ** k * 1.7e308}",
    "ratings below the smallest number": lambda k: f"{k % 9},{k % 7},{k % 5 * 5e-324}",
    "ratings that are not numbers": lambda k: (
        f"{k % 9},{k % 7},{('nan', 'inf', '-inf', '1e999', '0x1f')[k % 5]}"
    ),
    "ratings as dates": lambda k: f"{k % 9},{k % 7},2020-01-{k % 28 + 1:02d}",
    "numbers of other scripts": lambda k: f"{k % 9},{k % 7},{'١٢٣٤٥'[k % 5]}",
    "one user only": lambda k: f"u,{k},{k % 5 + 1}",
    "cells that spreadsheets compute": lambda k: (
        f"\"=cmd|' /C calc'!A{k % 9}\",@SUM({k % 7}),{k % 5 + 1}"
    ),
    "codes everywhere": lambda k: f"{k % 9},{k % 7},{(99, -1, 999, -99, 9999)[k % 5]}",
    "ids that look alike": lambda k: f"{ALIKE[k % 3]}{k % 9},i{k % 7},{k % 5 + 1}",
}
TEN = ",".join(["who", *(f"i{k}" for k in range(9))])
SHAPES = ((1, 28, 28), (28, 28, 1), (28, 1, 28), (100, 1), (1, 100), (9, 1), (1, 1), (1, 1, 1))
# by what they come as
HOSTILE: dict[tuple[str, str], dict[str, Callable[[], bytes]]] = {
    ("ratings", "a.csv"): {
        **{name: partial(rows, cells) for name, cells in ROWS.items()},
        "a column that is empty at first": lambda: rows(
            lambda k: f"u{k},{k % 5 if k > 250 else ''}" + f",{k % 4 + 1}" * 8, 400, TEN
        ),
        "numbers near the largest": lambda: rows(
            lambda k: f"u{k}" + f",{k % 2}.7e308,{k % 5}" * 4 + ",1", 300, TEN
        ),
        "a quote that never closes": lambda: long_csv() + b'\n1,r1,"' + b"x" * 5_000_000,
        "one line of megabytes": lambda: b"user,item,rating," + b"y" * 10_000_000,
        "thousands of quoted columns": lambda: (
            b",".join(b'"a""%d"' % k for k in range(19_000)) + b"\n" + b",".join([b"1"] * 19_000)
        ),
        "a name of a megabyte": lambda: b"u" * 1_000_000 + long_csv(),
        "separators only": lambda: b",,,,\n" * 1000,
        "half a character": lambda: long_csv().decode().encode("utf-16")[:-1],
        "four bytes a character": lambda: long_csv().decode().encode("utf-32"),
        "a spreadsheet": lambda: zipped(
            {"xl/workbook.xml": b"<workbook/>", "[Content_Types].xml": b"<Types/>"}
        ),
        "a document to print": lambda: (
            b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog /OpenAction (app.alert(1)) >>\nendobj\n%%EOF"
        ),
        "a page of the web": lambda: (
            b"<!doctype html><table><tr><td>1<td>2<td onmouseover=alert(1)>3</table>" * 30
        ),
        "lines of json": lambda: "\n".join(
            json.dumps({"user": k % 9, "item": k % 7, "rating": 3}) for k in range(99)
        ).encode(),
    },
    ("ratings", "a.parquet"): {
        "millions of rows in a kilobyte": millions_of_rows_in_a_kilobyte,
        "a column of lists": lambda: parquet(user=[[1], [2, 3]], item=[1, 2], rating=[1, 2]),
        "columns of unusual types": lambda: parquet(
            user=pa.array([None, "a"] * 20).dictionary_encode(),
            item=[b"\xff\xfe", b"b"] * 20,
            rating=pa.array([1, None] * 20, pa.decimal128(38, 10)),
        ),
        "times as ratings": lambda: parquet(
            user=range(30), item=range(30), rating=pa.array([2**62] * 30, pa.timestamp("ns"))
        ),
        "text that is no text": text_that_is_no_text,
        "more columns than allowed": lambda: parquet(**{f"c{k}": [1] for k in range(20_001)}),
        "a footer that is cut": a_footer_that_is_cut,
        "a frame with an index of its own": a_frame_with_an_index_of_its_own,
    },
    ("documents", "a.zip"): {
        "archives in an archive": lambda: eight(documents_zip()),
        "more members than allowed": lambda: zipped({f"{k}.txt": b"a" for k in range(20_001)}),
        "members of one name": members_of_one_name,
        "members in one place": members_in_one_place,
        "names of sixty kilobytes": lambda: eight(b"some words here", "n" * 60_000 + "{}.txt"),
        "names of other machines": lambda: eight(b"some words here", "\\\\server\\share\\{}.txt"),
        "names with an end in the middle": names_with_an_end_in_the_middle,
        "members that are locked": members_that_are_locked,
        "folders only": lambda: eight(b"", "{}/"),
        "an archive behind a program": lambda: b"\x7fELF" + b"\0" * 5000 + documents_zip(),
        "texts that are pickles": lambda: eight(b"\x80\x04\x95cos\nsystem\n"),
    },
    ("documents", "a.txt"): {
        "words of a megabyte": lambda: b"\n".join(b"w" * 300_000 + b" %d" % k for k in range(8)),
        "empty lines only": lambda: b"\n \t\r\n" * 500_000,
    },
    ("documents", "a.csv"): {"texts in no column": lambda: b"a,b\n" + b"1,2\n" * 50},
    ("images", "a.zip"): {
        "pictures with texts that unpack to much": pictures_with_texts_that_unpack_to_much,
        "pictures with profiles that are none": lambda: six(
            picture_file(SHADES, icc_profile=b"\xff" * 100_000)
        ),
        "pictures that move": pictures_that_move,
        "pictures of four inks": lambda: six(
            picture_file(Image.new("CMYK", (24, 24), (9, 99, 199, 3)), "JPEG"), "jpg"
        ),
        "pictures of a palette with holes": pictures_of_a_palette_with_holes,
        "pictures of one pixel": lambda: six(picture_file(Image.new("L", (1, 1), 200))),
        "pictures as wide as they can be": lambda: six(
            picture_file(Image.new("L", (65_000, 1), 200), "JPEG"), "jpg"
        ),
        "drawings that run": lambda: six(
            b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
        ),
        "pictures whose checksums are wrong": pictures_whose_checksums_are_wrong,
        "an archive with a comment and more": an_archive_with_a_comment_and_more,
    },
    ("images", "a.npy"): {
        "an array by columns": lambda: npy(np.asfortranarray(FACES)),
        "an array of records": lambda: npy(
            np.zeros((9, 8), dtype=[("a", "f8"), ("b", "O")]), allow_pickle=True
        ),
        "an array of complex numbers": lambda: npy(FACES * 1j),
        "an array of another machine": lambda: npy(FACES.astype(">f4")),
        "an array of half numbers without end": an_array_of_half_numbers_without_end,
        "an array of truths": lambda: npy(FACES > 0.5),
        "a header with a program": lambda: (
            headed(
                b"{'descr': '<f8', 'fortran_order': __import__('os').system('id'), "
                b"'shape': (9, 8, 8)}"
            )
            + bytes(9 * 64 * 8)
        ),
        "a header of megabytes": lambda: headed(
            b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"1," * 2_000_000 + b")}", 2
        ),
        "a header nested deep": lambda: headed(
            b"{'descr': " + b"(" * 20_000 + b")" * 20_000 + b"}"
        ),
        "several arrays": lambda: saved(lambda out: np.savez(out, a=FACES)),
        **{f"an array of {shape}": partial(array, *shape) for shape in SHAPES},
    },
    ("images", "a.mat"): {
        "a cell of cells": a_cell_of_cells,
        "a table of nothing": lambda: mat(faces=sparse.csc_matrix((400, 64))),
        "zeros that unpack to much": lambda: mat(faces=np.zeros((9000, 4096), np.uint8)),
        "a newer file": lambda: (
            b"MATLAB 7.3 MAT-file, Platform: X".ljust(124) + b"\0\2IM" + b"\x89HDF\r\n\x1a\n" * 30
        ),
        "a size below nothing": a_size_below_nothing,
    },
    ("documents", "a.tsv"): {
        "a table of rows that grow": lambda: b"\n".join(
            b"\t".join([b"word"] * k) for k in range(1, 400)
        )
    },
}
