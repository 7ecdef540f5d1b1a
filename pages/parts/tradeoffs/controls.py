"""The controls of the *Tradeoffs* page, and the sweep that they ask for."""

from dataclasses import dataclass, replace
from functools import cached_property, partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.config import Settings
from dpmc_core.datasets import entry, user_datasets
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.presets import PEOPLE
from dpmc_core.experiments.sweeps.spec import SweepSpec, ends_and_middle
from dpmc_core.privacy.noise import TotalEpsilon
from pages.parts.server import user_data
from pages.parts.ui import controls, declared, links
from pages.parts.ui.looks import SOME_NOISE

PROTECTED = {"user": "one user (guarantee)", "rating": "one rating (nominal)"}
VARY = {"noise": "the amount of noise", "people": "how many people"}
BY = {
    "total_epsilon": "equal total ε",
    "epsilon": "equal ε per release",
    "variance": "equal variance",
}
VIEWS = {"curves": "Curves", "pairs": "Differences", "frontier": "Best trade-offs"}
GUARANTEED = {n: a.title for n, a in ALGORITHMS.items() if a.unit == "user" and a.rate is not None}
NOMINAL = {n: a.title for n, a in ALGORITHMS.items() if TotalEpsilon in a.noise and not a.guarantee}
# by how noises are made equal: the widget's label, its limit, and where it starts
_AMOUNTS = {
    "total_epsilon": ("Total ε", "total.epsilon", (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)),
    "epsilon": ("Nominal ε of one release", "nominal.epsilon", (1.0, 2.0, 5.0, 10.0)),
    "variance": ("Variances", "variance.variance", (0.5, 1.0, 2.0, 4.0)),
}
_NOMINAL_TOTALS = (20.0, 50.0, 100.0, 200.0)  # of twenty draws: the papers' noise is worth so much
_MEANINGS = (
    f"**{BY['total_epsilon']}**: Every noise gets what keeps the whole run at the same total ε: "
    f"the fair comparison.  \n**{BY['epsilon']}**: Every noise has the same ε for one release, as "
    f"the papers compare; released many times, they no longer cost the same.  \n"
    f"**{BY['variance']}**: Every noise has the same variance: the same damage to each number, but "
    "not the same privacy."
)
TRADEOFF_TITLES: links.LinkTitles = {
    "t_protect": PROTECTED,
    "t_dataset": partial(user_data.linked, "ratings"),
    "t_vary": VARY,
    "t_by": BY,
    "t_view": VIEWS,
}
MOST_RUNS = 2000  # that one visitor may ask of a shared machine


@dataclass(frozen=True)
class SweepRequest:
    """What was asked: the sweep, and a ``problem`` that says why it cannot be made; what it varies,
    how noises are made equal, and who is protected.
    """

    spec: SweepSpec | None
    problem: str
    vary: str
    by: str
    protect: str

    @cached_property
    def quick(self) -> SweepSpec | None:
        """The first runs of the sweep, for a quick look: two repetitions of three amounts."""
        if self.spec is None or self.problem:
            return None
        grids = (
            tuple((name, ends_and_middle(some) if name in BY else some) for name, some in grid)
            for grid in ends_and_middle(self.spec.grids)
        )
        quick_spec = replace(self.spec, seeds=min(self.spec.seeds, 2), grids=tuple(grids))
        return None if quick_spec == self.spec else quick_spec

    def introduction(self) -> None:
        """Say what is drawn, and what is protected."""
        st.markdown(
            "Every point is the mean of several runs, with a 95 % band over repetitions. "
            + (
                "**Neighbouring datasets differ in all ratings of one user**: a guarantee (of "
                "your own ratings where the items, the scale and the number of users are given)."
                if self.protect == "user"
                else "**Nominal ε**, as published, for one rating: not a guarantee."
            )
            + " The dotted line is the best baseline, which needs no model."
        )


def _built(raw: Settings) -> tuple[SweepSpec | None, str]:
    """Build the sweep of the fields ``raw``, or a sentence about what is wrong."""
    try:
        spec = SweepSpec.from_dict(raw)
        if problem := user_data.absent(entry(raw["base"]["dataset"])):
            return spec, problem
    except DPMCError as error:
        # of a run that cannot be, what is wrong with it
        return None, str(error.__cause__ if isinstance(error.__cause__, DPMCError) else error)
    if spec.size > MOST_RUNS:
        return spec, (
            f"These are up to {spec.size:,} runs; at most {MOST_RUNS:,} are made from "
            "this page: fewer values or repetitions, or the command line."
        )
    return spec, ""


def view_choice(vary: str) -> str:
    """Draw the choice of a figure."""
    # points with different numbers of people are no trade-off to choose from
    views = {name: title for name, title in VIEWS.items() if vary == "noise" or name != "frontier"}
    return controls.segments("Figure", "t_view", views, "curves")


def form(row: DeltaGenerator) -> SweepRequest:
    """All widgets: in ``row`` who is protected, data, algorithms and what varies; the others in the
    sidebar.
    """
    with row:
        protect = controls.choice("Who is protected", "t_protect", PROTECTED, "user")
        sound = protect == "user"
        with controls.place():
            vary = controls.choice("Vary", "t_vary", VARY, "noise") if sound else "noise"
        usual = dataset = "skewed" if sound else "low-rank"
        with controls.place():
            if vary != "people":
                menu = user_data.menu("ratings")
                dataset = controls.choice("Dataset", f"t_dataset_{protect}", menu, usual)
        titles = GUARANTEED if sound else NOMINAL
        algorithms = controls.several(
            "Algorithms",
            f"t_algorithms_{protect}",
            titles,
            ("moments", "dpals") if sound else ("als",),
            help="  \n".join(f"**{ALGORITHMS[n].title}** {ALGORITHMS[n].summary}" for n in titles),
        )
    with controls.settings():
        mechanisms = controls.several("Mechanisms", "t_noises", SOME_NOISE, tuple(SOME_NOISE))
        with controls.place():
            by, people, amounts = _amounts(sound, vary, protect)
        seeds = declared.box("sweep_seeds", "t_seeds")
        with controls.place():
            secret = sound and declared.secret_switch(dataset)
        seed = declared.box("seed", "t_seed", label="Master seed")
        base = _numbers(dataset, sound, vary)
    if sound and secret != user_datasets.is_own(dataset):
        base["secret"] = secret
    grid: Settings = {
        "algorithm": list(algorithms),
        "mechanism": ["none", *mechanisms],
        by: list(amounts),
    }
    each = base.pop("ratings_each", 0)
    grids = [{**grid, "n_users": [n], "n_ratings": [int(n * each)]} for n in people] or [grid]
    raw = {
        "name": "privacy against error",
        "seeds": seeds,
        "seed": seed,
        "base": {"dataset": dataset, **base},
        "grid": grids,
    }
    return SweepRequest(*_built(raw), vary, by, protect)


def _amounts(
    sound: bool, vary: str, protect: str
) -> tuple[str, tuple[float, ...], tuple[float, ...]]:
    """Ask how noises are made equal, for the numbers of people where they vary, and how much."""
    by = "total_epsilon"
    if not sound:
        by = controls.segments("Compare at", "t_by", BY, "total_epsilon", help=_MEANINGS)
    if vary == "people":
        people = controls.numbers(
            "Numbers of people", "t_people", "n_users", (500, 1000, 2000, 4000, 8000)
        )
        return by, people, (declared.box("total.epsilon", "t_total"),)
    label, limit, usual = _AMOUNTS[by]
    usual = _NOMINAL_TOTALS if by == "total_epsilon" and not sound else usual
    return by, (), controls.numbers(label, f"t_{by}_{protect}", limit, usual)


def _numbers(dataset: str, sound: bool, vary: str) -> Settings:
    """Settings that all runs share."""
    who = "user" if sound else "rating"
    real = not entry(dataset).synthetic
    reg = 30.0 if sound else 10.0 if real else 0.5
    fields: Settings = {
        "rank": declared.box("als.rank", f"t_rank_{who}", 8 if sound or real else 5),
        "reg": declared.box("als.reg", f"t_reg_{who}", reg, step=0.5),
        "iterations": declared.box("als.iterations", f"t_iterations_{who}", 2 if sound else 20),
    }
    with controls.place():
        if not sound:
            fields["inner"] = declared.box("irls.inner", "t_inner")
            fields["sensitivity"] = declared.box("als.sensitivity", "t_sensitivity")
        else:
            fields |= {name: PEOPLE[name] for name in ("item_share", "clip_norm", "centring")}
    fields["delta"] = declared.box("account_delta", "t_delta")
    if vary == "people":
        return fields | {"n_items": declared.box("n_items", "t_items"), "ratings_each": 40}
    if not real:
        skewed = dataset == "skewed"
        users = PEOPLE["n_users"] if skewed else 300
        fields["n_users"] = declared.box("n_users", f"t_users_{who}", users)
        fields["n_items"] = declared.box("n_items", f"t_items_{who}")
        if skewed:
            fields["n_ratings"] = declared.box("n_ratings", "t_ratings", PEOPLE["n_ratings"])
        else:
            fields["observed"] = declared.box("observed", "t_observed")
    return fields
