"""A project: several releases that share one budget, planned together and extended later.

A project's file, how its budget is shared out, and what is left.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from dpmc_core.config import Choice, Config, changed, parameters
from dpmc_core.errors import DataError, ParameterError, one_of
from dpmc_core.limits import LIMITS, Limit
from dpmc_core.planning.answer import reach
from dpmc_core.planning.spec import QUERIES, People, Query, Statistic
from dpmc_core.privacy import Ledger, Release, ledger_from_text
from dpmc_core.privacy.account import OWN_PROOF, account, best_published, tightest
from dpmc_core.privacy.budget import Budget, Part
from dpmc_core.privacy.budget import plan as planned_releases
from dpmc_core.wording import JsonObject, three, toml, toml_of

_NOISES = ("gaussian", "laplace", "huber")
_RESERVE = "what is kept for later"
_MOST_ITEMS, _USED_UP = 50, 1e-4
_NOTHING = Ledger()


@dataclass(frozen=True, kw_only=True)
class Item(Statistic):
    """One query of a project, and its ``share`` of the budget beside the others'."""

    name: str
    query: Query = "count"
    share: Annotated[
        float,
        Limit(
            0,
            1e6,
            "parts of the budget that is left, of the sum of all parts and those kept for later",
            open_low=True,
        ),
    ] = 1.0
    people: People = 1000

    def consistent(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ParameterError("name", self.name, "a name for each release")
        if not self.name.isprintable():
            raise ParameterError("name", ascii(self.name), "a text of printable characters")
        try:
            super().consistent()
        except ParameterError as error:
            raise ParameterError(
                error.name, error.value, f"{error.allowed}, in {self.name!r}"
            ) from None

    def part(self, *, replacing: bool) -> Part:
        """The planned release. One person added or removed moves it as ``Statistic.moved`` says;
        one *replaced* moves a sum by at most high − low, a count by 1, and two bins of a histogram
        by 1 each: 2 in ℓ1, √2 in ℓ2.
        """
        histogram = self.query == "histogram"
        moved = self.moved / (self.people if self.query == "mean" else 1)
        if replacing and self.query == "sum":
            moved = self.high - self.low
        bins = 2 if replacing and histogram else 1  # that one person moves
        return Part(
            what=f"{self.name}: {QUERIES[self.query]}",
            l1=bins * moved,
            l2=math.sqrt(bins) * moved,
            linf=moved if histogram else None,
            coordinates=self.bins if histogram else 1,
            share=self.share,
            count=self.releases,
            unit="record",
            neighbours="replace-one" if replacing else "add/remove-one",
            source="dpmc_core.planning.project, Item.part",
            kind="",
        )


@dataclass(frozen=True, kw_only=True)
class Project(Config):
    """``items`` that share a total ``epsilon`` at ``delta`` with releases made before (``spent``);
    ``reserve`` is a share that is kept for later. Neighbours replace one person where any item is a
    mean, and add or remove one otherwise. Raises ``ParameterError``.
    """

    items: tuple[Item, ...]
    epsilon: Annotated[float, Limit(1e-4, 100, "total ε of the project", label="Total ε")] = 1.0
    delta: Annotated[float, LIMITS["account_delta"]] = 1e-5
    mechanism: Annotated[str, Choice(_NOISES, "noise of all releases")] = "gaussian"
    alpha: Annotated[float, LIMITS["alpha"]] = 1.5
    reserve: Annotated[
        float, Limit(0, 1e6, "parts of the budget kept for later", label="Kept for later (parts)")
    ] = 0.0
    spent: Ledger = _NOTHING

    def consistent(self) -> None:
        if not 0 < len(self.items) <= _MOST_ITEMS:
            raise ParameterError("releases", len(self.items), f"1 to {_MOST_ITEMS} in a project")
        names = [item.name for item in self.items]
        for name in names:
            if names.count(name) > 1:
                raise ParameterError("name", name, "there once: each release has its own")
        mine = self.neighbours
        for release in self.spent.releases:
            if release.neighbours != mine or release.unit != "record":
                raise ParameterError(
                    "neighbours",
                    f"{release.neighbours}, one {release.unit}",
                    f"{mine}, one record, as in this project: one ε cannot speak of both",
                )

    def to_toml(self) -> str:
        """The file from which ``project_from_toml`` makes the same project, but for ``spent``.

        >>> print(Project(items=(Item(name="ill", releases=12),), epsilon=2.0).to_toml())
        epsilon = 2.0
        <BLANKLINE>
        [[release]]
        name = "ill"
        releases = 12
        <BLANKLINE>
        """

        def lines(config: Config) -> str:
            settings = {n: v for n, v in changed(config).items() if n not in ("items", "spent")}
            return "".join(f"{name} = {toml(value)}\n" for name, value in settings.items())

        tables = (f"\n[[release]]\nname = {toml(i.name)}\n{lines(i)}" for i in self.items)
        return lines(self) + "".join(tables)

    @property
    def replacing(self) -> bool:
        """Whether neighbours replace one person."""
        before = {release.neighbours for release in self.spent.releases}
        return "replace-one" in before or any(item.query == "mean" for item in self.items)

    @property
    def neighbours(self) -> str:
        """Who are neighbours."""
        return "replace-one" if self.replacing else "add/remove-one"


@dataclass(frozen=True, kw_only=True)
class Shared:
    """A project's plan: ``releases`` of its items in order, the ``ledger`` of these and of what was
    made before, and ε: of all that was made ``before``, of the ledger (``with_these``), and of the
    ledger by ``published`` results alone, where the former rests on this project's own proof.
    """

    project: Project
    releases: tuple[Release, ...]
    ledger: Ledger
    before: float
    with_these: float
    published: float

    @property
    def sentence(self) -> str:
        """What is spent, and what is left."""
        budget = three(self.project.epsilon)
        was = f" ({three(self.before)} of it before)" if self.before else ""
        left = (
            f"the rest of {budget} is kept for later"
            if self.project.reserve
            else f"nothing of {budget} is left"
        )
        proof = (
            f" That {OWN_PROOF}: by published results alone it is {three(self.published)}."
            if self.published > 1.005 * self.with_these
            else ""
        )
        total = "total ε" if self.ledger.sound else "nominal total ε"
        return f"These releases bring the {total} to {three(self.with_these)}{was}; {left}.{proof}"

    def as_dict(self) -> JsonObject:
        """A JSON-able copy; ``ledger`` in it is what ``spent`` takes to go on later."""
        project = self.project
        rows = [
            {
                "name": item.name,
                "query": item.query,
                "releases": item.releases,
                "share": item.share,
                "margin_95": reach(item, release.mechanism),  # in 95 of 100 releases
                "standard_deviation": release.mechanism.std,
                "epsilon_alone": tightest(Ledger((release,)), project.delta),
            }
            for item, release in zip(project.items, self.releases, strict=True)
        ]
        return {
            "answer": self.sentence,
            "epsilon": project.epsilon,
            "delta": project.delta,
            "epsilon_before": self.before,
            "epsilon_with_these": self.with_these,
            "epsilon_by_published_results": self.published,
            "neighbours": project.neighbours,
            "items": rows,
            "ledger": self.ledger.as_dict(),
        }


def share_out(project: Project) -> Shared:
    """The least noise, by shares, at which all releases, those made before and what is kept for
    later spend at most the project's ε together (``privacy.budget.plan``).

    Raises ``ParameterError`` where what was spent before leaves nothing.
    """
    before = tightest(project.spent, project.delta) if project.spent.private else 0.0
    if before >= project.epsilon * (1 - _USED_UP):
        raise ParameterError(
            "epsilon",
            project.epsilon,
            f"above {three(before)}, which the releases made before cost: nothing is left",
        )
    budget = Budget(
        epsilon=project.epsilon,
        delta=project.delta,
        family=project.mechanism,
        alpha=project.alpha,
        spent=project.spent.releases,
    )
    parts = {item.name: item.part(replacing=project.replacing) for item in project.items}
    if project.reserve:
        later = Item(name=_RESERVE, share=project.reserve)
        parts[""] = later.part(replacing=project.replacing)
    planned = planned_releases(parts, budget)
    assert planned is not None
    releases = tuple(planned[item.name] for item in project.items)
    ledger = Ledger((*project.spent.releases, *releases))
    return Shared(
        project=project,
        releases=releases,
        ledger=ledger,
        before=before,
        with_these=tightest(ledger, project.delta),
        published=best_published(account(ledger, project.delta)).epsilon,
    )


def project_from_toml(text: str, spent: Ledger | None = None) -> Project:
    """The project in a TOML text: epsilon, delta, mechanism, reserve, and [[release]] tables.

    Raises ``DataError`` for no TOML, and ``ParameterError`` for what is wrong inside.
    """
    try:
        raw = toml_of(text)
    except ValueError as error:
        raise DataError(f"The project is no TOML: {error}.") from None
    tables = raw.pop("release", [])
    if not isinstance(tables, Sequence) or not all(isinstance(t, Mapping) for t in tables):
        raise ParameterError("release", tables, "[[release]] tables, one for each release")
    items = tuple(_build(Item, table) for table in tables)
    return _build(Project, raw, items=items, spent=spent or _NOTHING)


def share_out_after(name: str, content: bytes | None, text: str) -> Shared:
    """Share out the project in ``text`` (TOML) after the releases in a ledger file's ``content``,
    if there is one. Raises ``DataError`` or ``ParameterError``.
    """
    spent = None if content is None else ledger_from_text(content, name)
    return share_out(project_from_toml(text, spent))


def _build(kind: type, raw: Mapping[str, Any], **more: Any) -> Any:
    field_names = {*parameters(kind), *({"name"} if kind is Item else ())}
    for name in raw:
        if name not in field_names:
            raise ParameterError(name, raw[name], one_of(sorted(field_names)))
    if kind is Item and "name" not in raw:
        raise ParameterError("name", None, "a name for each release")
    return kind(**raw, **more)
