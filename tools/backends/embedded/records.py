"""The import format of the catalogue: one JSON object a line, UTF-8, plain or gzip.

Checked by hand-made rules: a JSON Schema through `jsonschema` takes 20 to 40 times as long, minutes for 60,000 lines. The
whole file is read before anything is given out, so one bad line stops a load before anything is changed.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.backends.embedded.rules import check_record
from tools.models import Author, Offer, Title

Record = tuple[Title, tuple[Offer, ...]]
_MAX_BYTES = 2 * 1024**3
_PLAIN = (
    "genre",
    "rating",
    "rating_count",
    "popularity_rank",
    "volumes",
    "chapters",
    "status",
    "start_year",
    "end_year",
    "magazine",
)
_GZIP = b"\x1f\x8b"


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
    """The file's content, unpacked if it is gzip (by its first bytes, not its name)."""
    try:
        raw = path.read_bytes()
        if not raw.startswith(_GZIP):
            return raw
        with gzip.open(path) as file:
            content = file.read(_MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise CatalogFileError(0, f"cannot read {path.name}: {error.__class__.__name__}") from error
    if len(content) > _MAX_BYTES:
        raise CatalogFileError(0, f"{path.name} unpacks to more than {_MAX_BYTES} bytes")
    return content


def parse(content: bytes) -> tuple[Record, ...]:
    """All records of unpacked `content`. Raises CatalogFileError."""
    records: list[Record] = []
    seen: dict[str, int] = {}
    for line, raw in _lines(content):
        record = _record(line, raw)
        title_id = record[0].title_id
        if title_id in seen:
            raise CatalogFileError(line, f"title_id {title_id!r} is already on line {seen[title_id]}")
        seen[title_id] = line
        records.append(record)
    if not records:
        raise CatalogFileError(0, "the catalogue file holds no records")
    return tuple(records)


def _lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    for line, raw in enumerate(content.split(b"\n"), 1):
        if raw.strip():
            yield line, raw


def _record(line: int, raw: bytes) -> Record:
    try:
        value = json.loads(raw.decode("utf-8-sig" if line == 1 else "utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise CatalogFileError(line, "not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise CatalogFileError(line, f"not JSON: {error}") from error
    problem = check_record(value)
    if problem:
        raise CatalogFileError(line, problem)
    return _title(value), tuple(Offer(o["format"], o["price_jpy"], o.get("stock")) for o in value.get("offers") or ())


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _title(value: Mapping[str, Any]) -> Title:
    names, synopsis = value["title"], value.get("synopsis") or {}
    return Title(
        title_id=value["title_id"],
        **{script: names.get(script) for script in ("en", "romaji", "ja", "kana")},
        alt_titles=tuple(value.get("alt_titles") or ()),
        authors=tuple(
            Author(a["name"], a.get("name_ja"), a.get("name_kana"), a.get("role")) for a in value.get("authors") or ()
        ),
        tags=tuple(value.get("tags") or ()),
        synopsis_en=synopsis.get("en"),
        synopsis_ja=synopsis.get("ja"),
        related=tuple(value.get("related") or ()),
        **{field: value.get(field) for field in _PLAIN},
    )
