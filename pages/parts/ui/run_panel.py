"""The part of a page that runs something: a button, the work going on, the results that stand."""

import math
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from functools import partial
from typing import Any, Self
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.datasets import entry, user_datasets
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from pages.parts.server import jobs, progress, run_store, settings, user_data
from pages.parts.server.job import Job
from pages.parts.server.progress import span, standing
from pages.parts.ui import controls, on_screen
from pages.parts.ui.looks import LETTERS

_MOST_SEED = 10_000  # that are drawn: short enough to be read out
_WORTH_A_QUICK_LOOK = 30.0  # seconds from which on a quick look is worth it
_BETWEEN_LOOKS = 0.5  # seconds between two looks at a running job
_BETWEEN_FIRST_LOOKS = 0.2  # the same while it computes and nothing of it is drawn
_FOR_A_FIRST_RESULT = 0.4  # seconds that a script waits for a first result
_COMPARED = ("run", "recommend")  # kinds of jobs whose runs have letters
_BETWEEN_EXAMPLE_LOOKS = 0.1  # seconds between looks at whether the page is to run again
_EXAMPLE_SHOWN = "example-shown"  # in the session: which one was drawn last
_RUN_NEXT = "run-next"  # in the session: that the next script runs


@dataclass(frozen=True, kw_only=True)
class Button:
    """The button of a panel, and how an address presses it.

    It has a ``label`` and a ``key``. ``flag`` is the parameter of an address that runs,
    ``used_key`` the key that remembers that this was done in this visit. ``changed`` is said where
    results are of other settings.
    ``strict``: an address runs once whatever it asks for, and not where it asks for what could
    not be had; else it runs as soon as its settings can be.
    """

    label: str = "Run"
    key: str = "go"
    flag: str = "run"
    used_key: str = "linked"
    changed: str = "The settings have changed since this run; press *Run* to compute with them."
    strict: bool = True


@dataclass(frozen=True, kw_only=True)
class Example:
    """What a panel shows before the first run, called ``name``: ``draw`` draws it.

    ``about`` says what it is of (a noun phrase), ``specs`` are its settings, ``also`` what else is
    known; ``differs``: the main control of the page stands at another value.
    """

    about: str
    specs: tuple[Any, ...]
    draw: Callable[[], None]
    differs: bool = False
    name: str = "Example"
    also: str = ""

    @classmethod
    def of_runs(
        cls, about: str, specs: tuple[RunSpec, ...], show: Callable[[Sequence[Any]], None]
    ) -> Self:
        """A few small runs, whose results ``show`` draws."""
        return cls(about=about, specs=specs, draw=lambda: show(example_runs(specs)))


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One thing that a page runs, from the row of its main control down.

    ``kind`` of job; ``wanted`` specs, empty where there is a ``problem``; ``quick`` specs make the
    first of its runs, so many ``repetitions`` of each; ``step`` is what progress counts;
    ``so_far`` draws a running job and says whether there was anything; ``show`` draws results of
    the specs; ``example`` what is there before the first; ``row`` is where the button stands,
    ``left`` and ``quick_left`` the shares of its runs that are not made yet, ``hint`` what else to
    know before, ``seed`` the key of the box of its seed, where each press draws another one.
    ``while_running`` is what stands above the progress. ``in_store`` says that ``example`` finds
    results of any settings in the run store: those of a job with other settings are not shown.
    """

    kind: str
    wanted: tuple[Any, ...]
    problem: str
    step: str
    so_far: Callable[[jobs.Job], bool]
    show: Callable[[Sequence[Any]], None]
    example: Callable[[], None] | Example
    row: DeltaGenerator
    quick: tuple[Any, ...] = ()
    repetitions: int = 2
    left: float = 1.0
    quick_left: float = 1.0
    hint: str = ""
    seed: str = ""
    while_running: Callable[[jobs.Job], None] | None = None
    in_store: bool = False
    button: Button = Button()

    def asks(self, job: Job) -> bool:
        """Say whether ``job`` is what is asked for, whole or for a quick look."""
        return job.specs in (self.wanted, self.quick)


def draw_panel(panel: Panel) -> None:
    """Draw a panel."""
    job = jobs.current(panel.kind)
    specs = _buttons(panel) or _linked(panel)
    if specs and not panel.problem:
        st.session_state[panel.button.used_key] = True
        if not any(spec.may_be_secret for spec in panel.wanted):
            st.query_params[panel.button.flag] = "1" if specs == panel.wanted else "quick"
        try:
            job = _started(panel.kind, specs)
            job.address = _address(panel.button.flag)
        except DPMCError as error:
            st.error(controls.reword(run_store.public_message(error)))
        else:
            # most first results are there at once: drawn now, they need no second script
            job.drawn = job.wait_for_result(_FOR_A_FIRST_RESULT)
            if not job.active:  # what stands above is of a job that goes on
                st.rerun()
    if job is None:
        if panel.button.strict:
            st.query_params.pop(panel.button.flag, None)
        _example(panel)
    elif job.active:
        _show_running(panel, job)
    else:
        _show_ended(panel, job)


def _started(kind: str, specs: tuple[Any, ...]) -> Job:
    """Begin the runs of ``specs``, or the many that the first of them stands for."""
    first = specs[0]
    if not jobs.are_many(specs):
        return jobs.start(kind, specs)
    return jobs.start_many(kind, first, user_data.runs_for(*first.own_data))


def _address(flag: str) -> str:
    """The page with its settings, as a link that runs nothing."""
    given = {key: st.query_params.get_all(key) for key in st.query_params if key != flag}
    return f"{controls.current_page().removesuffix('.py')}?{urlencode(given, doseq=True)}"


def note_quick_look(repetitions: int) -> None:
    """Have the verdict say that it is a quick look's."""
    on_screen.now().note = f"Quick look ({repetitions} repetitions): "


def _buttons(panel: Panel) -> tuple[Any, ...]:
    """Draw the buttons, and what is wrong with the settings; return the specs of the pressed."""
    button = panel.button
    with panel.row:
        seconds = math.nan
        if not panel.problem:
            seconds = panel.left * progress.seconds(panel.wanted, jobs.at_once(panel.wanted))
        pressed = st.button(
            button.label,
            icon=":material/play_arrow:",
            type="primary",
            disabled=bool(panel.problem),
            key=button.key,
            help=panel.hint or None,
            shortcut="G" if on_screen.presenting() else None,
            on_click=_draw_seed,
            args=(panel.seed,),
        )
        if not math.isnan(seconds):
            st.caption(span(seconds), width="content")
        quick_pressed = False
        if panel.quick and seconds > _WORTH_A_QUICK_LOOK and not _finished(panel):
            quick_pressed = st.button(
                "Quick look",
                key=f"{button.key}-quick",
                help=f"{panel.repetitions} repetitions at both ends and in the middle. They count: "
                f"*{button.label}* makes only the others.",
            )
            seconds = panel.quick_left * progress.seconds(panel.quick, jobs.at_once(panel.quick))
            st.caption(span(seconds), width="content")
    if panel.problem:
        st.error(controls.reword(panel.problem), icon=":material/error:")
    pressed |= st.session_state.pop(_RUN_NEXT, False)
    return panel.wanted if pressed else panel.quick if quick_pressed else ()


def _finished(panel: Panel) -> bool:
    """Say whether results of these settings stand, whole or of a quick look."""
    job = _standing(panel)
    return job is not None and job.state == "done" and panel.asks(job)


def run_next(seed: str) -> None:
    """Have the page's panel run in the next script, as if its button had been pressed."""
    st.session_state[_RUN_NEXT] = True
    _draw_seed(seed)


def _draw_seed(seed: str) -> None:
    """Draw another seed for the box called ``seed``, unless the visitor holds it."""
    if seed and seed in st.session_state and st.session_state.get(f"new_{seed}"):
        st.session_state[seed] = secrets.randbelow(_MOST_SEED)


# what an address may hold besides settings of a run
_NO_SETTINGS = {
    "lesson",
    "step",
    "present",
    "open_all",
    "tab",
    "embed",
    "clip",
    "user",
    "list_user",
    "list_enough",
    "held_user",
    "f_image",
    "f_used",
    "f_document",
    "f_topic",
    "question",
    "f_question",
    "t_protect",
    "t_vary",
    "t_by",
    "t_view",
}


def _example(panel: Panel) -> None:
    """Draw the example; where the settings are others, nobody can take it for theirs."""
    one = panel.example
    if isinstance(one, Example):
        draw_example(one, panel.wanted, panel.button.label)
    else:
        one()
    st.session_state[_EXAMPLE_SHOWN] = _example_key(panel)  # all of it: a script may end before


def _example_key(panel: Panel) -> Any:
    """Tell its example from others."""
    return panel.kind, panel.example.specs if isinstance(panel.example, Example) else None


def draw_example(one: Example, wanted: tuple[Any, ...], label: str = "Run") -> None:
    """Draw what stands before the first run.

    Where its settings are not those that are ``wanted``, what ``label`` does is said. While no
    setting was touched the example passes for what they are, unless what is most in sight differs.
    """
    same = wanted == one.specs
    own = "" if same else ", other settings"
    # the address holds the settings that differ from the usual ones
    same = same or not (set(st.query_params) - _NO_SETTINGS or one.differs)
    if same:
        about = f":material/info: **{one.name}**{own}: {one.about}."
        st.container(key="about-example").caption(about)
    else:
        st.info(
            f"**Example, not your settings**: {one.about}. Press *{label}* to compute with yours."
            f"{one.also}",
            icon=":material/info:",
        )
    on_screen.now().note = "Example: "
    with st.container(key="example" if same else "example-of-others"):
        one.draw()


def example_runs(specs: tuple[RunSpec, ...]) -> list[Any]:
    """Wait for finished results of a few small specs; what a visitor asks for meanwhile comes
    first.
    """
    results = jobs.example(specs)
    if not results.done():
        with st.spinner("Computing the example…"):
            while not wait([results], _BETWEEN_EXAMPLE_LOOKS).done:
                st.session_state.get(_EXAMPLE_SHOWN)  # where a script ends when another is to run
    # those that were left for somebody's run are asked for again
    return example_runs(specs) if results.cancelled() else results.result()


def _linked(panel: Panel) -> tuple[Any, ...]:
    """Return the specs that the address asks to run: once per visit."""
    button, job = panel.button, jobs.current(panel.kind)
    if job is not None and panel.asks(job):  # there, from before the tab was loaded again
        st.session_state[button.used_key] = True
    if any(spec.may_be_secret for spec in panel.wanted):
        return ()  # each run is another release: only a person asks for one
    flag = st.query_params.get(button.flag)
    linked = flag in ("1", "quick") and button.used_key not in st.session_state
    if button.strict:
        linked = linked and controls.trusted()
        if linked:
            st.session_state[button.used_key] = True
    return () if not linked else panel.quick if flag == "quick" else panel.wanted


def _show_running(panel: Panel, job: jobs.Job) -> None:
    on_screen.verdict("Running: the figure is drawn as results arrive.")
    on_screen.now().running = True
    if panel.wanted and not panel.asks(job):
        _say_changed(panel.button)
    if panel.while_running is not None:
        panel.while_running(job)
    drawn = job.drawn

    def so_far() -> None:
        if panel.so_far(job) and not drawn:  # the page is drawn again without what stood before
            job.drawn = True
            st.rerun()

    watch(job, panel.step, so_far)
    earlier = _standing(panel)
    # what nobody has seen yet would be computed first, and *Cancel* would wait for it
    if not drawn and (
        earlier is not None or st.session_state.get(_EXAMPLE_SHOWN) == _example_key(panel)
    ):
        with st.container(key="before-results"), on_screen.silently():
            which, draw = "", panel.example
            if earlier is not None:
                draw = partial(panel.show, earlier.results)
            elif isinstance(draw, Example):
                which, draw = f", an example ({draw.about})", draw.draw
            st.caption(f"Before this run{which}:")
            draw()


def _say_changed(button: Button) -> None:
    """Say that results are of other settings than those on screen: who gets the address sees these,
    which have not been run, and presses the button.
    """
    st.query_params.pop(button.flag, None)
    st.info(button.changed, icon=":material/update:")


def _standing(panel: Panel) -> Job | None:
    """Find the job whose results stand, if any do."""
    job = jobs.standing(panel.kind)
    return None if job is None or (panel.in_store and not panel.asks(job)) else job


def _show_ended(panel: Panel, job: jobs.Job) -> None:
    """Say how the job ended, and show the results that stand."""
    standing = _standing(panel)
    _say_how_it_ended(panel, job, standing)
    if standing is None:
        _example(panel)
        return
    same = not panel.wanted or panel.asks(standing) or _only_drawn_seed_differs(panel, standing)
    if not same:
        _say_changed(panel.button)
    if standing.state == "done" or not panel.in_store:  # else the page says how much of it is kept
        about = f":material/check: **Your run**{_about(standing)}."
        st.container(key="whose-run").caption(about)
    if standing.specs == panel.quick:
        note_quick_look(panel.repetitions)
    with st.container(key="results" if same else "results-of-others"):
        panel.show(standing.results)


def _only_drawn_seed_differs(panel: Panel, job: Job) -> bool:
    """Say whether ``job`` had the settings on screen with another seed, where each press of the
    button draws one: a run that was cancelled at once leaves its own in the box.
    """
    if not panel.seed or not st.session_state.get(f"new_{panel.seed}"):
        return False
    wanted, others = ([spec.replace(seed=0) for spec in s] for s in (panel.wanted, job.specs))
    return wanted == others


def _about(job: Job) -> str:
    """Say what a finished job ran on, as far as one run is like another."""
    spec = job.specs[0]
    dataset, seed = getattr(spec, "dataset", ""), getattr(spec, "seed", None)
    about = ""
    if isinstance(dataset, str) and dataset and not user_datasets.is_own(dataset):
        about += f", {entry(dataset).title}"
    if seed is not None:
        about += f", seed {seed}"
    if job.seconds:  # its thread has ended: one that is cancelled may still wait for a worker
        about += f", {job.seconds:.1f} s"
    if settings.scheduler() and not job.where:
        about += ", on the cluster"
    return about


def _say_how_it_ended(panel: Panel, job: jobs.Job, standing: jobs.Job | None) -> None:
    """Say that a job failed or was cancelled, or that its results could not be kept."""
    below = ""
    if standing is not None and (job.progress[0] or not panel.in_store):
        below = "What it computed is below." if standing is job else "Earlier results are below."
    if job.state == "failed" and (panel.asks(job) or not panel.wanted):  # other settings may do
        which = LETTERS[unfinished] + ": " if (unfinished := _unfinished(job)) is not None else ""
        st.error(f"{which}{controls.reword(job.error)} {below}", icon=":material/error:")
    if job.state == "cancelled":
        done, total = job.progress
        st.info(
            f"Cancelled after {done:,} of {total:,} {panel.step}s. "
            + ("What is finished is kept." if panel.in_store and done else below),
            icon=":material/stop_circle:",
        )
    if job.where:
        st.info(job.where, icon=":material/dns:")
    if job.let_go:
        st.info(job.let_go, icon=":material/memory:")
    if job.note:
        st.warning(
            controls.plain(f"Finished, but not kept among past runs. {job.note}"),
            icon=":material/save:",
        )


def _unfinished(job: jobs.Job) -> int | None:
    """Find which of several configurations has no result."""
    if not 1 < len(job.specs) <= len(LETTERS) or job.kind not in _COMPARED:
        return None
    return next(
        (k for k, result in enumerate(job.results) if result is None or not result.finished), None
    )


def watch(job: Job, step: str, so_far: Callable[[], object]) -> None:
    """Show ``job`` until it ends.

    ``step`` is what its progress counts; ``so_far`` draws what there is.
    """

    @st.fragment(run_every=_BETWEEN_LOOKS if job.drawn or job.place else _BETWEEN_FIRST_LOOKS)
    def live() -> None:
        if not job.active:
            st.rerun()
        done, total = job.progress
        bar, button = st.columns([5, 1], vertical_alignment="center")
        bar.progress(done / total if total else 0.0, text=standing(job, step))
        if button.button(
            "Cancel", icon=":material/stop_circle:", key=f"cancel-{job.kind}", width="stretch"
        ):
            job.cancel()
            st.rerun()
        if where := jobs.place_of(job):
            st.caption(f":material/dns: {where}")
        so_far()

    live()
