"""Each table is read as it is meant, or asked about with the right reading among the choices."""

import itertools
import re
from typing import Any

import pytest

from dpmc_core.datasets.own import Question
from dpmc_core.datasets.own.sets import guess
from dpmc_core.datasets.own.tables import ratings_of
from dpmc_core.errors import DPMCError
from tests.own.corpus import Case, Expected, corpus
from tests.own.files import entries

CASES = list(corpus())
# what is taken otherwise, and asked about with the right reading among the choices
MISTAKEN = re.compile(
    "board games|Goodreads without header|tags without header|Goodreads, .*False|blanks between"
)
# what is taken rightly, and asked about all the same; all other tables are read without a question
DOUBTFUL = re.compile(
    "MovieLens with titles|tags|beers|shop re|who, what|games played|.*without header|.*, False|"
    "wide (a date|names|ages|survey|sums|means), |commas in titles|a code|a last line with|u.data|"
    "one blank|a row called|a first row|a pivot|sums of|items by|jokes|Parquet .* without a name"
)


def held(case: Case, **choices: Any) -> tuple[Expected, tuple[Question, ...]]:
    """The ratings of a file, by names."""
    reading, questions, table = guess("ratings", case.file, case.data, choices)
    ratings, _ = ratings_of(case.file, table.frame, reading, "")
    return entries(ratings), questions


def answerable(case: Case, questions: tuple[Question, ...]) -> bool:
    """Whether some answers make the reading right."""
    for choices in itertools.product(*(("", *question.choices) for question in questions)):
        pairs = zip(questions, choices, strict=True)
        answers = {q.field: c for q, c in pairs if c != q.choices[0]}
        try:
            if answers and held(case, **answers)[0] == case.right:
                return True
        except DPMCError:
            continue
    return False


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_table_is_read_rightly_or_asked_about(case: Case) -> None:
    ratings, questions = held(case)
    mistaken = bool(MISTAKEN.match(case.name))
    assert (ratings == case.right) != mistaken
    assert bool(questions) == (mistaken or bool(DOUBTFUL.match(case.name)))
    assert not mistaken or answerable(case, questions)
