"""What begins with what somebody has typed so far, in any script and spelling."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from tools.store.models import Author, Title
from tools.store.search.text.romaji import sound_key
from tools.store.search.titles.names import names_of
from tools.store.search.titles.people import AuthorKeys

T = TypeVar("T")
LAST = "\U0010ffff"


class Beginnings(Generic[T]):
    """Things by the sound keys of their names, the best known first. A look costs as much as it finds. Read only."""

    def __init__(self, named: Iterable[tuple[T, Iterable[str]]]) -> None:
        """`named`: things, the best known first, with their keys."""
        rows = [(thing, set(keys) - {""}) for thing, keys in named]
        self._things = [thing for thing, _ in rows]
        self._keys = sorted((key, rank) for rank, (_, keys) in enumerate(rows) for key in keys)

    def of(self, typed: str, limit: int) -> list[T]:
        """The best known `limit` of them of which a name begins so; of all where nothing is typed that could begin one."""
        if not (key := sound_key(typed)):
            return [] if typed.strip() else self._things[:limit]
        # Names of authors were joined before they were folded: "nao u" begins "naorasawa".
        ranks = sorted({*self._beginning(key), *self._beginning(sound_key(key))})
        return [self._things[rank] for rank in ranks[:limit]]

    def _beginning(self, key: str) -> Iterator[int]:
        first, behind = bisect_left(self._keys, (key, 0)), bisect_left(self._keys, (key + LAST, 0))
        return (rank for _, rank in self._keys[first:behind])


def titles_by_beginning(titles: Sequence[Title]) -> Beginnings[Title]:
    return Beginnings((title, map(sound_key, names_of(title))) for title in titles)


def authors_by_beginning(titles: Sequence[Title]) -> Beginnings[Author]:
    """By their whole names, family or given name first, and by the names in Japanese that are theirs."""
    return Beginnings((author, AuthorKeys.of(author).spellings) for author in _authors(titles))


def _authors(titles: Sequence[Title]) -> Iterator[Author]:
    seen: set[str] = set()
    for title in titles:
        for author in title.authors:
            if author.name not in seen:
                seen.add(author.name)
                yield author
