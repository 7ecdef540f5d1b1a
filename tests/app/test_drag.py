"""What follows a slider while it is dragged: what is sent ahead, and who sends it."""

import base64
import gzip
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from operator import getitem
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
from pages.parts.server.layers import on_request
from pages.parts.ui import figures
from pages.parts.ui.densities import variance_curve
from tests.app.answers import Behind, answer
from tests.app.visits import open_page, read

LOOK = ("#2B3741", 1.0, False)
SLIDERS = {
    "home": "home_epsilon",
    "mechanisms": "m_alpha",
    "budget": "u_count",
    "plan": "n_margin_mean",
}
AHEAD = on_request.Ahead(Behind())
SLOW = ("budget", "plan")


def sent(values: Sequence[float], draw: Callable[[Any], drag.Frame]) -> Any:
    """What a browser gets for the values of a slider."""
    return json.loads(drag.frames(values, draw, LOOK, str))


def fetched(path: str) -> Any:
    """What a browser reads there."""
    offer = answer(AHEAD, path)
    assert (offer.status, offer.headers["content-encoding"]) == (200, "gzip")
    return json.loads(gzip.decompress(offer.body))


def of_alpha(alpha: float) -> drag.Frame:
    """The curve of variance with one α shown."""
    return drag.Frame(f"It is {alpha}.", {"curve": variance_curve(Huber(alpha=alpha))[0]})


def applied(figure: Any, paths: list[list[str | int]], values: list[Any]) -> Any:
    """``figure`` with ``values`` at ``paths``, as the browser's script puts them there."""
    figure = json.loads(json.dumps(figure))
    for (*way, last), value in zip(paths, values, strict=True):
        reduce(getitem, way, figure)[last] = value
    return figure


def numbers(part: Any) -> Any:
    """``part`` of a figure with its packed arrays as numbers of single precision."""
    if isinstance(part, list):
        return [numbers(each) for each in part]
    if not isinstance(part, dict):
        return part
    if "bdata" not in part:
        return {name: numbers(each) for name, each in part.items()}
    packed = np.frombuffer(base64.b64decode(part["bdata"]), f"<{part['dtype']}")
    return packed.astype("f4" if part["dtype"][0] == "f" else packed.dtype).tolist()


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
    differences, drawn = sent(values, draw), [draw(value) for value in values]
    assert [read(text) for text in differences["verdicts"]] == [frame.verdict for frame in drawn]
    for name, changes in differences["figures"].items():
        plain = [drag._plain(figures.ready(frame.figures[name], LOOK)) for frame in drawn]
        for expected, here in zip(plain, changes["values"], strict=True):
            for other in plain:
                assert numbers(applied(other, changes["paths"], here)) == numbers(expected)


def test_a_value_at_which_nothing_can_be_drawn_is_left_out() -> None:
    def draw(value: float) -> drag.Frame:
        if value == 2.0:
            raise ParameterError("value", value, "another")
        return of_alpha(value)

    result = sent([1.0, 2.0, 3.0], draw)
    assert result["verdicts"] == ["It is 1.0.", None, "It is 3.0."]
    assert [v is None for v in result["figures"]["curve"]["values"]] == [False, True, False]


def test_a_finished_run_is_shown_after_any_iteration_on_the_axes_of_the_end() -> None:
    specs = [RunSpec.of(n_users=60, n_items=50, iterations=n, rank=3) for n in (5, 9)]
    results = compare_view.named([list(watched(spec))[-1] for spec in specs])
    frames = [compare_view._frame(results, True, step) for step in (1, 7, 9)]
    curves = [frame.figures["rmse"] for frame in frames]
    assert len({(*c.layout.xaxis.range, *c.layout.yaxis.range) for c in curves}) == 1
    lengths = [max(len(trace.x) for trace in curve.data) for curve in curves]
    assert lengths == sorted({*lengths})  # each is longer than the one before
    first, later, last = (frame.figures["completed"].data for frame in frames)
    assert (later[1].z == last[1].z).all()  # the shorter run had ended
    assert (first[2].z != last[2].z).any()
    assert frames[0].verdict.startswith("After iteration 1, the error")
    assert frames[-1].verdict == texts.verdict(results)


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
    cells = sent([1, 20], lambda k: draw(results, int(k)))["cells"]
    assert cells == {name: [list(frames[k].cells[name]) for k in (0, -1)]}


def test_new_words_of_a_topic_are_marked_until_the_end() -> None:
    (item,) = learned([list(watched(RunSpec.of(dataset="lee", algorithm="nmf", rank=8)))[-1]])
    marks = set[str]()
    for percent in range(10, 100, 5):
        former = words_after(item, percent / 100 - 0.05, 5)
        for head, old in zip(view._heads(item, percent), former, strict=True):
            words = {*head.split(", ")}
            marked = words - {*old}
            assert all(word.startswith("● ") and word[2:] not in old for word in marked)
            marks |= marked
    assert marks
    assert not any("●" in head for head in [*view._heads(item, 5), *view._heads(item, 100)])


@pytest.mark.parametrize(
    ("page", "slider"),
    [pytest.param(*o, marks=[pytest.mark.long] * (o[0] in SLOW)) for o in SLIDERS.items()],
)
def test_a_page_offers_what_it_shows_at_each_value(page: str, slider: str) -> None:
    app = open_page(page)
    (place,) = [h.proto.body for h in app.get("html") if f'data-slider="{slider}"' in h.proto.body]
    address, at = (re.search(f'{name}="([^"]+)"', place)[1] for name in ("data-ahead", "data-at"))
    offer = fetched(f"/base/{address}")
    verdicts = offer["verdicts"]
    assert read(verdicts[int(at)]) == app.verdict
    assert len(set(verdicts)) > len(verdicts) / 3
    assert offer["figures"]


def test_offers_are_made_once_when_somebody_asks_and_the_oldest_are_forgotten() -> None:
    calls: list[str] = []

    def make() -> str:
        calls.append("once")
        return json.dumps("an offer")

    first = on_request.offer("a-first", make)
    assert not calls
    assert [fetched(f"/{first}") for _ in range(2)] == ["an offer"] * 2
    assert calls == ["once"]
    for k in range(on_request._MOST_OFFERS):
        on_request.offer(f"a-{k}", make)
    on_request._compressed.cache_clear()
    for path in (f"/{first}", "/ahead/nothing"):
        assert answer(AHEAD, path).status == 404
    for path, method in (("/ahead/a-1", "POST"), ("/elsewhere", "GET")):
        assert answer(AHEAD, path, method=method).body == b"behind"
