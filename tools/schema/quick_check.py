"""Does a value look as a schema says? A quick no for what was written by something else, where validation would cost more
than the call it is for: `type`, `required`, `properties`, `items`, `anyOf` and `enum` count, words that only narrow do not.

A schema with `required`, `properties` or `items` has to name its type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Schema = Mapping[str, Any]
Check = Callable[[Any], bool]

KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def success_of(output_schema: Schema) -> Check:
    """Checks for a tool's success: the error envelope, which every output schema admits, is none."""
    success, *_ = output_schema["anyOf"]
    return looks_like({"type": "object", "properties": output_schema["properties"], **success})


def looks_like(schema: Schema) -> Check:
    """The check, compiled once. What a schema says nothing about fits."""
    checks: list[Check] = []
    if (kinds := _kinds(schema)) is not None:
        checks.append(lambda value: type(value) in kinds)
    if "anyOf" in schema and (kinds is None or "type" in schema):
        branches = [looks_like(branch) for branch in schema["anyOf"]]
        checks.append(lambda value: any(check(value) for check in branches))
    if "enum" in schema:
        checks.append(lambda value: value in schema["enum"])
    if "required" in schema:
        required = frozenset(schema["required"])
        checks.append(lambda value: required <= value.keys())
    if "properties" in schema:
        checks.append(_properties(schema["properties"]))
    if "items" in schema:
        item = looks_like(schema["items"])
        checks.append(lambda value: all(map(item, value)))
    return checks[0] if len(checks) == 1 else lambda value: _all_hold(checks, value)


def _all_hold(checks: list[Check], value: Any) -> bool:
    """A loop and no generator: every result from the cache passes here, some hundred values of it."""
    for check in checks:  # noqa: SIM110
        if not check(value):
            return False
    return True


def _kinds(schema: Schema) -> frozenset[type] | None:
    """The types that a schema names; None when it names none. Not for isinstance: true and false are no numbers."""
    if "type" in schema:
        return frozenset(KINDS[schema["type"]])
    branches = schema.get("anyOf", ())
    if not branches or any(set(branch) != {"type"} for branch in branches):
        return None
    return frozenset(kind for branch in branches for kind in KINDS[branch["type"]])


def _properties(properties: Mapping[str, Schema]) -> Check:
    plain = {name: kinds for name, each in properties.items() if (kinds := _only_kinds(each)) is not None}
    others = {name: looks_like(each) for name, each in properties.items() if name not in plain}

    def check(value: Any) -> bool:
        for name, kinds in plain.items():  # most of what there is, and most of the time
            if name in value and type(value[name]) not in kinds:
                return False
        for name, each in others.items():  # noqa: SIM110
            if name in value and not each(value[name]):
                return False
        return True

    return check


def _only_kinds(schema: Schema) -> frozenset[type] | None:
    only = any(schema.keys() <= {word, "description"} for word in ("type", "anyOf"))
    return _kinds(schema) if only else None
