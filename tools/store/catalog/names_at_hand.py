"""What goes by exactly a name among titles that are kept in the process, for when the catalogue does not say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tools.store.models import Author, Called, Title
from tools.store.search.text.romaji import sound_key
from tools.store.search.titles.called import MOST_TITLES, exact_names, family_key
from tools.store.search.titles.names import names_of


class NamesAtHand:
    """Titles, the best known first, and their authors by the sound of their names. Read only."""

    def __init__(self, titles: Sequence[Title]) -> None:
        self._titles: Mapping[str, dict[str, None]] = defaultdict(dict)
        self._works: Mapping[str, dict[str, None]] = defaultdict(dict)
        for title in titles:
            for key in map(sound_key, names_of(title)):
                self._titles[key][title.title_id] = None
            for key in (key for author in title.authors for key in _keys(author)):
                self._works[key][title.title_id] = None

    def find(self, asked: Sequence[str]) -> dict[str, Called]:
        """What goes by each of the names; those that nothing goes by are left out."""
        found = {each: self._called(name.key) for each, name in exact_names(asked).items()}
        return {each: called for each, called in found.items() if called != Called()}

    def _called(self, key: str) -> Called:
        return Called(tuple(self._titles.get(key, ()))[:MOST_TITLES], len(self._works.get(key, ())))


def _keys(author: Author) -> Iterator[str]:
    for name in (author.name, author.name_ja, author.name_kana):
        if name:
            yield sound_key(name)
    if family := family_key(author):
        yield family
