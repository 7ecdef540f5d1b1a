"""A stranger's words wherever they can stand: nothing of them is drawn, linked or fetched."""

import re

import pytest
from playwright.sync_api import Page

from tests.browser.test_app import finished, opened, reads, ready, turn_to
from tests.browser.test_own_data import STRANGE, bring, enter
from tests.own.files import documents_zip, long_csv, picture, zipped

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("nothing_from_strangers")]
WORDS = " ".join(STRANGE)
# archives take no colon in a name, and a stroke begins another folder
FOLDERS = (
    "![x](evil.png)",
    "[free](evil.example)",
    "www.evil.example",
    "mail@evil.example",
    "<img src=evil.png>",
    "<b>bold<s>",
    "**b** _i_ ~~s~~ `c`",
    "$x^2$ $$y$$",
    "&lt;i&gt; &#33;",
)


def test_names_of_files(page: Page, app_url: str) -> None:
    """Refused and read ones: their names stand in the refusal, and beside the field."""
    for k in range(3):
        name = " ".join(STRANGE[k::3]).replace("/", "∕").replace("\\", "")[:120]
        bring(page, app_url, "ratings", f"{name}.csv", b"\x80\x04nothing")
        reads(page, "is a Python pickle")
    bring(page, app_url, "ratings", f"{name}.csv", long_csv(12, 9))
    reads(page, "can be chosen on every page")


def test_names_of_columns_values_and_what_is_asked_about_them(page: Page, app_url: str) -> None:
    """In the select boxes, the first rows, the notes, the questions and the refusals."""
    quoted = [f'"{words[:70]}"'.replace("\n", " ") for words in STRANGE]
    stars = [[k * (c + 1) % 5 + 1 for c in range(len(quoted) - 1)] for k in range(30)]
    rows = [",".join(map(str, [f"u{k}", *row, sum(row)])) for k, row in enumerate(stars)]
    table = "\n".join([",".join(["user", *quoted]), *rows])
    bring(page, app_url, "ratings", "wide.csv", table.encode())
    # the last column sums up the others, and is called by one of the words
    reads(page, "counts or sums up the other")
    opened(page, "Column with users")
    page.get_by_role("option", name=re.compile("free")).first.click()
    ready(page)
    long = "\n".join(
        ["user,item,rating", *(f"u{k},i{k % 7},{k % 5 + 1}" for k in range(60)), f'u1,i9,"{WORDS}"']
    )
    bring(page, app_url, "ratings", "notes.csv", long.encode())
    reads(page, "is no finite number")
    enter(page.get_by_role("textbox", name="Codes for “not rated”"), WORDS)
    reads(page, "at most 20 numbers with commas")


def test_names_of_folders_as_classes_of_documents(page: Page, app_url: str) -> None:
    bring(page, app_url, "documents", "classes.zip", documents_zip(36, FOLDERS))
    page.get_by_role("link", name="Use it on the Factorization page").click()
    ready(page)
    page.locator(".st-key-go button").click()
    finished(page)
    turn_to(page, "One document")
    reads(page, "Class in the data:", 180_000)
    for number in (2, 3):
        enter(page.get_by_label("Document", exact=True), str(number))
        ready(page)


def test_names_of_members_and_folders_of_pictures(page: Page, app_url: str) -> None:
    files = {f"{FOLDERS[k % len(FOLDERS)]}/{k}.png": picture(seed=k) for k in range(16)}
    bring(page, app_url, "images", "faces.zip", zipped(files))
    broken = {**files, f"{' '.join(FOLDERS)}.png": b"no picture"}
    bring(page, app_url, "images", "faces.zip", zipped(broken))
    reads(page, "is no PNG or JPEG picture")
