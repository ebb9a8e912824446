"""Matching of names to authors: any order, any script, Hepburn variants folded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz.distance import OSA

from tools.store.models import Author
from tools.store.search.text.characters import has_kanji, is_kana, normalise
from tools.store.search.text.romaji import is_loanword, sound, sound_key

_ALIKE = 0.5


@dataclass(frozen=True, slots=True)
class AuthorKeys:
    """`parts`: the parts of the Latin name by sound. `spellings`: whole names as sound keys (kanji, kana, Latin)."""

    parts: frozenset[str]
    spellings: tuple[str, ...]

    @classmethod
    def from_author(cls, author: Author) -> AuthorKeys:
        parts = sound(author.name).split()
        latin = [sound_key("".join(parts)), sound_key("".join(reversed(parts)))]
        written = (
            [] if _is_anothers(author, latin) else [sound_key(name) for name in (author.name_ja, author.name_kana) if name]
        )
        return cls(frozenset(parts), tuple(dict.fromkeys([*written, *latin])))


def _is_anothers(author: Author, latin: Sequence[str]) -> bool:
    """True if the reading shows that the name in Japanese is somebody else's: the artist's beside the writer, mostly.

    Catalogues that were joined from two sources have many of them. Two people's names share letters by chance, seldom half.
    """
    read = normalise(author.name_kana or "")
    if not is_kana(read) or is_loanword(author.name_ja or ""):
        return False
    return max(OSA.normalized_similarity(sound_key(read), name) for name in latin) < _ALIKE


class AskedName:
    """A name as it is asked for, read once and held against many authors.

    `parts`: each part by sound, and whether it is written in kanji.
    """

    def __init__(self, asked: str) -> None:
        self.key = sound_key(asked)
        self.words = sound(asked).split()
        self.parts = _with_script(asked)

    def may_be_in(self, text: str) -> bool:
        """True if it could fit one of the authors whose parts and spellings stand in `text`: quicker to ask than `fits`."""
        return self.key in text or all(part in text for part, _ in self.parts)

    def fits(self, keys: AuthorKeys) -> bool:
        """True if all parts of the asked name are parts of this one."""
        if not self.words:
            return False
        return self.key in keys.spellings or all(_is_part(part, kanji, keys) for part, kanji in self.parts)


def is_author(asked: str, author: Author) -> bool:
    """True if all parts of `asked` are parts of this one name.

    'Miura Kentarou', 'kentaro miura', 'Miura', '三浦建太郎' and 'みうらけんたろう' are all "Miura, Kentarou".
    Kanji has no spaces to part by: a kanji part must begin or end the written name, and alone be two characters or more.
    """
    return AskedName(asked).fits(AuthorKeys.from_author(author))


def _with_script(asked: str) -> list[tuple[str, bool]]:
    """Each part of the asked name by sound, and whether it has kanji."""
    separated = normalise(asked).replace("・", " ").replace("=", " ").replace(",", " ")
    return [(part, has_kanji(word)) for word in separated.split() for part in sound(word).split()]


def _is_part(part: str, kanji: bool, keys: AuthorKeys) -> bool:
    if part in keys.parts:
        return True
    return kanji and len(part) >= 2 and any(s.startswith(part) or s.endswith(part) for s in keys.spellings)
