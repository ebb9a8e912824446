"""Pieces of JSON Schema (Draft 2020-12) that the tools share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

RESULT_SET = "^rs_[A-Za-z2-7]{16}$"
ROWS = "[]"
"""Ends a path into a result that means the rows of a list."""

Json = dict[str, Any]
Schema = Mapping[str, Any]


def arguments(properties: Mapping[str, Any], required: Sequence[str] = ()) -> Json:
    """An input schema that refuses unknown names. It names no dialect: MCP's own is 2020-12, and models read every
    schema."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def answer(properties: Mapping[str, Any], required: Sequence[str]) -> Json:
    """An output schema that admits the error envelope, because some clients validate failures against it too, and with
    either of them a note; a success that was shortened says `truncated`."""
    return {
        "type": "object",
        "properties": {**properties, "note": NOTE, "truncated": BOOLEAN, "error": ERROR},
        "anyOf": [{"required": list(required)}, {"required": ["error"]}],
    }


def nullable(kind: str, description: str = "") -> Json:
    """Makes two branches of one type each: not every client reads a list of types (the Inspector warns of it)."""
    return {"anyOf": [{"type": kind}, {"type": "null"}], **({"description": description} if description else {})}


def list_of(items: Mapping[str, Any], description: str = "") -> Json:
    return {"type": "array", "items": dict(items), **({"description": description} if description else {})}


def record(properties: Mapping[str, Any], required: Sequence[str]) -> Json:
    return {"type": "object", "properties": dict(properties), "required": list(required)}


STRING = {"type": "string"}
INTEGER = {"type": "integer"}
BOOLEAN = {"type": "boolean"}
STRINGS = {"type": "array", "items": {"type": "string"}}
NOTE = STRING
ERROR: Json = {"type": "object", "required": ["code", "name", "message", "data"]}
"""The error envelope in few bytes: every tool's schema has it, and all schemas are read in every conversation."""

FOR_WHOM: Json = {"audience": nullable("string"), "content_notes": STRINGS}
ADDRESSES: Json = dict.fromkeys(("product_url", "cover_url"), STRING)
EDITION: Json = {"publisher": STRING, "edition_language": STRING, **ADDRESSES}
"""Fields of the edition that the shop sells, each of which a record may lack."""
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
