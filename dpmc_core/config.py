"""One declaration per parameter.

Frozen dataclasses whose fields carry range, choices and meaning.

A field annotated with a ``Limit`` or a ``Choice`` is a parameter: it is validated on construction,
and JSON, links, command-line flags, widgets and the table in the docs are made from it. Other
fields hold live objects (a mechanism, a budget) that no parameter names.
"""

import json
from collections.abc import Hashable
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from types import NoneType
from typing import Any, get_args, get_type_hints

from dpmc_core.errors import check_choice, one_of
from dpmc_core.limits import Limit

Settings = dict[str, Any]  # names of parameters and their values


@dataclass(frozen=True)
class Choice:
    """One of some ``names``, shown on a page by their ``titles``."""

    names: tuple[str, ...]
    meaning: str
    label: str = ""  # what its box on a page is called; without one it has none of its own
    titles: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        """What would be accepted, in words."""
        return one_of(self.names)

    @property
    def titled(self) -> dict[str, str]:
        """The names and their titles."""
        return dict(zip(self.names, self.titles or self.names, strict=True))


@dataclass(frozen=True)
class Parameter:
    """A declared field: its ``rule``, ``default``, and whether None is allowed (``optional``)."""

    name: str
    rule: Limit | Choice
    default: Any
    optional: bool

    def saying(self, meaning: str) -> "Parameter":
        """A copy with another ``meaning``."""
        return replace(self, rule=replace(self.rule, meaning=meaning))

    def check(self, value: Any) -> Any:
        """``value`` as the field holds it; raises ``ParameterError`` with the field's own name."""
        if value is None and self.optional:
            return None
        if isinstance(self.rule, Choice):
            check_choice(self.name, value, self.rule.names)
            return value
        number = self.rule.check(value)
        return int(number) if self.rule.integer else number

    def parse(self, text: str) -> Any:
        """A value typed by a person (command line, link, text box). Raises ``ParameterError``."""
        if isinstance(self.rule, Choice):
            return self.check(text)
        if text == "None" and self.optional and self.default is not None:
            return None  # else leaving it out says so
        return self.check(self.rule.parse(text))


def parameters(kind: type) -> dict[str, Parameter]:
    """The parameters that a config declares, by name.

    >>> from dpmc_core.completion.als import ALSConfig
    >>> parameters(ALSConfig)["rank"].default
    32
    """
    return _declared(kind)


@cache
def _declared(kind: Hashable) -> dict[str, Parameter]:
    declared: Any = kind
    hints = get_type_hints(declared, include_extras=True)
    params = {}
    for field in fields(declared):
        hint = hints[field.name]
        optional = NoneType in get_args(hint)
        if optional:
            hint = next(x for x in get_args(hint) if x is not NoneType)
        for rule in getattr(hint, "__metadata__", ()):
            if isinstance(rule, Limit):
                rule = replace(rule, name=field.name, integer=hint.__origin__ is int)
            default = None if field.default is MISSING else field.default
            params[field.name] = Parameter(field.name, rule, default, optional)
    return params


@dataclass(frozen=True, kw_only=True)
class Config:
    """Base of every config. Raises ``ParameterError`` naming field, value and range."""

    def __post_init__(self) -> None:
        for name, parameter in parameters(type(self)).items():
            object.__setattr__(self, name, parameter.check(getattr(self, name)))
        self.consistent()

    def consistent(self) -> None:
        """Check rules between fields; raises ``ParameterError``."""

    def as_dict(self) -> Settings:
        """The values of its parameters, JSON-able."""
        return values_of(self)

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.as_dict(), sort_keys=True)


def values_of(config: Config) -> Settings:
    """The values of a config's parameters, JSON-able."""
    return {name: getattr(config, name) for name in parameters(type(config))}


def changed(config: Config) -> Settings:
    """Those that differ from their defaults."""
    usual = parameters(type(config))
    return {n: v for n, v in values_of(config).items() if v != usual[n].default}
