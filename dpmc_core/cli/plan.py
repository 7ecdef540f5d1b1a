"""The command ``plan``: how much ε, how many people, or how much noise an accuracy takes."""

import argparse
from typing import Any

from dpmc_core.cli.common.options import add_parameters
from dpmc_core.config import parameters
from dpmc_core.errors import ParameterError
from dpmc_core.planning import PlanSpec, halved, plan
from dpmc_core.planning.spec import QUERIES
from dpmc_core.privacy import odds_sentence
from dpmc_core.wording import three

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """The options: what is released, what is fixed; what is left out is asked."""
    parser.add_argument(
        "query_name", nargs="?", metavar="QUERY", help=f"one of {', '.join(QUERIES)} (mean)"
    )
    parser.epilog = (
        "Leave out the one of --epsilon, --people and --margin that is asked. Every noise "
        "mechanism answers; Huber noise with its best α."
    )
    add_parameters(parser, parameters(PlanSpec))


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Answer the plan, for all mechanisms."""
    known = parameters(PlanSpec)
    said = {name: getattr(arguments, name) for name in known}
    if arguments.query_name is not None:
        if said["query"] is not None:
            raise ParameterError("query", said["query"], "given once")
        said["query"] = arguments.query_name
    spec = PlanSpec(**{n: known[n].parse(text) for n, text in said.items() if text is not None})
    made = plan(spec)
    changes = halved(made)
    if not arguments.json:
        print(made.sentence)
        for c in made.candidates:
            alpha = getattr(c.mechanism, "alpha", None)
            title = c.mechanism.title + ("" if alpha is None else f", α = {three(alpha)}")
            people = "" if c.people is None else f", {c.people:,} people"
            print(
                f"  {title:<18} ε = {three(c.epsilon)}, ±{three(c.margin)}{people}, standard "
                f"deviation {three(c.mechanism.std)}"
            )
        for name, why in made.refused.items():
            print(f"  {name}: {why}")
        print(odds_sentence(made.best.epsilon, spec.delta))
        print(f"half of this ε: {', or '.join(words(changes))}" if changes else "")
        print("margins are of the noise alone: who happens to take part comes on top")
    return {**made.as_dict(), "half_the_epsilon": changes}


def words(changes: dict[str, float]) -> list[str]:
    """What would halve ε, in words."""
    said = {
        "margin": "a margin of ±{}",
        "people": "{} people",
        "releases": "{} releases with the same noise",
    }
    return [
        said[name].format(f"{x:,.0f}" if name != "margin" else three(x))
        for name, x in changes.items()
    ]
