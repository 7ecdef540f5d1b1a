"""What an address asks of a page: titles for names, allowed values, and sentences on others."""

import html
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from dpmc_core.config import Parameter, parameters
from dpmc_core.datasets.configs import ImageData, RatingsData
from dpmc_core.errors import ParameterError
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.limits import LIMITS, Limit, number_of
from dpmc_core.planning import PlanSpec
from dpmc_core.planning.goal import ModelPlan
from dpmc_core.planning.project import Project
from dpmc_core.privacy.noise import KINDS, RoundEpsilon

_PROBLEMS, _PAGE, _DRAWN, _TOLD, _AGAIN, _LABELS, _ENDLESS = (
    "url-problems",
    "current-page",
    "drawn-here",
    "told-here",
    "names-to-set",
    "labels-here",
    "endless-numbers",
)
# what own sets are called in addresses
_OWN = tuple(f"Your {kind}" for kind in ("ratings", "documents", "images"))
Titles = Mapping[str, str]
LinkTitles = Mapping[str, Titles | Callable[[], Titles]]  # of a key; made when a link has it
_JOINER = "\u2060"  # nobody sees it, and no line breaks there
_OF_A_SET_TO_GET = re.compile(r" \((to fetch, [^()]* MB|to place by hand)\)$")
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def on_page(path: str, titles: LinkTitles) -> None:
    """Say which page is being drawn; call before any other control.

    ``path`` is its file under the app's folder. Streamlit keeps an option's *title* in the
    address. With ``titles`` (key -> name -> title; names stand before what else a title may be
    called) a link may also say the *name*, as the command line does: all of them are translated at
    once, before any widget is bound.
    """
    st.session_state[_PAGE] = path
    st.session_state[_DRAWN], st.session_state[_TOLD] = set(), set()
    st.session_state[_LABELS] = {}
    put(st.session_state.pop(_AGAIN, {}), titles)
    endless = {key: text for key, text in st.query_params.items() if not _small(text)}
    given = {key: st.query_params.get_all(key) for key in st.query_params}
    if endless:  # Streamlit would try to make numbers of them
        st.session_state[_ENDLESS] = endless
        st.switch_page(path, query_params={k: v for k, v in given.items() if k not in endless})
    translated, names = dict[str, str](), dict[str, str]()
    for key, by_name in titles.items():
        if (call := st.query_params.get(key)) is None:
            continue
        calls = by_name() if callable(by_name) else by_name
        bare = _OF_A_SET_TO_GET.sub("", call)  # its size may have been another
        if (title := calls.get(call) or calls.get(bare, call)) != call:
            translated[key] = title
            names[key] = next(name for name, one in calls.items() if one == title)
    if not translated:
        return
    if any(key in st.session_state for key in translated):
        # back to a short link: its parameters are bound to widgets, which drop what they do not
        # know in this run; ``link_problems`` has it run again
        st.session_state[_AGAIN] = names
        return
    st.switch_page(path, query_params={**given, **translated})


def put(values: Mapping[str, Any], titles: LinkTitles) -> None:
    """Set controls of this page before they are drawn.

    Streamlit brings the address up to date for those only that it has drawn before: of others the
    title is put there, or the value.
    """
    for key, value in values.items():
        if key not in st.session_state:
            calls = titles.get(key, {})
            st.query_params[key] = (calls() if callable(calls) else calls).get(
                value, str(value).lower()
            )
    st.session_state.update(values)


def _of_visit(key: str, kind: type) -> Any:
    """What the visit has under ``key``: at first an empty one of its ``kind``."""
    return st.session_state.setdefault(key, kind())


def set_next(values: Mapping[str, object]) -> None:
    """Set controls of this page (by their keys) at the start of its next run."""
    _of_visit(_AGAIN, dict).update(values)


def _small(text: str) -> bool:
    """Say whether ``text`` is nothing that Python makes a number of, or a finite number."""
    try:
        float(text)
    except ValueError:
        return True
    try:
        return math.isfinite(number_of(text))
    except ValueError:
        return False


def current_page() -> str:
    """Name the page that was drawn last."""
    return st.session_state.get(_PAGE, "")


def label_of(name: str, label: str) -> None:
    """Remember what the parameter called ``name`` is called on this page."""
    _of_visit(_LABELS, dict)[name] = label


def reword(sentence: str) -> str:
    """Put the page's word for a parameter into a sentence, made ``plain``."""
    labels = _of_visit(_LABELS, dict)
    return plain(re.sub(r"^(\w+)(?= = )", lambda match: labels.get(match[1], match[1]), sentence))


def plain(text: object) -> str:
    r"""Make ``text``, which may be a stranger's words, show as it is where Markdown is read.

    What Markdown, LaTeX, HTML and entities are made of is escaped. Addresses, icons and emoji are
    found after escapes are read: a word joiner, which nobody sees, breaks them. All is one line,
    and what would turn the direction of the rest of it stands as its code.

    >>> plain("a*b_c`d"), plain("a: b,\n\nc - d"), plain("- a"), plain("# a")
    ('a\\*b\\_c\\`d', 'a: b, c - d', '\\- a', '\\# a')
    >>> plain("![x](y)"), plain("1. a"), plain("\u202eevil \u2066x")
    ('\\!\\[x\\]\\(y\\)', '1\u2060. a', '\\\\u202eevil \\\\u2066x')
    """
    line = " ".join(_TURNS.sub(lambda match: ascii(match[0])[1:-1], str(text)).split())
    line = re.sub(r"(?<=[:@])(?=\S)|(?<=www)(?=\.)", _JOINER, line, flags=re.I)
    line = re.sub(r"(?<=[-<>=~])(?=[-<>=~])", _JOINER, line)  # arrows and dashes
    broken = re.sub(r"[\\`*_\[\]()!<>#$~|{}&^]", r"\\\g<0>", line)
    # what would begin a list or a heading
    return re.sub(r"^(\d+)(?=[.])", rf"\1{_JOINER}", re.sub(r"^(?=[-+=])", r"\\", broken))


def plain_in_figure(text: str) -> str:
    """Make ``text``, which may be a stranger's words, show as it is in a figure, where Plotly reads
    some HTML and LaTeX.
    """
    return html.escape(text, quote=False).replace("$", f"${_JOINER}")


def declaration(name: str) -> Parameter:
    """Find the declaration that ``name`` stands for.

    "als.rank" is a parameter of an algorithm, "nominal.epsilon" of a kind of noise,
    "plan.people" of a plan, "ratings.top_items" and "images.corruption" of data, "model.target"
    and "project.reserve" of others; a single word is a number of its own (``limits.LIMITS``).
    """
    owner, dot, field = name.rpartition(".")
    if not dot:
        return Parameter(name, LIMITS[name], LIMITS[name].default, optional=False)
    kinds: dict[str, type] = {
        **KINDS,
        "round": RoundEpsilon,
        "plan": PlanSpec,
        "images": ImageData,
        "ratings": RatingsData,
        "model": ModelPlan,
        "project": Project,
    }
    kind = ALGORITHMS[owner].config if owner in ALGORITHMS else kinds[owner]
    return parameters(kind)[field]


def limit_of(name: str) -> Limit:
    """Find the range that ``name`` stands for, starting where the declaration does."""
    param = declaration(name)
    assert isinstance(param.rule, Limit)
    return param.rule if param.default is None else replace(param.rule, default=param.default)


def one_of(label: str, allowed: Collection[str]) -> Callable[[str], None]:
    """Make a check that a value is ``allowed``."""
    listed = "one of " + ", ".join(allowed) if allowed else "left out: there is nothing yet"

    def check(text: str) -> None:
        if text not in allowed:
            raise ParameterError(label, text, listed)

    return check


def numbers_in(text: str, label: str, limit: Limit, usual: str, most: int) -> tuple[float, ...]:
    """Read up to ``most`` numbers with commas between; in rising order, each once."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not 0 < len(words) <= most:
        raise ParameterError(label, text, f"1 to {most} numbers with commas between, as {usual}")
    numbers = {replace(limit, name=label).parse(word) for word in words}
    return tuple(sorted(int(x) if limit.integer else x for x in numbers))


def check_link(
    label: str, key: str, check: Callable[[str], object], given: str | None = None
) -> None:
    """Remember a sentence about a value in the address that cannot be used.

    The value is ``given``, or the only one; Streamlit itself drops it silently.
    """
    _of_visit(_DRAWN, set).add(key)
    endless = _of_visit(_ENDLESS, dict).pop(key, None)
    text = endless or (st.query_params.get(key) if given is None else given)
    if text is None or key in st.session_state:
        return
    try:
        check(text)
    except ParameterError as error:
        remember(
            key,
            f"From the address: “{text}” are not here. Own data lives in one tab, until a "
            "few minutes after it is closed, and no link carries it along. Give the file on the "
            "Datasets page; the usual set is used instead."
            if text in _OWN
            else (
                f"From the address: {ParameterError(label, text, error.allowed)} The usual "
                "value is used instead."
            ),
        )


def remember(key: str, sentence: str) -> None:
    """Keep a sentence about the control called ``key`` for ``link_problems``."""
    _of_visit(_PROBLEMS, dict)[key] = sentence


def forget(key: str) -> None:
    """Drop the sentence about the control called ``key``: it was used."""
    _of_visit(_PROBLEMS, dict).pop(key, None)


def trusted() -> bool:
    """Say whether all that the address asked for could be had: else it runs nothing."""
    return _of_visit(_DRAWN, set).isdisjoint(_of_visit(_PROBLEMS, dict))


def link_problems() -> None:
    """Show what was wrong with this page's controls so far; call after all of them, and again
    after those of a tab.
    """
    drawn = _of_visit(_DRAWN, set)
    # a control that is not on screen has nothing to set: the page would be drawn for ever
    again = {k: v for k, v in st.session_state.pop(_AGAIN, {}).items() if k in drawn}
    if again:
        st.session_state[_AGAIN] = again
        st.rerun()
    warned = _of_visit(_TOLD, set)
    for key, sentence in _of_visit(_PROBLEMS, dict).items():
        if key in drawn - warned:
            warned.add(key)
            st.warning(plain(sentence), icon=":material/link_off:")
