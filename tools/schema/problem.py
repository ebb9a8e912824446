"""Checks a tool before it is registered, and describes a problem and its remedy in one line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator, SchemaError

from session.history import SHARED
from tools.contract import CachePolicy, Fallback, ProfileRule, Tool
from tools.schema.parts import ROWS, Schema
from tools.schema.validation import compile_success_check

SAID_OF_IT = frozenset({"note", "truncated", "error"})
"""Fields that every result may have."""


def list_sheddable(output_schema: Schema) -> tuple[str, ...]:
    """Returns the paths that may be dropped from a result, in the notation of `tools/results/shortening.py`: optional
    fields, then rows. In both groups, paths declared last come first."""
    paths = list(_paths(output_schema, output_schema["anyOf"][0].get("required", ())))
    fields, rows = [each for each in paths if not each.endswith(ROWS)], [each for each in paths if each.endswith(ROWS)]
    return (*reversed(fields), *reversed(rows))


def is_sheddable(output_schema: Schema, path: str) -> bool:
    """True for a path of `list_sheddable`, and for one inside a sheddable top-level object without declared properties."""
    may_go, properties = list_sheddable(output_schema), output_schema["properties"]
    bare = [each for each in may_go if properties.get(each) == {"type": "object"}]
    return path in may_go or any(path.startswith(f"{each}.") for each in bare)


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


NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""Pattern of the tool names that MCP, model vendors and the document of feature flags all accept."""
ENVELOPE = {"error": {"code": -32603, "name": "INTERNAL_ERROR", "message": "…", "data": {}}}
MAKE_INPUT = "make it with tools.schema.parts.arguments"
MAKE_OUTPUT = "make it with tools.schema.parts.answer"
LONGEST = 200
LONGEST_TEXT = 2_000
LARGEST_SCHEMA = 16 * 1024
"""Most characters of a schema's JSON, since a schema is sent to clients, or each result is checked by it."""


def find_problem(tool: Tool) -> str | None:
    """Describes the first problem of a tool; None if the tool is valid."""
    return next((problem for rule in _RULES if (problem := rule(tool)) is not None), None)


def _check_name(tool: Tool) -> str | None:
    if isinstance(tool.name, str) and NAME.fullmatch(tool.name):
        return None
    return f"{tool.name!r:.80} is no name of a tool: take 1 to 64 letters, digits, _ and -, a letter first"


def _check_texts(tool: Tool) -> str | None:
    for name in ("title", "description", "instead"):
        if not isinstance(value := getattr(tool, name), str) or not value.strip():
            return f"its {name} is no text: say something there"
        if len(value) > LONGEST_TEXT:
            return f"its {name} has more than {LONGEST_TEXT} characters: models read it in every turn"
    return None


def _check_work(tool: Tool) -> str | None:
    for name in ("handler", "summary"):
        if not callable(getattr(tool, name)):
            return f"its {name} cannot be called: give a function"
    if isinstance(tool.timeout_ms, bool) or not isinstance(tool.timeout_ms, int) or tool.timeout_ms < 1:
        return "its timeout_ms is no whole number of milliseconds above 0"
    return None


def _check_kinds(tool: Tool) -> str | None:
    for name, kind in _KINDS.items():
        if (value := getattr(tool, name)) is not None and not isinstance(value, kind):
            return f"its {name} is a {type(value).__name__}: give a {kind.__name__}, or None"
    for name in ("complete", "shown", "shares", "check"):
        if (value := getattr(tool, name)) is not None and not callable(value):
            return f"its {name} cannot be called: give a function, or None"
    return None


MOST_KEYS = 8
"""Most keys that a tool may leave, and most that it may read."""
KEY = re.compile(r"[a-z][a-z0-9_]{0,39}")


def _check_keys(tool: Tool) -> str | None:
    for name in ("leaves", "reads"):
        keys = getattr(tool, name)
        if not isinstance(keys, tuple) or not all(isinstance(key, str) for key in keys) or len(keys) > MOST_KEYS:
            return f"its {name} is no tuple of at most {MOST_KEYS} keys"
        for key in keys:
            owner, _, own = key.partition(".")
            theirs = NAME.fullmatch(owner) and KEY.fullmatch(own) and (name == "reads" or owner == tool.name)
            if key not in SHARED and not theirs:
                example = f"{tool.name}.key" if name == "leaves" else "TOOL.key"
                return f"its {name} has {key!r:.80}: take {', '.join(SHARED)}, or a key of the form {example}"
    if tool.shares is not None and not tool.leaves:
        return "it shares values under no declared key: name their keys in leaves"
    return None


def _check_cache(tool: Tool) -> str | None:
    if tool.asks and tool.cache is not None:
        return "it asks its client, so that its results are for one call alone: give it no cache"
    if tool.cache is not None and tool.reads and (not tool.named_by or not set(SHARED).issuperset(tool.reads)):
        return "it reads what a session holds, so that its results are that session's own: give it no cache"
    return None


def _check_input(tool: Tool) -> str | None:
    if problem := _check_schema("input schema", tool.input_schema, MAKE_INPUT):
        return problem
    named = (*tool.remembered, *tool.words, *tool.audited, *tool.named_by)
    unknown = [name for name in named if name not in tool.input_schema["properties"]]
    return (
        f"remembered, words, audited or named_by has {unknown[0]!r:.80}, which is no argument: name arguments there"
        if unknown
        else None
    )


def _check_output(tool: Tool) -> str | None:
    if problem := _check_schema("output schema", tool.output_schema, MAKE_OUTPUT):
        return problem
    try:
        compile_success_check(tool.output_schema)
    except (KeyError, TypeError, ValueError, AttributeError):
        return f"its output schema has to name one type at each place, and anyOf a success or the error: {MAKE_OUTPUT}"
    validator = Draft202012Validator(tool.output_schema)
    if not all(validator.is_valid(each) for each in (ENVELOPE, {**ENVELOPE, "note": "…"})):
        return f"its output schema does not admit the error envelope, with and without a note: {MAKE_OUTPUT}"
    return f"its output schema admits an empty result: {MAKE_OUTPUT}" if validator.is_valid({}) else None


def _check_sheds(tool: Tool) -> str | None:
    """Describes a path in `sheds` that a result cannot lose; None if there is none. The output schema must be valid."""
    wrong = [path for path in tool.sheds or () if not is_sheddable(tool.output_schema, path)]
    return f"its sheds has {wrong[0]!r:.80}, which a success cannot lose: name optional fields, or rows[]" if wrong else None


def _check_schema(what: str, schema: Any, remedy: str) -> str | None:
    try:
        text = json.dumps(schema, allow_nan=False)
        if len(text) > LARGEST_SCHEMA:
            return f"its {what} has more than {LARGEST_SCHEMA} characters of JSON: say less"
        if json.loads(text) == schema:
            _check_schema_text(text)
        else:  # JSON changes tuples and keys that are no strings
            Draft202012Validator.check_schema(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    except SchemaError as error:
        return f"its {what} is no JSON Schema (2020-12): {error.json_path} {error.message}"[:LONGEST] + f"; {remedy}"
    except (TypeError, ValueError, RecursionError):
        return f"its {what} is not JSON: {remedy}"
    if not isinstance(schema, dict) or schema.get("type") != "object" or "properties" not in schema:
        return f"its {what} has to be of type object, with properties: {remedy}"
    if any(not reference.startswith("#") for reference in _references(schema)):
        return f"its {what} refers to another document with $ref: write that out, or put it in $defs"
    return None


@lru_cache(maxsize=256)
def _check_schema_text(text: str) -> None:
    """Raises `SchemaError` for an invalid schema. Valid schemas are cached, since a check takes some ten milliseconds and
    reloads mostly repeat the same schemas."""
    Draft202012Validator.check_schema(json.loads(text), format_checker=Draft202012Validator.FORMAT_CHECKER)


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            if name in ("$ref", "$dynamicRef") and isinstance(each, str):
                yield each
            else:
                yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


_KINDS = {"cache": CachePolicy, "fallback": Fallback, "leaves_in_profile": ProfileRule}
_RULES: tuple[Callable[[Tool], str | None], ...] = (
    _check_name,
    _check_texts,
    _check_work,
    _check_kinds,
    _check_keys,
    _check_cache,
    _check_input,
    _check_output,
    _check_sheds,
)
