"""Specs of any algorithm: there and back, in all forms, and what runs of them give."""

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpmc_core.completion
from dpmc_core.cli.common.main import _parser, main
from dpmc_core.cli.common.options import spec_of
from dpmc_core.config import Choice, Parameter, parameters
from dpmc_core.datasets.catalogue import names
from dpmc_core.datasets.configs import config_of
from dpmc_core.errors import ParameterError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.algorithms import ALGORITHMS, ON_PARTITIONS, _found
from dpmc_core.experiments.spec import known_names
from dpmc_core.mechanisms import RUN_FAMILIES
from dpmc_core.privacy.algorithm import Algorithm
from dpmc_core.privacy.noise import KINDS, Noise, NoNoise, RoundEpsilon
from tests.terminal import Terminal

# an algorithm, settings, and what its solver is given besides them
PREPARED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "als",
        {"rank": 5, "reg": 0.5, "mechanism": "huber", "variance": 2.0},
        {
            "iterations": 20,
            "mechanism": "Huber(alpha=1.0759779011734087, scale=1.0)",
            "sensitivity": 5.0,
        },
    ),
    (
        "als",
        {"rank": 7, "reg": 0.5, "mechanism": "laplace", "epsilon": 2.0, "seed": 3},
        {"iterations": 20, "mechanism": "Laplace(scale=2.5)", "sensitivity": 5.0},
    ),
    (
        "irls",
        {
            "dataset": "ml-100k",
            "split": "u1",
            "rank": 5,
            "reg": 0.5,
            "inner": 4,
            "loss_alpha": 0.9,
            "mechanism": "huber",
            "variance": 3.0,
            "alpha": 1.2,
        },
        {
            "iterations": 20,
            "mechanism": "Huber(alpha=1.2, scale=1.3256812725068923)",
            "sensitivity": 5.0,
        },
    ),
    (
        "irls-2",
        {
            "rank": 5,
            "reg": 0.5,
            "sensitivity": 4.0,
            "mechanism": "gaussian",
            "epsilon": 4.0,
            "delta": 1e-06,
        },
        {
            "iterations": 20,
            "inner": 2,
            "loss_alpha": 1.076,
            "mechanism": "Gaussian(scale=4.774074348631941)",
        },
    ),
    (
        "dpnmf",
        {"rank": 4, "reg": 0.5, "mechanism": "laplace", "epsilon": 2.0},
        {"iterations": 20, "mechanism": "Laplace(scale=24.0)"},
    ),
    (
        "moments",
        {"dataset": "skewed", "n_users": 400, "rank": 6, "mechanism": "gaussian", "epsilon": 5.0},
        {"budget": "Budget(epsilon=5.0, delta=1e-05, family='gaussian', alpha=1.5)"},
    ),
    ("moments", {"task": "recommend", "dataset": "ml-1m", "rank": 5}, {"budget": None}),
    (
        "dpals",
        {
            "reg": 30.0,
            "items_per_user": 50,
            "item_share": 0.5,
            "projection": "off",
            "start": "power",
            "clip_norm": 0.5,
            "value_clip": 2.0,
            "gram_ratio": 2.0,
            "mechanism": "huber",
            "epsilon": 5.0,
            "alpha": 1.1,
        },
        {
            "rank": 8,
            "iterations": 2,
            "item_exponent": 0.5,
            "user_exponent": 1.0,
            "global_penalty": 0.0,
            "sampling": "weights",
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
        "private-means",
        {"mechanism": "gaussian", "epsilon": 1.0},
        {"budget": "Budget(epsilon=1.0, delta=1e-05, family='gaussian', alpha=1.5)"},
    ),
    (
        "popular",
        {
            "task": "recommend",
            "dataset": "sweetrs",
            "zeros": "rating",
            "mechanism": "laplace",
            "epsilon": 3.0,
        },
        {"budget": "Budget(epsilon=3.0, delta=1e-05, family='laplace', alpha=1.5)"},
    ),
    (
        "private-fw",
        {
            "iterations": 6,
            "nuclear": 0.3,
            "items_per_user": 40,
            "mechanism": "gaussian",
            "epsilon": 2.0,
        },
        {"budget": "Budget(epsilon=2.0, delta=1e-05, family='gaussian', alpha=1.5)"},
    ),
    (
        "private-svd",
        {"rank": 5, "mechanism": "gaussian", "epsilon": 2.0},
        {"budget": "Budget(epsilon=2.0, delta=1e-05, family='gaussian', alpha=1.5)"},
    ),
    (
        "svt",
        {
            "dataset": "orthogonal",
            "true_rank": 3,
            "observed": 0.3,
            "rank": 5,
            "iterations": 20,
            "reg": 0.5,
        },
        {},
    ),
    ("trifactor", {"rank": 5, "reg": 0.5}, {"iterations": 20}),
    ("truncated-svd", {"rank": 9}, {}),
    ("user-item", {"seed": 9}, {}),
    (
        "nmf",
        {"dataset": "lfw", "rank": 9, "solver": "gradient"},
        {"rounds": 50, "outlier_penalty": None, "outlier_bound": 10.0, "inner": 1},
    ),
    (
        "robust-nmf",
        {"dataset": "yaleb", "contaminated": 0.1},
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
        "sklearn-nmf",
        {"dataset": "lee", "word_list": "documents", "min_documents": 5},
        {"rank": 16, "rounds": 50},
    ),
    (
        "private-nmf-published",
        {"dataset": "lfw", "rounds": 100, "mechanism": "gaussian", "epsilon": 0.5},
        {
            "rank": 16,
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
        "private-nmf",
        {
            "dataset": "lfw",
            "start": "random",
            "averaging": 0.5,
            "outlier_penalty": 0.4,
            "neighbours": "replace-one",
            "mechanism": "laplace",
            "epsilon": 3.0,
        },
        {
            "rank": 16,
            "rounds": 20,
            "inner": 10,
            "outlier_bound": 10.0,
            "budget": "Budget(epsilon=3.0, delta=1e-05, family='laplace', alpha=1.5)",
        },
    ),
    (
        "moment-nmf",
        {
            "dataset": "tdt2",
            "word_list": "documents",
            "term_share": 0.5,
            "rounds": 60,
            "mechanism": "huber",
            "epsilon": 3.0,
            "alpha": 1.3,
        },
        {
            "rank": 16,
            "budget": "Budget(epsilon=3.0, delta=1e-05, family='huber', alpha=1.3)",
            "neighbours": "add/remove-one",
        },
    ),
    (
        "moment-nmf",
        {"dataset": "cartoon", "data_seed": 4, "n_samples": 300, "rank": 6},
        {"rounds": 150, "budget": None, "neighbours": "add/remove-one"},
    ),
]


@pytest.mark.parametrize(("algorithm", "changes", "given"), PREPARED)
def test_a_spec_gives_its_solver_what_it_says(
    algorithm: str, changes: dict[str, Any], given: dict[str, Any]
) -> None:
    spec = RunSpec.of(changes, algorithm=algorithm)
    assert spec == RunSpec.from_json(spec.to_json())
    assert (spec.card.name, spec.dataset) == (algorithm, changes.get("dataset", "low-rank"))
    assert spec.task == ("factorize" if spec.card.factorize else changes.get("task", "rate"))
    assert spec.seed == changes.get("seed", 0)
    for name in changes.keys() & parameters(type(spec.data)).keys():
        assert getattr(spec.data, name) == changes[name], name
    config = spec.algorithm
    if spec.card.noise:
        config = spec.card.prepare(config, spec.noise, SimpleNamespace(low=1.0, high=5.0))
    own = {n: x for n, x in changes.items() if n in parameters(spec.card.config)}
    for name, value in (own | given).items():
        found = getattr(config, name)
        if found is not None and not isinstance(found, (int, float, str)):
            found = repr(found)
        assert found == (pytest.approx(value) if isinstance(value, float) else value), name


def test_every_algorithm_is_among_them() -> None:
    assert {algorithm for algorithm, _, _ in PREPARED} == set(ALGORITHMS)


@pytest.mark.parametrize("raw", [{}, {"rank": 9, "version": 1}, {"version": 3}])
def test_a_spec_of_another_form_is_refused(raw: dict[str, Any], terminal: Terminal) -> None:
    with pytest.raises(ParameterError, match=r"version .*must be 2, the form that"):
        RunSpec.from_dict(raw)
    terminal.refusal(f"complete --spec '{json.dumps(raw)}'")


# small runs of each task, of which an algorithm takes the settings that it has
SMALL: dict[str, dict[str, Any]] = {
    "rate": {"n_users": 60, "n_items": 40, "observed": 0.4, "rank": 5, "reg": 0.5, "iterations": 3},
    "recommend": {
        "task": "recommend",
        "dataset": "skewed",
        "n_users": 200,
        "n_items": 50,
        "n_ratings": 3000,
        "rank": 5,
        "reg": 0.5,
        "iterations": 3,
    },
    "factorize": {"dataset": "cartoon", "n_samples": 120, "rank": 5, "rounds": 4},
}
# what differs from these, and the RMSE, recall or objective that it gave
COMPUTED: list[tuple[str, str, dict[str, Any], float]] = [
    ("rate", "als", {"mechanism": "huber", "variance": 2.0}, 0.2627238396069145),
    ("rate", "irls", {"mechanism": "laplace", "epsilon": 2.0}, 0.3271564262788742),
    ("rate", "irls-2", {}, 0.1358888327575572),
    ("rate", "dpnmf", {"mechanism": "gaussian", "epsilon": 2.0}, 0.9371444892963134),
    ("rate", "svt", {}, 0.17748399617844815),
    ("rate", "trifactor", {}, 0.1972759301636864),
    (
        "rate",
        "dpals",
        {
            "items_per_user": 50,
            "item_share": 1.0,
            "sampling": "adaptive",
            "centring": "mean",
            "clip_norm": 1.0,
            "gram_ratio": 2.0,
        },
        0.2067372027863542,
    ),
    ("rate", "moments", {}, 0.15651538006837948),
    ("rate", "private-fw", {"nuclear": 1.0, "items_per_user": 50}, 0.31978582090495944),
    ("rate", "private-svd", {}, 0.18541492682671978),
    (
        "recommend",
        "dpals",
        {
            "items_per_user": 50,
            "item_share": 1.0,
            "sampling": "adaptive",
            "centring": "mean",
            "clip_norm": 1.0,
            "gram_ratio": 2.0,
        },
        0.6422222222222221,
    ),
    ("recommend", "moments", {}, 0.7277777777777777),
    ("factorize", "nmf", {}, 0.11979309675923415),
    ("factorize", "robust-nmf", {"contaminated": 0.1}, 0.12146791308203074),
    (
        "factorize",
        "private-nmf-published",
        {"mechanism": "gaussian", "epsilon": 0.5},
        0.15479744893959438,
    ),
    ("factorize", "moment-nmf", {"rounds": 150}, 0.11451624770520999),
    ("factorize", "private-nmf", {"dataset": "topics"}, 0.3264570246446065),
]


@pytest.mark.parametrize(("task", "algorithm", "more", "value"), COMPUTED)
def test_a_run_gives_the_numbers_that_it_gave(
    task: str, algorithm: str, more: dict[str, Any], value: float
) -> None:
    spec = RunSpec.fitting(SMALL[task], algorithm=algorithm, **more)
    assert spec.task == task
    figure = {"rate": "test_rmse", "recommend": "recall", "factorize": "objective"}[task]
    assert getattr(run(spec).final, figure) == pytest.approx(value, rel=1e-9)


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
    there_and_back(RunSpec.of(task="factorize", algorithm="robust-nmf", outlier_penalty=None))


def there_and_back(spec: RunSpec) -> None:
    assert RunSpec.from_json(spec.to_json()) == spec
    assert RunSpec.of(spec.flat()) == spec
    assert RunSpec.fitting(spec.flat()) == spec
    assert RunSpec.of(spec.changes()) == spec
    assert spec.replace() == spec
    assert spec.replace(**spec.flat()) == spec
    assert spec.flat().keys() <= known_names()
    assert hash(RunSpec.of(spec.flat())) == hash(spec)
    words = shlex.split(spec.command())[3:]
    tasks = ("factorize",) if spec.task == "factorize" else ("rate", "recommend")
    assert spec_of(_parser(words).parse_args(words), tasks, None) == spec


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
    *("min_documents", "max_share", "user_share"),
)


def takes(card: Algorithm, kind: type[Noise], mechanism: str) -> bool:
    """Whether an algorithm has this kind of noise; every one can do without."""
    return kind is NoNoise or (
        mechanism in card.mechanisms and any(issubclass(k, kind) for k in card.noise)
    )


# each by itself: a hundred specs drawn among all had no Laplace noise and two different variances
NOISES = [
    (kind, mechanism)
    for kind in KINDS.values()
    for mechanism in (("none",) if kind is NoNoise else RUN_FAMILIES)
]


@st.composite
def specs(draw: st.DrawFn, kind: type[Noise], mechanism: str) -> RunSpec:
    card = draw(st.sampled_from([c for c in CARDS if takes(c, kind, mechanism)]))
    task = draw(st.sampled_from(card.tasks))
    holds = ("images", "documents") if task == "factorize" else ("ratings",)
    dataset = draw(st.sampled_from(names(*holds)))
    flat = draw(filled(config_of(dataset))) | draw(filled(card.config))
    if kind is not NoNoise:
        flat["mechanism"] = mechanism
        amount = next(k for k in card.noise if issubclass(k, kind))
        usual = st.floats(0.1, 50)  # a variance that every mechanism can have
        flat[kind.amount()] = draw(usual | some(parameters(amount)[kind.field()]))
        flat["delta"] = draw(some(parameters(kind)["delta"]))
        if mechanism == "huber":
            flat["alpha"] = draw(some(parameters(kind)["alpha"]))
    flat["seed"] = draw(some(parameters(RunSpec)["seed"]))
    try:
        return RunSpec.of(flat, task=task, dataset=dataset, algorithm=card.name)
    except ParameterError as error:  # what no parameter alone can be blamed for
        if error.name not in BETWEEN:
            raise
        return RunSpec.of(task=card.tasks[0], algorithm=card.name)


@pytest.mark.parametrize(("kind", "mechanism"), NOISES)
@given(data=st.data())
def test_any_settings_go_there_and_back(
    kind: type[Noise], mechanism: str, data: st.DataObject
) -> None:
    there_and_back(data.draw(specs(kind, mechanism)))


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

from dpmc_core.completion.als import learn_als
from dpmc_core.completion.common.parameters import Rank
from dpmc_core.completion.common.population import in_memory
from dpmc_core.config import Config
from dpmc_core.privacy.algorithm import Algorithm


@dataclass(frozen=True, kw_only=True)
class ConstantConfig(Config):
    """Nothing much."""

    rank: Rank = 3


ALGORITHMS = (
    Algorithm(
        name="constant", title="Constant", summary="The mean.", source="a test",
        config=ConstantConfig, rate=in_memory(learn_als), learn=learn_als, steps=1,
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
    assert found[one_file].learn is not None  # which is all that partitions ask of it
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
    "line",
    [
        "complete private-means --dataset skewed --epsilon 1",
        "complete dpals --total-epsilon 1",
        "complete private-means --epsilon 1",
        """complete --spec '{"version": 2, "algorithm": {"name": "private-means"}, """
        """"noise": {"epsilon": 1.0}}'""",
        "factorize private-nmf --dataset cartoon --epsilon 5",
    ],
)
def test_an_amount_of_noise_without_a_mechanism_is_never_a_run_without_noise(
    line: str, terminal: Terminal
) -> None:
    assert "left out without noise; choose a mechanism" in terminal.refusal(line)


def test_a_spec_holds_nothing_that_it_does_not_name() -> None:
    """What is not named would be no part of the seed of the noise: two runs would share it."""
    data, card = config_of("skewed")(dataset="skewed"), ALGORITHMS["dpals"]
    with pytest.raises(ParameterError, match="whose settings are all parameters"):
        RunSpec(task="rate", data=data, algorithm=card.config(sigma_preparation=40.0))
    noise = RoundEpsilon(mechanism="gaussian", epsilon=1.0)
    with pytest.raises(ParameterError, match=r"nominal_epsilon = 1.0.*left out for"):
        RunSpec(task="rate", data=data, algorithm=ALGORITHMS["als"].config(), noise=noise)


def test_without_a_dataset_the_defaults_suit_the_small_set(terminal: Terminal) -> None:
    assert ": this run is better" in terminal.output("complete als")
    line = RunSpec.of(rank=32, reg=10.0).command()
    assert "--dataset low-rank" in line
    algorithm = terminal.json(f"{line} --iterations 1")["spec"]["algorithm"]
    assert (algorithm["rank"], algorithm["reg"]) == (32, 10.0)


@pytest.mark.parametrize("amount", [[], {"a": 1}, 3, None, "much"])
def test_an_amount_of_no_kind_is_one_sentence(amount: Any) -> None:
    with pytest.raises(ParameterError, match=r"amount (= |is missing)"):
        RunSpec.from_dict({"version": 2, "noise": {"amount": amount}})
