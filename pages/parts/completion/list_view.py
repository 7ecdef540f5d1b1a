"""One person's ten best items without privacy and at three ε, on the *Completion* page."""

import numpy as np
import pandas as pd
import streamlit as st

from dpmc_core.experiments import RunResult, RunSpec
from dpmc_core.wording import signed, three
from pages.parts.completion import texts
from pages.parts.completion.charts import Named, top_entries
from pages.parts.completion.compare_view import export, protection
from pages.parts.frame import python_lines
from pages.parts.frame.page import observations, tab, verdict
from pages.parts.ui import controls
from pages.parts.ui.figures import bars, show
from pages.parts.ui.looks import LETTERS, LINES

_ENOUGH = 50  # ratings of an item that is listed, unless fewer than ``_TO_CHOOSE`` have them
_TO_CHOOSE = 20
_LISTED = 10
Entries = list[tuple[int, str]]


def lists(results: list[RunResult]) -> None:
    """Draw how much of one person's list survives at each ε, the lists, and why they differ."""
    train = results[0].split.train
    known = np.bincount(train.items, minlength=train.n_items)
    with st.container(horizontal=True):
        user = controls.whole("User", "list_user", 1, train.n_users, 1) - 1
        usual = min(_ENOUGH, int(np.sort(known)[-min(_TO_CHOOSE, known.size)]))
        enough = controls.whole(
            "Ratings of a listed item, at least", "list_enough", 0, int(known.max()), usual
        )
    entries = [top_entries(result, user, enough) for result in results]
    clean = {item for item, _ in entries[0]}
    shared = [sum(item in clean for item, _ in found) for found in entries]
    noisy = list(zip(results, shared, entries, strict=True))[1:]
    said = ", ".join(f"{count} at ε = {_epsilon(r.spec)}" for r, count, _ in noisy)
    verdict(
        f"Of this person's {len(clean)} recommended items, {said} stay the same."
        if noisy
        else "No private list is finished yet: this is the list without noise."
    )
    if noisy:
        _overlap(noisy, len(clean))
    st.dataframe(
        _table(results, entries, clean),
        hide_index=True,
        alt=f"Ten best items for user {user + 1}, without privacy and at {len(noisy)} ε.",
    )
    observations(_reasons(results, entries, known, user))
    python_lines.of_runs([(item.label, item.result.spec) for item in _named(results)])
    tab("Method", "method", lambda: _method(results, user, enough))
    tab("Protection", "accounts", lambda: _accounts(results))
    tab("Export", "export", lambda: export(_named(results)))


def _overlap(noisy: list[tuple[RunResult, int, Entries]], clean: int) -> None:
    names = [f"ε = {_epsilon(result.spec)}" for result, _, _ in noisy]
    counts = [float(count) for _, count, _ in noisy]
    figure = bars(
        names,
        counts,
        [0.0] * len(names),
        [LINES[0][0]] * len(names),
        "shared items",
        {"non-private list": float(clean)},
    )
    figure.update_layout(height=260)
    numbers = pd.DataFrame({"list": names, "shared": counts})
    said = ", ".join(f"{n}: {c:.0f}" for n, c in zip(names, counts, strict=True))
    show(figure, "overlap", f"Items shared with the non-private list: {said}.", numbers)


def _table(results: list[RunResult], entries: list[Entries], clean: set[int]) -> pd.DataFrame:
    columns = {
        _heading(r.spec): [("● " if item in clean and k else "") + said for item, said in found]
        + [""] * (_LISTED - len(found))
        for k, (r, found) in enumerate(zip(results, entries, strict=True))
    }
    frame = pd.DataFrame(columns)
    frame.insert(0, "rank", range(1, _LISTED + 1))
    return frame


def _reasons(
    results: list[RunResult], entries: list[Entries], known: np.ndarray, user: int
) -> list[str]:
    """What noise changed, and why: by how many ratings each list's items have."""
    clean = {item for item, _ in entries[0]}
    out = []
    for result, found in list(zip(results, entries, strict=True))[:0:-1]:
        gone = [item for item in clean if item not in {i for i, _ in found}]
        new = [item for item, _ in found if item not in clean]
        if gone and new:
            out.append(
                f"At ε = {_epsilon(result.spec)}, {len(new)} items are new. They have "
                f"{np.median(known[new]):,.0f} ratings in the median, those that left "
                f"{np.median(known[gone]):,.0f}."
            )
    quiet, *others = results
    if others:
        out.append(_moved(quiet, others[-1], user, known))
    for result in others[-1:]:
        change = result.final.test_rmse_clipped - quiet.final.test_rmse_clipped
        out.append(
            f"For everybody together, the held-out RMSE changes by {signed(change, 3)} at ε = "
            f"{_epsilon(result.spec)}."
        )
    return out


def _moved(quiet: RunResult, noisy: RunResult, user: int, known: np.ndarray) -> str:
    """How far noise moves this person's predictions, for rarely and for often rated items."""
    one = np.array([user])
    moved = np.abs(noisy.model.block(one)[0] - quiet.model.block(one)[0])
    middle = float(np.median(known))
    said = (
        f"At ε = {_epsilon(noisy.spec)}, noise moves predictions by "
        f"{moved[known <= middle].mean():.2f} rating units in the mean for items with at most "
        f"{middle:,.0f} ratings"
    )
    often = moved[known > middle]
    return f"{said}, by {often.mean():.2f} for the others." if often.size else f"{said}."


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
        st.markdown(f"- {texts.beaten_by(named.title, named.result)}")


def _accounts(results: list[RunResult]) -> None:
    for column, named in zip(st.columns(len(results)), _named(results), strict=True):
        with column.container(border=True):
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
