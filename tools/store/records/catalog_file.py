"""The file of a catalogue: a title's record a line.

The whole file is read before anything is given out, so that one bad line stops a load before anything is changed.
"""

from __future__ import annotations

from pathlib import Path

from tools.store.models import Offer, Title
from tools.store.records.lines import UnreadableFile, json_object, numbered_lines
from tools.store.records.lines import read_bytes as read_any
from tools.store.records.shape import ShapeError
from tools.store.records.title import read_record
from tools.store.records.title_rules import check_title

Record = tuple[Title, tuple[Offer, ...]]


class CatalogFileError(ValueError):
    """A catalogue file that can't be used. `line` counts from 1; it is 0 where the file itself is at fault."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.line = line
        self.message = message


def load(path: Path) -> tuple[Record, ...]:
    """All records of the file. Raises CatalogFileError with the first line that is wrong and why."""
    return parse(read_bytes(path))


def read_bytes(path: Path) -> bytes:
    """The file's content, unpacked. Raises CatalogFileError."""
    try:
        return read_any(path)
    except UnreadableFile as error:
        raise CatalogFileError(0, str(error)) from error


def parse(content: bytes) -> tuple[Record, ...]:
    """All records of unpacked `content`. Raises CatalogFileError."""
    records: list[Record] = []
    seen: dict[str, int] = {}
    for line, raw in numbered_lines(content):
        record = _record(line, raw)
        title_id = record[0].title_id
        if title_id in seen:
            raise CatalogFileError(line, f"title_id {title_id!r} is already on line {seen[title_id]}")
        seen[title_id] = line
        records.append(record)
    if not records:
        raise CatalogFileError(0, "the catalogue file holds no records")
    return tuple(records)


def _record(line: int, raw: bytes) -> Record:
    try:
        title, offers = read_record(json_object(raw))
        check_title(title, offers)
        return title, offers
    except ShapeError as error:
        raise CatalogFileError(line, str(error)) from error
