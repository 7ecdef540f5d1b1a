"""The controls of the *Completion* page, and the runs or the study that they mean.

Data, configurations and the settings they share; the page's questions, and what only algorithms for
protected users read; and all of them as what is ``Asked``.
"""

from dataclasses import dataclass
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.config import Choice, Settings, parameters
from dpmc_core.datasets import Entry, entry
from dpmc_core.datasets.configs import SPLITS, RatingsData, config_of
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.papers import rows_of
from dpmc_core.experiments.papers.row import value_name
from dpmc_core.experiments.presets import (
    LIKING,
    PEOPLE,
    PRESETS,
    THEOREM,
    WELL_REGULARISED,
    fitted,
    preset,
    usual_threshold,
)
from dpmc_core.experiments.studies.spec import STUDIES, StudySpec
from dpmc_core.mechanisms import FAMILIES
from dpmc_core.privacy.compare import dpals_counts
from dpmc_core.wording import three
from pages.parts.frame import presenter
from pages.parts.frame.study import Built
from pages.parts.server import user_data
from pages.parts.ui import controls, declared, glossary, links
from pages.parts.ui.declared import SHARED, USER_KEYS
from pages.parts.ui.looks import LETTERS, NOISES, SOME_NOISE, TOTALS, lowered
from pages.parts.ui.run_panel import run_next

_STUDIES = STUDIES["completion"]
# what the configurations start as, by question: keys of their boxes, then algorithm and noise
STARTING = {
    "compare": (
        ("", "als", "none"),
        ("", "als", "huber"),
        ("", "moments", "gaussian"),
        ("", "dpals", "gaussian"),
        ("", "irls", "huber"),
        ("", "svt", "none"),
    ),
    "recommend": (
        ("like_", "moments", "gaussian"),
        ("like_", "dpals", "gaussian"),
        ("like_", "popular", "gaussian"),
    ),
}
TITLES = {
    "compare": {name: a.title for name, a in ALGORITHMS.items() if a.rate is not None},
    "recommend": {name: a.title for name, a in ALGORITHMS.items() if a.recommend is not None},
}
FOR_RATINGS = tuple(name for name, a in ALGORITHMS.items() if a.unit == "rating")
# those that can add noise in several places
_PLACED = {name for name, a in ALGORITHMS.items() if "noise_on" in parameters(a.config)}
# what the noise of a configuration protects, if any
PROTECTS = {
    "user": ":material/shield: one user",
    "rating": ":material/gpp_maybe: rating, nominal",
    "": ":material/lock_open: nobody",
}
ZEROS = {"missing": "missing", "rating": "a rating"}
AMOUNTS = {
    "total_epsilon": "total ε",
    "variance": "variance",
    "nominal_epsilon": "ε of a release",
    "sigma": "σ",
}


def _fields_of(*configurations: tuple[str, str]) -> Settings:
    """What the boxes that are drawn have for configurations of an algorithm and a noise, all by
    total ε.
    """
    fields: Settings = {"n": len(configurations)}
    for letter, (algorithm, noise) in zip("abcdef", configurations, strict=False):
        fields[f"{letter}_algorithm"] = algorithm
        card = ALGORITHMS[algorithm]
        if card.unit:
            fields[f"{letter}_noise"] = noise
        if len(card.noise) > 1 and noise != "none":
            fields[f"{letter}_by"] = "total_epsilon"
        if card.unit == "rating" and noise != "none":
            fields[f"{letter}_own_alpha"] = False
            fields |= {f"{letter}_noise_on": "right"} if algorithm in _PLACED else {}
    return fields


# comparisons that one press makes: what the boxes get, and what is told of it
_OFFERS = {
    "ALS against IRLS": (
        _fields_of(("als", "huber"), ("irls", "huber")),
        "Both with Huber noise at the same total ε, on the same data; runs at once. IRLS "
        "releases more often, so that each of its releases has more noise.",
    ),
    "Six algorithms": (
        _fields_of(
            ("als", "none"),
            ("irls", "none"),
            ("svt", "none"),
            ("truncated-svd", "none"),
            ("dpals", "gaussian"),
            ("moments", "gaussian"),
        ),
        "ALS, IRLS, SVT and truncated SVD without noise, DPALS and one-shot moments with a "
        "guarantee for users, on the same data; runs at once.",
    ),
}
LINK_TITLES: links.LinkTitles = {
    "dataset": partial(user_data.linked, "ratings"),
    "zeros": ZEROS,
    "split": SPLITS,
    **{f"{x}_algorithm": TITLES["compare"] for x in "abcdef"},
    **{f"{x}_like_algorithm": TITLES["recommend"] for x in "abc"},
    **{f"{x}_noise": NOISES for x in "abcdef"},
    **{f"{x}_like_noise": NOISES for x in "abc"},
    **{f"{x}_by": AMOUNTS for x in "abcdef"},
    **{f"{x}_noise_on": declared.titles(("als",))["noise_on"] for x in "abcdef"},
}


def use_preset(name: str) -> None:
    """Put a preset's numbers for the chosen dataset into the widgets."""
    links.put(preset(name, st.session_state["dataset"]), LINK_TITLES)


def shape_controls(name: str, usual: Settings) -> Settings:
    """How the dataset ``name`` is read or made, from ``usual`` numbers."""
    fields: Settings = {}
    with controls.place():
        if name == "sweetrs":
            fields["zeros"] = controls.segments("A 0 in the file is", "zeros", ZEROS, "missing")
    with controls.place():
        if entry(name).synthetic:
            every = parameters(RatingsData)
            shape = [n for n in parameters(config_of(name)) if n not in every]
            for one in sorted(shape, key=lambda one: "seed" in one):
                fields[one] = declared.box(one, one, usual.get(one))
    return fields


def rating_controls(dataset: str) -> Settings:
    """What algorithms read that protect one rating, from the usual preset; buttons for the settings
    that ALS and IRLS were published with, or do well with.
    """
    for name, meaning in PRESETS.items():
        published = bool(preset(name, dataset))
        st.button(
            name.capitalize(),
            on_click=use_preset,
            args=(name,),
            help=meaning if published else "The papers report nothing on this dataset.",
            disabled=not published,
            width="stretch",
            key=f"preset-{name}",
        )
    usual = preset(WELL_REGULARISED, dataset)
    fields: Settings = {n: declared.box(f"als.{n}", n, usual[n]) for n in SHARED}
    return fields | declared.boxes(FOR_RATINGS, usual, SHARED)


def offer_comparisons(dataset: str) -> None:
    """Draw a button for each comparison that is not what stands in the boxes."""

    def run(fields: Settings) -> None:
        links.put(fields, LINK_TITLES)
        run_next("seed")

    with st.container(key="offers", horizontal=True):
        for title, (fields, about) in {**_OFFERS, **_published(dataset)}.items():
            if any(st.session_state.get(key) != value for key, value in fields.items()):
                st.button(
                    title,
                    on_click=run,
                    args=(fields,),
                    icon=":material/play_arrow:",
                    disabled=not entry(dataset).present(),
                    help=about,
                )


def _published(dataset: str) -> dict[str, tuple[Settings, str]]:
    """DPALS at the settings of its paper's Table 4, on data that columns of it are computed of."""
    offers = {}
    for row in rows_of("dpals-table-5"):
        boxed = row.spec and declared.completion_boxes(row.spec(0, 0))
        if boxed and row.needs == dataset:
            column, printed = row.setting["dataset"], row.setting["printed ε"]
            (count,) = (
                c for c in dpals_counts() if (c.dataset, c.printed) == (column, float(printed))
            )
            offers[f"DPALS, Table 4, {value_name('dataset', column)}, ε = {printed}"] = (
                {"own_top_items": False} | boxed,  # a column of all items leaves no cut behind
                f"σ and all settings as printed, for ε = {printed}; by our accounting, "
                f"{three(count.derived_exact)}.",
            )
    return offers


def configuration(letter: str, question: str, settings: DeltaGenerator) -> Settings:
    """Algorithm and noise of one configuration in a line, which ends with what they protect; in
    ``settings`` what else its noise has.
    """
    more, algorithm, noise = STARTING[question][LETTERS.index(letter)]
    low, titles = f"{letter.lower()}_{more}", TITLES[question]
    about = "  \n".join(
        f"**{card.title}** {card.summary} ({card.origin})"
        for card in (ALGORITHMS[name] for name in titles)
    )
    hidden: Settings = {"label_visibility": "collapsed"}
    with st.container(
        key=f"configuration-{letter.lower()}", horizontal=True, vertical_alignment="center"
    ):
        st.markdown(f"**{letter}**", width="content")
        name = controls.choice(
            f"{letter}: algorithm", f"{low}algorithm", titles, algorithm, help=about, **hidden
        )
        unit = ALGORITHMS[name].unit
        fields: Settings = {"algorithm": name, "mechanism": "none"}
        with controls.place():
            if unit:
                fields["mechanism"] = controls.choice(
                    f"{letter}: noise", f"{low}noise", NOISES, noise, **hidden
                )
        private = fields["mechanism"] != "none"
        with controls.place():
            if private and question == "compare" and len(ALGORITHMS[name].noise) > 1:
                fields |= _amount(letter, name, fields["mechanism"], settings)
        st.caption(PROTECTS[unit if private else ""], width="content")
    return fields


def _amount(letter: str, algorithm: str, noise: str, settings: DeltaGenerator) -> Settings:
    """How much noise, empty for the total ε of all; in ``settings`` by what, and of which α."""
    low, fields = letter.lower(), Settings()
    card = ALGORITHMS[algorithm]
    rating, kinds = card.unit == "rating", {kind.amount(): kind for kind in card.noise}
    titles = {name: title for name, title in AMOUNTS.items() if name in kinds}
    # an address may name the amount alone; as a default it would be left out of addresses
    named = [name for name in titles if f"{low}_{name}" in st.query_params]
    if named and not {f"{low}_by"} & {*st.query_params, *st.session_state}:
        links.put({f"{low}_by": named[0]}, LINK_TITLES)
    with settings:
        by = controls.segments(
            f"{letter}: amount by",
            f"{low}_by",
            titles,
            next(iter(titles)),
            help=glossary.meaning("nominal" if rating else "epsilon"),
        )
        with controls.place():
            if (
                rating
                and "alpha" in FAMILIES[noise].shape
                and controls.switch(
                    f"{letter}: choose α",
                    f"{low}_own_alpha",
                    meaning="Otherwise 1.5 for a total ε, else the papers' rule: unit scale, and "
                    "the α with that variance.",
                )
            ):
                fields["alpha"] = declared.box("alpha", f"{low}_alpha", label=f"{letter}: α")
        if algorithm in _PLACED:
            label = f"{letter}: noise on"
            fields["noise_on"] = declared.box("als.noise_on", f"{low}_noise_on", label=label)
    if by == "total_epsilon":
        return fields
    kind, field = kinds[by], kinds[by].field()
    label = f"{letter}: {lowered(parameters(kind)[field].rule.label)}"
    name = f"{kind.kind}.{field}"
    st.caption(titles[by], width="content")
    fields[by] = declared.box(name, f"{low}_{by}", label=label, label_visibility="collapsed")
    return fields


QUESTIONS = {
    "compare": "Are ratings predicted well?",
    "recommend": "Are items recommended well?",
    "lists": "What does one person see?",
    **{name: study.title for name, study in _STUDIES.items()},
    "skew": "Whose ratings take part?",
}
# questions that set ε themselves, or need none
OWN_EPSILON = ("lists", "skew", *(n for n, s in _STUDIES.items() if s.own_epsilon))
USERS = tuple(name for name, a in ALGORITHMS.items() if a.unit == "user")
LIST_TITLES = {
    name: a.title for name, a in ALGORITHMS.items() if a.unit == "user" and a.rate is not None
}
USER_TITLES = {
    "question": QUESTIONS,
    **declared.titles(USERS),
    "list_algorithm": LIST_TITLES,
    "study_noise": SOME_NOISE,
}
# where a visitor starts
FIRST: Settings = {name: PEOPLE[name] for name in ("dataset", "n_users", "n_items", "n_ratings")}
FIRST_METHOD = {"k": 50, "nuclear": 1.0}  # where the other boxes start: smaller sets than usual
NUMBERS = (*SHARED, "item_share", "clip_norm")


def numbers_of(question: str) -> str:
    """Which usual numbers a question has: those for likes ("recommend"), for the one dataset that
    it is about, or "" for ratings of any.
    """
    study = _STUDIES.get(question)
    if study is None:
        return "recommend" if question == "recommend" else ""
    return study.task or study.dataset


def usual_numbers(dataset: str, question: str) -> Settings:
    """The usual numbers of the method for a dataset and what is asked."""
    synthetic = entry(dataset).synthetic
    usual = (
        {name: PEOPLE[name] for name in NUMBERS if synthetic or name != "item_share"}
        | {"sampling": "adaptive", "gram_ratio": 2.0}
        | ({} if synthetic else {"rank": 12})  # of DPALS on MovieLens 1M
    )
    if numbers_of(question) == "recommend":
        usual |= LIKING | ({"item_share": PEOPLE["item_share"]} if synthetic else {})
    elif dataset == numbers_of(question):
        usual |= THEOREM
    else:
        usual["threshold"] = usual_threshold(dataset)
    return {USER_KEYS.get(name, name): value for name, value in fitted(usual, dataset).items()}


def use_numbers() -> None:
    """The usual numbers of all methods, when the dataset is changed."""
    state = st.session_state
    state.update(usual_numbers(state["dataset"], state.get("question", "compare")))
    use_preset(WELL_REGULARISED)


def use_question() -> None:
    """Some questions have usual numbers, or data, of their own; others leave them as they are."""
    state = st.session_state
    numbers = numbers_of(state["question"])
    if numbers not in ("", "recommend"):
        state["dataset"] = numbers
    if numbers != state.get("numbers-of", ""):
        use_numbers()
    state["numbers-of"] = numbers


def ask(question: str) -> None:
    """Ask another question, as if it were chosen."""
    st.session_state["question"] = question
    use_question()


def user_controls(dataset: str, question: str) -> Settings:
    """The knobs of all algorithms that protect users."""
    usual = usual_numbers(dataset, question)
    if question == "skew":
        return {"items_per_user": declared.box("dpals.items_per_user", "k", FIRST_METHOD["k"])}
    st.markdown("**Where users are protected**")
    fields: Settings = {
        n: declared.box(f"dpals.{n}", USER_KEYS[n], usual[USER_KEYS[n]], why="Users")
        for n in SHARED
    }
    # likes are 1 or nothing; a penalty on what was not liked is theirs alone
    other = "centring" if numbers_of(question) == "recommend" else "global_penalty"
    return fields | declared.boxes(USERS, FIRST_METHOD | usual, {*SHARED, other}, USER_KEYS)


def one_configuration(question: str) -> Settings:
    """Algorithm and noise where all runs of a question share them: a study, or one person's
    lists.
    """
    if question == "skew":
        return {"algorithm": "moments", "mechanism": "gaussian"}
    if question == "minima":
        return {"algorithm": "als", "mechanism": "none"}
    of_dpals = ("items", "projection", "gradient", "sampling", "exponents", "regressions")
    rates = question.startswith("rate")
    algorithm = "dpals" if rates or question.removeprefix("recall-") in of_dpals else "moments"
    with controls.place():
        if question == "lists":
            algorithm = controls.choice("Algorithm", "list_algorithm", LIST_TITLES, algorithm)
    noise = controls.choice("Noise", "study_noise", SOME_NOISE, "gaussian")
    return {"algorithm": algorithm, "mechanism": noise}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question, and the fields of its runs.

    Those that all runs share, those of each configuration, how many of a user's ratings take part
    (``items_per_user``, where that is the question), the seeds of each point of a study, and
    whether errors are of predictions that are clipped (``clip``).
    """

    question: str
    shared: Settings
    configurations: list[Settings]
    items_per_user: int
    seeds: int
    clip: bool

    @property
    def dataset_entry(self) -> Entry:
        """The chosen set."""
        return entry(self.shared["dataset"])

    def build(self) -> Built:
        """Build the runs and the study, or a sentence about what is wrong."""
        specs: tuple[RunSpec, ...] = ()
        study: StudySpec | None = None
        problem = ""
        try:
            specs = tuple(RunSpec.fitting({**self.shared, **one}) for one in self.configurations)
            if self.question in _STUDIES:
                fields = {**self.shared, **self.configurations[0]}
                study = StudySpec.of("completion", self.question, fields, self.seeds)
            problem = user_data.absent(self.dataset_entry)
        except DPMCError as error:
            problem = str(error)
        return Built(specs, study, problem)


def form(row: DeltaGenerator) -> Asked:
    """Draw the widgets: in ``row`` what is asked, the data and ε; below it a line for each
    configuration; everything else in the sidebar.
    """
    seeds, lines = 1, st.container(key="configurations", horizontal=True)
    settings = controls.settings()
    with row:
        question = controls.choice("Question", "question", QUESTIONS, "compare", then=use_question)
        study = _STUDIES.get(question)
        usual = (study and study.dataset) or FIRST["dataset"]
        menu = user_data.menu("ratings")
        dataset = controls.choice("Dataset", "dataset", menu, usual, then=use_numbers)
        count = 1
        if question in STARTING:
            key = "n" if question == "compare" else "n_like"  # what one limits, the other keeps
            count = controls.whole("Configurations", key, 1, len(STARTING[question]), 3)
    shared: Settings = {"dataset": dataset}
    with settings:
        shared |= shape_controls(dataset, FIRST)
        of: dict[str, Settings] = {"rating": {}, "user": {}, "": {}}
        with controls.place():
            if question in ("compare", "minima"):
                of["rating"] = rating_controls(dataset)
            if question == "compare":
                # without privacy: as many factors and as much regularisation as ALS
                of[""] = {name: of["rating"][name] for name in ("rank", "reg")}
                of["svt"] = {"reg": declared.box("svt.reg", "threshold", usual_threshold(dataset))}
        with controls.place():
            if question != "minima":
                of["user"] = user_controls(dataset, question)
        noise = controls.place()
        shared |= _data_and_delta(dataset, question)
        chance = controls.place()
        with controls.place():
            if study:
                seeds = declared.box("study_seeds", "seeds")
        clip = question != "compare" or controls.switch(
            "Clip predictions to the rating scale",
            "clip",
            True,
            meaning="A prediction of 6 stars becomes 5; the papers probably do this.",
        )
    if question in STARTING:
        with lines:
            configurations = [configuration(x, question, noise) for x in LETTERS[:count]]
            if question == "compare":
                offer_comparisons(dataset)
    else:
        with noise:
            configurations = [one_configuration(question)]
    noisy = [one for one in configurations if one["mechanism"] != "none"]
    guaranteed = [one for one in noisy if ALGORITHMS[one["algorithm"]].unit == "user"]
    by_total = [one for one in noisy if not one.keys() & AMOUNTS.keys()]
    if by_total and question not in OWN_EPSILON:
        with row:
            total = controls.steps_slider(
                "Total ε", "total_epsilon", TOTALS, 5.0, help=glossary.meaning("epsilon")
            )
        presenter.steps("total_epsilon", TOTALS)
        for one in by_total:
            one["epsilon" if one in guaranteed else "total_epsilon"] = total
    with chance:
        drawn = declared.chance(dataset, "seed", guaranteed=bool(guaranteed))
    repeatable = {"seed": drawn.get("split_seed", drawn.get("seed"))}  # the same ratings held out
    for one in configurations:
        name = one["algorithm"]
        one |= of[ALGORITHMS[name].unit] | (drawn if one in guaranteed else repeatable)
        one |= of.get(name, {})
    if numbers_of(question) == "recommend":
        shared["task"] = "recommend"
    return Asked(
        question=question,
        shared=shared,
        configurations=configurations,
        items_per_user=of["user"].get("items_per_user", 1),
        seeds=seeds,
        clip=clip,
    )


def _data_and_delta(dataset: str, question: str) -> Settings:
    fields: Settings = {}
    with controls.place():
        if question in ("compare", "lists"):
            rule = parameters(config_of(dataset))["split"].rule
            assert isinstance(rule, Choice)
            fields["split"] = controls.choice("Split", "split", rule.titled, "random")
    kind = fields.get("split", "random")
    if kind == "leave-k-out":
        fields["left_out"] = declared.box("ratings.left_out", "left_out")
    elif kind != "u1":
        fields["test_fraction"] = declared.box("test_fraction", "test_fraction", 0.2)
    fields["top_items"] = declared.box("ratings.top_items", "top_items")
    with controls.place():
        if question not in ("skew", "minima"):
            fields["delta"] = declared.box("account_delta", "delta")
    return fields
