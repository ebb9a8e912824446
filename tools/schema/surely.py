"""Is a value surely valid? A quick yes for most of what callers send, where validation would cost more than the rest of
their call; whatever this says no to is left to the validator, which also says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Schema = Mapping[str, Any]
Check = Callable[[Any], bool]

SILENT = frozenset({"description", "title", "default", "examples"})
"""What says nothing of validity."""
KINDS: dict[str, type] = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}
"""Numbers that are no integers, and null, are left to the validator."""


def surely(schema: Schema | bool) -> Check:
    """The check, compiled once. A word that is not known here makes it say no to everything."""
    if isinstance(schema, bool):
        return _never
    kind = KINDS.get(schema["type"]) if isinstance(schema.get("type"), str) else None
    if kind is None:
        return _never
    make, words = _MAKERS[kind]
    if not schema.keys() <= words | SILENT | {"type"}:
        return _never
    checks = [make(schema)] if make else []
    if "enum" in schema:
        allowed = [each for each in schema["enum"] if type(each) is kind]
        checks.append(lambda value: value in allowed)
    return lambda value: type(value) is kind and all(check(value) for check in checks)


def _never(_: Any) -> bool:
    return False


def _text(schema: Schema) -> Check:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    # ECMA 262's `$` is the very end, as in the validator
    pattern = re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", schema.get("pattern", "")))

    def check(value: str) -> bool:
        return len(value) >= least and (most is None or len(value) <= most) and pattern.search(value) is not None

    return check


def _whole(schema: Schema) -> Check:
    least, most = schema.get("minimum"), schema.get("maximum")
    return lambda value: (least is None or value >= least) and (most is None or value <= most)


def _list(schema: Schema) -> Check:
    least, most, item = schema.get("minItems", 0), schema.get("maxItems"), surely(schema.get("items", {}))

    def check(value: list[Any]) -> bool:
        return least <= len(value) and (most is None or len(value) <= most) and all(map(item, value))

    return check


def _object(schema: Schema) -> Check:
    if schema.get("additionalProperties") is not False:
        return _never
    required = frozenset(schema.get("required", ()))
    properties = {name: surely(each) for name, each in schema.get("properties", {}).items()}

    def check(value: dict[str, Any]) -> bool:
        for name, each in value.items():
            if name not in properties or not properties[name](each):
                return False
        return required <= value.keys()

    return check


# No `enum` of lists or objects: to Python [true] is among [[1]].
_MAKERS: dict[type, tuple[Callable[[Schema], Check] | None, frozenset[str]]] = {
    str: (_text, frozenset({"minLength", "maxLength", "pattern", "enum"})),
    int: (_whole, frozenset({"minimum", "maximum", "enum"})),
    bool: (None, frozenset({"enum"})),
    list: (_list, frozenset({"items", "minItems", "maxItems"})),
    dict: (_object, frozenset({"properties", "required", "additionalProperties"})),
}
