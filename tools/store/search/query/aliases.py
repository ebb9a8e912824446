"""Nicknames of well-known manga: what readers type, and the names a catalogue knows them by.

The table (aliases.json) is this project's own, written by hand: it maps words to titles' names, never to ids, so that it
serves any catalogue. A catalogue's own nicknames are its `alt_titles`; this is for the ones it lacks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tools.store.search.text.characters import has_cjk
from tools.store.search.text.romaji import sound, sound_key

_MIN_LATIN, _MIN_CJK = 4, 3
MOST_NAMES = 16
"""Names that a query may be a nickname of: each is looked for."""


@dataclass(frozen=True, slots=True)
class AliasTable:
    """Sound key of a nickname → sound keys of the names it stands for. Several titles may share a nickname."""

    names: Mapping[str, tuple[str, ...]]

    @classmethod
    @cache
    def load(cls) -> AliasTable:
        """The table that is shipped. The first time it reads a file."""
        entries = json.loads(files("tools.store.search.query").joinpath("aliases.json").read_text(encoding="utf-8"))
        table: dict[str, tuple[str, ...]] = {}
        for entry in entries:
            keys = tuple(dict.fromkeys(sound_key(t) for t in entry["titles"]))
            for nickname in (*entry["nicknames"], *filter(has_cjk, entry["titles"])):
                key = sound_key(nickname)
                table[key] = tuple(dict.fromkeys((*table.get(key, ()), *keys)))
        return cls(table)

    def expand(self, text: str) -> tuple[str, ...]:
        """Returns the names of which the whole text, or a long enough word of it, is a nickname."""
        whole = self.names.get(sound_key(text))
        if whole is not None:
            return whole
        keys = [key for key in map(sound_key, sound(text).split()) if len(key) >= (_MIN_CJK if has_cjk(key) else _MIN_LATIN)]
        found = [self.names[key] for key in keys if key in self.names]
        return tuple(dict.fromkeys(name for names in found for name in names))[:MOST_NAMES]
