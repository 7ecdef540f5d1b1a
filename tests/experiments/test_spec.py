"""Specs of any algorithm: there and back, in all forms, and those of the first release."""

import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpmc_core.completion
from dpmc_core.cli.common.main import main
from dpmc_core.cli.large import ON_PARTITIONS
from dpmc_core.config import Choice, Parameter, parameters
from dpmc_core.datasets.catalogue import names
from dpmc_core.datasets.configs import config_of
from dpmc_core.errors import ParameterError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.algorithms import ALGORITHMS, _found
from dpmc_core.experiments.flat import known_names
from dpmc_core.experiments.store.records import Record, kind_of, spec_of
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.privacy.algorithm import Algorithm
from dpmc_core.privacy.noise import KINDS, NoNoise, RoundEpsilon

# the first release's flat specs: all fields with their values where none was named
RATINGS: dict[str, Any] = {
    "task": "rate",
    "dataset": "low-rank",
    "algorithm": "als",
    "mechanism": "none",
    "variance": None,
    "epsilon": None,
    "alpha": None,
    "sensitivity": 5.0,
    "delta": 1e-05,
    "rank": 5,
    "reg": 0.5,
    "iterations": 20,
    "inner": 10,
    "loss_alpha": 1.076,
    "items_per_user": 50,
    "item_share": 1.0,
    "sampling": "adaptive",
    "projection": "inner",
    "start": "random",
    "centring": "mean",
    "clip_norm": 1.0,
    "value_clip": None,
    "gram_ratio": 2.0,
    "item_exponent": 0.5,
    "user_exponent": 1.0,
    "global_penalty": 0.0,
    "nuclear": 1.0,
    "split": "random",
    "test_fraction": 0.2,
    "zeros": "missing",
    "seed": 0,
    "n_users": 300,
    "n_items": 300,
    "n_ratings": 20000,
    "true_rank": 5,
    "observed": 0.1,
    "value_scale": 1.0,
    "popularity": 0.9,
    "noise_floor": 0.5,
    "data_seed": 0,
    "version": 1,
}
SAMPLES: dict[str, Any] = {
    "dataset": "lfw",
    "algorithm": "nmf",
    "mechanism": "none",
    "epsilon": None,
    "alpha": None,
    "delta": 1e-05,
    "rank": 16,
    "rounds": 50,
    "inner": 1,
    "solver": "coordinates",
    "start": "mean",
    "averaging": 0.9,
    "neighbours": "add/remove-one",
    "dictionary_step": 0.0001,
    "outlier_penalty": None,
    "outlier_bound": 10.0,
    "contaminated": 0.0,
    "spoiled_pixels": 0.7,
    "min_documents": 3,
    "max_share": 0.5,
    "most_words": 5000,
    "stop_words": "left-out",
    "term_share": 1.0,
    "n_samples": 2000,
    "data_seed": 0,
    "seed": 0,
    "version": 1,
}
OLD: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"mechanism": "huber", "variance": 2.0, "algorithm": "als"},
        {
            "rank": 5,
            "reg": 0.5,
            "iterations": 20,
            "mechanism": "Huber(alpha=1.0759779011734087, scale=1.0)",
            "sensitivity": 5.0,
        },
    ),
    (
        {"epsilon": 2.0, "mechanism": "laplace", "rank": 7, "seed": 3, "algorithm": "als"},
        {
            "rank": 7,
            "reg": 0.5,
            "iterations": 20,
            "mechanism": "Laplace(scale=2.5)",
            "sensitivity": 5.0,
        },
    ),
    (
        {
            "algorithm": "irls",
            "alpha": 1.2,
            "dataset": "ml-100k",
            "inner": 4,
            "loss_alpha": 0.9,
            "mechanism": "huber",
            "split": "u1",
            "variance": 3.0,
        },
        {
            "rank": 5,
            "reg": 0.5,
            "iterations": 20,
            "inner": 4,
            "loss_alpha": 0.9,
            "mechanism": "Huber(alpha=1.2, scale=1.3256812725068923)",
            "sensitivity": 5.0,
        },
    ),
    (
        {
            "algorithm": "irls-2",
            "delta": 1e-06,
            "epsilon": 4.0,
            "mechanism": "gaussian",
            "sensitivity": 4.0,
        },
        {
            "rank": 5,
            "reg": 0.5,
            "iterations": 20,
            "inner": 2,
            "loss_alpha": 1.076,
            "mechanism": "Gaussian(scale=4.774074348631941)",
            "sensitivity": 4.0,
        },
    ),
    (
        {"algorithm": "dpnmf", "epsilon": 2.0, "mechanism": "laplace", "rank": 4},
        {"rank": 4, "reg": 0.5, "iterations": 20, "mechanism": "Laplace(scale=24.0)"},
    ),
    (
        {
            "algorithm": "moments",
            "dataset": "skewed",
            "epsilon": 5.0,
            "mechanism": "gaussian",
            "n_users": 400,
            "rank": 6,
        },
        {"rank": 6, "budget": "Budget(epsilon=5.0, delta=1e-05, family='gaussian', alpha=1.5)"},
    ),
    (
        {"algorithm": "moments", "dataset": "ml-1m", "task": "recommend"},
        {"rank": 5, "budget": None},
    ),
    (
        {
            "algorithm": "dpals",
            "alpha": 1.1,
            "centring": "user",
            "clip_norm": 0.5,
            "epsilon": 5.0,
            "item_share": 0.5,
            "iterations": 2,
            "mechanism": "huber",
            "projection": "off",
            "rank": 8,
            "reg": 30.0,
            "sampling": "weights",
            "start": "power",
            "value_clip": 2.0,
        },
        {
            "rank": 8,
            "reg": 30.0,
            "iterations": 2,
            "items_per_user": 50,
            "item_share": 0.5,
            "clip_norm": 0.5,
            "value_clip": 2.0,
            "gram_ratio": 2.0,
            "item_exponent": 0.5,
            "user_exponent": 1.0,
            "global_penalty": 0.0,
            "sampling": "weights",
            "projection": "off",
            "start": "power",
            "start_rounds": 2,
            "centring": "user",
            "orthonormal": False,
            "implicit": False,
            "private": True,
            "budget": "Budget(epsilon=5.0, delta=1e-05, family='huber', alpha=1.1)",
            "family": "gaussian",
            "sigma_gram": None,
            "sigma_right": None,
            "sigma_preparation": None,
        },
    ),
    (
        {"algorithm": "private-means", "mechanism": "gaussian"},
        {"budget": "Budget(epsilon=1.0, delta=1e-05, family='gaussian', alpha=1.5)"},
    ),
    (
        {
            "algorithm": "popular",
            "dataset": "sweetrs",
            "epsilon": 3.0,
            "mechanism": "laplace",
            "task": "recommend",
            "zeros": "rating",
        },
        {"budget": "Budget(epsilon=3.0, delta=1e-05, family='laplace', alpha=1.5)"},
    ),
    (
        {
            "algorithm": "private-fw",
            "epsilon": 2.0,
            "items_per_user": 40,
            "iterations": 6,
            "mechanism": "gaussian",
            "nuclear": 0.3,
        },
        {
            "iterations": 6,
            "nuclear": 0.3,
            "items_per_user": 40,
            "budget": "Budget(epsilon=2.0, delta=1e-05, family='gaussian', alpha=1.5)",
        },
    ),
    (
        {"algorithm": "private-svd", "epsilon": 2.0, "mechanism": "gaussian"},
        {"rank": 5, "budget": "Budget(epsilon=2.0, delta=1e-05, family='gaussian', alpha=1.5)"},
    ),
    (
        {"algorithm": "svt", "dataset": "orthogonal", "observed": 0.3, "true_rank": 3},
        {"rank": 5, "iterations": 20, "reg": 0.5},
    ),
    ({"algorithm": "trifactor"}, {"rank": 5, "iterations": 20, "reg": 0.5}),
    ({"algorithm": "truncated-svd", "rank": 9}, {"rank": 9}),
    ({"algorithm": "user-item", "seed": 9}, {}),
    (
        {"rank": 9, "solver": "gradient", "algorithm": "nmf"},
        {
            "rank": 9,
            "rounds": 50,
            "outlier_penalty": None,
            "outlier_bound": 10.0,
            "inner": 1,
            "solver": "gradient",
        },
    ),
    (
        {"algorithm": "robust-nmf", "contaminated": 0.1, "dataset": "yaleb", "inner": 3},
        {
            "rank": 16,
            "rounds": 50,
            "outlier_penalty": 0.5,
            "outlier_bound": 10.0,
            "inner": 3,
            "solver": "coordinates",
        },
    ),
    (
        {"algorithm": "sklearn-nmf", "dataset": "lee", "min_documents": 5},
        {"rank": 16, "rounds": 50},
    ),
    (
        {"algorithm": "private-nmf-published", "inner": 5, "mechanism": "gaussian", "rounds": 100},
        {
            "rank": 16,
            "rounds": 100,
            "epsilon": 0.5,
            "delta": 1e-05,
            "dictionary_step": 0.0001,
            "dictionary_steps": 1,
            "inner": 5,
            "outlier_penalty": None,
            "outlier_bound": 10.0,
        },
    ),
    (
        {
            "algorithm": "private-nmf",
            "averaging": 0.5,
            "epsilon": 3.0,
            "inner": 10,
            "mechanism": "laplace",
            "neighbours": "replace-one",
            "outlier_penalty": 0.4,
            "rounds": 20,
            "start": "random",
        },
        {
            "rank": 16,
            "rounds": 20,
            "inner": 10,
            "start": "random",
            "averaging": 0.5,
            "outlier_penalty": 0.4,
            "outlier_bound": 10.0,
            "budget": "Budget(epsilon=3.0, delta=1e-05, family='laplace', alpha=1.5)",
            "neighbours": "replace-one",
        },
    ),
    (
        {
            "algorithm": "moment-nmf",
            "alpha": 1.3,
            "dataset": "tdt2",
            "epsilon": 3.0,
            "mechanism": "huber",
            "rounds": 60,
            "term_share": 0.5,
        },
        {
            "rank": 16,
            "rounds": 60,
            "budget": "Budget(epsilon=3.0, delta=1e-05, family='huber', alpha=1.3)",
            "neighbours": "add/remove-one",
        },
    ),
    (
        {
            "algorithm": "moment-nmf",
            "data_seed": 4,
            "dataset": "cartoon",
            "n_samples": 300,
            "rank": 6,
            "rounds": 150,
        },
        {"rank": 6, "rounds": 150, "budget": None, "neighbours": "add/remove-one"},
    ),
]


def whole(changes: dict[str, Any]) -> dict[str, Any]:
    """A flat spec as the first release wrote it: every field."""
    card = ALGORITHMS[changes["algorithm"]]
    flat = {**(SAMPLES if card.factorize else RATINGS), **changes}
    usual = card.config()
    for name in ("rounds", "inner"):
        if card.factorize and flat[name] == 0:
            flat[name] = getattr(usual, name, 1)  # it wrote the algorithm's own number
    return flat


@pytest.mark.parametrize(
    ("changes", "given"), OLD, ids=lambda x: x.get("algorithm", "") if isinstance(x, dict) else None
)
def test_a_spec_of_the_first_release_gives_the_same_solver(
    changes: dict[str, Any], given: dict[str, Any]
) -> None:
    spec, left_out = RunSpec.from_version_1(whole(changes))
    assert left_out == ()
    assert RunSpec.from_version_1(changes)[0] == spec  # a link named only what was changed
    assert RunSpec.from_dict(whole(changes)) == spec == RunSpec.from_json(spec.to_json())
    assert (spec.card.name, spec.dataset) == (changes["algorithm"], whole(changes)["dataset"])
    assert spec.task == ("factorize" if spec.card.factorize else changes.get("task", "rate"))
    assert spec.seed == changes.get("seed", 0)
    for name, value in changes.items():
        if name in parameters(type(spec.data)):
            assert getattr(spec.data, name) == value, name
    data = SimpleNamespace(low=1.0, high=5.0)
    config = spec.algorithm
    if spec.card.noise:
        config = spec.card.prepare(config, spec.noise, data)
    for name, value in given.items():
        found = getattr(config, name)
        if found is not None and not isinstance(found, (int, float, str)):
            found = repr(found)
        assert found == (pytest.approx(value) if isinstance(value, float) else value), name


def test_every_algorithm_of_the_first_release_is_among_them() -> None:
    assert {changes["algorithm"] for changes, _ in OLD} == set(ALGORITHMS)


@pytest.mark.parametrize(
    ("flat", "left_out"),
    [
        ({"algorithm": "private-means", "rank": 9, "reg": 3.0}, ("rank", "reg")),
        ({"algorithm": "als", "items_per_user": 3, "nuclear": 2.0}, ("items_per_user", "nuclear")),
        ({"algorithm": "als", "n_ratings": 500}, ("n_ratings",)),
        ({"algorithm": "als", "delta": 1e-6}, ("delta",)),
        ({"algorithm": "als", "delta": 1e-6, "mechanism": "gaussian"}, ()),
        ({"algorithm": "nmf", "averaging": 0.5, "inner": 4}, ("averaging",)),
        ({"algorithm": "moment-nmf", "dataset": "lee", "spoiled_pixels": 0.1}, ("spoiled_pixels",)),
        ({"algorithm": "irls-2", "inner": 7}, ("inner",)),
        ({"algorithm": "als", "inner": 10}, ()),  # the value that it had anyway
    ],
)
def test_what_the_first_release_never_read_is_left_out_and_said(
    flat: dict[str, Any], left_out: tuple[str, ...]
) -> None:
    assert RunSpec.from_version_1(flat)[1] == left_out
    assert RunSpec.from_version_1(whole(flat))[1] == left_out


def test_bad_specs_of_the_first_release_are_refused() -> None:
    for flat, words in (
        ({"colour": 1}, "spec field = 'colour'"),
        ({"algorithm": "svd"}, "algorithm = 'svd'"),
        ({"algorithm": "als", "rank": 0}, "rank = 0"),
        ({"algorithm": "als", "rounds": 3}, "spec field = 'rounds'"),
        ({"algorithm": "svt", "dataset": "lfw"}, "dataset = 'lfw'"),
        ({"variance": 2.0, "epsilon": 1.0, "mechanism": "huber"}, "epsilon = 1.0"),
    ):
        with pytest.raises(ParameterError, match=words):
            RunSpec.from_version_1(flat)
    assert RunSpec.from_version_1({"dataset": "cbcl", "rank": 9})[0].card.name == "nmf"
    assert RunSpec.from_version_1({"n_samples": 90, "dataset": "cartoon"})[0].data.n_samples == 90
    published = RunSpec.from_version_1({"algorithm": "private-nmf-published"})[0]
    assert published.algorithm.rounds == 100  # its default then


def test_a_store_of_the_first_release_is_listed_and_opened(tmp_path: Path) -> None:
    def record(changes: dict[str, Any], key: str) -> Record:
        import json

        flat = whole(changes)
        factors = "rounds" in flat
        return Record(
            key=key,
            kind="factorization" if factors else "completion",
            dataset=flat["dataset"],
            algorithm=flat["algorithm"],
            mechanism=flat["mechanism"],
            seed=flat["seed"],
            measure="objective ½N⁻¹‖V − WH‖²"
            if factors
            else "held-out RMSE, clipped (rating units)",
            value=0.5,
            baseline=0.9,
            truth=None,
            epsilon=None,
            epsilon_published=None,
            delta=1e-5,
            nominal=False,
            unit="",
            seconds=1.5,
            version="0.8.0",
            created=datetime(2026, 3, 1, tzinfo=UTC).isoformat(timespec="milliseconds"),
            error="",
            spec=json.dumps(flat, sort_keys=True),
            summary={"spec": flat, "trivial": {"global mean": 0.9}, "steps": []},
        )

    with RunStore(tmp_path / "runs.sqlite") as store:
        for k, (changes, _) in enumerate(OLD):
            assert store.add(record(changes, f"old-{k}"))
        assert store.count() == len(OLD)
        assert set(store.values()["algorithm"]) == set(ALGORITHMS)
        rows = {row["key"]: row for row in store.rows()}
        for k, (changes, _) in enumerate(OLD):
            row = rows[f"old-{k}"]
            spec = spec_of(row["kind"], row["spec"])
            assert spec == RunSpec.from_version_1(changes)[0]
            assert kind_of(spec) == row["kind"]
        whole_again = {r.key: r for r in store.each()}
        assert whole_again["old-0"].summary["trivial"] == {"global mean": 0.9}


# what the first release computed: settings, and the RMSE, recall or objective
COMPUTED: list[tuple[dict[str, Any], float]] = [
    (
        {
            "n_users": 60,
            "n_items": 40,
            "observed": 0.4,
            "iterations": 3,
            "mechanism": "huber",
            "variance": 2.0,
        },
        0.2627238396069145,
    ),
    (
        {
            "n_users": 60,
            "n_items": 40,
            "observed": 0.4,
            "iterations": 3,
            "algorithm": "irls",
            "mechanism": "laplace",
            "epsilon": 2.0,
        },
        0.3271564262788742,
    ),
    (
        {"n_users": 60, "n_items": 40, "observed": 0.4, "iterations": 3, "algorithm": "irls-2"},
        0.1358888327575572,
    ),
    (
        {
            "n_users": 60,
            "n_items": 40,
            "observed": 0.4,
            "iterations": 3,
            "algorithm": "dpnmf",
            "mechanism": "gaussian",
            "epsilon": 2.0,
        },
        0.9371444892963134,
    ),
    (
        {"n_users": 60, "n_items": 40, "observed": 0.4, "iterations": 3, "algorithm": "svt"},
        0.17748399617844815,
    ),
    (
        {"n_users": 60, "n_items": 40, "observed": 0.4, "iterations": 3, "algorithm": "trifactor"},
        0.1972759301636864,
    ),
    (
        {"n_users": 60, "n_items": 40, "observed": 0.4, "iterations": 3, "algorithm": "dpals"},
        0.2067372027863542,
    ),
    (
        {"n_users": 60, "n_items": 40, "observed": 0.4, "iterations": 3, "algorithm": "moments"},
        0.15651538006837948,
    ),
    (
        {"n_users": 60, "n_items": 40, "observed": 0.4, "iterations": 3, "algorithm": "private-fw"},
        0.31978582090495944,
    ),
    (
        {
            "n_users": 60,
            "n_items": 40,
            "observed": 0.4,
            "iterations": 3,
            "algorithm": "private-svd",
        },
        0.18541492682671978,
    ),
    (
        {
            "n_users": 200,
            "n_items": 50,
            "observed": 0.4,
            "iterations": 3,
            "task": "recommend",
            "algorithm": "dpals",
            "dataset": "skewed",
            "n_ratings": 3000,
        },
        0.6422222222222221,
    ),
    (
        {
            "n_users": 200,
            "n_items": 50,
            "observed": 0.4,
            "iterations": 3,
            "task": "recommend",
            "algorithm": "moments",
            "dataset": "skewed",
            "n_ratings": 3000,
        },
        0.7277777777777777,
    ),
    (
        {"dataset": "cartoon", "n_samples": 120, "rank": 5, "rounds": 4, "algorithm": "nmf"},
        0.11979309675923415,
    ),
    (
        {
            "dataset": "cartoon",
            "n_samples": 120,
            "rank": 5,
            "rounds": 4,
            "algorithm": "robust-nmf",
            "contaminated": 0.1,
        },
        0.12146791308203074,
    ),
    (
        {
            "dataset": "cartoon",
            "n_samples": 120,
            "rank": 5,
            "rounds": 4,
            "algorithm": "private-nmf-published",
            "mechanism": "gaussian",
        },
        0.15479744893959438,  # with the printed step, N times the first release's
    ),
    (
        {"dataset": "cartoon", "n_samples": 120, "rank": 5, "algorithm": "moment-nmf"},
        0.11451624770520999,
    ),
    (
        {"dataset": "topics", "n_samples": 120, "rank": 5, "rounds": 4, "algorithm": "private-nmf"},
        0.3264570246446065,
    ),
]


@pytest.mark.parametrize(
    ("flat", "value"),
    COMPUTED,
    ids=lambda x: x.get("algorithm", "als") if isinstance(x, dict) else "",
)
def test_a_run_of_the_first_release_gives_its_numbers(flat: dict[str, Any], value: float) -> None:
    spec, _ = RunSpec.from_version_1(flat)
    final = run(spec).final
    figure = {"rate": "test_rmse", "recommend": "recall", "factorize": "objective"}[spec.task]
    assert getattr(final, figure) == pytest.approx(value, rel=1e-9)


# every algorithm

CARDS = list(ALGORITHMS.values())


@pytest.mark.parametrize("card", CARDS, ids=lambda c: c.name)
def test_the_usual_settings_of_every_algorithm_go_there_and_back(card: Algorithm) -> None:
    for task in card.tasks:
        for kind in (NoNoise, *card.noise):
            noise = {} if kind is NoNoise else {"mechanism": card.mechanisms[-1]}
            if noise:
                noise[kind.amount()] = getattr(kind(**noise), kind.field())
            spec = RunSpec.of(noise, task=task, algorithm=card.name)
            assert spec.algorithm == card.config()
            assert type(spec.noise) is kind
            there_and_back(spec)


def there_and_back(spec: RunSpec) -> None:
    assert RunSpec.from_json(spec.to_json()) == spec
    assert RunSpec.of(spec.flat()) == spec
    assert RunSpec.fitting(spec.flat()) == spec
    assert RunSpec.of(spec.changes()) == spec
    assert spec.replace() == spec
    assert spec.replace(**spec.flat()) == spec
    assert spec.flat().keys() <= known_names()
    assert hash(RunSpec.of(spec.flat())) == hash(spec)


def some(parameter: Parameter) -> st.SearchStrategy[Any]:
    rule = parameter.rule
    if isinstance(rule, Choice):
        found: st.SearchStrategy[Any] = st.sampled_from(rule.names)
    elif rule.integer:
        found = st.integers(int(rule.low), int(min(rule.high, 2**63)))
    else:
        found = st.floats(
            rule.low,
            min(rule.high, 1e200),
            exclude_min=rule.open_low,
            exclude_max=rule.open_high,
            allow_nan=False,
        )
    return st.none() | found if parameter.optional else found


def filled(kind: type) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={n: some(p) for n, p in parameters(kind).items()})


# what no parameter's own range tells
BETWEEN = (
    *("algorithm", "outlier_penalty", "rank", "n_ratings", "split", "variance"),
    *("min_documents", "max_share"),
)


@st.composite
def specs(draw: st.DrawFn) -> RunSpec:
    card = draw(st.sampled_from(CARDS))
    task = draw(st.sampled_from(card.tasks))
    holds = ("images", "documents") if task == "factorize" else ("ratings",)
    dataset = draw(st.sampled_from(names(*holds)))
    flat = draw(filled(config_of(dataset))) | draw(filled(card.config))
    kind = draw(st.sampled_from((NoNoise, *card.noise)))
    if kind is not NoNoise:
        flat["mechanism"] = draw(st.sampled_from(card.mechanisms))
        flat[kind.amount()] = draw(some(parameters(kind)[kind.field()]))
        flat["delta"] = draw(some(parameters(kind)["delta"]))
        if flat["mechanism"] == "huber":
            flat["alpha"] = draw(some(parameters(kind)["alpha"]))
    flat["seed"] = draw(some(parameters(RunSpec)["seed"]))
    try:
        return RunSpec.of(flat, task=task, dataset=dataset, algorithm=card.name)
    except ParameterError as error:  # what no parameter alone can be blamed for
        if error.name not in BETWEEN:
            raise
        return RunSpec.of(task=card.tasks[0], algorithm=card.name)


@given(specs())
def test_any_settings_go_there_and_back(spec: RunSpec) -> None:
    there_and_back(spec)


ON_THEIR_OWN = [("factorize" if card.factorize else "complete", card) for card in CARDS]
LARGE = [("large", card) for card in CARDS if card.name in sum(ON_PARTITIONS.values(), ())]


@pytest.mark.parametrize(
    ("command", "card"), ON_THEIR_OWN + LARGE, ids=lambda one: getattr(one, "name", one)
)
def test_the_flags_of_an_algorithm_are_its_parameters(
    command: str, card: Algorithm, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, card.name, "--help"])
    said = capsys.readouterr().out
    sections = dict(re.findall(r"^(\S.*):\n((?:[ ].*\n|\n(?= ))+)", said, re.M))
    flags = re.findall(r"^  --([a-z0-9-]+)", sections.get(card.title, ""), re.M)
    assert sorted(flags) == sorted(n.replace("_", "-") for n in parameters(card.config))
    noise = re.findall(r"^  --([a-z0-9-]+)", sections.get("noise", ""), re.M)
    amounts = {kind.amount().replace("_", "-") for kind in card.noise}
    assert set(noise) == (
        {"mechanism", "epsilon", "alpha", "delta"} | amounts if amounts else set()
    )


@pytest.fixture
def one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "constant.py").write_text(
        '''"""Everything is the mean."""
from dataclasses import dataclass

from dpmc_core.completion.als import als
from dpmc_core.completion.common.parameters import Rank
from dpmc_core.config import Config
from dpmc_core.privacy.algorithm import Algorithm


@dataclass(frozen=True, kw_only=True)
class ConstantConfig(Config):
    """Nothing much."""

    rank: Rank = 3


ALGORITHMS = (
    Algorithm(
        name="constant", title="Constant", summary="The mean.", source="a test",
        config=ConstantConfig, rate=als, steps=1,
    ),
)
'''
    )
    room = dpmc_core.completion
    monkeypatch.setattr(room, "__path__", [*room.__path__, str(tmp_path)])
    yield "constant"
    sys.modules.pop("dpmc_core.completion.constant", None)
    vars(room).pop("constant", None)


def test_a_new_algorithm_is_one_file(one_file: str) -> None:
    found = _found()
    assert set(found) == {*ALGORITHMS, one_file}
    assert found[one_file].tasks == ("rate",)
    assert found[one_file].config().rank == 3
    assert list(found)[-1] == one_file  # after those that have a place in the order
    assert one_file not in _found.__globals__["ALGORITHMS"]


def test_a_flat_name_has_one_meaning() -> None:
    data = {n for name in names() for n in parameters(config_of(name))}
    noise = {n for kind in KINDS.values() for n in parameters(kind)}
    noise |= {"mechanism", "nominal_epsilon", "total_epsilon"}
    own = {"task", "dataset", "algorithm", "seed"}
    algorithms = {n for card in CARDS for n in parameters(card.config)}
    groups = (data, noise, own, algorithms)
    for k, one in enumerate(groups):
        for other in groups[:k]:
            assert not one & other
    assert len({card.config for card in CARDS}) == len(CARDS)  # by which a spec finds its card


@pytest.mark.parametrize(
    "words",
    [
        ["complete", "--dataset", "skewed", "--algorithm", "private-means", "--epsilon", "1"],
        ["complete", "--algorithm", "dpals", "--total-epsilon", "1"],
        ["complete", "private-means", "--epsilon", "1"],
        ["complete", "--spec", '{"algorithm": "private-means", "epsilon": 1.0}'],
        ["factorize", "--algorithm", "private-nmf", "--dataset", "cartoon", "--epsilon", "5"],
    ],
)
def test_an_amount_of_noise_without_a_mechanism_is_never_a_run_without_noise(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert "left out without noise; choose a mechanism" in capsys.readouterr().err


def test_what_an_old_spec_said_in_vain_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    old = (
        '{"algorithm": "private-means", "dataset": "skewed", "mechanism": "gaussian", '
        '"epsilon": 1, "rank": 9, "n_ratings": 2000, "version": 1}'
    )
    assert main(["complete", "--spec", old]) == 0
    said = capsys.readouterr().err
    assert "left out for Private means: rank" in said
    assert "its noise is not that of the release" in said


def test_a_spec_holds_nothing_that_it_does_not_name() -> None:
    """What is not named would be no part of the seed of the noise: two runs would share it."""
    data, card = config_of("skewed")(dataset="skewed"), ALGORITHMS["dpals"]
    with pytest.raises(ParameterError, match="whose settings are all parameters"):
        RunSpec(task="rate", data=data, algorithm=card.config(sigma_preparation=40.0))
    noise = RoundEpsilon(mechanism="gaussian", epsilon=1.0)
    with pytest.raises(ParameterError, match=r"nominal_epsilon = 1.0.*left out for"):
        RunSpec(task="rate", data=data, algorithm=ALGORITHMS["als"].config(), noise=noise)


def test_without_a_dataset_the_defaults_suit_the_small_set(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["complete", "als"]) == 0
    assert ": this run is better" in capsys.readouterr().out
    asked = RunSpec.of(rank=32, reg=10.0)
    words = asked.command().removeprefix("python -m dpmc_core ").split()
    assert "--dataset low-rank" in asked.command()
    assert main([*words, "--json", "--iterations", "1"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])["spec"]["algorithm"]
    assert (found["rank"], found["reg"]) == (32, 10.0)


@pytest.mark.parametrize("amount", [[], {"a": 1}, 3, None, "much"])
def test_an_amount_of_no_kind_is_one_sentence(amount: Any) -> None:
    with pytest.raises(ParameterError, match=r"amount (= |is missing)"):
        RunSpec.from_dict({"version": 2, "noise": {"amount": amount}})
