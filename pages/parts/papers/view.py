"""The papers' tables as a page shows them.

The overview of verdicts, one table with its picture, claims and origin, and one new trial.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations

import numpy as np
import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from dpmc_core.datasets import entry as dataset
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.examples import example
from dpmc_core.experiments.papers import (
    ENTRIES,
    PAPERS,
    Entry,
    PaperResult,
    RowResult,
    rows_of,
    stored,
)
from dpmc_core.experiments.papers.claims import claims
from dpmc_core.experiments.papers.compute import (
    DIFFERS,
    KINDS,
    MISSING,
    REPRODUCED,
    TREND,
    UNPRINTED,
    Judged,
    Trial,
    judged,
    prediction_interval,
    spec_of,
)
from dpmc_core.experiments.papers.row import Row, name_of, part, phrases, row_names, value_name
from dpmc_core.experiments.studies.engine import StudyResult
from dpmc_core.experiments.studies.spec import STUDIES
from dpmc_core.facts import facts
from dpmc_core.metrics.intervals import Comparison, t_half_width
from dpmc_core.wording import power, printed_in, three
from pages.parts.frame.page import first_tab_next, observations, tab
from pages.parts.frame.page import verdict as say_verdict
from pages.parts.frame.study import study_curves
from pages.parts.papers.drawing import CURVES, drawing
from pages.parts.server import jobs
from pages.parts.server.progress import span
from pages.parts.ui import controls, declared, on_screen, run_panel
from pages.parts.ui.figures import show
from pages.parts.ui.glossary import PAGES
from pages.parts.ui.links import set_next
from pages.parts.ui.on_screen import download, show_table


def once_more(name: str, rows: Sequence[Row], result: PaperResult) -> None:
    """Run one more trial of one of the ``rows`` of the table called ``name``, live."""
    by_id, labels = {row.id: row for row in rows}, row_names(rows)
    left, middle, right = st.columns([4, 1, 1], vertical_alignment="bottom")
    with left:
        row_id = controls.choice("Row", f"p_row_{name}", labels, rows[0].id)
    with middle:
        seed = declared.box("seed", "p_seed", 1)
    row = by_id[row_id]
    job = jobs.current("row")
    if job is not None and not job.active and job.specs[0].entry != name:
        job = None  # it was of another table
    with right:
        pressed = st.button(
            "Run",
            type="primary",
            icon=":material/play_arrow:",
            width="stretch",
            key="run-row",
            disabled=job is not None and job.active,
        )
    if pressed:
        try:
            job = jobs.start("row", (Trial(name, row_id, seed),))
        except DPMCError as error:
            controls.show_error(error)
    if job is not None and job.active:
        run_panel.watch(job, "trial", lambda: False)
        return
    if (spec := spec_of(row, seed)) is not None:
        _with_its_settings(row, spec)
    before = result.row(row_id)
    trials = len(before.values) + len(before.failed)
    st.caption(
        "This row is exact: no seed changes it."
        if row.exact is not None
        else f"One trial takes {span(before.seconds / trials)}, as when it was stored."
        if trials
        else "Nothing is stored that says how long it takes."
    )
    if job is None:
        return
    if job.state == "failed":
        controls.show_error(job.error)
    elif job.state == "cancelled":
        st.info("Cancelled.", icon=":material/stop_circle:")
    elif job.results[0] is not None:
        trial = job.specs[0]
        before = result.row(trial.row)
        outcome(by_id[trial.row], labels[trial.row], before, job.results[0], trial.seed)


def _with_its_settings(row: Row, spec: RunSpec) -> None:
    """Lead to the page that runs ``spec`` of a ``row``, and say its command."""
    links = {
        "completion": declared.completion_link(spec),
        "factorization": declared.factorization_link(spec),
    }
    for page, link in links.items():
        if link is not None:
            clip = {"clip": str(row.take == "value").lower()} if page == "completion" else {}
            st.page_link(
                f"{page}.py",
                label=f"See this row live on the {PAGES[page].title} page",
                icon=":material/arrow_forward:",
                query_params={**link, **clip, "run": "1"},
            )
    st.markdown(f"`{spec.command()}`")


def compared(name: str) -> list[Row]:
    """The rows of the table called ``name`` that have a printed number, and one of ours."""
    result = stored(name)
    rows = [row for row in rows_of(name) if row.printed is not None]
    return [row for row in rows if result and result.row(row.id).values]


COLOURS = {REPRODUCED: "#009E73", TREND: "#0072B2", DIFFERS: "#D55E00", UNPRINTED: "#666666"}
MARKS = {REPRODUCED: "●", TREND: "◆", DIFFERS: "■", UNPRINTED: "○", MISSING: "✕"}


def as_printed(rows: Sequence[Judged]) -> Styler | None:
    """The printed numbers in the layout of a table, each with ours beside it, marked and coloured
    by its verdict; None where nothing is printed.

    Parts of a setting that follow from others are left out.
    """
    cells = [one for one in rows if one.row.printed is not None]
    settings = [{**one.row.setting, "": one.row.metric} for one in cells]
    if not cells:
        return None
    down, across = _layout(settings)
    texts = defaultdict[tuple[str, ...], dict[str, str]](dict)
    colours = defaultdict[tuple[str, ...], dict[str, str]](dict)
    for setting, one in zip(settings, cells, strict=True):
        assert one.row.printed is not None
        text, kind = one.row.printed.text, one.verdict.kind
        digits = len(text.partition(".")[2])
        ours = f"{one.result.mean:,.{digits}f}" if one.result.values else ""
        line, head = _part(setting, down), phrases(setting, across)
        colour = COLOURS.get(kind, COLOURS[UNPRINTED])
        texts[line][head] = f"{text} | {ours} {MARKS.get(kind, '')}"
        colours[line][head] = f"background-color: {colour}33"
    heads = [part(name).title for name in down]
    frame = pd.DataFrame([dict(zip(heads, line, strict=True)) | texts[line] for line in texts])
    paint = pd.DataFrame([dict.fromkeys(heads, "") | colours[line] for line in texts]).fillna("")
    return frame.fillna("").style.apply(lambda _: paint, axis=None)


def _layout(settings: Sequence[Mapping[str, str]]) -> tuple[list[str], tuple[str, ...]]:
    """Which parts of the ``settings`` tell the lines of a table apart, and which its columns: one
    or two that leave fewest cells empty, where lines are all combinations of their parts, if any
    do.
    """
    names = dict.fromkeys(name for setting in settings for name in setting)
    varying = [name for name in names if len({s.get(name) for s in settings}) > 1]
    single = ["", "mechanism", "algorithm", *varying[::-1]]
    options = [(name,) for name in single if name in varying] + [*combinations(varying, 2)]
    layouts = []
    for k, across in enumerate(options or [("",)]):
        down = [name for name in varying if name not in across]
        for name in down[::-1]:
            fewer = [one for one in down if one != name]
            if len({_part(s, [*fewer, *across]) for s in settings}) == len(settings):
                down = fewer
        heads = len({phrases(s, across) for s in settings})
        lines = len({_part(s, down) for s in settings})
        distinct = len({(phrases(s, across), _part(s, down)) for s in settings}) == len(settings)
        gaps = not distinct or heads > _MOST_ACROSS, heads * lines - len(settings)
        odd = lines != math.prod(len({s.get(name) for s in settings}) for name in down)
        layouts.append((gaps, odd, k, down, across))
    *_, down, across = min(layouts)
    return down, across


def _part(setting: Mapping[str, str], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(value_name(name, setting.get(name, "")) for name in names)


_MOST_ACROSS = 8
_RULE = facts("papers/entries")["rule"]
_STANDS = "what stands for it"
# of the overview's columns, in pixels: all of them are in sight where a window has 1280
_WIDTHS = {"paper": 195, "where": 85, "about": 375, _STANDS: 285}


def overview() -> None:
    """All tables and figures of all papers, with how their rows came out: a row opens its own."""
    rows: list[tuple[Entry, dict[str, str]]] = []
    board = {paper: dict.fromkeys(KINDS, 0) for paper in PAPERS}
    for entry in ENTRIES:
        counts = dict.fromkeys(KINDS, 0)
        for one in judged(rows_of(entry.source), stored(entry.source)):
            counts[one.verdict.kind] += 1
        for kind, count in counts.items():
            board[entry.paper][kind] += count
        stands = (
            "   ".join(f"{MARKS[kind]} {count}" for kind, count in counts.items() if count)
            if rows_of(entry.source)
            else "drawn from its formula"
            if entry.id in CURVES
            else "drawn from runs of ours"
            if _study(entry)
            else f"live on the {PAGES[entry.page].title} page"
            if entry.page
            else "not possible here"
            if entry.missing
            else entry.made or "a drawing or definition: nothing to compute"
        )
        line = {
            "paper": PAPERS[entry.paper],
            "where": entry.place,
            "about": entry.title,
            _STANDS: stands,
        }
        rows.append((entry, line))
    lines = [{"paper": PAPERS[paper], **counts} for paper, counts in board.items()]
    heads = {kind: f"{MARKS[kind]} {kind}" for kind in KINDS}
    show_table(lines, "Verdicts of all rows of each paper.", column_config=heads)
    if differs := controls.switch("Only what differs", "p_differs"):
        rows = [(entry, line) for entry, line in rows if MARKS[DIFFERS] in line[_STANDS]]
    st.caption("Click a row to open it; *All tables and figures* leads back here.")
    key = f"overview-{differs}"  # row numbers are picked: with other rows, begin again
    show_table(
        [line for _, line in rows],
        "Tables and figures with counts of verdicts.",
        column_config={name: st.column_config.Column(width=w) for name, w in _WIDTHS.items()},
        on_select=lambda: _open(rows[k][0] for k, _ in st.session_state[key]["selection"]["cells"]),
        selection_mode="single-cell",
        key=key,
    )


def _open(clicked: Iterable[Entry]) -> None:
    """Have the page show the ``clicked`` table or figure next, with its first tab."""
    for entry in clicked:
        set_next({"p_paper": entry.paper, f"p_entry_{entry.paper}": entry.id})
        first_tab_next()


def about(entry: Entry) -> None:
    """What we found, and how it was made."""
    if entry.finding:
        st.markdown(f"**What we found.** {entry.finding}")
    if entry.made:
        st.markdown(f"**How ours is made.** {entry.made}")


def without_rows(entry: Entry) -> None:
    """Say what the paper shows there; draw what is printed, or link the page that draws it."""
    values, study = _printed_lines(entry), _study(entry)
    say_verdict(
        f"{entry.place} of this paper, as printed: nothing of it is computed here."
        if values
        else f"{entry.place}, “{entry.title}”, drawn again from its formula."
        if entry.id in CURVES
        else f"{entry.place}, “{entry.title}”, by runs of ours; no number of it is printed."
        if study
        else f"{entry.place} of this paper, “{entry.title}”, has no numbers to compare."
    )
    if study:
        show(study_curves(study), "paper", f"{entry.place}: {entry.title}.")
        st.caption(_runs_of(study))
    elif entry.id in CURVES:
        show(CURVES[entry.id](), "paper", f"{entry.place}: {entry.title}.")
    about(entry)
    if entry.missing:
        st.warning(entry.missing, icon=":material/cloud_off:")
    _live(entry)
    if not entry.page and not entry.made and not entry.missing:
        st.caption("A drawing or a definition: there is nothing to compute.")
    if values:
        show_table(values, f"{entry.place} as printed.")


def _study(entry: Entry) -> StudyResult | None:
    """The study that comes with the app and stands for a figure, if one on such data does."""
    kind = entry.state.get("question") or entry.state.get("f_question")
    if entry.page not in STUDIES or kind not in STUDIES[entry.page]:
        return None
    study = example(entry.page, kind).study
    data = entry.state.get("f_data")
    same = data is None or dataset(data).holds == study.spec.base.data.entry.holds
    return study if same else None


def _runs_of(study: StudyResult) -> str:
    """Say what a study's figure is of, and what its runs protect."""
    base = study.spec.base
    protection = "Noise ends before the runs do: nothing is protected."
    if study.spec.study.protected:
        noisy = {
            line: points[0].spec.card.guarantee
            for line, points in study.lines().items()
            if points[0].spec.noise.mechanism != "none"
        }
        protection = (
            f"ε is the guaranteed total of one run at δ = {power(base.noise.delta)} for one "
            f"{base.card.unit}; lines without noise and the dotted baselines protect nobody."
        ) * any(noisy.values())
        if nominal := [line for line, guarantee in noisy.items() if not guarantee]:
            protection += f" The ε of {', '.join(nominal)} is nominal: nothing is guaranteed there."
    return (
        f"{len(study.runs)} runs on synthetic data ({base.data.amounts}), up to "
        f"{study.spec.seeds} seeds a point; means with 95 % t-intervals. {protection}"
    )


def _live(entry: Entry) -> None:
    if entry.page:
        st.page_link(
            f"{entry.page}.py",
            label=f"See it live on the {PAGES[entry.page].title} page",
            icon=":material/arrow_forward:",
            query_params=entry.state,
        )


def _printed_lines(entry: Entry, rows: Sequence[Judged] = ()) -> list[dict[str, str]]:
    """Return the numbers of a printed table that no row is of, one line for each setting."""
    paper, _, table = entry.source.partition("-table-")
    of_rows = {one.row.printed.metric for one in rows if one.row.printed}
    lines: dict[str, dict[str, str]] = {}
    for p in printed_in(paper, table):
        if p.metric in of_rows:
            continue
        words = {part(name).title: value_name(name, value) for name, value in p.setting.items()}
        lines.setdefault(name_of(p.setting), words)[part(p.metric).title] = p.text
    return list(lines.values())


def table(entry: Entry, rows: Sequence[Row], result: PaperResult | None) -> None:
    """Printed against ours: table, figures, sentences, every row and origin."""
    lines = judged(rows, result)
    counts = {kind: sum(one.verdict.kind == kind for one in lines) for kind in KINDS}
    summary = ", ".join(f"{n} {_kind(kind, n)}" for kind, n in counts.items() if n)
    judgements, rest = claims(entry.source, result), [*_how_far(lines), *beaten(lines)]
    if counts[UNPRINTED] == len(lines):
        say_verdict(f"{entry.place}: no number of it is printed; {len(lines)} of ours.")
    else:
        say_verdict(f"{entry.place}: of {len(lines)} rows, {summary}.")
    if not on_screen.presenting() and (printed := as_printed(lines)) is not None:
        st.dataframe(
            printed,
            hide_index=True,
            height=min(38 + 35 * len(printed.index), 480),
            alt=f"{entry.place} as printed, ours beside it; of {len(lines)} rows, {summary}.",
        )
        kinds = {one.verdict.kind for one in lines if one.row.printed is not None}
        marks = ", ".join(f"{MARKS[kind]} {kind}" for kind in MARKS if kind in kinds)
        st.caption(f"Printed | ours: {marks}.")
    for number, axes in enumerate(entry.figures):
        name = f"paper-{number}" if number else "paper"
        alt = f"{entry.place}: of {len(lines)} rows, {summary}."
        show(drawing(axes, entry.paper, lines), name, alt)
    if entry.missing:
        st.warning(entry.missing, icon=":material/cloud_off:")
    _live(entry)
    first = [_first_sentence(entry.finding)] if entry.finding else []
    # what our trials judge, then what is claimed
    observations([*map(_first_sentence, judgements[:1]), *first, *judgements, *rest])
    on_screen.add_lines("The rows, printed and ours", _ROWS.format(name=entry.source))
    tab("What we found", "about", lambda: _about(entry, result))
    tab("Every row", "rows", lambda: _rows(entry, lines, result))


_ROWS = """\
from dpmc_core.experiments.papers import rows_of, stored

made = stored({name!r})
for row in rows_of({name!r}):
    printed = row.printed.text if row.printed else "not printed"
    print(row.id, row.metric, printed, made.row(row.id).values if made else "not computed")
"""


def _kind(kind: str, count: int) -> str:
    """Make a sentence of a verdict's kind with its count before."""
    if kind == UNPRINTED:
        return f"{'has' if count == 1 else 'have'} no printed value"
    return "differ" if kind == DIFFERS and count > 1 else kind


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.:]) (?=[A-Z'])", text, maxsplit=1)[0].rstrip(":")


def _about(entry: Entry, result: PaperResult | None) -> None:
    about(entry)
    st.caption(_RULE)
    if result is None:
        return
    st.caption(
        f"Made on {result.date} with dpmc_lab {result.versions['dpmc_lab']}, numpy "
        f"{result.versions['numpy']}, Python {result.versions['python']}; all trials' seeds "
        f"come from {result.seed}."
    )
    # no st.code: what colours it weighs 0.4 MB
    st.markdown(f"`{result.command}`")


def _rows(entry: Entry, rows: Sequence[Judged], result: PaperResult | None) -> None:
    frame = pd.DataFrame([_line(one) for one in rows])
    shown = frame.dropna(axis="columns", how="all")
    one = [
        name
        for name in shown
        if len(shown) > 1
        and shown[name].nunique(dropna=False) == 1
        and name not in ("printed", "verdict", "why")
    ]
    show_table(
        shown.drop(columns=one),
        f"{entry.place}: printed values, ours with intervals, and verdicts.",
        highest=480,
        column_config={"why": st.column_config.TextColumn(width="large")},
    )
    same = [
        f"{name} {value}"
        for name in one
        if (value := _plain_number(shown[name].iloc[0])) not in ("", "None", "nan")
    ]
    if same:
        st.caption("In all rows: " + ", ".join(same) + ".")
    if settings := _printed_lines(entry, rows):
        st.markdown("**What else is printed there**")
        show_table(settings, f"Settings of {entry.place} as printed.")
    file, how = f"dpmc-{entry.source}", {"icon": ":material/download:"}
    with st.container(horizontal=True):
        download("This table (CSV)", f"{file}.csv", lambda: frame, **how)
        if result is not None:
            download("Every trial (JSON)", f"{file}.json", lambda: asdict(result), **how)


def _line(one: Judged) -> dict[str, object]:
    row, mine = one.row, one.result
    half = t_half_width(mine.values)
    return {
        **{part(name).title: value_name(name, value) for name, value in row.setting.items()},
        "metric": row.metric,
        "verdict": one.verdict.kind,
        "printed": None if row.printed is None else row.printed.value,
        "ours (mean)": None if not mine.values else mine.mean,
        "± (95 %)": None if math.isnan(half) else half,
        "trials": len(mine.values) or None,
        "overflowed": len(mine.failed) or None,
        "best baseline": float(np.mean(mine.baselines)) if mine.baselines else None,
        "ε stated": _stated(mine),
        "why": one.verdict.why,
    }


def _plain_number(value: object) -> str:
    return f"{value:.4g}".replace("-", "−") if isinstance(value, float) else str(value)


def _stated(mine: RowResult) -> str:
    """ε as the ledgers say, with the one by published results where ours rests on this
    project's proof.
    """
    if mine.epsilon is None:
        return ""
    beside = (
        ""
        if mine.epsilon_published is None or mine.epsilon_published <= 1.005 * mine.epsilon
        else f"; by published results {three(mine.epsilon_published)}"
    )
    return f"{three(mine.epsilon)} ({'nominal' if mine.nominal else 'guarantee'}{beside})"


def _how_far(rows: Sequence[Judged]) -> list[str]:
    """Which rows differ least and most from what is printed, in per cent of it."""
    names = row_names([one.row for one in rows])
    apart = sorted(
        (
            (one.result.mean / one.row.printed.value - 1, names[one.row.id])
            for one in rows
            if one.verdict.kind == DIFFERS and one.row.printed and one.row.printed.value
        ),
        key=lambda pair: abs(pair[0]),
    )
    if len(apart) < 2:
        return []
    (least, nearest), (most, farthest) = apart[0], apart[-1]
    return [
        f"Of the {len(apart)} that differ, the nearest is {_per_cent(least)} from what is printed "
        f"({nearest}), the farthest {_per_cent(most)} ({farthest})."
    ]


def _per_cent(share: float) -> str:
    digits = 2 if abs(share) < 0.01 else 1 if abs(share) < 0.1 else 0
    return f"{100 * share:+,.{digits}f} %".replace("-", "−")


def beaten(rows: Sequence[Judged]) -> list[str]:
    """How many rows beat the best baseline, by paired intervals.

    For measures that it has too.
    """
    compared = [
        one.result
        for one in rows
        if len(one.result.baselines) == len(one.result.values) > 1
        and one.row.take in ("value", "truth", "rmse")
    ]
    if not compared:
        return []
    wins = losses = 0
    for mine in compared:
        apart = [v - t for v, t in zip(mine.values, mine.baselines, strict=True)]
        against = Comparison.of_runs(apart)
        wins += against.better
        losses += against.worse
    return [
        f"Of {len(compared)} rows with a baseline beside them, {wins or 'none'} "
        f"{'is' if wins == 1 else 'are'} better than the best one, {losses or 'none'} "
        f"{'is' if losses == 1 else 'are'} worse, {len(compared) - wins - losses or 'none'} not "
        "significantly different (each by a paired 95 % interval)."
    ]


def outcome(row: Row, name: str, stored_row: RowResult, value: float, seed: int) -> None:
    """One new trial of the ``row`` called ``name`` beside what is stored."""
    if not stored_row.values:
        st.info(
            f"{name}, seed {seed}: **{value:.4g}**. Nothing is stored to compare it with.",
            icon=":material/info:",
        )
        return
    low, high = prediction_interval(stored_row.values)
    inside = low <= value <= high
    where = f"where one more trial falls 95 times in 100, from {low:.4g} to {high:.4g}"
    text = (
        f"{name}, seed {seed}: **{value:.4f}**. The stored {len(stored_row.values)} trials say "
        f"{where}: it is "
        + ("inside." if inside else "outside, which chance alone does five times in 100.")
    )
    if row.exact is not None:
        text = (
            f"{name}: {value:.4g}, exactly as stored."
            if inside
            else f"{name}: {value:.6g}, but stored is {stored_row.mean:.6g}."
        )
    say, icon = (st.success, "check") if inside else (st.warning, "help")
    say(text, icon=f":material/{icon}:")
