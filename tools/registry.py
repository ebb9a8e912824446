"""The tools of the store, in the order in which they are listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from jsonschema import Draft202012Validator

from session.result_cache import digest
from tools import check_inventory, get_manga_details, get_recommendations, lookup_order, search_manga_catalog
from tools.contract import Tool
from tools.schema.quick_check import Check, success_of
from tools.schema.validation import ArgumentsValidator

TOOLS: tuple[Tool, ...] = (
    search_manga_catalog.TOOL,
    get_manga_details.TOOL,
    check_inventory.TOOL,
    get_recommendations.TOOL,
    lookup_order.TOOL,
)

FORM = 10
"""Characters that name a form: enough to tell versions apart."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A tool, the validator compiled from its input schema, and of its output schema: a name for what results look like, and
    whether a value looks so."""

    tool: Tool
    validator: ArgumentsValidator
    form: str
    fits: Check


@dataclass(frozen=True, slots=True)
class Registry:
    """Tools by name. Raises `jsonschema.SchemaError` at once for a schema that is not one, ValueError for a name twice."""

    tools: Sequence[Tool] = TOOLS
    _by_name: dict[str, Registered] = field(init=False)

    def __post_init__(self) -> None:
        by_name = {tool.name: _compiled(tool) for tool in self.tools}
        if len(by_name) != len(self.tools):
            raise ValueError("two tools have the same name")
        object.__setattr__(self, "_by_name", by_name)

    def get(self, name: str) -> Registered | None:
        return self._by_name.get(name)

    def nearest(self, name: str) -> list[str]:
        """Names that somebody may have meant, nearest first; all of them when none is near."""
        return get_close_matches(name[:100], self._by_name, n=3, cutoff=0.4) or list(self._by_name)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)


def _compiled(tool: Tool) -> Registered:
    Draft202012Validator.check_schema(tool.input_schema)
    Draft202012Validator.check_schema(tool.output_schema)
    validator = ArgumentsValidator(tool.input_schema, tool.check, tool.spelled)
    return Registered(tool, validator, digest(tool.output_schema)[:FORM], success_of(tool.output_schema))
