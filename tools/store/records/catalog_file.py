"""The file of a catalogue: a title's record a line.

The whole file is read before anything is given out, so that one bad line stops a load before anything is changed.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from tools.store.audience import rated_by
from tools.store.currency import YEN, Currency
from tools.store.identifiers import IdPattern
from tools.store.models import Offer, Title
from tools.store.records.shape import ShapeError, in_currency
from tools.store.records.title import check_title, read_record
from tools.store.tags import Vocabulary, shipped

LONGEST_LINE = 128 * 1024
"""Bytes of a record. An item of DynamoDB holds 400 KB, and a search reads hundreds of records."""
MOST_PROBLEMS = 100
_MOST_BYTES = 2 * 1024**3
_BROKEN = re.compile("[\0\ud800-\udfff]")
_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


Row = TypeVar("Row")


class UnreadableFile(ValueError):
    """A file that cannot be read. The message names it, but not its folder."""


@dataclass(frozen=True, slots=True)
class LineProblem:
    """One thing that is wrong in a file. `line` counts from 1; it is 0 where the file itself is at fault."""

    line: int
    problem: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}" if self.line else self.problem


class RecordFileError(ValueError):
    """A file of records that cannot be used. `problems` are the first hundred, `count` is how many there are; the
    message has the first."""

    def __init__(self, problems: Sequence[LineProblem], name: str = "") -> None:
        first, more = problems[0], len(problems) - 1
        rest = f" (and {more} more: python -m infra.seed --dry-run lists them)" if more else ""
        super().__init__(f"{name}{', ' if first.line else ': '}{first}{rest}" if name else f"{first}{rest}")
        self.name = name
        self.problems, self.count = tuple(problems[:MOST_PROBLEMS]), len(problems)

    @property
    def line(self) -> int:
        """The line of the first problem."""
        return self.problems[0].line

    @property
    def message(self) -> str:
        """The first problem, without its line."""
        return self.problems[0].problem


def read_any_bytes(path: Path) -> bytes:
    """The file's content, unpacked if it is gzip (by its first bytes, not its name). Raises UnreadableFile."""
    try:
        raw = path.read_bytes()
        if not raw.startswith(_GZIP):
            return raw
        with gzip.open(path) as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableFile(f"cannot read {path.name}: {error.__class__.__name__}") from error
    if len(content) > _MOST_BYTES:
        raise UnreadableFile(f"{path.name} unpacks to more than {_MOST_BYTES} bytes")
    return content


def numbered_lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, numbered from 1. A byte order mark is no part of the first."""
    for number, raw in enumerate(content.removeprefix(_BYTE_ORDER_MARK).split(b"\n"), 1):
        if raw.strip():
            yield number, raw


def json_object(raw: bytes) -> dict[str, Any]:
    """The object that a line holds. Raises ShapeError."""
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
    """Refuses lone surrogates, which UTF-8 cannot hold but an escape can name, and U+0000, which no index can hold."""
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
    """Refuses a name that comes twice: of two values nobody can say which is meant."""
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands in one object twice")
    return value


def read_rows(
    content: bytes, read: Callable[[dict[str, Any]], Row], names: Callable[[Row], Iterable[str]]
) -> tuple[list[Row], list[LineProblem]]:
    """The rows that `read` makes of the lines, and all problems. No two rows may have one of their `names` in common."""
    rows: list[Row] = []
    problems: list[LineProblem] = []
    seen: dict[str, int] = {}
    for number, raw in numbered_lines(content):
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
    """A catalogue file that cannot be used."""


def load(
    path: Path, vocabulary: Vocabulary | None = None, ids: IdPattern | None = None, currency: Currency = YEN
) -> tuple[Record, ...]:
    """All records of the file, their tags as a vocabulary spells them (the shipped one by default). Raises CatalogFileError
    with every line that is wrong and why, one in another `currency` among them; with a pattern of `ids` also where an id is
    not of it."""
    try:
        return parse(read_bytes(path), vocabulary, ids, currency)
    except CatalogFileError as error:
        error.name = str(path)
        raise


def read_bytes(path: Path) -> bytes:
    """The file's content, unpacked. Raises CatalogFileError."""
    try:
        return read_any_bytes(path)
    except UnreadableFile as error:
        raise CatalogFileError([LineProblem(0, str(error))]) from error


def parse(
    content: bytes, vocabulary: Vocabulary | None = None, ids: IdPattern | None = None, currency: Currency = YEN
) -> tuple[Record, ...]:
    """Parses all records of unpacked `content`. Raises CatalogFileError with every problem."""
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
    return tuple((rated_by(title, vocabulary), offers) for title, offers in tagged)
