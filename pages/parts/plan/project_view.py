"""A project on the *Plan* page: several releases that share one budget."""

import json
import shlex
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.config import Settings, parameters
from dpmc_core.errors import DataError, DPMCError, ParameterError
from dpmc_core.limits import Limit
from dpmc_core.planning.project import Item, Project, Shared, share_out, share_out_after
from dpmc_core.planning.spec import QUERIES, with_unit, within
from dpmc_core.privacy import odds_sentence, state
from dpmc_core.privacy.ledger import MOST_BYTES
from dpmc_core.wording import power, three
from pages.parts.frame import presenter
from pages.parts.frame.page import caveats, observations, tab, verdict
from pages.parts.frame.upload import ask_for_file, once
from pages.parts.server import sandbox
from pages.parts.ui import controls, declared, on_screen
from pages.parts.ui.figures import bars, show
from pages.parts.ui.labels import wrapped
from pages.parts.ui.links import plain_in_figure
from pages.parts.ui.looks import IDENTITY, SOME_NOISE
from pages.parts.ui.on_screen import code, download, show_table

PROJECT_TITLES = {"n_noise": SOME_NOISE}
_EPSILONS = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
_ROWS, _NOW, _MADE = "n-rows", "n-rows-now", "n-shared"
_LINK = "n_project"
_ONE = {"releases": 1, "share": 1.0}
_USUAL: list[Settings] = [
    {"name": "mean age", "query": "mean", **_ONE, "people": 2000, "low": 0.0, "high": 110.0}
    | {"share": 2.0},
    {"name": "ill, by month", "query": "count", **_ONE, "releases": 12},
    {"name": "by region", "query": "histogram", **_ONE, "bins": 20},
]
_COLUMNS = {
    "name": "Release",
    "query": "Query",
    "releases": "Releases",
    "share": "Budget parts",
    "people": "People (mean)",
    "low": "Least value",
    "high": "Most value",
    "bins": "Bins (histogram)",
}
_NARROW = 11  # characters of a name below a bar, on a phone
_FEW, _FEW_RELEASES = 6, 500  # which the page itself searches
_MOST_CHARACTERS = 4000  # of a table that an address may hold


def project_panel(row: DeltaGenerator) -> None:
    """Draw a project: ε above the figure, and the table of its releases below it."""
    with row:
        fields = {"epsilon": declared.box("project.epsilon", "n_project_epsilon", 2.0)}
        presenter.steps("n_project_epsilon", _EPSILONS)
        fields["mechanism"] = controls.choice(
            "Noise of all releases", "n_noise", SOME_NOISE, "gaussian"
        )
        fields["reserve"] = declared.box("project.reserve", "n_reserve", 1.0)
    with controls.settings():
        before = ask_for_file(
            "Releases made before (ledger, JSON)",
            "json",
            MOST_BYTES,
            "n",
            _MADE,
            hint="The ledger that a project or a run exported: the total ε holds for it too.",
        )
        fields["delta"] = declared.box("project.delta", "n_project_delta", 1e-5)
    controls.link_problems()
    place = st.container()  # filled once the table is known
    rows = _table()
    with place:
        try:
            allocation = _shared(Project(items=_items(rows), **fields), before)
        except DPMCError as error:
            verdict("This cannot be planned.")
            controls.show_error(error)
            return
        _answer(allocation, before)
    tab("Each release", "releases", lambda: _releases(allocation))
    tab("Method and protection", "method", lambda: _method(allocation))
    tab("Export", "export", lambda: _export(allocation, before))


def _table() -> list[Settings]:
    """Draw the releases, to edit; the address remembers them where they are few."""
    if on_screen.presenting():
        return list(st.session_state.get(_NOW, _linked()))
    if "n_table" not in st.session_state:  # edits live in the widget, which is drawn again
        linked = _LINK in st.query_params or _NOW not in st.session_state
        st.session_state[_ROWS] = _linked() if linked else st.session_state[_NOW]
    st.markdown("**Releases**: click a cell to change it; add or delete rows below and at the left")
    params = parameters(Item)
    columns: Settings = {"name": st.column_config.TextColumn(_COLUMNS["name"], required=True)}
    for name, title in list(_COLUMNS.items())[1:]:
        rule = params[name].rule
        if not isinstance(rule, Limit):
            columns[name] = st.column_config.SelectboxColumn(
                title, options=list(QUERIES), default="count", required=True
            )
            continue
        columns[name] = st.column_config.NumberColumn(
            title,
            min_value=rule.low,
            max_value=rule.high,
            default=params[name].default,
            step=1 if rule.integer else None,
            help=f"{controls.capitalized(rule.meaning)}.",
        )
    edited = st.data_editor(
        pd.DataFrame(st.session_state[_ROWS], columns=list(_COLUMNS)),
        column_config=columns,
        num_rows="dynamic",
        placeholder="–",
        hide_index=True,
        key="n_table",
    )
    rows = [
        {name: value for name, value in row.items() if value is not None and value == value}
        for row in edited.to_dict("records")
    ]
    st.session_state[_NOW] = rows
    text = json.dumps(rows, separators=(",", ":"), ensure_ascii=False)
    if rows == _USUAL or len(text) > _MOST_CHARACTERS:
        st.query_params.pop(_LINK, None)
    else:
        st.query_params[_LINK] = text
    return rows


def _linked() -> list[Settings]:
    """The releases that the address asks for, else the usual ones."""
    text = st.query_params.get(_LINK, "")
    if not text:
        return _USUAL
    try:
        items = _items(json.loads(text[:_MOST_CHARACTERS]))
    except (ValueError, RecursionError, DPMCError):
        st.query_params.pop(_LINK, None)
        st.warning(
            "From the address: its releases (n_project) cannot be read: they must be a list as "
            "*Share* writes it. The usual ones are used instead.",
            icon=":material/link_off:",
        )
        return _USUAL
    return [{name: getattr(item, name) for name in _COLUMNS} for item in items]


def _items(rows: object) -> tuple[Item, ...]:
    """The rows as releases. Raises ``DataError`` with the row's number."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError("Releases must be a list of rows.")
    items = []
    for k, row in enumerate(rows, start=1):
        given: Settings = {name: row[name] for name in _COLUMNS if name in row}
        try:
            items.append(Item(**{"name": "", **given}))
        except ParameterError as error:
            raise DataError(f"Row {k} of the releases: {error}") from None
    return tuple(items)


def _shared(project: Project, before: tuple[str, bytes] | None) -> Shared:
    """The plan, made once; elsewhere where it may take long."""
    text = project.to_toml()

    def make() -> Any:
        quick = (
            len(project.items) <= _FEW and sum(i.releases for i in project.items) <= _FEW_RELEASES
        )
        if before is None and quick:
            return share_out(project)
        return sandbox.read_file(share_out_after, *(before or ("", None)), text)

    allocation: Shared = once(_MADE, (before, text), "Searching the noise…", make)
    return allocation


def _answer(allocation: Shared, before: tuple[str, bytes] | None) -> None:
    project = allocation.project
    verdict(allocation.sentence)
    rows = allocation.as_dict()["items"]
    costs = [row["epsilon_alone"] for row in rows]
    names = [wrapped(plain_in_figure(item.name), _NARROW) for item in project.items]
    colours = [IDENTITY[project.mechanism].colour] * len(names)
    if allocation.before:
        names, costs = ["made before", *names], [allocation.before, *costs]
        colours = ["#888888", *colours]
    figure = bars(names, costs, [], colours, "ε of each alone", {"total ε": project.epsilon})
    alone = ", ".join(f"{row['name']} {three(row['epsilon_alone'])}" for row in rows)
    together, added = three(allocation.with_these), three(sum(costs))
    show(
        figure,
        "project",
        f"ε of each release alone: {alone}. Together {together}.",
        pd.DataFrame({"release": names, "ε alone": costs}),
    )
    on_screen.add_lines("The same project", _python(allocation, before))
    observations(
        [
            f"Together they cost ε = {together}, "
            f"{'as much as' if together == added else 'less than'} the sum of all ({added}).",
            f"For one person {'replaced by another' if project.replacing else 'added or removed'}, "
            f"at δ = {power(project.delta)}. {odds_sentence(allocation.with_these, project.delta)}",
            "Each margin is of the noise alone: that other people might have taken part comes on "
            "top. A point is one unit of a mean's or a sum's values; a histogram's margin holds "
            "for all its bins at once.",
        ]
    )


def _releases(allocation: Shared) -> None:
    rows = [
        {
            "release": row["name"],
            "query": row["query"],
            "times": row["releases"],
            "margin, 95 %": within(row["margin_95"], row["query"]),
            "standard deviation": with_unit(row["standard_deviation"], row["query"]),
            "ε alone": three(row["epsilon_alone"]),
        }
        for row in allocation.as_dict()["items"]
    ]
    show_table(rows, "Margin, standard deviation and ε of each release.")


def _method(allocation: Shared) -> None:
    project = allocation.project
    statement = state(allocation.ledger, project.delta)
    who = "One person replaced by another" if project.replacing else "One person added or removed"
    st.markdown(
        f"{who} makes a neighbouring dataset"
        + (" (a mean is of a public number of people)" if project.replacing else "")
        + ". The noise is the least at which all releases, those made before and what is kept for "
        f"later cost at most the total ε at δ = {power(project.delta)}. With Gaussian noise a "
        "share is the part of Σ(Δ/σ)² that a release costs; with other noise the standard "
        f"deviation is in proportion to sensitivity/√share. {statement.how}."
    )
    caveats(statement.caveats)


def _python(allocation: Shared, before: tuple[str, bytes] | None) -> str:
    """Python lines of the project, after the ledger file that the visitor gave."""
    imported, spent = "", ""
    if before is not None:
        imported = "from dpmc_core.privacy import read_ledger\n"
        spent = f", read_ledger({before[0]!r})"
    return (
        "from dpmc_core.planning.project import project_from_toml, share_out\n"
        f"{imported}\n"
        f"made = share_out(project_from_toml({allocation.project.to_toml()!r}{spent}))\n"
        "print(made.sentence)\n"
    )


def _export(allocation: Shared, before: tuple[str, bytes] | None) -> None:
    download(
        "Ledger (JSON), to go on from later",
        "dpmc-ledger-with-these.json",
        allocation.ledger.as_dict(),
    )
    download("Project (TOML)", "project.toml", allocation.project.to_toml())
    st.markdown("Save the TOML, then on the command line:")
    spent = "" if before is None else f" --spent {shlex.quote(before[0])}"
    code(
        f"python -m dpmc_core plan project project.toml{spent} --keep ledger-with-these.json",
        "bash",
    )
    code(_python(allocation, before), "python", "In Python:")
