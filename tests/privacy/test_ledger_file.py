"""Ledgers there and back, and one sentence for everything that can be wrong with a file."""

import json
import math
import os
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, Staircase
from dpmc_core.privacy import Ledger, ledger_from_text, read_ledger, state
from dpmc_core.privacy.ledger import MOST_BYTES

from .helpers import ledger, release

NOISES: list[Mechanism] = [
    Huber(alpha=1.5, scale=2.0),
    Laplace(scale=0.3),
    Gaussian(scale=4.0),
    Staircase(epsilon=1.0, sensitivity=2.0, gamma=0.3),
]


SELDOM = {"linf_sensitivity", "mean_runs", "kind", "failure", "sampling_rate"}


@pytest.mark.parametrize(
    ("book", "unusual"),
    [
        *((ledger(noise, 7, 2.0), ()) for noise in NOISES),
        (ledger(NOISES[1], 2, 20.0, 5.0, 100, linf_sensitivity=1.0), ("linf_sensitivity",)),
        (ledger(NOISES[1], mean_runs=3.0, kind="score"), ("mean_runs", "kind")),
        (ledger(NOISES[1], failure=1e-6, sampling_rate=0.5), ("failure", "sampling_rate")),
    ],
    ids=str,
)
def test_there_and_back(book: Ledger, unusual: tuple[str, ...], tmp_path: Path) -> None:
    """Alone, in a run's result, and in the one result with noise of several; what is as usual is
    left out.
    """
    written, path = book.as_dict(), tmp_path / "x.json"
    results = [{"ledger": Ledger().as_dict()}, {"rmse": 1.0, "ledger": written}]
    for raw in (written, results[1], results):
        path.write_text(json.dumps(raw))
        assert read_ledger(path) == book
    (entry,) = written["releases"]
    assert SELDOM & set(entry) == set(unusual)


GOOD = {"mechanism": {"name": "laplace", "scale": 1.0}, "l1_sensitivity": 1.0}


def with_(**changes: object) -> str:
    entry = {**GOOD, **changes}
    return json.dumps({"releases": [{k: v for k, v in entry.items() if v is not ...}]})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a ledger file"),
        ("[" * 50_000, "is not a ledger file"),
        (b"\xff\xfe\x00", "is not a ledger file"),
        ("3", "This is not a ledger"),
        ("{}", "This is not a ledger"),
        ("[1, 2]", "holds 0 results with noise"),
        (json.dumps([{"ledger": {"releases": [1]}}] * 2), "holds 2 results with noise"),
        ('{"releases": []}', "from 1 to 200 kinds"),
        ('{"releases": [3]}', "release 1: entry = 3"),
        ('{"version": 9, "releases": [1]}', "version = 9"),
        ('{"version": 1, "releases": [], "releases": [1]}', "a name is there twice"),
        ('{"version": 1, "releases": [{"count": 1, "count": 2}]}', "a name is there twice"),
        (with_(mechanism=...), "release 1: mechanism = 'missing'"),
        (
            with_(mechanism={"name": "cauchy", "scale": 1}),
            "'cauchy' is not allowed: it must be one of huber, laplace",
        ),
        (with_(mechanism={"name": ["laplace"]}), "mechanism = ['laplace']"),
        (with_(mechanism={"name": "laplace"}), "laplace scale = 'missing'"),
        (
            with_(mechanism={"name": "laplace", "scale": 1, "alpha": 2}),
            "laplace parameter = 'alpha'",
        ),
        (with_(mechanism={"name": "laplace", "scale": "1"}), "scale = '1' is not allowed"),
        (with_(l1_sensitivity=...), "l1_sensitivity = 'missing'"),
        (with_(l1_sensitivity=0), "sensitivity = 0 is not allowed"),
        (with_(l2_sensitivity=2.0), "l2_sensitivity = 2.0 is not allowed"),
        (
            with_(l1_sensitivity=9.0, l2_sensitivity=1.0, coordinates=4),
            "at most √coordinates times",
        ),
        (
            with_(l1_sensitivity=9.0, coordinates=81, linf_sensitivity=0.1),
            "at most coordinates times the linf_sensitivity, 8.1",
        ),
        (with_(linf_sensitivity="x"), "sensitivity = 'x' is not allowed"),
        (with_(count=1.5), "count = 1.5 is not allowed"),
        (with_(failure=1e-6, mean_runs=3), "failure = 1e-06 is not allowed"),
        (with_(failure=1), "failure = 1 is not allowed"),
        (with_(mean_runs=0), "mean_runs = 0"),
        (with_(unit="dog"), "unit = 'dog' is not allowed: it must be one of rating, user"),
        (with_(unit=["user"]), "unit = ['user'] is not allowed"),
        (with_(neighbours="all"), "neighbours = 'all'"),
        (with_(kind="poll"), "kind = 'poll' is not allowed: it must be one of completion"),
        (with_(sound="yes"), "sound = 'yes'"),
        (with_(colour="red"), "field = 'colour'"),
        (with_(what="\ud800"), "printable"),
        (with_(source="\x1b[31m"), "printable"),
        (
            with_(l1_sensitivity=..., l2_sensitivity=1.0),
            "coordinates = 'missing' is not allowed: it must be given",
        ),
        (with_(l1_sensitivity=1e30), "between 1e-12 and 1e12 standard deviations"),
        (
            with_(mechanism={"name": "staircase", "epsilon": 1, "sensitivity": 1e-8}),
            "at most 10,000 times the staircase's own",
        ),
        (with_(l1_sensitivity=7).replace("7", "NaN"), "is not a ledger file"),
        (with_(l1_sensitivity=7).replace("7", "1e999"), "sensitivity = inf"),
        ("x" * 2_000_001, "must be at most 2 MB"),
    ],
)
def test_bad_files_are_named_in_one_sentence(text: str | bytes, words: str) -> None:
    with pytest.raises((DataError, ParameterError)) as caught:
        ledger_from_text(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_of_the_two_sensitivities_is_enough() -> None:
    (one,) = ledger_from_text(with_(coordinates=9)).releases
    assert (one.l1_sensitivity, one.l2_sensitivity) == (1.0, 1.0)
    (two,) = ledger_from_text(with_(l1_sensitivity=..., l2_sensitivity=2.0, coordinates=9)).releases
    assert two.l1_sensitivity == pytest.approx(6.0)
    assert not one.sound  # what a file does not say is not a guarantee


def test_a_hundred_megabytes_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.touch()
    os.truncate(path, 100_000_000)

    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"large.json has 100.0 MB; at most 2 MB are allowed"):
            read_ledger(path)
        assert tracemalloc.get_traced_memory()[1] < 2.5 * MOST_BYTES  # and no more was read
    finally:
        tracemalloc.stop()
    for path, words in ((tmp_path / "absent.json", "No such file"), (tmp_path, "")):
        with pytest.raises(DataError, match=rf"cannot be read.*{words}"):
            read_ledger(path)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"algorithm": "moments", "epsilon": 1.0}, "Joint differential privacy"),
        ({"algorithm": "als", "variance": 2.0}, "The sensitivity is taken to be Δ = 5"),
        ({"algorithm": "als", "variance": 2.0, "noise_on": "output"}, "Solved factors"),
        ({"algorithm": "dpnmf", "variance": 2.0}, "Only the abstract of Ran et al."),
        ({"algorithm": "moment-nmf", "dataset": "cartoon", "epsilon": 50}, "neighbouring pixels"),
        ({"algorithm": "private-nmf", "dataset": "topics", "epsilon": 1.0}, "One document is"),
        (
            {"algorithm": "private-nmf-published", "dataset": "topics", "epsilon": 0.5},
            "Not private",
        ),
    ],
)
def test_an_exported_ledger_keeps_the_caveats_of_its_algorithm(
    settings: dict[str, object], words: str
) -> None:
    """Their kind is typed: other prose changes nothing."""
    small = {"rounds": 2, "iterations": 2, "rank": 2, "n_samples": 400}
    result = run(RunSpec.fitting({**small, **settings}, mechanism="gaussian"))
    book = ledger_from_text(json.dumps(result.summary()))
    assert book == result.ledger
    others = tuple(replace(one, what="x", source="y") for one in book.releases)
    caveats = state(Ledger(others)).caveats
    assert caveats == state(book).caveats
    assert words in " ".join(caveats)


def test_a_ledger_is_sound_only_if_all_of_it_is_and_else_says_why() -> None:
    sound, assumed = release(Laplace(scale=1.0)), release(Laplace(scale=4.0), 3, sound=False)
    statement = state(Ledger((sound,)))
    assert (statement.caveats, statement.nominal) == ((), False)
    mixed = state(Ledger((sound, assumed)))
    (caveat,) = mixed.caveats
    assert mixed.nominal
    assert "assumed, not derived" in caveat
    assert mixed.epsilon_per_draw == 1.0  # the dearest draw
    assert mixed.accounts[0].epsilon == pytest.approx(1.75)
    assert not state(Ledger()).private
    message = "unit = 'rating and record' is not allowed: it must be the same"
    with pytest.raises(ParameterError, match=message):
        state(Ledger((sound, replace(sound, unit="rating"))))


def test_what_is_infinite_is_null_in_json() -> None:
    statement = state(ledger(Gaussian(scale=1.0), 3)).as_dict()
    assert statement["accounts"][0]["epsilon"] is None
    assert json.dumps(statement)
    assert math.isfinite(statement["epsilon"])
