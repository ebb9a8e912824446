"""The import format of the catalogue: one JSON object a line, UTF-8, plain or gzip.

Checked by hand-made rules: a JSON Schema through `jsonschema` takes 20 to 40 times as long, minutes for 60,000 lines. The
whole file is read before anything is given out, so one bad line stops a load before anything is changed.

Backends keep records in the same format (`record_of`) and read them more kindly (`kept_title`): what was loaded by other
rules than today's is no reason to lose an answer.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.store.backends.embedded.loading_rules import check_loaded
from tools.store.backends.embedded.rules import FIELDS, check_record
from tools.store.models import Author, Offer, Title

Record = tuple[Title, tuple[Offer, ...]]
_MAX_BYTES = 2 * 1024**3
_MAX_LINE = 128 * 1024
"""Bytes of a record. An item of DynamoDB holds 400 KB, and a search reads hundreds of records."""
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
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


def record_of(title: Title, offers: Sequence[Offer] = ()) -> dict[str, Any]:
    """The import format of a title, without what is null."""
    record: dict[str, Any] = {
        "title_id": title.title_id,
        "title": _given(en=title.en, romaji=title.romaji, ja=title.ja, kana=title.kana),
        "alt_titles": list(title.alt_titles),
        "authors": [_given(name=a.name, name_ja=a.name_ja, name_kana=a.name_kana, role=a.role) for a in title.authors],
        "tags": list(title.tags),
        "synopsis": _given(en=title.synopsis_en, ja=title.synopsis_ja),
        "related": list(title.related),
        **{name: getattr(title, name) for name in _PLAIN},
        "offers": [{"format": o.format, "price_jpy": o.price_jpy, "stock": o.stock} for o in offers],
    }
    return {name: value for name, value in record.items() if value not in (None, [], {})}


def kept_title(raw: bytes | str) -> Title:
    """The title of a record that a backend kept. Fields of a later version are passed over, and half a character, which no
    answer could carry, is replaced. Raises ValueError."""
    try:
        value = json.loads(raw)
    except RecursionError as error:
        raise ValueError("too deep") from error
    if not isinstance(value, dict):
        raise ValueError("a record is an object")
    value = {name: _mended(each) for name, each in value.items() if name in FIELDS}
    problem = check_record(value)
    if problem:
        raise ValueError(problem)
    return _title(value)


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _HALF_CHARACTER.sub("\ufffd", value)
    if isinstance(value, list):
        return [_mended(each) for each in value]
    return {name: _mended(each) for name, each in value.items()} if isinstance(value, dict) else value


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _record(line: int, raw: bytes) -> Record:
    if len(raw) > _MAX_LINE:
        raise CatalogFileError(line, f"the record has {len(raw)} bytes, and may have {_MAX_LINE}")
    try:
        text = raw.decode("utf-8-sig" if line == 1 else "utf-8")
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=unique_names)
    except UnicodeDecodeError as error:
        raise CatalogFileError(line, "not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise CatalogFileError(line, f"not JSON: {error}") from error
    problem = check_record(value) or check_loaded(value)
    if problem:
        raise CatalogFileError(line, problem)
    return _title(value), tuple(Offer(o["format"], o["price_jpy"], o.get("stock")) for o in value.get("offers") or ())


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An `object_pairs_hook` that refuses a name that comes twice: of two values nobody can say which is meant."""
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands in one object twice")
    return value


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
