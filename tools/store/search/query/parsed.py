"""What a query asks for, taken apart."""

from __future__ import annotations

from dataclasses import dataclass

from tools.store.models import Ordering
from tools.store.search.query.tones import Tone

_FEWEST_WORDS, _MOST_WORDS = 2, 4


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What a query asks for. Keys are sound keys (romaji.py); `terms` are index terms (tokens.py).

    `subject`: what the query is about, without the words that ask, and what it is matched by. What titles have to satisfy
    besides is no part of it: exact conditions are `tools.store.search.conditions`.

    `names`: the query as a name, with and without filler. `aliases`: names it is a nickname of. `author`: a name that the
    wording says is an author's. `same_author_as` / `similar_to`: a title the wording points from. `themes`: for each
    theme named, the tags that satisfy it; `moods`: what suits how the reader feels; `theme_share`: how much of the query
    both are. `ordering`: what the matches are to be put in order by.
    """

    text: str
    subject: str
    names: tuple[str, ...]
    aliases: tuple[str, ...]
    author: str | None
    same_author_as: str | None
    similar_to: str | None
    themes: tuple[tuple[str, ...], ...]
    theme_share: float
    genre: str | None
    terms: tuple[str, ...]
    translated: tuple[tuple[str, ...], ...]
    readings: tuple[str, ...] = ()
    moods: tuple[Tone, ...] = ()
    ordering: Ordering | None = None

    @property
    def translations(self) -> tuple[str, ...]:
        """All terms of `translated`, each once."""
        return tuple(dict.fromkeys(term for group in self.translated for term in group))

    @property
    def empty(self) -> bool:
        """Nothing is left after the filler: any title will do, the popular ones first."""
        return not self.names

    @property
    def points_from(self) -> str | None:
        """The name of the title that the query points from: "like …", "by the author of …"."""
        return self.same_author_as or self.similar_to

    def titles_beside_authors(self) -> list[tuple[str, str]]:
        """'berserk miura', 'モンスター 浦沢': which word may be an author's name, and which title is then beside it."""
        words = self.subject.split()
        if not _FEWEST_WORDS <= len(words) <= _MOST_WORDS:
            return []
        return [(words[0], " ".join(words[1:])), (words[-1], " ".join(words[:-1]))]
