"""Documents into an index, in one request a chunk, repeated where the cluster asks for patience."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from session.resilience.deadline import Deadline
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.index.definition import Flavour
from tools.store.backends.opensearch.index.identity import filling
from tools.store.failures import BackendFailure, DependencyFailure

_SECONDS, _LONGEST_PAUSE, _ATTEMPTS = 60.0, 15.0, 8
_BUSY = (429, 502, 503, 504)
Json = dict[str, Any]


class Bulk:
    """Writes to one index. Where ids are the store's own, a document that is sent twice is there once."""

    def __init__(self, client: Client, flavour: Flavour, index: str) -> None:
        self._client, self._flavour = client, flavour
        # An index that is gone is waited for by OpenSearch itself, and for a minute if nothing else is said. Serverless
        # documents neither.
        ours = {"require_alias": "true", "timeout": "5s"}
        self._target, self._params = (filling(index), ours) if flavour.own_ids else (index, {})

    async def add(self, documents: Sequence[Json]) -> None:
        """Raises BackendFailure when some were refused, or stayed unanswered through eight attempts, about a minute."""
        left = list(documents)
        failure: BackendFailure | None = None
        for attempt in range(_ATTEMPTS):
            if attempt:
                await asyncio.sleep(min(_LONGEST_PAUSE, 0.5 * 2.0**attempt))
            try:
                left = await self._send(left)
            except BackendFailure as error:
                if not self._flavour.own_ids:
                    raise  # nobody can say which of them arrived; the next run asks
                failure = error
                continue
            if not left:
                return
        raise failure or DependencyFailure("The cluster stays too busy to take documents.", dependency="catalog")

    async def _send(self, documents: Sequence[Json]) -> list[Json]:
        """Those that are to be sent again."""
        lines = [line for each in documents for line in (self._action(each), json.dumps(each, ensure_ascii=False))]
        body = "\n".join((*lines, ""))
        answer = await self._client.call(
            "POST", f"/{self._target}/_bulk", body, params=self._params, deadline=Deadline.after(_SECONDS)
        )
        if not answer.get("errors"):
            return []
        again = []
        for document, item in zip(documents, answer["items"], strict=True):
            ((_, result),) = item.items()
            if result["status"] in _BUSY:
                again.append(document)
            elif result["status"] >= 300:
                message = f"The cluster refused the title {document['title_id']!r}."
                raise DependencyFailure(message, dependency="catalog", details={"reason": _reason(result)})
        return again

    def _action(self, document: Json) -> str:
        return json.dumps({"index": {"_id": document["title_id"]} if self._flavour.own_ids else {}})


def _reason(result: Json) -> str:
    error = result.get("error")
    return str(error.get("type", "")) if isinstance(error, dict) else ""
