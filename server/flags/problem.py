"""What a flags document breaks of its JSON Schema, in one line that names the place and shows no content."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SCHEMA = Path(__file__).with_name("schema.json")
LONGEST_PATH = 80
LONGEST_NAME = 40


def problem_of(value: Any) -> str | None:
    """Tells the first thing that is wrong, None for a document as it should be."""
    error = next(_validator().iter_errors(value), None)
    if error is None:
        return None
    told = _RULES.get(str(error.validator), _other_rule)(error)
    return f"{printable(error.json_path)[:LONGEST_PATH]} {told}"


def printable(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))


def _type(error: Any) -> str:
    wanted = error.validator_value
    return f"has to be of type {wanted if isinstance(wanted, str) else ' or '.join(wanted)}"


def _unknown(error: Any) -> str:
    known = error.schema["properties"]
    unknown = next(name for name in error.instance if name not in known and not name.startswith("_"))
    return f"has {printable(unknown)[:LONGEST_NAME]!r}; there are {', '.join(known)}"


def _missing(error: Any) -> str:
    return f"lacks {next(name for name in error.validator_value if name not in error.instance)}"


def _form(error: Any) -> str:
    if "propertyNames" in error.absolute_schema_path:
        return f"has {printable(error.instance)[:LONGEST_NAME]!r}, which no tool can be called"
    return f"has to look like {error.validator_value}"


def _other_rule(error: Any) -> str:
    return f"breaks the rule {error.validator} of the schema"


_RULES: Mapping[str, Callable[[Any], str]] = {
    "type": _type,
    "additionalProperties": _unknown,
    "required": _missing,
    "enum": lambda error: f"has to be one of {', '.join(error.validator_value)}",
    "minimum": lambda error: f"has to be at least {error.validator_value}",
    "maximum": lambda error: f"has to be at most {error.validator_value}",
    "minLength": lambda error: "is empty",
    "minItems": lambda error: "is empty",
    "maxLength": lambda error: f"has more than {error.validator_value} characters",
    "maxItems": lambda error: f"has more than {error.validator_value} items",
    "maxProperties": lambda error: f"has more than {error.validator_value} flags",
    "pattern": _form,
    "not": lambda error: f"may not be one of {', '.join(error.validator_value['enum'])}",
    "anyOf": lambda error: "lacks enabled, percent or segments",
    "None": lambda error: "may have percent or segments, not both",
}
