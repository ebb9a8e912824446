"""What a bundle says of itself, in its first line."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from typing import Any

OFF, NAMES, FULL = "off", "names", "full"
KINDS = (NAMES, FULL)
LAYOUT = 1
"""Of the bundle: a server reads no other."""
LONGEST_LINE = 4096


class BundleError(ValueError):
    """A bundle that cannot be used; the message says why."""


class BrokenOffError(BundleError):
    """There is less of it than it says: the rest may be on its way."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """`made` is when, in seconds since the epoch; `catalog` the SHA-256 of the records inside, `computed` the format of the
    arrays that were computed of them and `embedder` the name of what made their vectors, None where there are none; `size`
    and `digest` (SHA-256) are of everything that follows the line."""

    kind: str
    titles: int
    made: int
    catalog: str
    computed: str
    embedder: str | None
    size: int
    digest: str
    layout: int = LAYOUT

    @classmethod
    def read(cls, line: bytes) -> Manifest:
        """Raises `BundleError`."""
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict) or "layout" not in said:
            raise BundleError("it is no standby catalogue")
        if said["layout"] != LAYOUT:
            raise BundleError(f"its layout is {said['layout']}, this version reads {LAYOUT}: seed it again")
        known: dict[str, Any] = {each.name: said.get(each.name) for each in fields(cls)}
        if not _is_whole(known):
            raise BundleError("its first line lacks something")
        return cls(**known)

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    def same_as(self, other: Manifest) -> bool:
        """Whether both were made of the same, whenever that was."""
        return _of_what(self) == _of_what(other)


def _of_what(manifest: Manifest) -> tuple[object, ...]:
    return manifest.kind, manifest.catalog, manifest.computed, manifest.embedder


def _is_whole(said: dict[str, Any]) -> bool:
    numbers = all(isinstance(said[name], int) and said[name] >= 0 for name in ("titles", "made", "size"))
    hashes = all(re.fullmatch("[0-9a-f]{64}", str(said[name])) for name in ("catalog", "digest"))
    words = isinstance(said["computed"], str) and isinstance(said["embedder"], str | None)
    return numbers and hashes and words and said["kind"] in KINDS
