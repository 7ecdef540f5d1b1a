"""Commands that are mistaken, each told in one sentence that says what is allowed."""

import pytest

from tests.terminal import Terminal

NOISELESS = "left out without noise; choose a mechanism"
REFUSED = [
    ("complete --rank many", "rank = 'many'"),
    ("complete --alpha 50", "alpha = '50' is not allowed: it must be a number from 0.01 to 20"),
    ("complete --variance 2 --epsilon 1 --mechanism huber", "epsilon"),
    ("complete --colour red", "nrecognized arguments"),
    ("complete --iter 3", "nrecognized arguments"),
    ("mechanism huber --scale 0", "scale = '0'"),
    ("mechanism laplace --alpha 2", "laplace, which has no alpha"),
    ("mechanism cauchy", "invalid choice"),
    ("mechanism huber --samples -3", "samples = '-3'"),
    ("datasets fetch netflix", "dataset = 'netflix'"),
    ("datasets fetch", "one of low-rank"),
    ("complete --spec {", "spec = '{'"),
    ("", "required"),
    ("mechanism staircase --epsilon 800", "from 1e-100 to 700"),
    ("mechanism staircase --epsilon 5e-324", "from 1e-100 to 700"),
    ("mechanism staircase --variance 2 --gamma 0.5", "gamma"),
    ("mechanism gaussian --scale 1e200", "scale = '1e200'"),
    # an amount of noise without a mechanism is never a run without noise
    ("complete --variance 2", NOISELESS),
    ("complete private-means --dataset skewed --epsilon 1", NOISELESS),
    ("complete dpals --total-epsilon 1", NOISELESS),
    ("complete private-means --epsilon 1", NOISELESS),
    (
        """complete --spec '{"version": 2, "algorithm": {"name": "private-means"}, """
        """"noise": {"epsilon": 1.0}}'""",
        NOISELESS,
    ),
    ("factorize private-nmf --dataset cartoon --epsilon 5", NOISELESS),
    # negative numbers are values, and what is no number is named
    ("mechanism laplace --scale -1e5", "scale = '-1e5' is not allowed"),
    ("mechanism laplace --scale -.5", "scale = '-.5' is not allowed"),
    ("mechanism laplace --scale 1_5", "scale = '1_5' is not allowed"),
    ("mechanism laplace --release 1_5", "release = '1_5' is not allowed"),
    ("complete als --reg -1e-5", "reg = '-1e-5' is not allowed"),
    ("complete als --rank 1_6", "rank = '1_6' is not allowed"),
    ("mechanism laplace --samples 1_0", "samples = '1_0' is not allowed"),
    ("audit --epsilon 0", "epsilon = '0' is not allowed"),
    ("audit --runs many", "runs = 'many'"),
    ("audit --spec {", "spec = '{'"),
    ("account", "family = '(none)' is not allowed: it must be one of huber"),
    ("account laplace --delta 1", "delta = '1' is not allowed"),
    ("account laplace --delta 0", "delta = '0' is not allowed"),
    ("account laplace --target-epsilon -1", "target_epsilon = '-1' is not allowed"),
    ("account laplace --l1 1 --l2 2", "l2_sensitivity = 2"),
    ("account laplace --count 1.5", "count = '1.5'"),
    ("account laplace --alpha 2", "alpha = 2.0 is not allowed: it must be left out for laplace"),
    ("account laplace --scale 1 --variance 1", "left out when scale is given"),
    (
        "account laplace --ledger x.json",
        "family = 'laplace' is not allowed: it must be left out with --ledger",
    ),
    ("account --ledger none.json", "cannot be read"),
    ("account staircase --scale 1", "left out for staircase"),
    ("mechanism laplace --release x", "release = 'x'"),
    ("mechanism staircase --release 1", ""),
    ("plan", "epsilon is missing: it must be given, or people and margin"),
    ("plan --margin 1 --people 9 --epsilon 1", "it must be left out, or another of"),
    ("plan count --margin 1 --people 9", "left out for a count"),
    ("plan --margin 1 --people 9 --low 5 --high 5", "low = 5.0 is not allowed"),
    ("plan --margin 0 --people 9", "margin = '0' is not allowed"),
    ("plan median --margin 1", "one of mean, sum, count, histogram"),
    ("plan --margin 1 --people 9 --delta 0.5", "at most 0.01"),
    ("plan --margin 50 --people 9", "the middle of the range is never further off"),
    ("plan count --margin 1 --low 3", "left out for a count, which does not read"),
    ("plan --margin 1 --people 9 --bins 7", "left out for a mean, which does not read"),
    ("plan count --epsilon nan", "epsilon = 'nan' is not allowed"),
    ("plan mode --margin 3", "mode"),
    ("plan count --query sum --margin 3", "query"),
    ("plan --bins x", "bins = 'x'"),
    ("plan project", "file"),
    ("plan mean project", "project"),
]


@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_a_mistaken_command_is_one_sentence(line: str, message: str, terminal: Terminal) -> None:
    assert message in terminal.refusal(line)
