"""Files that somebody made to do harm, or that were never meant for this: by what they are."""

import gzip
import io
import json
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.lib import format as npy_format
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from scipy import sparse
from scipy.io import savemat

from tests.own.files import documents_zip, long_csv, mat, npy, picture, pictures_zip, zipped

__all__ = ["HOSTILE"]

HOSTILE: dict[str, tuple[str, str, Callable[[Path], bytes]]] = {}


def hostile(kind: str, file: str) -> Callable[[Callable[[Path], bytes]], Callable[[Path], bytes]]:
    def kept(make: Callable[[Path], bytes]) -> Callable[[Path], bytes]:
        HOSTILE[make.__name__] = (kind, file, make)
        return make

    return kept


def rows(cells: Callable[[int], str], count: int = 200, head: str = "user,item,rating") -> bytes:
    return "\n".join([head, *(cells(k) for k in range(count))]).encode("utf-8", "surrogatepass")


def made_parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


# tables as text


@hostile("ratings", "a.csv")
def a_quote_that_never_closes(_: Path) -> bytes:
    return long_csv() + b'\n1,r1,"' + b"x" * 5_000_000


@hostile("ratings", "a.csv")
def one_line_of_megabytes(_: Path) -> bytes:
    return b"user,item,rating," + b"y" * 10_000_000


@hostile("ratings", "a.csv")
def thousands_of_quoted_columns(_: Path) -> bytes:
    return b",".join(b'"a""%d"' % k for k in range(19_000)) + b"\n" + b",".join([b"1"] * 19_000)


@hostile("ratings", "a.csv")
def a_name_of_a_megabyte(_: Path) -> bytes:
    return b"u" * 1_000_000 + long_csv()


@hostile("ratings", "a.csv")
def a_column_that_is_empty_at_first(_: Path) -> bytes:
    head = ",".join(["who", *(f"i{k}" for k in range(9))])
    return rows(lambda k: f"u{k},{k % 5 if k > 250 else ''}" + f",{k % 4 + 1}" * 8, 400, head)


@hostile("ratings", "a.csv")
def numbers_near_the_largest(_: Path) -> bytes:
    head = ",".join(["who", *(f"i{k}" for k in range(9))])
    return rows(lambda k: f"u{k}" + f",{k % 2}.7e308,{k % 5}" * 4 + ",1", 300, head)


@hostile("ratings", "a.csv")
def separators_only(_: Path) -> bytes:
    return b",,,,\n" * 1000


@hostile("ratings", "a.csv")
def old_line_ends(_: Path) -> bytes:
    return long_csv().replace(b"\n", b"\r")


@hostile("ratings", "a.csv")
def line_ends_within_quotes(_: Path) -> bytes:
    return rows(lambda k: f'"u\n{k % 9}","i\r\n{k % 7}",{k % 5 + 1}')


@hostile("ratings", "a.csv")
def half_a_character(_: Path) -> bytes:
    return long_csv().decode().encode("utf-16")[:-1]


@hostile("ratings", "a.csv")
def four_bytes_a_character(_: Path) -> bytes:
    return long_csv().decode().encode("utf-32")


@hostile("ratings", "a.csv")
def surrogates(_: Path) -> bytes:
    return rows(lambda k: f"u\udc80{k % 9},i{k % 7},{k % 5 + 1}")


@hostile("ratings", "a.csv")
def ids_of_control_characters(_: Path) -> bytes:
    return rows(lambda k: f"\x1b[31m{k % 9}\x07,\u202e\u2066{k % 7}\x85,{k % 5 + 1}")


@hostile("ratings", "a.csv")
def ids_that_look_alike(_: Path) -> bytes:
    alike = ("é", "e\u0301", "é ")
    return rows(lambda k: f"{alike[k % 3]}{k % 9},i{k % 7},{k % 5 + 1}")


@hostile("ratings", "a.csv")
def ids_of_thousands_of_digits(_: Path) -> bytes:
    return rows(lambda k: f"{'7' * 4400}{k % 9},{k % 7},{k % 5 + 1}")


@hostile("ratings", "a.csv")
def ratings_as_large_as_numbers_are(_: Path) -> bytes:
    return rows(lambda k: f"{k % 9},{k % 7},{(-1) ** k * 1.7e308}")


@hostile("ratings", "a.csv")
def ratings_below_the_smallest_number(_: Path) -> bytes:
    return rows(lambda k: f"{k % 9},{k % 7},{k % 5 * 5e-324}")


@hostile("ratings", "a.csv")
def ratings_that_are_not_numbers(_: Path) -> bytes:
    return rows(lambda k: f"{k % 9},{k % 7},{('nan', 'inf', '-inf', '1e999', '0x1f')[k % 5]}")


@hostile("ratings", "a.csv")
def ratings_as_dates(_: Path) -> bytes:
    return rows(lambda k: f"{k % 9},{k % 7},2020-01-{k % 28 + 1:02d}")


@hostile("ratings", "a.csv")
def numbers_of_other_scripts(_: Path) -> bytes:
    return rows(lambda k: f"{k % 9},{k % 7},{'١٢٣٤٥'[k % 5]}")


@hostile("ratings", "a.csv")
def one_user_only(_: Path) -> bytes:
    return rows(lambda k: f"u,{k},{k % 5 + 1}")


@hostile("ratings", "a.csv")
def cells_that_spreadsheets_compute(_: Path) -> bytes:
    return rows(lambda k: f"\"=cmd|' /C calc'!A{k % 9}\",@SUM({k % 7}),{k % 5 + 1}")


@hostile("ratings", "a.csv")
def columns_of_one_name(_: Path) -> bytes:
    return ",".join(["user"] * 3000).encode() + b"\n" + b",".join([b"1"] * 3000)


@hostile("ratings", "a.csv")
def codes_everywhere(_: Path) -> bytes:
    return rows(lambda k: f"{k % 9},{k % 7},{(99, -1, 999, -99, 9999)[k % 5]}")


# other things under the name of a table


@hostile("ratings", "a.csv")
def a_packed_table(_: Path) -> bytes:
    return gzip.compress(long_csv())


@hostile("ratings", "a.csv")
def a_spreadsheet(_: Path) -> bytes:
    return zipped({"xl/workbook.xml": b"<workbook/>", "[Content_Types].xml": b"<Types/>"})


@hostile("ratings", "a.csv")
def a_database(folder: Path) -> bytes:
    file = folder / "a.db"
    with sqlite3.connect(file) as made:
        made.execute("create table a (user, item, rating)")
    made.close()
    return file.read_bytes()


@hostile("ratings", "a.csv")
def a_document_to_print(_: Path) -> bytes:
    return b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog /OpenAction (app.alert(1)) >>\nendobj\n%%EOF"


@hostile("ratings", "a.csv")
def a_page_of_the_web(_: Path) -> bytes:
    return b"<!doctype html><table><tr><td>1<td>2<td onmouseover=alert(1)>3</table>" * 30


@hostile("ratings", "a.csv")
def lines_of_json(_: Path) -> bytes:
    return "\n".join(
        json.dumps({"user": k % 9, "item": k % 7, "rating": 3}) for k in range(99)
    ).encode()


@hostile("ratings", "a.csv")
def a_program(_: Path) -> bytes:
    return b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 40


# Parquet


@hostile("ratings", "a.parquet")
def millions_of_rows_in_a_kilobyte(_: Path) -> bytes:
    n = 5_000_001
    return made_parquet(pa.table({c: pa.array(np.ones(n, np.int8)) for c in ("user", "item", "r")}))


@hostile("ratings", "a.parquet")
def a_column_of_lists(_: Path) -> bytes:
    return made_parquet(pa.table({"user": [[1], [2, 3]], "item": [1, 2], "rating": [1, 2]}))


@hostile("ratings", "a.parquet")
def columns_of_unusual_types(_: Path) -> bytes:
    return made_parquet(pa.table({
        "user": pa.array([None, "a"] * 20).dictionary_encode(),
        "item": pa.array([b"\xff\xfe", b"b"] * 20),
        "rating": pa.array([1, None] * 20, pa.decimal128(38, 10)),
    }))  # fmt: skip


@hostile("ratings", "a.parquet")
def times_as_ratings(_: Path) -> bytes:
    return made_parquet(pa.table({
        "user": list(range(30)), "item": list(range(30)),
        "rating": pa.array([2**62] * 30, pa.timestamp("ns")),
    }))  # fmt: skip


@hostile("ratings", "a.parquet")
def text_that_is_no_text(_: Path) -> bytes:
    offsets = pa.py_buffer(struct.pack("<41i", *range(0, 82, 2)))
    broken = pa.StringArray.from_buffers(40, offsets, pa.py_buffer(b"\xff\xfe" * 40))
    return made_parquet(
        pa.table({"user": broken, "item": list(range(40)), "rating": list(range(40))})
    )


@hostile("ratings", "a.parquet")
def more_columns_than_allowed(_: Path) -> bytes:
    return made_parquet(pa.table({f"c{k}": [1] for k in range(20_001)}))


@hostile("ratings", "a.parquet")
def a_footer_that_is_cut(_: Path) -> bytes:
    whole = made_parquet(pa.table({"user": [1], "item": [2], "rating": [3]}))
    return whole[:-8] + struct.pack("<I", 2**31 - 1) + b"PAR1"


# archives


@hostile("documents", "a.zip")
def archives_in_an_archive(_: Path) -> bytes:
    return zipped({f"{k}.txt": documents_zip() for k in range(6)})


@hostile("documents", "a.zip")
def more_members_than_allowed(_: Path) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for k in range(20_001):
            made.writestr(f"{k}.txt", b"a")
    return out.getvalue()


@hostile("documents", "a.zip")
def members_of_one_name(_: Path) -> bytes:
    whole = zipped({f"{k}.txt": b"some words here %d" % k for k in range(8)})
    for k in range(8):
        whole = whole.replace(b"%d.txt" % k, b"0.txt")
    return whole


@hostile("documents", "a.zip")
def members_in_one_place(_: Path) -> bytes:
    """Many names for the same megabyte: the directory says so, the file is small."""
    packed = zipped({"0.txt": b"word " * 200_000})
    at = packed.index(b"PK\x01\x02")
    end = packed.index(b"PK\x05\x06")
    one = packed[at:end]
    many = b"".join(one.replace(b"0.txt", b"%d.txt" % k) for k in range(10))
    last = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 10, 10, len(many), at, 0)
    return packed[:at] + many + last


@hostile("documents", "a.zip")
def names_of_sixty_kilobytes(_: Path) -> bytes:
    return zipped({f"{'n' * 60_000}{k}.txt": b"some words here" for k in range(8)})


@hostile("documents", "a.zip")
def names_of_other_machines(_: Path) -> bytes:
    return zipped({f"\\\\server\\share\\{k}.txt": b"some words here" for k in range(8)})


@hostile("documents", "a.zip")
def names_with_an_end_in_the_middle(_: Path) -> bytes:
    whole = zipped({f"{k}XX.png.txt": b"some words here" for k in range(8)})
    return whole.replace(b"XX.png", b"\0\0.png")


@hostile("documents", "a.zip")
def members_that_are_locked(_: Path) -> bytes:
    whole = bytearray(documents_zip())
    for mark, flag in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := whole.find(mark, at + 1)) >= 0:
            whole[at + flag] |= 1
    return bytes(whole)


@hostile("documents", "a.zip")
def folders_only(_: Path) -> bytes:
    return zipped({f"{k}/": b"" for k in range(9)})


@hostile("documents", "a.zip")
def an_archive_behind_a_program(_: Path) -> bytes:
    return b"\x7fELF" + b"\0" * 5000 + documents_zip()


@hostile("documents", "a.zip")
def texts_that_are_pickles(_: Path) -> bytes:
    return zipped({f"{k}.txt": b"\x80\x04\x95cos\nsystem\n" for k in range(8)})


@hostile("documents", "a.txt")
def words_of_a_megabyte(_: Path) -> bytes:
    return b"\n".join(b"w" * 300_000 + b" %d" % k for k in range(8))


@hostile("documents", "a.txt")
def empty_lines_only(_: Path) -> bytes:
    return b"\n \t\r\n" * 500_000


@hostile("documents", "a.csv")
def texts_in_no_column(_: Path) -> bytes:
    return b"a,b\n" + b"1,2\n" * 50


# pictures


def png(**save: object) -> bytes:
    out = io.BytesIO()
    image = Image.fromarray(np.random.default_rng(1).integers(0, 255, (24, 24)).astype(np.uint8))
    image.save(out, "PNG", **save)  # type: ignore[arg-type]
    return out.getvalue()


@hostile("images", "a.zip")
def pictures_with_texts_that_unpack_to_much(_: Path) -> bytes:
    about = PngInfo()
    about.add_text("Comment", "a" * 60_000_000, zip=True)
    return zipped({f"{k}.png": png(pnginfo=about) for k in range(6)})


@hostile("images", "a.zip")
def pictures_with_profiles_that_are_none(_: Path) -> bytes:
    return zipped({f"{k}.png": png(icc_profile=b"\xff" * 100_000) for k in range(6)})


@hostile("images", "a.zip")
def pictures_that_move(_: Path) -> bytes:
    out = io.BytesIO()
    frames = [Image.new("L", (24, 24), 40 * k + 9) for k in range(5)]
    frames[0].save(out, "PNG", save_all=True, append_images=frames[1:])
    return zipped({f"{k}.png": out.getvalue() for k in range(6)})


@hostile("images", "a.zip")
def pictures_of_four_inks(_: Path) -> bytes:
    out = io.BytesIO()
    Image.new("CMYK", (24, 24), (9, 99, 199, 3)).save(out, "JPEG")
    return zipped({f"{k}.jpg": out.getvalue() for k in range(6)})


@hostile("images", "a.zip")
def pictures_of_a_palette_with_holes(_: Path) -> bytes:
    out = io.BytesIO()
    shades = np.random.default_rng(3).integers(0, 255, (24, 24)).astype(np.uint8)
    Image.fromarray(shades).convert("P").save(out, "PNG", transparency=bytes(range(200)))
    return zipped({f"{k}.png": out.getvalue() for k in range(6)})


@hostile("images", "a.zip")
def pictures_of_one_pixel(_: Path) -> bytes:
    out = io.BytesIO()
    Image.new("L", (1, 1), 200).save(out, "PNG")
    return zipped({f"{k}.png": out.getvalue() for k in range(6)})


@hostile("images", "a.zip")
def pictures_as_wide_as_they_can_be(_: Path) -> bytes:
    out = io.BytesIO()
    Image.new("L", (65_000, 1), 200).save(out, "JPEG")
    return zipped({f"{k}.jpg": out.getvalue() for k in range(6)})


@hostile("images", "a.zip")
def drawings_that_run(_: Path) -> bytes:
    drawn = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
    return zipped({f"{k}.png": drawn for k in range(6)})


@hostile("images", "a.zip")
def pictures_whose_checksums_are_wrong(_: Path) -> bytes:
    whole = picture()
    at = whole.index(b"IDAT") + 4
    size = struct.unpack(">I", whole[at - 8 : at - 4])[0]
    broken = zlib.compress(zlib.decompress(whole[at : at + size])[:-40])
    made = whole[: at - 8] + struct.pack(">I", len(broken)) + b"IDAT" + broken
    return zipped({f"{k}.png": made + b"\0\0\0\0" + whole[at + size + 4 :] for k in range(6)})


@hostile("images", "a.zip")
def an_archive_with_a_comment_and_more(_: Path) -> bytes:
    out = io.BytesIO(pictures_zip())
    with zipfile.ZipFile(out, "a") as made:
        made.comment = b"PK\x05\x06" * 10_000
    return out.getvalue()


# arrays


FACES = np.random.default_rng(2).random((9, 8, 8))


@hostile("images", "a.npy")
def an_array_by_columns(_: Path) -> bytes:
    return npy(np.asfortranarray(FACES))


@hostile("images", "a.npy")
def an_array_of_records(_: Path) -> bytes:
    return npy(np.zeros((9, 8), dtype=[("a", "f8"), ("b", "O")]), allow_pickle=True)


@hostile("images", "a.npy")
def an_array_of_complex_numbers(_: Path) -> bytes:
    return npy(FACES * 1j)


@hostile("images", "a.npy")
def an_array_of_another_machine(_: Path) -> bytes:
    return npy(FACES.astype(">f4"))


@hostile("images", "a.npy")
def an_array_of_half_numbers_without_end(_: Path) -> bytes:
    with np.errstate(all="ignore"):
        return npy((FACES * 1e9).astype(np.float16))


@hostile("images", "a.npy")
def an_array_of_truths(_: Path) -> bytes:
    return npy(FACES > 0.5)


@hostile("images", "a.npy")
def a_header_with_a_program(_: Path) -> bytes:
    said = b"{'descr': '<f8', 'fortran_order': __import__('os').system('id'), 'shape': (9, 8, 8)}\n"
    return npy_format.magic(1, 0) + struct.pack("<H", len(said)) + said + bytes(9 * 64 * 8)


@hostile("images", "a.npy")
def a_header_of_megabytes(_: Path) -> bytes:
    said = b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"1," * 2_000_000 + b")}\n"
    return npy_format.magic(2, 0) + struct.pack("<I", len(said)) + said


@hostile("images", "a.npy")
def a_header_nested_deep(_: Path) -> bytes:
    said = b"{'descr': " + b"(" * 20_000 + b")" * 20_000 + b"}\n"
    return npy_format.magic(1, 0) + struct.pack("<H", len(said) % 65536) + said


@hostile("images", "a.npy")
def several_arrays(_: Path) -> bytes:
    out = io.BytesIO()
    np.savez(out, a=FACES)
    return out.getvalue()


@hostile("images", "a.mat")
def a_cell_of_cells(_: Path) -> bytes:
    cells = np.empty((3, 3), dtype=object)
    cells[:] = "x"
    return mat(faces=cells, other={"a": cells})  # type: ignore[arg-type]


@hostile("images", "a.mat")
def a_table_of_nothing(_: Path) -> bytes:
    return mat(faces=sparse.csc_matrix((400, 64)))


@hostile("images", "a.mat")
def zeros_that_unpack_to_much(_: Path) -> bytes:
    out = io.BytesIO()
    savemat(out, {"faces": np.zeros((9000, 4096), np.uint8)}, do_compression=True)
    return out.getvalue()


def array(*shape: int) -> Callable[[Path], bytes]:
    def make(_: Path) -> bytes:
        return npy(np.arange(float(np.prod(shape))).reshape(shape))

    make.__name__ = f"an_array_of_{'_by_'.join(map(str, shape))}"
    return make


for _shape in (
    (1, 28, 28),
    (28, 28, 1),
    (28, 1, 28),
    (100, 1),
    (1, 100),
    (9, 1),
    (1, 1),
    (1, 1, 1),
):
    hostile("images", "a.npy")(array(*_shape))


@hostile("images", "a.mat")
def a_newer_file(_: Path) -> bytes:
    return b"MATLAB 7.3 MAT-file, Platform: X".ljust(124) + b"\0\2IM" + b"\x89HDF\r\n\x1a\n" * 30


@hostile("images", "a.mat")
def a_size_below_nothing(_: Path) -> bytes:
    out = io.BytesIO()
    savemat(out, {"faces": FACES.reshape(9, 64)})
    sizes = struct.pack("<ii", 9, 64)
    assert sizes in out.getvalue()
    return out.getvalue().replace(sizes, struct.pack("<ii", -9, 2**31 - 1))


@hostile("documents", "a.tsv")
def a_table_of_rows_that_grow(_: Path) -> bytes:
    return b"\n".join(b"\t".join([b"word"] * k) for k in range(1, 400))


@hostile("ratings", "a.parquet")
def a_frame_with_an_index_of_its_own(_: Path) -> bytes:
    out = io.BytesIO()
    frame = pd.DataFrame({"user": range(30), "item": range(30), "rating": [1, 2, 3] * 10})
    frame.set_index(["user", "item"]).to_parquet(out)
    return out.getvalue()
