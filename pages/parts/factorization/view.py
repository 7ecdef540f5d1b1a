"""Parts and topics learned in several ways, side by side, and what to notice about them.

One image or document is shown as each method rebuilds it from its parts or topics.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.errors import DPMCError
from dpmc_core.experiments import FactorResult, RunSpec
from dpmc_core.experiments.studies.spec import STUDIES
from dpmc_core.metrics import Comparison
from dpmc_core.metrics.factors import W2V_WARNING, column_errors, mean_score, npmi, tc_w2v
from dpmc_core.privacy.noise import RoundEpsilon
from dpmc_core.wording import csv_text, signed, three
from pages.parts.factorization import charts as factor_charts
from pages.parts.factorization.charts import Learned, learned, shown_words
from pages.parts.factorization.controls import PUBLISHED_ROUNDS, QUESTIONS, Asked
from pages.parts.frame import drag, python_lines
from pages.parts.frame.page import cards, counted, observations, tab, verdict
from pages.parts.frame.study import Built
from pages.parts.server import jobs
from pages.parts.server.sandbox import learn_words
from pages.parts.ui import controls
from pages.parts.ui.figures import draw, show
from pages.parts.ui.on_screen import download, show_table
from pages.parts.ui.pictures import sized
from pages.parts.ui.run_panel import Example, Panel, draw_panel


def factor_verdict(items: Sequence[Learned]) -> str:
    """How the private methods stand, in one sentence."""
    by_name = {item.result.spec.card.name: item.result for item in items}
    results = [by_name[n] for n in ("moment-nmf", "private-nmf") if n in by_name]
    private = [r for r in results if r.finished and r.spec.noise.epsilon is not None]
    if not private:
        return "No method with a guarantee is finished yet."
    nominal = "nominal " * any(r.statement.nominal for r in private)
    where = f"At {nominal}ε = {three(private[0].spec.noise.epsilon or 0.0)} (one draw)"
    names = {"moment-nmf": "one-shot moment NMF", "private-nmf": "corrected NMF"}
    count = private[0].spec.algorithm.rank
    if all(r.final.found is not None for r in private):
        summary = ", ".join(
            f"{names[r.spec.card.name]} {'finds ' * (not k)}{round(count * (r.final.found or 0.0))}"
            for k, r in enumerate(private)
        )
        return f"{where}, {summary} of {count} true {private[0].clean.learned}."
    standings = {names[r.spec.card.name]: r.against_baseline.verdict for r in private}
    where += f", against the baseline ({private[0].best_baseline})"
    if len(set(standings.values())) < len(standings):  # alike
        return f"{where}, {' and '.join(standings)} are {private[0].against_baseline.verdict}."
    return f"{where}, {' and '.join(f'{name} is {how}' for name, how in standings.items())}."


def baseline_sentence(item: Learned) -> str:
    """Whether a dictionary beats the best baseline, paired over images or documents."""
    result = item.result
    apart = result.against_baseline
    unit, beside = result.clean.unit, f"the best baseline, {result.best_baseline},"
    if not apart.detected:
        return f"**{item.name}** is not significantly different from {beside} on these {unit}s."
    compared = "is better than" if apart.better else "is **worse** than"
    way = (
        ""
        if math.isnan(result.way) or apart.worse
        else f": {100 * result.way:.0f} % of the way from there to scikit-learn's NMF"
    )
    by = f"{three(abs(apart.mean))} ± {apart.half_width:.2g}"
    return f"**{item.name}** {compared} {beside} by {by}{way}."


def factor_observations(items: Sequence[Learned]) -> list[str]:
    """What the results on screen show."""
    by_name = {item.key: item for item in items}
    out = []
    published = by_name.get("private-nmf-published")
    if published is not None and published.result.final.moved is not None:
        final = published.result.final
        start = (
            "**As published is not private**: it starts from the data's singular vectors, without "
            "noise"
            if _starts_from_data(published)
            else "**As published, random start** begins without the data"
        )
        out.append(
            f"{start}; {final.iteration} noisy rounds change that by "
            f"{three(100 * (final.moved or 0.0))} %."
        )
    out += [baseline_sentence(item) for item in items if item.key not in ("nmf", "sklearn-nmf")]
    moment = by_name.get("moment-nmf")
    if moment is not None and moment.result.statement.private and not moment.result.way >= 0.8:
        clean = moment.result.clean
        unit = clean.unit
        alone = len(moment.result.ledger.releases) == 1
        out.append(
            f"Privacy needs many: {len(clean):,} {unit}s are few for this ε. "
            + (
                "Only their average was released; how they vary is taken to be as in any "
                "photograph. "
                if alone
                else ""
            )
            + "Try a larger ε, or synthetic data with a larger N (*Does more data help?*)."
        )
    plain, robust = by_name.get("nmf"), by_name.get("robust-nmf")
    if plain is not None and robust is not None:
        out.append(_outlier_sentence(plain, robust))
    shares = {
        item.name: item.result.final.found for item in items if item.result.final.found is not None
    }
    if shares:
        kind = items[0].result.clean.learned
        summary = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
        out.append(f"True {kind} found (a learned one with a cosine of at least 0.9): {summary}.")
    scores = {item.name: mean_score(item.result.coherence) for item in items}
    if any(math.isfinite(s) for s in scores.values()):
        summary = ", ".join(
            f"{name} {signed(s, 2)}" for name, s in scores.items() if math.isfinite(s)
        )
        out.append(
            "Do a topic's words occur together? NPMI from −1 (never) to 1 (always): "
            f"{summary}.{_unscored(items)}"
        )
    return out


def _starts_from_data(item: Learned) -> bool:
    return bool(item.result.spec.algorithm.dictionary_start == "nndsvd")


def _unscored(items: Sequence[Learned]) -> str:
    """Which methods have topics of fewer than two words, which have no score."""
    out = []
    for item in items:
        scores = item.result.coherence
        missing = 0 if scores is None else int((~np.isfinite(scores)).sum())
        if missing:
            out.append(
                f"{missing} of {item.name}'s {item.result.spec.algorithm.rank} topics have "
                "fewer than two words and no score"
            )
    return " " + "; ".join(out) + "." if out else ""


def _outlier_sentence(plain: Learned, robust: Learned) -> str:
    a, b = (
        column_errors(i.result.clean.values, i.result.dictionary, i.result.coefficients) ** 2 / 2
        for i in (robust, plain)
    )
    change = Comparison.of_rows(a - b)
    if not change.detected:
        return (
            "On the clean images the robust parts are not significantly different from the plain "
            "ones."
        )
    return (
        f"On the clean images the robust parts err {'less' if change.better else 'more'} than the "
        f"plain ones, by {three(abs(change.mean))} ± {change.half_width:.2g} (over images; one "
        "draw of corrupted pixels)."
    )


def rebuilt_image(items: list[Learned]) -> None:
    """Draw one image made of its parts, and what the outlier matrix took up."""
    first = items[0].result
    rank = first.spec.algorithm.rank
    st.subheader("Rebuild one image from its parts", anchor=False)
    left, right = st.columns(2)
    with left:
        usual = 1 + int(first.samples.spoiled[0]) if first.samples.spoiled.size else 1
        column = controls.whole("Image", "f_image", 1, len(first.clean), usual) - 1
    with right:
        if st.session_state.get("f-used-of", rank) != rank:
            # other results: all of their parts, until somebody asks for fewer
            st.session_state["f_used"] = rank
        st.session_state["f-used-of"] = rank
        label = f"Made of its most used parts, of {rank}"
        parts = controls.whole(label, "f_used", 1, rank, rank, sliding=True)
    figure, numbers = factor_charts.rebuilt_tiles(items, column, parts)
    summary = "; ".join(
        f"{row['image']} {row['error']:.3f}" for row in numbers.to_dict("records")[1:]
    )
    show(
        figure,
        "rebuilt",
        f"Image {column + 1} and how each method rebuilds it from {parts} parts; error: {summary}.",
        numbers,
    )
    label = f" ({controls.plain(first.clean.labels[column][:80])})" if first.clean.labels else ""
    st.caption(
        f"Image {column + 1}{label}. Made of {'all' if parts == rank else 'the'} "
        f"{parts}{'' if parts == rank else ' most used'} parts, for every method. Error: distance "
        "to the image, whose length is at most 1. The weights are computed on the owner's side, "
        "without noise."
    )
    for item in items:
        if item.key == "robust-nmf" and item.result.samples.spoiled.size:
            st.subheader("What the outlier matrix took up", anchor=False)
            shown = factor_charts.corrupted_shown(item)
            draw(
                factor_charts.outlier_tiles(item),
                "outliers",
                f"{shown} corrupted images, the size of what the outlier matrix took from each, "
                "and the images rebuilt from parts.",
                toolbar=False,
            )
            st.caption(
                f"{shown} corrupted images (top), the size of R, what was set aside as outliers, "
                "for each (middle), and what the parts rebuild of the clean images (bottom), by "
                "Robust NMF."
            )


def document_topics(items: list[Learned]) -> None:
    """Draw which topics one document holds, by each method."""
    clean = items[0].result.clean
    st.subheader("The topics of one document", anchor=False)
    column = controls.whole("Document", "f_document", 1, len(clean), 1) - 1
    if clean.texts:
        opening = clean.texts[column]
        st.text(opening[:400] + ("…" if len(opening) > 400 else ""))
    if clean.labels and clean.labels[column]:
        st.caption(f"Class in the data: {controls.plain(clean.labels[column][:80])}")
    for place, item in zip(st.columns(len(items)), items, strict=True):
        with place:
            figure, numbers = factor_charts.document_bars(item, column)
            top = numbers.iloc[0] if len(numbers) else None
            alt = f"Topics of document {column + 1} by {item.name}." + (
                f" Most: {top['topic']}." if top is not None else ""
            )
            st.markdown(f"**{item.name}**")
            show(figure, f"document-{item.key}", alt, numbers)
    st.caption(
        "Share of each topic in what is rebuilt of this document; the weights are computed "
        "on the owner's side, without noise."
    )


def _offer_parts(name: str, key: str, result: FactorResult) -> None:
    words = list(result.clean.words) or None
    download(
        f"Parts of {name} (CSV)",
        f"dpmc-parts-{key}.csv",
        lambda: csv_text(pd.DataFrame(result.dictionary, index=words), index=True),
        key=f"parts-csv-{key}",
    )


def export(items: list[Learned]) -> None:
    """Offer downloads, and the same runs elsewhere."""
    runs = [(item.name, item.key, item.result) for item in items]
    python_lines.export("factors", runs, _offer_parts)


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
                    tiles = factor_charts.part_tiles(item)
                    draw(tiles, f"live-{item.key}", f"Parts so far: {item.name}.", toolbar=False)
    else:
        _topics(items, 100)
    figure, _ = factor_charts.objective_curves(items)
    draw(figure, "live-factors", "Objective per round so far.")
    return True


def factor_results(results: Sequence[FactorResult | None]) -> None:
    """Everything that finished runs show."""
    done = [r for r in results if r is not None]
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
    summary = "; ".join(f"{i.name} {three(i.result.final.objective)}" for i in items)
    show(
        factor_charts.objective_curves(items),
        "objective",
        f"Objective per round. At the end: {summary}.",
    )
    unit = first.clean.unit
    clean = "clean " if first.samples.spoiled.size else ""
    st.caption(
        "Lower is better. Every dictionary is judged by the non-negative weights that suit it "
        f"best on the {clean}data (private-NMF paper, eq. 15, at the best weights; columns of "
        "length at most 1), which is the data it was learned from. Bars at the ends: 95 % over the "
        f"choice of {unit}s. Each curve is one draw of noise and start; the studies repeat with "
        "other seeds."
    )
    moved = [item for item in items if item.result.final.moved is not None]
    if moved:
        ends = "; ".join(f"{i.name} {three(100 * (i.result.final.moved or 0.0))} %" for i in moved)
        sentence = f"How far the dictionary W is from its start W₀. At the end: {ends}."
        show(factor_charts.moved_curves(moved), "moved", sentence)
        st.caption(f"{sentence} ‖W − W₀‖/‖W₀‖ by round, as published.")


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
    sentence = factor_verdict(items)
    if percent < 100:
        objectives = ", ".join(f"{i.name} {_objective_after(i, percent)}" for i in items)
        sentence = (
            f"After {percent} % of the rounds, the objective (lower is better) is: {objectives}."
        )
    if items[0].result.clean.unit != "image":
        rows = zip(*(_heads(item, percent) for item in items), strict=True)
        return drag.Frame(sentence, {}, {"topics": [cell for row in rows for cell in row]})
    tiles = {
        f"parts-{item.key}": factor_charts.part_tiles(item)
        if percent == 100
        else factor_charts.tiles_after(item, percent / 100)
        for item in items
    }
    return drag.Frame(sentence, tiles)


def _objective_after(item: Learned, percent: int) -> str:
    metrics = item.result.metrics
    until = max(percent / 100 * item.result.final.iteration, metrics[0].iteration)
    return three([m.objective for m in metrics if m.iteration <= until][-1])


def _parts(items: list[Learned], percent: int) -> None:
    """The learned parts of each method as tiles."""
    drawn = _frame(items, percent).figures
    with st.container(key="tiles", horizontal=True):
        for k, item in enumerate(items):
            with st.container(key=f"tile-{item.key}"):
                st.markdown(f"**{item.name}**", help=None if k else _TILES)
                draw(
                    drawn[f"parts-{item.key}"],
                    f"parts-{item.key}",
                    f"{item.dictionary.shape[1]} parts learned by {item.name}.",
                    toolbar=False,
                )
                share, count = item.result.final.found, item.result.spec.algorithm.rank
                counted_parts = ""
                if share is not None and percent == 100:  # what is counted is the end's
                    counted_parts = f"{round(share * count)}/{count} parts, "
                st.caption(f"{counted_parts}{_how(item)}")


def _how(item: Learned) -> str:
    """The ε that a method's parts have, in a few words."""
    spec = item.result.spec
    if spec.noise.mechanism == "none":
        return "no noise"
    label = f"{'nominal ' * item.result.statement.nominal}ε = {three(spec.noise.epsilon or 0.5)}"
    return f"{label} a round" if isinstance(spec.noise, RoundEpsilon) else label


def _topics(items: list[Learned], percent: int) -> None:
    """Draw the heaviest words of each topic, the same topic in the same row."""
    frame = pd.DataFrame({i.name: _heads(i, percent) for i in items}).map(controls.plain)
    frame.index = pd.RangeIndex(1, len(frame) + 1, name="topic")
    with st.container(key="topics"):
        st.table(frame, border="horizontal")  # whole, on a phone too
    first = items[0].result
    st.caption(
        f"N = {sized(first.clean)}; K = {first.spec.algorithm.rank}. The {_WORDS} heaviest words "
        "of each topic, coarse ones left out. Topics are matched one to one to the first method's "
        "by the cosine of their weights. Before the last round ● marks words that are new since "
        "the step before."
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
                f"topics-{item.key}",
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
    show_table(
        pd.DataFrame(rows).round(3), "NPMI and TC-W2V of each method's topics and of random words."
    )
    if not result.clean.texts:
        st.caption("This set holds counts without running text, so there is no word2vec.")


def _accounts(items: list[Learned]) -> None:
    """Each method's numbers, and what it protects."""
    for item in cards(items, 2):
        result, statement = item.result, item.result.statement
        st.markdown(f"**{item.name}**")
        st.metric(
            "objective",
            f"{result.final.objective:.4f}",
            help=(
                f"Half the squared error of one {result.clean.unit} of length at most 1, on "
                f"average; ± is half of a 95 % interval over the choice of {result.clean.unit}s."
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
            lines.append(f"true {result.clean.learned} found: {100 * result.final.found:.0f} %")
        if math.isfinite(score := mean_score(result.coherence)):
            lines.append(f"NPMI {signed(score, 2)}")
        if result.final.moved is not None:
            lines.append(f"W moved {three(100 * result.final.moved)} % from its start")
        st.caption("  \n".join(lines))
        if not statement.private:
            st.markdown(f":material/shield: {statement.label}")
            st.caption("What is shown could reveal the data it was made from.")
            continue
        if statement.uncovered:
            st.warning(f"**No guarantee:** {statement.label}.", icon=":material/gpp_maybe:")
        elif statement.nominal:
            start = (
                f"**Not private:** {statement.label}: noise on the steps, none on the start, "
                "which is the raw data's singular vectors"
                if _starts_from_data(item)
                else f"**No guarantee:** {statement.label}: noise on the steps, a random start"
            )
            st.warning(
                f"{start}. The paper's ε of a round is for each of two statistics; its noise is "
                "always Gaussian.",
                icon=":material/gpp_bad:",
            )
        else:
            st.markdown(f":material/shield: {statement.label}")
            st.caption(statement.odds)
        counted(statement)


def introduction(request: Asked) -> None:
    """Say what is compared, and what is protected."""
    images = request.images
    if request.question == "compare":
        st.markdown(
            "*Non-negative matrix factorisation* finds "
            f"{'parts that sum to images' if images else 'topics that sum to documents'}. "
            "Four algorithms: NMF without privacy; private NMF **as published**, which is not "
            "private; the same algorithm **corrected**; and **one-shot moment NMF**, which "
            "releases two or three noisy sums once and needs no rounds."
        )
    else:
        study = STUDIES["factorization"][request.question]
        st.markdown(f"**{QUESTIONS[request.question]}** {study.intro}")
    unit = "image" if images else "document"
    st.markdown(
        f"**Neighbouring datasets differ in one {unit}**, wherever there is a guarantee. The "
        f"{'parts' if images else 'topics'} are released; the weights of each {unit} stay with "
        "its owner."
    )


def compare(request: Asked, built: Built, row: DeltaGenerator) -> None:
    """Run the methods side by side, and show what each learned."""
    draw_panel(
        Panel(
            kind="factors",
            wanted=built.specs,
            problem=built.problem,
            step="round",
            so_far=factors_so_far,
            show=factor_results,
            example=Example.of_runs(
                "2,000 cartoon faces"
                if request.images
                else "300 news articles that ship with the app, K = 8, total ε = 2",
                example_specs(images=request.images),
                factor_results,
            ),
            row=row,
            seed="f_seed",
        )
    )


def example_specs(*, images: bool = True) -> tuple[RunSpec, ...]:
    """The runs that are shown before the first."""
    data: dict[str, Any] = {"dataset": "lee", "rank": 8}
    if images:
        data = {"dataset": "cartoon", "rank": 20, "n_samples": 2000}
    private = {"mechanism": "gaussian", "epsilon": 2.0}
    chosen: list[dict[str, Any]] = [
        {"algorithm": "nmf"},
        {
            "algorithm": "private-nmf-published",
            "mechanism": "gaussian",
            "epsilon": 0.5,
            "rounds": PUBLISHED_ROUNDS,
        },
        {"algorithm": "private-nmf", **private},
        {"algorithm": "moment-nmf", **private},
    ]
    return tuple(RunSpec.of(**data, **fields) for fields in chosen)
