"""One path from a RunSpec to a result.

Names, numbers, text forms, noise, measures, the command line.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.decomposition import NMF

from dpmc_core.datasets.data import samples_of
from dpmc_core.errors import ParameterError
from dpmc_core.experiments import RunSpec, run, steps
from dpmc_core.experiments.algorithms import of_task
from dpmc_core.experiments.tasks.factorize import reference
from dpmc_core.factorization.public_images import parts_without_data
from tests.terminal import Terminal

FACTORIZERS = of_task("factorize")
SMALL = {"dataset": "cartoon", "n_samples": 150, "rank": 6}


@pytest.mark.parametrize("algorithm", FACTORIZERS)
def test_every_algorithm_runs_by_its_name(algorithm: str) -> None:
    card = FACTORIZERS[algorithm]
    noise = {"mechanism": "gaussian", "epsilon": 5.0} if card.noise else {}
    spec = RunSpec.of(**SMALL, algorithm=algorithm, **noise)
    *partial, final = steps(spec)
    assert final.finished
    assert not any(r.finished for r in partial)
    assert len(partial) <= 40
    assert final.final.iteration in (spec.length, spec.algorithm.rounds)
    assert final.baseline > final.reference > 0
    assert final.statement.private == bool(noise)
    assert final.statement.nominal == bool(card.noise and not card.guarantee)
    if card.guarantee:
        assert final.statement.epsilon <= 5.0 + 1e-6
    if final.statement.nominal:
        assert 0 < final.final.moved < 1
    json.dumps(final.summary())
    np.testing.assert_array_equal(run(spec).dictionary, final.dictionary)


def test_unit_maximum_is_kept_by_corruption_and_judged_as_it_is() -> None:
    noise = {"mechanism": "gaussian", "epsilon": 5.0, "normalisation": "maximum"}
    spec = RunSpec.of(**SMALL, algorithm="moment-nmf", contaminated=0.2, **noise)
    given, result = samples_of(spec.data), run(spec)
    clean = np.asarray(result.clean.values)
    np.testing.assert_allclose(clean.max(axis=0), clean.shape[0] ** -0.5)
    whole, same = (np.delete(values, given.spoiled, axis=1) for values in (given.values, clean))
    np.testing.assert_array_equal(whole, same)
    mean = clean.mean(axis=1) / np.linalg.norm(clean.mean(axis=1))
    errors = ((clean - np.outer(mean, mean @ clean)) ** 2).sum(axis=0) / 2
    assert result.baselines["average column"] == pytest.approx(errors.mean())
    assert result.statement.epsilon == pytest.approx(5.0, rel=1e-5)
    assert not result.statement.nominal
    assert result.reference < 0.9 * reference(spec.replace(normalisation="length").data, 6)
    assert samples_of(RunSpec.of(dataset="topics", normalisation="maximum").data).at_maximum


def test_another_algorithm_has_its_own_usual_number_of_rounds() -> None:
    spec = RunSpec.of(dataset="lee", algorithm="moment-nmf", rank=9)
    for changes, rounds in ({}, 20), ({"rounds": 3}, 3):
        assert spec.replace(algorithm="private-nmf", **changes).algorithm.rounds == rounds
    assert spec.replace(rank=4).algorithm.rounds == spec.algorithm.rounds


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"dataset": "ml-100k", "algorithm": "nmf"},
            "dataset = 'ml-100k' is not allowed: it must be one of lfw",
        ),
        ({"dataset": "lfw", "algorithm": "als"}, "one of low-rank"),
        ({"rank": 101}, "rank = 101 is not allowed: it must be at most 100"),
        ({"mechanism": "gaussian"}, "none for NMF"),
        ({"algorithm": "private-nmf-published", "mechanism": "laplace"}, "none or gaussian"),
        ({"epsilon": 1.0}, "left out without noise"),
        (
            {"algorithm": "moment-nmf", "mechanism": "gaussian", "alpha": 1.0},
            "left out for gaussian noise, which has no alpha",
        ),
        ({"dataset": "lee", "contaminated": 0.1}, "contaminated = 0.1.*have no contaminated"),
        ({"dataset": "lee", "algorithm": "robust-nmf"}, "another for text"),
        (
            {"dataset": "lee", "algorithm": "private-nmf", "outlier_penalty": 0.5},
            "left out for text",
        ),
        ({"task": "factorize", "dataset": "low-rank"}, "one of lfw"),
        ({"dataset": "lfw", "task": "rate"}, "one of als"),
        (
            {"outlier_penalty": 0.5},
            "outlier_penalty = 0.5.*left out for NMF on .*have no outlier_penalty",
        ),
        (
            {"algorithm": "moment-nmf", "neighbours": "friends"},
            "one of replace-one, add/remove-one",
        ),
        ({"dataset": "lee", "stop_words": "some"}, "left-out, kept"),
    ],
)
def test_bad_values_get_one_sentence(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        RunSpec.of(({} if "dataset" in fields else {"dataset": "lfw"}) | fields)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_objective_reference_and_baseline_are_what_they_say() -> None:
    result = run(RunSpec.of(**SMALL, rounds=30))
    values = np.asarray(result.clean.values)

    def loss(fitted: np.ndarray) -> float:
        return float(np.sum((values - fitted) ** 2) / (2 * 150))

    objective = result.final.objective
    assert objective == pytest.approx(loss(result.dictionary @ result.coefficients), rel=1e-9)
    mean = values.mean(axis=1, keepdims=True)
    average = loss(mean @ ((mean.T @ values) / (mean.T @ mean)))
    parts = parts_without_data(result.clean.shape, 6)
    public = sum(nnls(parts, column)[1] ** 2 for column in values.T) / 300
    assert result.baselines == {
        "average column": pytest.approx(average, rel=1e-9),
        "parts made without data": pytest.approx(public, rel=1e-3),
    }
    assert result.baseline == min(result.baselines.values())
    other = NMF(6, init="nndsvd", max_iter=50, tol=0, random_state=0)
    error = loss(other.fit_transform(values) @ other.components_)
    assert error * 0.98 <= result.reference <= error + 1e-9
    against = result.against_baseline
    assert against.mean == pytest.approx(objective - result.baseline, abs=1e-9)
    assert 0 < against.half_width < abs(against.mean)
    share = (result.baseline - objective) / (result.baseline - result.reference)
    assert result.way == pytest.approx(share)


def test_errors_are_taken_on_clean_images() -> None:
    result = run(RunSpec.of(**SMALL, algorithm="robust-nmf", contaminated=0.2))
    assert (result.samples.spoiled.size, result.clean.spoiled.size) == (30, 0)
    assert result.outliers.shape == (576, result.shown.size)
    assert set(result.shown[:12]) <= set(result.samples.spoiled)
    np.testing.assert_allclose(np.linalg.norm(np.asarray(result.clean.values), axis=0), 1)


def test_text_has_coherence_and_its_topics() -> None:
    result = run(RunSpec.of(dataset="topics", n_samples=400, rank=12))
    assert result.final.found == 1.0
    assert result.coherence.shape == (12,)
    assert result.summary()["coherence"]["npmi"] > 0.4
    assert run(RunSpec.of(**SMALL)).coherence is None


def test_the_command_line(terminal: Terminal) -> None:
    noise = "--mechanism gaussian --epsilon 20"
    out = terminal.json(f"factorize moment-nmf --dataset topics --n-samples 300 {noise} --rank 6")
    spec = RunSpec.from_dict(out["spec"])
    assert run(spec).final.objective == pytest.approx(out["objective"])
    shown = terminal.output(spec.command())
    assert [text for text in ("NPMI coherence", "average column") if text not in shown] == []
    quiet = f"factorize nmf --spec '{spec.to_json()}' --mechanism none"
    assert terminal.json(quiet)["statement"]["unit"] == "none"
    assert "epsilon" in terminal.refusal(f"{quiet} --epsilon 2")
    published = "factorize private-nmf-published --dataset cartoon --n-samples 60 --rank 3"
    assert "% from its start" in terminal.output(f"{published} --mechanism gaussian")


@pytest.mark.nightly
@pytest.mark.data
def test_as_published_on_cbcl(samples_dir: Path) -> None:
    """The printed equations: a falling curve, and a small gap to the same run without noise, which
    is smaller for a larger ε (the paper's figure 5).
    """
    base = RunSpec.of(dataset="cbcl", algorithm="private-nmf-published", rank=50)
    specs = [base, *(base.replace(mechanism="gaussian", epsilon=e) for e in (0.5, 0.9))]
    for spec, end in zip(specs, (0.01323, 0.01378, 0.01347), strict=True):
        result = run(spec)
        assert result.final.objective == pytest.approx(end, abs=1e-4)
        assert np.all(np.diff([m.objective for m in result.metrics]) < 0)
        assert 0.04 < result.final.moved < 0.09


@pytest.mark.nightly
@pytest.mark.data
@pytest.mark.parametrize(
    ("epsilon", "most"), [(1.0, 0.0090), (5.0, 0.0060), (10.0, 0.0053), (50.0, 0.0049)]
)
def test_moment_nmf_on_cbcl(samples_dir: Path, epsilon: float, most: float) -> None:
    spec = RunSpec.of(
        dataset="cbcl", algorithm="moment-nmf", mechanism="gaussian", epsilon=epsilon, rank=50
    )
    result = run(spec)
    assert result.final.objective < most
    assert result.statement.epsilon <= epsilon + 1e-9
    assert (result.statement.unit, result.statement.neighbours) == ("image", "add/remove-one")
