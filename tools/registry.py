"""Registry of tools: built-in tools in listed order, then tools of packages by name."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from typing import Any, Generic, TypeVar

from session.begin import digest
from tools import (
    check_inventory,
    classify_genre,
    compare_prices,
    find_volumes,
    forget_preference,
    get_manga_details,
    get_ratings,
    get_recommendations,
    lookup_order,
    preview_manga_pages,
    remember_preference,
    search_manga_catalog,
)
from tools.contract import Tool
from tools.schema.problem import find_problem, list_sheddable
from tools.schema.validation import ArgumentsValidator, Check, compile_success_check
from tools.store.identifiers import Identifiers

T = TypeVar("T")
Observer = Callable[[], None]
MOST_WITHDRAWN = 256
"""Most withdrawn values kept; the oldest are dropped first."""


class Register(Generic[T]):
    """Registry of immutable values by name; may be changed only on the event loop's thread. Lists the values of the names in
    `first`, then all others by name. Keeps the latest withdrawn values for `get`."""

    def __init__(self, first: Iterable[str] = ()) -> None:
        self._rank = {name: place for place, name in enumerate(first)}
        self._current: dict[str, T] = {}
        self._withdrawn: dict[str, T] = {}
        self._observers: list[Observer] = []

    def exchange(self, present: Mapping[str, T], gone: Iterable[str] = ()) -> None:
        """Withdraws the names `gone` that are registered, and adds or replaces `present`. Observers are notified once."""
        leaving = {name: self._current[name] for name in gone if name in self._current and name not in present}
        staying = {name: value for name, value in self._current.items() if name not in leaving}
        withdrawn = {name: value for name, value in self._withdrawn.items() if name not in present} | leaving
        self._current = dict(sorted((staying | dict(present)).items(), key=self._place))
        self._withdrawn = dict(list(withdrawn.items())[-MOST_WITHDRAWN:])
        for observer in self._observers:
            observer()

    def get(self, name: str) -> T | None:
        """Returns the current value, else the withdrawn value, else None."""
        return self._current[name] if name in self._current else self._withdrawn.get(name)

    def current(self, name: str) -> T | None:
        return self._current.get(name)

    def on_change(self, observer: Observer) -> None:
        """Registers a callback that runs on the event loop after every change. The callback must not block."""
        self._observers.append(observer)

    def names(self) -> list[str]:
        return list(self._current)

    def all(self) -> list[T]:
        return list(self._current.values())

    def __contains__(self, name: object) -> bool:
        return name in self._current

    def __len__(self) -> int:
        return len(self._current)

    def _place(self, item: tuple[str, T]) -> tuple[int, str]:
        return self._rank.get(item[0], len(self._rank)), item[0]


TOOLS: tuple[Tool, ...] = (
    search_manga_catalog.TOOL,
    get_manga_details.TOOL,
    check_inventory.TOOL,
    find_volumes.TOOL,
    get_ratings.TOOL,
    compare_prices.TOOL,
    get_recommendations.TOOL,
    classify_genre.TOOL,
    preview_manga_pages.TOOL,
    lookup_order.TOOL,
    remember_preference.TOOL,
    forget_preference.TOOL,
)
CORE = frozenset({"search_manga_catalog", "get_manga_details", "check_inventory", "get_recommendations", "lookup_order"})
"""Names of the tools that MANGA_TOOLS=core leaves on; it turns all others off."""
FORM = 10
"""Length of `Registered.form` in characters."""


class ToolRefused(ValueError):
    """Raised for a tool that cannot be registered. The message states the problem and its remedy in one line."""


@dataclass(frozen=True, slots=True)
class Registered:
    """One version of a tool, which a running call keeps until it ends. `form`: part of the cache keys of its results.
    `fits`: checks the shape of a cached result. `sheds`: paths in the order in which they are dropped from a long result
    (`Tool.sheds`). `package`: None for a built-in tool."""

    tool: Tool
    validator: ArgumentsValidator
    form: str
    fits: Check
    sheds: tuple[str, ...] = ()
    version: str = ""
    package: str | None = None


class Registry(Register[Registered]):
    """Tools by name. Withdrawn tools are kept, so that a call of one is answered with the advice in `Tool.instead`."""

    def __init__(
        self,
        tools: Iterable[Tool] = TOOLS,
        *,
        version: str = "",
        setting: str = "",
        text_fresh_seconds: int | None = None,
        identifiers: Identifiers | None = None,
    ) -> None:
        """Registers `tools` as version `version`. Raises `ToolRefused` for a tool that reads an unknown key of another.

        `setting`: text that becomes part of cache keys. `text_fresh_seconds`: freshness of texts about titles.
        `identifiers`: the shop's currency and formats of ids, which are put into schemas. All settings also apply to
        tools registered later."""
        built_in = list(tools)
        self.built_in = tuple(tool.name for tool in built_in)
        super().__init__(self.built_in)
        self._version = version
        self._setting = setting
        self._text_fresh_seconds = text_fresh_seconds
        self._identifiers = identifiers or Identifiers()
        for tool in built_in:
            self.register(tool)

    def register(self, tool: Tool, version: str | None = None) -> None:
        """Adds or replaces a built-in tool. `version` defaults to the registry's. Running calls finish on the old version;
        its cached results are no longer served if `version` is new. Raises `ToolRefused`."""
        self.exchange({tool.name: self.compile_tool(tool, version)})

    def compile_tool(self, tool: Tool, version: str | None = None, package: str | None = None) -> Registered:
        """Compiles a tool with the shop's settings, without registering it. Takes some milliseconds and may run on another
        thread. `version` None: the registry's. `package` None: a built-in tool. Raises `ToolRefused` with the first problem
        of a package's tool, and for a tool that reads an unknown key of another tool."""
        adapted = self._with_freshness(self._with_identifiers(tool))
        # Tests check the built-in tools, since checking them at every start would take a quarter of a second.
        if package is not None and (problem := find_problem(adapted)):
            raise ToolRefused(f"{tool.name!s:.80}: {problem}")
        own = self._compile(adapted)
        if own.tool.output_schema is not tool.output_schema:  # `fits` checks cached results, which have internal names
            own = replace(own, fits=compile_success_check(tool.output_schema))
        self._check_keys(own.tool)
        version = self._version if version is None else version
        return replace(own, form=digest(own.form, self._setting, version)[:FORM], version=version, package=package)

    def _compile(self, tool: Tool) -> Registered:
        validator = ArgumentsValidator(tool.input_schema, tool.check, tool.spelled)
        sheds = list_sheddable(tool.output_schema) if tool.sheds is None else tool.sheds
        fits = compile_success_check(tool.output_schema)
        return Registered(tool, validator, digest(tool.output_schema)[:FORM], fits, sheds)

    def _check_keys(self, tool: Tool) -> None:
        """Raises `ToolRefused` if the tool reads a key of another registered tool that is not among that tool's `leaves`."""
        for key in tool.reads:
            owner = self.get(key.partition(".")[0]) if "." in key else None
            if owner is not None and key not in owner.tool.leaves:
                raise ToolRefused(f"{tool.name}: its reads has {key!r}, which {owner.tool.name} does not leave")

    def nearest(self, name: str, among: Container[str] | None = None) -> list[str]:
        """Returns up to three registered names similar to `name`, most similar first. `among`: names to choose from, None
        for all."""
        names = [each for each in self.names() if among is None or each in among]
        return get_close_matches(name[:100], names, n=3, cutoff=0.4)

    def __iter__(self) -> Iterator[Tool]:
        return (each.tool for each in self.all())

    def _with_identifiers(self, tool: Tool) -> Tool:
        """Returns the tool with the shop's id patterns and currency in its schemas, and with normalisers for ids."""
        shop, schema = self._identifiers, self._identifiers.adapt(tool.input_schema)
        rules = schema.get("properties") if isinstance(schema, Mapping) else None
        if not isinstance(rules, Mapping):  # `find_problem` describes this schema's problem
            return tool
        ids: dict[str, Callable[[str], Any]]
        ids = {shop.titles.text: partial(shop.titles.normalise, whole=True), shop.orders.text: shop.orders.normalise}
        spelled = {name: ids[found] for name, rule in rules.items() if (found := _pattern_of(rule)) in ids}
        return replace(
            tool,
            input_schema=schema,
            output_schema=shop.currency.adapt(tool.output_schema),
            description=shop.adapt(tool.description),
            spelled={**tool.spelled, **spelled},
            remembered=tuple(map(shop.currency.field, tool.remembered)),
            sheds=None if tool.sheds is None else tuple(map(shop.currency.rename, tool.sheds)),
        )

    def _with_freshness(self, tool: Tool) -> Tool:
        seconds, cache = self._text_fresh_seconds, tool.cache
        if seconds is None or cache is None or not cache.text:
            return tool
        stale_seconds = max(seconds, cache.stale_seconds)
        return replace(tool, cache=replace(cache, fresh_seconds=seconds, stale_seconds=stale_seconds))


def _pattern_of(rule: Any) -> Any:
    """Returns the `pattern` of an argument's JSON Schema, or of the schema's `items`; None if there is none."""
    found = (rule.get("pattern") or _pattern_of(rule.get("items"))) if isinstance(rule, Mapping) else None
    return found if isinstance(found, str) else None
