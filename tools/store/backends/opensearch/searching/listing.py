"""What needs no ranking here: titles by their ids, and by fame or another ordering."""

from __future__ import annotations

from collections.abc import Sequence

from session.resilience.deadline import Deadline
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.index.definition import ID
from tools.store.backends.opensearch.queries.dsl import column
from tools.store.backends.opensearch.queries.lookups import best_known, with_ids
from tools.store.backends.opensearch.searching.matches import Matches
from tools.store.backends.opensearch.searching.title_cache import TitleCache
from tools.store.models import CatalogQuery, Ordering, Title

_LONGEST_ID = 512


class Listing:
    """Every method raises BackendFailure, and LookupError, TypeError and ValueError for answers that are none."""

    def __init__(self, client: Client, cache: TitleCache) -> None:
        self._client, self._cache = client, cache

    async def with_ids(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        """Those that there are."""
        asked = [i for i in dict.fromkeys(title_ids) if _can_be_an_id(i)]
        if not asked:
            return {}
        answer = (await self._client.searches([with_ids(asked, (ID, "packed"))], deadline))[0]
        packed = {column(hit, ID): column(hit, "packed") for hit in answer["hits"]["hits"]}
        return {title.title_id: title for title in await self._cache.unpacked(list(packed.values()))}

    async def best_known(self, asked: CatalogQuery, ordering: Ordering | None, deadline: Deadline) -> Matches:
        """Or the first by another ordering; the text is not looked at."""
        answer = (await self._client.searches([best_known(asked, ordering)], deadline))[0]
        titles = await self._cache.unpacked([column(hit, "packed") for hit in answer["hits"]["hits"]])
        return Matches(titles, int(answer["hits"]["total"]["value"]), True)


def _can_be_an_id(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_ID and text.isprintable()
