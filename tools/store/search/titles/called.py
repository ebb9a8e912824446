"""What counts as exactly a name: of a title, and of an author.

A title goes by its whole names, and where no title has this one whole, by the part before a subtitle ("Demon Slayer: Kimetsu
no Yaiba"), which has to be longer than one word: "School: a story" makes no name of "school". An author goes by the whole
name in any order and script, and where nobody has this one whole, by the family name alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from tools.store.models import Author
from tools.store.search.text.characters import has_cjk, has_kanji
from tools.store.search.text.romaji import sound, sound_key

MOST_NAMES = 64
"""Names that are looked for at once."""
MOST_TITLES = 20
"""Titles that are told of one name, the best known."""
_SHORTEST_FAMILY, _SHORTEST_KANJI_FAMILY, _SHORTEST_CJK_MAIN = 3, 2, 3


class ExactName:
    """A name as it is asked for. `key`: by its sound; empty where nothing of it can be a name."""

    def __init__(self, asked: str) -> None:
        self.key = sound_key(asked)
        self._words = sound(asked).count(" ") + 1

    @property
    def may_precede_subtitle(self) -> bool:
        return len(self.key) >= _SHORTEST_CJK_MAIN if has_cjk(self.key) else self._words > 1

    @property
    def may_be_family(self) -> bool:
        """Whether it may be the family name of an author in Latin letters, or in kana by its sound."""
        return self._words == 1 and len(self.key) >= _SHORTEST_FAMILY and not has_kanji(self.key)

    @property
    def may_be_written_family(self) -> bool:
        """The same in kanji: what a written name begins with, for nothing parts the given name from it."""
        return has_kanji(self.key) and len(self.key) >= _SHORTEST_KANJI_FAMILY


def exact_names(asked: Sequence[str]) -> dict[str, ExactName]:
    """The first 64 of them that may be names."""
    names = {each: ExactName(each) for each in list(dict.fromkeys(asked))[:MOST_NAMES]}
    return {each: name for each, name in names.items() if name.key}


def family_key(author: Author) -> str:
    """The sound key of the family name; empty where the name has one part."""
    family, comma, _ = author.name.partition(",")
    return sound_key(family) if comma else ""
