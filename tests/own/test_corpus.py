"""Each table is read as it is meant, or asked about with the right reading among the choices."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from dpmc_core.datasets.own import Question
from dpmc_core.datasets.own.table_files import open_table
from dpmc_core.datasets.own.table_guesses import guess_ratings
from dpmc_core.datasets.own.tables import RatingsReading, ratings_of
from dpmc_core.errors import DPMCError
from tests.own.corpus import Case, Known, corpus

CASES = list(corpus())


def held(case: Case, **choices: Any) -> tuple[Known, tuple[Question, ...]]:
    """The ratings of a file, by names."""
    form = {name: choices.get(name, "") for name in ("separator", "header")}
    table = open_table(case.file, case.data, **form)
    chosen = RatingsReading(**choices)
    reading, asked = guess_ratings(table, {name: getattr(chosen, name) for name in choices})
    reading = replace(reading, **choices)
    ratings, _ = ratings_of(case.file, table.frame, reading, "")
    users, items = ratings.user_labels, ratings.item_labels
    found = {
        (users[u], items[i]): v
        for u, i, v in zip(ratings.users, ratings.items, ratings.values, strict=True)
    }
    return found, asked


def what_becomes_of(case: Case) -> str:
    found, asked = held(case)
    if found == case.right:
        return "read"
    for choices in itertools.product(*(("", *question.choices) for question in asked)):
        given = {q.field: c for q, c in zip(asked, choices, strict=True) if c != q.choices[0]}
        try:
            if given and held(case, **given)[0] == case.right:
                return "asked"
        except DPMCError:
            continue
    return "wrong, " + ("asked about" if asked else "in silence")


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_table_is_read_rightly_or_asked_about(case: Case) -> None:
    assert what_becomes_of(case) in ("read", "asked")
