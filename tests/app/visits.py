"""Visits of pages in this process: opened, answered, awaited and read."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from pandas import DataFrame
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block

from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.store.records import Record
from dpmc_core.experiments.store.store import RunStore
from pages.parts.server import jobs
from tests.programs import ROOT
from tests.waiting import until

# a sweep of a few seconds
SWEEP = (
    "tradeoffs?t_protect=rating&t_noises=Laplace&t_variance_rating=1, 2&t_by=variance&t_seeds=2"
    "&t_iterations_rating=2&t_users_rating=60&t_items_rating=40&t_observed=0.5"
)
TINY = RunSpec.of(n_users=30, n_items=20, observed=0.5, rank=2, reg=0.5, iterations=2)
_WORDS = ("markdown", "caption", "info", "warning", "error", "success", "subheader")


class Visit(AppTest):
    """A page as a visitor has it: no script of it may end in an exception."""

    def _run(self, *args: Any, **kwargs: Any) -> "Visit":
        super()._run(*args, **kwargs)
        assert not self.exception, "\n".join(str(error.value) for error in self.exception)
        return self

    def widget(self, key: str) -> Any:
        """The control with this key or label, wherever it stands."""
        fitting = [
            element
            for block in (self.main, self.sidebar)
            for element in block
            if key in (getattr(element, "key", None), getattr(element.proto, "label", None))
        ]
        assert len(fitting) == 1, (key, fitting)
        return fitting[0]

    def set(self, **values: Any) -> "Visit":
        """Choose ``values`` by the keys of their controls; the page is drawn once."""
        for key, value in values.items():
            self.widget(key).set_value(value)
        return self.run()

    def choose(self, label: str, value: Any) -> "Visit":
        """Choose a value where the control has a name for people only."""
        return self.widget(label).set_value(value).run()

    def press(self, key: str = "go") -> "Visit":
        """Press a button, by key or label, and see what it began through to its end."""
        before = jobs.visit_box().every()
        self.widget(key).click().run()
        return self if jobs.visit_box().every() == before else self.wait()

    def wait(self, state: str = "") -> "Visit":
        """Draw the page once all of the visitor's jobs are over, in this ``state`` if any."""
        until(lambda: not jobs.visit_box().active())
        states = {job.state for job in jobs.visit_box().every()}
        assert not state or states == {state}, [job.error for job in jobs.visit_box().every()]
        return self.run()

    def upload(self, content: bytes, name: str = "a.csv", place: int = 0) -> "Visit":
        """Bring a file to the page's uploader at ``place``."""
        return self.file_uploader[place].set_value((name, content, "application/x")).run()

    def go_to(self, link: str) -> "Visit":
        """Follow a link to another page."""
        page, _, query = link.partition("?")
        self.switch_page(f"{page}.py")
        self.query_params.update(parse_qs(query))
        return self.run()

    def texts(self, *kinds: str) -> str:
        """What is written on the page, or in its elements of some ``kinds``, as it is read."""
        shown = [str(e.value) for kind in kinds or _WORDS for e in self.get(kind)]
        return read("\n".join(shown))

    @property
    def verdict(self) -> str:
        """The one sentence below the page's title; "" where nothing could be said."""
        places = [b for b in blocks(self.main) if id_of(b).endswith("-verdict")]
        (sentences,) = [[m.value for m in place.markdown] for place in places]
        assert len(sentences) <= 1, sentences
        return read("".join(sentences))

    @property
    def example(self) -> str:
        """What the page says of the example that it shows; "" where it shows none."""
        notes = [e.value for e in [*self.caption, *self.info]]
        notes = [note for note in notes if re.search(r"\*\*(Stored e|E)xample", note)]
        assert self.verdict.startswith("Example: ") == bool(notes)
        return " ".join(notes)

    @property
    def buttons(self) -> list[str]:
        """The keys of the buttons."""
        return [button.key for button in self.button]

    @property
    def links(self) -> list[Any]:
        """The links to pages, with their labels and queries."""
        return [link.proto for link in self.get("page_link")]

    def table_with(self, column: str) -> DataFrame:
        """The one table that has this column."""
        (table,) = (frame.value for frame in self.dataframe if column in frame.value)
        return table

    @property
    def charts(self) -> Sequence[Any]:
        """The figures."""
        return self.get("plotly_chart")

    @property
    def numbers(self) -> list[str]:
        """What the large numbers show."""
        return [m.value for m in self.metric]

    def layouts(self) -> list[dict[str, Any]]:
        """How the figures are laid out."""
        return [json.loads(chart.proto.spec)["layout"] for chart in self.charts]


def read(text: str) -> str:
    """A text as a reader sees it: without escapes and spaces that do not break."""
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\\", "")


def blocks(block: Block) -> Iterator[Block]:
    """All containers inside ``block``, in the page's order."""
    for inside in block.children.values():
        if isinstance(inside, Block):
            yield inside
            yield from blocks(inside)


def id_of(block: Block) -> str:
    """The name of a container."""
    return str(getattr(block.proto, "id", ""))


def visit(link: str, **params: str | list[str]) -> Visit:
    """The page of a link, such as ``plan?n_people=300``, before it is drawn."""
    page, _, query = link.partition("?")
    app = Visit(str(ROOT / "pages" / "main.py"), default_timeout=180)
    if page != "home":
        app.switch_page(f"{page}.py")
    app.query_params.update(parse_qs(query, keep_blank_values=True) | params)
    return app


def opened(link: str, **params: str | list[str]) -> Visit:
    """A page as a visitor finds it."""
    return visit(link, **params).run()


def open_page(link: str, **params: str | list[str]) -> Visit:
    """A page with all of its sections open, unless the link says otherwise."""
    app = visit(link, **params)
    app.session_state["open_all"] = True
    return app.run()


def another_visitor(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on pages are opened by somebody else, who has no jobs yet."""
    box = jobs.Box()
    monkeypatch.setattr(jobs, "visit_box", lambda: box)


def shows(app: Visit, *texts: str, without: Sequence[str] = (), kinds: Sequence[str] = ()) -> None:
    """Require ``texts`` on the page, or in its elements of some ``kinds``, and others not."""
    page = app.texts(*kinds)
    assert [text for text in texts if text not in page] == [], page
    assert [text for text in without if text in page] == [], page


def keep(store: Path, *records: Record) -> None:
    """Keep runs, which nobody has kept there."""
    with RunStore(store) as runs:
        for record in records:
            assert runs.add(record)
