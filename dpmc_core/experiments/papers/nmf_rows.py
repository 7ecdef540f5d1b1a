"""Rows of the private NMF paper's tables and figures: sizes, coherence, errors and objectives."""

from functools import lru_cache, partial
from itertools import product

import numpy as np
from scipy import sparse

from dpmc_core.config import Settings
from dpmc_core.datasets.data import samples_of
from dpmc_core.datasets.loaders import load
from dpmc_core.datasets.samples import unit_columns
from dpmc_core.experiments.papers.row import Row, name_of, seeded
from dpmc_core.experiments.run import run
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.factorize import FactorResult
from dpmc_core.factorization import PublishedConfig, published_nmf
from dpmc_core.metrics.factors import mean_score, npmi, tc_w2v
from dpmc_core.wording import printed_in

_ROUNDS, _EACH = 20, "epsilon_per_iteration"
_AFTER = (25, 50, 100, 200, 400, 700, 1000)  # rounds as published, of those that a run measures


def nmf_sizes() -> list[Row]:
    """Table 2: N as given, empty documents included, and D as loaded here."""
    sizes = printed_in("nmf", "2")
    parts = {p.setting["dataset"]: p.text for p in sizes if p.metric == "K"}
    out = []
    for p in sizes:
        if p.metric in ("N", "D"):
            dataset, what = p.setting["dataset"], {"what": p.metric}
            out.append(
                Row(
                    key=p.setting | what,
                    setting={**p.setting, "K": parts[dataset], **what},
                    metric="size",
                    printed=p,
                    exact=partial(_size, dataset, p.metric),
                    trials=1,
                    needs=dataset,
                )
            )
    return out


def _size(dataset: str, metric: str) -> float:
    spec = RunSpec.fitting(_words(dataset), dataset=dataset, rank=2)
    samples = samples_of(spec.data, clean=True)
    return float(samples.places.given if metric == "N" else samples.dimension)


def _words(dataset: str) -> Settings:
    """The paper's words: a tenth of the terms of TDT2 and RCV1, else those of the documents."""
    return {"term_share": 0.1} if dataset in ("tdt2", "rcv1") else {"word_list": "documents"}


def _published(epsilon: str | float) -> Settings:
    """The paper's algorithm with ``epsilon`` a round, or "none"."""
    private = {} if epsilon == "none" else {"mechanism": "gaussian", "epsilon": float(epsilon)}
    return {"algorithm": "private-nmf-published", **private}


def nmf_coherence() -> list[Row]:
    """Table 3: TC-W2V of topics as published, and NPMI of the same topics."""
    out = []
    for p in printed_in("nmf", "3"):
        dataset = p.setting["dataset"]
        shared = RunSpec.of(
            dataset=dataset,
            rank=8 if dataset == "guardian" else 7,
            **_words(dataset),
            **_published(p.setting[_EACH]),
        )
        for name in _COHERENCES:
            printed = p if name == "TC-W2V" else None
            out.append(
                Row(
                    key=p.setting if printed else None,
                    setting={**p.setting, "coherence": name},
                    metric=f"{name} coherence",
                    printed=printed,
                    trials=3,
                    measured=partial(_coherence, name, shared),
                    needs=dataset,
                )
            )
    return out


_COHERENCES = {"TC-W2V": tc_w2v, "NPMI": npmi}


def _coherence(name: str, shared: RunSpec, seed: int) -> float:
    result = _topics(shared.replace(seed=seed))
    return mean_score(_COHERENCES[name](result.clean, result.dictionary))


@lru_cache(maxsize=3)  # the trials of a row, whose topics the next row judges too
def _topics(spec: RunSpec) -> FactorResult:
    return run(spec, compare=False)


def _rating_error(epsilon: float | None, seed: int) -> float:
    """RMSE over rated pairs, where every user is a column of length 1, K = 10 and T = 40 (our
    reading).
    """
    table = load("ml-1m")
    places = (table.items, table.users)
    values = unit_columns(sparse.csc_array((table.values, places)))
    config = PublishedConfig(rank=10, rounds=40, epsilon=epsilon)
    *_, step = published_nmf(values, config, np.random.default_rng(seed))
    assert step.coefficients is not None  # this algorithm has them
    rated = sparse.coo_array(values)
    fits = np.vecdot(step.dictionary[rated.row], step.coefficients.T[rated.col])
    return float(np.sqrt(np.mean((rated.data - fits) ** 2)))


def nmf_ratings() -> list[Row]:
    """Table 4: training RMSE of the paper's own method with the printed ε of a round, and of DPNMF
    with the printed ε for the whole run and, besides, for each of its draws.
    """
    out = []
    shared = RunSpec.of(dataset="ml-1m", algorithm="dpnmf", rank=10, reg=10.0, iterations=_ROUNDS)
    for p in printed_in("nmf", "4"):
        s = p.setting
        seen = {
            "dataset": s["dataset"],
            "printed ε": s.get(_EACH) or s["epsilon"],
            "algorithm": s["algorithm"],
        }
        if s["algorithm"] != "dpnmf":
            none = s[_EACH] == "none"
            out.append(
                Row(
                    key=s,
                    setting=seen,
                    metric="training RMSE",
                    printed=p,
                    trials=3,
                    measured=partial(_rating_error, None if none else float(s[_EACH])),
                    reference=None if none else name_of({**s, _EACH: "none"}),
                    needs="ml-1m",
                )
            )
            continue
        ways: dict[str, RunSpec] = {"": shared}
        if s["epsilon"] != "none":
            epsilon = float(s["epsilon"])  # pure ε adds up over draws
            ways = {
                how: shared.replace(mechanism="laplace", epsilon=each)
                for how, each in (("in all", epsilon / _ROUNDS), ("of each draw", epsilon))
            }
        for how, noisy in ways.items():
            own = {"ε is": how} if how else {}
            out.append(
                Row(
                    key=s | own,
                    setting=seen | own,
                    metric="training RMSE",
                    printed=p if how != "of each draw" else None,
                    trials=3,
                    spec=seeded(noisy),
                    take="rmse_train",
                    needs="ml-1m",
                )
            )
    return out


def nmf_objectives(*datasets: tuple[str, int]) -> list[Row]:
    """The curves of figures 2 and 5.

    As published at two ε of a round, against the same algorithm without noise, and what another
    solver and a dictionary with a guarantee reach.
    """
    out = []
    quiet = "as published, without noise"
    ways = {
        quiet: _published("none"),
        **{f"as published, ε = {e} a round": _published(e) for e in (0.5, 0.9)},
        "NMF by coordinates, without noise": {"algorithm": "nmf"},
        "one-shot moment NMF, total ε = 10": {
            "algorithm": "moment-nmf",
            "mechanism": "gaussian",
            "epsilon": 10.0,
        },
    }
    for (dataset, rank), (how, changes) in product(datasets, ways.items()):
        shared = RunSpec.fitting(_words(dataset), dataset=dataset, rank=rank, **changes)
        published, noisy = how.startswith("as published"), "mechanism" in changes
        for after in _AFTER if published else (0,):
            last = after in (0, _AFTER[-1])
            setting = {"dataset": dataset, "K": str(rank), "method": how}
            if after:
                setting["rounds"] = str(after)
            same_without = name_of({**setting, "method": quiet})
            out.append(
                Row(
                    setting=setting,
                    metric="objective ½N⁻¹‖V − WH‖²",
                    trials=3 if noisy else 1,  # only noise is random
                    spec=seeded(shared),
                    take="value" if last else "objective",
                    after=0 if last else after,
                    reference=same_without if last and published and noisy else None,
                    needs=dataset,
                )
            )
    return out
