"""Indices and the alias before them, as a load needs them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from session.resilience.deadline import Deadline
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.errors import IndexMissing
from tools.store.backends.opensearch.index.definition import Flavour, creation
from tools.store.backends.opensearch.index.identity import Identity, filling, is_index_of
from tools.store.failures import BackendFailure, DependencyFailure, TimedOut

_SECONDS, _LONG_SECONDS = 30.0, 600.0
_PAGE = 10_000
_APPEAR_SECONDS, _POLL_SECONDS = 180.0, 1.0
Json = dict[str, Any]
SERVING = {"refresh_interval": "60s", "blocks.write": True, "auto_expand_replicas": "0-1"}
"""An index that serves is not written to, and has a copy where there is a second node; while it is loaded, a copy would only
be written twice."""


class Indices:
    """What can be done to whole indices. Every method raises BackendFailure."""

    def __init__(self, client: Client, flavour: Flavour) -> None:
        self._client, self._flavour = client, flavour
        self._alias = client.address.alias

    async def serving(self) -> tuple[str, ...]:
        """The indices behind the alias. Raises ValueError when an index itself has the alias's name."""
        try:
            found = await self._call("GET", f"/{self._alias}/_alias")
        except IndexMissing:
            return ()
        if self._alias in found:
            raise ValueError(f"{self._alias} is an index, and has to be an alias: remove it, or use another alias")
        return tuple(sorted(found))

    async def exists(self, name: str) -> bool:
        """Raises ValueError for one that somebody else made."""
        try:
            found = await self._call("GET", f"/{name}/_mapping")
        except IndexMissing:
            return False
        if "_meta" not in found.get(name, {}).get("mappings", {}):
            raise ValueError(f"the index {name} was not made by a load: remove it, or use another alias")
        return True

    async def open(self, name: str, identity: Identity) -> None:
        """Ready to be written to, made if it is not there. Another load of the same may be about to make it too."""
        if not await self.exists(name):
            try:
                await self._call("PUT", f"/{name}", creation(identity, self._flavour))
            except BackendFailure:
                if not await self.exists(name):
                    raise
        await self._alias_actions({"add": {"index": name, "alias": filling(name)}})

    async def places(self, name: str) -> set[int]:
        """The places of the titles that are in the index, by pages of 10,000."""
        await self._refresh(name)
        found: set[int] = set()
        after: Json = {}
        while True:
            page = {"size": _PAGE, "_source": False, "docvalue_fields": ["place"], "sort": [{"place": "asc"}], **after}
            hits = (await self._call("POST", f"/{name}/_search", page))["hits"]["hits"]
            found.update(int(hit["fields"]["place"][0]) for hit in hits)
            if len(hits) < _PAGE:
                return found
            after = {"search_after": hits[-1]["sort"]}

    async def finish(self, name: str, titles: int) -> None:
        """The index made fast to search, with exactly so many titles in it, or DependencyFailure."""
        await self._refresh(name)
        await self._wait_for(lambda count: count >= titles, name)
        if (found := await self._count(name)) != titles:
            raise DependencyFailure(f"The index has {found} titles and not {titles}.", dependency="catalog")
        if self._flavour.can_refresh:
            # It is never written to again: one segment is searched fastest, and its graph of vectors is the best one.
            await self._call("POST", f"/{name}/_forcemerge", params={"max_num_segments": "1"}, seconds=_LONG_SECONDS)
            await self._call("PUT", f"/{name}/_settings", {"index": SERVING})

    async def put_into_service(self, name: str) -> tuple[str, ...]:
        """The alias moves in one step: a search sees the old index or the new one, and never neither or both. Returns what
        served until then."""
        old = tuple(each for each in await self.serving() if each != name)
        off = [{"remove": {"index": each, "alias": self._alias}} for each in old]
        done = {"remove": {"index": name, "alias": filling(name)}}
        await self._alias_actions(*off, done, {"add": {"index": name, "alias": self._alias}})
        return old

    async def remove_all_but(self, kept: set[str]) -> None:
        """Removes older indices of this alias, finished or not."""
        found = await self._call("GET", f"/{self._alias}-*/_alias")
        for name in sorted(found):
            if name not in kept and is_index_of(self._alias, name):
                await self._call("DELETE", f"/{name}")

    async def _alias_actions(self, *actions: Json) -> None:
        await self._call("POST", "/_aliases", {"actions": actions})

    async def _refresh(self, name: str) -> None:
        """Serverless refreshes by itself, within a minute: there it is waited until what was written stays the same."""
        if self._flavour.can_refresh:
            await self._call("POST", f"/{name}/_refresh")

    async def _wait_for(self, enough: Callable[[int], bool], name: str) -> None:
        end = Deadline.after(_APPEAR_SECONDS)
        while not self._flavour.can_refresh and not enough(await self._count(name)):
            if end.expired():
                raise TimedOut("The titles do not appear in the index.", dependency="catalog")
            await asyncio.sleep(_POLL_SECONDS)

    async def _count(self, name: str) -> int:
        body = {"size": 0, "track_total_hits": True}
        return int((await self._call("POST", f"/{name}/_search", body))["hits"]["total"]["value"])

    async def _call(
        self, method: str, path: str, body: Json | None = None, *, params: Json | None = None, seconds: float = _SECONDS
    ) -> Json:
        return await self._client.call(method, path, body, params=params, deadline=Deadline.after(seconds))
