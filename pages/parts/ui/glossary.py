"""The words of the pages, explained once.

Lives here: every term that a first-year student may not know, in a sentence or two, which of them each page needs, and the title that shows them to whoever hovers over (or tabs to) the
question mark beside it. Does not live here: sentences about numbers (``texts``).
"""

import streamlit as st

__all__ = ["PAGES", "WORDS", "all_words", "meaning", "title"]

WORDS: dict[str, tuple[str, str]] = {
    "epsilon": (
        "ε (epsilon)",
        "bounds how much more likely any output becomes when one person's data changes: by a factor of at most e^ε. Smaller is more private; 0 hides everything, 1 is strong, 10 says little.",
    ),
    "delta": ("δ (delta)", "a small probability with which the promise of ε may fail; far below one in the number of people."),
    "total": ("total ε", "what a whole run spends when all its releases are added up, by the best method that holds."),
    "noise": ("noise mechanism", "the law that random noise is drawn from: Laplace, Gaussian, Huber (Gaussian in the middle, Laplace in the tails) or staircase."),
    "alpha": ("α (alpha)", "where Huber noise changes from the one to the other, in units of its scale: small is nearly Laplace, large nearly Gaussian."),
    "variance": ("variance", "how far noise spreads: the mean of its square. The standard deviation is its root."),
    "sensitivity": ("sensitivity Δ", "the most that one person can move the number that is released. Noise must be of about that size over ε."),
    "unit": ("unit", "what is protected: one rating, one user with all their ratings, one image, one document."),
    "neighbours": ("neighbours", "two datasets that an attacker may not tell apart: the same but for one unit, which is added, removed or replaced."),
    "nominal": ("nominal", "counted as the paper counts, with an assumed sensitivity. It is not a guarantee."),
    "sound": ("sound", "derived: for every two neighbours, with its source or proof. A guarantee, as far as it reaches."),
    "joint": ("joint privacy", "everybody else's view is protected; what you are shown may use your own data."),
    "ledger": ("ledger", "the list of all releases with noise that a run made, written when the noise is drawn."),
    "composition": ("composition", "how releases add up. Adding their ε is right but generous; Rényi, zCDP and privacy loss distributions count closer."),
    "rmse": ("RMSE", "root mean squared error: the typical distance between prediction and rating, in rating units. Smaller is better."),
    "heldout": ("held out", "ratings or users that the run did not learn from, kept to judge it by."),
    "trivial": ("trivial predictor", "uses no factors and no noise, for example everybody's mean rating. A run that does not beat it has learned nothing useful."),
    "interval": ("95 % interval", "where the true value would lie 95 times in 100, were all repeated; ± is half of its width."),
    "completion": ("matrix completion", "filling in the ratings that nobody gave, from those that were given."),
    "rank": ("rank r", "how many numbers describe each user and each item; a rating is guessed by multiplying the two."),
    "lambda": ("λ (lambda)", "regularisation: how strongly those numbers are held near zero, against learning chance."),
    "als": ("ALS, IRLS", "alternating least squares, users and items in turn; IRLS gives large errors less weight. Private forms of the Huber paper, nominally counted."),
    "dpals": ("DPALS", "alternating least squares with noise on what items learn from users, so that whole users are protected."),
    "moments": ("moments once", "this project's way: the sums and products of all ratings are released once, and all else is computed from them."),
    "nmf": ("NMF", "non-negative matrix factorisation: images as sums of K parts, or documents of K topics."),
    "objective": ("objective", "half the mean squared distance between the images or documents and what the parts rebuild. Smaller is better."),
    "coherence": ("NPMI", "how often a topic's top words stand in the same documents, from −1 (never) to 1 (always); above 0 is more than chance."),
    "recall": ("Recall@20", "the share of what a person likes that is among twenty recommendations. More is better."),
    "attack": ("proves ε ≥ …", "an attacker who tells two neighbours apart this well shows that the true ε is at least this, with the confidence that is said."),
    "odds": ("right in 100", "how often an attacker with even odds before would guess right whether a person is in the data. 50 is chance."),
    "seed": ("seed", "the number that all chance is drawn from: the same seed gives the same run. Whoever knows it can take the noise away."),
    "verdict": ("verdict", "*reproduced*: as printed, as far as chance allows; *same trend*: the order holds, the numbers do not; *differs*: neither."),
}  # fmt: skip

PAGES: dict[str, tuple[str, ...]] = {
    "home": ("epsilon", "odds", "noise", "unit"),
    "mechanisms": ("epsilon", "delta", "noise", "alpha", "variance", "sensitivity"),
    "budget": (
        "epsilon",
        "delta",
        "total",
        "composition",
        "ledger",
        "sensitivity",
        "sound",
        "nominal",
    ),
    "completion": (
        "completion",
        "rmse",
        "trivial",
        "rank",
        "lambda",
        "als",
        "dpals",
        "moments",
        "nominal",
        "sound",
    ),
    "factorization": (
        "nmf",
        "objective",
        "coherence",
        "unit",
        "sound",
        "nominal",
        "moments",
        "neighbours",
    ),
    "tradeoffs": ("epsilon", "total", "interval", "rmse", "trivial", "nominal", "sound", "joint"),
    "audit": ("attack", "neighbours", "epsilon", "odds", "nominal", "interval"),
    "papers": ("verdict", "interval", "nominal", "rmse", "objective", "seed"),
    "runs": ("rmse", "recall", "objective", "trivial", "epsilon", "nominal", "seed"),
    "datasets": ("completion", "nmf", "heldout", "unit", "trivial"),
    "lessons": ("epsilon", "noise", "odds", "trivial"),
}


def title(text: str, page: str) -> None:
    """The title of ``page``, with its words one hover away."""
    st.title(text, help=_listed(PAGES[page]))


def meaning(name: str) -> str:
    """The word called ``name`` with what it means, for the help of one control."""
    word, says = WORDS[name]
    return f"{word}: {says}"


def all_words() -> None:
    """Every word, folded away."""
    with st.expander("All words, from α to ε", icon=":material/dictionary:"):
        st.markdown(_listed(tuple(WORDS)))
        st.caption(
            "On every page the question mark beside the title explains the words of that page."
        )


def _listed(names: tuple[str, ...]) -> str:
    return "\n".join(f"- **{WORDS[name][0]}**: {WORDS[name][1]}" for name in names)
