"""An OpenSearch that finds as much as it is asked for, whatever it is asked: the most that a search can have to judge here."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from session.resilience.deadline import Deadline
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.definition import FORMAT, Identity
from tools.store.backends.opensearch.documents import document
from tools.store.backends.opensearch.state import NUMBERS
from tools.store.records.catalog_file import Record

Json = dict[str, Any]
INDEX = "manga-generous"


class OneVector:
    """An embedder to which all texts mean the same."""

    name, dimensions = "one", 4

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        return np.full((len(texts), 4), 0.5, np.float32)


class GenerousClient:
    """In the place of `tools.store.backends.opensearch.client.Client`. Each search finds other titles than the one before it."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.address = OpenSearchAddress.parse("http://127.0.0.1")
        self._documents = [document(title, offers, place, (), None) for place, (title, offers) in enumerate(records)]
        self._places = {each["title_id"]: place for place, each in enumerate(self._documents)}
        self._next = count(step=80)

    async def call(self, *_: Any, **__: Any) -> Json:
        identity = Identity(FORMAT, "any", OneVector.name, OneVector.dimensions, len(self._documents), "any")
        return {INDEX: {"mappings": {"_meta": identity.meta()}}}

    async def searches(self, bodies: Sequence[Mapping[str, Any]], deadline: Deadline) -> list[Mapping[str, Any]]:
        await asyncio.sleep(0)  # what is sent to a cluster and what comes from it have turns of their own
        answers: list[Mapping[str, Any]] = [self._answer(body) for body in bodies]
        await asyncio.sleep(0)
        return answers

    async def aclose(self) -> None: ...

    def _answer(self, body: Mapping[str, Any]) -> Json:
        hits = [self._hit(place, body) for place in self._found(body)]
        return {"hits": {"hits": hits, "total": {"value": len(self._documents)}}, "aggregations": self._counted(body)}

    def _found(self, body: Mapping[str, Any]) -> Iterator[int]:
        asked = body["query"]["bool"]["must"][0].get("terms", {}).get("title_id") if body["size"] else None
        if asked is not None:
            yield from (self._places[each] for each in asked)
            return
        first = next(self._next) if body["size"] else 0
        yield from ((first + n) % len(self._documents) for n in range(min(body["size"], len(self._documents))))

    def _hit(self, place: int, body: Mapping[str, Any]) -> Json:
        found = self._documents[place]
        return {
            "_index": INDEX,
            "_score": 1.5,
            "_source": {},
            "fields": {name: [found[name]] for name in body["docvalue_fields"]},
        }

    def _counted(self, body: Mapping[str, Any]) -> Json:
        if body is NUMBERS or "length" in body.get("aggs", {}):
            tags = [{"key": tag, "doc_count": 9} for tag in sorted({t for each in self._documents for t in each["tags"]})]
            none: Json = {"buckets": []}
            return {"length": {"value": 100.0}, "tags": {"buckets": tags}, "magazines": none, "readerships": none}
        terms, names = ({name: {"doc_count": 9} for name in _filters(body, which)} for which in ("df", "names"))
        called = {name: {**found, "titles": {"hits": {"hits": self._best(body)}}} for name, found in names.items()}
        return {"df": {"buckets": terms}, "names": {"buckets": called}, "all": {"doc_count": 9}}

    def _best(self, body: Mapping[str, Any]) -> list[Json]:
        """The titles that are called what a search for names asks."""
        asked = body["aggs"]["names"]["aggs"]["titles"]["top_hits"]
        return [self._hit(place, asked) for place in range(asked["size"])]


def _filters(body: Mapping[str, Any], name: str) -> Iterable[str]:
    """The names of the buckets that an aggregation by filters asks for."""
    asked: Iterable[str] = body.get("aggs", {}).get(name, {}).get("filters", {}).get("filters", {})
    return asked
