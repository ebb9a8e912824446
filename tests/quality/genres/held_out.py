"""Titles that a text is judged without: its own, its author's, and whatever else belongs to its series.

Half of a franchise would tell what the other half is. So titles are put into groups that share their first author or the
name before a subtitle, and of a text's own group nobody votes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from session.resilience.deadline import Deadline
from tools.store.models import CatalogTerms, Neighbour, Title
from tools.store.ports import CatalogPort


@dataclass(frozen=True, slots=True)
class Groups:
    """`of`: the group of each title, by its id, named by the id of one of them."""

    of: dict[str, str]
    sizes: dict[str, int]

    def is_locked(self, title: Title) -> bool:
        """A third, which nothing was fitted on."""
        return int.from_bytes(sha256(self.of[title.title_id].encode()).digest()[:4]) % 3 == 0


def grouped(titles: Sequence[Title]) -> Groups:
    """Union-find over what titles share."""
    parent = {title.title_id: title.title_id for title in titles}

    def root(title_id: str) -> str:
        while parent[title_id] != title_id:
            parent[title_id] = title_id = parent[parent[title_id]]
        return title_id

    first: dict[str, str] = {}
    for title in titles:
        for key in _keys(title):
            parent[root(title.title_id)] = root(first.setdefault(key, title.title_id))
    of = {title_id: root(title_id) for title_id in parent}
    sizes: dict[str, int] = {}
    for group in of.values():
        sizes[group] = sizes.get(group, 0) + 1
    return Groups(of, sizes)


def _keys(title: Title) -> list[str]:
    name = (title.romaji or title.display).split(":")[0].lower()
    return [*(f"by {author.name}" for author in title.authors[:1]), f"named {name}"]


class WithoutGroup:
    """A catalogue, as far as a classifier asks it, in which one group has no neighbours."""

    def __init__(self, catalog: CatalogPort, groups: Groups) -> None:
        self._catalog, self._groups = catalog, groups
        self.without = ""

    async def nearest(self, text: str, limit: int, deadline: Deadline) -> tuple[Neighbour, ...] | None:
        more = self._groups.sizes[self.without]
        found = await self._catalog.nearest(text, limit + more, deadline)
        if found is None:
            return None
        return tuple(each for each in found if self._groups.of[each.title.title_id] != self.without)[:limit]

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        return await self._catalog.terms(deadline)
