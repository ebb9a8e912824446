"""The titles that come nearest to a vector, with how near they come."""

from __future__ import annotations

from session.resilience.deadline import Deadline
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.queries.nearest import cosine_of, nearest
from tools.store.backends.opensearch.searching.title_cache import TitleCache, hit_key
from tools.store.models import Neighbour
from tools.store.search.arrays import Floats


class Neighbours:
    """Raises BackendFailure, and LookupError, TypeError and ValueError for answers that are none."""

    def __init__(self, client: Client, cache: TitleCache) -> None:
        self._client, self._cache = client, cache

    async def of(self, vector: Floats, limit: int, deadline: Deadline) -> tuple[Neighbour, ...]:
        """Nearest first. A title that has gone meanwhile is left out."""
        hits = (await self._client.searches([nearest(vector, [], limit)], deadline))[0]["hits"]["hits"]
        likeness = {hit_key(hit): cosine_of(float(hit["_score"])) for hit in hits}
        entries = await self._cache.of(likeness, deadline)
        titles = await self._cache.titles(list(entries.values()))
        near = {title_id: value for (_, title_id), value in likeness.items()}
        return tuple(Neighbour(title, near[title.title_id]) for title in titles)
