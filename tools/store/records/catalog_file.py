"""The file of a catalogue: a title's record a line.

The whole file is read before anything is given out, so that one bad line stops a load before anything is changed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tools.store.audience import rated_by
from tools.store.identifiers import IdPattern
from tools.store.models import Offer, Title
from tools.store.records.lines import LineProblem, RecordFileError, UnreadableFile, json_object, numbered_lines
from tools.store.records.lines import read_bytes as read_any
from tools.store.records.shape import ShapeError, naming_values
from tools.store.records.title import read_record
from tools.store.records.title_rules import check_title
from tools.store.tags import Vocabulary, shipped

Record = tuple[Title, tuple[Offer, ...]]


class CatalogFileError(RecordFileError):
    """A catalogue file that cannot be used."""


def load(path: Path, vocabulary: Vocabulary | None = None, ids: IdPattern | None = None) -> tuple[Record, ...]:
    """All records of the file, their tags as a vocabulary spells them (the shipped one by default). Raises CatalogFileError
    with every line that is wrong and why; with a pattern of `ids` also where an id is not of it."""
    try:
        return parse(read_bytes(path), vocabulary, ids)
    except CatalogFileError as error:
        error.name = str(path)
        raise


def read_bytes(path: Path) -> bytes:
    """The file's content, unpacked. Raises CatalogFileError."""
    try:
        return read_any(path)
    except UnreadableFile as error:
        raise CatalogFileError([LineProblem(0, str(error))]) from error


def parse(content: bytes, vocabulary: Vocabulary | None = None, ids: IdPattern | None = None) -> tuple[Record, ...]:
    """All records of unpacked `content`. Raises CatalogFileError with every problem."""
    vocabulary, spellings = vocabulary or shipped(), dict[str, str]()
    records: list[Record] = []
    problems: list[LineProblem] = []
    seen: dict[str, int] = {}
    for line, raw in numbered_lines(content):
        try:
            record = json_object(raw)
            with naming_values(record):
                title, offers = read_record(record)
                check_title(title, offers)
            if ids is not None and not ids.matches(title.title_id):
                raise ShapeError(f"$.title_id {ids.mismatch(title.title_id, 'MANGA_TITLE_PATTERN')}")
            if seen.setdefault(title.title_id, line) != line:
                raise ShapeError(f"title_id {title.title_id!r} is already on line {seen[title.title_id]}")
            tagged = replace(title, tags=vocabulary.spelled(title.tags, spellings))
            records.append((rated_by(tagged, vocabulary), offers))
        except ShapeError as error:
            problems += (LineProblem(line, problem) for problem in error.problems)
    if not records and not problems:
        problems.append(LineProblem(0, "the catalogue file holds no records"))
    if problems:
        raise CatalogFileError(problems)
    return tuple(records)
