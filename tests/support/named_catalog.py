"""The names and words of a list of titles, as a catalogue answers for them: what reading asks, nothing more."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from session.resilience.deadline import Deadline
from tests.support.likeness import one_likeness
from tools.store.models import CatalogPage, CatalogQuery, CatalogTerms, NameMatches, Title
from tools.store.search.text.romaji import sound_key
from tools.store.search.titles.names import NameKeys, prior


class NamedCatalog:
    """Answers `terms`, `called` and `search` (by names alone) by scanning what it was made of. `asked` keeps what it was asked for."""

    def __init__(self, titles: Sequence[Title]) -> None:
        self._terms = CatalogTerms(
            Counter(tag for title in titles for tag in title.tags),
            Counter(name for title in titles for name in (title.magazine, title.publisher) if name),
        )
        self._titles = {title.title_id: title for title in titles}
        self._ids: dict[str, list[str]] = defaultdict(list)
        self._authors: Counter[str] = Counter()
        self.asked: list[tuple[str, ...]] = []
        for title in sorted(titles, key=prior, reverse=True):
            for key in set(NameKeys.of(title).all):
                self._ids[key].append(title.title_id)
            names = {name for author in title.authors for name in (author.name, author.name_ja, author.name_kana) if name}
            self._authors.update({sound_key(name) for name in names})

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        return self._terms

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        return {title_id: self._titles[title_id] for title_id in title_ids if title_id in self._titles}

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        """The titles nearest by name, however far that is."""
        key = sound_key(query.text)
        near = sorted(
            self._titles.values(),
            key=lambda title: max(one_likeness(key, name) for name in NameKeys.of(title).all),
            reverse=True,
        )
        return CatalogPage(tuple(near[: query.limit]), len(near), guessed=True)

    async def match_names(self, names: Sequence[str], deadline: Deadline) -> dict[str, NameMatches]:
        self.asked.append(tuple(names))
        keys = {name: sound_key(name) for name in names}
        return {
            name: NameMatches(tuple(self._ids[key]), self._authors[key])
            for name, key in keys.items()
            if key in self._ids or key in self._authors
        }
