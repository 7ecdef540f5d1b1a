"""Rows of the Huber paper's tables.

From a printed setting to the runs of its trials, with what the paper leaves open.
"""

from dataclasses import replace
from functools import partial
from itertools import product

from dpmc_core.config import Settings
from dpmc_core.experiments.papers.row import Row, again, name_of, seeded
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.privacy.noise import ReleaseVariance, papers_huber
from dpmc_core.wording import printed_in

_REAL_TRIALS = 5
_VARIANCES = (0, 0.5, 1, 1.5, 2, 3, 4)
_TAKES = {"clipped": "value", "not clipped": "rmse"}
_RANKED = ("3", "6", "7")  # tables of made data, of rank 5, 10 and 20
# sizes are not printed: of six squares and two oblongs the one shape with which no row differs
_SIZES = {"n_users": 100, "n_items": 500}
_HELD_OUT = 0.5  # half of what is drawn measures, the other half is the printed share
_SWEETRS_OBSERVED = 44_543 / (1476 * 77)


def budgets() -> list[Row]:
    """Table 1: exact ε of one draw."""
    return [
        Row(
            setting=p.setting,
            metric="ε of one release",
            printed=p,
            exact=partial(_budget, **p.setting),
            trials=1,
        )
        for p in printed_in("huber", "1")
    ]


def _budget(mechanism: str, variance: str, sensitivity: str, delta: str) -> float:
    noise = ReleaseVariance(mechanism=mechanism, variance=float(variance)).of_release(1.0)
    width, slack = float(sensitivity), float(delta)
    return noise.epsilon_at_delta(slack, width) if slack else noise.epsilon(width)


def noise_of(setting: dict[str, str], variance: float) -> Settings:
    """Return the noise of a printed row as settings of a run."""
    return {
        "mechanism": setting["mechanism"],
        "variance": variance,  # left out without noise
        "algorithm": setting["algorithm"],
        # the loss of IRLS has the α of the Huber noise with that variance
        "loss_alpha": papers_huber(variance).alpha,
    }


def synthetic(table: str) -> list[Row]:
    """Tables 3, 6 and 7: RMSE on the whole matrix of made data."""
    out = []
    for p in printed_in("huber", table):
        s = p.setting
        shared = RunSpec.fitting(
            noise_of(s, float(s["variance"])),
            dataset="low-rank",
            **_SIZES,
            true_rank=int(s["rank"]),
            rank=int(s["rank"]),
            observed=float(s["observed"]) / _HELD_OUT,
            test_fraction=_HELD_OUT,
            reg=0.5,
            iterations=50,
            inner=20,
        )
        reference = {"mechanism": "none"}
        if s["mechanism"] == "none":  # against more data
            reference = {"observed": "0.10" if s["observed"] == "0.05" else "0.05"}
        out.append(
            Row(
                setting=s,
                metric="RMSE on the whole matrix",
                printed=p,
                spec=again(shared),
                take="truth",
                fitted=True,
                reference=name_of({**s, **reference}),
            )
        )
    return out


def ranks() -> list[Row]:
    """Appendix B: ALS of Tables 3, 6 and 7, which differ in rank alone."""
    return [
        replace(row, printed=None, reference=None, fitted=False)
        for table in _RANKED
        for row in synthetic(table)
        if row.setting["algorithm"] == "als"
    ]


def real(table: str) -> list[Row]:
    """Return the rows of Table 4 or 5: held-out RMSE on MovieLens 100K or SweetRS.

    No variance is printed for them, so that ALS with Gaussian noise follows at others too.
    """
    out = []
    for p in printed_in("huber", table):
        s = p.setting
        plain = {
            **s,
            "algorithm": "irls" if s["algorithm"] == "irls-2" else s["algorithm"],
            "mechanism": "none",
        }
        out.append(
            Row(
                setting=s,
                metric="held-out RMSE, clipped",
                printed=p,
                trials=_REAL_TRIALS,
                spec=seeded(_on_real(s, 2.0)),
                reference=None if s["mechanism"] == "none" else name_of(plain),
                needs=s["dataset"],
            )
        )
    noisy = [row for row in out if row.setting["mechanism"] == "gaussian"]
    for row, variance, (error, take) in product(noisy, _VARIANCES, _TAKES.items()):
        shared = row.setting if variance else {**row.setting, "mechanism": "none"}
        out.append(
            replace(
                row,
                setting={
                    "observed": row.setting["observed"],
                    "variance": str(variance or "none"),
                    "error": error,
                },
                metric=f"held-out RMSE, {error}",
                printed=None,
                reference=None,
                spec=seeded(_on_real(shared, variance or 2.0)),
                take=take,
            )
        )
    return out


def _on_real(setting: dict[str, str], variance: float) -> RunSpec:
    """Return the run of ``setting`` with noise of ``variance``."""
    visible = float(setting["observed"]) / _SWEETRS_OBSERVED
    return RunSpec.fitting(
        noise_of(setting, variance),
        dataset=setting["dataset"],
        zeros="rating",
        test_fraction=0.2 if setting["dataset"] == "ml-100k" else 1 - visible,
        rank=int(setting["rank"]),
        reg=0.5,
        iterations=int(setting["iterations"]),
        inner=10,  # the thesis, section 5.2: ten for the real sets, whose numbers these are
    )
