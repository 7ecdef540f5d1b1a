"""Rows of the private NMF paper's tables and figures: sizes, coherence, errors and objectives."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from dpmc_core.datasets.data import ratings_of, samples_of
from dpmc_core.datasets.samples import unit_columns
from dpmc_core.experiments.papers.row import Row, name_of, printed_in, seeded
from dpmc_core.experiments.run import run
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.factorization import PublishedConfig, published_nmf
from dpmc_core.metrics.topics import tc_w2v

__all__ = ["nmf_coherence", "nmf_objectives", "nmf_ratings", "nmf_sizes"]


def nmf_sizes() -> list[Row]:
    """Table 2: N as given, empty documents included, and D as loaded here."""
    parts = {"guardian": 8, "uci-news": 7, "rcv1": 4, "tdt2": 30, "yaleb": 38, "cbcl": 50}

    def size(dataset: str, metric: str) -> Callable[[], float]:
        def of() -> float:
            spec = RunSpec.fitting(_words(dataset), dataset=dataset, rank=2)
            samples = samples_of(spec.data, clean=True)
            return float(samples.places.given if metric == "N" else samples.dimension)

        return of

    meanings = {"N": "images or documents N", "D": "pixels or words D"}
    return [
        Row(
            id=name_of({**p.setting, "what": p.metric}),
            setting={**p.setting, "K": str(parts[p.setting["dataset"]])},
            metric=meanings[p.metric],
            printed=p,
            exact=size(p.setting["dataset"], p.metric),
            trials=1,
            needs=p.setting["dataset"],
        )
        for p in printed_in("nmf", "2")
        if p.metric in meanings
    ]


def _words(dataset: str) -> dict[str, Any]:
    """The paper's words: a tenth of TDT2's terms, else those of the documents."""
    return {"term_share": 0.1} if dataset == "tdt2" else {"word_list": "documents"}


def nmf_coherence() -> list[Row]:
    """Table 3: TC-W2V of topics as published."""
    out = []
    for p in printed_in("nmf", "3"):
        dataset, epsilon = p.setting["dataset"], p.setting["epsilon_per_iteration"]
        private: dict[str, Any] = {"word_list": "documents"}
        if epsilon != "none":
            private |= {"mechanism": "gaussian", "epsilon": float(epsilon)}
        name = "nmf" if epsilon == "none" else "private-nmf-published"
        rank = 8 if dataset == "guardian" else 7

        def coherence(
            seed: int,
            dataset: str = dataset,
            name: str = name,
            private: dict[str, Any] = private,
            rank: int = rank,
        ) -> float:
            result = run(
                RunSpec.of(dataset=dataset, algorithm=name, rank=rank, seed=seed, **private),
                compare=False,
            )
            return float(tc_w2v(result.clean, result.dictionary).mean())

        out.append(
            Row(
                id=name_of(p.setting),
                setting=p.setting,
                metric="TC-W2V coherence",
                printed=p,
                trials=3,
                measured=coherence,
                needs=dataset,
            )
        )
    return out


_ROUNDS, _EACH = 20, "epsilon_per_iteration"


def _rating_error(epsilon: str, rounds: int) -> Callable[[int], float]:
    """RMSE over rated pairs, where every user is a column of length 1 and K = 10 (our reading)."""

    def error(seed: int) -> float:
        table = ratings_of(RunSpec.fitting({}, dataset="ml-1m", rank=10).data)
        shape = (table.n_items, table.n_users)
        values = unit_columns(sparse.csc_array((table.values, (table.items, table.users)), shape))
        each = None if epsilon == "none" else float(epsilon)
        config = PublishedConfig(rank=10, rounds=rounds, epsilon=each)
        *_, step = published_nmf(values, config, np.random.default_rng(seed))
        assert step.coefficients is not None  # this algorithm has them
        items, users = values.nonzero()
        fits = np.einsum("nk,kn->n", step.dictionary[items], step.coefficients[:, users])
        return float(np.sqrt(np.mean((values[items, users] - fits) ** 2)))

    return error


def nmf_ratings() -> list[Row]:
    """Table 4: training RMSE of the paper's own method with the printed ε of a round, and of DPNMF
    with the printed ε for the whole run and, besides, for each of its draws.
    """
    out = []
    shared = RunSpec.of(dataset="ml-1m", algorithm="dpnmf", rank=10, reg=10.0, iterations=_ROUNDS)
    for p in printed_in("nmf", "4"):
        s = p.setting
        if s["algorithm"] != "dpnmf":
            for rounds in (40, PublishedConfig().rounds):
                setting, plain = ({**x, "T": str(rounds)} for x in (s, s | {_EACH: "none"}))
                out.append(
                    Row(
                        id=name_of(setting),
                        setting=setting,
                        metric="training RMSE",
                        printed=p,
                        trials=3,
                        measured=_rating_error(s[_EACH], rounds),
                        reference=None if s[_EACH] == "none" else name_of(plain),
                        needs="ml-1m",
                    )
                )
            continue
        ways: dict[str, float | None] = {"": None}
        if s["epsilon"] != "none":
            epsilon = float(s["epsilon"])
            ways = {
                "in all": epsilon / _ROUNDS,
                "of each draw": epsilon,
            }  # pure ε adds up over draws
        for how, each in ways.items():
            setting = {**s, "ε is": how} if how else s
            noisy = shared if each is None else shared.replace(mechanism="laplace", epsilon=each)
            out.append(
                Row(
                    id=name_of(setting),
                    setting=setting,
                    metric="training RMSE",
                    printed=p if how != "of each draw" else None,
                    trials=3,
                    spec=seeded(noisy),
                    take="rmse_train",
                    needs="ml-1m",
                )
            )
    return out


def nmf_objectives(*datasets: tuple[str, int]) -> Callable[[], list[Row]]:
    """The curves' ends of figures 2 and 5.

    As published at two ε of a round, against the same algorithm without noise, and what another
    solver and a dictionary with a guarantee reach.
    """

    def rows() -> list[Row]:
        out = []
        for dataset, rank in datasets:
            quiet = "as published, without noise"
            ways: dict[str, dict[str, Any]] = {
                quiet: {"algorithm": "private-nmf-published"},
                **{
                    f"as published, ε = {e} a round": {
                        "algorithm": "private-nmf-published",
                        "mechanism": "gaussian",
                        "epsilon": e,
                    }
                    for e in (0.5, 0.9)
                },
                "NMF by coordinates, without noise": {"algorithm": "nmf"},
                "one-shot moment NMF, total ε = 10": {
                    "algorithm": "moment-nmf",
                    "mechanism": "gaussian",
                    "epsilon": 10.0,
                },
            }
            for how, changes in ways.items():
                shared = RunSpec.fitting(_words(dataset), dataset=dataset, rank=rank, **changes)
                setting = {"dataset": dataset, "K": str(rank), "method": how}
                noisy = changes["algorithm"] == "private-nmf-published" and how != quiet
                out.append(
                    Row(
                        id=name_of(setting),
                        setting=setting,
                        metric="objective ½N⁻¹‖V − WH‖²",
                        trials=3,
                        spec=seeded(shared),
                        reference=name_of({**setting, "method": quiet}) if noisy else None,
                        needs=dataset,
                    )
                )
        return out

    return rows
