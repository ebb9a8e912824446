"""A bundle: one line of JSON, the manifest, then a zip of the records and the arrays computed from them.

The records are a catalogue file of the embedded catalogue; with the arrays beside it a task computes nothing when it loads
them. The digest detects truncation and damage; the place's permissions keep others from writing. All functions block.
"""

from __future__ import annotations

import json
import re
import shutil
import struct
import zipfile
import zlib
from dataclasses import asdict, dataclass, fields, replace
from hashlib import file_digest
from io import BufferedReader
from pathlib import Path
from typing import Any

OFF, NAMES, FULL = "off", "names", "full"
KINDS = (NAMES, FULL)
LAYOUT = 1
"""The bundle's version: a server reads no other."""
LONGEST_LINE = 4096


class BundleError(ValueError):
    """An unusable bundle; the message states the reason."""


class BrokenOffError(BundleError):
    """A truncated bundle: the rest may be on its way."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """`made` is in seconds since the epoch; `catalog` is the SHA-256 of the records, `computed` the format of the arrays,
    and `embedder` the model of the vectors (None: no vectors); `size` and `digest` (SHA-256) are of all that follows the
    line."""

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
        """True if both have the same content, made at whatever time."""
        return replace(self, titles=0, made=0, size=0, digest="") == replace(other, titles=0, made=0, size=0, digest="")


def _is_whole(said: dict[str, Any]) -> bool:
    numbers = all(isinstance(said[name], int) and said[name] >= 0 for name in ("titles", "made", "size"))
    hashes = all(re.fullmatch("[0-9a-f]{64}", str(said[name])) for name in ("catalog", "digest"))
    words = isinstance(said["computed"], str) and isinstance(said["embedder"], str | None)
    return numbers and hashes and words and said["kind"] in KINDS


RECORDS = "catalog.jsonl"
MOST_BYTES = 2**30
"""Most bytes unpacked: some 500,000 titles."""
MOST_TIMES = 200
"""Most times its size that a bundle may unpack to; records and arrays unpack to ten."""
_KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MEMBER = re.compile(r"catalog\.jsonl|index-[0-9a-f]{24}\.npz|vectors-[0-9a-f]{24}\.npy")


def pack(folder: Path, manifest: Manifest, into: Path) -> Manifest:
    """Packs the files of `folder` into a bundle; returns its manifest with size and digest."""
    payload = into.with_name(f"{into.name}.zip")
    with zipfile.ZipFile(payload, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            if _MEMBER.fullmatch(file.name):
                archive.write(file, file.name)
    with payload.open("rb") as content:
        whole = replace(manifest, size=payload.stat().st_size, digest=_sha256(content))
        content.seek(0)
        with into.open("wb") as bundle:
            bundle.write(whole.line())
            shutil.copyfileobj(content, bundle)
    payload.unlink()
    return whole


def unpack(path: Path, folder: Path) -> Manifest:
    """Checks the whole bundle, then extracts it into `folder`. Raises `BundleError`, `OSError`."""
    with path.open("rb") as bundle:
        line = bundle.readline(LONGEST_LINE)
        if len(line) < LONGEST_LINE and not line.endswith(b"\n"):
            raise BrokenOffError("it is no standby catalogue: it ends within its first line")
        manifest = Manifest.read(line)
        if (size := path.stat().st_size - len(line)) != manifest.size:
            raise BrokenOffError(f"it has {size:,} bytes of {manifest.size:,}")
        if _sha256(bundle) != manifest.digest:
            raise BundleError("its digest is wrong")
        try:
            _extract(zipfile.ZipFile(bundle), folder, min(MOST_BYTES, MOST_TIMES * size))
        except BundleError:
            raise
        except (zipfile.BadZipFile, EOFError, RuntimeError, ValueError, struct.error, zlib.error) as error:
            raise BundleError("its archive cannot be read") from error
    return manifest


def _extract(archive: zipfile.ZipFile, folder: Path, most_bytes: int) -> None:
    members = archive.infolist()
    if not all(_MEMBER.fullmatch(each.filename) and each.compress_type in _KINDS for each in members):
        raise BundleError("it holds what does not belong into it")
    if sum(each.file_size for each in members) > most_bytes:
        raise BundleError("it holds more than it may")
    if RECORDS not in archive.namelist():
        raise BundleError("it holds no records")
    archive.extractall(folder)


def _sha256(content: BufferedReader) -> str:
    """The digest of the rest."""
    return file_digest(content, "sha256").hexdigest()
