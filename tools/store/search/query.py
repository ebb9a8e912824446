"""Free text to a `ParsedQuery`: what is asked for, without the words that only ask."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tools.store.models import Ordering
from tools.store.search.aliases import AliasTable
from tools.store.search.orderings import read_ordering
from tools.store.search.people import AskedName
from tools.store.search.phrases import BY, BY_JA, FILLER_EN, FILLER_JA, GENRES, SAME_AUTHOR, SIMILAR, VOLUME
from tools.store.search.romaji import sound_key
from tools.store.search.text import has_cjk, normalise
from tools.store.search.themes import Theme, ThemeTable
from tools.store.search.tokens import words

_LONGEST = 400
_LAST_NUMBER = re.compile(r"(?<=\w) \d{1,3}$")


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What a query asks for. Keys are sound keys (romaji.py); `terms` are index terms (tokens.py).

    `names`: the query as a name, with and without filler. `aliases`: names it is a nickname of. `author`: a name that the
    wording says is an author's. `same_author_as` / `similar_to`: a title the wording points from. `themes`: for each
    theme named, the tags that satisfy it; `theme_share`: how much of the query they are. `ordering`: what the matches are
    to be put in order by.
    """

    text: str
    core: str
    names: tuple[str, ...]
    aliases: tuple[str, ...]
    author: str | None
    same_author_as: str | None
    similar_to: str | None
    themes: tuple[tuple[str, ...], ...]
    theme_share: float
    genre: str | None
    terms: tuple[str, ...]
    translated: tuple[str, ...]
    ordering: Ordering | None = None

    @property
    def empty(self) -> bool:
        """Nothing is left after the filler: any title will do, the popular ones first."""
        return not self.names


class QueryReader:
    """Reads queries with the shipped tables. Holds no state of its own; safe to share between threads."""

    def __init__(self, aliases: AliasTable, themes: ThemeTable) -> None:
        self._aliases = aliases
        self._themes = themes

    @classmethod
    def load(cls) -> QueryReader:
        """With the shipped tables. The first time it reads two files."""
        return cls(AliasTable.load(), ThemeTable.load())

    def read(self, query: str, author: str | None = None) -> ParsedQuery:
        """`author` is the one that titles are limited to: a query that only says that name again asks for nothing more."""
        whole = normalise(query[:_LONGEST])
        ordering, text = read_ordering(whole)
        core = without_filler(text)
        if author is not None and _says_again(_asked_author(text) or core, author):
            core = ""
        pointed = _first(SAME_AUTHOR, text), _first(SIMILAR, text)
        themes, genre = self._themes.themes(text), _genre(text)
        return ParsedQuery(
            text=text,
            core=core,
            names=_keys(whole, core) if core else (),
            aliases=self._aliases.expand(core),
            author=None if pointed[0] else _asked_author(text),
            same_author_as=pointed[0],
            similar_to=None if pointed[0] else pointed[1],
            themes=tuple(dict.fromkeys(theme.tags for theme in themes)),
            theme_share=_share(themes, core, genre),
            genre=genre,
            terms=tuple(dict.fromkeys(words(core))),
            translated=tuple(dict.fromkeys(w for phrase in self._themes.english(core) for w in words(phrase))),
            ordering=ordering,
        )


def without_filler(text: str) -> str:
    """`text` (normalised) without the words that ask, without volume numbers; possibly empty."""
    core = VOLUME.sub(" ", text)
    core = FILLER_JA.sub(" ", FILLER_EN.sub(" ", core))
    return " ".join(core.split()).strip(' ,.:;!?。、！？「」『』"')


def _genre(text: str) -> str | None:
    return next((genre for genre, pattern in GENRES.items() if pattern.search(text)), None)


def _share(themes: tuple[Theme, ...], core: str, genre: str | None) -> float:
    """How much of the core's content the themes and the genre are, 0 to 1."""
    rest = GENRES[genre].sub(" ", core) if genre else core
    content = "".join(words(rest)) if not has_cjk(rest) else rest.replace(" ", "")
    named = sum(len(theme.phrase.replace(" ", "")) for theme in themes)
    return min(1.0, named / len(content)) if content else float(bool(themes or genre))


def _keys(text: str, core: str) -> tuple[str, ...]:
    """Keys of the core and of the whole, by sound; a Latin one as it is typed too, since folding moves the letters of a
    typo; and the core without a last number, which is often a volume's ("One Piece 112").
    """
    asked = (core, VOLUME.sub(" ", text), _LAST_NUMBER.sub("", core))
    plain = "".join(c for c in core if c.isalnum()) if core.isascii() else ""
    keys = (*(sound_key(a) for a in asked), plain)
    return tuple(dict.fromkeys(k for k in keys if len(k) > 1 or len(core) <= len(k)))


def _says_again(asked: str, author: str) -> bool:
    """Whether `asked` is the name `author`, or a part of it."""
    said, name = AskedName(asked), AskedName(author)
    if not said.words:
        return False
    return set(said.words) <= set(name.words) or name.key.startswith(said.key)


def _asked_author(text: str) -> str | None:
    return _first(BY, text) or _first(BY_JA, text)


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    found = next((g for g in match.groups() if g), None) if match else None
    return found.strip(' 「」『』"?!。') if found else None
