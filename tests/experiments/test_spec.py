"""Specs of any algorithm: there and back, in all forms, and what runs of them give."""

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
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.algorithms import ALGORITHMS, ON_PARTITIONS, _discover
from dpmc_core.experiments.spec import AMOUNTS, known_names
from dpmc_core.mechanisms import RUN_FAMILIES
from dpmc_core.privacy.algorithm import Algorithm
from dpmc_core.privacy.noise import KINDS, Noise, NoNoise, RoundEpsilon


def spec_of_line(line: str) -> RunSpec:
    """The run that a command means."""
    words = shlex.split(line.removeprefix("python -m dpmc_core "))
    tasks = ("factorize",) if words[0] == "factorize" else ("rate", "recommend")
    return spec_of(_parser(words).parse_args(words), tasks, None)


# a command, and what its solver is given
PREPARED = [
    (
        "complete als --dataset low-rank --rank 5 --reg 0.5 --mechanism huber --variance 2.0",
        "ALSConfig(rank=5, reg=0.5, iterations=20, sensitivity=5.0, noise_on='right', "
        "mechanism=Huber(alpha=1.0759779011734087, scale=1.0), noisy_iterations=None)",
    ),
    (  # the variance of the paper's usual α
        "complete als --dataset low-rank --rank 5 --reg 0.5 --mechanism huber --variance 1.0",
        "ALSConfig(rank=5, reg=0.5, iterations=20, sensitivity=5.0, noise_on='right', "
        "mechanism=Huber(alpha=3.0, scale=1.0), noisy_iterations=None)",
    ),
    (
        "complete als --dataset low-rank --rank 7 --reg 0.5 --noise-on output "
        "--noisy-iterations 5 --mechanism laplace --epsilon 2.0 --seed 3",
        "ALSConfig(rank=7, reg=0.5, iterations=20, sensitivity=5.0, noise_on='output', "
        "mechanism=Laplace(scale=2.5), noisy_iterations=5)",
    ),
    (
        "complete irls --dataset ml-100k --split u1 --rank 5 --reg 0.5 --inner 4 --loss-alpha "
        "0.9 --noise-on both --mechanism huber --variance 3.0 --alpha 1.2",
        "IRLSConfig(rank=5, reg=0.5, iterations=20, sensitivity=5.0, noise_on='both', "
        "mechanism=Huber(alpha=1.2, scale=1.3256812725068923), inner=4, loss_alpha=0.9)",
    ),
    (
        "complete irls-2 --dataset low-rank --rank 5 --reg 0.5 --sensitivity 4.0 --mechanism "
        "gaussian --epsilon 4.0 --delta 1e-06",
        "IRLS2Config(rank=5, reg=0.5, iterations=20, sensitivity=4.0, noise_on='right', "
        "mechanism=Gaussian(scale=4.774074348631941), loss_alpha=1.076)",
    ),
    (
        "complete dpnmf --dataset low-rank --rank 4 --reg 0.5 --mechanism laplace --epsilon 2.0",
        "DPNMFConfig(rank=4, reg=0.5, iterations=20, mechanism=Laplace(scale=24.0))",
    ),
    (
        "complete moments --dataset skewed --n-users 400 --rank 6 --mechanism gaussian "
        "--epsilon 5.0",
        "MomentsConfig(budget=Budget(epsilon=5.0, delta=1e-05, family='gaussian', alpha=1.5), "
        "rank=6, item_features='none')",
    ),
    (
        "complete moments --task recommend --dataset ml-1m --rank 5",
        "MomentsConfig(budget=None, rank=5, item_features='none')",
    ),
    (
        "complete dpals --dataset low-rank --reg 30.0 --items-per-user 50 --item-share 0.5 "
        "--projection off --start power --clip-norm 0.5 --value-clip 2.0 --gram-ratio 2.0 "
        "--mechanism huber --epsilon 5.0 --alpha 1.1",
        "DPALSConfig(budget=Budget(epsilon=5.0, delta=1e-05, family='huber', alpha=1.1), "
        "rank=8, reg=30.0, iterations=2, items_per_user=50, item_features='none', "
        "item_share=0.5, sampling='weights', projection='off', solve='perturbed', "
        "gradient_steps=2, learning_rate=1.0, start='power', start_rounds=2, "
        "centring='user', clip_norm=0.5, value_clip=2.0, weight_exponent=-0.5, orthonormal='off', "
        "user_sample='all', sigma_preparation=None, gram_ratio=2.0, item_exponent=0.5, "
        "user_exponent=1.0, global_penalty=0.0, implicit=False, private=True)",
    ),
    (
        "complete best-dpals --dataset low-rank --mean-runs 4.0 --mechanism gaussian --epsilon 5.0",
        "BestConfig(budget=Budget(epsilon=5.0, delta=1e-05, family='gaussian', alpha=1.5), "
        "rank=8, reg=25.0, iterations=2, items_per_user=100, item_features='none', "
        "item_share=None, sampling='weights', projection='inner', solve='perturbed', "
        "gradient_steps=2, learning_rate=1.0, start='random', start_rounds=2, "
        "centring='user', clip_norm=0.25, value_clip=None, weight_exponent=-0.5, "
        "orthonormal='off', user_sample='all', sigma_preparation=None, gram_ratio=6.0, "
        "item_exponent=0.5, user_exponent=1.0, global_penalty=0.0, implicit=False, private=True, "
        "mean_runs=4.0)",
    ),
    (
        "complete private-fw --dataset low-rank --top-items 40 --mechanism huber --sigma 12.0 "
        "--alpha 1.1",
        "FrankWolfeConfig(budget=GivenSigma(delta=1e-05, family='huber', alpha=1.1, sigma=12.0), "
        "iterations=1, nuclear=0.25, items_per_user=100)",
    ),
    (
        "complete private-means --dataset low-rank --mechanism gaussian --epsilon 1.0",
        "PrivateMeansConfig(budget=Budget(epsilon=1.0, delta=1e-05, family='gaussian', alpha=1.5))",
    ),
    (
        "complete popular --task recommend --dataset sweetrs --zeros rating --mechanism laplace"
        " --epsilon 3.0",
        "PopularConfig(budget=Budget(epsilon=3.0, delta=1e-05, family='laplace', alpha=1.5))",
    ),
    (
        "complete private-fw --dataset low-rank --iterations 6 --nuclear 0.3 --items-per-user "
        "40 --mechanism gaussian --epsilon 2.0",
        "FrankWolfeConfig(budget=Budget(epsilon=2.0, delta=1e-05, family='gaussian', alpha=1.5), "
        "iterations=6, nuclear=0.3, items_per_user=40)",
    ),
    (
        "complete private-sgld --dataset low-rank --rank 5 --rounds 7 --mechanism gaussian "
        "--epsilon 2.0",
        "SGLDConfig(budget=Budget(epsilon=2.0, delta=1e-05, family='gaussian', alpha=1.5), "
        "rank=5, reg=25.0, items_per_user=100, clip_norm=0.25, rounds=7, step_size=4.0)",
    ),
    (
        "complete private-svd --dataset low-rank --rank 5 --mechanism gaussian --epsilon 2.0",
        "PrivateSVDConfig(budget=Budget(epsilon=2.0, delta=1e-05, family='gaussian', alpha=1.5), "
        "rank=5)",
    ),
    (
        "complete svt --dataset orthogonal --true-rank 3 --observed 0.3 --rank 5 --iterations "
        "20 --reg 0.5",
        "SVTConfig(rank=5, iterations=20, reg=0.5)",
    ),
    (
        "complete trifactor --dataset low-rank --rank 5 --reg 0.5",
        "TrifactorConfig(rank=5, iterations=20, reg=0.5)",
    ),
    ("complete truncated-svd --dataset low-rank --rank 9", "TruncatedSVDConfig(rank=9)"),
    ("complete user-item --dataset low-rank --seed 9", "UserItemConfig()"),
    (
        "factorize nmf --dataset lfw --rank 9 --solver gradient",
        "NMFConfig(rank=9, rounds=50, inner=1, solver='gradient')",
    ),
    (
        "factorize robust-nmf --dataset yaleb --contaminated 0.1",
        "RobustConfig(rank=16, rounds=50, inner=3, solver='coordinates', outlier_penalty=0.5, "
        "outlier_bound=10.0)",
    ),
    (
        "factorize sklearn-nmf --dataset lee --word-list documents --min-documents 5",
        "SklearnConfig(rank=16, rounds=50)",
    ),
    (
        "factorize private-nmf-published --dataset lfw --rounds 100 --mechanism gaussian "
        "--epsilon 0.5",
        "PublishedConfig(rank=16, rounds=100, inner=5, dictionary_steps=1, "
        "dictionary_step=0.0001, dictionary_start='nndsvd', outlier_penalty=None, "
        "outlier_bound=10.0, epsilon=0.5, delta=1e-05)",
    ),
    (
        "factorize private-nmf --dataset lfw --start random --averaging 0.5 --outlier-penalty "
        "0.4 --neighbours replace-one --mechanism laplace --epsilon 3.0",
        "CorrectedNMFConfig(rank=16, rounds=20, inner=10, start='random', averaging=0.5, "
        "outlier_penalty=0.4, outlier_bound=10.0, neighbours='replace-one', "
        "sampling_rate=1.0, "
        "budget=Budget(epsilon=3.0, delta=1e-05, family='laplace', alpha=1.5))",
    ),
    (
        "factorize moment-nmf --dataset tdt2 --word-list documents --term-share 0.5 --rounds 60"
        " --mechanism huber --epsilon 3.0 --alpha 1.3",
        "MomentConfig(rank=16, rounds=60, neighbours='add/remove-one', refinements=0, "
        "budget=Budget(epsilon=3.0, delta=1e-05, family='huber', alpha=1.3))",
    ),
    (
        "factorize moment-nmf --dataset cartoon --data-seed 4 --n-samples 300 --rank 6",
        "MomentConfig(rank=6, rounds=150, neighbours='add/remove-one', refinements=0, budget=None)",
    ),
]


@pytest.mark.parametrize(("line", "solver"), PREPARED)
def test_a_command_gives_its_solver_what_it_says(line: str, solver: str) -> None:
    spec = spec_of_line(line)
    there_and_back(spec)
    command, algorithm, *flags = line.replace("_", "-").split()
    stated = dict(zip(flags[::2], flags[1::2], strict=True))
    usual = {"--task": "rate" if command == "complete" else "factorize", "--seed": "0"}
    values = {"task": spec.task, **spec.flat()}
    assert values["algorithm"] == algorithm
    for flag, text in (usual | stated).items():
        assert str(values[flag[2:].replace("-", "_")]) == text, flag
    config = spec.algorithm
    if spec.card.noise:
        config = spec.card.prepare(config, spec.noise, SimpleNamespace(low=1.0, high=5.0))
    assert repr(config) == solver
    assert {line.split()[1] for line, _ in PREPARED} == set(ALGORITHMS)


RATE = "--dataset low-rank --n-users 60 --n-items 40 --observed 0.4"
STEPS = "--rank 5 --reg 0.5 --iterations 3"
LIKES = "--task recommend --dataset skewed --n-users 200 --n-items 50 --n-ratings 3000"
TUNED = f"{STEPS} --items-per-user 50 --item-share 1 --sampling adaptive --centring mean"
SAMPLES = "--n-samples 120 --rank 5"
# small runs of each task, and the RMSE, recall or objective that they gave
COMPUTED = [
    (f"complete als {RATE} {STEPS} --mechanism huber --variance 2", 0.2627238396069145),
    (f"complete irls {RATE} {STEPS} --mechanism laplace --epsilon 2", 0.3271564262788742),
    (f"complete irls-2 {RATE} {STEPS}", 0.1358888327575572),
    (f"complete dpnmf {RATE} {STEPS} --mechanism gaussian --epsilon 2", 0.9371444892963134),
    (f"complete svt {RATE} {STEPS}", 0.17748399617844815),
    (f"complete trifactor {RATE} {STEPS}", 0.1972759301636864),
    (f"complete dpals {RATE} {TUNED} --clip-norm 1 --gram-ratio 2", 0.2067372027863542),
    (f"complete moments {RATE} --rank 5", 0.15651538006837948),
    (
        f"complete private-fw {RATE} --iterations 3 --nuclear 1 --items-per-user 50",
        0.31978582090495944,
    ),
    (f"complete private-svd {RATE} --rank 5", 0.18541492682671978),
    (f"complete dpals {LIKES} {TUNED} --clip-norm 1 --gram-ratio 2", 0.6422222222222221),
    (f"complete moments {LIKES} --rank 5", 0.7277777777777777),
    (f"complete dpals {LIKES} {TUNED} --mechanism laplace --epsilon 5", 0.5311111111111111),
    (f"complete moments {LIKES} --rank 5 --mechanism laplace --epsilon 5", 0.5388888888888889),
    (f"complete popular {LIKES} --mechanism laplace --epsilon 5", 0.6444444444444444),
    (f"factorize nmf --dataset cartoon {SAMPLES} --rounds 4", 0.11979309675923415),
    (
        f"factorize robust-nmf --dataset cartoon {SAMPLES} --rounds 4 --contaminated 0.1",
        0.12146791308203074,
    ),
    (
        f"factorize private-nmf-published --dataset cartoon {SAMPLES} --rounds 4 "
        "--mechanism gaussian --epsilon 0.5",
        0.15479744893959438,
    ),
    (f"factorize moment-nmf --dataset cartoon {SAMPLES}", 0.11451624770520999),
    (
        f"factorize moment-nmf --dataset cartoon {SAMPLES} --mechanism gaussian --epsilon 5",
        0.18272738140701225,
    ),
    (f"factorize private-nmf --dataset topics {SAMPLES} --rounds 4", 0.3264570246446065),
]


@pytest.mark.parametrize(("line", "value"), COMPUTED)
def test_a_run_gives_the_numbers_that_it_gave_by_the_lines_that_it_shows(
    line: str, value: float, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    exec(spec_of_line(line).python(), names)
    figure, *label = capsys.readouterr().out.split()
    assert float(figure) == pytest.approx(value, rel=1e-9)
    result = names["result"]
    assert " ".join(label) == result.statement.label
    steps = [metrics.iteration for metrics in result.metrics]
    assert steps == [*range(1, len(steps) + 1)]


# every algorithm

CARDS = list(ALGORITHMS.values())


def there_and_back(spec: RunSpec) -> None:
    assert RunSpec.from_json(spec.to_json()) == spec
    assert RunSpec.of(spec.flat()) == spec
    assert RunSpec.fitting(spec.flat()) == spec
    assert RunSpec.of(spec.changes()) == spec
    assert spec.replace() == spec
    assert spec.replace(**spec.flat()) == spec
    assert spec.flat().keys() <= known_names()
    assert hash(RunSpec.of(spec.flat())) == hash(spec)
    assert spec_of_line(spec.command()) == spec


def some(parameter: Parameter) -> st.SearchStrategy[Any]:
    rule = parameter.rule
    if isinstance(rule, Choice):
        values: st.SearchStrategy[Any] = st.sampled_from(rule.names)
    elif rule.integer:
        values = st.integers(int(rule.low), int(min(rule.high, 2**63)))
    else:
        values = st.floats(
            rule.low,
            min(rule.high, 1e200),
            exclude_min=rule.open_low,
            exclude_max=rule.open_high,
            allow_nan=False,
        )
    return st.none() | values if parameter.optional else values


def filled(kind: type) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={n: some(p) for n, p in parameters(kind).items()})


# what no parameter's own range tells
BETWEEN = (
    *("algorithm", "outlier_penalty", "rank", "n_ratings", "split", "variance"),
    *("min_documents", "max_share", "user_share", "global_penalty", "sampling_rate"),
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
PARAMETERS = {n for card in CARDS for n in parameters(card.config)}
PARAMETERS |= {"mechanism", *AMOUNTS, "alpha", "delta"}
LARGE = [("large", card) for card in CARDS if card.name in sum(ON_PARTITIONS.values(), ())]


@pytest.mark.parametrize(
    ("command", "card"), ON_THEIR_OWN + LARGE, ids=lambda one: getattr(one, "name", one)
)
def test_the_flags_of_an_algorithm_are_its_parameters(
    command: str, card: Algorithm, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, card.name, "--help"])
    flags = {
        f.replace("-", "_") for f in re.findall(r"^  --([a-z0-9-]+)", capsys.readouterr().out, re.M)
    }
    amounts = {kind.amount() for kind in card.noise}
    shared = {"mechanism", "epsilon", "alpha", "delta"} if amounts else set()
    assert flags & PARAMETERS == {*parameters(card.config), *amounts, *shared}


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
    cards = _discover()
    assert [*cards] == [*ALGORITHMS, one_file]  # after those that have a place in the order
    assert cards[one_file].tasks == ("rate",)
    assert cards[one_file].learn is not None  # which is all that partitions ask of it
    assert cards[one_file].config().rank == 3
    assert one_file not in _discover.__globals__["ALGORITHMS"]


def test_a_flat_name_has_one_meaning() -> None:
    groups = (
        {n for name in names() for n in parameters(config_of(name))},
        {n for kind in KINDS.values() for n in parameters(kind)}
        | {"mechanism", "nominal_epsilon", "total_epsilon"},
        {"task", "dataset", "algorithm", "seed"},
        {n for card in CARDS for n in parameters(card.config)},
    )
    assert len(set().union(*groups)) == sum(map(len, groups))
    assert len({card.config for card in CARDS}) == len(CARDS)  # by which a spec finds its card


def test_a_spec_holds_nothing_that_it_does_not_name() -> None:
    """What is not named would be no part of the seed of the noise: two runs would share it."""
    data, card = config_of("skewed")(dataset="skewed"), ALGORITHMS["dpals"]
    with pytest.raises(ParameterError, match="whose settings are all parameters"):
        RunSpec(task="rate", data=data, algorithm=card.config(implicit=True))
    noise = RoundEpsilon(mechanism="gaussian", epsilon=1.0)
    with pytest.raises(ParameterError, match=r"nominal_epsilon = 1.0.*left out for"):
        RunSpec(task="rate", data=data, algorithm=ALGORITHMS["als"].config(), noise=noise)
