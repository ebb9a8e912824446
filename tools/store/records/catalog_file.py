"""Reads catalogue files, with one title record a line, and converts titles to records and back.

The whole file is checked before any record is returned, so that a load of an invalid file fails before it changes
anything."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from tools.store.audience import with_shop_audience
from tools.store.currency import YEN, Currency
from tools.store.identifiers import IdPattern
from tools.store.models import Offer, Title
from tools.store.models.offer import campaign_offer_problem, price_problem
from tools.store.shape import ShapeError, collect, decode, encode, in_currency, unknown_fields
from tools.store.tags import Vocabulary, shipped

# A title record as JSON: the fields of `Title`, with names and synopsis in a nested object each, and its offers.
#
# Files have one record a line. Backends store records too and read them leniently (`stored_title`), so that a record
# written by another version does not fail a call.


MOST_OFFERS = 20


def check_title(title: Title, offers: Sequence[Offer]) -> None:
    """Raises ShapeError if the end year is before the start year, the star counts do not add up to the rating count, or the
    offers are invalid, too many or duplicate in format."""
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
"""The nested objects of a record. Each maps its keys to fields of `Title`. All other fields are at the top level."""
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_Record = dict[str, Any]


_INSIDE = {field for names in NESTED.values() for field in names.values()}
OWN_FIELDS = tuple(field.name for field in fields(Title) if field.name not in _INSIDE)
"""The fields of `Title` that are at the top level of a record."""
RECORD_FIELDS = (*NESTED, *OWN_FIELDS, "offers")


def record_of(title: Title, offers: Sequence[Offer] = ()) -> _Record:
    """Returns the JSON record of a title, without nulls, and without empty lists and objects at the top level."""
    flat = encode(title)
    nested = {name: {key: flat.pop(own) for key, own in names.items() if own in flat} for name, names in NESTED.items()}
    record = {**nested, **flat, "offers": [encode(offer) for offer in offers]}
    return {name: value for name, value in record.items() if value not in ([], {})}


def read_record(record: _Record) -> tuple[Title, tuple[Offer, ...]]:
    """Decodes the title and offers of a record from a file. Raises ShapeError with all problems, including unknown
    fields."""
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
    """Decodes the title of a backend's record. Ignores unknown fields, which a later version may have written, and replaces
    lone surrogates by U+FFFD, since no answer can contain them. Raises ShapeError for a malformed record."""
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ShapeError("$ is not JSON") from error
    if not isinstance(record, dict):
        raise ShapeError("$ must be an object")
    # In UTF-8 only an escape can stand for a lone surrogate, and hardly any record has one.
    return _title(record if isinstance(raw, bytes) and b"\\u" not in raw else _mend_text(record), "ignore")


def _title(record: _Record, unknown: Literal["forbid", "ignore"]) -> Title:
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
    """Rewrites the path of a problem to that of the record: `$.synopsis_en` becomes `$.synopsis.en`."""
    place, _, words = problem.partition(" ")
    places = {f"$.{field}": f"$.{name}.{key}" for name, names in NESTED.items() for key, field in names.items()}
    return f"{places.get(place, place)} {words}"


def _mend_text(value: Any) -> Any:
    if isinstance(value, str):
        return _HALF_CHARACTER.sub("\ufffd", value)
    if isinstance(value, list):
        return [_mend_text(each) for each in value]
    return {name: _mend_text(each) for name, each in value.items()} if isinstance(value, dict) else value


LONGEST_LINE = 128 * 1024
"""Most bytes of a record. Less than the 400 KB of a DynamoDB item, since a search reads hundreds of records."""
MOST_PROBLEMS = 100
_MOST_BYTES = 2 * 1024**3
_BROKEN = re.compile("[\0\ud800-\udfff]")
_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


Row = TypeVar("Row")


class UnreadableFile(ValueError):
    """A file cannot be read. The message has the file's name without the folder."""


@dataclass(frozen=True, slots=True)
class LineProblem:
    """A problem in a file. `line` counts from 1; 0 means the whole file."""

    line: int
    problem: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}" if self.line else self.problem


class RecordFileError(ValueError):
    """A record file has errors. `problems` are the first hundred, `count` is the number of all; the message states the
    first."""

    def __init__(self, problems: Sequence[LineProblem], name: str = "") -> None:
        first, more = problems[0], len(problems) - 1
        rest = f" (and {more} more: make seed ARGS=--dry-run lists them)" if more else ""
        super().__init__(f"{name}{', ' if first.line else ': '}{first}{rest}" if name else f"{first}{rest}")
        self.name = name
        self.problems, self.count = tuple(problems[:MOST_PROBLEMS]), len(problems)


def read_maybe_gzip(path: Path, most: int = _MOST_BYTES) -> bytes:
    """Returns the file's content, unpacked if its first bytes are those of gzip. Raises UnreadableFile, also if the file or
    the unpacked content has more than `most` bytes."""
    try:
        content = path.read_bytes() if path.stat().st_size <= most else None
        if content and content.startswith(_GZIP):
            with gzip.open(path) as file:
                content = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableFile(f"cannot read {path.name}: {error.__class__.__name__}") from error
    if content is None or len(content) > most:
        raise UnreadableFile(f"{path.name} has more than {most} bytes")
    return content


def json_object(raw: bytes) -> dict[str, Any]:
    """Parses a line as a JSON object. Raises ShapeError if it is malformed, too long or has text that cannot be stored."""
    if len(raw) > LONGEST_LINE:
        raise ShapeError(f"the record has {len(raw)} bytes, and may have {LONGEST_LINE}")
    try:
        value = json.loads(raw.decode(), parse_constant=_refuse_constant, object_pairs_hook=_unique_names)
    except (ValueError, RecursionError) as error:
        raise ShapeError(f"not JSON in UTF-8: {error}") from error
    if not isinstance(value, dict):
        raise ShapeError("$ must be an object")
    _refuse_broken_text(value, "$")
    return value


def _refuse_broken_text(value: Any, path: str) -> None:
    """Raises ShapeError if a text in `value`, at any depth, has U+0000 or a lone surrogate."""
    if isinstance(value, str):
        if broken := _BROKEN.search(value):
            what = "U+0000" if broken.group() == "\0" else f"half a character (\\u{ord(broken.group()):04x})"
            raise ShapeError(f"{path} has {what} at place {broken.start()}, which no answer and no index can hold")
    elif isinstance(value, list):
        for number, each in enumerate(value):
            _refuse_broken_text(each, f"{path}[{number}]")
    elif isinstance(value, dict):
        for name, each in value.items():
            _refuse_broken_text(each, f"{path}.{name}")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns (name, value) pairs as an object. Raises ValueError for a duplicate name, whose value is ambiguous."""
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands in one object twice")
    return value


def read_rows(
    content: bytes, read: Callable[[dict[str, Any]], Row], names: Callable[[Row], Iterable[str]]
) -> tuple[list[Row], list[LineProblem]]:
    """Decodes the lines with `read`, except blank ones. Returns the valid rows and the problems of all lines. `names` yields
    what identifies a row: a name that an earlier line has is a problem."""
    rows: list[Row] = []
    problems: list[LineProblem] = []
    seen: dict[str, int] = {}
    for number, raw in enumerate(content.removeprefix(_BYTE_ORDER_MARK).split(b"\n"), 1):
        if not raw.strip():
            continue
        try:
            row = read(json_object(raw))
            for name in names(row):
                if seen.setdefault(name, number) != number:
                    raise ShapeError(f"{name} is already on line {seen[name]}")
            rows.append(row)
        except ShapeError as error:
            problems += (LineProblem(number, problem) for problem in error.problems)
    return rows, problems


Record = tuple[Title, tuple[Offer, ...]]


class CatalogFileError(RecordFileError):
    pass


def load(
    path: Path, vocabulary: Vocabulary | None = None, ids: IdPattern | None = None, currency: Currency = YEN
) -> tuple[Record, ...]:
    """Reads all records of a catalogue file. Tags get the spelling of `vocabulary` (default: the shipped one), and audiences
    follow its ratings. Raises CatalogFileError if there are no records, or with the problems of all lines, including amounts
    in another currency and, if `ids` is given, title ids that do not match this pattern."""
    try:
        return parse(read_bytes(path), vocabulary, ids, currency)
    except CatalogFileError as error:
        error.name = str(path)
        raise


def read_bytes(path: Path) -> bytes:
    """Returns the file's content, unpacked if it is gzip. Raises CatalogFileError."""
    try:
        return read_maybe_gzip(path)
    except UnreadableFile as error:
        raise CatalogFileError([LineProblem(0, str(error))]) from error


def parse(
    content: bytes, vocabulary: Vocabulary | None = None, ids: IdPattern | None = None, currency: Currency = YEN
) -> tuple[Record, ...]:
    """Parses all records of a file's unpacked `content`. Arguments and errors are those of `load`."""
    vocabulary, spellings = vocabulary or shipped(), dict[str, str]()

    def read(record: dict[str, Any]) -> Record:
        with in_currency(currency, record) as given:
            title, offers = read_record(given)
            check_title(title, offers)
        if ids is not None and not ids.matches(title.title_id):
            raise ShapeError(f"$.title_id {ids.mismatch(title.title_id, 'MANGA_TITLE_PATTERN')}")
        return title, offers

    lines, problems = read_rows(content, read, lambda record: [f"title_id {record[0].title_id!r}"])
    if not lines and not problems:
        problems.append(LineProblem(0, "the catalogue file holds no records"))
    if problems:
        raise CatalogFileError(problems)
    tagged = ((replace(title, tags=vocabulary.spell_tags(title.tags, spellings)), offers) for title, offers in lines)
    return tuple((with_shop_audience(title, vocabulary), offers) for title, offers in tagged)
