"""Pieces of JSON Schema (Draft 2020-12) that the tools share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

RESULT_SET = "^rs_[A-Za-z2-7]{16}$"
ROWS = "[]"
"""Suffix of a path into a result that means the rows of a list."""

Json = dict[str, Any]
Schema = Mapping[str, Any]


def arguments(properties: Mapping[str, Any], required: Sequence[str] = ()) -> Json:
    """Builds an input schema that refuses unknown names. The schema does not state its dialect: MCP's default is 2020-12,
    and models pay for every character."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def argument(kind: str, description: str, **rules: Any) -> Json:
    """Builds the schema of one argument of the JSON type `kind`. `rules`: other keywords, such as maxLength=200."""
    return {"type": kind, **rules, "description": description}


def answer(properties: Mapping[str, Any], required: Sequence[str]) -> Json:
    """Builds an output schema for successes and for the error envelope, since some clients validate errors too. A success or
    error may have a `note`; a shortened success has `truncated`."""
    return {
        "type": "object",
        "properties": {**properties, "note": NOTE, "truncated": BOOLEAN, "error": ERROR},
        "anyOf": [{"required": list(required)}, {"required": ["error"]}],
    }


def nullable(kind: str, description: str = "") -> Json:
    """Builds a schema for the type or null. Uses `anyOf`, since some clients (MCP Inspector) cannot read a list of types."""
    return {"anyOf": [{"type": kind}, {"type": "null"}], **({"description": description} if description else {})}


def list_of(items: Mapping[str, Any], description: str = "") -> Json:
    return {"type": "array", "items": dict(items), **({"description": description} if description else {})}


def record(properties: Mapping[str, Any], required: Sequence[str]) -> Json:
    return {"type": "object", "properties": dict(properties), "required": list(required)}


def join_notes(*notes: str | None) -> Json:
    """Returns the field `note` of a result, with the given sentences, each once; {} without any."""
    note = " ".join(dict.fromkeys(filter(None, notes)))
    return {"note": note} if note else {}


STRING = {"type": "string"}
INTEGER = {"type": "integer"}
BOOLEAN = {"type": "boolean"}
STRINGS = {"type": "array", "items": {"type": "string"}}
NOTE = STRING
ERROR: Json = {"type": "object", "required": ["code", "name", "message", "data"]}
"""The error envelope, kept small: every tool's schema has it, and models read all schemas in every conversation."""

FOR_WHOM: Json = {"audience": nullable("string"), "content_notes": STRINGS}
ADDRESSES: Json = dict.fromkeys(("product_url", "cover_url"), STRING)
EDITION: Json = {"publisher": STRING, "edition_language": STRING, **ADDRESSES}
"""Fields of the edition that the shop sells, any of which a record may lack."""
TITLE_ROW: Json = record(
    {
        "title_id": STRING,
        "title": STRING,
        "title_ja": nullable("string"),
        "author": nullable("string"),
        "genre": nullable("string"),
        "rating": nullable("number"),
        "tags": STRINGS,
        "volumes": nullable("integer"),
        "status": nullable("string"),
        "start_year": nullable("integer"),
        **FOR_WHOM,
        **ADDRESSES,
        "synopsis": nullable("string"),
        "price_jpy": nullable("integer", "Of one volume."),
        "in_stock": nullable("boolean", "Null: not known now."),
    },
    ["title_id", "title"],
)
