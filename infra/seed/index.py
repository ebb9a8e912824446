"""Loads a catalogue: builds a new index beside the one in service, checks it, and switches the alias in one step.

The index is named after its content, so that a repeated load of the same catalogue with the same embedder has nothing to do,
and an interrupted load resumes. The previous index stays until the next load, for requests in progress and a rollback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import Any

import numpy as np

from session.resilience.deadline import Deadline
from tools.store.backends.embedding import batches, embed_with_retries
from tools.store.backends.opensearch.client import Client, IndexMissing
from tools.store.backends.opensearch.definition import (
    FORMAT,
    Identity,
    creation,
    definition,
    index_name,
    is_index_of,
    write_alias,
)
from tools.store.backends.opensearch.documents import document
from tools.store.failures import BackendFailure, DependencyFailure, TimedOut
from tools.store.models import Offer, Title
from tools.store.ports import Embedder
from tools.store.records.catalog_file import record_of
from tools.store.search.columns import Floats
from tools.store.search.ranking.names import SeriesIndex
from tools.store.search.titles.document import headline, passages


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a load. `titles` is the number of titles to load, `there` of those already in the index; `serving` is True
    if the index is in service; `replaces` are the other indices in service."""

    index: str
    titles: int
    there: int
    serving: bool
    replaces: tuple[str, ...]

    @property
    def nothing_to_do(self) -> bool:
        return self.serving and self.there == self.titles


Json = dict[str, Any]


class TitleRefused(DependencyFailure):
    """The cluster rejected a document for another reason than overload, so that a retry would hardly help."""


_PAGE = 10_000


class Indices:
    """Operations on whole indices. OpenSearch Serverless, unlike nodes, assigns document ids itself and refreshes no index
    on request. Every method raises BackendFailure if the cluster fails."""

    def __init__(self, client: Client) -> None:
        self._client, self._serverless = client, client.address.serverless
        self._alias = client.address.alias

    async def add(self, name: str, documents: Sequence[Json]) -> None:
        """Writes the documents to the index, with up to eight attempts in about a minute. Nodes store a repeated document
        once, by its id; Serverless stores it again. Raises TitleRefused for a rejected document and BackendFailure after the
        last attempt; on Serverless after the first failure."""
        left = list(documents)
        failure: BackendFailure | None = None
        for attempt in range(8):
            if attempt:
                await asyncio.sleep(min(15.0, 0.5 * 2.0**attempt))
            try:
                left = await self._send(name, left)
            except BackendFailure as error:
                # Serverless may have stored some of them; the next run asks which.
                if isinstance(error, TitleRefused) or self._serverless:
                    raise
                failure = error
                continue
            if not left:
                return
        raise failure or DependencyFailure("The cluster stays too busy to take documents.", dependency="catalog")

    async def _send(self, name: str, documents: Sequence[Json]) -> list[Json]:
        lines: list[str] = []
        for each in documents:
            lines.append(json.dumps({"index": {} if self._serverless else {"_id": each["title_id"]}}))
            lines.append(json.dumps(each, ensure_ascii=False))
        body = "\n".join((*lines, "")).encode("utf-8", "replace")
        # `timeout`: OpenSearch waits for an index that is gone, by default for a minute. Serverless documents neither
        # parameter.
        ours = {"require_alias": "true", "timeout": "5s"}
        target, params = (name, {}) if self._serverless else (write_alias(name), ours)
        answer = await self._call("POST", f"/{target}/_bulk", body, params=params, seconds=60.0)
        if not answer.get("errors"):
            return []
        again = []
        for sent, item in zip(documents, answer["items"], strict=True):
            ((_, result),) = item.items()
            if result["status"] in (429, 502, 503, 504):
                again.append(sent)
            elif result["status"] >= 300:
                error = result.get("error")
                details = {"reason": str(error.get("type", "")) if isinstance(error, dict) else ""}
                message = f"The cluster refused the title {sent['title_id']!r}."
                raise TitleRefused(message, dependency="catalog", details=details)
        return again

    async def serving(self) -> tuple[str, ...]:
        """Returns the indices behind the alias. Raises ValueError if an index itself has the alias's name."""
        try:
            found = await self._call("GET", f"/{self._alias}/_alias")
        except IndexMissing:
            return ()
        if self._alias in found:
            raise ValueError(f"{self._alias} is an index, and has to be an alias: remove it, or use another alias")
        return tuple(sorted(found))

    async def exists(self, name: str) -> bool:
        """Returns True if the index exists. Raises ValueError if it was not made by a load."""
        try:
            found = await self._call("GET", f"/{name}/_mapping")
        except IndexMissing:
            return False
        if "_meta" not in found.get(name, {}).get("mappings", {}):
            raise ValueError(f"the index {name} was not made by a load: remove it, or use another alias")
        return True

    async def open(self, name: str, identity: Identity) -> None:
        """Creates the index unless it exists, and its alias for writes. Safe if another load creates the same index."""
        if not await self.exists(name):
            try:
                await self._call("PUT", f"/{name}", creation(identity, self._serverless))
            except BackendFailure:
                if not await self.exists(name):
                    raise
        await self._alias_actions({"add": {"index": name, "alias": write_alias(name)}})

    async def places(self, name: str) -> set[int]:
        """Returns the positions in the catalogue file of the titles that are in the index."""
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
        """Waits until the titles can be found and, on nodes, optimises the index for searches. Raises DependencyFailure
        unless the index has exactly `titles` titles; TimedOut if Serverless shows fewer for three minutes."""
        await self._refresh(name)
        end = Deadline.after(180.0)
        while self._serverless and await self._count(name) < titles:
            if end.expired():
                raise TimedOut("The titles do not appear in the index.", dependency="catalog")
            await asyncio.sleep(1.0)
        if (found := await self._count(name)) != titles:
            raise DependencyFailure(f"The index has {found} titles and not {titles}.", dependency="catalog")
        if not self._serverless:
            # The index is never written again: one segment is searched fastest and has the best graph of vectors.
            await self._call("POST", f"/{name}/_forcemerge", params={"max_num_segments": "1"}, seconds=600.0)
            # Replicas from now on, where there is a second node: during the load each would have doubled the writes.
            serving = {"refresh_interval": "60s", "blocks.write": True, "auto_expand_replicas": "0-1"}
            await self._call("PUT", f"/{name}/_settings", {"index": serving})

    async def put_into_service(self, name: str) -> tuple[str, ...]:
        """Moves the alias in one atomic step, so that each search sees either the old index or the new one. Returns the
        replaced indices, which still exist."""
        old = tuple(each for each in await self.serving() if each != name)
        off = [{"remove": {"index": each, "alias": self._alias}} for each in old]
        done = {"remove": {"index": name, "alias": write_alias(name)}}
        await self._alias_actions(*off, done, {"add": {"index": name, "alias": self._alias}})
        return old

    async def remove_all_but(self, kept: set[str]) -> None:
        """Removes the indices of this alias that are not in `kept`, whether complete or not."""
        found = await self._call("GET", f"/{self._alias}-*/_alias")
        for name in sorted(found):
            if name not in kept and is_index_of(self._alias, name):
                await self._call("DELETE", f"/{name}")

    async def _alias_actions(self, *actions: Json) -> None:
        await self._call("POST", "/_aliases", {"actions": actions})

    async def _refresh(self, name: str) -> None:
        if not self._serverless:
            await self._call("POST", f"/{name}/_refresh")

    async def _count(self, name: str) -> int:
        body = {"size": 0, "track_total_hits": True}
        return int((await self._call("POST", f"/{name}/_search", body))["hits"]["total"]["value"])

    async def _call(
        self,
        method: str,
        path: str,
        body: Json | bytes | None = None,
        *,
        params: Json | None = None,
        seconds: float = 30.0,
    ) -> Json:
        return await self._client.call(method, path, body, params=params, deadline=Deadline.after(seconds))


Record = tuple[Title, tuple[Offer, ...]]
Progress = Callable[[int, int, str], None]
"""A callback with (done, total, what), called on the event loop."""
_CHUNK = 32


class Loading:
    def __init__(self, client: Client, records: Sequence[Record], embedder: Embedder | None, progress: Progress) -> None:
        self._identity = identity_of(records, embedder, client.address.serverless)
        self._records, self._progress = records, progress
        self._name = index_name(client.address.alias, self._identity)
        self._indices = Indices(client)
        self._embedder = embedder

    async def plan(self) -> Plan:
        serving = await self._indices.serving()
        there = await self._indices.places(self._name) if await self._indices.exists(self._name) else set()
        replaces = tuple(name for name in serving if name != self._name)
        return Plan(self._name, len(self._records), len(there), self._name in serving, replaces)

    async def run(self, plan: Plan) -> None:
        """Runs the load; it also succeeds if another load puts the same index into service. Tells the progress. Raises
        BackendFailure, but ValueError if another load has removed the index."""
        opened = False
        try:
            await self._indices.open(self._name, self._identity)
            opened = True
            await self._run(plan)
        except BackendFailure:
            lost = plan.serving or not (opened or await self._indices.exists(self._name))
            if lost or not await self._is_overtaken():
                raise

    async def _is_overtaken(self) -> bool:
        """Returns True if the index is in service by now. Raises ValueError if it does not exist (any more)."""
        if not await self._indices.exists(self._name):
            raise ValueError(
                f"another load took over and removed {self._name}, which this one was filling: nothing of this one is left; "
                "when the other has ended, run it again if this is the catalogue that should serve"
            )
        return self._name in await self._indices.serving()

    async def _run(self, plan: Plan) -> None:
        missing = sorted(set(range(len(self._records))) - await self._indices.places(self._name))
        series = SeriesIndex([title for title, _ in self._records])
        done = len(self._records) - len(missing)
        self._progress(done, len(self._records), "titles")
        for chunk in (missing[start : start + _CHUNK] for start in range(0, len(missing), _CHUNK)):
            await self._indices.add(self._name, await self._documents(chunk, series))
            done += len(chunk)
            self._progress(done, len(self._records), "titles")
        await self._indices.finish(self._name, len(self._records))
        replaced = await self._indices.put_into_service(self._name)
        await self._indices.remove_all_but({self._name, *plan.replaces, *replaced})
        self._progress(done, len(self._records), "in service")

    async def _documents(self, places: Sequence[int], series: SeriesIndex) -> list[dict[str, Any]]:
        titles = [self._records[place][0] for place in places]
        vectors = await self._vectors(titles)
        rows = zip(places, titles, vectors, strict=True)
        return [
            document(title, self._records[place][1], place, series.list_series(place), vector)
            for place, title, vector in rows
        ]

    async def _vectors(self, titles: Sequence[Title]) -> Sequence[Floats | None]:
        if self._embedder is None:
            return [None] * len(titles)
        texts = [[headline(title), *passages(title)] for title in titles]
        parts = [
            await embed_with_retries(self._embedder, batch, attempts=10)  # about five minutes a batch
            for batch in batches(chain.from_iterable(texts), most_texts=32, most_characters=3_200)
        ]
        return np.split(np.concatenate(parts), np.cumsum([len(group) for group in texts])[:-1])


def identity_of(records: Sequence[Record], embedder: Embedder | None, serverless: bool) -> Identity:
    """Returns the identity of an index of these records. It depends on their content and order, not on the formatting of the
    file."""
    digest = sha256()
    for title, offers in records:
        digest.update(json.dumps(record_of(title, offers), sort_keys=True).encode() + b"\n")
    name, dimensions = (None, 0) if embedder is None else (embedder.name, embedder.dimensions)
    return Identity(FORMAT, definition(dimensions, serverless), name, dimensions, len(records), digest.hexdigest()[:32])
