"""The list of all parameters, made from their declarations: ``docs/parameters.md``.

``python -m dpmc_core.experiments.parameter_table`` prints it.
"""

from collections.abc import Iterator
from textwrap import wrap

from dpmc_core.config import Parameter, parameters
from dpmc_core.datasets.catalogue import catalogue
from dpmc_core.datasets.configs import config_of
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.privacy.noise import KINDS

_HEAD = """# Parameters

Made by `python -m dpmc_core.experiments.parameter_table`; do not edit. A name is a flag of the
command line (`--name`, dashes for underscores), an argument of `RunSpec.of` and a setting of a
sweep; where it has a usual value, that stands after it.
"""


def table() -> str:
    """The whole list, as Markdown."""
    return "\n".join([_HEAD, *_lines()]) + "\n"


def _lines() -> Iterator[str]:
    yield "## Algorithms\n"
    for card in ALGORITHMS.values():
        kinds = ", ".join(f"`{kind.amount()}`" for kind in card.noise) or "none"
        yield f"### {card.title} (`{card.name}`)\n\nNoise is given by: {kinds}.\n"
        if card.tuned:
            yield f"Defaults chosen on {card.tuned}.\n"
        yield from _rows(parameters(card.config))
    yield "## Noise\n"
    for kind in list(KINDS.values())[1:]:
        yield f"### `{kind.amount()}`\n"
        yield from _rows(parameters(kind))
    yield "## Datasets\n"
    seen: dict[type, list[str]] = {}
    for name in catalogue():
        seen.setdefault(config_of(name), []).append(name)
    for config, names in seen.items():
        yield "### " + ", ".join(f"`{name}`" for name in names) + "\n"
        yield from _rows(parameters(config))
    yield "## Audits\n"
    yield from _rows(parameters(AuditSpec))


def _rows(params: dict[str, Parameter]) -> Iterator[str]:
    if not params:
        yield "No parameters.\n"
        return
    for name, p in params.items():
        usual = f"{p.default:g}" if isinstance(p.default, float) else p.default
        title = f"`{name}`" if usual in (None, "") else f"`{name}` = {usual}"
        text = f"- {title}: {p.rule.meaning}; {p.rule.allowed}"
        yield from wrap(text, 100, subsequent_indent="  ")
    yield ""


if __name__ == "__main__":
    print(table(), end="")  # noqa: T201
