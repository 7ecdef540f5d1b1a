"""A visit's runs as a file: saved, opened another day or on another server, and never trusted."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpmc_core.datasets import own
from dpmc_core.errors import DataError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.store.records import key_of, record_of
from dpmc_core.experiments.store.session import Session, read_session
from dpmc_core.experiments.store.store import RunStore
from pages.parts.runs.session import saved
from pages.parts.server import jobs, run_store
from pages.parts.server.job import Job
from tests.app.visits import SWEEP, TINY, another_visitor, keep, open_page, shows
from tests.own.files import long_csv


def content_of(session: Session) -> bytes:
    return json.dumps(session.as_dict()).encode()


@pytest.mark.long
def test_a_sweep_is_drawn_on_another_server_without_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_page(SWEEP).press()
    session = saved(jobs.runs(), jobs.of_visit(), None)
    (link,) = session.links
    assert link.startswith("tradeoffs?")
    assert "run=" not in link
    monkeypatch.setenv("DPMC_STORE", str(tmp_path / "another.sqlite"))
    another_visitor(monkeypatch)
    there = open_page("runs").upload(content_of(session), "mine.json")
    table = there.dataframe[0].value
    assert table["mine"].tolist() == ["yes"] * 6
    assert table["from a file"].all()
    there.go_to(SWEEP)
    assert there.verdict == app.verdict
    shows(there, "6 runs from a file: not computed here", kinds=["caption"])
    assert run_store.store().count() == 0
    again = saved(jobs.runs(), jobs.of_visit(), session)
    assert (again.links, again.records) == (session.links, session.records)


def test_the_stores_own_runs_come_before_a_files(own_store: Path) -> None:
    record = record_of(run(TINY))
    keep(own_store, record)
    forged = replace(record, value=1e-3)
    app = open_page("runs", runs=record.key).upload(content_of(Session((), (forged,))), "x.json")
    table = app.dataframe[0].value
    assert table["result"].tolist() == [record.value]
    assert table["mine"].tolist() == ["yes"]
    assert "from a file" not in table
    assert "delete-runs" in app.buttons
    with RunStore(own_store) as store:
        store.delete([record.key])
    app.run()
    assert app.dataframe[0].value["from a file"].tolist() == [True]
    shows(app, "From your file, not computed here: 1.", "1 run from a file")
    assert "delete-runs" not in app.buttons
    shows(app.press("s_forget"), "No run is kept yet")


def changed(**fields: Any) -> bytes:
    raw = Session((), (record_of(run(TINY)),)).as_dict()
    raw["runs"][0] |= fields
    return json.dumps(raw).encode()


SPEC = json.loads(TINY.to_json())
HOSTILE = {
    "no JSON": b"{",
    "deep": b"[" * 100_000,
    "too large": b" " * 5_000_001,
    "a list": b"[1, 2]",
    "nothing": b"{}",
    "another release": b'{"release": "0.0.1", "links": [], "runs": []}',
    "no finite number": changed(value=float("nan")),
    "a huge number": b'{"x": ' + b"9" * 5000 + b"}",
    "an infinite baseline": changed(baseline=1e999),
    "a word for a number": changed(value="nan"),
    "neither result nor error": changed(value=None),
    "both": changed(error="It failed."),
    "an ε without noise": changed(epsilon=1.0),
    "no date": changed(created="<b>now</b>"),
    "another kind": changed(kind="factorization"),
    "a spec out of range": changed(spec=json.dumps({**SPEC, "seed": -1})),
    "a spec of own data": changed(
        spec=json.dumps({**SPEC, "data": {"dataset": f"{own.sets.OWN}ratings-0"}})
    ),
    "a spec that is none": changed(spec={"seed": 1}),
    "too many links": json.dumps({**Session(("home",) * 51, ()).as_dict()}).encode(),
    "a link that is none": json.dumps({**Session((), ()).as_dict(), "links": [1]}).encode(),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_session_is_one_sentence(content: bytes) -> None:
    with pytest.raises(DataError, match=r"x\.json' is no session that can be opened here"):
        read_session("x.json", content)


@pytest.mark.long
def test_a_bad_file_takes_nothing_away(own_store: Path) -> None:
    keep(own_store, record_of(run(TINY)))
    app = open_page("runs").upload(HOSTILE["no finite number"], "x.json")
    assert app.texts("error").count("is no session") == 1
    assert len(app.dataframe[0].value) == 1
    links = ("https://evil.example/?a=b", "runs?runs=[x](http://evil.example)", "nothing?a=1")
    app.upload(content_of(Session(links, ())), "x.json")
    assert [link.page for link in app.links] == ["runs"]


def test_own_data_stays_out_and_secret_noise_is_never_found_by_its_settings(
    own_store: Path,
) -> None:
    secret = RunSpec.of(algorithm="moments", mechanism="gaussian", epsilon=1.0, secret=True)
    kept = [record_of(run(TINY)), record_of(run(secret), once=True)]
    opened = read_session("x.json", content_of(Session((), tuple(kept))))
    assert opened.records[0] == replace(kept[0], summary={})
    assert key_of(secret) not in {one.key for one in opened.records}
    assert opened.records[1].value == kept[1].value
    keep(own_store, kept[0])
    public = Job(specs=(TINY,), results=[None], address="completion?rank=2")
    on_own = replace(public, sets=(own.read("ratings", "a.csv", long_csv(30, 12)),))
    found = [saved((), [job], None) for job in (public, on_own)]
    assert [(len(one.records), len(one.links)) for one in found] == [(1, 1), (0, 0)]
