"""Rows of the private NMF paper's tables and figures.

Lives here: sizes, coherence, training errors and objectives, as far as data is at hand. Does not
live here: verdicts or computing.
"""

from collections.abc import Callable
from typing import Any

from dpmc_core.datasets import entry
from dpmc_core.datasets.data import samples_of
from dpmc_core.experiments.papers.row import Row, name_of, printed_in, seeded
from dpmc_core.experiments.run import run
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.metrics.topics import tc_w2v

__all__ = ["nmf_coherence", "nmf_objectives", "nmf_ratings", "nmf_sizes"]


def nmf_sizes() -> list[Row]:
    """Table 2: N and D as loaded here."""
    parts = {"guardian": 8, "uci-news": 7, "rcv1": 4, "tdt2": 30, "yaleb": 38, "cbcl": 50}

    def size(dataset: str, metric: str) -> Callable[[], float]:
        def of() -> float:
            share = 0.1 if dataset == "tdt2" else 1.0
            samples = samples_of(
                RunSpec.fitting(
                    {"term_share": share, "word_list": "documents"}, dataset=dataset, rank=2
                ).data,
                clean=True,
            )
            return float(len(samples) if metric == "N" else samples.dimension)

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


_ROUNDS = 20


def nmf_ratings() -> list[Row]:
    """Table 4: training RMSE of DPNMF with the printed ε for the whole run, and, besides, for each
    of its draws; the paper's own column cannot be computed.
    """
    out = []
    shared = RunSpec.of(dataset="ml-1m", algorithm="dpnmf", rank=10, reg=10.0, iterations=_ROUNDS)
    for p in printed_in("nmf", "4"):
        s = p.setting
        if s["algorithm"] != "dpnmf":
            why = (
                "The paper does not say how the matrix is scaled, and 0.06 is no error on a "
                "scale from 1 to 5."
            )
            out.append(
                Row(id=name_of(s), setting=s, metric="training RMSE", printed=p, missing=why)
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

    As published at three ε of a round, without noise, and what a baseline or sound dictionary
    reaches.
    """

    def rows() -> list[Row]:
        out = []
        for dataset, rank in datasets:
            share: dict[str, Any] = {"term_share": 0.1} if dataset == "tdt2" else {}
            if entry(dataset).holds == "documents":
                share["word_list"] = "documents"  # as the paper's
            ways: dict[str, dict[str, Any]] = {
                "without noise (NMF)": {"algorithm": "nmf"},
                "as published, but without noise": {"algorithm": "private-nmf-published"},
                **{
                    f"as published, ε = {e} a round": {
                        "algorithm": "private-nmf-published",
                        "mechanism": "gaussian",
                        "epsilon": e,
                    }
                    for e in (0.5, 0.9)
                },
                "one-shot moment NMF, total ε = 10": {
                    "algorithm": "moment-nmf",
                    "mechanism": "gaussian",
                    "epsilon": 10.0,
                },
            }
            for how, changes in ways.items():
                shared = RunSpec.of(dataset=dataset, rank=rank, **share, **changes)
                setting = {"dataset": dataset, "K": str(rank), "method": how}
                out.append(
                    Row(
                        id=name_of(setting),
                        setting=setting,
                        metric="objective ½N⁻¹‖V − WH‖²",
                        trials=3,
                        spec=seeded(shared),
                        needs=dataset,
                    )
                )
        return out

    return rows
