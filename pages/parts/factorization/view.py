"""Parts and topics learned in several ways, side by side."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from dpmc_core.errors import DPMCError
from dpmc_core.experiments import FactorResult, RunSpec, run
from dpmc_core.metrics.topics import W2V_WARNING, tc_w2v
from dpmc_core.privacy import odds_sentence, subject
from dpmc_core.wording import three
from pages.parts.factorization import charts as factor_charts
from pages.parts.factorization.charts import Learned, learned
from pages.parts.factorization.export import export
from pages.parts.factorization.one_sample import document_topics, rebuilt_image
from pages.parts.factorization.texts import notice_factors
from pages.parts.server import jobs
from pages.parts.server.sandbox import learn_words
from pages.parts.ui import controls
from pages.parts.ui.accounts import counted
from pages.parts.ui.bullet_list import notice
from pages.parts.ui.figures import draw, show

__all__ = ["example", "factor_results", "factors_so_far"]

_TOPICS_SHOWN = 6


@st.cache_resource(max_entries=4, show_spinner="Learning the example's parts…")
def example(specs: tuple[RunSpec, ...]) -> list[FactorResult]:
    """Finished results of a few small specs."""
    return [run(spec) for spec in specs]


def factors_so_far(job: jobs.Job) -> bool:
    """What a running job has learned up to now, if anything."""
    done = [r for r in job.results if r is not None]
    if not done:
        return False
    items = learned(done)
    figure, _ = factor_charts.objective_curves(items)
    draw(figure, "live-factors", "Objective per round so far.")
    if done[0].clean.unit == "image":
        for column, item in zip(st.columns(len(items)), items, strict=True):
            with column:
                st.markdown(f"**{item.name}**")
                draw(
                    factor_charts.part_tiles(item),
                    f"live-{item.result.spec.card.name}",
                    f"Parts so far: {item.name}.",
                    toolbar=False,
                )
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
    (_parts if images else _topics)(items)
    notice([*notice_factors(items), *map(controls.plain, done[0].samples.notes)])
    st.subheader("How well is the data rebuilt?", anchor=False)
    figure, numbers = factor_charts.objective_curves(items)
    said = "; ".join(f"{i.name} {three(i.result.final.objective)}" for i in items)
    show(figure, "objective", f"Objective per round. At the end: {said}.", numbers)
    unit = done[0].clean.unit
    st.caption(
        "Lower is better. Every dictionary is judged by the non-negative weights that suit it "
        f"best on the {'clean ' if done[0].samples.spoiled.size else ''}data (nmf-paper, eq. "
        "15, at the best weights; columns of length 1), which is the data it was learned from. "
        f"Bars at the ends: 95 % over the choice of {unit}s, for the "
        f"{'parts' if images else 'topics'} shown. Each curve is one draw of noise and start; "
        "the studies repeat with other seeds."
    )
    for column, item in zip(st.columns(len(items)), items, strict=True):
        with column:
            _account(item)
    (rebuilt_image if images else document_topics)(items)
    export(items)


def _size(result: FactorResult) -> str:
    return (
        f"N = {len(result.clean):,} {result.clean.unit}s of {result.clean.dimension:,} "
        f"{'pixels' if result.clean.unit == 'image' else 'words'}, K = "
        f"{result.spec.algorithm.rank}"
    )


def _parts(items: list[Learned]) -> None:
    """The learned parts of each method as tiles."""
    st.subheader("The parts each method learned", anchor=False)
    for column, item in zip(st.columns(len(items)), items, strict=True):
        with column:
            st.markdown(f"**{item.name}**")
            near = (
                ""
                if np.isnan(item.likeness).all()
                else f" Mean likeness to the first method's: {np.nanmean(item.likeness):.2f}."
            )
            alt = f"{item.dictionary.shape[1]} parts learned by {item.name}.{near}"
            draw(
                factor_charts.part_tiles(item),
                f"parts-{item.result.spec.card.name}",
                alt,
                toolbar=False,
            )
            st.caption(_how(item) + near)
    st.caption(
        f"{_size(items[0].result)}. White is strong; every part is as bright as its own "
        "brightest pixel. In the same place stand the parts that are most alike (cosine, "
        "matched one to one)."
    )


def _how(item: Learned) -> str:
    spec = item.result.spec
    rounds = item.result.final.iteration
    if spec.noise.mechanism == "none":
        return f"{_rounds(rounds)}, no noise."
    if spec.card.guarantee:
        times = "released once" if spec.card.name == "moment-nmf" else _rounds(rounds)
        return f"{times}, total ε = {three(spec.noise.epsilon or 1.0)}."
    return f"{_rounds(rounds)}, nominal ε = {three(spec.noise.epsilon or 0.5)} each."


def _rounds(count: int) -> str:
    return "1 round" if count == 1 else f"{count} rounds"


def _topics(items: list[Learned]) -> None:
    """Top words of each topic as bars, the same topic in the same row."""
    st.subheader("The topics each method learned", anchor=False)
    count = items[0].dictionary.shape[1]
    first = 0
    if count > _TOPICS_SHOWN:
        first = controls.whole("First topic shown", "f_topic", 1, count, 1) - 1
    shown = min(_TOPICS_SHOWN, count - first)
    for column, item in zip(st.columns(len(items)), items, strict=True):
        with column:
            st.markdown(f"**{item.name}**")
            st.caption(_how(item))
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
        f"{_size(items[0].result)}. Bars: a word's weight relative to the heaviest of its "
        "topic. Rows compare: topics are matched one to one to the first method's by the cosine "
        "of their weights (*likeness*)."
    )
    result = items[0].result
    with st.expander(
        "Two coherence scores, and why to distrust one", on_change="rerun", key="f-coherence"
    ) as fold:
        if fold.open:
            st.markdown(f":material/warning: {W2V_WARNING}")
            rows, spoken = [], bool(result.clean.texts)
            try:
                with st.spinner(
                    "Training word2vec on these documents; a minute for thousands of them…"
                ):
                    for item in items if spoken else ():
                        learn_words(item.result.clean)
            except DPMCError as error:
                spoken = False
                st.error(controls.plain(str(error)), icon=":material/error:")
            for item in items:
                scores = item.result.coherence
                row = {
                    "method": item.name,
                    "NPMI": math.nan if scores is None else float(np.nanmean(scores)),
                }
                if spoken:
                    row["TC-W2V"] = float(
                        np.nanmean(tc_w2v(item.result.clean, item.result.dictionary))
                    )
                rows.append(row)
            random = np.random.default_rng(0).random(result.dictionary.shape)
            row = {"method": "random words", "NPMI": _npmi(result, random)}
            if spoken:
                row["TC-W2V"] = float(np.nanmean(tc_w2v(result.clean, random)))
            rows.append(row)
            st.dataframe(
                pd.DataFrame(rows).round(3),
                hide_index=True,
                width="stretch",
                alt="NPMI and TC-W2V of each method's topics and of random words.",
            )
            if not result.clean.texts:
                st.caption("This set holds counts without running text, so there is no word2vec.")


def _npmi(result: FactorResult, dictionary: np.ndarray) -> float:
    from dpmc_core.metrics.topics import npmi

    return float(np.nanmean(npmi(result.clean, dictionary)))


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
        apart, half = result.against_baseline
        lines = [
            f"± {result.final.half_width:.2g} (95 %)",
            f"against {result.best_baseline}: {apart:+.4f} ± {half:.2g}",
        ]
        if math.isfinite(result.way) and apart < 0:
            lines.append(f"{100 * result.way:.0f} % of the way to scikit-learn's NMF")
        if result.final.found is not None:
            lines.append(
                f"true {'parts' if result.clean.unit == 'image' else 'topics'} found: "
                f"{100 * result.final.found:.0f} %"
            )
        if result.coherence is not None and np.isfinite(result.coherence).any():
            lines.append(f"NPMI {np.nanmean(result.coherence):.2f}")
        if result.final.moved is not None:
            lines.append(f"W moved {100 * result.final.moved:.2g} % from the raw data's SVD")
        st.caption("  \n".join(lines))
        if not statement.private:
            st.markdown(f":material/shield: {statement.label}")
            st.caption("What is shown could reveal the data it was made from.")
            return
        if statement.nominal:
            st.warning(
                f"**Not private**, whatever its ε says: {statement.label} counts noise on "
                "steps, not the start. (The paper calls a round's noise ε = "
                f"{three(item.result.spec.noise.epsilon or 0.5)} for each of two statistics; "
                "exactly counted, one such draw has the smaller ε given here.) Its noise is "
                "always Gaussian.",
                icon=":material/gpp_bad:",
            )
        else:
            st.markdown(f":material/shield: {statement.label}")
            st.caption(odds_sentence(statement.epsilon, statement.delta, subject(statement.unit)))
        st.caption(
            f"Unit: one {statement.unit}; neighbours: {statement.neighbours}. Counted by "
            f"{statement.how}."
        )
        counted(statement)
