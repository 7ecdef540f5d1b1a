"""Ratings predicted by up to six configurations, side by side, on the *Completion* page."""

from collections import Counter
from collections.abc import Sequence

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.experiments import RecommendResult, RunResult, RunSpec
from dpmc_core.experiments.presets import PEOPLE, WELL_REGULARISED, preset
from dpmc_core.privacy import odds_sentence
from dpmc_core.wording import measured, signed, three
from pages.parts.completion import charts as run_charts
from pages.parts.completion import study_view, texts
from pages.parts.completion.charts import Named
from pages.parts.completion.controls import AMOUNTS, FIRST, Asked
from pages.parts.frame import drag, python_lines
from pages.parts.frame.page import cards, counted, observations, pair, tab, verdict
from pages.parts.frame.study import Built
from pages.parts.server import jobs
from pages.parts.ui import controls, glossary
from pages.parts.ui.figures import draw, show
from pages.parts.ui.looks import IDENTITY, LETTERS, NOISES, describe
from pages.parts.ui.on_screen import download, show_table, unbroken
from pages.parts.ui.run_panel import Example, Panel, draw_panel

_FEW_STEPS = 3  # nothing to replay
# where the noise of ALS and IRLS is, if not on right-hand sides
_PLACES = {"ratings": " on each rating", "both": " on both sides", "output": " on the output"}


def title_of(spec: RunSpec) -> str:
    """What a configuration is called: algorithm and noise."""
    noise, name = spec.noise, spec.card.title
    if noise.kind == "none":
        return f"{name}, no noise"
    if noise.epsilon is None:
        field = noise.field()
        amount = f"{AMOUNTS[field]} {three(getattr(noise, field))}"
    else:
        amount = f"ε = {three(noise.epsilon)}"
        amount = f"total {amount}" if noise.kind == "total" else f"{amount} a release"
    place = _PLACES.get(getattr(spec.algorithm, "noise_on", ""), "")
    return f"{name}, {NOISES[noise.mechanism]}{place}, {amount}"


def named(results: Sequence[RunResult | None]) -> list[Named]:
    """The results that exist, with their letters. Where a run has not ended its total ε is planned.
    Short names have no "total", nor "no noise" where their algorithm stands once.
    """
    those = [(x, r) for x, r in zip(LETTERS, results, strict=False) if r is not None]
    algorithms = Counter(r.spec.card.name for _, r in those)
    items = []
    for letter, r in those:
        title = title_of(r.spec)
        if not r.finished:
            title = title.replace(", total ε", ", planned total ε")
        short = title.replace("total ε", "ε")
        short = short.removesuffix(", no noise" if algorithms[r.spec.card.name] == 1 else "")
        items.append(Named(letter, title, r, unbroken(short)))
    return items


def figures(results: list[Named], clip: bool) -> None:
    """Draw the held-out error beside the completed matrix or, where nobody knows the whole, beside
    predictions against ratings.
    """
    ends = [n.result.final for n in results]
    summary = "; ".join(
        f"{n.label}: {three(end.error(clip=clip)[0])}" for n, end in zip(results, ends, strict=True)
    )
    alt = f"Held-out RMSE{', clipped' * clip}; lower is better. At the end: {summary}."
    left, right = pair()
    with left:
        show(run_charts.rmse_curves(results, clip), "rmse", alt)
    matrix = run_charts.completed(results)
    alt = "The first 40 users and items: the truth beside each completed matrix, errors below."
    if matrix is None:
        matrix = run_charts.actual_vs_predicted(results)
        alt = "Mean prediction for each actual rating, with the middle 80 % of predictions."
    with right:
        show(matrix, "completed", alt)


def so_far(job: jobs.Job, clip: bool) -> bool:
    """The curves and the matrix of a running job, if there are any."""
    if shown := named(job.results):
        figures(shown, clip)
    return bool(shown)


def _replayed(results: list[Named], clip: bool) -> int | None:
    """Draw the slider of finished runs; returns the iteration it stands at, None for the end."""
    last = max(n.result.final.iteration for n in results)
    steps = {step for n in results for step in n.result.pictures}
    if not steps:
        iterations = range(1, last + 1)
        steps = {*iterations[:: -(-last // 40)]}
    if last <= _FEW_STEPS or not all(n.result.finished for n in results):
        return None
    at = drag.replay(
        "replay",
        [n.result for n in results],
        sorted({*steps, last}),
        lambda living, step: _frame(named(living), clip, step),
        "Iteration",
        clip,
    )
    return None if at == last else at


def _frame(results: list[Named], clip: bool, step: int) -> drag.Frame:
    """What the page shows after an iteration."""
    if step == max(n.result.final.iteration for n in results):
        curves, matrix = run_charts.rmse_curves(results, clip), run_charts.completed(results)
        sentence = texts.verdict(results)
    else:
        curves = run_charts.rmse_until(results, clip, step)
        matrix, sentence = run_charts.completed_until(results, step), _after(results, clip, step)
    figures = {"rmse": curves[0], **({} if matrix is None else {"completed": matrix[0]})}
    return drag.Frame(sentence, figures)


def _after(results: list[Named], clip: bool, step: int) -> str:
    errors = []
    for n in results:
        metrics = n.result.metrics[min(step, len(n.result.metrics)) - 1]
        error, _ = metrics.error(clip=clip)
        errors.append(f"{n.letter} {three(error, zeros=True)}")
    return f"After iteration {step}, the error (held-out RMSE) is: {', '.join(errors)}."


def results_of(results: list[Named], clip: bool) -> None:
    """Everything that finished runs show."""
    above = st.container()
    step = _replayed(results, clip)
    with above:
        if step is None:
            verdict(texts.verdict(results))
            figures(results, clip)
        else:
            frame = _frame(results, clip, step)
            verdict(frame.verdict)
            for place, (name, figure) in zip(pair(), frame.figures.items(), strict=False):
                with place:
                    draw(figure, name, frame.verdict)
    _table(results, clip)
    observations(texts.observations(results))
    python_lines.of_runs([(item.label, item.result.spec) for item in results])
    tab("What does privacy cost?", "cost", study_view.cost)
    tab("Predictions", "pictures", lambda: pictures(results))
    tab("Protection and errors", "accounts", lambda: accounts(results, clip))
    tab("Top ten", "top-ten", lambda: one_user(results))
    tab("Export", "export", lambda: export(results))


def _table(results: list[Named], clip: bool) -> None:
    """What each configuration protects, its error, and how long it took."""
    rows = []
    for named in results:
        statement, final = named.result.statement, named.result.final
        error, half = final.error(clip=clip)
        apart = named.result.against_baseline
        kind = "nominal" if statement.nominal else "guaranteed"
        kind += "" if statement.nominal or statement.secret else ", repeatable for teaching"
        if statement.epsilon_published > 1.005 * statement.epsilon:
            kind += (
                f", by our own proof ({three(statement.epsilon_published)} by published results)"
            )
        rows.append(
            {
                "configuration": named.label,
                "protects": f"one {statement.unit}" if statement.private else "nobody",
                "total ε": f"{three(statement.epsilon)}, {kind}" if statement.private else "–",
                f"held-out RMSE{', clipped' * clip} (± 95 %)": measured(error, half),
                "against the best baseline (no noise)": (
                    f"{'better' if apart.better else 'worse'} by "
                    f"{measured(abs(apart.mean), apart.half_width)}"
                    if apart.detected
                    else "no significant difference"
                ),
                "seconds": three(final.seconds),
            }
        )
    best = results[0].result.best_baseline
    show_table(
        rows, f"Protection, error and seconds of each configuration; the best baseline is {best}."
    )


def protection(result: RunResult | RecommendResult) -> None:
    """What a result protects, how that was counted, and what the count leaves out."""
    statement = result.statement
    st.markdown(f":material/shield: {statement.label}")
    if not statement.private:
        st.caption("These results could reveal the data they were made from.")
        return
    noise = result.ledger.releases[0].mechanism
    one_draw_delta = result.spec.noise.delta if noise.name == "gaussian" else 0.0
    kinds = len(result.ledger.releases)
    if len({release.mechanism for release in result.ledger.releases}) == 1:
        st.caption(f"{describe(noise)}, standard deviation {three(noise.std)}.")
    else:
        st.caption(
            f"{kinds} kinds of release, each with {IDENTITY[noise.name].title} noise of its own "
            "scale (in the ledger, under *Numbers & code*)."
        )
    if statement.nominal and not statement.uncovered:
        st.caption(
            "If the nominal ε of one release were all: "
            + odds_sentence(
                statement.epsilon_per_draw, one_draw_delta, "a rating had this value or another"
            )
        )
    else:
        given = f"If the {', '.join(statement.uncovered)} were public: " * bool(statement.uncovered)
        st.caption(given + statement.odds)
    counted(statement)


def account(item: Named, clip: bool) -> None:
    """One configuration's numbers: error, baselines, and what it protects."""
    result, final = item.result, item.result.final
    error, half = final.error(clip=clip)
    st.markdown(f"**{item.label}**")
    st.metric(
        f"held-out RMSE{', clipped' * clip} (rating units)",
        f"{error:.4f}",
        help=glossary.meaning("rmse")
        + " ± is half of a 95 % interval over the choice of held-out ratings.",
    )
    lines = [f"± {half:.2g} (95 %, over held-out ratings)"]
    if final.chosen_reg is not None:
        lines.append(f"λ = {three(final.chosen_reg)} was chosen")
    other = (
        f"not clipped {final.test_rmse:.4f}"
        if clip
        else f"clipped to the scale {final.test_rmse_clipped:.4f}"
    )
    lines.append(f"{other} · training {final.train_rmse:.4f}")
    if final.truth_rmse is not None:
        lines.append(f"whole true matrix {final.truth_rmse:.4g}")
    apart = result.against_baseline
    lines.append(
        f"against the best baseline, {result.best_baseline}: {signed(apart.mean, 4)} ± "
        f"{apart.half_width:.2g} (both clipped)"
    )
    st.caption("  \n".join(lines))
    protection(result)


def accounts(results: list[Named], clip: bool) -> None:
    """Every configuration's error, what it protects, and how both were computed."""
    for item in cards(results, 3):
        account(item, clip)
    baselines = results[0].result.baselines
    st.caption(
        "Baselines (held-out RMSE): "
        + " · ".join(f"{name} {three(v)}" for name, v in baselines.items())
        + f". Split: {results[0].result.split.how}. Bands and bars: 95 % over the choice of "
        "held-out ratings. Each run is one draw of noise and start; another seed shows how much "
        "they matter. Points above the frame are first iterations from a random start.",
        help=glossary.meaning("baseline"),
    )


def pictures(results: list[Named]) -> None:
    """Predictions against ratings, and their errors."""
    left, right = st.columns(2)
    with left:
        st.subheader("Predicted against actual", anchor=False)
        show(
            run_charts.actual_vs_predicted(results),
            "predicted",
            "Mean prediction for each actual rating, with the middle 80 % of predictions.",
        )
    with right:
        st.subheader("Distribution of errors", anchor=False)
        show(
            run_charts.errors(results),
            "errors",
            "Distribution of held-out errors of each configuration.",
        )


def one_user(results: list[Named]) -> None:
    """The ten best items for one user by each configuration."""
    train = results[0].result.split.train
    user = controls.whole("User", "user", 1, train.n_users, 1) - 1
    seen = int((train.users == user).sum())
    show_table(
        run_charts.top_ten(results, user),
        f"Ten best items for user {user + 1} by each configuration.",
    )
    st.caption(
        f"{controls.plain(train.user_label(user))} rated {seen} items in the training data; those "
        "are left out. In brackets the predicted rating, clipped to the scale."
    )


def export(results: list[Named]) -> None:
    """Downloads and the same run elsewhere."""
    download(
        "Errors per iteration (CSV)",
        "dpmc-runs.csv",
        lambda: pd.concat(
            [
                pd.DataFrame(r.result.summary()["steps"]).assign(configuration=r.label)
                for r in results
            ]
        ),
    )
    python_lines.export("runs", [(item.label, item.letter, item.result) for item in results])


def compare(request: Asked, built: Built, row: DeltaGenerator) -> None:
    """Run up to six configurations, and compare their predictions."""

    def show(results: Sequence[RunResult | None]) -> None:
        results_of(named(results), request.clip)

    draw_panel(
        Panel(
            kind="run",
            wanted=built.specs,
            problem=built.problem,
            step="iteration",
            so_far=lambda job: so_far(job, request.clip),
            show=show,
            example=Example.of_runs("4,000 users", example_specs(), show),
            row=row,
            seed="seed",
        )
    )


def example_specs() -> tuple[RunSpec, ...]:
    """Return the runs that the page shows as it opens."""
    usual = {**FIRST, **preset(WELL_REGULARISED, FIRST["dataset"])}
    return (
        RunSpec.fitting(usual),
        RunSpec.fitting(usual, mechanism="huber", total_epsilon=5.0),
        RunSpec.fitting(PEOPLE),
    )
