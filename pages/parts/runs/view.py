"""Kept runs in one figure and side by side, and what stands there where there are none."""

import json
import math
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from io import BytesIO

import pandas as pd
import streamlit as st

from dpmc_core.datasets.catalogue import catalogue
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.examples import example
from dpmc_core.experiments.run import TASKS, better
from dpmc_core.experiments.store.records import Record, Runs, spec_of
from dpmc_core.experiments.store.store import RunStore, StoreError
from dpmc_core.wording import JsonObject, counted, three
from pages.parts.frame import python_lines, share
from pages.parts.frame.page import cards, tab, verdict
from pages.parts.server import run_store, settings
from pages.parts.server.layers import edge
from pages.parts.ui import controls, on_screen
from pages.parts.ui.figures import Drawn, figure, show
from pages.parts.ui.labels import log_ticks
from pages.parts.ui.links import plain, plain_in_figure
from pages.parts.ui.looks import BASELINE, BEST, IDENTITY, Identity, curve, name_above
from pages.parts.ui.on_screen import download, show_table


def take_all(store: RunStore, where: dict[str, tuple[str, ...]]) -> None:
    """Offer all filtered runs as files."""

    def parquet() -> bytes:
        buffer = BytesIO()
        pd.DataFrame(store.rows(where)).to_parquet(buffer, index=False)
        return buffer.getvalue()

    download("Rows (CSV)", "dpmc-runs.csv", lambda: pd.DataFrame(store.rows(where)))
    download("Rows (Parquet)", "dpmc-runs.parquet", parquet)
    st.caption(
        "Every row holds its whole spec as JSON, so that it can be run again. Steps, ledger "
        "and statement of single runs: pick them above."
    )


def of_compared(records: Sequence[Record], of_file: Set[str]) -> None:
    """Offer the compared runs as a file, and to delete those of the store where that is allowed."""
    download(
        "These runs whole: steps, ledgers, statements (JSON)",
        "dpmc-runs.json",
        lambda: [r.summary for r in records],
        icon=":material/download:",
    )
    keys = tuple(r.key for r in records if r.key not in of_file)
    who = settings.of("DPMC_DELETE_RUNS")
    if keys and (who == 1 or (who == 2 and edge.for_this_machine())):
        _deleting(keys)


def _deleting(keys: tuple[str, ...]) -> None:
    """Delete the picked runs, after a second press."""
    with st.popover(f"Delete {len(keys)} run{'s' * (len(keys) != 1)}…", icon=":material/delete:"):
        st.markdown(
            "They are gone for everybody who uses this store, and cannot be brought back. "
            "Running their specs again gives the same numbers."
        )
        st.button("Yes, delete", key="delete-runs", on_click=_forget, args=(keys,))


def _forget(keys: tuple[str, ...]) -> None:
    """Delete the runs that the visitor saw when pressing, whatever was added since."""
    gone = run_store.store().delete(keys)
    st.query_params.pop("runs", None)
    st.session_state["runs-note"] = f"{gone} run{'s were' if gone != 1 else ' was'} deleted."


def look_of(mechanism: str) -> Identity:
    """How a mechanism looks; one that this release does not know looks like none."""
    return IDENTITY.get(mechanism, IDENTITY["none"])


@lru_cache(maxsize=1)
def titles() -> dict[str, dict[str, str]]:
    """What the values of columns are called, as far as this release knows them."""
    return {
        "dataset": {name: one.title for name, one in catalogue().items()},
        "algorithm": {name: one.title for name, one in ALGORITHMS.items()},
        "mechanism": {name: look.title for name, look in IDENTITY.items()},
        "unit": {"": "nobody"},
    }


def titled(column: str, value: str) -> str:
    """A value as a visitor reads it; as it is where this release does not know it."""
    return titles()[column].get(value, value)


MOST_COMPARED = 8


def filters(store: RunStore) -> dict[str, tuple[str, ...]]:
    """Draw the filters above the figure; returns what they leave of each column."""
    values = store.values()
    out = {}
    with st.container(horizontal=True, key="filters"):
        for column, label in (
            ("dataset", "Datasets"),
            ("algorithm", "Algorithms"),
            ("mechanism", "Mechanisms"),
            ("unit", "Who is protected"),
        ):
            out[column] = controls.any_of(
                label, f"r_{column}", {v: titled(column, v) for v in values[column]}
            )
    return {column: chosen for column, chosen in out.items() if chosen}


def picked(
    rows: Sequence[JsonObject], total: int, mine: Mapping[str, str], of_file: Set[str]
) -> list[str]:
    """Draw the table, which says how runs are ``mine`` and which are known from a file alone;
    returns the keys of up to ``MOST_COMPARED`` ticked runs.
    """
    st.caption(
        f"{total:,} run{'s' * (total != 1)}"
        + (f", the latest {len(rows)} of them below" if total > len(rows) else "")
        + ", of everybody who uses this server; what you ran, also in a "
        "sweep, study or plan, is first. "
        f"Tick up to {MOST_COMPARED} to compare."
        + f" From your file, not computed here: {len(of_file):,}."
        * bool(of_file)
    )
    shown = pd.DataFrame([{"mine": mine.get(row["key"], "")} | _cells(row) for row in rows])
    if of_file:
        shown["from a file"] = [row["key"] in of_file for row in rows]
    event = show_table(
        shown,
        f"The latest {len(rows)} of {total:,} kept runs.",
        highest=420,
        on_select="rerun",
        # row numbers are picked: with other rows, begin again
        key=f"runs-table-{hash(tuple(row['key'] for row in rows))}",
        column_config={
            "result": st.column_config.NumberColumn(format="%.4f"),
            "best baseline": st.column_config.NumberColumn(format="%.4f"),
        },
    )
    keys = [rows[k]["key"] for k in event["selection"]["rows"] if k < len(rows)]
    if len(keys) > MOST_COMPARED:
        st.warning(
            f"{len(keys)} runs are ticked; the first {MOST_COMPARED} are compared, and only "
            "those can be deleted here. To delete many use the command line: python -m "
            "dpmc_core runs delete.",
            icon=":material/checklist:",
        )
    return keys[:MOST_COMPARED]


def _cells(row: JsonObject) -> JsonObject:
    """Write one row as a visitor reads it."""
    published = row["epsilon_published"]
    return {
        "when (UTC)": row["created"][:16].replace("T", " "),
        "dataset": titled("dataset", row["dataset"]),
        "algorithm": titled("algorithm", row["algorithm"]),
        "noise": titled("mechanism", row["mechanism"]),
        "ε stated": _stated(row),
        "result": row["value"],
        "best baseline": row["baseline"],
        "measure": row["error"] or row["measure"],
        "ε by published results": "–" if published is None else three(published),
        "accounting": (
            f"{'nominal' if row['nominal'] else 'guarantee'}, one {row['unit']}"
            if row["unit"]
            else ""
        ),
        "seed": row["seed"],
        "seconds": round(row["seconds"], 2),
    }


def _stated(row: JsonObject) -> str:
    if row["mechanism"] == "none":
        return "no noise"
    return "none finite" if row["epsilon"] is None else three(row["epsilon"])


def to_compare(store: Runs, ticked: Sequence[str], linked: Sequence[str]) -> list[Record]:
    """Find the runs to compare: those ``ticked``, or else those ``linked``.

    The address names the latter, and follows the ticks. A sentence says so where runs are not
    in the store.
    """
    keys = _keys(ticked, linked)
    records = store.find(keys, whole=True)
    missing = [key for key in keys if key not in records]
    if missing:
        st.warning(
            controls.plain(
                f"{len(missing)} run{'s' * (len(missing) != 1)} of this link "
                f"{'are' if len(missing) != 1 else 'is'} not in the store: deleted, or of "
                "another store."
            ),
            icon=":material/link_off:",
        )
    return [records[key] for key in keys if key in records]


def _keys(ticked: Sequence[str], linked: Sequence[str]) -> list[str]:
    # with the last tick taken away nothing is compared
    if not ticked and not st.session_state.get("runs-ticked"):
        return list(linked)
    st.session_state["runs-ticked"] = bool(ticked)
    if ticked:
        st.query_params["runs"] = ",".join(ticked)
    else:
        st.query_params.pop("runs", None)
    return list(ticked)


_INSIDE = ("-open", "", "-open-dot")  # of markers, for one algorithm after the other


def distances(rows: Sequence[JsonObject], measure: str) -> Drawn:
    """Each run's result minus its best baseline's, against stated ε."""
    finite = [row["epsilon"] for row in rows if row["epsilon"] is not None]
    least, most = min(finite, default=1.0), max(finite, default=1.0)
    # those without a finite ε stand beyond the others, so far that no tick's number meets theirs
    beyond = 0.3 + 0.2 * math.log10(most / least)
    right = most * 10**beyond
    unit = f" ({measure.rpartition('(')[2]}" * ("(" in measure)
    beside = ", mechanisms side by side" * (
        len({row["mechanism"] for row in rows if row["epsilon"]}) > 1
    )
    fig = figure(f"stated total ε (log scale{beside})", f"result − best baseline{unit}", height=380)
    algorithms = [a for a in ALGORITHMS if any(row["algorithm"] == a for row in rows)]
    algorithms += sorted({row["algorithm"] for row in rows} - {*algorithms})  # of other releases
    mechanisms = [m for m in IDENTITY if any(row["mechanism"] == m for row in rows)]
    mechanisms += sorted({row["mechanism"] for row in rows} - {*mechanisms})
    curve(fig, BEST, [least / 2, right * 2], [0.0, 0.0], hoverinfo="skip")
    named = [
        (look.title, _marker(look.colour, look.marker + "-open", 8))
        for look in map(look_of, mechanisms)
    ]
    for k, algorithm in enumerate(algorithms if len(algorithms) > 1 else ()):
        inside, size = _sign(k)
        named.append((titled("algorithm", algorithm), _marker(BASELINE, f"circle{inside}", size)))
    for name, marker in named:
        name = plain_in_figure(name)
        fig.add_scatter(x=[None], y=[None], mode="markers", name=name, marker=marker)
    # side by side, so that mechanisms do not hide one another
    apart = 0.014 * math.log10(right / least)
    for algorithm, mechanism in dict.fromkeys((r["algorithm"], r["mechanism"]) for r in rows):
        look = look_of(mechanism)
        these = [r for r in rows if (r["algorithm"], r["mechanism"]) == (algorithm, mechanism)]
        inside, size = _sign(algorithms.index(algorithm))
        shift = 10 ** (apart * (mechanisms.index(mechanism) - (len(mechanisms) - 1) / 2))
        fig.add_scatter(
            x=[shift * row["epsilon"] if row["epsilon"] else right for row in these],
            y=[row["value"] - row["baseline"] for row in these],
            mode="markers",
            showlegend=False,
            marker=_marker(look.colour, look.marker + inside, size),
            text=[
                plain_in_figure(
                    f"{titled('dataset', row['dataset'])}, "
                    f"{titled('algorithm', row['algorithm'])}, {look.title}, "
                    + (f"ε = {three(row['epsilon'])}" if row["epsilon"] else "no finite ε")
                    + f", seed {row['seed']}: "
                    f"{row['value']:.4f}, best baseline {row['baseline']:.4f}"
                )
                for row in these
            ],
            hovertemplate="%{text}<extra></extra>",
        )
    # two names beside each other on a phone, where a column of them would be cut
    narrow = {} if on_screen.presenting() else {"entrywidth": 88, "font.size": 11}
    name_above(fig, hovermode="closest", legend=narrow)
    fig.update_xaxes(
        type="log",
        **log_ticks(least / 1.3, most * 10 ** (0.3 * beyond), no_ε=right),
        range=[math.log10(least / 1.3), math.log10(right * 1.3)],
    )
    return fig, _numbers(rows)


def _sign(place: int) -> tuple[str, int]:
    """The inside and the size of the markers of the algorithm at a ``place``."""
    return _INSIDE[place % len(_INSIDE)], 8 + 4 * (place // len(_INSIDE))


def _marker(colour: str, symbol: str, size: int) -> JsonObject:
    line = {"width": 1.5, "color": colour}
    return {"color": colour, "symbol": symbol, "size": size, "line": line}


def _numbers(rows: Sequence[JsonObject]) -> pd.DataFrame:
    columns = ("dataset", "algorithm", "mechanism")
    return pd.DataFrame(
        [
            {
                **{name: titled(name, row[name]) for name in columns},
                "seed": row["seed"],
                "stated total ε": row["epsilon"],
                row["measure"]: row["value"],
                "best baseline": row["baseline"],
            }
            for row in rows
        ]
    )


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


def picture(rows: Sequence[JsonObject]) -> None:
    """Draw how far the listed runs are from the best baseline, against their stated ε.

    By their most common measure; the stored example where none can be drawn.
    """
    some = [
        row
        for row in rows
        if row["measure"] in _MEASURES and None not in (row["value"], row["baseline"])
    ]
    if not some:
        if rows:
            st.caption(
                "None of the listed runs can be drawn. Shown are the stored runs behind the "
                "Tradeoffs page."
            )
        on_screen.now().note = "Example: "
        some = [vars(record) for _, record in example("tradeoffs", "user").runs]
        python_lines.of_stored_sweep("user")
    else:
        on_screen.add_lines("The runs kept where this runs", _KEPT)
    measures = [row["measure"] for row in some]
    measure = max(dict.fromkeys(measures), key=measures.count)
    some = [row for row in some if row["measure"] == measure]
    beaten = [row for row in some if better(measure, row["value"], row["baseline"])]
    beat = len(beaten)
    quiet = sum(row["mechanism"] == "none" for row in beaten)
    sentence = (
        f"{beat:,} of {counted(len(some), 'single run', 'single runs')} "
        f"{'is' if beat == 1 else 'are'} better than the best baseline, by "
        f"{measure.partition(' (')[0]}" + (f" ({quiet:,} of them without noise)." if quiet else ".")
    )
    verdict(sentence)
    left_out = max(len(rows) - len(some), 0)
    others = f"Not drawn: {left_out:,} of the listed runs, with another measure or an error."
    show(distances(some, measure), "runs", f"{sentence} {others}" if left_out else sentence)
    if left_out:
        st.caption(others)


_KEPT = """\
from dpmc_core.experiments.store.store import RunStore

for row in RunStore().rows({}, limit=20):
    print(row)
"""


def without_store(error: StoreError) -> None:
    """Say that the store cannot be read, and draw the stored runs."""
    st.error(plain(run_store.public_message(error)), icon=":material/database_off:")
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


def title_of(record: Record) -> str:
    """What a run is, short."""
    return f"{titled('algorithm', record.algorithm)}, {look_of(record.mechanism).title}"


def compare(records: Sequence[Record]) -> None:
    """Side by side: results, what differs in their settings, and the measure per step."""
    st.subheader("Side by side", anchor=False)
    for letter, record in cards([*zip(_LETTERS, records, strict=False)], 4):
        st.markdown(f"**{letter} · {plain(title_of(record))}**")
        if record.error or record.value is None or record.baseline is None:
            st.markdown(plain(record.error or "It has no result."))
            continue
        st.metric("result", f"{record.value:.4f}")
        label = record.summary.get("statement", {}).get("label", "no statement is kept")
        how = "not compared (another release's measure) with"
        if record.measure in _MEASURES:
            beaten = better(record.measure, record.value, record.baseline)
            how = "better than" if beaten else "not better than"
        st.caption(
            f"{plain(record.measure)}  \n"
            f"{how} the best baseline ({three(record.baseline)})  \n"
            f"{plain(titled('dataset', record.dataset))}, seed {record.seed}  \n"
            f"**{plain(label)}**"
        )
    specs = _specs(records)
    settings = {  # as they were kept where this release cannot read them
        letter: json.loads(record.spec) if isinstance(spec, str) else spec.flat()
        for (letter, spec), record in zip(specs.items(), records, strict=True)
    }
    names = sorted({name for some in settings.values() for name in some})
    rows = [
        {"setting": n, **{k: _shown(some.get(n)) for k, some in settings.items()}}
        for n in names
        if len({json.dumps(some.get(n)) for some in settings.values()}) > 1
    ]
    if rows:
        st.markdown("**What differs in their settings**")
        show_table(rows, "Settings that differ between the picked runs.")
    elif len(records) > 1:
        st.caption("Their settings are the same.")
    _steps(records)
    python_lines.of_runs([(x, spec) for x, spec in specs.items() if not isinstance(spec, str)])
    tab("Commands", "elsewhere", lambda: _elsewhere(specs))


def _elsewhere(specs: Mapping[str, RunSpec | str]) -> None:
    for letter, spec in specs.items():
        if isinstance(spec, str):
            st.caption(spec)
        else:
            python_lines.elsewhere(letter, spec)


def _specs(records: Sequence[Record]) -> dict[str, RunSpec | str]:
    """The settings of each run by its letter, or why they cannot be read."""
    specs: dict[str, RunSpec | str] = {}
    for letter, record in zip(_LETTERS, records, strict=False):
        try:
            specs[letter] = spec_of(record.kind, record.spec)
        except DPMCError as error:
            specs[letter] = plain(
                f"{letter} was made by another release, whose settings this one cannot read "
                f"({error})."
            )
    return specs


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
        steps = pd.DataFrame(record.summary["steps"])
        x, y = steps["iteration"], steps[field]
        look = look_of(record.mechanism)
        name = plain_in_figure(f"{_LETTERS[k]} · {title_of(record)}")
        curve(fig, look, x, y, name=name, line=look.line(dash=_WAYS[k]))
        rows.append(pd.DataFrame({"run": _LETTERS[k], "step": x, field: y}))
    name_above(fig)
    show(
        fig,
        "runs-steps",
        f"The measure after each step of {len(good)} picked runs.",
        pd.concat(rows),
    )
