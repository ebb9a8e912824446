"""Pieces of JSON Schema (Draft 2020-12) that the tools share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

RESULT_SET = "^rs_[A-Za-z2-7]{16}$"

Json = dict[str, Any]


def arguments(properties: Mapping[str, Any], required: Sequence[str] = ()) -> Json:
    """An input schema that refuses what it does not name."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def answer(properties: Mapping[str, Any], required: Sequence[str]) -> Json:
    """An output schema that admits the error envelope, because some clients validate failures against it too, and with
    either of them a note."""
    return {
        "type": "object",
        "properties": {**properties, "note": NOTE, "error": ERROR},
        "anyOf": [{"required": list(required)}, {"required": ["error"]}],
    }


def nullable(kind: str, description: str = "") -> Json:
    """Two branches of one type each: not every client reads a list of types (the Inspector warns of it)."""
    return {"anyOf": [{"type": kind}, {"type": "null"}], **({"description": description} if description else {})}


def listed(items: Mapping[str, Any], description: str = "") -> Json:
    return {"type": "array", "items": dict(items), **({"description": description} if description else {})}


def record(properties: Mapping[str, Any], required: Sequence[str]) -> Json:
    return {"type": "object", "properties": dict(properties), "required": list(required)}


STRING = {"type": "string"}
INTEGER = {"type": "integer"}
STRINGS = {"type": "array", "items": {"type": "string"}}
NOTE = {**STRING, "description": "What to know of this answer before using it."}

ERROR: Json = {
    "type": "object",
    "description": "Present instead of a result when the call failed.",
    "properties": {
        "code": {"type": "integer"},
        "name": {"type": "string"},
        "message": {"type": "string"},
        "data": {
            "type": "object",
            "properties": {
                "tool": {"type": "string"},
                "request_id": {"type": "string"},
                "retryable": {"type": "boolean"},
                "retry_after_ms": nullable("integer"),
                "fallback_available": {"type": "boolean"},
                "details": {"type": "object"},
            },
        },
    },
    "required": ["code", "name", "message", "data"],
}

TITLE_CARD: Json = record(
    {
        "title_id": STRING,
        "title": STRING,
        "title_ja": nullable("string"),
        "author": nullable("string"),
        "genre": nullable("string", "Readership: shonen, seinen, shojo, josei or kodomo."),
        "rating": nullable("number", "0 to 5."),
        "tags": STRINGS,
        "volumes": nullable("integer", "Volumes published."),
        "status": nullable("string"),
        "start_year": nullable("integer"),
        "synopsis": nullable("string", "Shortened; get_manga_details has all of it."),
        "price_jpy": nullable("integer", "Whole yen with tax, one volume; null when not known right now."),
        "in_stock": nullable("boolean", "Null when not known right now: do not promise either way."),
    },
    ["title_id", "title"],
)
