"""The run store: nothing finished is lost, and whatever is wrong with it is said in a sentence."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from dpmc_core.errors import DataError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.store.records import Record, failed, record_of, spec_of
from dpmc_core.experiments.store.store import RunStore, StoreError
from tests import postgres

SMALL = RunSpec.of(n_users=30, n_items=20, observed=0.5, rank=2, iterations=2)


@pytest.fixture(scope="module")
def record() -> Record:
    return record_of(run(SMALL.replace(mechanism="huber", variance=2.0)))


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    with RunStore(tmp_path / "runs.sqlite") as store:
        yield store


def test_a_record_says_what_the_result_said(record: Record) -> None:
    result = run(SMALL.replace(mechanism="huber", variance=2.0))
    statement = result.statement
    assert (record.value, record.truth) == (result.value, result.truth)
    assert record.baseline == min(result.baselines.values())
    assert (record.epsilon, record.epsilon_published) == (
        statement.epsilon,
        statement.epsilon_published,
    )
    assert (record.nominal, record.unit) == (True, "rating")
    assert spec_of(record.kind, record.spec) == result.spec
    assert record.summary["ledger"] == json.loads(json.dumps(result.ledger.as_dict()))
    assert len(record.summary["steps"]) == 2
    assert {"statement", "versions", "spec", "seconds"} <= record.summary.keys()


def test_every_task_has_a_record() -> None:
    plain = record_of(run(SMALL))
    assert (plain.epsilon, plain.unit) == (None, "")
    liked = RunSpec.of(task="recommend", n_users=60, n_items=40, n_ratings=900, dataset="skewed")
    assert record_of(run(liked.replace(algorithm="popular"))).measure == "Recall@20"
    assert failed(SMALL, DataError("iteration 3 overflowed.")).value is None


needs_postgres = pytest.mark.skipif(
    not postgres.installed(), reason="PostgreSQL is not installed here"
)


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=needs_postgres)])
def test_what_is_added_comes_back_whole(kind: str, tmp_path: Path, record: Record) -> None:
    with ExitStack() as stack:
        place: Path | str = tmp_path / "folder that is made" / "runs.sqlite"
        again = f"sqlite:///{place}"
        if kind == "postgres":
            place = again = stack.enter_context(postgres.postgres())
        with RunStore(place) as store:
            assert store.add(record)
        store = stack.enter_context(RunStore(again))
        assert not store.add(record)  # nothing is doubled
        assert store.count() == 1
        assert store.find([record.key, "no such"]) == {record.key: record}
        store.add(replace(record, key="b", dataset="skewed", mechanism="none", seed=2**32 - 1))
        assert store.values()["dataset"] == ("low-rank", "skewed")
        assert [row["key"] for row in store.rows()] == ["b", record.key]  # the latest first
        assert [row["key"] for row in store.rows(limit=1)] == ["b"]
        assert [row["key"] for row in store.rows({"dataset": ["low-rank"]})] == [record.key]
        assert store.count({"dataset": ["skewed"], "mechanism": ["none", "huber"]}) == 1
        assert store.have([*map(str, range(2000)), "b"]) == {"b"}
        # many keys are asked in parts
        assert store.delete(["b", *map(str, range(2000))]) == 1
        assert store.count() == 1
        with pytest.raises(StoreError, match="not filtered by 'spec'"):
            store.count({"spec": ["x"]})


WRITER = """
import sys
from contextlib import ExitStack
from dataclasses import replace
import json
from dpmc_core.experiments.store.records import Record
from dpmc_core.experiments.store.store import RunStore
record = Record(**json.load(open(sys.argv[2])))
with RunStore(sys.argv[1]) as store:
    for k in range(int(sys.argv[4])):
        store.add(replace(record, key=f"{sys.argv[3]}-{k}"))
        print(k, flush=True)
"""


def writer(tmp_path: Path, record: Record, name: str, count: int) -> subprocess.Popen[str]:
    (tmp_path / "record.json").write_text(json.dumps(asdict(record)))
    words = [sys.executable, "-c", WRITER, "runs.sqlite", "record.json", name, str(count)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    where = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen(words, text=True, cwd=tmp_path, env=where, **pipes)


@pytest.mark.long
def test_three_programs_write_at_once_and_a_killed_one_loses_nothing_that_it_finished(
    tmp_path: Path, record: Record
) -> None:
    # the file does not exist yet: all of them make it
    killed, *others = (
        writer(tmp_path, record, name, n) for name, n in (("a", 100_000), ("b", 40), ("c", 40))
    )
    for _ in range(20):
        last = int(killed.stdout.readline())
    killed.send_signal(signal.SIGKILL)
    for line in killed.stdout:  # what it still said before it died
        last = int(line)
    for process in (killed, *others):
        process.communicate(timeout=120)
    assert [process.returncode for process in others] == [0, 0]
    with RunStore(tmp_path / "runs.sqlite") as store:
        assert len(store.have(f"{name}-{k}" for name in "bc" for k in range(40))) == 80
        keys = store.have(f"a-{k}" for k in range(last + 50))
        assert {f"a-{k}" for k in range(last + 1)} <= keys
        assert len(keys) <= last + 2  # at most the one that was kept but not yet said
        assert store.find(keys).keys() == keys  # each with its summary


def fill(store: RunStore, record: Record, added: list[str]) -> None:
    for k in range(1000):
        store.add(replace(record, key=f"{k}"))
        added.append(f"{k}")


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path, record: Record) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    added: list[str] = []
    # a database that may not grow: what SQLite raises on a full disk
    sa.event.listen(store._engine, "connect", lambda c, _: c.execute("PRAGMA max_page_count = 60"))
    store._engine.dispose()
    with pytest.raises(StoreError, match="disk is full: free some space") as told:
        fill(store, record, added)
    assert "database or disk is full" in str(told.value)
    store.close()
    with RunStore(tmp_path / "runs.sqlite") as again:
        assert again.have(added) == set(added)
        assert again.count() == len(again.find(added)) == len(added) > 0
        assert again.add(replace(record, key="after"))


def test_a_store_that_nobody_holds_keeps_no_file_open(tmp_path: Path, record: Record) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    store.add(record)
    engine = store._engine
    assert "Connections in pool: 1 " in engine.pool.status()
    del store
    assert "Connections in pool: 0 " in engine.pool.status()


def test_a_locked_store_is_told(tmp_path: Path, record: Record) -> None:
    with RunStore(tmp_path / "runs.sqlite", wait=0.1) as store:
        store.add(record)
        other = sqlite3.connect(tmp_path / "runs.sqlite")
        other.execute("BEGIN EXCLUSIVE")
        message = "another program is writing to it and did not finish in time: try again"
        with pytest.raises(StoreError, match=message):
            store.add(replace(record, key="b"))
        assert store.count() == 1  # readers do not wait
        other.rollback()
        other.close()
        assert store.add(replace(record, key="b"))


def test_a_store_of_another_version_is_left_alone(tmp_path: Path, record: Record) -> None:
    file = tmp_path / "runs.sqlite"
    with RunStore(file) as store:
        store.add(record)
    with sqlite3.connect(file) as raw:
        raw.execute("UPDATE dpmc_store SET version = 99")
    raw.close()
    before = file.read_bytes()
    with pytest.raises(
        StoreError,
        match="is of version 99, and this release reads version 1: open it with the release",
    ):
        RunStore(file)
    assert file.read_bytes() == before


def test_what_is_no_store_is_refused(tmp_path: Path, record: Record) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to look like one\n" * 100)
    with pytest.raises(StoreError, match="damaged, or is no database: put it aside"):
        RunStore(text)
    assert text.read_text().startswith("not a database")
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as raw:
        raw.execute("CREATE TABLE mine (x)")
    raw.close()
    with pytest.raises(StoreError, match=r"no run store \(its tables: mine\)"):
        RunStore(other)
    damaged = tmp_path / "runs.sqlite"
    with RunStore(damaged) as store:
        for k in range(60):
            store.add(replace(record, key=f"{k}"))
    whole = bytearray(damaged.read_bytes())
    whole[4096 : len(whole) // 2] = b"\xff" * (len(whole) // 2 - 4096)
    damaged.write_bytes(bytes(whole))
    with pytest.raises(
        StoreError, match=r"damaged, or is no database: put it aside \(do not delete it"
    ):
        read_all(damaged)


def read_all(file: Path) -> None:
    with RunStore(file) as store:
        store.count()
        store.find(row["key"] for row in store.rows())


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("nosuch://host/x", "give a file's path or a database's URL"),
        (
            "postgresql+psycopg://me:secret@127.0.0.1:1/x",
            "the database does not answer: check that it runs",
        ),
        ("/proc/nowhere/runs.sqlite", "choose another by DPMC_STORE"),
        ("sqlite:////proc/runs.sqlite", "DPMC_STORE"),
        ("http://[bad/x", "DPMC_STORE"),
        (
            "postgresql+psycopg://127.0.0.1:1/x?user=me&password=secret",
            "the database does not answer",
        ),
        ("nosuch://me:secret@host/x", "is no place for runs"),
    ],
)
def test_a_place_that_is_none(place: str, message: str) -> None:
    with pytest.raises(StoreError, match=message) as error:
        RunStore(place)
    assert "secret" not in str(error.value)


@pytest.mark.long
@needs_postgres
def test_replicas_that_open_a_new_store_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All have seen that there are no tables before any of them makes one."""
    ready, make = threading.Barrier(4, timeout=60), RunStore._make
    monkeypatch.setattr(RunStore, "_make", lambda store: (ready.wait(), make(store)))
    with postgres.postgres() as url, ThreadPoolExecutor(4) as threads:
        for store in threads.map(RunStore, [url] * 4):
            with store:
                assert store.count() == 0
