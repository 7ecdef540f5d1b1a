"""Images and documents on the *Datasets* page.

What is shown of a set of images or documents.
"""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.catalogue import Entry
from dpmc_core.datasets.configs import config_of
from dpmc_core.datasets.data import samples_of
from dpmc_core.datasets.samples import Samples
from dpmc_core.wording import three
from pages.parts.frame import python_lines
from pages.parts.frame.page import observations, tab, verdict
from pages.parts.ui import controls
from pages.parts.ui.figures import Drawn, draw, figure, named_bars, show
from pages.parts.ui.pictures import picture, sized, tiles

_SHOWN, _ACROSS = 40, 10


def samples_of_entry(chosen: Entry) -> None:
    """Size, a look at some of them, and what is in them."""
    with st.spinner("Reading…"):
        data: Any = config_of(chosen.name)(dataset=chosen.name)
        samples = samples_of(data, clean=True)
    images = samples.unit == "image"
    title = "Your own data" if user_datasets.is_own(chosen.name) else controls.plain(chosen.title)
    verdict(f"{title}: {sized(samples)}.")
    python_lines.of_dataset(chosen.name, "samples")
    (_images if images else _documents)(samples)
    observations(_observed(chosen, samples))
    st.page_link(
        "factorization.py", label="Learn from it on the Factorization page", icon=":material/face:"
    )


def _observed(chosen: Entry, samples: Samples) -> list[str]:
    out = list(map(controls.plain, samples.notes))
    if samples.labels:
        out.append(f"{len(set(samples.labels) - {''}):,} classes are given.")
    if samples.unit == "document":
        filled = samples.values.nnz  # type: ignore[union-attr]
        share = 100 * filled / (samples.dimension * len(samples))
        out.append(f"{share:.2f} % of the table of documents and words is filled.")
        out.append(
            "The list of words is public: it was fixed before any document was read."
            if samples.public_words
            else "The list of words was made from these documents: a word that only a few hold "
            "may reveal that they are there. Runs with a guarantee use a public list."
        )
    else:
        out.append(
            "Every image is scaled to length 1 before anything is learned, or at most 1 by unit "
            "maximum: that bounds what one image can change."
        )
    if chosen.synthetic:
        out.append(f"Shown with N = {len(samples):,}; *Factorization* makes up to 100,000.")
    return out


def _images(samples: Samples) -> None:
    some = np.linspace(0, len(samples) - 1, min(_SHOWN, len(samples))).astype(int)
    sheet = tiles(np.asarray(samples.values)[:, some], samples.shape, _ACROSS)
    draw(
        picture(sheet, 330),
        f"faces-{len(samples)}",
        f"{some.size} of the {len(samples):,} images.",
        toolbar=False,
    )
    size = "×".join(map(str, samples.shape or ()))
    st.caption(f"{some.size} of {len(samples):,}, spread evenly; {size} pixels.")
    truth = samples.truth
    if truth is not None:
        tab(
            "The true parts",
            "truth",
            lambda: draw(
                picture(tiles(truth, samples.shape, _ACROSS), 200),
                "true-parts",
                f"The {truth.shape[1]} parts that the faces are made of.",
                toolbar=False,
            ),
        )


def _documents(samples: Samples) -> None:
    drawn, numbers = frequent_words(samples)
    top = numbers.iloc[0]
    show(
        drawn,
        "frequent-words",
        f"The most widespread word is {top['word']}, in {100 * top['share']:.0f} % of the "
        "documents.",
        numbers,
    )
    tab("Lengths", "lengths", lambda: _lengths(samples))
    if samples.texts:
        tab("One document", "document", lambda: _document(samples))


def _document(samples: Samples) -> None:
    number = controls.whole("Document", "d_document", 1, len(samples), 1)
    text = samples.texts[number - 1]
    st.text(text[:600] + "…" * (len(text) > 600))


def frequent_words(samples: Samples) -> Drawn:
    """The words that most documents hold, as shares of the documents."""
    assert samples.counts is not None
    share = np.bincount(samples.counts.indices, minlength=samples.dimension) / len(samples)
    order = np.argsort(-share, kind="stable")[:20]
    numbers = pd.DataFrame({"word": [samples.words[k] for k in order], "share": share[order]})
    fig = figure("share of the documents", "", height=460)
    named_bars(fig, numbers.to_numpy().tolist(), "#0072B2")
    return fig, numbers


def _lengths(samples: Samples) -> None:
    """Draw how many of the listed words documents hold (each counted as often as it occurs)."""
    assert samples.counts is not None
    size = np.asarray(samples.counts.sum(axis=0)).ravel()
    edges = np.unique(np.round(np.geomspace(max(size.min(), 1), size.max() + 1, 25)))
    heights, edges = np.histogram(size, edges)
    numbers = pd.DataFrame({"from": edges[:-1], "to": edges[1:], "documents": heights})
    median = float(np.median(size))
    fig = figure("listed words in a document (log scale)", "documents", height=460, log_x=True)
    fig.add_bar(
        x=np.sqrt(edges[:-1] * edges[1:]).tolist(),
        y=heights.tolist(),
        width=np.diff(edges).tolist(),
        marker={"color": "#0072B2", "opacity": 0.5},
        hovertemplate="%{y} documents<extra></extra>",
    )
    fig.update_layout(
        margin={"r": 10, "t": 50},
        hovermode="closest",
        title={"text": f"median {three(median)}", "font": {"size": 14}},
    )
    show(fig, "lengths", f"The median document holds {median:.0f} of the words.", numbers)
