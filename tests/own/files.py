"""Files as visitors have them, made in memory, and ways to spoil them."""

import io
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image
from scipy.io import savemat

from dpmc_core.datasets import own
from dpmc_core.datasets.own.sets import OwnSet
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.datasets.synthetic.samples import vocabulary

PLAIN = [f"u{k % 9},i{k % 7},{k % 5 + 1}" for k in range(90)]
"""Lines of one rating each."""


def table_of(*lines: str, header: str = "user,item,rating") -> bytes:
    """A file of these lines, of one rating each unless the header says otherwise."""
    return "\n".join([header, *lines]).encode("utf-8", "surrogatepass")


def table_by(
    line: Callable[[int], str], count: int = 200, header: str = "user,item,rating"
) -> bytes:
    """A file of ``count`` lines, each by its number."""
    return table_of(*map(line, range(count)), header=header)


def decimal_commas(digits: str) -> bytes:
    """Ratings with these digits after a comma, in a table with semicolons."""
    rows = (f"{line.replace(',', ';')},{digits};x" for line in PLAIN)
    return table_of(*rows, header="user;item;rating;comment")


def read_table(data: bytes, file: str = "a.csv", **choices: Any) -> OwnSet:
    """Ratings as they are read from a file."""
    return own.read("ratings", file, data, **choices)


def entries(ratings: Ratings) -> dict[tuple[str, str], float]:
    """Ratings by the names of their users and items."""
    return {
        (ratings.user_labels[user], ratings.item_labels[item]): value
        for user, item, value in zip(*ratings.numbers, strict=True)
    }


def long_csv(users: int = 12, items: int = 9) -> bytes:
    rng = np.random.default_rng(0)
    rows = (
        f"{rng.integers(10**9)},r{user},book {item},{rng.integers(1, 6)}"
        for user in range(users)
        for item in rng.choice(items, 6, replace=False)
    )
    return table_of(*rows, header="when,reader_id,book,stars")


def wide_csv(values: np.ndarray) -> bytes:
    """A table of one user a row."""
    rows = [",".join([f"u{k}", *(f"{v:g}" for v in row)]) for k, row in enumerate(values)]
    return table_of(*rows, header=",".join(["user", *(f"i{k}" for k in range(values.shape[1]))]))


def saved(write: Callable[[io.BytesIO], object]) -> bytes:
    """What ``write`` puts into a file."""
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def zipped(files: Mapping[Any, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def link(name: str) -> zipfile.ZipInfo:
    """What an archive says of a member that is a link."""
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def picture(
    height: int = 12, width: int = 12, seed: int = 0, kind: str = "PNG", mode: str = "L"
) -> bytes:
    shape = (height, width) if mode == "L" else (height, width, 3)
    pixels = np.random.default_rng(seed).integers(1, 256, shape, dtype=np.uint8)
    return picture_file(pixels, kind)


def picture_file(pixels: np.ndarray | Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    """A picture as a file, of PNG's format unless ``kind`` is another."""
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    return saved(lambda out: image.save(out, kind, **options))


def pictures_zip(count: int = 8) -> bytes:
    return zipped({f"class {k % 2}/{k}.png": picture(seed=k) for k in range(count)})


def six(image: bytes, ending: str = "png") -> bytes:
    """An archive that holds one picture six times."""
    return zipped({f"{k}.{ending}": image for k in range(6)})


def documents_zip(count: int = 8, folders: Sequence[str] = "ab") -> bytes:
    words = vocabulary()[:30]
    rng = np.random.default_rng(0)
    return zipped(
        {
            f"{folders[k % len(folders)]}/{k}.txt": " ".join(rng.choice(words, 9)).encode()
            for k in range(count)
        }
    )


def npy(array: np.ndarray, **options: bool) -> bytes:
    return saved(lambda out: np.save(out, array, **options))


def mat(**variables: np.ndarray) -> bytes:
    return saved(lambda out: savemat(out, variables, do_compression=True))


def faces_like(count: int, side: int) -> np.ndarray:
    """Images whose neighbouring pixels are alike: a few slow waves each."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:side, 0:side] / side
    ways = rng.uniform(-1.5, 1.5, (2, count, 3, 1, 1))
    waves = np.cos(2 * np.pi * (ways[0] * x + ways[1] * y + rng.random((count, 3, 1, 1))))
    return np.asarray(1 + waves.mean(axis=1))


def good_files() -> list[tuple[str, str, bytes]]:
    """One of each kind that can be read: (kind, file, data)."""
    rng = np.random.default_rng(0)
    stars = rng.integers(1, 6, (10, 9)).astype(float)
    texts = [f"some words of text, again and again {k}" for k in range(20)]
    photos = {f"{k}.jpg": picture(kind="JPEG", seed=k, mode="RGB") for k in range(6)}
    return [
        ("ratings", "a.csv", long_csv()),
        ("ratings", "a.tsv", long_csv().replace(b",", b"\t")),
        ("ratings", "ratings.dat", long_csv().replace(b",", b"::")),
        ("ratings", "a.parquet", pd.read_csv(io.BytesIO(long_csv())).to_parquet()),
        ("ratings", "wide.csv", wide_csv(np.where(stars > 4, np.nan, stars))),
        ("documents", "a.txt", "\n".join(texts).encode()),
        ("documents", "a.csv", table_of(*(f't,"{text}"' for text in texts), header="title,body")),
        ("documents", "a.zip", documents_zip()),
        ("images", "a.zip", pictures_zip()),
        ("images", "jpg.zip", zipped(photos)),
        ("images", "a.npy", npy(rng.random((9, 8, 8)))),
        ("images", "flat.npy", npy(rng.integers(0, 256, (9, 64), dtype=np.uint8))),
        ("images", "a.mat", mat(fea=rng.random((9, 64)))),
    ]


WORDS = (
    *(b"NaN", b"inf", b"-1e308", b"1e999", b"\x00", b'"', b"\xff\xfe", b"\x80\x04", b"=cmd()"),
    *(b"<script>", b"\r", b",,,,", b"PK\x03\x04", b"../../etc", b"9" * 400),
)


def spoiled(seed: int = 0) -> Iterator[tuple[str, str, bytes]]:
    """Without end: files of every kind with bytes flipped, cut, doubled, mixed, put under another
    ending or another kind.
    """
    rng = np.random.default_rng(seed)
    good = good_files()
    while True:
        (kind, file, data), (other, ending, mixed) = (
            good[k] for k in rng.integers(len(good), size=2)
        )
        for _ in range(rng.integers(1, 6)):
            at, size = int(rng.integers(len(data) + 1)), int(rng.integers(1, 200))
            head, rest = data[:at], data[at:]
            # a number somewhere becomes huge: sizes and counts in headers
            huge = bytes(rng.choice([0, 1, 127, 128, 255], 4).tolist())
            data = (
                head,
                head + rest[size:],
                head + rng.bytes(8) + rest[8:],
                head + huge + rest[4:],
                head + WORDS[rng.integers(len(WORDS))] + rest,
                head + rest[:size] * int(rng.integers(1, 20)) + rest,
                head + mixed[size:],
            )[rng.integers(7)]
        yield other if rng.random() < 0.1 else kind, ending if rng.random() < 0.2 else file, data
