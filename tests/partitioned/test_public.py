"""What a run on partitions may give away is the same with one user more, less or odd."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.neighbours import Row, neighbours
from tests.partitioned.folders import write
from tests.terminal import Terminal

GIVEN = {"--low": "1", "--high": "5", "--users": "100"}
SETTINGS = {
    "moments": "",
    "moments, laplace": "--mechanism laplace",
    "private-means": "",
    "dpals": "--rank 2",
    "dpals, power": "--rank 2 --sampling adaptive --start power",
}


def _leaves(
    folder: Path, rows: list[Row], line: str, terminal: Terminal, *, text: bool = False
) -> dict[str, Any]:
    """What docs/cluster.md says may leave a run's folder, but for numbers that noise is in."""
    for k in range(2):
        who, what, stars = zip(*(row for row in rows if row[0] % 2 == k), strict=True)
        named = [f"film {k}" for k in what] if text else what
        write(folder / "data" / f"{k}.parquet", user=who, item=named, rating=stars)
    out = folder / "run"
    terminal.json(f"large {line} --folder {folder}/data --out {out} --epsilon 2 --secret")
    files = {path.name: np.load(path) for path in sorted((out / "released").glob("*.npz"))}
    return {
        "ledger": json.loads((out / "ledger.json").read_text()),
        "released": {n: {k: held[k].shape for k in held} for n, held in files.items()},
        "items": pq.read_table(out / "items.parquet", columns=["item"]).to_pydict(),
    }


def _options(given: dict[str, str]) -> str:
    return " ".join(f"{name} {value}" for name, value in given.items())


@pytest.mark.parametrize("case", SETTINGS)
def test_with_public_lists_no_user_changes_what_may_leave(
    tmp_path: Path, terminal: Terminal, case: str
) -> None:
    name, text = case.partition(",")[0], case == "private-means"
    items = tmp_path / "items.csv"
    items.write_text("\n".join(["item", *(f"film {k}" if text else f"{k}" for k in range(12))]))
    line = f"{name} {_options(GIVEN)} --items {items} --mechanism gaussian {SETTINGS[case]}"
    usual, *others = (
        _leaves(tmp_path / which, rows, line, terminal, text=text)
        for which, rows in neighbours().items()
    )
    statement = json.dumps(usual["ledger"], ensure_ascii=False)
    assert "guaranteed ε = 2 in total" in statement
    assert "item list (given by items.csv); scale (given); number of users (given)" in statement
    assert len(usual["items"]["item"]) == 12
    for other in others:
        assert other == usual


@pytest.mark.parametrize(
    ("left_out", "facts"),
    [("", "item list"), ("--low", "item list, scale"), ("--users", "item list, number of users")],
)
def test_what_is_read_off_the_data_is_named_and_nothing_is_guaranteed(
    tmp_path: Path, terminal: Terminal, left_out: str, facts: str
) -> None:
    given = {name: value for name, value in GIVEN.items() if name != left_out}
    line = f"private-means {_options(given)} --mechanism gaussian"
    ledger = _leaves(tmp_path, neighbours()["sole"], line, terminal)["ledger"]
    expected = f"nominal ε = 2 in total, over 5 releases at δ = 10⁻⁵; {facts} read off"
    assert expected in json.dumps(ledger, ensure_ascii=False)


DATA = "--folder data --out run"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("als", "--folder is missing: it must be a folder"),
        ("als --folder x", "--out is missing"),
        (f"svt {DATA}", "algorithm = 'svt' is not allowed"),
        (f"als {DATA} --workers 0", "workers = '0'"),
        (f"als {DATA} --memory-mb 1", "memory_mb = '1'"),
        (f"als {DATA} --rank 200", "rank = 200"),
        (f"als {DATA} --dataset low-rank", "dataset ="),
        (
            f"irls {DATA} --rank 2 --noise-on output",
            "noise_on = 'output' is not allowed: it must be right for ratings in partitions",
        ),
        (
            f"moment-nmf {DATA}",
            "one of als, irls, irls-2, moments, dpals, private-means, private-sgld on "
            "ratings; it runs on documents or images (--holds).",
        ),
        (
            f"als {DATA} --holds documents",
            "one of private-nmf, moment-nmf on documents; it runs on ratings (--holds).",
        ),
        (f"{DATA} --holds documents", "algorithm is missing"),
        (
            f"private-means {DATA} --users 59",
            "has 60 users, and users = 59 says that there are no more",
        ),
        (f"private-means {DATA} --users 1", "users = '1' is not allowed"),
        (f"private-means {DATA} --items none.csv", "no listed item, such as 21, is rated"),
        (f"private-means {DATA} --items text.csv", "names that are no whole numbers"),
        (f"moment-nmf {DATA} --holds documents --items none.csv", "left out with documents"),
    ],
)
def test_what_is_given_wrongly_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: Terminal, line: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, rows in (("none", "21\n22"), ("text", "a\nb")):
        Path(f"{name}.csv").write_text(f"item\n{rows}")
    users, items, stars = zip(*neighbours()["usual"], strict=True)
    write(Path("data/0.parquet"), user=users, item=items, rating=stars)
    assert message in terminal.refusal(f"large {line}")
    assert not list(Path("run").glob("released/*"))
