"""From flat names and values to the parts of a spec: which config takes which value."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from dpmc_core.config import changed, parameters, values_of
from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.catalogue import names
from dpmc_core.datasets.configs import RatingsData, config_of
from dpmc_core.errors import ParameterError
from dpmc_core.experiments.algorithms import ALGORITHMS, held_for
from dpmc_core.mechanisms import FAMILIES
from dpmc_core.privacy.algorithm import Algorithm
from dpmc_core.privacy.noise import KINDS, MECHANISMS, Noise, NoNoise

AMOUNTS = ("variance", "epsilon", "nominal_epsilon", "total_epsilon")
USUAL = {"ratings": ("low-rank", "als"), "samples": ("lfw", "nmf")}  # dataset, algorithm
CHANCE = ("seed", "secret", "split_seed")
_NOISE = ("mechanism", *AMOUNTS, "alpha", "delta")


def default_algorithm(dataset: str) -> str:
    """The algorithm that is meant where only a dataset is named."""
    return USUAL["ratings" if issubclass(config_of(dataset), RatingsData) else "samples"][1]


@cache
def known_names() -> frozenset[str]:
    """All flat names that a spec can have."""
    kinds: set[type] = {card.config for card in ALGORITHMS.values()}
    data = {config_of(name) for name in names()}
    found = {name for kind in kinds | data for name in parameters(kind)}
    return frozenset(found | {"task", "dataset", "algorithm", *CHANCE, *_NOISE})


def parts_of(given: Mapping[str, Any], base: Any, *, strict: bool) -> dict[str, Any]:
    """The fields of a spec from flat names; ``base`` is the spec that they change, if any.

    ``strict`` refuses names that this algorithm, dataset and noise have no use for; names that
    nothing has are always refused. Raises ``ParameterError``.
    """
    left = dict(given)
    task = left.pop("task", None)
    dataset, name = _named(left, base, task)
    card = ALGORITHMS[name]
    holds = held_for(card.tasks)
    counted = [n for n in ("min_documents", "max_share") if left.get(n) is not None]
    if base is None and counted and "word_list" in parameters(config_of(dataset, *holds)):
        left.setdefault("word_list", "documents")  # they choose among the documents' own words
    data = _config(config_of(dataset, *holds), None if base is None else base.data, left, dataset)
    algorithm = _config(card.config, None if base is None else base.algorithm, left)
    noise = _noise(card, left, base, strict=strict)
    chance = _chance(card.guarantee and noise.kind != "none", dataset, left, base, strict=strict)
    for other, value in left.items():
        if other not in known_names():
            raise ParameterError("spec field", other, "one of " + ", ".join(sorted(known_names())))
        if strict and value is not None:
            allowed = f"left out for {card.title} on {data.entry.title}, which have no {other}"
            raise ParameterError(other, value, allowed)
    if task is None:
        kept = base is not None and base.task in card.tasks
        task = base.task if base is not None and kept else card.tasks[0]
    return {"task": task, "data": data, "algorithm": algorithm, "noise": noise, **chance}


def _chance(
    guaranteed: bool, dataset: str, left: dict[str, Any], base: Any, *, strict: bool
) -> dict[str, Any]:
    """Whether the noise is secret, and the seed of what else is left to chance.

    A seed asks for a run that can be repeated. Without one, the noise that a guarantee rests on is
    secret on somebody's own data.
    """
    given = {name: left.pop(name, None) for name in CHANCE}
    seed, secret, split_seed = (given[name] for name in CHANCE)
    if secret and seed is not None:
        allowed = (
            "left out beside secret: nothing repeats secret noise (split_seed chooses a split)"
        )
        raise ParameterError("seed", seed, allowed)
    if secret and strict and not guaranteed:
        allowed = "left out for a run without a guarantee, whose noise protects nobody"
        raise ParameterError("secret", secret, allowed)
    if not guaranteed or (secret is None and seed is not None):
        secret = False
    elif secret is None:
        kept = base is not None and base.guaranteed and base.dataset == dataset
        secret = base.secret if kept else user_datasets.is_own(dataset)
    if split_seed is not None and strict and not secret:
        raise ParameterError("split_seed", split_seed, "left out unless the noise is secret")
    usual = 0 if base is None else base.seed
    named = split_seed if seed is None else seed
    return {"secret": secret, "seed": usual if named is None else named}


def _named(left: dict[str, Any], base: Any, task: Any) -> tuple[str, str]:
    """The names of dataset and algorithm; one of them alone brings the usual other one."""
    dataset, name = left.pop("dataset", None), left.pop("algorithm", None)
    if name is not None and (not isinstance(name, str) or name not in ALGORITHMS):
        raise ParameterError("algorithm", name, "one of " + ", ".join(ALGORITHMS))
    if base is not None:
        return (
            base.dataset if dataset is None else dataset,
            base.card.name if name is None else name,
        )
    if name is None:
        usual = {"recommend": "moments", "factorize": "nmf"}
        name = usual.get(str(task)) or ("als" if dataset is None else default_algorithm(dataset))
    kind = "samples" if "factorize" in ALGORITHMS[name].tasks else "ratings"
    return USUAL[kind][0] if dataset is None else dataset, name


def _config(kind: type[Any], base: Any, left: dict[str, Any], dataset: str = "") -> Any:
    """A config of ``kind``: what is named, else what was in ``base`` where both have it."""
    known = parameters(kind)
    values: dict[str, Any] = {}
    if base is not None:
        kept = values_of(base) if type(base) is kind else changed(base)
        values = {n: v for n, v in kept.items() if n in known}
    for name in known:
        if name in left and (left[name] is not None or known[name].optional):
            values[name] = left[name]
        left.pop(name, None)
    return kind(**({"dataset": dataset} if dataset else {}), **values)


def _no_amount(named: Mapping[str, Any]) -> None:
    for name, value in named.items():
        if name != "delta":
            allowed = "left out without noise; choose a mechanism to use it"
            raise ParameterError(name, value, allowed)


def _noise(card: Algorithm, left: dict[str, Any], base: Any, *, strict: bool) -> Noise:
    before = NoNoise() if base is None else base.noise
    given = {name: left.pop(name) for name in _NOISE if name in left}
    named = {name: value for name, value in given.items() if value is not None}
    mechanism = named.pop("mechanism", before.mechanism)
    if mechanism not in MECHANISMS:
        raise ParameterError("mechanism", mechanism, "one of " + ", ".join(MECHANISMS))
    if "mechanism" not in given and mechanism == "none":
        _no_amount(named)  # never a run without noise where somebody asked for an amount of it
    if not strict and not card.noise:
        mechanism = "none"
    if not strict and mechanism == "none":
        return NoNoise()
    shaped = mechanism != "none" and "alpha" in FAMILIES[mechanism].shape
    if not strict and not shaped:
        named.pop("alpha", None)
    if mechanism == "none":
        _no_amount(named)
        return NoNoise()
    kinds = card.noise or tuple(KINDS.values())[1:]
    amounts = [name for name in AMOUNTS if name in named]
    if len(amounts) > 1:
        allowed = f"left out when {amounts[0]} is given (one of the two sets the noise)"
        raise ParameterError(amounts[1], named[amounts[1]], allowed)
    values: dict[str, Any] = {"mechanism": mechanism}
    if amounts:
        kind = _kind_of(amounts[0], kinds)
        values[kind.field()] = named[amounts[0]]
    else:
        taken = {name for name in AMOUNTS if name in given}  # named as None: taken away
        kind = type(before) if isinstance(before, kinds) and not taken else kinds[0]
        if kind is type(before) and kind.field() not in taken:
            values[kind.field()] = getattr(before, kind.field())
    for name in ("alpha", "delta"):
        kept = getattr(before, name) if before.kind != "none" else None
        if name == "alpha" and not shaped and name not in named:
            kept = None
        value = named.get(name, None if name in given else kept)
        if value is not None:
            values[name] = value
    try:
        return kind(**values)
    except ParameterError as error:
        if amounts and error.name == kind.field():  # by the name that was given
            raise ParameterError(amounts[0], error.value, error.allowed) from None
        raise


def _kind_of(amount: str, kinds: tuple[type[Noise], ...]) -> type[Noise]:
    """The kind of noise that an amount's name stands for, among those that an algorithm takes."""
    if amount == "epsilon":
        return next((k for k in kinds if k.field() == "epsilon"), KINDS["total"])
    wanted = next(k for k in KINDS.values() if k.kind != "none" and k.amount() == amount)
    return next((k for k in kinds if issubclass(k, wanted)), wanted)
