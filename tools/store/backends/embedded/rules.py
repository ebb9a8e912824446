"""What a catalogue record must look like: one rule a field, each answering with what is wrong or None.

Whatever keeps records goes by them; a file has to satisfy `loading_rules` besides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from tools.store.identifiers import GENRES

Rule = Callable[[Any], str | None]
_MAX_TEXT = 20_000
_MAX_ITEMS = 1_000
_MAX_INT = 10**9


def _text(value: Any) -> str | None:
    if not isinstance(value, str):
        return "must be a text"
    return None if 0 < len(value) <= _MAX_TEXT else f"must have 1 to {_MAX_TEXT} characters"


def _title_id(value: Any) -> str | None:
    return _text(value) or (
        None
        if len(value) <= 128 and value.isprintable() and " " not in value
        else "must be at most 128 printable characters without spaces"
    )


def _integer(low: int, high: int = _MAX_INT) -> Rule:
    def rule(value: Any) -> str | None:
        good = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return None if good else f"must be a whole number from {low} to {high}"

    return rule


def _rating(value: Any) -> str | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 5
    return None if good else "must be a number from 0 to 5"


def _genre(value: Any) -> str | None:
    return None if value in GENRES else f"must be one of {', '.join(GENRES)}"


def _or_null(rule: Rule) -> Rule:
    return lambda value: None if value is None else rule(value)


def _list_of(rule: Rule) -> Rule:
    def check(value: Any) -> str | None:
        if not isinstance(value, list) or len(value) > _MAX_ITEMS:
            return f"must be a list of at most {_MAX_ITEMS}"
        return next((f"[{i}] {problem}" for i, item in enumerate(value) if (problem := rule(item))), None)

    return check


def _object(fields: Mapping[str, Rule], required: tuple[str, ...] = ()) -> Rule:
    def check(value: Any) -> str | None:
        if not isinstance(value, dict):
            return "must be an object"
        for field in value:
            if field not in fields:
                return _unknown(field, fields)
            problem = fields[field](value[field])
            if problem:
                return f"{field}{'' if problem.startswith('[') else ': '}{problem}"
        missing = next((f for f in required if f not in value), None)
        return f"{missing} is missing" if missing else None

    return check


def _unknown(field: str, fields: Mapping[str, Rule]) -> str:
    near = get_close_matches(field, fields, n=1)
    return f"unknown field {field!r}" + (f", did you mean {near[0]!r}?" if near else "")


def _names(value: Any) -> str | None:
    problem = _object(dict.fromkeys(("en", "romaji", "ja", "kana"), _or_null(_text)))(value)
    return problem or (None if any(value.values()) else "at least one of en, romaji, ja, kana is required")


_NULLABLE = _or_null(_text)
_AUTHOR = _object({"name": _text, "name_ja": _NULLABLE, "name_kana": _NULLABLE, "role": _NULLABLE}, ("name",))
_OFFER = _object({"format": _text, "price_jpy": _integer(0), "stock": _or_null(_integer(0))}, ("format", "price_jpy"))
_YEAR = _or_null(_integer(1000, 9999))
_COUNT = _or_null(_integer(0))

FIELDS: Mapping[str, Rule] = {
    "title_id": _title_id,
    "title": _names,
    "alt_titles": _or_null(_list_of(_text)),
    "authors": _or_null(_list_of(_AUTHOR)),
    "genre": _or_null(_genre),
    "tags": _or_null(_list_of(_text)),
    "synopsis": _or_null(_object({"en": _NULLABLE, "ja": _NULLABLE})),
    "rating": _or_null(_rating),
    "rating_count": _COUNT,
    "popularity_rank": _or_null(_integer(1)),
    "volumes": _COUNT,
    "chapters": _COUNT,
    "status": _NULLABLE,
    "start_year": _YEAR,
    "end_year": _YEAR,
    "magazine": _NULLABLE,
    "offers": _or_null(_list_of(_OFFER)),
    "related": _or_null(_list_of(_title_id)),
}
check_record: Rule = _object(FIELDS, ("title_id", "title"))
"""None if the value is a good record, else one line that says where and what is wrong."""
