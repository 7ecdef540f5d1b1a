"""The RunSpec: one frozen value that names a run completely, and its text forms.

``RunSpec(task, data, algorithm, noise, seed)``, each a config that declares its own parameters. In
links, files, options and sweeps a spec is *flat*: one value for each name, read by ``RunSpec.of``.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from dpmc_core.config import Choice, Config, Settings, changed, parameters, values_of
from dpmc_core.datasets import names, user_datasets
from dpmc_core.datasets.configs import RatingsData, config_of
from dpmc_core.errors import ParameterError, check_choice, check_names, one_of
from dpmc_core.experiments.algorithms import ALGORITHMS, held_for, of_task
from dpmc_core.limits import LIMITS
from dpmc_core.mechanisms import FAMILIES
from dpmc_core.paths import names_once
from dpmc_core.privacy.algorithm import Algorithm
from dpmc_core.privacy.noise import KINDS, MECHANISMS, Noise, NoNoise
from dpmc_core.wording import JsonObject

AMOUNTS = ("variance", "epsilon", "nominal_epsilon", "total_epsilon", "sigma")
USUAL = {"ratings": ("low-rank", "als"), "samples": ("lfw", "nmf")}  # dataset, algorithm
CHANCE = ("seed", "secret", "split_seed")
_NOISE = ("mechanism", *AMOUNTS, "alpha", "delta")


def default_algorithm(dataset: str | None, task: object) -> str:
    """The algorithm that is meant where only a ``dataset``, or a ``task``, or neither is named."""
    samples = task == "factorize" or not (
        dataset is None or issubclass(config_of(dataset), RatingsData)
    )
    return "moments" if task == "recommend" else USUAL["samples" if samples else "ratings"][1]


@cache
def known_names() -> frozenset[str]:
    """All flat names that a spec can have."""
    kinds: set[type] = {card.config for card in ALGORITHMS.values()}
    data = {config_of(name) for name in names()}
    param_names = {name for kind in kinds | data for name in parameters(kind)}
    return frozenset(param_names | {"task", "dataset", "algorithm", *CHANCE, *_NOISE})


def parts_of(given: Mapping[str, Any], base: Any, *, strict: bool) -> Settings:
    """The fields of a spec from flat names; ``base`` is the spec that they change, if any.

    ``strict`` refuses names that this algorithm, dataset and noise have no use for; names that
    nothing has are always refused. Raises ``ParameterError``.
    """
    left = dict(given)
    task = left.pop("task", None)
    dataset, name = _named(left, base, task)
    card = ALGORITHMS[name]
    kind = config_of(dataset, *held_for(card.tasks))
    counted = [n for n in ("min_documents", "max_share") if left.get(n) is not None]
    if base is None and counted and "word_list" in parameters(kind):
        left.setdefault("word_list", "documents")  # they choose among the documents' own words
    data = _config(kind, base and base.data, left, dataset)
    algorithm = _config(card.config, base and base.algorithm, left)
    noise = _noise(card, left, base, strict=strict)
    chance = _chance(card.guarantee and noise.kind != "none", dataset, left, base, strict=strict)
    for other, value in left.items():
        check_choice("spec field", other, sorted(known_names()))
        if strict and value is not None:
            allowed = f"left out for {card.title} on {data.entry.title}, which have no {other}"
            raise ParameterError(other, value, allowed)
    if task is None:
        task = card.tasks[0] if base is None or base.task not in card.tasks else base.task
    return {"task": task, "data": data, "algorithm": algorithm, "noise": noise, **chance}


def _chance(guaranteed: bool, dataset: str, left: Settings, base: Any, *, strict: bool) -> Settings:
    """Whether the noise is secret, and the seed of what else is left to chance.

    A seed asks for a run that can be repeated. Without one, the noise that a guarantee rests on is
    secret on somebody's own data.
    """
    seed, secret, split_seed = (left.pop(name, None) for name in CHANCE)
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
        inherits = base is not None and base.guaranteed and base.dataset == dataset
        secret = base.secret if inherits else user_datasets.is_own(dataset)
    if split_seed is not None and strict and not secret:
        raise ParameterError("split_seed", split_seed, "left out unless the noise is secret")
    usual = 0 if base is None else base.seed
    named = split_seed if seed is None else seed
    return {"secret": secret, "seed": usual if named is None else named}


def _named(left: Settings, base: Any, task: Any) -> tuple[str, str]:
    """The names of dataset and algorithm; one of them alone brings the usual other one."""
    dataset, name = left.pop("dataset", None), left.pop("algorithm", None)
    if name is not None:
        check_choice("algorithm", name, ALGORITHMS)
    if base is not None:
        return (
            base.dataset if dataset is None else dataset,
            base.card.name if name is None else name,
        )
    if name is None:
        name = default_algorithm(dataset, task)
    kind = "samples" if "factorize" in ALGORITHMS[name].tasks else "ratings"
    return USUAL[kind][0] if dataset is None else dataset, name


def _config(kind: type[Any], base: Any, left: Settings, dataset: str = "") -> Any:
    """A config of ``kind``: what is named, else what was in ``base`` where both have it."""
    params = parameters(kind)
    values: Settings = {}
    if base is not None:
        inherited = values_of(base) if type(base) is kind else changed(base)
        values = {n: v for n, v in inherited.items() if n in params}
    for name in params:
        if name in left and (left[name] is not None or params[name].optional):
            values[name] = left[name]
        left.pop(name, None)
    return kind(**({"dataset": dataset} if dataset else {}), **values)


def _noise(card: Algorithm, left: Settings, base: Any, *, strict: bool) -> Noise:
    before = NoNoise() if base is None else base.noise
    given = {name: left.pop(name) for name in _NOISE if name in left}
    named = {name: value for name, value in given.items() if value is not None}
    mechanism = named.pop("mechanism", before.mechanism)
    check_choice("mechanism", mechanism, MECHANISMS)
    if mechanism == "none" and (strict or "mechanism" not in given):
        for name, value in named.items():
            if name != "delta":  # never a run without noise where an amount of it was asked for
                allowed = "left out without noise; choose a mechanism to use it"
                raise ParameterError(name, value, allowed)
    if mechanism == "none" or not (strict or card.noise):
        return NoNoise()
    shaped = "alpha" in FAMILIES[mechanism].shape
    if not strict and not shaped:
        named.pop("alpha", None)
    kinds = card.noise or tuple(KINDS.values())[1:]
    amounts = [name for name in AMOUNTS if name in named]
    if len(amounts) > 1:
        allowed = f"left out when {amounts[0]} is given (one of the two sets the noise)"
        raise ParameterError(amounts[1], named[amounts[1]], allowed)
    taken = {name for name in AMOUNTS if name in given}  # named as None: taken away
    kind = type(before) if isinstance(before, kinds) and not taken else kinds[0]
    if amounts:
        kind = _kind_of(amounts[0], kinds)
    field = kind.field()
    values: Settings = {"mechanism": mechanism}
    if amounts:
        values[field] = named[amounts[0]]
    elif kind is type(before) and field not in taken:
        values[field] = getattr(before, field)
    for name in ("alpha", "delta"):
        inherited = getattr(before, name) if shaped or name == "delta" else None
        value = named.get(name, None if name in given else inherited)
        if value is not None:
            values[name] = value
    try:
        return kind(**values)
    except ParameterError as error:
        if amounts and error.name == field:  # by the name that was given
            raise ParameterError(amounts[0], error.value, error.allowed) from None
        raise


def _kind_of(amount: str, kinds: tuple[type[Noise], ...]) -> type[Noise]:
    """The kind of noise that an amount's name stands for, among those that an algorithm takes."""
    if amount == "epsilon":
        return next((k for k in kinds if k.field() == "epsilon"), KINDS["total"])
    wanted = next(k for k in KINDS.values() if k.amount() == amount)
    return next((k for k in kinds if issubclass(k, wanted)), wanted)


VERSION = 2
TASKS = ("rate", "recommend", "factorize")
_CARDS = {card.config: card for card in ALGORITHMS.values()}


class Spec(ABC):
    """What names a piece of work completely: a run, study, sweep, plan, audit or trial."""

    @property
    @abstractmethod
    def amount(self) -> int:
        """How much work it is: steps, runs or outputs."""

    def weighted_runs(self) -> Iterable[tuple["RunSpec", float]]:
        """The different runs that it stands for, and how many of each: none of its own."""
        return ()

    @property
    def may_be_secret(self) -> bool:
        """Whether it draws noise that nothing repeats: then it is not made again by itself."""
        return any(run.secret for run, _ in self.weighted_runs())

    @property
    def own_data(self) -> frozenset[str]:
        """The names of the uploaded datasets that it reads."""
        names = {run.dataset for run, _ in self.weighted_runs()}
        return frozenset(filter(user_datasets.is_own, names))


@dataclass(frozen=True, kw_only=True)
class RunSpec(Config, Spec):
    """Everything that determines a run; ``RunSpec.of`` makes one from flat names and values.

    ``task`` "rate" predicts held-out ratings, "recommend" finds what held-out users like, and
    "factorize" learns parts of images or topics of documents. ``seed`` decides what is held out
    and, unless ``secret``, the noise. Secret noise comes from the operating system, and nothing
    repeats it. Raises ``ParameterError`` naming parameter, value and range.
    """

    task: Annotated[str, Choice(TASKS, "what is done with the data")]
    data: Any
    algorithm: Any
    noise: Any = NoNoise()  # noqa: RUF009 - frozen
    seed: Annotated[int, LIMITS["seed"]] = 0
    secret: bool = False

    def consistent(self) -> None:
        card = self.card
        if self.task not in card.tasks:
            allowed = one_of(of_task(self.task)) + f" for the task {self.task}"
            raise ParameterError("algorithm", card.name, allowed)
        card.check_noise(self.noise)
        if not isinstance(self.secret, bool) or (self.secret and not self.guaranteed):
            allowed = "true or false, and false for a run without a guarantee"
            raise ParameterError("secret", self.secret, allowed)
        config = self.algorithm
        if config != type(config)(**values_of(config)):  # it would be no part of the noise's seed
            allowed = "one whose settings are all parameters; the spec's noise sets the noise"
            raise ParameterError("config", type(config).__name__, allowed)
        if self.task == "recommend":
            if self.data.split != "random":
                allowed = "random for the task recommend, which holds out users, not ratings"
                raise ParameterError("split", self.data.split, allowed)
            if self.data.user_share < 1:
                raise ParameterError("user_share", self.data.user_share, "1 for the task recommend")
        if self.task == "factorize":
            self._check_samples()

    def _check_samples(self) -> None:
        rank, most = self.algorithm.rank, self.data.largest_rank
        if self.data.entry.holds == "documents":
            if self.card.images_only:
                allowed = (
                    "another for text: its outlier matrix would be as large as documents × words"
                )
                raise ParameterError("algorithm", self.card.name, allowed)
            penalty = getattr(self.algorithm, "outlier_penalty", None)
            if penalty is not None:
                raise ParameterError("outlier_penalty", penalty, "left out for text")
        if rank > most:
            raise ParameterError("rank", rank, f"at most {most:,}, the smaller side of this data")

    @property
    def card(self) -> Algorithm:
        """The algorithm's card."""
        return _CARDS[type(self.algorithm)]

    @property
    def guaranteed(self) -> bool:
        """Whether a guarantee rests on the noise."""
        return self.card.guarantee and self.noise.kind != "none"

    @property
    def dataset(self) -> str:
        """The dataset's name."""
        return str(self.data.dataset)

    @property
    def length(self) -> int:
        """How many steps the run makes."""
        return self.card.length(self.algorithm)

    amount = length

    def weighted_runs(self) -> Iterable[tuple["RunSpec", float]]:
        return ((self, 1.0),)

    @classmethod
    def of(cls, given: Mapping[str, Any] | None = None, /, **named: Any) -> "RunSpec":
        """A spec from flat names and values; what is not named is the algorithm's or dataset's own.

        ``epsilon`` is the kind of ε that the algorithm takes: the total of the run where it has a
        guarantee, else the nominal ε of a release. None stands for a value that is not named.

        >>> spec = RunSpec.of(algorithm="dpals", dataset="ml-100k", mechanism="gaussian", epsilon=5)
        >>> spec.noise.kind, spec.noise.epsilon, spec.algorithm.rank
        ('total', 5.0, 8)
        """
        return cls(**parts_of({**(given or {}), **named}, None, strict=True))

    @classmethod
    def fitting(cls, given: Mapping[str, Any], **named: Any) -> "RunSpec":
        """As ``of``, but leaving out what this algorithm, dataset and noise have no use for.

        For settings that several algorithms share. A name that nothing has is refused.
        """
        return cls(**parts_of({**given, **named}, None, strict=False))

    def replace(self, **changes: Any) -> "RunSpec":
        """A copy with some flat names changed; None takes an amount of noise away.

        With another algorithm, dataset or mechanism, values that both have a use for are kept.
        """
        return RunSpec(**parts_of(changes, self, strict=True))

    def repetition(self, seed: int, **changes: Any) -> "RunSpec":
        """A copy with another seed, whose noise is as secret as it was."""
        return self.replace(**{"split_seed" if self.secret else "seed": seed}, **changes)

    def flat(self) -> Settings:
        """All names and values, flat."""
        return self._flat(values_of)

    def changes(self) -> Settings:
        """The flat names whose values are not the usual: what a link or command needs to say."""
        return self._flat(changed)

    def _flat(self, of: Any) -> Settings:
        noise, field = of(self.noise), self.noise.field()
        if self.noise.kind != "none":
            noise.pop(field, None)
            amount = {self._amount(): getattr(self.noise, field)}
            noise = {"mechanism": self.noise.mechanism, **amount, **noise}
        return {
            **({"task": self.task} if self.task == "recommend" else {}),
            "dataset": self.dataset,
            **of(self.data),
            "algorithm": self.card.name,
            **of(self.algorithm),
            **{name: value for name, value in noise.items() if value is not None},
            **self._chance(of is values_of),
        }

    def _chance(self, whole: bool) -> Settings:
        own = user_datasets.is_own(self.dataset)
        if self.secret:
            settings = {"secret": True} if whole or not own else {}
            return {**settings, **({"split_seed": self.seed} if self.seed or whole else {})}
        needs_seed = own and self.guaranteed  # a seed, even 0, asks for noise that can be repeated
        return {"seed": self.seed} if self.seed or needs_seed or whole else {}

    def _amount(self) -> str:
        """What the amount of noise is called flat: ``epsilon`` where there is only one kind."""
        first = next((k for k in self.card.noise if k.field() == self.noise.field()), None)
        return self.noise.field() if type(self.noise) is first else self.noise.amount()

    def as_dict(self) -> JsonObject:
        """The spec as nested dictionaries, JSON-able; ``from_dict`` reads it back."""
        return {
            "version": VERSION,
            "task": self.task,
            "data": {"dataset": self.dataset, **values_of(self.data)},
            "algorithm": {"name": self.card.name, **values_of(self.algorithm)},
            "noise": {"amount": self.noise.kind, **values_of(self.noise)},
            "seed": self.seed,
            **({"secret": True} if self.secret else {}),
        }

    @classmethod
    def from_json(cls, text: str) -> "RunSpec":
        """Read ``to_json``'s form. Raises ``ParameterError``.

        >>> spec = RunSpec.of(rank=7, mechanism="huber", variance=2)
        >>> RunSpec.from_json(spec.to_json()) == spec
        True
        """
        return cls.from_dict(read_json(text))

    @classmethod
    def from_dict(cls, raw: object) -> "RunSpec":
        """A spec from nested dictionaries. Raises ``ParameterError``."""
        if not isinstance(raw, Mapping):
            raise ParameterError("spec", raw, "a JSON object as the app exports it")
        if raw.get("version") != VERSION:
            allowed = f"{VERSION}, the form that this release reads and exports"
            raise ParameterError("version", raw.get("version"), allowed)
        data, algorithm, noise = (_part(raw, n) for n in ("data", "algorithm", "noise"))
        amount = noise.pop("amount", "none")
        flat: Settings = {n: raw[n] for n in ("task", "seed", "secret") if n in raw}
        if flat.get("secret") is True and "seed" in flat:
            flat["split_seed"] = flat.pop("seed")
        fields = ("version", "task", "data", "algorithm", "noise", "seed", "secret")
        check_names("spec field", raw, fields)
        check_choice("amount", amount, KINDS)
        kind = KINDS[amount]
        if kind is not NoNoise and kind.field() in noise:
            noise[kind.amount()] = noise.pop(kind.field())
        name = algorithm.pop("name", None)
        return cls.of({**flat, **data, "algorithm": name, **algorithm, **noise})

    @property
    def model_megabytes(self) -> float:
        """What its factors alone take, known before it is run: rank × (rows + columns) numbers.

        >>> large = RunSpec.of(n_users=200_000, n_items=200_000, observed=1e-4, rank=256)
        >>> round(large.model_megabytes)
        819
        """
        rows, columns = self.data.sizes
        return 8e-6 * getattr(self.algorithm, "rank", 0) * (rows + columns)

    def command(self) -> str:
        """The command line that makes this run.

        >>> RunSpec.of(mechanism="huber", variance=2, rank=8).command()
        'python -m dpmc_core complete als --dataset low-rank --rank 8 --mechanism huber
         --variance 2'
        """
        command = "factorize" if self.task == "factorize" else "complete"
        options = {name: value for name, value in self.changes().items() if name != "algorithm"}
        words = user_datasets.flags(options)
        return " ".join([f"python -m dpmc_core {command} {self.card.name}", *words])

    def python(self) -> str:
        """Python lines that make this run."""
        figure = {"recommend": "recall", "factorize": "objective"}.get(self.task, "test_rmse")
        return (
            f"{user_datasets.lines_of(self.dataset)}"
            "from dpmc_core.experiments import RunSpec, run\n\n"
            f"result = run(RunSpec.of({user_datasets.keywords(self.changes())}))\n"
            f"print(result.final.{figure}, result.statement.label)\n"
        )


def read_json(text: str) -> Any:
    """What ``text`` holds. Raises ``ParameterError`` unless it is JSON."""
    try:
        return json.loads(text.removeprefix("\ufeff"), object_pairs_hook=names_once)
    except (ValueError, RecursionError):
        allowed = "a JSON object as the app exports it, each name once"
        raise ParameterError("spec", text, allowed) from None


def _part(raw: Mapping[str, Any], name: str) -> Settings:
    part = raw.get(name, {})
    if not isinstance(part, Mapping):
        raise ParameterError(name, part, "a JSON object as the app exports it")
    return dict(part)
