"""One image or document as each method rebuilds it from its parts or topics."""

import streamlit as st

from pages.parts.factorization import charts as factor_charts
from pages.parts.factorization.charts import Learned
from pages.parts.ui import controls
from pages.parts.ui.figures import draw, show


def rebuilt_image(items: list[Learned]) -> None:
    """Draw one image made of its parts, and what the outlier matrix took up."""
    first = items[0].result
    st.subheader("Rebuild one image from its parts", anchor=False)
    left, right = st.columns(2)
    with left:
        column = (
            controls.whole(
                "Image",
                "f_image",
                1,
                len(first.clean),
                1 + int(first.samples.spoiled[0]) if first.samples.spoiled.size else 1,
            )
            - 1
        )
    with right:
        if (
            st.session_state.get("f-used-of", first.spec.algorithm.rank)
            != first.spec.algorithm.rank
        ):
            st.session_state["f_used"] = (
                first.spec.algorithm.rank
            )  # other results: all of their parts, until somebody asks for fewer
        st.session_state["f-used-of"] = first.spec.algorithm.rank
        parts = controls.whole(
            f"Made of its most used parts, of {first.spec.algorithm.rank}",
            "f_used",
            1,
            first.spec.algorithm.rank,
            first.spec.algorithm.rank,
            sliding=True,
        )
    figure, numbers = factor_charts.rebuilt_tiles(items, column, parts)
    said = "; ".join(f"{row['image']} {row['error']:.3f}" for row in numbers.to_dict("records")[1:])
    show(
        figure,
        "rebuilt",
        f"Image {column + 1} and how each method rebuilds it from {parts} parts; error: {said}.",
        numbers,
    )
    label = f" ({controls.plain(first.clean.labels[column][:80])})" if first.clean.labels else ""
    st.caption(
        f"Image {column + 1}{label}. Made of "
        f"{'all' if parts == first.spec.algorithm.rank else 'the'} "
        f"{parts}{'' if parts == first.spec.algorithm.rank else ' most used'} parts, for every "
        "method. Error: distance to the image, whose length is 1. The weights are computed on "
        "the owner's side, without noise."
    )
    for item in items:
        if (
            item.result.outliers is not None
            and item.result.samples.spoiled.size
            and item.result.spec.card.name == "robust-nmf"
        ):
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
        start = clean.texts[column]
        st.text(start[:400] + ("…" if len(start) > 400 else ""))
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
            show(figure, f"document-{item.result.spec.card.name}", alt, numbers)
    st.caption(
        "Share of each topic in what is rebuilt of this document; the weights are computed "
        "on the owner's side, without noise."
    )
