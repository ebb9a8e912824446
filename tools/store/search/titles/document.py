"""Converts a title to index terms and to texts for embedding, and compares names with its authors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import OSA

from tools.store.models import Author, Title
from tools.store.search.text.characters import has_cjk, has_kanji, is_kana, normalise
from tools.store.search.text.romaji import is_loanword, sound, sound_key
from tools.store.search.text.tokens import words

_ALIKE = 0.5
_SENTENCE_END = re.compile(r"(?<=[。!?！？\n])|(?<=\.)(?=[ \n]|\Z)")


@dataclass(frozen=True, slots=True)
class AuthorKeys:
    """Sound keys of an author: `parts` of the Latin name, and `spellings` of the whole name in kanji, kana and Latin."""

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
    """Returns True if the kana reading shows that the Japanese name is another person's, mostly the artist's in place of the
    writer's. Catalogues joined from two sources have many such errors."""
    read = normalise(author.name_kana or "")
    if not is_kana(read) or is_loanword(author.name_ja or ""):
        return False
    return max(OSA.normalized_similarity(sound_key(read), name) for name in latin) < _ALIKE


class AskedName:
    """An author's name in a query, parsed once to be compared with many authors. `parts` has the sound of each part of the
    name, and whether the part has kanji."""

    def __init__(self, asked: str) -> None:
        self.key = sound_key(asked)
        self.words = sound(asked).split()
        separated = normalise(asked).replace("・", " ").replace("=", " ").replace(",", " ")
        self.parts = [(part, has_kanji(word)) for word in separated.split() for part in sound(word).split()]

    def substrings(self) -> list[str]:
        """Returns the substrings, of 3 to 12 characters, that may be the whole name of an author; none without kanji."""
        sizes = range(3, min(12, len(self.key)) + 1) if has_kanji(self.key) else ()
        return [self.key[first : first + size] for size in sizes for first in range(len(self.key) - size + 1)]

    def may_be_in(self, text: str) -> bool:
        """Returns True if `fits` may be true for an author whose keys are all in `text`. A faster check to run first."""
        return self.key in text or all(part in text for part, _ in self.parts)

    def fits(self, keys: AuthorKeys) -> bool:
        if not self.words:
            return False
        return self.key in keys.spellings or all(_is_part(part, kanji, keys) for part, kanji in self.parts)


def is_author(asked: str, author: Author) -> bool:
    """Returns True if `asked` is this author's whole name, or if all its parts are parts of the name. 'kentaro miura',
    'Miura', '三浦建太郎' and 'みうらけんたろう' all match "Miura, Kentarou". Kanji names have no spaces, so a kanji part
    must be the beginning or end of the name, with two characters or more."""
    return AskedName(asked).fits(AuthorKeys.from_author(author))


def _is_part(part: str, kanji: bool, keys: AuthorKeys) -> bool:
    if part in keys.parts:
        return True
    return kanji and len(part) >= 2 and any(s.startswith(part) or s.endswith(part) for s in keys.spellings)


_PASSAGE = 330


def prose_terms(title: Title) -> dict[str, float]:
    """Returns the index terms of a title's tags, names and synopses with weighted frequencies, to match descriptions."""
    terms: dict[str, float] = {}
    for weight, texts in (
        (2.0, title.tags),
        (1.5, (title.en, title.romaji, title.ja)),
        (1.0, (title.synopsis_en, title.synopsis_ja)),
    ):
        for term in (t for text in texts if text for t in words(text)):
            terms[term] = terms.get(term, 0.0) + weight
    return terms


def headline(title: Title) -> str:
    """Returns a title's name and tags in one line, to be embedded apart from the synopses."""
    return f"{title.display}. {', '.join(title.tags)}"


def passages(title: Title) -> tuple[str, ...]:
    """Splits the synopses into passages of a few sentences, about 330 characters each (a third of that in CJK), since a
    sentence encoder blurs a long text."""
    return tuple(p for text in (title.synopsis_en, title.synopsis_ja) if text for p in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    piece = ""
    for sentence in _sentences(text):
        if piece and _width(piece) + _width(sentence) > _PASSAGE:
            yield piece
            piece = ""
        piece = f"{piece} {sentence}".strip()
    if piece:
        yield piece


def _sentences(text: str) -> Iterator[str]:
    return filter(None, map(str.strip, _SENTENCE_END.split(text)))


def _width(text: str) -> int:
    return len(text) * 3 if has_cjk(text) else len(text)
