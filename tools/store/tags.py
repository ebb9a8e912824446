"""The vocabulary of tags: maps each spelling to one name, and rates tags by the audience for which they are suitable.

`tags.toml` is the shipped table; a shop extends it by a file of the same form. A tag in neither keeps its first spelling, is
reported when a catalogue is loaded, and makes no title suitable for a younger audience."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import Field

from tools.store.identifiers import AUDIENCES
from tools.store.models.values import ForWhom
from tools.store.shape import ShapeError, decode

MOST_TAGS, MOST_WORDS, LONGEST_WORD = 500, 50, 100
LARGEST_FILE = 1024 * 1024
"""Most bytes of a shop's file."""
_BETWEEN = re.compile(r"[\s_'’・/.‐-―-]+")
_TAIL = re.compile(r"(?<=.)(?:漫画|マンガ|もの|モノ|物|系)$")


class TagsFileError(ValueError):
    """A tags file cannot be used. The message states all problems of its form, or else the first problem of its tags."""


Word = Annotated[str, Field(pattern=r"\S", max_length=LONGEST_WORD)]
Words = Annotated[tuple[Word, ...], Field(max_length=MOST_WORDS)]


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag. `synonyms` are other spellings. `audience` is one of `AUDIENCES`, None if the tag does not decide it.
    `aversions` are customers' words that exclude the tag."""

    synonyms: Words = ()
    audience: ForWhom | None = None
    aversions: Words = ()


_FIELDS = tuple(each.name for each in fields(Tag))


@dataclass(frozen=True, slots=True)
class _TagsFile:
    tags: Annotated[dict[Word, Tag], Field(min_length=1, max_length=MOST_TAGS)]


class Vocabulary:
    """All tags by name. `own` are the entries of the shop's file; `digest` is a hash of all tags. Raises ValueError if two
    tags share a spelling."""

    def __init__(self, tags: Mapping[str, Tag], own: Mapping[str, Tag] | None = None) -> None:
        self.tags, self.own = tags, own or {}
        self._names: dict[str, str] = {}
        for name, tag in tags.items():
            for written in (name, *tag.synonyms):
                if self._names.setdefault(tag_key(written), name) != name:
                    raise ValueError(f"{written!r} is {self._names[tag_key(written)]} already, and cannot be {name} too")
        self._rated = {each: frozenset(name for name, tag in tags.items() if tag.audience == each) for each in AUDIENCES}
        self.digest = sha256(repr(sorted(tags.items())).encode()).hexdigest()[:16]

    def name_of(self, written: str) -> str | None:
        """Returns the name of the tag with this spelling; None if the spelling is unknown."""
        key = tag_key(written)
        return self._names.get(key) or self._names.get(_TAIL.sub("", key))

    def list_rated(self, audience: str) -> frozenset[str]:
        return self._rated[audience]

    def spell_tags(self, tags: Iterable[str], seen: dict[str, str]) -> tuple[str, ...]:
        """Returns the tags in the spelling of the vocabulary, each once. An unknown tag keeps the spelling in which it was
        first seen, which `seen` holds by `tag_key`; the call adds to `seen`."""
        return tuple(dict.fromkeys(self.name_of(tag) or seen.setdefault(tag_key(tag), tag.strip() or tag) for tag in tags))

    def extend(self, own: Mapping[str, Tag]) -> Vocabulary:
        """Returns a copy with a shop's own tags and additions to known tags. Raises ValueError if an entry states a younger
        audience than a known tag has, or a spelling of another tag."""
        tags = dict(self.tags)
        for name, tag in own.items():
            tags[name] = _merge_tag(name, tags[name], tag) if name in tags else tag
        return Vocabulary(tags, own)


def tag_key(written: str) -> str:
    """Returns the look-up key of a spelling, which ignores case, width, accents, separators and plural."""
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", written).casefold())
    # Japanese voicing marks are part of a letter, other marks are accents.
    text = "".join(c for c in text if not unicodedata.combining(c) or c in "\u3099\u309a")
    text = _BETWEEN.sub("", unicodedata.normalize("NFC", text))
    if text.isascii() and len(text) > 3 and text.endswith("s") and not text.endswith("ss"):
        text = text[:-1]
    return f"{text[:-2]}y" if text.isascii() and text.endswith("ie") else text


@cache
def shipped() -> Vocabulary:
    """Returns the shipped vocabulary. The first call reads a file."""
    return Vocabulary(decode(_TagsFile, tomllib.loads(files("tools.store").joinpath("tags.toml").read_text("utf-8"))).tags)


def load_vocabulary(path: Path | None) -> Vocabulary:
    """Returns the shipped vocabulary, extended by the shop's file if `path` is given. Raises `TagsFileError` for an unusable
    file."""
    if path is None:
        return shipped()
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
        if len(raw) > LARGEST_FILE:
            raise TagsFileError(f"{path}: it has more than {LARGEST_FILE // 1024} KB")
        tags = decode(_TagsFile, tomllib.loads(raw.decode())).tags
    except OSError as error:
        raise TagsFileError(f"cannot read {path.name}: {error.__class__.__name__}") from None
    except (UnicodeError, tomllib.TOMLDecodeError) as error:
        raise TagsFileError(f"{path}: not TOML in UTF-8: {error}") from None
    except ShapeError as error:
        raise TagsFileError(f"{path}: {'; '.join(error.problems)}; a tag has {', '.join(_FIELDS)}") from None
    base = shipped()
    own = {base.name_of(name) or name: replace(tag, synonyms=(name, *tag.synonyms)) for name, tag in tags.items()}
    if len(own) < len(tags):
        raise TagsFileError(f"{path}: two of its tags are one")
    try:
        return base.extend(own)
    except ValueError as error:
        raise TagsFileError(f"{path}: {error}") from None


def _merge_tag(name: str, there: Tag, more: Tag) -> Tag:
    """Adds a shop's entry to a tag. Raises ValueError if the entry states a younger audience."""
    audience = more.audience or there.audience
    if there.audience and more.audience and AUDIENCES.index(more.audience) < AUDIENCES.index(there.audience):
        raise ValueError(f"{name} is {there.audience} already, and may only be made stricter")
    synonyms, aversions = (*there.synonyms, *more.synonyms), (*there.aversions, *more.aversions)
    return Tag(tuple(dict.fromkeys(synonyms)), audience, tuple(dict.fromkeys(aversions)))
