"""Parts and topics learned in several ways, side by side."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from dpmc_core.errors import DPMCError
from dpmc_core.experiments import FactorResult
from dpmc_core.metrics.factors import W2V_WARNING, mean_score, npmi, tc_w2v
from dpmc_core.privacy import odds_sentence, subject
from dpmc_core.privacy.noise import RoundEpsilon
from dpmc_core.wording import csv_text, finite, signed, three
from pages.parts.factorization import charts as factor_charts
from pages.parts.factorization.charts import Learned, learned, shown_words
from pages.parts.factorization.one_sample import document_topics, rebuilt_image
from pages.parts.factorization.texts import factor_observations, factor_verdict
from pages.parts.frame import drag, python_lines
from pages.parts.frame.page import counted, observations, tab, verdict
from pages.parts.server import jobs
from pages.parts.server.sandbox import learn_words
from pages.parts.ui import controls
from pages.parts.ui.figures import draw, show
from pages.parts.ui.on_screen import code, download


def _parts_csv(result: FactorResult) -> str:
    words = list(result.clean.words) or None
    return csv_text(pd.DataFrame(result.dictionary, index=words), index=True)


def export(items: list[Learned]) -> None:
    """Offer downloads, and the same runs elsewhere."""
    download(
        "Results with ledgers (JSON)",
        "dpmc-factors.json",
        lambda: [finite(i.result.summary()) for i in items],
    )
    for item in items:
        algorithm = item.result.spec.card.name
        if item.result.ledger.private:
            download(
                f"Ledger of {item.name} (JSON)",
                f"dpmc-ledger-{algorithm}.json",
                item.result.ledger.as_dict,
                key=f"ledger-{algorithm}",
            )
        download(
            f"Parts of {item.name} (CSV)",
            f"dpmc-parts-{algorithm}.csv",
            partial(_parts_csv, item.result),
            key=f"parts-csv-{algorithm}",
        )
    for item in items:
        st.markdown(f"**{item.name}** on the command line, and in Python:")
        code(item.result.spec.command(), "bash")
        code(item.result.spec.python(), "python")


_TOPICS_SHOWN = 6
_TILES = (
    "White is strong: every part is as bright as its own brightest pixel. In the same place stand "
    "the parts that are most alike (cosine, matched one to one). *As published*: the paper's "
    "algorithm at the paper's own ε of each round. *Corrected*: its rounds from a random start, "
    "with noise on everything they learn. *One-shot moment NMF*: sums and products of all images "
    "are released once, and the parts are learned from them."
)
_WORDS = 5  # of a topic, in the table
_STEP = 5  # % of the rounds between two places of the slider


def factors_so_far(job: jobs.Job) -> bool:
    """What a running job has learned up to now, if anything."""
    done = [r for r in job.results if r is not None]
    if not done:
        return False
    items = learned(done)
    if done[0].clean.unit == "image":
        with st.container(key="tiles", horizontal=True):
            for item in items:
                with st.container():
                    st.markdown(f"**{item.name}**")
                    name = f"live-{item.result.spec.card.name}"
                    tiles = factor_charts.part_tiles(item)
                    draw(tiles, name, f"Parts so far: {item.name}.", toolbar=False)
    else:
        _topics(items, 100)
    figure, _ = factor_charts.objective_curves(items)
    draw(figure, "live-factors", "Objective per round so far.")
    return True


def factor_results(results: Sequence[FactorResult | None]) -> None:
    """Everything that finished runs show."""
    done = [r for r in results if r is not None]
    if not done:
        return
    items = learned(done)
    images = done[0].clean.unit == "image"
    if len(done) < len(results):
        st.info(
            f"Stopped before {len(results) - len(done)} of the {len(results)} methods had "
            "begun: they are not shown."
        )
    notes = list(map(controls.plain, done[0].samples.notes))
    above = st.container()
    percent = _replayed(items)
    verdict(_frame(items, percent).verdict)
    with above:
        if images:
            _parts(items, percent)
        else:
            _topics(items, percent)
    observations([*factor_observations(items), *notes], most=0)  # the figure shows the first
    python_lines.of_runs([(item.name, item.result.spec) for item in items])
    if images:
        tab("One image rebuilt", "sample", lambda: rebuilt_image(items))
    else:
        tab("Word weights", "bars", lambda: _bars(items))
        tab("Coherence", "coherence", lambda: _scores(items))
        tab("One document", "sample", lambda: document_topics(items))
    tab("Error by round", "objective", lambda: _objective(items))
    tab("Protection", "accounts", lambda: _accounts(items))
    tab("Export", "export", lambda: export(items))


def _objective(items: list[Learned]) -> None:
    first = items[0].result
    said = "; ".join(f"{i.name} {three(i.result.final.objective)}" for i in items)
    show(
        factor_charts.objective_curves(items),
        "objective",
        f"Objective per round. At the end: {said}.",
    )
    unit = first.clean.unit
    clean = "clean " if first.samples.spoiled.size else ""
    st.caption(
        "Lower is better. Every dictionary is judged by the non-negative weights that suit it "
        f"best on the {clean}data (private-NMF paper, eq. 15, at the best weights; columns of "
        "length 1), which is the data it was learned from. Bars at the ends: 95 % over the choice "
        f"of {unit}s. Each curve is one draw of noise and start; the studies repeat with other "
        "seeds."
    )


def _accounts(items: list[Learned]) -> None:
    for start in range(0, len(items), 2):
        pair = items[start : start + 2]
        for column, item in zip(st.columns(2), pair, strict=False):
            with column:
                _account(item)


def _size(result: FactorResult) -> str:
    return (
        f"N = {len(result.clean):,} {result.clean.unit}s of {result.clean.dimension:,} "
        f"{'pixels' if result.clean.unit == 'image' else 'words'}, K = "
        f"{result.spec.algorithm.rank}"
    )


def _replayed(items: list[Learned]) -> int:
    """Draw the slider of finished runs; returns where it stands, in percent."""
    results = [item.result for item in items]
    if not all(result.finished and result.pictures for result in results):
        return 100
    return drag.replay(
        "f-replay",
        results,
        range(_STEP, 101, _STEP),
        lambda living, percent: _frame(learned(living), percent),
        "Rounds (%)",
    )


def _frame(items: list[Learned], percent: int) -> drag.Frame:
    """What the page shows after so many % of the rounds."""
    said = factor_verdict(items)
    if percent < 100:
        said = f"After {percent} % of the rounds, the objective (lower is better) is: {{}}."
        said = said.format(", ".join(f"{i.name} {_objective_after(i, percent)}" for i in items))
    if items[0].result.clean.unit != "image":
        rows = zip(*(_heads(item, percent) for item in items), strict=True)
        return drag.Frame(said, {}, {"topics": [cell for row in rows for cell in row]})
    tiles = {
        f"parts-{item.result.spec.card.name}": factor_charts.part_tiles(item)
        if percent == 100
        else factor_charts.tiles_after(item, percent / 100)
        for item in items
    }
    return drag.Frame(said, tiles)


def _objective_after(item: Learned, percent: int) -> str:
    metrics = item.result.metrics
    until = max(percent / 100 * item.result.final.iteration, metrics[0].iteration)
    return three([m.objective for m in metrics if m.iteration <= until][-1])


def _parts(items: list[Learned], percent: int) -> None:
    """The learned parts of each method as tiles."""
    drawn = _frame(items, percent).figures
    with st.container(key="tiles", horizontal=True):
        for k, item in enumerate(items):
            name = item.result.spec.card.name
            with st.container(key=f"tile-{name}"):
                st.markdown(f"**{item.name}**", help=None if k else _TILES)
                draw(
                    drawn[f"parts-{name}"],
                    f"parts-{name}",
                    f"{item.dictionary.shape[1]} parts learned by {item.name}.",
                    toolbar=False,
                )
                st.caption(f"{_found(item)}{_how(item)}")


def _found(item: Learned) -> str:
    share = item.result.final.found
    if share is None:
        return ""
    count = item.result.spec.algorithm.rank
    return f"{round(share * count)}/{count} parts, "


def _how(item: Learned) -> str:
    """The ε that a method's parts have, in a few words."""
    spec = item.result.spec
    if spec.noise.mechanism == "none":
        return "no noise"
    said = f"{'nominal ' * item.result.statement.nominal}ε = {three(spec.noise.epsilon or 0.5)}"
    return f"{said} a round" if isinstance(spec.noise, RoundEpsilon) else said


def _topics(items: list[Learned], percent: int) -> None:
    """Draw the heaviest words of each topic, the same topic in the same row."""
    frame = pd.DataFrame({i.name: _heads(i, percent) for i in items}).map(controls.plain)
    frame.index = pd.RangeIndex(1, len(frame) + 1, name="topic")
    with st.container(key="topics"):
        st.table(frame, border="horizontal")  # whole, on a phone too
    st.caption(
        f"{_size(items[0].result)}. The {_WORDS} heaviest words of each topic, coarse ones left "
        "out. Topics are matched one to one to the first method's by the cosine of their weights. "
        "Before the last round ● marks words that are new since the step before."
    )


def _heads(item: Learned, percent: int) -> list[str]:
    """The heaviest words of each topic after so many % of the rounds, new ones marked."""
    if percent == 100:
        named = shown_words(item.dictionary, item.result.clean.words, _WORDS)
        return [", ".join(word for word, _ in topic) or "(empty)" for topic in named]
    now, before = (
        factor_charts.words_after(item, max(share, _STEP) / 100, _WORDS)
        for share in (percent, percent - _STEP)
    )
    return [
        ", ".join(word if word in old else f"● {word}" for word in words) or "(empty)"
        for words, old in zip(now, before, strict=True)
    ]


def _bars(items: list[Learned]) -> None:
    """Top words of each topic as bars."""
    count = items[0].dictionary.shape[1]
    first = 0
    if count > _TOPICS_SHOWN:
        first = controls.whole("First topic shown", "f_topic", 1, count, 1) - 1
    shown = min(_TOPICS_SHOWN, count - first)
    for column, item in zip(st.columns(len(items)), items, strict=True):
        with column:
            st.markdown(f"**{item.name}** ({_how(item)})")
            figure, numbers = factor_charts.topic_bars(item, first, shown)
            heads = numbers.groupby("topic")["word"].first().tolist() if len(numbers) else []
            show(
                figure,
                f"topics-{item.result.spec.card.name}",
                f"Heaviest words of each topic by {item.name}; their first words: "
                f"{', '.join(heads)}.",
                numbers,
            )
    st.caption(
        "Bars: a word's weight relative to the heaviest of its topic. *Likeness*: the cosine to "
        "the first method's topic."
    )


def _scores(items: list[Learned]) -> None:
    """NPMI and TC-W2V of every method's topics and of random words."""
    result = items[0].result
    st.markdown(f":material/warning: {W2V_WARNING}")
    spoken = bool(result.clean.texts)
    try:
        with st.spinner("Training word2vec on these documents; a minute for thousands of them…"):
            for item in items if spoken else ():
                learn_words(item.result.clean)
    except DPMCError as error:
        spoken = False
        controls.show_error(error)
    random = np.random.default_rng(0).random(result.dictionary.shape)
    rows = []
    for name, dictionary in (
        *((item.name, item.result.dictionary) for item in items),
        ("random words", random),
    ):
        row = {"method": name, "NPMI": mean_score(npmi(result.clean, dictionary))}
        if spoken:
            row["TC-W2V"] = mean_score(tc_w2v(result.clean, dictionary))
        rows.append(row)
    st.dataframe(
        pd.DataFrame(rows).round(3),
        hide_index=True,
        alt="NPMI and TC-W2V of each method's topics and of random words.",
    )
    if not result.clean.texts:
        st.caption("This set holds counts without running text, so there is no word2vec.")


def _account(item: Learned) -> None:
    """One method's numbers, and what it protects."""
    result, statement = item.result, item.result.statement
    with st.container(border=True):
        st.markdown(f"**{item.name}**")
        st.metric(
            "objective",
            f"{result.final.objective:.4f}",
            help=(
                f"Half the squared error of one {result.clean.unit} of length 1, on average; ± "
                f"is half of a 95 % interval over the choice of {result.clean.unit}s."
            ),
        )
        apart = result.against_baseline
        lines = [
            f"± {result.final.half_width:.2g} (95 %)",
            f"against {result.best_baseline}: {signed(apart.mean, 4)} ± {apart.half_width:.2g}",
        ]
        if math.isfinite(result.way) and apart.mean < 0:
            lines.append(f"{100 * result.way:.0f} % of the way to scikit-learn's NMF")
        if result.final.found is not None:
            lines.append(
                f"true {'parts' if result.clean.unit == 'image' else 'topics'} found: "
                f"{100 * result.final.found:.0f} %"
            )
        if math.isfinite(score := mean_score(result.coherence)):
            lines.append(f"NPMI {score:.2f}")
        if result.final.moved is not None:
            lines.append(f"W moved {100 * result.final.moved:.2g} % from the raw data's SVD")
        st.caption("  \n".join(lines))
        if not statement.private:
            st.markdown(f":material/shield: {statement.label}")
            st.caption("What is shown could reveal the data it was made from.")
            return
        if statement.uncovered:
            st.warning(f"**No guarantee.** {statement.label}.", icon=":material/gpp_maybe:")
        elif statement.nominal:
            st.warning(
                f"**Not private.** {statement.label}: noise on the steps, none on the start, "
                "which is the raw data's singular vectors. The paper's ε of a round is for each "
                "of two statistics; its noise is always Gaussian.",
                icon=":material/gpp_bad:",
            )
        else:
            st.markdown(f":material/shield: {statement.label}")
            st.caption(odds_sentence(statement.epsilon, statement.delta, subject(statement.unit)))
        st.caption(
            f"Unit: one {statement.unit}; neighbours: {statement.neighbours}. Accounting: "
            f"{statement.how}."
        )
        counted(statement)
