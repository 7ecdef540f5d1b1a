"""The part of a page that runs something: a button, the work going on, the results that stand."""

import math
import secrets
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import dataclass
from functools import partial
from typing import Any
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

_SEEDS = 10_000  # that are drawn: short enough to be read out
_LONG = 30.0  # seconds from which on a quick look is worth it
_EVERY = 0.5  # seconds between two looks at a running job
_FIRST = 0.2  # the same while it computes and nothing of it is drawn
_PATIENCE = 0.4  # seconds that a script waits for a first result
_COMPARED = ("run", "recommend")  # kinds of jobs whose runs have letters
_LOOK = 0.1  # seconds between looks at whether the page is to run again
_SHOWN = "example-shown"  # in the session: which one was drawn last
_NEXT = "run-next"  # in the session: that the next script runs


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a panel is called, for visitors and in the address.

    The button has a ``label`` and a ``key``. ``flag`` is the parameter of an address that runs,
    ``used`` the key that remembers that this was done in this visit. ``changed`` is said where
    results are of other settings. ``quiet``: the page itself says what the problem is.
    ``strict``: an address runs once whatever it asks for, and not where it asks for what could
    not be had; else it runs as soon as its settings can be.
    """

    label: str = "Run"
    key: str = "go"
    flag: str = "run"
    used: str = "linked"
    changed: str = "The settings have changed since this run; press *Run* to compute with them."
    quiet: bool = False
    strict: bool = True


@dataclass(frozen=True, kw_only=True)
class Example:
    """What a panel shows before the first run: ``draw`` draws it.

    ``about`` says what it is of (a noun phrase), ``specs`` are its settings; ``differs``: the main
    control of the page stands at another value.
    """

    about: str
    specs: tuple[Any, ...]
    draw: Callable[[], None]
    differs: bool = False


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One thing that a page runs, from the row of its main control down.

    ``kind`` of job; ``wanted`` specs, empty where there is a ``problem``; ``quick`` specs make the
    first of its runs, so many ``repetitions`` of each; ``step`` is what progress counts;
    ``so_far`` draws a running job and says whether there was anything; ``show`` draws a job's
    results; ``example`` what is there before the first; ``row`` is where the button stands,
    ``left`` and ``quick_left`` the shares of its runs that are not made yet, ``hint`` what else to
    know before, ``seed`` the key of the box of its seed, where each press draws another one.
    ``while_running`` is what stands above the progress. ``ended`` says why a job ended before its
    time, where the usual words do not fit. ``in_store`` says that ``example`` finds results of any
    settings in the run store: those of a job with other settings are not shown.
    """

    kind: str
    wanted: tuple[Any, ...]
    problem: str
    step: str
    so_far: Callable[[jobs.Job], bool]
    show: Callable[[jobs.Job], None]
    example: Callable[[], None] | Example
    row: DeltaGenerator
    quick: tuple[Any, ...] = ()
    repetitions: int = 2
    left: float = 1.0
    quick_left: float = 1.0
    hint: str = ""
    seed: str = ""
    while_running: Callable[[jobs.Job], None] | None = None
    ended: Callable[[jobs.Job], None] | None = None
    in_store: bool = False
    look: Look = Look()

    def asks(self, job: Job) -> bool:
        """Say whether ``job`` is what is asked for, whole or for a quick look."""
        return job.specs in (self.wanted, self.quick)


def panel(of: Panel) -> None:
    """Draw a panel."""
    job = jobs.current(of.kind)
    specs = _buttons(of) or _linked(of)
    if specs and not of.problem:
        st.session_state[of.look.used] = True
        if not any(spec.may_be_secret for spec in of.wanted):
            st.query_params[of.look.flag] = "1" if specs == of.wanted else "quick"
        try:
            job = _started(of.kind, specs)
            job.address = _address(of.look.flag)
        except DPMCError as error:
            st.error(controls.reword(run_store.public_message(error)))
        else:
            # most first results are there at once: drawn now, they need no second script
            job.drawn = job.wait_for_result(_PATIENCE)
            if not job.active:  # what stands above is of a job that goes on
                st.rerun()
    if job is None:
        if of.look.strict:
            st.query_params.pop(of.look.flag, None)
        _example(of)
    elif job.active:
        _show_running(of, job)
    else:
        _show_ended(of, job)


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


def _buttons(of: Panel) -> tuple[Any, ...]:
    """Draw the buttons, and what is wrong with the settings; return the specs of the pressed."""
    look = of.look
    with of.row:
        guess = (
            math.nan
            if of.problem
            else of.left * progress.seconds(of.wanted, jobs.at_once(of.wanted))
        )
        about = "" if math.isnan(guess) else span(guess)
        pressed = st.button(
            look.label,
            icon=":material/play_arrow:",
            type="primary",
            disabled=bool(of.problem),
            key=look.key,
            help=of.hint or None,
            shortcut="G" if on_screen.presenting() else None,
            on_click=_draw_seed,
            args=(of.seed,),
        )
        if about:
            st.caption(about, width="content")
        looked = False
        if of.quick and guess > _LONG and not _finished(of):
            looked = st.button(
                "Quick look",
                key=f"{look.key}-quick",
                help=f"{of.repetitions} repetitions at both ends and in the middle. They count: "
                f"*{look.label}* makes only the others.",
            )
            guess = of.quick_left * progress.seconds(of.quick, jobs.at_once(of.quick))
            st.caption(span(guess), width="content")
    if of.problem and not look.quiet:
        st.error(controls.reword(of.problem), icon=":material/error:")
    pressed |= st.session_state.pop(_NEXT, False)
    return of.wanted if pressed else of.quick if looked else ()


def _finished(of: Panel) -> bool:
    """Say whether results of these settings stand, whole or of a quick look."""
    job = _standing(of)
    return job is not None and job.state == "done" and of.asks(job)


def run_next(seed: str) -> None:
    """Have the page's panel run in the next script, as if its button had been pressed."""
    st.session_state[_NEXT] = True
    _draw_seed(seed)


def _draw_seed(seed: str) -> None:
    """Draw another seed for the box called ``seed``, unless the visitor holds it."""
    if seed and seed in st.session_state and st.session_state.get(f"new_{seed}"):
        st.session_state[seed] = secrets.randbelow(_SEEDS)


# what an address may hold besides settings of a run
_NO_SETTINGS = (
    *("lesson", "step", "present", "open_all", "tab", "embed", "clip", "user", "list_user"),
    *("list_enough", "held_user", "f_image", "f_used", "f_document", "f_topic"),
)
_QUESTIONS = ("question", "f_question", "t_protect", "t_vary", "t_by", "t_view")


def untouched() -> bool:
    """Say whether no setting differs from the usual one: the address holds those that do."""
    return not set(st.query_params) - {*_NO_SETTINGS, *_QUESTIONS}


def _example(of: Panel) -> None:
    """Draw the example; where the settings are others, nobody can take it for theirs."""
    one = of.example
    if isinstance(one, Example):
        same = of.wanted == one.specs
        draw_example(one.about, one.draw, same=same, label=of.look.label, differs=one.differs)
    else:
        one()
    st.session_state[_SHOWN] = _name(of)  # all of it: a script may end before


def _name(of: Panel) -> Any:
    """Tell its example from others."""
    return of.kind, of.example.specs if isinstance(of.example, Example) else None


def draw_example(
    about: str,
    draw: Callable[[], None],
    *,
    same: bool,
    name: str = "Example",
    label: str = "Run",
    also: str = "",
    differs: bool = False,
) -> None:
    """Draw what stands before the first run, called ``name``.

    ``about`` says what it is of, ``same`` that its settings are those on screen; else what
    ``label`` does is said, and ``also`` what else is known. While no setting was touched the
    example passes for what they are, unless what is most in sight ``differs``.
    """
    own = "" if same else ", other settings"
    same = same or (untouched() and not differs)
    if same:
        st.container(key="about-example").caption(f":material/info: **{name}**{own}: {about}.")
    else:
        st.info(
            f"**Example, not your settings**: {about}. Press *{label}* to compute with yours."
            f"{also}",
            icon=":material/info:",
        )
    on_screen.now().note = "Example: "
    with st.container(key="example" if same else "example-of-others"):
        draw()


def example_runs(specs: tuple[RunSpec, ...]) -> list[Any]:
    """Wait for finished results of a few small specs; what a visitor asks for meanwhile comes
    first.
    """
    results = jobs.example(specs)
    if not results.done():
        with st.spinner("Computing the example…"):
            while not wait([results], _LOOK).done:
                st.session_state.get(_SHOWN)  # where a script ends when another is to run
    # those that were left for somebody's run are asked for again
    return example_runs(specs) if results.cancelled() else results.result()


def _linked(of: Panel) -> tuple[Any, ...]:
    """Return the specs that the address asks to run: once per visit."""
    look, job = of.look, jobs.current(of.kind)
    if job is not None and of.asks(job):  # there, from before the tab was loaded again
        st.session_state[look.used] = True
    if any(spec.may_be_secret for spec in of.wanted):
        return ()  # each run is another release: only a person asks for one
    flag = st.query_params.get(look.flag)
    linked = flag in ("1", "quick") and look.used not in st.session_state
    if look.strict:
        linked = linked and controls.trusted()
        if linked:
            st.session_state[look.used] = True
    return () if not linked else of.quick if flag == "quick" else of.wanted


def _show_running(of: Panel, job: jobs.Job) -> None:
    on_screen.verdict("Running: the figure is drawn as results arrive.")
    on_screen.now().running = True
    if of.wanted and not of.asks(job):
        _say_changed(of.look)
    if of.while_running is not None:
        of.while_running(job)
    drawn = job.drawn

    def so_far() -> None:
        if of.so_far(job) and not drawn:  # the page is drawn again without what stood before
            job.drawn = True
            st.rerun()

    watch(job, of.step, so_far)
    earlier = _standing(of)
    # what nobody has seen yet would be computed first, and *Cancel* would wait for it
    if not drawn and (earlier is not None or st.session_state.get(_SHOWN) == _name(of)):
        with st.container(key="before-results"), on_screen.silently():
            which, draw = "", of.example
            if earlier is not None:
                draw = partial(of.show, earlier)
            elif isinstance(draw, Example):
                which, draw = f", an example ({draw.about})", draw.draw
            st.caption(f"Before this run{which}:")
            draw()


def _say_changed(look: Look) -> None:
    """Say that results are of other settings than those on screen: who gets the address sees these,
    which have not been run, and presses the button.
    """
    st.query_params.pop(look.flag, None)
    st.info(look.changed, icon=":material/update:")


def _standing(of: Panel) -> Job | None:
    """Find the job whose results stand, if any do."""
    job = jobs.standing(of.kind)
    return None if job is None or (of.in_store and not of.asks(job)) else job


def _show_ended(of: Panel, job: jobs.Job) -> None:
    """Say how the job ended, and show the results that stand."""
    standing = _standing(of)
    if of.ended is not None:
        of.ended(job)
    else:
        _say_how_it_ended(of, job, standing)
    if standing is None:
        _example(of)
        return
    same = not of.wanted or of.asks(standing) or _only_drawn_seed_differs(of, standing)
    if not same:
        _say_changed(of.look)
    if standing.state == "done" or not of.in_store:  # else the page says how much of it is kept
        whose = st.container(key="whose-run")
        whose.caption(f":material/check: **Your run**{_about(standing)}.")
    if standing.specs == of.quick:
        note_quick_look(of.repetitions)
    with st.container(key="results" if same else "results-of-others"):
        of.show(standing)


def _only_drawn_seed_differs(of: Panel, job: Job) -> bool:
    """Say whether ``job`` had the settings on screen with another seed, where each press of the
    button draws one: a run that was cancelled at once leaves its own in the box.
    """
    if not of.seed or not st.session_state.get(f"new_{of.seed}"):
        return False
    wanted, others = ([spec.replace(seed=0) for spec in s] for s in (of.wanted, job.specs))
    return wanted == others


def _about(job: Job) -> str:
    """Say what a finished job ran on, as far as one run is like another."""
    spec = job.specs[0]
    dataset, seed = getattr(spec, "dataset", ""), getattr(spec, "seed", None)
    parts = []
    if isinstance(dataset, str) and dataset and not user_datasets.is_own(dataset):
        parts.append(entry(dataset).title)
    if seed is not None:
        parts.append(f"seed {seed}")
    if job.seconds:  # its thread has ended: one that is cancelled may still wait for a worker
        parts.append(f"{job.seconds:.1f} s")
    if settings.scheduler() and not job.where:
        parts.append("on the cluster")
    return "".join(f", {one}" for one in parts)


def _say_how_it_ended(of: Panel, job: jobs.Job, standing: jobs.Job | None) -> None:
    """Say that a job failed or was cancelled, or that its results could not be kept."""
    below = ""
    if standing is not None and (job.progress[0] or not of.in_store):
        below = "What it computed is below." if standing is job else "Earlier results are below."
    if job.state == "failed" and (of.asks(job) or not of.wanted):  # other settings may do
        which = LETTERS[unfinished] + ": " if (unfinished := _unfinished(job)) is not None else ""
        st.error(f"{which}{controls.reword(job.error)} {below}", icon=":material/error:")
    if job.state == "cancelled":
        done, total = job.progress
        st.info(
            f"Cancelled after {done:,} of {total:,} {of.step}s. "
            + ("What is finished is kept." if of.in_store and done else below),
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

    @st.fragment(run_every=_EVERY if job.drawn or job.place else _FIRST)
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
