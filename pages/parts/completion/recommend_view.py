"""What people are recommended, on the *Completion* page.

To held-out users by up to three configurations side by side, and to one person without privacy and
at three ε.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.experiments import RecommendResult, RunResult, RunSpec
from dpmc_core.experiments.presets import LIKES, PEOPLE
from dpmc_core.experiments.tasks.recommend import LISTED, RecallAt, RecommendMetrics
from dpmc_core.metrics import RECALL_AT, Comparison, ListQuality
from dpmc_core.wording import measured, signed, three
from pages.parts.completion import texts
from pages.parts.completion.charts import Named, look_of, ranked, top_entries
from pages.parts.completion.compare_view import export, protection, title_of
from pages.parts.completion.compare_view import so_far as errors_so_far
from pages.parts.frame import drag, python_lines
from pages.parts.frame.page import cards, observations, tab, verdict
from pages.parts.frame.study import Built
from pages.parts.server import jobs
from pages.parts.ui import controls, declared
from pages.parts.ui.figures import Drawn, bars, draw, figure, of_results, show
from pages.parts.ui.looks import BASELINE, LETTERS, LINES, lowered
from pages.parts.ui.on_screen import show_table
from pages.parts.ui.run_panel import Example, Panel, draw_panel
from pages.parts.ui.series import Line, named_lines

_FEW_STEPS = 3
_ALL = 0.999  # a recall by chance of lists that leave nothing out
Results = list[tuple[str, RecommendResult]]  # letter and result


def lettered(results: Sequence[RecommendResult | None]) -> Results:
    """The results that exist, with their letters."""
    return [(letter, r) for letter, r in zip(LETTERS, results, strict=False) if r is not None]


def so_far(job: jobs.Job) -> bool:
    """The recalls of a running job, if there are any."""
    shown = lettered(job.results)
    if shown:
        draw(recalls(shown)[0], "live-recall", "Recall so far.")
    return bool(shown)


def recalls(results: Results, until: float = math.inf) -> Drawn:
    """Recall with 95 % intervals over the held-out users: bars, or curves of more than 3 steps;
    ``until`` a step, on the axes of the whole. Baselines as horizontal lines.
    """
    title = f"Recall@{RECALL_AT} of held-out users (share)"
    baselines = results[0][1].baselines
    rows = [
        {
            "configuration": f"{letter} · {title_of(result.spec)}",
            "step": m.iteration,
            "recall": m.recall,
            "half_width_95": m.half_width,
        }
        for letter, result in results
        for m in result.metrics
    ]
    numbers = pd.DataFrame(rows)
    if all(len(result.metrics) <= _FEW_STEPS for _, result in results):
        names = [f"{letter} · {title_of(result.spec)}" for letter, result in results]
        finals = [_metrics_until(result, until)[-1] for _, result in results]
        room = max(m.recall for _, result in results for m in result.metrics)
        colours = [look_of(letter, "").colour for letter, _ in results]
        heights, halves = [m.recall for m in finals], [m.half_width for m in finals]
        return bars(names, heights, halves, colours, title, baselines, room), numbers
    fig = figure("step", title, height=400)
    last, top, lines = 1, max(baselines.values(), default=0.0), []
    for k, (letter, result) in enumerate(results):
        metrics = _metrics_until(result, until)
        x, y = [m.iteration + 0.04 * (k - 1) for m in metrics], [m.recall for m in metrics]
        look = look_of(letter, f"{letter} · {title_of(result.spec)}")
        lines.append(Line(look, x, y, halves=[m.half_width for m in metrics]))
        last = max(last, result.metrics[-1].iteration)
        top = max([top, *(m.recall + np.nan_to_num(m.half_width) for m in result.metrics)])
    fig.update_yaxes(range=(0.0, min(1.0, top * 1.12) or 1.0))
    fig.update_xaxes(range=[0.8, last + 0.1], dtick=1 if last <= 10 else None)
    named_lines(fig, lines, baselines)
    return fig, numbers


def _metrics_until(result: RecommendResult, until: float) -> list[RecommendMetrics]:
    """The metrics of its steps up to one, of the first at least."""
    return [m for m in result.metrics if m.iteration <= max(until, 1)]


def _replayed(results: Results) -> float:
    """Draw the slider of finished runs; returns the step it stands at, infinity for the end."""
    runs = [result for _, result in results]
    steps = sorted({step for result in runs for step in result.pictures})
    if len(steps) < 2 or not all(result.finished for result in runs):
        return math.inf
    place = _place(results[0][1])
    at = drag.replay(
        "replay",
        runs,
        steps,
        lambda living, step: _frame(lettered(living), step, place),
        "Step",
        place,
    )
    return math.inf if at == steps[-1] else at


def _frame(results: Results, step: float, place: int) -> drag.Frame:
    """What the page shows after a step, with the lists of the held-out person in a ``place``."""
    shares = ", ".join(
        f"{x} {100 * _metrics_until(run, step)[-1].recall:.0f} %" for x, run in results
    )
    over = all(run.final.iteration <= step for _, run in results)
    sentence = _verdict(results) if over else f"After step {step}, Recall@{RECALL_AT} is: {shares}."
    rows = zip(*_lists(results, step, place).values(), strict=True)
    cells = [cell for row in rows for cell in row]
    return drag.Frame(sentence, {"recall": recalls(results, step)[0]}, {f"list-of-{place}": cells})


def _place(result: RecommendResult) -> int:
    """Which of the held-out persons was chosen."""
    return min(int(st.session_state.get("held_user", 1)), result.held.size) - 1


def sentences(results: Results) -> list[str]:
    """Where each stands against recommending to everybody what is most liked, by the paired
    difference over the same held-out users.
    """
    out = []
    for letter, result in results:
        name, best = f"{letter} · {title_of(result.spec)}", result.baselines["most liked"]
        gap = result.against_most_liked
        clause = f"{name}: Recall@{RECALL_AT} {100 * result.final.recall:.1f} %"
        if not gap.detected:
            out.append(
                f"{clause}; not significantly different from recommending what is most "
                f"liked ({100 * best:.1f} %), by these users."
            )
        else:
            out.append(
                f"{clause}, {'more' if gap.better else 'less'} than by recommending what is most "
                f"liked ({100 * best:.1f} %, which protects nobody), by "
                f"{100 * abs(gap.mean):.1f} ± {100 * gap.half_width:.1f} points."
            )
    return out


def results_of(results: Sequence[RecommendResult | None]) -> None:
    """Everything that finished runs show."""
    shown = lettered(results)
    standings = sentences(shown)
    above = st.container()
    step = _replayed(shown)
    with above:
        if step == math.inf:
            verdict(_verdict(shown))
            show(recalls(shown), "recall", " ".join(standings))
        else:
            frame = _frame(shown, step, _place(shown[0][1]))
            verdict(frame.verdict)
            draw(frame.figures["recall"], "recall", frame.verdict)
    few = shown[0][1].by_user.size
    if few < 30:
        st.warning(
            f"Only {few} users were held out: too few to tell much. More users, or a larger "
            "held-out share, say more.",
            icon=":material/group:",
        )
    observations(standings)
    runs = [(f"{x} · {title_of(run.spec)}", x, run) for x, run in shown]
    python_lines.of_runs([(label, run.spec) for label, _, run in runs])
    tab("Protection and recall", "accounts", lambda: _accounts(shown))
    tab("One user's ten best", "one-user", lambda: one_user(shown, step))
    tab("Recall at other k", "recalls", lambda: _recalls_at(shown))
    tab("How alike lists are", "lists", lambda: _alike(shown))
    tab("Export", "export", lambda: python_lines.export("recommend", runs))


def _recalls_at(shown: Results) -> None:
    """A table of Recall@k at several k and a chosen one, with the most liked items beside."""
    k = declared.box("recall_at", "recall_at")
    columns: dict[str, list[str]] = {}
    for letter, result in shown:
        recalls = _recalls(result, k)
        columns["k"] = [f"{one.k}" for one in recalls]
        columns["most liked"] = [three(one.most_liked) for one in recalls]
        columns[f"{letter} · {title_of(result.spec)}"] = [
            measured(one.recall, one.half_width) + _mark(one.against_most_liked) for one in recalls
        ]
    show_table(columns, "Recall@k of every configuration.")
    st.caption(
        "Recall@k (share), of at most k items that a held-out user likes and did not show, with "
        "95 % over held-out users. ▲, ▼: significantly more, less than by the most liked items, "
        "for the same users; each comparison is at 95 % on its own."
    )


def _alike(shown: Results) -> None:
    """Draw what the most rated tenth of the items takes, and a table of all that lists are."""
    of = {f"{letter} · {title_of(run.spec)}": _lists_of(run)["model"] for letter, run in shown}
    of["most liked"] = _lists_of(shown[0][1])["most liked"]
    heights = [100 * one.popular for one in of.values()]
    colours = [*(look_of(letter, "").colour for letter, _ in shown), BASELINE]
    title = "places of the most rated tenth (%)"
    n_items = shown[0][1].split.train.n_items
    alike = 100 * -(-n_items // 10) / n_items  # a tenth is rounded up
    drawn = bars(list(of), heights, [], colours, title, {"all alike": alike}, 100.0)
    table = pd.DataFrame(
        {
            "lists of": list(of),
            f"NDCG@{RECALL_AT}": [measured(one.ndcg, one.half_width) for one in of.values()],
            "places of the most rated tenth (%)": [f"{height:.0f}" for height in heights],
            "items recommended to anybody (%)": [
                f"{100 * one.coverage:.0f}" for one in of.values()
            ],
            "Gini": [f"{one.gini:.2f}" for one in of.values()],
        }
    )
    most = max(of, key=lambda name: of[name].popular)
    show(drawn, "lists", f"The lists of {most} have most of the most rated items.", table)
    show_table(table, "How good and how alike the lists are.")
    st.caption(
        f"Of lists of {RECALL_AT} items for held-out users. NDCG (share) weights a hit by its "
        "place, with 95 % over held-out users. Gini: 0 if all items are recommended alike often, "
        "towards 1 if always the same."
    )


@of_results
def _lists_of(result: RecommendResult) -> dict[str, ListQuality]:
    return result.lists


def _mark(gap: Comparison) -> str:
    return " ▲" if gap.better else " ▼" if gap.worse else ""


@of_results
def _recalls(result: RecommendResult, k: int) -> list[RecallAt]:
    return result.recalls(k)


def _verdict(results: Results) -> str:
    """How the best private run stands against recommending what is most liked."""
    private = [r for _, r in results if r.statement.private] or [r for _, r in results]
    best = max(private, key=lambda r: r.final.recall)
    standing = best.against_most_liked.than("recommending the most liked items")
    if best.baselines["by chance"] >= _ALL:
        return (
            f"There are only {best.split.query.n_items} items: a list of {RECALL_AT} holds all "
            "that a user has not shown, so that recall says nothing."
        )
    epsilon = best.spec.noise.epsilon
    where = "Without noise" if not best.statement.private else f"At total ε = {three(epsilon or 0)}"
    return (
        f"{where}, {lowered(best.spec.card.title)} has a Recall@{RECALL_AT} of "
        f"{100 * best.final.recall:.0f} %, {standing}."
    )


def _accounts(shown: Results) -> None:
    for letter, result in cards(shown):
        st.markdown(f"**{letter} · {title_of(result.spec)}**")
        st.metric(
            f"Recall@{RECALL_AT} (share)",
            f"{result.final.recall:.4f}",
            help=(
                "Of the liked items that a held-out user did not show, the share among the "
                f"{RECALL_AT} recommended, as if nobody had more than {RECALL_AT} of them; "
                "mean over users."
            ),
        )
        apart = result.against_most_liked
        sure = f"± {result.final.half_width:.2g} (95 %, over held-out users)"
        if math.isnan(result.final.half_width):
            sure = "one held-out user: no interval"
        st.caption(
            f"{sure}  \n"
            f"against what is most liked: {signed(apart.mean, 4)} ± {apart.half_width:.2g}  \n"
            + ", ".join(f"{name} {three(v)}" for name, v in result.baselines.items())
        )
        protection(result)
    split = shown[0][1].split
    st.caption(
        "Of the items that a held-out user likes but did not show, the share among the "
        f"{RECALL_AT} recommended (of at most {RECALL_AT}; DPALS paper, D.1). "
        f"{split.how[0].upper()}{split.how[1:]}. Bars: 95 % over the choice of held-out users; "
        "noise and start are one draw each."
    )


def one_user(results: Results, step: float) -> None:
    """What one held-out person is recommended after a step, and whether they liked it."""
    first = results[0][1]
    place = controls.whole("Held-out person", "held_user", 1, first.held.size, 1) - 1
    with st.container(key=f"list-of-{place}"):
        lists = pd.DataFrame(_lists(results, step, place)).map(controls.plain)
        st.table(lists, border="horizontal")
    target, query = (
        part.users == first.held[place] for part in (first.split.target, first.split.query)
    )
    st.caption(
        f"● liked by this person, who did not show it (such items: {target.sum()}). {query.sum()} "
        "liked items were known when the list was made, and are left out."
        + f" These lists are of the last step, as of all but the first {LISTED} persons."
        * (place >= LISTED)
    )


def _lists(results: Results, step: float, place: int) -> dict[str, list[str]]:
    """The best items for one held-out person after a step, by letter, those that they like
    marked.
    """
    first = results[0][1]
    user, target = int(first.held[place]), first.split.target
    liked = set(target.items[target.users == user].tolist())
    columns = {}
    for letter, result in results:
        seen = result.pictures
        if step == math.inf or place >= LISTED or not seen:
            best = result.listed(user)
        else:
            best = seen[max(k for k in seen if k <= max(step, min(seen)))][place]
        columns[letter] = [
            ("● " if int(j) in liked else "") + first.split.train.item_label(int(j))
            for j in best
            if j >= 0
        ]
    longest = max(map(len, columns.values()))
    return {k: v + ["–"] * (longest - len(v)) for k, v in columns.items()}


_EPSILONS = (None, 10.0, 2.0, 0.5)  # total ε of the lists that one person sees
_ENOUGH = 50  # ratings of an item that is listed, unless fewer than ``_TO_CHOOSE`` have them
_TO_CHOOSE = 20
Entries = list[tuple[int, str]]


def _show_lists(shown: Sequence[RunResult | None]) -> None:
    """Draw how much of one person's list survives at each ε, the lists, and why they differ."""
    results = [result for result in shown if result is not None]
    train = results[0].split.train
    rating_counts = train.per_item
    with st.container(horizontal=True):
        user = controls.whole("User", "list_user", 1, train.n_users, 1) - 1
        usual = min(_ENOUGH, int(np.sort(rating_counts)[-min(_TO_CHOOSE, rating_counts.size)]))
        enough = controls.whole(
            "Ratings of a listed item, at least", "list_enough", 0, int(rating_counts.max()), usual
        )
    entries = [top_entries(result, user, enough) for result in results]
    clean = {item for item, _ in entries[0]}
    shared = [sum(item in clean for item, _ in listed) for listed in entries]
    noisy = list(zip(results, shared, entries, strict=True))[1:]
    overlaps = ", ".join(f"{count} at ε = {_epsilon(r.spec)}" for r, count, _ in noisy)
    verdict(
        f"Of this person's {len(clean)} recommended items, {overlaps} stay the same."
        if noisy
        else "No private list is finished yet: this is the list without noise."
    )
    if noisy:
        _overlap(noisy, len(clean))
    show_table(
        _table(results, entries, clean),
        f"Ten best items for user {user + 1}, without privacy and at {len(noisy)} ε.",
    )
    observations(_reasons(results, entries, clean, rating_counts, user))
    python_lines.of_runs([(item.label, item.result.spec) for item in _named(results)])
    tab("Method", "method", lambda: _method(results, user, enough))
    tab("Protection", "accounts", lambda: _protection_at_each_epsilon(results))
    tab("Export", "export", lambda: export(_named(results)))


def _overlap(noisy: list[tuple[RunResult, int, Entries]], clean: int) -> None:
    names = [f"ε = {_epsilon(result.spec)}" for result, _, _ in noisy]
    counts = [float(count) for _, count, _ in noisy]
    figure = bars(
        names, counts, [], LINES[0][0], "shared items", {"non-private list": float(clean)}
    )
    figure.update_layout(height=260)
    numbers = pd.DataFrame({"list": names, "shared": counts})
    summary = ", ".join(f"{n}: {c:.0f}" for n, c in zip(names, counts, strict=True))
    show(figure, "overlap", f"Items shared with the non-private list: {summary}.", numbers)


def _table(results: list[RunResult], entries: list[Entries], clean: set[int]) -> pd.DataFrame:
    return ranked(
        {
            _heading(r.spec): ["● " * (item in clean and k > 0) + text for item, text in listed]
            for k, (r, listed) in enumerate(zip(results, entries, strict=True))
        }
    )


def _reasons(
    results: list[RunResult],
    entries: list[Entries],
    clean: set[int],
    rating_counts: np.ndarray,
    user: int,
) -> list[str]:
    """What noise changed, and why: by how many ratings each list's items have."""
    out = []
    for result, listed in list(zip(results, entries, strict=True))[:0:-1]:
        gone = [item for item in clean if item not in {i for i, _ in listed}]
        new = [item for item, _ in listed if item not in clean]
        if gone and new:
            out.append(
                f"At ε = {_epsilon(result.spec)}, {len(new)} items are new. They have "
                f"{np.median(rating_counts[new]):,.0f} ratings in the median, those that left "
                f"{np.median(rating_counts[gone]):,.0f}."
            )
    quiet, *others = results
    for result in others[-1:]:
        change = result.final.test_rmse_clipped - quiet.final.test_rmse_clipped
        out += [
            _moved(quiet, result, user, rating_counts),
            f"For everybody together, the held-out RMSE changes by {signed(change, 3)} at ε = "
            f"{_epsilon(result.spec)}.",
        ]
    return out


def _moved(quiet: RunResult, noisy: RunResult, user: int, rating_counts: np.ndarray) -> str:
    """How far noise moves this person's predictions, for rarely and for often rated items."""
    one = np.array([user])
    moved = np.abs(noisy.model.block(one)[0] - quiet.model.block(one)[0])
    middle = float(np.median(rating_counts))
    clause = (
        f"At ε = {_epsilon(noisy.spec)}, noise moves predictions by "
        f"{moved[rating_counts <= middle].mean():.2f} rating units in the mean for items "
        f"with at most {middle:,.0f} ratings"
    )
    often = moved[rating_counts > middle]
    return f"{clause}, by {often.mean():.2f} for the others." if often.size else f"{clause}."


def _method(results: list[RunResult], user: int, enough: int) -> None:
    train = results[0].split.train
    rated = int((train.users == user).sum())
    st.markdown(
        f"{controls.plain(train.user_label(user).capitalize())} rated {rated} items in the "
        "training data, which are left out. Each list is computed from this person's own ratings "
        "without noise, for them alone; what other people add to it is noisy (joint DP)."
    )
    st.markdown(
        "How many items are shared says how far noise moves a list, not which list is better. "
        f"Only items with at least {enough} ratings are ranked: without noise, a model ranks "
        "items with two or three ratings first, by chance. These counts are exact: they describe "
        "data that you hold, and are no release. ● marks items of the non-private list. In "
        "brackets the predicted rating, clipped to the scale; ties are in the order of the "
        "unclipped prediction."
    )
    for named in _named(results):
        st.markdown(f"- {texts.beaten_sentence(named)}")


def _protection_at_each_epsilon(results: list[RunResult]) -> None:
    for named in cards(_named(results)):
        st.markdown(f"**{named.title}**")
        protection(named.result)


def _named(results: list[RunResult]) -> list[Named]:
    return [
        Named(letter, _title(result.spec), result)
        for letter, result in zip(LETTERS, results, strict=False)
    ]


def _epsilon(spec: RunSpec) -> str:
    return three(spec.noise.epsilon or 1.0)


def _heading(spec: RunSpec) -> str:
    """A column's heading, short enough for a phone."""
    return "non-private" if spec.noise.mechanism == "none" else f"ε = {_epsilon(spec)}"


def _title(spec: RunSpec) -> str:
    return f"{spec.card.title}, {_heading(spec)}"


def recommend(built: Built, row: DeltaGenerator) -> None:
    """Run up to three configurations, and compare what they recommend."""
    draw_panel(
        Panel(
            kind="recommend",
            wanted=built.specs,
            problem=built.problem,
            step="step",
            so_far=so_far,
            show=results_of,
            example=Example.of_runs(
                "4,000 synthetic users and 300 items, total ε = 5",
                tuple(RunSpec.fitting(LIKES, algorithm=n) for n in ("moments", "dpals", "popular")),
                results_of,
            ),
            row=row,
            seed="seed",
        )
    )


def lists_at_each_epsilon(built: Built, row: DeltaGenerator) -> None:
    """Show one person's ten best without privacy and at three ε."""

    def at_each(specs: Iterable[RunSpec]) -> tuple[RunSpec, ...]:
        ways = [{"epsilon": e} if e else {"mechanism": "none", "epsilon": None} for e in _EPSILONS]
        return tuple(spec.replace(**way) for spec in specs for way in ways)

    draw_panel(
        Panel(
            kind="lists",
            wanted=at_each(built.specs),
            problem=built.problem,
            step="iteration",
            so_far=lambda job: errors_so_far(job, True),
            show=_show_lists,
            example=Example.of_runs(
                "4,000 synthetic users and 300 items, which have no names (MovieLens has titles)",
                at_each([RunSpec.fitting(PEOPLE)]),
                _show_lists,
            ),
            row=row,
            seed="seed",
        )
    )
