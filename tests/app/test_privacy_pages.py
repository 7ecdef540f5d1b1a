"""The Budget and Audit pages in-process: controls, results, the game, bad links and bad files."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest

from dpmc_core.errors import DataError, DPMCError
from dpmc_core.experiments.tasks.audit import audit
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.experiments.tasks.audit_targets import outputs
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism
from dpmc_core.planning.project import Item, Project, share_out
from dpmc_core.privacy import state
from dpmc_core.privacy.account import choice_epsilon
from dpmc_core.privacy.attack import clopper_pearson
from dpmc_core.privacy.compare import epsilon_curve, variance_curve
from dpmc_core.wording import three
from pages.parts.audit import charts as audit_charts
from pages.parts.audit.game import Rounds
from pages.parts.budget import charts as budget_charts
from pages.parts.budget import sections, stories
from pages.parts.budget.charts import guess_of_rounded
from pages.parts.server import jobs
from tests.app.visits import open_page, opened, shows

from ..privacy.helpers import ledger, release
from ..privacy.test_outputs import written

FORTY = ledger(Huber(alpha=1.5, scale=9.0), 40)


def trio(variance: float) -> list[Mechanism]:
    """The page's three mechanisms at this variance."""
    kinds = (Laplace, Gaussian)
    return [Huber.with_variance(variance, alpha=1.5), *(k.with_variance(variance) for k in kinds)]


# ---- Budget --------------------------------------------------------------------------------------


def test_budget_counts_the_papers_run_by_every_method() -> None:
    app = open_page("budget?u_run=irls")
    assert app.widget("u_variance").value == 2.0  # the papers' variance, in a link as by hand
    statements = [state(ledger(noise, 1000, 5.0)) for noise in trio(2.0)]
    assert app.numbers == [f"{round(s.epsilon, -1):,.0f}" for s in statements]
    table = app.table_with("accounting")
    assert list(table["accounting"]) == [a.title for a in statements[0].accounts]
    assert table["Gaussian"][0] == "–"
    assert sum("◀" in cell for cell in table["Huber"]) == 1
    # figures that rest on our own proof
    marked = ["own proof" in a.title for a in statements[0].accounts]
    assert ["*" in cell for cell in table["Huber"]] == marked
    # the stories' live numbers, and their sources
    shows(
        app,
        *("base 10", "variance 1.0036", "never below 1", "I·σ²", "0.742", "11.8"),
        *("our own finding", "huber-paper, Table 1", "DPALS paper, Theorem 1"),
        "after a thousand the bound is meaningless",
        without=["only Huber noise has both", "e-05"],
    )


def test_groups_post_processing_and_the_best_of_several_runs_have_pictures() -> None:
    app = opened("budget?tab=carried-over&u_count=4&u_variance=100&u_sensitivity=1")
    # four releases that ten people move by 10 each are one that moves by √4·10
    ten = Gaussian(scale=10.0).epsilon_at_delta(1e-5, math.sqrt(4) * 10)
    shows(app, "(each one record) that change", f"Gaussian {three(ten)}. Group privacy")
    assert len(app.charts) == 3
    four = ledger(trio(100.0)[1], 4)
    one, best = state(four).epsilon, choice_epsilon(four, 10, 1e-5)
    assert one < best
    shows(app.set(tab="choice"), f"{three(best)}, not {three(one)} (Laplace)")
    assert len(app.charts) == 2


@pytest.mark.long
def test_samples_cost_less_and_one_algorithm_takes_them() -> None:
    app = opened("budget?tab=sub-sampling&u_count=1&u_variance=100&u_rate=0.1")
    for noise, title in zip(trio(100.0), ("Huber", "Laplace", "Gaussian"), strict=True):
        whole, at = noise.epsilon_at_delta(1e-5, 1.0), noise.epsilon_at_delta(1e-4, 1.0)
        sampled = math.log1p(0.1 * math.expm1(at))
        shows(app, f"{three(sampled)}, not {three(whole)} ({title})")
    shows(app, "private NMF, corrected, samples where asked to")
    vector = opened("budget?tab=sub-sampling&u_count=20&u_variance=4&u_moved=100&u_rate=0.9")
    text = vector.texts().partition("nominal ε would be at most ")[2].partition("\n")[0]
    pairs = re.findall(r"([\d.]+), not ([\d.]+) \(", text)
    assert len(pairs) == 3
    assert all(float(sampled) <= float(whole) for sampled, whole in pairs)
    assert "sub-sampling" not in opened("budget?u_run=irls").widget("tab").options
    shows(app.set(u_delta=1e-14), "too small to be read", kinds=["info"])


@pytest.mark.parametrize("noise", trio(2.0), ids=lambda noise: noise.name)
def test_rounding_never_helps_an_attacker(noise: Mechanism) -> None:
    """Cells as fine as can be are the release itself; whole ones by the law's own masses."""
    for sensitivity in (0.3, 1.0, 4.0):
        whole_release = noise.best_guess(sensitivity)
        rounded = [guess_of_rounded(noise, sensitivity, w) for w in np.geomspace(0.01, 20, 40)]
        assert max(rounded) <= whole_release + 1e-12
        assert rounded[0] == pytest.approx(whole_release, abs=1e-3)
    assert guess_of_rounded(noise, 1e6, noise.std) == 1  # at once, in no memory
    rng = np.random.default_rng(3)  # against counted cells, which add ¼Σ√(2p/n) on average
    cells = np.round(noise.sample((2, 400_000), rng) / 1.7 + [[0.0], [1.0 / 1.7]])
    values = np.unique(cells)
    shares = [[np.mean(row == value) for value in values] for row in cells]
    counted = 0.5 + 0.25 * np.abs(np.diff(shares, axis=0)).sum()
    most = 2 * 0.25 * math.sqrt(2 * len(values) / 400_000)
    assert guess_of_rounded(noise, 1.0, 1.7) == pytest.approx(counted, abs=most)


@pytest.mark.long
def test_moving_the_variance_does_not_mix_up_the_noises() -> None:
    """Laplace(10) and Gaussian(10) are not the same, whatever a cache thinks."""
    app = open_page("budget")
    needed, before = app.dataframe[1].value, app.numbers
    app.set(u_variance=200.0)
    # what a budget needs does not depend on where one starts
    assert app.dataframe[1].value.equals(needed)
    statements = [state(ledger(noise, 1000)) for noise in trio(200.0)]
    assert app.numbers == [f"{s.epsilon:.3g}" for s in statements] != before
    for run, variance in (("als", 2.0), ("own", 100.0)):  # a paper's run sets it
        assert app.set(u_run=run).widget("u_variance").value == variance


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("u_by=epsilon&u_epsilon=0.5&u_alpha=0.3", ["ε = 0.5"]),
        ("", ["only Huber noise has both"]),
        ("u_alpha=0.05", ["much like Laplace noise"]),
        *(
            pytest.param(*case, marks=pytest.mark.nightly)
            for case in (
                ("u_moved=100", ["has not been peer-reviewed", "By published results alone"]),
                ("u_moved=10&u_bounded=linf", ["over 10 numbers (ℓ1 and ℓ∞)"]),
                # the ends of its boxes
                *((f"u_count={count}", []) for count in (1, 10_000)),
                *((f"u_sensitivity={value}", []) for value in (1e-6, 1e-3, 1000.0)),
                *((query, []) for query in ("u_delta=1e-14", "u_target=1e-3")),
            )
        ),
    ],
)
def test_what_budget_says_follows_its_settings(query: str, texts: list[str]) -> None:
    app = open_page(f"budget?{query}")
    assert not [*app.error, *app.warning]
    shows(app, *texts, without=["e-05"])
    # of one number all definitions are one
    assert app.widget("u_bounded").proto.disabled == ("u_moved" not in query)


def test_a_refused_ledger_file_is_counted_once_until_it_is_brought_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []

    def refuse(function: Callable[..., object], *arguments: object) -> None:
        calls.append(function.__name__)
        raise (DataError("not a ledger.") if len(calls) < 3 else DPMCError("too busy."))

    monkeypatch.setattr(sections.sandbox, "read_file", refuse)
    app = opened("budget?tab=own-ledger")
    for times, message in ((1, "not a ledger."), (2, "not a ledger."), (3, "too busy.")):
        app.upload(b"{}", "book.json")
        if times == 1:
            app.set(u_alpha=1.1)
        if times < 3:
            app.run()
        assert (app.texts("error"), calls) == (message, ["account"] * times)
    app.run()  # what another moment may bring is asked for again
    assert (app.texts("error"), len(calls)) == ("too busy.", 4)
    assert not app.press("u_forget").error


@pytest.mark.nightly
def test_a_ledger_file_is_counted_leaves_its_rest_and_outlives_a_visit_to_another_page() -> None:
    page, epsilon = "budget?tab=own-ledger", state(FORTY).epsilon

    def left() -> str:
        return next(m.value for m in app.markdown if m.value.startswith("**Left**"))

    app = opened(page).upload(json.dumps(FORTY.as_dict()).encode(), "book.json")
    assert not app.error
    assert app.numbers == [f"{epsilon:.3g}"]
    app.set(u_budget=epsilon + 1.0)
    project = Project(items=(Item(name="one more count"),), epsilon=epsilon + 1.0, spent=FORTY)
    assert f"at least {share_out(project).releases[0].mechanism.std:.3g}" in left()
    app.set(u_budget=epsilon / 2)
    assert "nothing is left" in left()
    assert app.go_to("datasets").go_to(page).numbers == [f"{epsilon:.3g}"]
    assert not app.press("u_forget").metric
    app.upload(b"{", "book.json")
    assert app.texts("error").count("is not a ledger file") == len(app.error) == 1
    assert app.charts  # everything else stands


def test_budget_charts_hold_what_was_computed() -> None:
    noises, counts = trio(100.0), budget_charts.COUNTS
    curves = [epsilon_curve(release(noise), counts, 1e-5) for noise in noises]
    _, numbers = budget_charts.composition(noises, curves, 1.0, 10, 1e-5)
    assert tuple(numbers["Gaussian ε at δ = 10⁻⁵"]) == curves[2]
    assert list(numbers["Laplace sum of ε (δ = 0)"]) == [c * noises[1].epsilon(1.0) for c in counts]
    assert not any("Gaussian sum of ε" in name for name in numbers)
    needed = budget_charts.NEEDED_COUNTS
    variances = [variance_curve(release(noise), needed, 1.0, 1e-5) for noise in noises]
    sentence = stories.least_by_count(variances, noises)
    said = r"Laplace at T = 1–6, .*Huber.* at T = 10.*Gaussian at T = \d+–300\."
    assert re.search(said, sentence), sentence


# ---- Audit ---------------------------------------------------------------------------------------


def test_an_example_stands_before_any_attack_and_an_attack_replaces_it() -> None:
    app = open_page("audit?x_runs=100,000&x_case=half-noise")
    assert app.example
    app.press("x_go")
    assert not app.example
    (error,) = app.error
    assert "is **wrong**" in error.value
    assert re.match(r"The claim is ε = 1; the attack proves ε ≥ [\d.]+ with", app.verdict)
    shows(app, "The claimed ε = 1 is wrong.", "This attacker finds at least")
    assert app.query_params["audit"] in ("1", ["1"])
    app.go_to("completion?iterations=2&n=1").press()  # which takes nothing away
    app.go_to("audit").set(x_case="as-claimed", x_runs=10_000)
    shows(app, "settings have changed", "Attacked: one number, broken: half the noise")
    assert app.error  # the result stands until another attack
    app.press("x_go")
    assert not app.error
    # what was measured is held against the whole claim
    shows(app, "The claim may be true.")
    shows(app, "No point that was measured lies beyond the claim's curve")


@pytest.mark.long
def test_als_is_attacked_on_tables_that_can_be_seen() -> None:
    app = open_page("audit?x_target=als&x_algorithm_runs=500&x_iterations=1")
    assert len(app.charts) == 1  # the tables: an algorithm waits for the button
    assert app.verdict.startswith("Not attacked yet: *Attack* runs it on both datasets")
    app.press("x_go")
    assert "is **wrong**" in app.error[0].value
    assert re.search(r"The nominal ε = .* is wrong", app.texts())
    again = open_page(f"audit?{urlencode(app.query_params, doseq=True)}").wait("done")
    assert again.verdict == app.verdict
    assert len(app.charts) == 2
    shows(app, "replace-one")
    app.set(x_neighbours="user").press("x_go")
    assert not app.error  # the claim is about something else
    shows(
        app,
        "about a whole user, of whom the claim says nothing",
        "nothing at all is promised about a whole user",
    )


@pytest.mark.long
def test_canaries_are_guessed_after_one_run() -> None:
    app = open_page("audit?x_target=private-means&x_noise=Gaussian&x_epsilon=8")
    app.set(x_by="one")
    assert app.verdict.startswith("Not attacked yet: *Attack* runs it once")
    app.press("x_go").wait("done")
    shows(app, "one run proves ε ≥ ", "- For any noise: ", "- For Gaussian noise: ")
    shows(app, "one run with 100 canaries; the attacker sees all releases")
    assert not app.error
    app.set(x_canaries=1800.0).press("x_go").wait()
    shows(app, "canaries = 1800 is not allowed", kinds=["error"])


@pytest.mark.long
def test_your_own_mechanism_is_audited_from_its_outputs(tmp_path: Path) -> None:
    app = opened("audit?tab=own&y_epsilon=0.5")
    before = len(app.charts)
    app.upload(written(tmp_path, 1.0).read_bytes(), "mine.csv")
    assert len(app.charts) == before + 2
    assert app.texts("error").count("the claim ε = 0.5 is wrong") == 1
    assert not app.set(y_epsilon=1.0, y_delta="1e-5").error
    shows(app, "The claim ε = 1, δ = 10⁻⁵ may be true.", kinds=["info"])
    assert len(app.press("y_forget").charts) == before
    app.upload(b"a,b\n1,2\n", "x.csv")
    assert app.texts("error").count("needs a column 'inside'") == len(app.error) == 1


@pytest.mark.parametrize("case", ["as-claimed", "half-noise", "unclipped", "low-bits", "on-grid"])
def test_every_case_can_be_attacked_and_played(case: str) -> None:
    open_page(f"audit?x_case={case}&x_runs=1,000&x_grid_runs=1,000&x_noise=huber").press("x_go")
    app = open_page(f"game?x_case={case}&x_noise=huber").press("guess-in")
    assert re.search(r"Last round.*: \*\*(right|wrong), ", app.texts())


@pytest.mark.parametrize(
    ("target", "view"), [("als", "matrix"), ("irls", "others"), ("irls-2", "items")]
)
def test_every_view_can_be_played(target: str, view: str) -> None:
    app = open_page(f"game?x_target={target}&x_view={view}").press("guess-out").press("guess-in")
    assert "of 2 rounds" in app.verdict
    assert "nominal ε = 1 of one release would allow at most 73.1 %" in app.verdict


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("audit?x_case=low-bits&x_noise=gaussian", "huber or laplace for low-bits"),
        # what a noise cannot have
        ("audit?x_noise=staircase&x_epsilon=1000", ""),
        ("game?x_noise=staircase&x_epsilon=1000", ""),
    ],
)
def test_what_cannot_be_attacked_is_one_sentence(link: str, words: str) -> None:
    app = open_page(link)
    assert len(app.error) == 1
    shows(app, words, kinds=["error"])
    assert not [button for button in app.button if button.key == "x_go" and not button.disabled]


def test_users_of_an_algorithm_are_attacked_and_staircase_noise_stays_with_numbers() -> None:
    app = open_page("audit?x_target=dpals")
    assert app.widget("x_user_view").value == "factors"
    shows(app, "DPALS, on the left or the right table")
    assert not app.error
    app = open_page("audit?x_noise=staircase&x_runs=1,000").press("x_go")
    assert not app.error
    assert not app.set(x_target="als").error
    assert app.widget("x_noise").value == "laplace"


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
    app = open_page("game?lesson=class&step=1")
    answer = app.radio[0]

    def shown() -> str:
        (spec,) = [c.proto.spec for c in app.charts if "right guesses" in c.proto.spec]
        return f"{spec} {app.texts()}"

    shows(app, "ε = 1 allows")
    assert "69.7" not in shown()
    answer.set_value(answer.options[0]).run()
    assert "best guess 69.7" in shown()
    shows(app, "best possible is 69.7 %")
    (bound,) = app.latex
    assert "e^" not in "".join(m.value for m in app.markdown).replace(bound.value, "")


def test_a_new_claim_starts_a_new_game_and_a_visit_keeps_it() -> None:
    app = open_page("game")
    assert app.verdict.endswith("on average ε = 1 allows at most 73.1 % right guesses.")
    assert app.texts().count("○") == 10
    assert "of 1 rounds" in app.press("guess-in").verdict
    assert jobs.visit_box().belongings["audit-game"] is app.session_state["audit-game"]
    assert "You were right in" in app.set(x_delta=1e-6).verdict  # which does not count
    verdict = app.set(x_epsilon=2.0).verdict
    assert verdict.startswith("Guess, round by round")
    assert "ε = 2 allows at most 88.1 %" in verdict
    app.press("guess-in").press("guess-again")
    assert "of 1 rounds" not in app.verdict


def test_the_score_is_held_against_the_bound_after_each_round() -> None:
    app = open_page("game")
    app.session_state["audit-game"].hits = [True] * 12 + [False]
    assert "(92 %); on average ε = 1 allows" in app.run().verdict
    assert app.texts().count("●") == 9
    assert "I was right in 12 of 13 rounds" in app.code[0].value
    app.session_state["audit-game"].hits = [True] * 13
    assert app.run().verdict.endswith("luck, as this claim is true.")
    hits = [True, False, True, True]
    _, numbers = audit_charts.score(hits, 0.731, None)
    assert list(numbers["right (%)"]) == pytest.approx([100, 50, 200 / 3, 75])
    for k in range(1, 5):
        low, high = clopper_pearson(sum(hits[:k]), k, 0.025)
        assert numbers.iloc[k - 1, 2:].tolist() == pytest.approx([100 * low, 100 * high])


def test_a_link_of_the_audit_opens_the_game_with_its_settings() -> None:
    app = open_page("audit?x_epsilon=2&x_case=half-noise&tab=attacked")
    (link,) = [link for link in app.links if link.page == "game"]
    assert link.query_string == "x_epsilon=2&x_case=broken%3A+half+the+noise"
    app = open_page(f"game?{link.query_string}")
    claim = AuditSpec(epsilon=2.0, case="half-noise", runs=100)
    assert app.session_state["audit-game"].spec == claim


def test_an_early_stop_is_said() -> None:
    app = open_page("audit")
    result = replace(audit(AuditSpec(runs=100)), finished=False)
    job = jobs.Job(kind="audit", specs=(result.spec,), results=[result], state="cancelled")
    job.progress = (100, 1000)
    jobs.visit_box().replace(job)
    shows(app.run(), "Cancelled after 100 of 1,000", "Stopped early")


@pytest.mark.parametrize("view", ["matrix", "others", "items"])
def test_what_is_published_is_drawn_with_names(view: str) -> None:
    spec = AuditSpec(target="als", view=view, runs=100)
    output = outputs(spec, True, 1, np.random.SeedSequence(0))[0]
    figure, numbers = audit_charts.published_matrix(spec, output)
    assert list(figure.data[0].x) == list("ABCDEFGH")
    first = {"matrix": "Alice", "others": "person 2", "items": "film A"}[view]
    assert next(iter(figure.data[0].y)) == first
    assert figure.data[0].z == pytest.approx(numbers.to_numpy())
    assert len(figure.layout.shapes) == (view == "matrix")


@pytest.mark.parametrize(("link", "nearest"), [("home", "Page views"), ("budget", "2020 Census")])
def test_the_epsilon_of_a_page_is_beside_those_in_use(link: str, nearest: str) -> None:
    app = open_page(f"{link}?tab=in-use")
    assert re.search(rf"Nearest to ε = \d[^*]*: {nearest}", app.texts("markdown"))
    table = app.table_with("Said by")
    assert list(table["ε"])[:2] == ["1", "2"]
    assert list(table["δ"])[:2] == ["10⁻⁷", "0"]
    assert all(address.startswith("https://") for address in table["Source"])
