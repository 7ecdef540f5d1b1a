"""What a run on partitions may give away is the same with one user more, less or odd."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from dpmc_core.cli.common.main import main
from tests.partitioned.folders import write

ITEMS = list(range(100, 148, 4))  # twelve, of which nobody rates the last
SOLE = [(9999, ITEMS[10], 1.0), (9999, ITEMS[3], 4.0), (9999, ITEMS[4], 4.0)]
ODD = [(9999, 777, 5.0), (9999, ITEMS[3], 1e9), (9999, ITEMS[4], 4.0)]
GIVEN = ["--low", "1", "--high", "5", "--users", "100"]
SETTINGS = {
    "moments": [],
    "moments, laplace": ["--mechanism", "laplace"],
    "private-means": [],
    "dpals": ["--rank", "2"],
    "dpals, power": ["--rank", "2", "--sampling", "adaptive", "--start", "power"],
}


def _neighbours() -> dict[str, list[tuple[int, int, float]]]:
    rng = np.random.default_rng(5)
    usual = [
        (u, ITEMS[k], float(rng.integers(2, 5)))
        for u in range(60)
        for k in rng.choice(10, 7, replace=False)
    ]
    without = [row for row in usual if row[0] != 7]
    return {"usual": usual, "without": without, "sole": usual + SOLE, "odd": usual + ODD}


def _leaves(folder: Path, rows: list[Any], words: list[str], *, text: bool) -> dict[str, Any]:
    """What docs/cluster.md says may leave a run's folder, but for numbers that noise is in."""
    for k in range(2):
        who, what, stars = zip(*(row for row in rows if row[0] % 2 == k), strict=True)
        named = [f"film {one}" for one in what] if text else what
        write(folder / "data" / f"{k}.parquet", user=who, item=named, rating=stars)
    out = folder / "run"
    asked = ["large", *words, "--folder", str(folder / "data"), "--out", str(out), "--json"]
    assert main([*asked, "--epsilon", "2", "--secret"]) == 0
    files = {path.name: np.load(path) for path in sorted((out / "released").glob("*.npz"))}
    return {
        "ledger": json.loads((out / "ledger.json").read_text()),
        "released": {n: {k: held[k].shape for k in held} for n, held in files.items()},
        "items": pq.read_table(out / "items.parquet", columns=["item"]).to_pydict(),
    }


@pytest.mark.parametrize("case", SETTINGS)
def test_with_public_lists_no_user_changes_what_may_leave(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    name, text = case.partition(",")[0], case == "private-means"
    table = "\n".join(["item", *(f"film {k}" if text else f"{k}" for k in ITEMS)])
    (tmp_path / "items.csv").write_text(table)
    words = [name, *GIVEN, "--items", str(tmp_path / "items.csv"), "--mechanism", "gaussian"]
    words += SETTINGS[case]
    seen = {
        which: _leaves(tmp_path / which, rows, words, text=text)
        for which, rows in _neighbours().items()
    }
    del capsys
    statement = json.dumps(seen["usual"]["ledger"], ensure_ascii=False)
    assert "guaranteed ε = 2 in total" in statement
    assert "item list (given by items.csv); scale (given); number of users (given)" in statement
    assert len(seen["usual"]["items"]["item"]) == len(ITEMS)
    for one in seen.values():
        assert one == seen["usual"]


@pytest.mark.parametrize(
    ("left_out", "facts"),
    [
        ([], "item list"),
        (["--low", "1"], "item list, scale"),
        (["--users", "100"], "item list, number of users"),
    ],
)
def test_what_is_read_off_the_data_is_named_and_nothing_is_guaranteed(
    tmp_path: Path, left_out: list[str], facts: str
) -> None:
    at = GIVEN.index(left_out[0]) if left_out else 0
    given = GIVEN[:at] + GIVEN[at + len(left_out) :]
    words = ["private-means", *given, "--mechanism", "gaussian"]
    found = _leaves(tmp_path, _neighbours()["sole"], words, text=False)
    said = json.dumps(found["ledger"], ensure_ascii=False)
    assert f"nominal ε = 2 in total, over 5 releases at δ = 10⁻⁵; {facts} read off" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--users", "59"], "has 60 users, and users = 59 says that there are no more"),
        (["--users", "1"], "users = '1' is not allowed"),
        (["--items", "none.csv"], "no listed item, such as 1, is rated"),
        (["--items", "text.csv"], "names that are no whole numbers"),
        (["--items", "twice.csv"], "the item '100' is there twice"),
        (["--holds", "documents", "--items", "none.csv"], "left out with documents"),
    ],
)
def test_what_is_given_wrongly_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    for name, rows in (("none", "1\n2"), ("text", "a\nb"), ("twice", "100\n104\n100")):
        (tmp_path / f"{name}.csv").write_text(f"item\n{rows}")
    users, items, stars = zip(*_neighbours()["usual"], strict=True)
    write(tmp_path / "data" / "0.parquet", user=users, item=items, rating=stars)
    words = [str(tmp_path / word) if word.endswith(".csv") else word for word in words]
    name = "moment-nmf" if "documents" in words else "private-means"
    asked = ["large", name, "--folder", str(tmp_path / "data"), "--out", str(tmp_path / "run")]
    assert main([*asked, *words]) == 2
    assert said in capsys.readouterr().err
