"""Files that somebody made to do harm, or that were never meant for this: by what they are."""

import io
import json
import struct
import zipfile
import zlib
from typing import Any

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
    table_by,
    zipped,
)


def parquet(**columns: object) -> bytes:
    return saved(lambda out: pq.write_table(pa.table(columns), out))


def eight(content: bytes, name: str = "{}.txt") -> bytes:
    """An archive of eight members with a number each in their names and contents."""
    return zipped({name.format(k): content.replace(b"#", b"%d" % k) for k in range(8)})


def members_in_one_place() -> bytes:
    """Many names for the same megabyte: the directory says so, the file is small."""
    packed = zipped({"0.txt": b"word " * 200_000})
    at, end = packed.index(b"PK\x01\x02"), packed.index(b"PK\x05\x06")
    many = b"".join(packed[at:end].replace(b"0.txt", b"%d.txt" % k) for k in range(10))
    last = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 10, 10, len(many), at, 0)
    return packed[:at] + many + last


def locked(whole: bytes) -> bytes:
    """An archive that says of all its members that they are encrypted."""
    for mark, flag in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        first, *others = whole.split(mark)
        flag -= len(mark)
        marked = (part[:flag] + bytes([part[flag] | 1]) + part[flag + 1 :] for part in others)
        whole = mark.join([first, *marked])
    return whole


def wrong_checksums() -> bytes:
    whole = picture()
    at = whole.index(b"IDAT") + 4
    size = struct.unpack(">I", whole[at - 8 : at - 4])[0]
    broken = zlib.compress(zlib.decompress(whole[at : at + size])[:-40])
    start = whole[: at - 8] + struct.pack(">I", len(broken)) + b"IDAT" + broken
    return start + b"\0\0\0\0" + whole[at + size + 4 :]


def commented(whole: bytes) -> bytes:
    out = io.BytesIO(whole)
    with zipfile.ZipFile(out, "a") as archive:
        archive.comment = b"PK\x05\x06" * 10_000
    return out.getvalue()


def headed(header: bytes, version: int = 1) -> bytes:
    """A NumPy file that begins with this header."""
    line = header + b"\n"
    size = struct.pack("<H", len(line) % 65536) if version == 1 else struct.pack("<I", len(line))
    return npy_format.magic(version, 0) + size + line


def drawn(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    """An archive of six of this picture."""
    return six(picture_file(image, kind, **options), {"PNG": "png", "JPEG": "jpg"}[kind])


def hostile() -> dict[tuple[str, str], dict[str, bytes]]:
    """All of them, by what they come as."""
    alike, ten = ("é", "e\u0301", "é "), ",".join(["who", *(f"i{k}" for k in range(9))])
    shades = Image.fromarray(np.random.default_rng(1).integers(0, 255, (24, 24)).astype(np.uint8))
    frames = [Image.new("L", (24, 24), 40 * k + 9) for k in range(5)]
    comment = PngInfo()
    comment.add_text("Comment", "a" * 60_000_000, zip=True)
    offsets = pa.py_buffer(struct.pack("<41i", *range(0, 82, 2)))
    no_text = pa.StringArray.from_buffers(40, offsets, pa.py_buffer(b"\xff\xfe" * 40))
    indexed = pd.DataFrame({"user": range(30), "item": range(30), "rating": [1, 2, 3] * 10})
    faces = np.random.default_rng(2).random((9, 8, 8))
    objects = np.full((3, 3), "x", dtype=object)
    with np.errstate(all="ignore"):
        half = (faces * 1e9).astype(np.float16)
    one_name = eight(b"some words here #")
    for k in range(8):
        one_name = one_name.replace(b"%d.txt" % k, b"0.txt")
    flat = saved(lambda out: savemat(out, {"faces": faces.reshape(9, 64)}))
    sizes = struct.pack("<ii", 9, 64)
    assert sizes in flat
    shapes = ((1, 28, 28), (28, 28, 1), (28, 1, 28), (100, 1), (1, 100), (9, 1), (1, 1), (1, 1, 1))
    return {
        ("ratings", "a.csv"): {
            "line ends within quotes": table_by(
                lambda k: f'"u\n{k % 9}","i\r\n{k % 7}",{k % 5 + 1}'
            ),
            "surrogates": table_by(lambda k: f"u\udc80{k % 9},i{k % 7},{k % 5 + 1}"),
            "ids of control characters": table_by(
                lambda k: f"\x1b[31m{k % 9}\x07,\u202e\u2066{k % 7}\x85,{k % 5 + 1}"
            ),
            "ids of thousands of digits": table_by(
                lambda k: f"{'7' * 4400}{k % 9},{k % 7},{k % 5 + 1}"
            ),
            "ratings as large as numbers are": table_by(
                lambda k: f"{k % 9},{k % 7},{(-1) ** k * 1.7e308}"
            ),
            "ratings below the smallest number": table_by(
                lambda k: f"{k % 9},{k % 7},{k % 5 * 5e-324}"
            ),
            "ratings that are not numbers": table_by(
                lambda k: f"{k % 9},{k % 7},{('nan', 'inf', '-inf', '1e999', '0x1f')[k % 5]}"
            ),
            "ratings as dates": table_by(lambda k: f"{k % 9},{k % 7},2020-01-{k % 28 + 1:02d}"),
            "numbers of other scripts": table_by(lambda k: f"{k % 9},{k % 7},{'١٢٣٤٥'[k % 5]}"),
            "one user only": table_by(lambda k: f"u,{k},{k % 5 + 1}"),
            "cells that spreadsheets compute": table_by(
                lambda k: f"\"=cmd|' /C calc'!A{k % 9}\",@SUM({k % 7}),{k % 5 + 1}"
            ),
            "codes everywhere": table_by(
                lambda k: f"{k % 9},{k % 7},{(99, -1, 999, -99, 9999)[k % 5]}"
            ),
            "ids that look alike": table_by(
                lambda k: f"{alike[k % 3]}{k % 9},i{k % 7},{k % 5 + 1}"
            ),
            "a column that is empty at first": table_by(
                lambda k: f"u{k},{k % 5 if k > 250 else ''}" + f",{k % 4 + 1}" * 8, 400, ten
            ),
            "numbers near the largest": table_by(
                lambda k: f"u{k}" + f",{k % 2}.7e308,{k % 5}" * 4 + ",1", 300, ten
            ),
            "a quote that never closes": long_csv() + b'\n1,r1,"' + b"x" * 5_000_000,
            "one line of megabytes": b"user,item,rating," + b"y" * 10_000_000,
            "thousands of quoted columns": (
                b",".join(b'"a""%d"' % k for k in range(19_000))
                + b"\n"
                + b",".join([b"1"] * 19_000)
            ),
            "a name of a megabyte": b"u" * 1_000_000 + long_csv(),
            "separators only": b",,,,\n" * 1000,
            "half a character": long_csv().decode().encode("utf-16")[:-1],
            "four bytes a character": long_csv().decode().encode("utf-32"),
            "a spreadsheet": zipped(
                {"xl/workbook.xml": b"<workbook/>", "[Content_Types].xml": b"<Types/>"}
            ),
            "a document to print": (
                b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog /OpenAction (app.alert(1)) >>\nendobj\n%%EOF"
            ),
            "a page of the web": (
                b"<!doctype html><table><tr><td>1<td>2<td onmouseover=alert(1)>3</table>" * 30
            ),
            "lines of json": "\n".join(
                json.dumps({"user": k % 9, "item": k % 7, "rating": 3}) for k in range(99)
            ).encode(),
        },
        ("ratings", "a.parquet"): {
            "millions of rows in a kilobyte": parquet(
                **dict.fromkeys(("user", "item", "r"), np.ones(5_000_001, np.int8))
            ),
            "a column of lists": parquet(user=[[1], [2, 3]], item=[1, 2], rating=[1, 2]),
            "columns of unusual types": parquet(
                user=pa.array([None, "a"] * 20).dictionary_encode(),
                item=[b"\xff\xfe", b"b"] * 20,
                rating=pa.array([1, None] * 20, pa.decimal128(38, 10)),
            ),
            "times as ratings": parquet(
                user=range(30), item=range(30), rating=pa.array([2**62] * 30, pa.timestamp("ns"))
            ),
            "text that is no text": parquet(user=no_text, item=range(40), rating=range(40)),
            "more columns than allowed": parquet(**{f"c{k}": [1] for k in range(20_001)}),
            "a footer that is cut": parquet(user=[1], item=[2], rating=[3])[:-8]
            + struct.pack("<I", 2**31 - 1)
            + b"PAR1",
            "a frame with an index of its own": indexed.set_index(["user", "item"]).to_parquet(),
        },
        ("documents", "a.zip"): {
            "archives in an archive": eight(documents_zip()),
            "more members than allowed": zipped({f"{k}.txt": b"a" for k in range(20_001)}),
            "members of one name": one_name,
            "members in one place": members_in_one_place(),
            "names of sixty kilobytes": eight(b"some words here", "n" * 60_000 + "{}.txt"),
            "names of other machines": eight(b"some words here", "\\\\server\\share\\{}.txt"),
            "names with an end in the middle": eight(b"some words here", "{}XX.png.txt").replace(
                b"XX.png", b"\0\0.png"
            ),
            "members that are locked": locked(documents_zip()),
            "folders only": eight(b"", "{}/"),
            "an archive behind a program": b"\x7fELF" + b"\0" * 5000 + documents_zip(),
            "texts that are pickles": eight(b"\x80\x04\x95cos\nsystem\n"),
        },
        ("documents", "a.txt"): {
            "words of a megabyte": b"\n".join(b"w" * 300_000 + b" %d" % k for k in range(8)),
            "empty lines only": b"\n \t\r\n" * 500_000,
        },
        ("documents", "a.csv"): {"texts in no column": b"a,b\n" + b"1,2\n" * 50},
        ("images", "a.zip"): {
            "pictures with texts that unpack to much": drawn(shades, pnginfo=comment),
            "pictures with profiles that are none": drawn(shades, icc_profile=b"\xff" * 100_000),
            "pictures that move": drawn(frames[0], save_all=True, append_images=frames[1:]),
            "pictures of four inks": drawn(Image.new("CMYK", (24, 24), (9, 99, 199, 3)), "JPEG"),
            "pictures of a palette with holes": drawn(
                shades.convert("P"), transparency=bytes(range(200))
            ),
            "pictures of one pixel": drawn(Image.new("L", (1, 1), 200)),
            "pictures as wide as they can be": drawn(Image.new("L", (65_000, 1), 200), "JPEG"),
            "drawings that run": six(
                b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
            ),
            "pictures whose checksums are wrong": six(wrong_checksums()),
            "an archive with a comment and more": commented(pictures_zip()),
        },
        ("images", "a.npy"): {
            "an array by columns": npy(np.asfortranarray(faces)),
            "an array of records": npy(
                np.zeros((9, 8), dtype=[("a", "f8"), ("b", "O")]), allow_pickle=True
            ),
            "an array of complex numbers": npy(faces * 1j),
            "an array of another machine": npy(faces.astype(">f4")),
            "an array of half numbers without end": npy(half),
            "an array of truths": npy(faces > 0.5),
            "a header with a program": (
                headed(
                    b"{'descr': '<f8', 'fortran_order': __import__('os').system('id'), "
                    b"'shape': (9, 8, 8)}"
                )
                + bytes(9 * 64 * 8)
            ),
            "a header of megabytes": headed(
                b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"1," * 2_000_000 + b")}",
                2,
            ),
            "a header nested deep": headed(b"{'descr': " + b"(" * 20_000 + b")" * 20_000 + b"}"),
            "several arrays": saved(lambda out: np.savez(out, a=faces)),
            **{f"an array of {s}": npy(np.arange(float(np.prod(s))).reshape(s)) for s in shapes},
        },
        ("images", "a.mat"): {
            "a cell of cells": mat(faces=objects, other={"a": objects}),  # type: ignore[arg-type]
            "a table of nothing": mat(faces=sparse.csc_matrix((400, 64))),
            "zeros that unpack to much": mat(faces=np.zeros((9000, 4096), np.uint8)),
            "a newer file": (
                b"MATLAB 7.3 MAT-file, Platform: X".ljust(124)
                + b"\0\2IM"
                + b"\x89HDF\r\n\x1a\n" * 30
            ),
            "a size below nothing": flat.replace(sizes, struct.pack("<ii", -9, 2**31 - 1)),
        },
        ("documents", "a.tsv"): {
            "a table of rows that grow": b"\n".join(
                b"\t".join([b"word"] * k) for k in range(1, 400)
            )
        },
    }
