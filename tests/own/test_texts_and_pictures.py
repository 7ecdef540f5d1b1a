"""Texts as their readers see them, in any script, and pictures as viewers show them."""

import unicodedata

import numpy as np
import pytest
from PIL import Image

from dpmc_core.datasets import own
from dpmc_core.datasets.samples import Samples
from dpmc_core.datasets.text import TextFilter, samples_of_texts
from tests.own.files import faces_like, npy, picture_file, zipped

EVERY_WORD = TextFilter(min_documents=1, max_share=1)


def words_of(text: str) -> set[str]:
    return set(samples_of_texts([text] * 3, name="x", chosen=EVERY_WORD).words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("École élégante", {"école", "élégante"}),
        ("Tiếng Việt đẹp", {"tiếng", "việt", "đẹp"}),
        ("सरकार परिवहन में दिन", {"सरकार", "परिवहन", "में", "दिन"}),
        ("क्\u200dषत्रिय", {"क्\u200dषत्रिय"}),  # ZERO WIDTH JOINER: the form of a conjunct
        ("می\u200cخواهم کتاب\u200cها", {"می\u200cخواهم", "کتاب\u200cها"}),
        ("العَرَبِيَّةُ כָּתוּב", {"العَرَبِيَّةُ", "כָּתוּב"}),
        ("สวัสดีครับ ภาษาไทย", {"สวัสดีครับ", "ภาษาไทย"}),
        ("தமிழ் বাংলা", {"தமிழ்", "বাংলা"}),
        ("\U0001e900\U0001e901\U0001e944\U0001e902", {"\U0001e922\U0001e923\U0001e944\U0001e924"}),
        ("İstanbul q̃uñ", {"i̇stanbul", "q̃uñ"}),  # letters that have no composed form
        ("Wirt\u00adschaft end\u200c", {"wirtschaft", "end"}),
        ("abc123 abc_d two2\u0301 e\u0301t\u0301", {"ét\u0301"}),  # three: a letter and two marks
    ],
)  # fmt: skip
def test_words_keep_their_marks_in_either_normal_form(text: str, words: set[str]) -> None:
    for form in ("NFC", "NFD"):
        given = unicodedata.normalize(form, text)  # type: ignore[arg-type]
        assert words_of(given) == {unicodedata.normalize("NFC", word) for word in words}


def test_a_line_ends_at_lf_cr_lf_or_cr_and_nowhere_else() -> None:
    inside = "\u2028 \u2029 \x85 \x0b \x0c \x1c"
    text = "".join(f"river{inside}money{end}" for end in ("\n", "\r\n", "\r", "\n", "\n"))
    documents = own.read("documents", "a.txt", text.encode()).documents
    assert (len(documents.texts), documents.places.given) == (5, 5)


def test_times_are_no_texts() -> None:
    times = b"time,said\n" + b"2026-11-22T10:11:12.123456+00:00,a good book\n" * 30
    assert own.inspect("documents", "a.csv", times).reading.text == "said"


def test_a_missing_label_is_none_and_labels_are_whole() -> None:
    long = "class " + "x" * 100
    rows = [f"some words here {k},{label}" for k, label in enumerate((long + "1", long + "2") * 3)]
    data = "\n".join(["text,label", *rows, "more words here,", "other words here,  "]).encode()
    documents = own.read("documents", "a.csv", data, text="text", label="label").documents
    assert documents.labels == (long + "1", long + "2") * 3 + ("", "")
    assert documents.notes == ("2 documents have no class.",)


def test_classes_are_one_in_either_normal_form() -> None:
    folders = (unicodedata.normalize(form, "été") for form in ("NFC", "NFD", "NFC"))
    files = {f"{f}/{k}.txt": b"some words" for k, f in enumerate([*folders, "hiver", "hiver"])}
    documents = own.read("documents", "a.zip", zipped(files)).documents
    assert set(documents.labels) == {"été", "hiver"}


def read_pictures(files: dict[str, bytes]) -> Samples:
    return own.read("images", "a.zip", zipped(files)).images


ON_WHITE = ("What is transparent in an image is shown on white.",)
# of no shade that stands for clear below
UPRIGHT = Image.fromarray((100 * faces_like(1, 24)[0, :16]).astype(np.uint8).clip(20, 230))
# what brings an upright picture into the orientations 2 to 8
UNDONE = (
    *(Image.Transpose.FLIP_LEFT_RIGHT, Image.Transpose.ROTATE_180, Image.Transpose.FLIP_TOP_BOTTOM),
    *(Image.Transpose.TRANSPOSE, Image.Transpose.ROTATE_90, Image.Transpose.TRANSVERSE),
    Image.Transpose.ROTATE_270,
)


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_pictures_are_turned_as_viewers_turn_them(kind: str) -> None:
    turned = [UPRIGHT, *(UPRIGHT.transpose(way) for way in UNDONE), UPRIGHT]
    files = {}
    for orientation, image in enumerate(turned, start=1):
        exif = Image.Exif()
        exif[0x0112] = orientation  # the last is none
        about = exif.tobytes() if orientation < 9 else b"Exif\0\0MM\0*\0\0\0\x08\0\x09\x01"
        files[f"{orientation}.{kind.lower()}"] = picture_file(image, kind, exif=about)
    images = read_pictures(files)
    assert images.shape == (16, 24)
    assert np.ptp(images.values, axis=1).max() < 0.016


def hidden(value: int, mode: str) -> bytes:
    """A picture whose upper half is clear, above colours of the shade ``value``; of modes that have
    no layer for that, this one colour, which is nowhere else, stands for clear.
    """
    grey = np.array(UPRIGHT)
    grey[:8] = value
    opaque = np.full(grey.shape, 255, dtype=np.uint8)
    opaque[:8] = 0
    match mode:
        case "LA":
            return picture_file(np.dstack([grey, opaque]))
        case "RGBA" | "P":
            whole = Image.fromarray(np.dstack([grey, grey, grey, opaque]))
            return picture_file(whole.quantize(256) if mode == "P" else whole)
        case "RGB":
            return picture_file(np.dstack([grey] * 3), transparency=(value,) * 3)
        case "I;16":
            return picture_file(grey.astype(np.uint16) * 257, transparency=value * 257)
    return picture_file(grey, transparency=value)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L", "RGB", "I;16"])
def test_pictures_lie_on_white_whatever_is_hidden_below(mode: str) -> None:
    files = {f"{value}.png": hidden(value, mode) for value in (0, 5, 10, 250)}
    white = np.array(UPRIGHT)
    white[:8] = 255
    images = read_pictures({**files, "white.png": picture_file(white)})
    assert np.ptp(images.values, axis=1).max() < (0.005 if mode == "P" else 1e-12)
    assert images.notes == ON_WHITE


@pytest.mark.parametrize(("kind", "white"), [("uint8", 255), ("uint16", 65535), ("float64", 1)])
def test_arrays_of_four_colours_lie_on_white_too(kind: str, white: int) -> None:
    colours = np.random.default_rng(0).random((6, 8, 8, 4))
    colours[:, 4:] = colours[0, 4:]  # what lies above is clear, of the first white
    colours[..., 3], colours[1:, :4, :, 3], colours[0, :4] = 1, 0, 1
    images = own.read("images", "a.npy", npy((colours * white).astype(kind))).images
    assert np.ptp(images.values, axis=1).max() < 1e-12
    assert images.notes == ON_WHITE
