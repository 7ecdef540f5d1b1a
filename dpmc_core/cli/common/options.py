"""Options made from declarations: a flag for each parameter, and a spec from what was typed."""

import argparse
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from dpmc_core.config import Parameter, Settings, parameters
from dpmc_core.datasets.catalogue import entry, names
from dpmc_core.datasets.configs import config_of
from dpmc_core.errors import DPMCError, ParameterError, check_choice, one_of
from dpmc_core.experiments.algorithms import ALGORITHMS, held_for, of_task
from dpmc_core.experiments.presets import WELL_REGULARISED, preset
from dpmc_core.experiments.release import prepare_folder, release_files, write_files
from dpmc_core.experiments.run import steps
from dpmc_core.experiments.spec import USUAL, RunSpec, default_algorithm, known_names
from dpmc_core.limits import LIMITS, Limit
from dpmc_core.privacy.algorithm import Algorithm
from dpmc_core.privacy.noise import KINDS, MECHANISMS, NoNoise, TotalEpsilon
from dpmc_core.wording import printable

Drawn = TypeVar("Drawn")  # what a task yields

_TOTAL = parameters(TotalEpsilon)
_EPSILON = (
    "ε as the algorithm takes it: total of the run where it gives a guarantee, else nominal, of a "
    "release or round"
)
_AMOUNTS = {k.amount(): parameters(k)[k.field()] for k in KINDS.values() if k is not NoNoise}
# without defaults: which amount is the usual one depends on the algorithm
_NOISE = {
    name: replace(p, default=None)
    for name, p in {
        "epsilon": _TOTAL["epsilon"].saying(_EPSILON),
        **_AMOUNTS,
        "alpha": _TOTAL["alpha"],
        "delta": _TOTAL["delta"],
    }.items()
}


def say(text: object) -> None:
    """Print ``text`` on standard error, as far as a terminal shows it and does not obey it."""
    print(printable(f"{text}"), file=sys.stderr)


def options_of(arguments: argparse.Namespace, names: Iterable[str]) -> Settings:
    """Those options of these ``names`` that were typed, and their values."""
    values = {name: getattr(arguments, name, None) for name in names}
    return {name: value for name, value in values.items() if value not in (None, [])}


def refuse(arguments: argparse.Namespace, names: Iterable[str], allowed: str) -> None:
    """Raise ``ParameterError`` for the first of these ``names`` that was typed."""
    for name, value in options_of(arguments, names).items():
        raise ParameterError(name, value[0] if isinstance(value, list) else value, allowed)


_NONE = object()  # what is typed "None": where nothing is typed, argparse has None


class Parser(argparse.ArgumentParser):
    """argparse, except that mistakes become our own errors, so that they end in one sentence, that
    what an option's type refuses is one already, and that -1e5 is a number too.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._negative_number_matcher = re.compile(r"-\.?\d")  # no flag of ours begins so

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        kind: Any = action.type or str
        value = kind(arg_string)
        return _NONE if value is None else value

    def error(self, message: str) -> Any:
        raise DPMCError(f"{message[0].upper()}{message[1:]}. See '{self.prog} --help'.")


def add_parameters(
    group: Any, params: Mapping[str, Parameter], shown: Iterable[str] | None = None
) -> None:
    """A flag for each parameter; those that are not ``shown`` work, and help is silent on them.
    Numbers are checked where they are typed, names by what they are given to.
    """
    for name, p in params.items():
        text = argparse.SUPPRESS
        if shown is None or name in shown:
            usual = "" if p.default is None else f" ({_shown(p.default)})"
            text = f"{p.rule.meaning}; {p.rule.allowed}{usual}".replace("%", "%%")
        flag, kind, metavar = f"--{name.replace('_', '-')}", None, "NAME"
        if isinstance(p.rule, Limit):
            kind, metavar = p.parse, "N" if p.rule.integer else "X"
        group.add_argument(flag, metavar=metavar, type=kind, help=text)


def add_words(group: Any, *options: tuple[str, str, str]) -> None:
    """Flags that take a word: each with what stands for it in help, and what it is."""
    for flag, metavar, text in options:
        group.add_argument(flag, metavar=metavar, help=text)


SCHEDULER = ("--scheduler", "ADDRESS", "a Dask cluster's scheduler, as tcp://host:8786")


def add_number(
    group: Any, name: str, limit: str | Limit, default: float | None = None, meaning: str = ""
) -> None:
    """A flag for a number in the range of a ``limit``, which is given by name if it is of the
    table.
    """
    rule = LIMITS[limit] if isinstance(limit, str) else limit
    rule = replace(rule, name=name, meaning=meaning or rule.meaning)
    add_parameters(group, {name: Parameter(name, rule, default, optional=False)})
    group.set_defaults(**{name: default})


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def add_spec(
    parser: argparse.ArgumentParser,
    tasks: Sequence[str],
    argv: Sequence[str],
    only: Sequence[str] = (),
) -> None:
    """The options of a run: those of its algorithm and dataset, as far as ``argv`` names them.
    ``only`` names the algorithms that help lists, where not all of the tasks' can be used, and the
    data is not of the catalogue.
    """
    cards = {n: card for n, card in of_task(*tasks).items() if not only or n in only}
    holds = held_for(tasks)
    parser.add_argument("algorithm", nargs="?", help=one_of(cards))
    chosen = next((word for word in argv if word in cards), "")
    dataset = after("--dataset", argv)
    mine = [cards[chosen]] if chosen else list(cards.values())
    sets = names(*holds)
    run = parser.add_argument_group("run")
    recommends = "recommend" in tasks and any("recommend" in card.tasks for card in mine)
    text = "one of rate, recommend (rate)" if recommends else argparse.SUPPRESS
    add_words(run, ("--task", "NAME", text))
    seed = parameters(RunSpec)["seed"].parse
    run.add_argument("--seed", metavar="X", type=seed, help=f"{LIMITS['seed'].meaning} (0)")
    text = (
        "draw the noise from the operating system, so that nothing repeats it (the usual on --data)"
    )
    run.add_argument("--secret", action="store_const", const=True, help=text)
    text = "beside secret noise: what is held out (0)"
    run.add_argument("--split-seed", metavar="X", type=seed, help=text)
    add_words(run, ("--spec", "JSON", "a spec as JSON; other options change it"))
    data = parser.add_argument_group("data")
    add_words(data, ("--dataset", "NAME", argparse.SUPPRESS if only else one_of(sets)))
    params = _of(map(config_of, sets))
    shown = ["test_fraction"] if only else params
    if dataset in sets and not only:
        shown = parameters(config_of(dataset))
    add_parameters(data, params, shown)
    noise = parser.add_argument_group("noise")
    amounts = {kind.amount() for card in mine for kind in card.noise}
    text = one_of(MECHANISMS) + " (none)" if amounts else argparse.SUPPRESS
    add_words(noise, ("--mechanism", "NAME", text))
    add_parameters(noise, _NOISE, amounts and {"epsilon", "alpha", "delta", *amounts})
    group = parser.add_argument_group(
        mine[0].title if chosen else "algorithm", mine[0].origin if chosen else None
    )
    everything = _of(card.config for card in cards.values())
    own = _of(card.config for card in mine)
    add_parameters(group, {**everything, **own}, own)


def add_out(parser: argparse.ArgumentParser) -> None:
    """The option ``--out``."""
    text = "a new folder for what is released: model, names, ledger and statement"
    add_words(parser, ("--out", "FOLDER", text))


def released(spec: RunSpec, arguments: argparse.Namespace, progress: Callable[[Any], str]) -> Any:
    """``last_of`` the run's results; of a finished one what is released is where ``--out`` says."""
    folder = arguments.out and Path(arguments.out)
    if folder:
        prepare_folder(folder, spec)
    result = last_of(steps(spec), arguments, progress)
    if folder and result.finished:
        write_files(folder, release_files(result))
        say(f"what was released is in {folder}")
    return result


def last_of(
    results: Iterable[Drawn], arguments: argparse.Namespace, progress: Callable[[Drawn], str]
) -> Drawn:
    """The last of ``results``, each told by ``progress`` on standard error.

    Ctrl-C leaves the one before it, and the command ends with exit code 130.
    """
    latest: Drawn | None = None
    try:
        for latest in results:
            say(progress(latest))
    except KeyboardInterrupt:
        if latest is None:
            raise
        say("stopped; what follows is the result so far")
        arguments.stopped = True
    assert latest is not None  # every task yields after each step, and has one
    return latest


def after(option: str, argv: Sequence[str]) -> str:
    """What follows ``option``, "" where nothing does."""
    return next((b for a, b in itertools.pairwise(argv) if a == option), "")


def _of(kinds: Iterable[type]) -> dict[str, Parameter]:
    """The parameters of all ``kinds``; of several with one name the first kind's."""
    return {name: p for kind in reversed([*kinds]) for name, p in parameters(kind).items()}


def spec_of(arguments: argparse.Namespace, tasks: Sequence[str], own: str | None) -> RunSpec:
    """The spec that the options name; ``own`` is the name of a user's own set.

    Raises ``ParameterError``.
    """
    cards = of_task(*tasks)
    typed = {
        name: None if value is _NONE else value
        for name, value in options_of(arguments, known_names() - {"algorithm"}).items()
    }
    name = arguments.algorithm
    base = RunSpec.from_json(arguments.spec) if arguments.spec else None
    if base is not None and base.task not in tasks:
        raise ParameterError("spec", base.card.name, "a spec of " + " or ".join(tasks))
    if name is not None:
        check_choice("algorithm", name, cards)
        typed["algorithm"] = name
    if own is not None:
        typed["dataset"] = own
    dataset = typed.get("dataset", None if base is None else base.dataset)
    if dataset is not None:
        entry(dataset, *held_for(tasks))
    if base is not None:
        return base.replace(**typed)
    name = name or default_algorithm(dataset, typed.get("task", tasks[0]))
    suited = {} if dataset else _suited(ALGORITHMS[name])
    return RunSpec.of({**suited, **typed, "algorithm": name})


def _suited(card: Algorithm) -> Settings:
    """What suits the small made set that is taken where none is named; elsewhere a card's defaults.

    Algorithms with a guarantee keep theirs: on 300 users none is of use.
    """
    if "rate" not in card.tasks or card.guarantee:
        return {}
    suited = preset(WELL_REGULARISED, USUAL["ratings"][0])
    return {n: suited[n] for n in ("rank", "reg") if n in parameters(card.config)}
