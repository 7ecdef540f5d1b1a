"""Audits end to end: honest claims stand, broken ones fall, and the datasets are what the page
says.
"""

import json
import math
import re
import shlex
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

from dpmc_core.cli.common.main import main
from dpmc_core.completion import moments
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.errors import ParameterError
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.tasks import audit_canaries
from dpmc_core.experiments.tasks.audit import audit, audit_steps
from dpmc_core.experiments.tasks.audit_canaries import OneRun
from dpmc_core.experiments.tasks.audit_spec import ONE_RUN_TARGETS, VIEWS, AuditSpec
from dpmc_core.experiments.tasks.audit_targets import ALICE, FILM, neighbours, outputs, pictures
from dpmc_core.experiments.tasks.solve import noise_source
from dpmc_core.mechanisms import Laplace
from dpmc_core.privacy import budget
from dpmc_core.privacy.budget import Journal
from tests.terminal import Terminal

MECHANISMS = ("huber", "laplace", "gaussian", "staircase")
each_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS)


@pytest.mark.nightly
@each_mechanism
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0])
def test_an_honest_claim_is_never_beaten(mechanism: str, epsilon: float) -> None:
    """Each bound is wrong with probability at most 0.001.

    20 cases × 5 fixed seeds: 10 % that one of 100 would be.
    """
    for seed in range(5):
        result = audit(AuditSpec(mechanism=mechanism, epsilon=epsilon, runs=100_000, seed=seed))
        assert result.statement.nominal is False
        assert 0 <= result.attack.bound.epsilon <= epsilon, seed
        assert "wrong" not in result.verdict


# Gaussian noise spends its ε in rare outputs, so a small broken ε takes more of them to show: with
# μ′ = 2μ the log-ratio
# of a tail of mass p is about μ′·hazard; seven standard errors of it above ε = 0.1 need about 4
# million outputs
RUNS = {
    ("gaussian", 0.1): 4_000_000,
    ("gaussian", 0.5): 400_000,
    ("laplace", 0.1): 200_000,
    ("staircase", 0.1): 200_000,
    ("huber", 0.1): 400_000,
}


@each_mechanism
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 4.0])
@pytest.mark.parametrize("case", ["half-noise", "unclipped"])
def test_a_broken_mechanism_is_caught(mechanism: str, epsilon: float, case: str) -> None:
    runs = RUNS.get((mechanism, epsilon), 100_000)
    result = audit(AuditSpec(mechanism=mechanism, epsilon=epsilon, case=case, runs=runs))
    assert result.beaten == {"claimed": True}
    assert not result.statement.nominal  # the rule below, on what calls itself sound and is not
    assert result.attack.bound.epsilon > epsilon
    assert "is wrong" in result.verdict


@pytest.mark.parametrize("mechanism", ["laplace", "huber"])
def test_last_bits_give_naive_noise_away_and_grid_noise_not(mechanism: str) -> None:
    naive = audit(AuditSpec(mechanism=mechanism, case="low-bits", runs=20_000))
    assert naive.attack.bound.epsilon > 5
    assert naive.attack.bound.hits_unlikely == 0  # never with Alice: certainty, not luck
    grid, again = (
        audit(AuditSpec(mechanism=mechanism, case="on-grid", runs=2_000)) for _ in range(2)
    )
    assert not any(grid.beaten.values())
    assert again.attack.bound == grid.attack.bound


GUARANTEED = [
    name
    for name, algorithm in ALGORITHMS.items()
    if algorithm.unit == "user" and algorithm.rate is not None
]


def attacked(target: str, epsilon: float, **more: Any) -> Any:
    """An audit of an algorithm with Gaussian noise, unless ``more`` says otherwise."""
    usual = {"mechanism": "gaussian", "iterations": 2}
    return audit(AuditSpec(**{**usual, "target": target, "epsilon": epsilon, **more}))


LESS = [view for view in VIEWS if view not in ("matrix", "parts")]


@pytest.mark.nightly
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize(
    ("algorithm", "unit", "more"),
    [
        *((name, "user", {"runs": 200}) for name in GUARANTEED),
        *(
            (name, "image", {"mechanism": mechanism, "iterations": 3, "runs": 400})
            for name in ("private-nmf", "moment-nmf")
            for mechanism in ("gaussian", "laplace")
        ),
    ],
)
def test_no_sound_statement_is_beaten(
    algorithm: str, unit: str, more: dict[str, Any], epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every algorithm that claims to protect users or images, on data with and without Alice, the
    attacker seeing the parts, or the factors of all other users and of all items, and fewer things
    at the smaller ε.
    """
    # so small a table gets no second stage: attack it as well
    monkeypatch.setattr(moments, "WORTH_IT", 0.0)
    for view in ["parts"] if unit == "image" else LESS if epsilon < 1 else ["factors"]:
        result = attacked(algorithm, epsilon, view=view, **more)
        assert not result.statement.nominal
        assert result.claims == {"claimed": result.statement.epsilon}
        assert result.statement.epsilon <= epsilon
        assert result.statement.unit == result.spec.neighbours == unit
        assert not any(result.beaten.values()), (view, result.verdict)


@pytest.fixture
def too_little_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ten-thousandth of the noise that the ledger says: on a dozen people an honest plan's noise
    is so large that a hundredth of it still hides somebody in DPALS.
    """
    honest = budget.Curator.release

    def weak(curator: budget.Curator, name: str, exact: Any, **how: bool) -> np.ndarray:
        exact = exact() if callable(exact) else exact
        return exact + (honest(curator, name, exact, **how) - exact) / 10_000

    monkeypatch.setattr(budget.Curator, "release", weak)
    # twelve pictures are so few that moment NMF smooths all of them away, going by the noise that
    # was planned
    monkeypatch.setattr("dpmc_core.factorization.moments._smooth", lambda mean, shape, std: mean)


@pytest.mark.usefixtures("too_little_noise")
@pytest.mark.parametrize(
    ("algorithm", "more"),
    [
        *(
            pytest.param(name, {"runs": 400, "view": "others"}, marks=pytest.mark.nightly)
            for name in ("dpals", "private-fw", "moments")
        ),
        ("private-nmf", {"runs": 200}),
        ("moment-nmf", {"runs": 200}),
    ],
)
def test_the_same_attack_catches_too_little_noise(algorithm: str, more: dict[str, Any]) -> None:
    """The claim falls: the tests of what is sound could have failed."""
    result = attacked(algorithm, 0.5, **more)
    assert result.beaten == {"claimed": True}
    assert "is wrong" in result.verdict


@pytest.mark.parametrize("epsilon", [0.5, pytest.param(2.0, marks=pytest.mark.nightly)])
def test_the_published_factorisation_gives_one_picture_away(epsilon: float) -> None:
    """W starts from the raw data, so an image in or out shows at once, beyond what is claimed."""
    result = attacked("private-nmf-published", epsilon, iterations=5, runs=700)
    assert (result.spec.neighbours, result.spec.view) == ("image", "parts")
    assert result.attack.bound.accuracy == 1.0
    assert result.attack.bound.epsilon > 3
    whole = {"nominal, one release": True, "nominal, all releases": epsilon < 1}
    assert result.beaten == whole
    assert "is wrong" in result.verdict


@pytest.mark.nightly
def test_als_beats_its_nominal_count() -> None:
    """Two iterations at nominal ε = 1 each.

    The completed matrix gives one rating away beyond the composed ε = 2.
    """
    result = audit(AuditSpec(target="als", iterations=2, runs=1000))
    assert result.beaten == {"nominal, one release": True, "nominal, all releases": True}
    assert result.statement.draws == 2
    assert result.claims["nominal, all releases"] == pytest.approx(2.0, abs=0.01)
    assert "is wrong" in result.verdict
    user = audit(AuditSpec(target="als", iterations=1, runs=300, neighbours="user"))
    assert user.beaten == {"nominal, one release": True}
    assert user.about_another_unit
    assert "nothing at all is promised about a whole user" in user.verdict


def test_the_neighbours_differ_in_alice_only() -> None:
    first, second = neighbours("rating")
    assert np.array_equal([first.users, first.items], [second.users, second.items])
    (k,) = np.flatnonzero(first.values != second.values)
    assert (first.users[k], first.items[k]) == (ALICE, FILM)
    assert (first.values[k], second.values[k]) == (5, 1)
    first, second = neighbours("user")
    mine = first.users == ALICE
    assert mine.sum() == first.n_items
    for name in ("users", "items", "values"):
        assert np.array_equal(getattr(first, name)[~mine], getattr(second, name))
    inside, outside = (samples.values for samples in pictures())
    assert set(np.nonzero(inside != outside)[1]) == {ALICE}
    assert not outside[:, ALICE].any()


def test_what_the_attacker_sees() -> None:
    """Of twelve people and eight films, or of a count of 42, with fresh noise each time."""
    seed = np.random.SeedSequence(1)
    for view, length in (("matrix", 96), ("others", 88), ("items", 36)):
        rows = outputs(AuditSpec(target="als", view=view, runs=100), True, 5, seed)
        assert np.unique(rows, axis=0).shape == (5, length)
    numbers = outputs(AuditSpec(), True, 50_000, seed)
    assert numbers.mean() == pytest.approx(42, abs=5 * Laplace(scale=1.0).std / math.sqrt(50_000))


@pytest.mark.parametrize("spec", [AuditSpec(runs=1000), AuditSpec(target="als", runs=100)], ids=str)
def test_an_audit_is_repeatable_and_grows_in_tenths(spec: AuditSpec) -> None:
    states = list(audit_steps(spec))
    assert [r.finished for r in states] == [False] * (len(states) - 1) + [True]
    assert audit(spec).attack.bound == states[-1].attack.bound
    assert audit(spec.replace(seed=1)).attack.bound != states[-1].attack.bound
    assert json.loads(json.dumps(states[-1].summary()))["runs"] == spec.runs
    if spec.target == "number":
        assert [r.runs for r in states] == list(range(100, 1001, 100))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "JSON object"),
        ("[]", "JSON object"),
        ('{"colour": 1}', "one of alpha"),
        ('{"epsilon": 0}', "epsilon = 0"),
        ('{"case": "bad"}', "case = 'bad'"),
        ('{"target": "als", "case": "unclipped", "runs": 500}', "as-claimed for als"),
        ('{"mechanism": "gaussian", "case": "low-bits"}', "huber or laplace"),
        (
            '{"mechanism": "staircase", "target": "als"}',
            "huber, laplace or gaussian for algorithms",
        ),
        ('{"target": "als", "runs": 20000}', "a whole number from 100 to 10,000"),
        ('{"runs": 3}', "runs = 3"),
        ('{"case": "on-grid", "runs": 30000}', "a whole number from 100 to 20,000"),
        (
            '{"target": "irls", "iterations": 400, "inner": 50}',
            "at most 200 solves, with 1,000 runs",
        ),
        ('{"target": "als", "iterations": 500, "runs": 10000}', "at most 20 solves"),
        ('{"confidence": 1}', "confidence = 1"),
        ('{"delta": 0}', "delta = 0"),
        ('{"case": ["a"]}', "case = "),
        # what a claim about users covers
        ('{"target": "dpals", "view": "matrix"}', "joint privacy does not hide from Alice"),
        ('{"target": "dpals", "neighbours": "rating"}', "user for dpals"),
        ('{"target": "svt"}', "target = 'svt'"),
        # factorisations are audited on pictures only
        (
            '{"target": "private-nmf", "mechanism": "gaussian", "neighbours": "user"}',
            "image for this target",
        ),
        ('{"target": "als", "mechanism": "gaussian", "neighbours": "image"}', "about ratings"),
        (
            '{"target": "moment-nmf", "mechanism": "gaussian", "view": "items"}',
            "parts for this target",
        ),
        ('{"target": "private-nmf-published", "mechanism": "laplace"}', "none or gaussian"),
        ('{"target": "nmf", "mechanism": "gaussian"}', "target = 'nmf'"),
        # what a single run is of
        ('{"canaries": 5}', "target = 'number' .* for an audit from one run"),
        ('{"target": "als", "canaries": 5}', "target = 'als' .* for an audit from one run"),
        ('{"target": "moments", "canaries": -1}', "a whole number from 0 to 5,?000"),
        ('{"target": "moments", "canaries": 5, "runs": 200}', "left out with canaries"),
        ('{"target": "moments", "canaries": 5, "view": "items"}', "of which all releases are seen"),
        ('{"target": "moments", "canaries": 5, "case": "secret"}', "as-claimed or half-noise"),
        (
            '{"target": "moments", "canaries": 5, "dataset": "ml-1m", "record": "1"}',
            "left out .* with canaries",
        ),
    ],
)
def test_what_cannot_be_audited_is_refused(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        AuditSpec.from_json(text)


@pytest.mark.parametrize("target", ["moments", "private-nmf"])
def test_more_canaries_than_there_is_room_for_are_refused(target: str) -> None:
    with pytest.raises(ParameterError, match=r"canaries = 900 .* fewer, since each needs"):
        audit(AuditSpec(target=target, mechanism="gaussian", canaries=900))


@pytest.mark.parametrize("target", ONE_RUN_TARGETS)
def test_the_audited_run_is_an_ordinary_one(target: str) -> None:
    """Canaries' parts are found with the noise of the run, which goes on as if nobody looked."""
    spec = AuditSpec(target=target, mechanism="gaussian", epsilon=2, canaries=12, iterations=2)
    run, named = OneRun(spec), spec.run_spec(spec.seed)
    *_, watched = run.steps()
    config = named.card.prepare(named.algorithm, named.noise, run._data)
    *_, plain = named.card.learn(run._data, config, noise_source(named), Journal())
    assert watched.iteration == plain.iteration == spec.amount
    assert watched.releases == plain.releases
    ours, theirs = (vars(getattr(step, "learned", step)) for step in (watched, plain))
    arrays = [name for name, part in ours.items() if isinstance(part, np.ndarray)]
    assert arrays
    for name in arrays:
        assert np.allclose(ours[name], theirs[name], rtol=1e-9, atol=1e-12), name
    assert np.isfinite(run.scores).all()
    assert run.scores.any()


@pytest.fixture
def many_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few users, some popular items, and room for a thousand canaries."""
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((400, 1300)) < np.where(np.arange(1300) < 230, 0.7, 0.005))
    values = rng.integers(1, 6, len(users)).astype(float)
    ratings = Ratings.checked(users, items, values, n_users=400, n_items=1300, low=1, high=5)
    monkeypatch.setattr(audit_canaries, "ratings_of", lambda data: ratings)


@pytest.mark.long
@pytest.mark.usefixtures("many_items")
def test_one_run_finds_half_the_noise_and_scores_are_log_odds() -> None:
    honest, broken = (
        attacked("private-means", 4, canaries=1000, confidence=0.8, case=case)
        for case in ("as-claimed", "half-noise")
    )
    assert (honest.beaten, broken.beaten) == ({"claimed": False}, {"claimed": True})
    assert honest.verdict.endswith("The claim may be true.")
    assert broken.verdict.endswith("The claimed ε = 4 is wrong.")
    # each is right as often as it says, within five standard deviations
    surely = special.expit(np.abs(honest.scores))
    right = np.count_nonzero((honest.scores > 0) == honest.inside)
    assert abs(right - surely.sum()) < 5 * math.sqrt(np.sum(surely * (1 - surely)))
    for proof in honest.proofs:
        assert 0.6 * proof.possible < proof.epsilon < 1.4 * proof.possible < 4


@pytest.mark.data
@pytest.mark.nightly
def test_movielens_is_audited_in_a_minute() -> None:
    started = time.process_time()
    named = {"epsilon": 5, "dataset": "ml-1m", "canaries": 1800, "confidence": 0.95}
    honest = attacked("moments", **named)
    assert time.process_time() - started < 60
    assert 2.5 <= honest.epsilon_if_gaussian < 5
    assert attacked("moments", **named, case="half-noise").beaten == {"claimed": True}


def test_the_account_command(terminal: Terminal, tmp_path: Path) -> None:
    result = terminal.json("account huber --alpha 1.5 --l1 0.5 --count 100 --target-epsilon 1")
    answers = {a["method"]: a["epsilon"] for a in result["statement"]["accounts"]}
    assert answers["pure"] == pytest.approx(75.0)
    assert 0.999 < result["least_noise"]["epsilon"] <= 1 < result["least_noise"]["factor"]
    path = tmp_path / "book.json"
    path.write_text(json.dumps(result["ledger"]))
    again = terminal.json(f"account --ledger {path}")
    assert again["statement"]["accounts"] == result["statement"]["accounts"]
    shown = terminal.output("account gaussian --variance 4 --l2 1 --coordinates 9")
    assert re.search("Exact[^$]*assumed, not derived|assumed, not derived[^$]*Exact", shown)
    vector = "--variance 100 --count 1000 --coordinates 100 --l1 10 --l2 1"
    two, three = (
        terminal.json(f"account huber {vector}{more}")["statement"]["epsilon"]
        for more in ("", " --linf 0.1")
    )
    assert 1 - three / two == pytest.approx(0.06, abs=0.01)


@pytest.mark.parametrize(
    ("spec", "texts"),
    [
        (
            AuditSpec(seed=123456789, epsilon=1.23456789, confidence=0.9999999, runs=200),
            ["claimed ε = 1.23"],
        ),
        (
            AuditSpec(target="als", view="others", delta=1.5e-7, runs=100),
            ["nominal, one release ε = 1", "100 outputs of each dataset"],
        ),
        (
            AuditSpec(target="private-means", mechanism="gaussian", epsilon=8, canaries=100),
            ["of the 50 surest guesses about 100 canaries"],
        ),
        (AuditSpec(case="half-noise", mechanism="gaussian", runs=300), []),
    ],
    ids=str,
)
def test_the_shown_command_and_the_text_make_the_same_audit(
    spec: AuditSpec, texts: list[str], terminal: Terminal
) -> None:
    assert AuditSpec.from_json(json.dumps(spec.as_dict())) == spec
    assert main(shlex.split(spec.command())[3:]) == 0
    printed = "".join(terminal.capsys.readouterr())
    assert [text for text in texts if text not in printed] == []
    result = terminal.json(spec.command())
    assert (result["spec"], result["beaten"]) == (spec.as_dict(), audit(spec).beaten)


def test_an_audit_has_the_usual_neighbours_view_and_number_of_runs(terminal: Terminal) -> None:
    text = json.dumps(AuditSpec(case="half-noise", runs=300).as_dict())
    assert terminal.json(f"audit --spec '{text}' --seed 7")["spec"]["seed"] == 7
    users, ratings = AuditSpec(target="dpals"), AuditSpec(target="als")
    assert (users.neighbours, users.view) == ("user", "factors")
    assert (ratings.neighbours, ratings.view, ratings.runs) == ("rating", "matrix", 1000)
