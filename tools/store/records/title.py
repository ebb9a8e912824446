"""A title as JSON: `Title` with its names and its synopsis each in an object of their own, and what it is sold for.

Files hold it, one a line, and so do the backends, which read it more kindly (`stored_title`): what was loaded by another
version is no reason to lose an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal

from tools.store.models import Author, Campaign, Offer, Title
from tools.store.models.offer import campaign_offer_problem, price_problem
from tools.store.records.shape import ShapeError, collect, decode, unknown_fields

MOST_OFFERS = 20


def check_title(title: Title, offers: Sequence[Offer]) -> None:
    """Raises ShapeError for years that end before they begin, for stars that are not those of all ratings, and for offers
    that cannot all be meant."""
    if title.start_year and title.end_year and title.end_year < title.start_year:
        raise ShapeError("$.end_year must not be before start_year")
    if title.rating_counts and title.rating_count is not None and sum(title.rating_counts) != title.rating_count:
        raise ShapeError(f"$.rating_counts add up to {sum(title.rating_counts)}, rating_count is {title.rating_count}")
    if len(offers) > MOST_OFFERS:
        raise ShapeError(f"$.offers must be a list of at most {MOST_OFFERS}")
    seen: set[str] = set()
    for number, offer in enumerate(offers):
        if problem := price_problem(offer.format, offer.price_jpy):
            raise ShapeError(f"$.offers[{number}].price_jpy {problem}")
        if problem := campaign_offer_problem(offer):
            raise ShapeError(f"$.offers[{number}].campaign {problem}")
        if offer.format in seen:
            raise ShapeError(f"$.offers[{number}].format {offer.format!r} is there twice")
        seen.add(offer.format)


NESTED: Mapping[str, Mapping[str, str]] = {
    "title": {"en": "en", "romaji": "romaji", "ja": "ja", "kana": "kana"},
    "synopsis": {"en": "synopsis_en", "ja": "synopsis_ja"},
}
"""Objects of a record, and which field of `Title` each name inside them is. Every other field stands by its own name."""
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_Record = dict[str, Any]


_INSIDE = {field for names in NESTED.values() for field in names.values()}
OWN_FIELDS = tuple(field.name for field in fields(Title) if field.name not in _INSIDE)
"""The fields of a title that stand by their own name."""
RECORD_FIELDS = (*NESTED, *OWN_FIELDS, "offers")


def record_of(title: Title, offers: Sequence[Offer] = ()) -> _Record:
    """The record of a title, without null and empty values."""
    record: _Record = {
        name: {key: value for key, field in names.items() if (value := getattr(title, field)) is not None}
        for name, names in NESTED.items()
    }
    record |= {name: getattr(title, name) for name in OWN_FIELDS}
    record |= {
        "authors": [_given_facts(author) for author in title.authors],
        "offers": [_given_facts(offer) for offer in offers],
    }
    there = ((name, value) for name, value in record.items() if value not in (None, (), [], {}))
    return {name: list(value) if isinstance(value, tuple) else value for name, value in there}


def _given_facts(noun: Author | Campaign | Offer) -> _Record:
    known = {field.name: value for field in fields(noun) if (value := getattr(noun, field.name)) is not None}
    return {name: _given_facts(value) if isinstance(value, Campaign) else value for name, value in known.items()}


def read_record(record: _Record) -> tuple[Title, tuple[Offer, ...]]:
    """Title and offers of a record that somebody wrote. Raises ShapeError with every problem, also for a field that no
    record has."""
    problems: list[str] = []
    with collect(problems):
        _refuse_unknown("$", record, RECORD_FIELDS)
    for name, known in NESTED.items():
        with collect(problems):
            _refuse_unknown(f"$.{name}", _inside(record, name), known)
    given = record.get("offers")
    with collect(problems):
        offers: tuple[Offer, ...] = decode(tuple[Offer, ...], given if given is not None else [], "$.offers")
    with collect(problems):
        title = _title(record, "forbid")
    if problems:
        raise ShapeError(*dict.fromkeys(problems))
    return title, offers


def stored_title(raw: bytes | str) -> Title:
    """The title of a record that a backend keeps. Fields of a later version are passed over, and half a character, which no
    answer could carry, is replaced. Raises ShapeError."""
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ShapeError("$ is not JSON") from error
    if not isinstance(record, dict):
        raise ShapeError("$ must be an object")
    # In bytes of UTF-8 only an escape can name half a character, and hardly any record has one.
    return _title(record if isinstance(raw, bytes) and b"\\u" not in raw else _mend_text(record), "ignore")


def _title(record: _Record, unknown: Literal["forbid", "ignore"]) -> Title:
    """The title of a record, in which null is as good as absent."""
    values = {name: value for name in OWN_FIELDS if (value := record.get(name)) is not None}
    for name, names in NESTED.items():
        held = _inside(record, name)
        values |= {field: held[key] for key, field in names.items() if key in held}
    if "title" not in record:
        raise ShapeError("$ lacks: title")
    try:
        title = decode(Title, values, unknown=unknown)
    except ShapeError as error:
        raise ShapeError(*map(_as_in_a_record, error.problems)) from None
    if not any(getattr(title, field) for field in NESTED["title"].values()):
        raise ShapeError(f"$.title must have at least one of {', '.join(NESTED['title'])}")
    return title


def _inside(record: _Record, name: str) -> Mapping[str, Any]:
    held = record.get(name)
    if held is not None and not isinstance(held, dict):
        raise ShapeError(f"$.{name} must be an object")
    return held or {}


def _refuse_unknown(path: str, value: Iterable[str], known: Iterable[str]) -> None:
    if unknown := sorted(set(value).difference(known)):
        raise ShapeError(unknown_fields(path, unknown, known))


def _as_in_a_record(problem: str) -> str:
    """The place by the names of a record: `$.synopsis_en` is its `$.synopsis.en`."""
    place, _, words = problem.partition(" ")
    places = {f"$.{field}": f"$.{name}.{key}" for name, names in NESTED.items() for key, field in names.items()}
    return f"{places.get(place, place)} {words}"


def _mend_text(value: Any) -> Any:
    if isinstance(value, str):
        return _HALF_CHARACTER.sub("\ufffd", value)
    if isinstance(value, list):
        return [_mend_text(each) for each in value]
    return {name: _mend_text(each) for name, each in value.items()} if isinstance(value, dict) else value
