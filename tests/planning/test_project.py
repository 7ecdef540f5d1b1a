"""Projects: shares, what was spent before, and what is kept for later."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmc_core.errors import DataError, ParameterError
from dpmc_core.planning.project import Item, Project, project_from_toml, share_out
from dpmc_core.privacy import Ledger, state
from dpmc_core.privacy.account import tightest
from tests.terminal import Terminal

AGES = Item(name="ages", query="mean", people=2000, low=0, high=110, share=2)
ILL = Item(name="ill", query="count", share=1, releases=3)
TOWNS = Item(name="towns", query="histogram", bins=12, share=1)


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace", "huber"])
def test_all_releases_together_spend_the_budget_by_their_shares(mechanism: str) -> None:
    """Σ(Δ/σ)² of each item, by hand: replacing one moves a mean by 110/2000, a count by 1, and two
    bins by 1 each.
    """
    shared = share_out(Project(items=(AGES, ILL, TOWNS), epsilon=1.5, mechanism=mechanism))
    assert tightest(shared.ledger, 1e-5) == pytest.approx(1.5, rel=1e-5)
    assert shared.with_these == pytest.approx(1.5, rel=1e-5)
    for release in shared.releases:
        assert (release.mechanism.name, release.neighbours) == (mechanism, "replace-one")
    assert not state(shared.ledger, 1e-5).nominal
    moved = np.array([[110 / 2000, 1, 2], [110 / 2000, 1, math.sqrt(2)]])  # in ℓ1 and ℓ2
    sensitivities = [[r.l1_sensitivity, r.l2_sensitivity] for r in shared.releases]
    assert np.transpose(sensitivities) == pytest.approx(moved, rel=1e-12)
    stds = np.array([release.mechanism.std for release in shared.releases])
    spent = [1, 3, 1] * (moved[int(mechanism == "gaussian")] / stds) ** 2
    assert spent / spent.sum() == pytest.approx([0.5, 0.25, 0.25], rel=1e-9)


def test_a_project_is_extended_later_within_the_same_budget() -> None:
    first = share_out(Project(items=(AGES, ILL), epsilon=2.0, reserve=3.0))
    assert first.with_these < 2.0
    assert "kept for later" in first.sentence
    second = share_out(Project(items=(TOWNS,), epsilon=2.0, spent=first.ledger))
    assert second.before == pytest.approx(first.with_these, rel=1e-9)
    assert second.with_these == pytest.approx(2.0, rel=1e-5)
    assert len(second.ledger.releases) == 3
    # what was kept is what towns get: a reserve of share 3 among 6 is half of Σ(Δ/σ)²
    squares = [r.count * (r.l2_sensitivity / r.mechanism.std) ** 2 for r in second.ledger.releases]
    assert squares[2] == pytest.approx(sum(squares[:2]), rel=1e-4)
    for epsilon in (1.0, 2.0):  # more than there is, and exactly what there is
        with pytest.raises(ParameterError, match="nothing is left"):
            share_out(Project(items=(AGES,), epsilon=epsilon, spent=second.ledger))


def test_margins_are_of_the_noise_that_is_planned() -> None:
    """Without a mean one person is added or removed."""
    shared = share_out(Project(items=(ILL, TOWNS)))
    assert [r.l1_sensitivity for r in shared.releases] == [1.0, 1.0]
    assert {r.neighbours for r in shared.releases} == {"add/remove-one"}
    for row, planned in zip(shared.as_dict()["items"], shared.releases, strict=True):
        margin, noise = row["margin_95"], planned.mechanism
        inside = float(noise.cdf(margin) - noise.cdf(-margin))
        assert inside ** (12 if row["query"] == "histogram" else 1) == pytest.approx(0.95, rel=1e-9)


TOML = """
epsilon = 2.0
mechanism = "laplace"
reserve = 1.0

[[release]]
name = "ages"
query = "mean"
people = 500
high = 110

[[release]]
name = "ill"
share = 2.0
"""


def test_a_file_is_planned_kept_and_extended(tmp_path: Path, terminal: Terminal) -> None:
    (tmp_path / "project.toml").write_text(TOML)
    file = tmp_path / "ledger.json"
    begin = f"plan project {tmp_path}/project.toml --keep {file}"
    shown = terminal.output(begin)
    assert "kept for later" in shown
    assert "ages: ±" in shown
    later = '[[release]]\nname = "again"\nquery = "mean"\n'
    (tmp_path / "later.toml").write_text(f"epsilon = 2.0\n{later}")
    extend = f"plan project {tmp_path}/later.toml --spent {file}"
    answer = terminal.json(f"{extend} --keep {file}")
    assert answer["epsilon_with_these"] == pytest.approx(2.0, rel=1e-5)
    raw = json.loads(file.read_text())
    assert len(raw["releases"]) == len(answer["ledger"]["releases"]) == 3
    assert "may hold what was spent before" in terminal.refusal(begin)
    file.write_text(json.dumps({**raw, "version": 7}))
    assert "version" in terminal.refusal(extend)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("epsilon = ", DataError, "no TOML"),
        ("epsilon = 1.0", ParameterError, "1 to 50 in a project"),
        ('release = "x"', ParameterError, r"\[\[release\]\] tables"),
        ('colour = 1\n[[release]]\nname = "a"', ParameterError, "colour"),
        ('[[release]]\nquery = "count"', ParameterError, "a name for each"),
        ('[[release]]\nname = "a"\n[[release]]\nname = "a"', ParameterError, "there once"),
        ('[[release]]\nname = "a"\nshare = -1', ParameterError, "share"),
        ('[[release]]\nname = "a"\nlow = 5\nhigh = 5', ParameterError, "below high"),
        ("[[release]]\nname = 3", ParameterError, "a name for each"),
    ],
)
def test_bad_projects(text: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        project_from_toml(text)


def test_a_ledger_about_somebody_else_is_refused() -> None:
    other: Any = share_out(Project(items=(ILL,)))
    with pytest.raises(ParameterError, match="one ε cannot speak of both"):
        Project(items=(AGES,), spent=Ledger(other.ledger.releases))


def test_a_figure_that_rests_on_our_own_proof_is_marked() -> None:
    """One replaced moves two bins: for Huber noise that is a vector."""
    shared = share_out(Project(items=(AGES, TOWNS), mechanism="huber"))
    assert shared.published == pytest.approx(
        state(shared.ledger, 1e-5).epsilon_published, rel=1e-12
    )
    marked = shared.published > 1.005 * shared.with_these
    assert ("not been peer-reviewed" in shared.sentence) == marked
    assert "peer-reviewed" not in share_out(Project(items=(AGES, TOWNS))).sentence
    assert shared.as_dict()["epsilon_by_published_results"] == shared.published


@given(st.text(min_size=1), st.integers(1, 10_000), st.floats(1e-3, 1e6))
def test_a_project_is_read_as_it_was_written(name: str, releases: int, share: float) -> None:
    try:
        item = Item(name=name, releases=releases, share=share)
    except ParameterError:
        assert not name.strip() or not name.isprintable()
        return
    project = Project(items=(item,), epsilon=2.5, mechanism="huber", reserve=0.25)
    assert project_from_toml(project.to_toml()) == project
