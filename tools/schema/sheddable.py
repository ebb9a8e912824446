"""What a success may lose and still be what its output schema says: fields that are not required, and rows of lists."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from tools.schema.parts import ROWS, Schema

SAID_OF_IT = frozenset({"note", "truncated", "error"})
"""Of every answer, beside what is in it."""


def sheddable(output_schema: Schema) -> tuple[str, ...]:
    """Paths as `tools/results/shortening.py` takes them, what is declared last first: fields, then rows."""
    paths = list(_paths(output_schema, output_schema["anyOf"][0].get("required", ())))
    fields, rows = [each for each in paths if not each.endswith(ROWS)], [each for each in paths if each.endswith(ROWS)]
    return (*reversed(fields), *reversed(rows))


def may_be_shed(output_schema: Schema, path: str) -> bool:
    """Whether the path is one of these, or in an object of which the schema says no more than that it is one."""
    may_go = sheddable(output_schema)
    return path in may_go or any(path.startswith(f"{each}.") for each in may_go if _is_bare(output_schema, each))


def _is_bare(output_schema: Schema, path: str) -> bool:
    return bool(output_schema["properties"].get(path) == {"type": "object"})


def _paths(schema: Schema, required: Collection[str], way: str = "") -> Iterator[str]:
    for name, each in schema.get("properties", {}).items():
        if not way and name in SAID_OF_IT:
            continue
        if name not in required:
            yield way + name
        if each.get("type") == "array":
            yield way + name + ROWS
        inside: Any = each.get("items", each)
        yield from _paths(inside, inside.get("required", ()), f"{way}{name}.")
