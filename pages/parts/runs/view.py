"""Kept runs in one figure and side by side, and what stands there where there are none."""

import json
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.run import TASKS, better
from dpmc_core.experiments.store.records import Record, spec_of
from dpmc_core.experiments.store.store import StoreError
from dpmc_core.experiments.sweeps.tradeoff import examples
from dpmc_core.wording import counted, three
from pages.parts.frame import python_lines, share
from pages.parts.frame.page import fold, verdict
from pages.parts.runs.chart import distances
from pages.parts.runs.names import look_of, titled
from pages.parts.server import run_store
from pages.parts.ui import on_screen
from pages.parts.ui.figures import figure, show
from pages.parts.ui.links import plain, plain_in_figure
from pages.parts.ui.looks import curve, name_above
from pages.parts.ui.on_screen import code

_WAYS = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid", "dash")
_LETTERS = "ABCDEFGH"
_MEASURES = {task.measure for task in TASKS.values()}  # what other releases kept may have others


def only_in_a_tab() -> None:
    """What the page says inside another site's."""
    st.info(
        "Past runs are shown in a tab of their own only: here they can be deleted, and another "
        "site could have you click on what you do not see. (A browser without cookies looks the "
        "same from here: allow them for this site.)",
        icon=":material/tab:",
    )
    share.own_tab("Open past runs")


def picture(rows: Sequence[dict[str, Any]]) -> None:
    """Draw how far the listed runs are from the best baseline, against their stated ε.

    By their most common measure; the stored example where none can be drawn.
    """
    some = [row for row in rows if row["measure"] in _MEASURES and _has_result(row)]
    if not some:
        if rows:
            st.caption(
                "None of the listed runs can be drawn. Shown are the stored runs behind the "
                "Tradeoffs page."
            )
        on_screen.now().note = "Example: "
        some = example()
        python_lines.of_stored_sweep("user")
    else:
        on_screen.add_lines("The runs kept where this runs", _KEPT)
    measures = [row["measure"] for row in some]
    measure = max(dict.fromkeys(measures), key=measures.count)
    some = [row for row in some if row["measure"] == measure]
    beat = sum(better(measure, row["value"], row["baseline"]) for row in some)
    quiet = sum(
        better(measure, row["value"], row["baseline"]) and row["mechanism"] == "none"
        for row in some
    )
    said = (
        f"{beat:,} of {counted(len(some), 'single run', 'single runs')} "
        f"{'is' if beat == 1 else 'are'} better than the best baseline, by "
        f"{measure.partition(' (')[0]}" + (f" ({quiet:,} of them without noise)." if quiet else ".")
    )
    verdict(said)
    left_out = max(len(rows) - len(some), 0)
    others = f"Not drawn: {left_out:,} of the listed runs, with another measure or an error."
    show(distances(some, measure), "runs", f"{said} {others}" if left_out else said)
    if left_out:
        st.caption(others)


_KEPT = """\
from dpmc_core.experiments.store.store import RunStore

for row in RunStore().rows({}, limit=20):
    print(row)
"""


def _has_result(row: dict[str, Any]) -> bool:
    return row["value"] is not None and row["baseline"] is not None


def without_store(error: StoreError) -> None:
    """Say that the store cannot be read, and draw the stored runs."""
    st.error(plain(run_store.told(error)), icon=":material/database_off:")
    st.caption(
        "The other pages work all the same; what they run is shown but not kept until this is "
        "mended. Shown are the stored runs behind the Tradeoffs page."
    )
    picture([])


def nothing_kept(*, filtered: bool) -> None:
    """Say that no run is kept, or none that fits what was chosen (``filtered``)."""
    st.caption(
        ":material/history: "
        + (
            "No run is kept that fits what you chose on the left."
            if filtered
            else "No run is kept yet: run something on Completion or Tradeoffs, and come back."
        )
        + " Shown are the stored runs behind the Tradeoffs page."
    )


def example() -> list[dict[str, Any]]:
    """Rows of the runs that come with the app."""
    return [
        {
            "value": value,
            "baseline": point.baselines[k],
            "epsilon": point.epsilon,
            "measure": point.measure,
            "mechanism": point.spec.noise.mechanism,
            "dataset": point.spec.dataset,
            "algorithm": point.spec.card.name,
            "seed": k,
        }
        for point in examples()["user"][1]
        for k, value in point.values.items()
    ]


def title_of(record: Record) -> str:
    """What a run is, short."""
    return f"{titled('algorithm', record.algorithm)}, {look_of(record.mechanism).title}"


def compare(records: Sequence[Record]) -> None:
    """Side by side: results, what differs in their settings, and the measure per step."""
    st.subheader("Side by side", anchor=False)
    for first in range(0, len(records), 4):
        for column, (k, record) in zip(
            st.columns(4), list(enumerate(records))[first : first + 4], strict=False
        ):
            with column.container(border=True):
                st.markdown(f"**{_LETTERS[k]} · {plain(title_of(record))}**")
                if record.error or record.value is None or record.baseline is None:
                    st.markdown(plain(record.error or "It has no result."))
                    continue
                st.metric("result", f"{record.value:.4f}")
                label = record.summary.get("statement", {}).get("label", "no statement is kept")
                st.caption(
                    f"{plain(record.measure)}  \n"
                    f"{beats(record)} the best baseline ({three(record.baseline or 0.0)})  \n"
                    f"{plain(titled('dataset', record.dataset))}, seed {record.seed}  \n"
                    f"**{plain(str(label))}**"
                )
    specs = {_LETTERS[k]: _settings(r) for k, r in enumerate(records)}
    names = sorted({name for spec in specs.values() for name in spec})
    differing = [n for n in names if len({json.dumps(spec.get(n)) for spec in specs.values()}) > 1]
    if len(records) > 1 and differing:
        st.markdown("**What differs in their settings**")
        frame = pd.DataFrame(
            [
                {"setting": n, **{k: _shown(spec.get(n)) for k, spec in specs.items()}}
                for n in differing
            ]
        )
        st.dataframe(frame, hide_index=True, alt="Settings that differ between the picked runs.")
    elif len(records) > 1:
        st.caption("Their settings are the same.")
    _steps(records)
    python_lines.of_runs([(x, s) for x, s in _specs(records).items() if not isinstance(s, str)])
    fold("The same runs elsewhere", "elsewhere", lambda: _elsewhere(records))


def _elsewhere(records: Sequence[Record]) -> None:
    for letter, spec in _specs(records).items():
        if isinstance(spec, str):
            st.caption(spec)
            continue
        st.markdown(f"**{letter}** on the command line, and in Python:")
        code(spec.command(), "bash")
        code(spec.python(), "python")


def _specs(records: Sequence[Record]) -> dict[str, RunSpec | str]:
    """The settings of each run by its letter, or why they cannot be read."""
    found: dict[str, RunSpec | str] = {}
    for letter, record in zip(_LETTERS, records, strict=False):
        try:
            found[letter] = spec_of(record.kind, record.spec)
        except DPMCError as error:
            found[letter] = plain(
                f"{letter} was made by another release, whose settings this one cannot read "
                f"({error})."
            )
    return found


def _settings(record: Record) -> dict[str, Any]:
    """A run's settings, flat; as they were kept where this release cannot read them."""
    try:
        return spec_of(record.kind, record.spec).flat()
    except DPMCError:
        found = json.loads(record.spec)
        return found if isinstance(found, dict) else {}


def beats(record: Record) -> str:
    """Say whether a run is better than the best baseline, by its one number."""
    assert record.value is not None  # the caller has no others
    assert record.baseline is not None
    if record.measure not in _MEASURES:
        return "not compared (another release's measure) with"
    beaten = better(record.measure, record.value, record.baseline)
    return "better than" if beaten else "not better than"


def _shown(value: object) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _steps(records: Sequence[Record]) -> None:
    """The measure of each step."""
    fields = ("test_rmse_clipped", "recall", "objective")
    good = [
        (k, r)
        for k, r in enumerate(records)
        if not r.error and r.summary.get("steps") and {*fields} & {*r.summary["steps"][0]}
    ]
    measures = {r.measure for _, r in good}
    if len(measures) != 1:
        if good:
            st.caption("Their measures differ, so that their steps are not drawn together.")
        return
    fig = figure("step", plain_in_figure(measures.pop()), height=340)
    rows = []
    for k, record in good:
        field = next(f for f in fields if f in record.summary["steps"][0])
        x, y = (
            [s["iteration"] for s in record.summary["steps"]],
            [s[field] for s in record.summary["steps"]],
        )
        look = look_of(record.mechanism)
        name = plain_in_figure(f"{_LETTERS[k]} · {title_of(record)}")
        curve(fig, look, x, y, name=name, line=look.line(dash=_WAYS[k]))
        rows.append(pd.DataFrame({"run": _LETTERS[k], "step": x, field: y}))
    name_above(fig, margin={"r": 20})
    show(
        fig,
        "runs-steps",
        f"The measure after each step of {len(good)} picked runs.",
        pd.concat(rows),
    )
