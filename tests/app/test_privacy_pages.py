"""The Budget and Audit pages in-process: controls, results, the game, bad links and bad files."""

import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpmc_core.errors import DataError, DPMCError
from dpmc_core.experiments.tasks.audit import audit
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.experiments.tasks.audit_targets import outputs
from dpmc_core.mechanisms import Gaussian, Huber, Laplace
from dpmc_core.planning.project import Item, Project, share_out
from dpmc_core.privacy import Ledger, account, state
from dpmc_core.privacy.attack import clopper_pearson
from dpmc_core.privacy.compare import dpals_counts, epsilon_curve, price, variance_curve
from pages.parts.audit import charts as audit_charts
from pages.parts.audit.game import Rounds
from pages.parts.budget import charts as budget_charts
from pages.parts.budget import sections, stories
from pages.parts.server import jobs
from pages.parts.ui.figures import whole

from ..privacy.helpers import ledger, release
from .test_pages import (
    example_note,
    fresh_visitor,  # noqa: F401  (the fixture is used by name)
    open_page,
    verdict_of,
)


def texts_of(app: AppTest) -> str:
    return "\n".join(
        x.value.replace("\N{NO-BREAK SPACE}", " ")
        for x in [*app.markdown, *app.caption, *app.info, *app.error, *app.warning]
    )


def with_ledger_file() -> tuple[AppTest, Ledger]:
    """The Budget page after a ledger of forty releases was uploaded, and that ledger."""
    book = ledger(Huber(alpha=1.5, scale=9.0), 40)
    app = open_page("budget")
    content = json.dumps(book.as_dict()).encode()
    app.get("file_uploader")[0].upload("book.json", content, "application/json").run()
    return app, book


# ---- Budget --------------------------------------------------------------------------------------


def test_budget_counts_the_papers_run_by_every_method() -> None:
    app = open_page("budget", u_run="irls")
    assert app.slider(key="u_variance").value == 2.0  # the papers' variance, in a link as by hand
    shown = [m.value for m in app.metric]
    said = [
        state(ledger(noise, 1000, 5.0))
        for noise in (
            Huber.with_variance(2.0, alpha=1.5),
            Laplace.with_variance(2.0),
            Gaussian.with_variance(2.0),
        )
    ]
    assert shown == [f"{round(s.epsilon, -1):,.0f}" for s in said]
    (table,) = [d.value for d in app.dataframe if "accounting" in d.value.columns]
    assert list(table["accounting"]) == [a.title for a in said[0].accounts]
    assert table["Gaussian"][0] == "–"
    assert sum("◀" in cell for cell in table["Huber"]) == 1
    assert "The ε values of 1,000 releases with Huber noise sum to" in texts_of(app)
    assert not app.exception


def test_choosing_a_papers_run_sets_its_variance() -> None:
    app = open_page("budget")
    app.selectbox(key="u_run").set_value("als").run()
    assert app.slider(key="u_variance").value == 2.0
    app.selectbox(key="u_run").set_value("own").run()
    assert app.slider(key="u_variance").value == 100.0
    assert not app.exception


@pytest.mark.long
@pytest.mark.parametrize(
    ("key", "value"),
    [("u_moved", 100), ("u_count", 1), ("u_count", 10_000), ("u_delta", 1e-14), ("u_target", 1e-3)],
)
def test_budget_at_the_ends_of_its_boxes(key: str, value: float) -> None:
    app = open_page("budget")
    box = app.select_slider if key == "u_count" else app.number_input
    box(key=key).set_value(value).run()
    assert not app.exception
    assert not app.error
    if key == "u_moved":
        assert "has not been peer-reviewed" in texts_of(app)
        assert "By published results alone" in texts_of(app)


def test_budget_at_equal_epsilon() -> None:
    app = open_page("budget", u_by="epsilon", u_epsilon="0.5", u_alpha="0.3")
    assert not app.exception
    assert "ε = 0.5" in texts_of(app)


def test_the_stories_carry_live_numbers_and_sources() -> None:
    app = open_page("budget", u_run="als")
    said = texts_of(app)
    for words in (
        "base 10",
        "variance 1.0036",
        "never below 1",
        "I·σ²",
        "after a thousand the bound is meaningless",
        "0.742",
        "11.8",
        "our own finding",
        "huber-paper, Table 1",
        "DPALS paper, Theorem 1",
    ):
        assert words in said, words
    assert said.lower().count("an attacker") >= 9


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "is not a ledger file"),
        (
            json.dumps(
                {"releases": [{"mechanism": {"name": "cauchy"}, "l1_sensitivity": 1}]}
            ).encode(),
            "must be one of huber",
        ),
        (
            json.dumps({"releases": [{"mechanism": {"name": "laplace", "scale": 1}}]}).encode(),
            "without either nothing is bounded",
        ),
    ],
)
def test_a_bad_ledger_file_is_one_sentence(content: bytes, words: str) -> None:
    app = open_page("budget")
    app.get("file_uploader")[0].upload("book.json", content, "application/json").run()
    (error,) = app.error
    assert words in error.value.replace("\\", "")
    assert not app.exception
    assert len(app.metric) == 3  # everything else stands


def test_a_refused_ledger_file_is_counted_once_until_it_is_brought_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def refuse(function: Callable[..., object], *given: object) -> None:
        asked.append(function.__name__)
        raise (DataError("not a ledger.") if len(asked) < 3 else DPMCError("too busy."))

    monkeypatch.setattr(sections.sandbox, "read_file", refuse)
    app = open_page("budget")
    for times in (1, 2):
        app.get("file_uploader")[0].upload("book.json", b"{}", "application/json").run()
        app.slider(key="u_alpha").set_value(1.0 + times / 10).run()
        assert [error.value for error in app.error] == ["not a ledger."]
        assert asked == ["account"] * times
    for times in (3, 4):  # what another moment may bring is asked for again
        if times == 3:
            app.get("file_uploader")[0].upload("book.json", b"{}", "application/json").run()
        else:
            app.run()
        assert [error.value for error in app.error] == ["too busy."]
        assert asked == ["account"] * times
    app.button(key="u_forget").click().run()
    assert not app.error


@pytest.mark.long
def test_what_is_left_of_a_budget_after_a_ledger() -> None:
    app, book = with_ledger_file()
    after = Item(name="one more count")
    budget = state(book).epsilon + 1.0
    app.number_input(key="u_budget").set_value(budget).run()
    left = next(m.value for m in app.markdown if m.value.startswith("**Left**"))
    made = share_out(Project(items=(after,), epsilon=budget, spent=book))
    assert f"at least {made.releases[0].mechanism.std:.3g}" in left
    app.number_input(key="u_budget").set_value(state(book).epsilon / 2).run()
    left = next(m.value for m in app.markdown if m.value.startswith("**Left**"))
    assert "nothing is left" in left


def test_budget_charts_hold_what_was_computed() -> None:
    noises = [
        Huber.with_variance(100.0, alpha=1.5),
        Laplace.with_variance(100.0),
        Gaussian.with_variance(100.0),
    ]
    counts = (1, 10, 100)
    curves = [epsilon_curve(release(noise), counts, 1e-5) for noise in noises]
    _, numbers = budget_charts.composition(
        noises, curves, counts, [n.epsilon(1.0) for n in noises], 10, 1e-5
    )
    assert tuple(numbers["Gaussian ε at δ = 10⁻⁵"]) == curves[2]
    assert list(numbers["Laplace sum of ε (δ = 0)"]) == [c * noises[1].epsilon(1.0) for c in counts]
    assert not any("Gaussian sum of ε" in name for name in numbers)
    assert curves[1][2] == pytest.approx(state(ledger(noises[1], 100)).epsilon, rel=2e-3)
    _, prices = budget_charts.price_curve(1.5, 0.1)
    assert prices["price, small shifts"].iloc[0] == pytest.approx(2, abs=0.01)
    assert prices["price, small shifts"].iloc[-1] == pytest.approx(1, abs=1e-4)
    assert price(Laplace(scale=1.0), 1e-4) == pytest.approx(2, rel=1e-4)
    table = budget_charts.methods_table(
        ["x"], [account(ledger(Huber(alpha=2.0), 50, 3.0, 1.0, 9), 1e-5)]
    )
    assert [("*" in cell) for cell in table["x"]] == [False, False, False, True, True, False]
    variances = [
        variance_curve(release(noise), budget_charts.NEEDED_COUNTS, 1.0, 1e-5) for noise in noises
    ]
    sentence = stories.least_by_count(variances, noises)
    assert re.search(
        r"Laplace at T = 1–6, .*Huber.* at T = 10.*Gaussian at T = \d+–300\.", sentence
    ), sentence


def test_dpals_counts_with_both_releases_of_a_step() -> None:
    """To the printed digits."""
    rows = dpals_counts()
    assert [round(r.both, 3) for r in rows] == [
        0.801,
        4.006,
        7.387,
        14.871,
        1.001,
        5.008,
        10.041,
        19.824,
        # ML-20M, at δ = 1/136,677
        1.011,
        5.047,
        10.078,
        20.135,
    ]
    assert [round(r.theorem, 2) for r in rows if r.printed not in (8, 16)] == [
        0.72,
        3.56,
        0.92,
        4.6,
        9.25,
        17.5,
        0.81,
        3.5,
        6.83,
        13.23,
    ]
    assert all(r.exact < r.both for r in rows)
    # a user's k ratings move their sum by k·Γ_M; with the paper's √k·Γ_M the preparation looks (k +
    # 1)/σ_p² instead of 2k/σ_p²
    assert [round(r.derived, 2) for r in rows] == [
        0.83,
        4.02,
        7.93,
        15.23,
        1.11,
        5.71,
        11.77,
        21.05,
        1.15,
        5.08,
        10.11,
        20.15,
    ]
    assert all(r.exact < r.derived_exact < r.derived for r in rows)


# ---- Audit ---------------------------------------------------------------------------------------


def attack(app: AppTest) -> AppTest:
    app.button(key="x_go").click().run()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        app.run()
        if not any(b.label == "Cancel" for b in app.button):
            return app
        time.sleep(0.1)
    raise AssertionError("the audit did not finish")


def test_an_example_stands_before_any_attack_and_an_attack_replaces_it() -> None:
    app = open_page("audit", x_runs="10,000", x_case="half-noise")
    assert example_note(app)
    attack(app)
    assert not example_note(app)
    (error,) = app.error
    assert "is **wrong**" in error.value
    assert re.match(r"The claim is ε = 1; the attack proves ε ≥ [\d.]+ with", verdict_of(app))
    assert "The claimed ε = 1 is wrong." in texts_of(app)
    assert app.query_params["audit"] in ("1", ["1"])
    app.selectbox(key="x_case").set_value("as-claimed").run()
    assert any("settings have changed" in i.value for i in app.info)
    assert any("Attacked: one number, broken: half the noise" in c.value for c in app.caption)
    assert app.error  # the result stands until another attack
    attack(app)
    assert not app.error
    assert "The claim may be true." in texts_of(app)


@pytest.mark.long
def test_als_is_attacked_on_tables_that_can_be_seen() -> None:
    app = open_page("audit", x_target="als", x_algorithm_runs="500", x_iterations="1")
    assert len(app.get("plotly_chart")) == 1  # the tables: an algorithm waits for the button
    assert verdict_of(app).startswith("Not attacked yet: *Attack* runs it on both datasets")
    attack(app)
    assert "is **wrong**" in app.error[0].value
    assert re.search(r"The nominal ε = .* is wrong", texts_of(app))
    assert len(app.get("plotly_chart")) == 2
    assert "replace-one" in texts_of(app)
    app.selectbox(key="x_neighbours").set_value("user").run()
    attack(app)
    assert not app.error  # the claim is about something else
    assert any("about a whole user, of whom the claim says nothing" in i.value for i in app.info)
    assert "nothing at all is promised about a whole user" in texts_of(app)


def test_what_was_measured_is_held_against_the_whole_claim() -> None:
    for epsilon in ("0.01", "2"):
        app = open_page("audit", x_runs="10,000", x_epsilon=epsilon)
        attack(app)
        assert "No point that was measured lies beyond the claim's curve" in texts_of(app)
    app = open_page("audit", x_runs="100,000", x_case="half-noise")
    attack(app)
    assert "This attacker finds at least" in texts_of(app)


def _outputs(scale: float) -> bytes:
    """Outputs of a count with Laplace noise, with a record and without it in turns."""
    inside = np.arange(20_000) % 2
    drawn = inside + np.asarray(Laplace(scale=scale).sample(20_000, np.random.default_rng(2)))
    rows = [f"{i},{y!r}" for i, y in zip(inside.tolist(), drawn.tolist(), strict=True)]
    return "\n".join(["inside,count", *rows]).encode()


@pytest.mark.long
def test_your_own_mechanism_is_audited_from_its_outputs() -> None:
    app = open_page("audit", y_epsilon="0.5")
    before = len(app.get("plotly_chart"))
    app.get("file_uploader")[0].upload("mine.csv", _outputs(1.0), "text/csv").run()
    assert len(app.get("plotly_chart")) == before + 2
    (error,) = app.error
    assert "the claim ε = 0.5 is wrong" in error.value
    app.number_input(key="y_epsilon").set_value(1.0).run()
    assert not app.error
    assert any("The claim ε = 1 may be true." in i.value for i in app.info)
    app.selectbox(key="y_delta").set_value("1e-5").run()
    assert any("The claim ε = 1, δ = 1e-05 may be true." in i.value for i in app.info)
    app.button(key="y_forget").click().run()
    assert len(app.get("plotly_chart")) == before
    app.get("file_uploader")[0].upload("x.csv", b"a,b\n1,2\n", "text/csv").run()
    (error,) = app.error
    assert "needs a column 'inside'" in error.value.replace("\\", "")
    assert not app.exception


@pytest.mark.parametrize("case", ["as-claimed", "half-noise", "unclipped", "low-bits", "on-grid"])
def test_every_case_can_be_attacked_and_played(case: str) -> None:
    app = open_page("audit", x_case=case, x_runs="1,000", x_grid_runs="1,000", x_noise="huber")
    attack(app)
    assert not app.exception
    app = open_page("game", x_case=case, x_noise="huber")
    app.button(key="guess-in").click().run()
    assert not app.exception
    assert re.search(r"Last round.*: \*\*(right|wrong), ", texts_of(app))


@pytest.mark.parametrize("target", ["als", "irls", "irls-2"])
@pytest.mark.parametrize("view", ["matrix", "others", "items"])
def test_every_view_can_be_played(target: str, view: str) -> None:
    app = open_page("game", x_target=target, x_view=view)
    app.button(key="guess-out").click().run()
    app.button(key="guess-in").click().run()
    assert not app.exception
    assert "of 2 rounds" in verdict_of(app)
    assert "nominal ε = 1 of one release would allow at most 73.1 %" in verdict_of(app)


def test_gaussian_noise_and_low_bits_do_not_go_together() -> None:
    app = open_page("audit", x_case="low-bits", x_noise="gaussian")
    (error,) = app.error
    assert "huber or laplace for low-bits" in error.value.replace("\\", "")
    assert app.button(key="x_go").disabled
    assert not app.exception


def test_the_game_keeps_score_and_the_best_rule_reaches_the_best_rate() -> None:
    """The midpoint rule over many rounds.

    Its rate is the mechanism's best guess, and below the bound of ε.
    """
    spec = AuditSpec(epsilon=1.0)
    rounds = Rounds(spec)
    rounds.deal()
    n = 4000
    for _ in range(n):
        rounds.guess(bool(rounds.output[0][0] > 41.5))
    best = Laplace(scale=1.0).best_guess(1.0)
    assert (rounds.best, rounds.bound) == (best, pytest.approx(1 / (1 + math.exp(-1))))
    # real coins and noise: five standard deviations, one false alarm in two million
    assert abs(np.mean(rounds.hits) - best) < 5 * math.sqrt(best * (1 - best) / n)
    assert rounds.score.endswith(f" of {n}")
    # the number that was judged, not the one on screen by now
    assert re.match(r"Last round \(\d+\.\d{3}\): \*\*(right|wrong), she was ", rounds.last)


def test_a_lesson_that_asks_for_the_best_rule_does_not_show_it() -> None:
    app = open_page("game", lesson="class", step="1")
    answer = app.radio[0]

    def shown() -> str:
        (chart,) = [one for one in app.get("plotly_chart") if "right guesses" in one.proto.spec]
        return f"{chart.proto.spec} {texts_of(app)}"

    assert "ε = 1 allows" in texts_of(app)
    assert "69.7" not in shown()
    answer.set_value(answer.options[0]).run()
    assert "best guess 69.7" in shown()
    assert "best possible is 69.7 %" in texts_of(app)
    (bound,) = app.latex
    assert "e^" not in texts_of(app).replace(bound.value, "")


def test_a_new_spec_starts_a_new_game_and_a_visit_keeps_it() -> None:
    app = open_page("game")
    assert verdict_of(app).endswith("on average ε = 1 allows at most 73.1 % right guesses.")
    assert texts_of(app).count("○") == 10
    app.button(key="guess-in").click().run()
    assert "of 1 rounds" in verdict_of(app)
    assert jobs._box().belongings["audit-game"] is app.session_state["audit-game"]
    app.number_input(key="x_epsilon").set_value(2.0).run()
    assert "of 1 rounds" not in verdict_of(app)
    assert "ε = 2 allows at most 88.1 %" in verdict_of(app)
    app.button(key="guess-in").click().run()
    app.button(key="guess-again").click().run()
    assert "of 1 rounds" not in verdict_of(app)


def test_the_score_is_held_against_the_bound_after_each_round() -> None:
    app = open_page("game")
    app.session_state["audit-game"].hits = [True] * 12 + [False]
    app.run()
    assert "(92 %); on average ε = 1 allows" in verdict_of(app)
    assert texts_of(app).count("●") == 9
    assert "I was right in 12 of 13 rounds" in app.code[0].value
    app.session_state["audit-game"].hits = [True] * 13
    app.run()
    assert verdict_of(app).endswith("luck, as this claim is true.")
    hits = [True, False, True, True]
    figure, numbers = audit_charts.score(hits, 0.731, None)
    assert list(numbers["right (%)"]) == pytest.approx([100, 50, 200 / 3, 75])
    for k in range(1, 5):
        low, high = clopper_pearson(sum(hits[:k]), k, 0.025)
        assert numbers.iloc[k - 1, 2:].tolist() == pytest.approx([100 * low, 100 * high])
    names = [one["text"] for one in whole(figure)["layout"]["annotations"]]
    assert names == ["ε allows 73.1", "chance 50.0"]


def test_a_link_of_the_audit_opens_the_game_with_its_settings() -> None:
    app = open_page("audit", x_epsilon="2", x_case="half-noise", tab="attacked")
    (link,) = [one.proto for one in app.get("page_link") if one.proto.page == "game"]
    assert link.query_string == "x_epsilon=2&x_case=broken%3A+half+the+noise"
    app = open_page("game", x_epsilon="2", x_case="half-noise")
    assert app.session_state["audit-game"].spec == AuditSpec(
        epsilon=2.0, case="half-noise", runs=100
    )


def test_an_audit_and_a_run_do_not_disturb_each_other() -> None:
    app = open_page("audit", x_runs="1,000")
    attack(app)
    kept = jobs.current("audit")
    assert kept is not None
    app.switch_page("completion.py").run()
    app.number_input(key="iterations").set_value(2).run()
    app.button(key="go").click().run()
    while jobs.current("run").active:  # type: ignore[union-attr]
        time.sleep(0.05)
    assert jobs.current("audit") is kept
    app.switch_page("audit.py").run()
    assert not example_note(app)


def test_an_early_stop_is_said() -> None:
    app = open_page("audit")
    result = replace(audit(AuditSpec(runs=100)), finished=False)
    jobs._box().replace(
        jobs.Job(
            kind="audit",
            specs=(result.spec,),
            results=[result],
            state="cancelled",
            progress=(100, 1000),
        )
    )
    app.run()
    assert any("Cancelled after 100 of 1,000" in i.value for i in app.info)
    assert "Stopped early" in texts_of(app)


def test_moving_the_variance_does_not_mix_up_the_noises() -> None:
    """Laplace(10) and Gaussian(10) are not the same, whatever a cache thinks."""
    app = open_page("budget")
    needed = app.dataframe[1].value
    before = [m.value for m in app.metric]
    app.slider(key="u_variance").set_value(200.0).run()
    assert app.dataframe[1].value.equals(
        needed
    )  # what a budget needs does not depend on where one starts
    said = [
        state(ledger(noise, 1000))
        for noise in (
            Huber.with_variance(200.0, alpha=1.5),
            Laplace.with_variance(200.0),
            Gaussian.with_variance(200.0),
        )
    ]
    assert [m.value for m in app.metric] == [f"{s.epsilon:.3g}" for s in said] != before


@pytest.mark.long
@pytest.mark.parametrize("sensitivity", [1e-6, 1e-3, 1000.0])
def test_budget_at_extreme_sensitivities(sensitivity: float) -> None:
    app = open_page("budget", u_sensitivity=f"{sensitivity:g}")
    assert not app.exception
    assert not app.error


def test_a_ledger_file_is_counted_and_outlives_a_visit_to_another_page() -> None:
    app, book = with_ledger_file()
    counted = f"{state(book).epsilon:.3g}"
    assert not app.error
    assert [m.value for m in app.metric][3:] == [counted]
    app.switch_page("datasets.py").run()
    app.switch_page("budget.py").run()
    assert [m.value for m in app.metric][3:] == [counted]
    app.button(key="u_forget").click().run()
    assert len(app.metric) == 3


def test_the_sentence_on_huber_follows_the_numbers() -> None:
    assert "only Huber noise has both" in texts_of(open_page("budget"))
    assert "much like Laplace noise" in texts_of(open_page("budget", u_alpha="0.05"))
    assert "only Huber noise has both" not in texts_of(open_page("budget", u_run="als"))


def test_attacks_that_would_take_hours_are_refused() -> None:
    app = open_page("audit", x_target="als", x_iterations="500", x_algorithm_runs="10,000")
    assert "at most 20 solves" in app.error[0].value
    assert app.button(key="x_go").disabled


@pytest.mark.parametrize("view", ["matrix", "others", "items"])
def test_what_is_published_is_drawn_with_names(view: str) -> None:
    spec = AuditSpec(target="als", view=view, runs=100)
    output = outputs(spec, True, 1, np.random.SeedSequence(0))[0]
    figure, numbers = audit_charts.published_matrix(spec, output)
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("category", "category")
    assert list(figure.data[0].x) == list("ABCDEFGH")
    assert figure.layout.xaxis.title.text == "film"
    assert (
        next(iter(figure.data[0].y))
        == {"matrix": "Alice", "others": "person 2", "items": "film A"}[view]
    )
    assert figure.data[0].z == pytest.approx(numbers.to_numpy())
    assert len(figure.layout.shapes) == (view == "matrix")


def test_staircase_noise_stays_with_numbers() -> None:
    app = open_page("audit", x_noise="staircase", x_runs="1,000")
    attack(app)
    assert not app.error
    app.selectbox(key="x_target").set_value("als").run()
    assert not app.exception
    assert not app.error
    assert app.selectbox(key="x_noise").value == "laplace"


@pytest.mark.parametrize("page", ["audit", "game"])
def test_an_epsilon_that_a_noise_cannot_have_is_one_sentence(page: str) -> None:
    app = open_page(page, x_noise="staircase", x_epsilon="1000")
    assert not app.exception
    assert len(app.error) == 1


def test_what_does_not_count_leaves_the_score_of_the_game() -> None:
    app = open_page("game")
    app.button(key="guess-in").click().run()
    app.number_input(key="x_delta").set_value(1e-6).run()
    assert "You were right in" in verdict_of(app)
    app.number_input(key="x_epsilon").set_value(2.0).run()
    assert "Guess, round by round" in verdict_of(app)
