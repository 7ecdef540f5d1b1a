"""What follows a slider while it is dragged: what is sent ahead, and who sends it."""

import base64
import gzip
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpmc_core.errors import ParameterError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.presets import PEOPLE
from dpmc_core.experiments.run import watched
from dpmc_core.mechanisms import Huber
from pages.parts import home as home
from pages.parts.completion import compare_view, recommend_view, texts
from pages.parts.factorization import view
from pages.parts.factorization.charts import learned, words_after
from pages.parts.frame import drag
from pages.parts.mechanisms import charts
from pages.parts.server.layers import on_request
from pages.parts.ui import figures
from tests.app.test_layers import answer
from tests.app.test_pages import fresh_visitor, open_page, verdict_of  # noqa: F401 - a fixture

LOOK = ("#2B3741", 1.0, False)
SLIDERS = {
    "home": "home_epsilon",
    "mechanisms": "m_alpha",
    "budget": "u_count",
    "plan": "n_margin_mean",
}


def fetched(path: str) -> Any:
    """What a browser reads there."""
    status, headers, body = answer(on_request.Ahead, path)
    assert (status, headers["content-encoding"]) == (200, "gzip")
    return json.loads(gzip.decompress(body))


def of_alpha(alpha: float) -> drag.Frame:
    """The curve of variance with one α shown."""
    return drag.Frame(f"It is {alpha}.", {"curve": charts.variance_curve(Huber(alpha=alpha))[0]})


def applied(figure: Any, paths: list[list[str | int]], values: list[Any]) -> Any:
    """``figure`` with ``values`` at ``paths``, as the browser's script puts them there."""
    for path, value in zip(paths, values, strict=True):
        part = figure
        for name in path[:-1]:
            part = part[name]
        part[path[-1]] = value
    return figure


def numbers(part: Any) -> Any:
    """``part`` of a figure with its packed arrays as numbers of single precision."""
    if isinstance(part, dict) and "bdata" in part:
        packed = np.frombuffer(base64.b64decode(part["bdata"]), f"<{part['dtype']}")
        return packed.astype("f4").tolist() if part["dtype"][0] == "f" else packed.tolist()
    if isinstance(part, dict):
        return {name: numbers(one) for name, one in part.items()}
    return [numbers(one) for one in part] if isinstance(part, list) else part


@pytest.mark.parametrize(
    ("values", "draw"),
    [
        (home.EPSILONS[::4], lambda epsilon: home.frame(epsilon, "gaussian", 0)),
        ((0.2, 0.5, 1.0, 4.0), of_alpha),
    ],
)
def test_what_differs_makes_of_each_figure_every_other(
    values: Sequence[float], draw: Callable[[float], drag.Frame]
) -> None:
    sent = json.loads(drag.frames(values, draw, LOOK, str))
    drawn = [draw(value) for value in values]
    said = [text.replace("\N{NO-BREAK SPACE}", " ") for text in sent["verdicts"]]
    assert said == [frame.verdict for frame in drawn]
    for name, changes in sent["figures"].items():
        plain = [drag._plain(figures.ready(frame.figures[name], LOOK)) for frame in drawn]
        for k, here in enumerate(changes["values"]):
            for other in plain:
                made = applied(json.loads(json.dumps(other)), changes["paths"], here)
                assert numbers(made) == numbers(plain[k])


def test_a_finished_run_is_shown_after_any_iteration_on_the_axes_of_the_end() -> None:
    specs = [RunSpec.of(n_users=60, n_items=50, iterations=n, rank=3) for n in (5, 9)]
    results = compare_view.named([list(watched(spec))[-1] for spec in specs])
    frames = {step: compare_view._frame(results, True, step) for step in (1, 7, 9)}
    ends = [frame.figures["rmse"].layout for frame in frames.values()]
    assert len({(tuple(end.xaxis.range), tuple(end.yaxis.range)) for end in ends}) == 1
    longest = {k: max(len(t.x) for t in f.figures["rmse"].data) for k, f in frames.items()}
    assert longest[1] < longest[7] < longest[9]
    last = [frames[k].figures["completed"].data[1].z for k in (7, 9)]
    assert (last[0] == last[1]).all()  # the shorter run had ended
    first = [frames[k].figures["completed"].data[2].z for k in (1, 9)]
    assert (first[0] != first[1]).any()
    assert frames[1].verdict.startswith("After iteration 1, the error")
    assert frames[9].verdict == texts.verdict(results)


@pytest.mark.parametrize(
    ("draw", "specs"),
    [
        (
            lambda results, percent: view._frame(learned(results), 5 * percent),
            [RunSpec.of(dataset="lee", algorithm="nmf", rank=3, rounds=n) for n in (20, 40)],
        ),
        (
            lambda results, step: recommend_view._frame(
                recommend_view.lettered(results), min(step, 4), 2
            ),
            [
                RunSpec.fitting(
                    {**PEOPLE, "n_users": 300, "n_ratings": 9000}, task="recommend", **one
                )
                for one in ({}, {"algorithm": "dpals", "iterations": 4})
            ],
        ),
    ],
    ids=["topics", "recommendations"],
)
def test_tables_follow_too_and_end_as_the_page_does(
    draw: Callable[[Any, int], drag.Frame], specs: list[RunSpec]
) -> None:
    results = [list(watched(spec))[-1] for spec in specs]
    frames = [draw(results, k) for k in range(1, 21)]
    (name,) = frames[0].cells
    assert len({tuple(frame.cells[name]) for frame in frames}) > 3
    assert not any(frame.verdict == frames[-1].verdict for frame in frames[:3])
    unwatched = [replace(result, pictures={}) for result in results]
    assert draw(unwatched, 20).cells == frames[-1].cells  # what the last picture shows
    sent = json.loads(drag.frames([1, 20], lambda k: draw(results, int(k)), LOOK, str))
    assert sent["cells"] == {name: [list(frames[k].cells[name]) for k in (0, -1)]}


def test_new_words_of_a_topic_are_marked_until_the_end() -> None:
    (item,) = learned([list(watched(RunSpec.of(dataset="lee", algorithm="nmf", rank=8)))[-1]])
    marks = 0
    for percent in range(10, 100, 5):
        former = words_after(item, percent / 100 - 0.05, 5)
        for head, old in zip(view._heads(item, percent), former, strict=True):
            words = head.split(", ")
            marked = {word[2:] for word in words if word.startswith("● ")}
            assert not marked & set(old)
            assert {word for word in words if "●" not in word} <= set(old)
            marks += len(marked)
    assert marks
    assert not any("●" in head for head in [*view._heads(item, 5), *view._heads(item, 100)])


def test_a_value_at_which_nothing_can_be_drawn_is_left_out() -> None:
    def draw(value: float) -> drag.Frame:
        if value == 2.0:
            raise ParameterError("value", value, "another")
        return of_alpha(value)

    sent = json.loads(drag.frames([1.0, 2.0, 3.0], draw, LOOK, str))
    assert sent["verdicts"] == ["It is 1.0.", None, "It is 3.0."]
    assert [one is None for one in sent["figures"]["curve"]["values"]] == [False, True, False]


@pytest.mark.parametrize(("page", "slider"), SLIDERS.items())
def test_a_page_offers_what_it_shows_at_each_value(page: str, slider: str) -> None:
    app = open_page(page)
    places = [html.proto.body for html in app.get("html")]
    (place,) = [body for body in places if f'data-slider="{slider}"' in body]
    (address,) = re.findall('data-ahead="([^"]+)"', place)
    (at,) = re.findall('data-at="([^"]+)"', place)
    sent = fetched(f"/base/{address}")
    verdicts = sent["verdicts"]
    assert verdicts[int(at)].replace("\N{NO-BREAK SPACE}", " ") == verdict_of(app).replace(
        "\N{NO-BREAK SPACE}", " "
    )
    assert len(set(verdicts)) > len(verdicts) / 3
    assert sent["figures"]


def test_offers_are_made_once_when_somebody_asks_and_the_oldest_are_forgotten() -> None:
    made: list[str] = []

    def make() -> str:
        made.append("once")
        return json.dumps("made")

    first = on_request.offer("a-first", make)
    assert not made
    assert [fetched(f"/{first}") for _ in range(2)] == ["made"] * 2
    assert made == ["once"]
    for k in range(on_request._MOST_OFFERS):
        on_request.offer(f"a-{k}", make)
    on_request._made.cache_clear()
    assert answer(on_request.Ahead, f"/{first}")[0] == 404
    assert answer(on_request.Ahead, "/ahead/nothing")[0] == 404
    for path, method in (("/ahead/a-1", "POST"), ("/elsewhere", "GET")):
        assert answer(on_request.Ahead, path, method=method)[2] == b"behind"
