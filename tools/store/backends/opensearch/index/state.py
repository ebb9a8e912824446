"""Which index serves at the moment, and its numbers."""

from __future__ import annotations

import asyncio
from typing import Any

from session.resilience.deadline import Deadline
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.errors import IndexMissing, MalformedAnswer
from tools.store.backends.opensearch.index.identity import FORMAT, Identity
from tools.store.backends.opensearch.index.statistics import NUMBERS, Statistics
from tools.store.failures import DependencyFailure


class IndexState:
    """Learnt by the first call and again when hits come from another index: the alias has moved to a new catalogue."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: Statistics | None = None
        self._asking = asyncio.Lock()

    async def statistics(self, deadline: Deadline, *, anew: bool = False) -> Statistics:
        """Of the index behind the alias; `anew` looks whether it still is that one. Raises BackendFailure."""
        if self._known is not None and not anew:
            return self._known
        async with self._asking:
            if self._known is None or anew:
                self._known = await self._ask(deadline)
            return self._known

    def seen(self, name: str | None) -> None:
        """An answer came from the index of this name."""
        if self._known is not None and name is not None and name != self._known.name:
            self._known = None

    async def _ask(self, deadline: Deadline) -> Statistics:
        name, identity = await self._identity(deadline)
        if self._known is not None and self._known.name == name:
            return self._known
        if identity.format != FORMAT:
            message = "The index is of another version of this server: load the catalogue again."
            raise DependencyFailure(message, dependency="catalog")
        return Statistics(name, identity, (await self._client.searches([NUMBERS], deadline))[0])

    async def _identity(self, deadline: Deadline) -> tuple[str, Identity]:
        mappings = await self._client.call("GET", f"/{self._client.address.alias}/_mapping", deadline=deadline)
        if len(mappings) != 1:
            raise IndexMissing if not mappings else MalformedAnswer("the alias stands for several indices")
        ((name, found),) = mappings.items()
        return name, _identity_of(found)


def _identity_of(found: Any) -> Identity:
    try:
        return Identity.from_meta(found["mappings"]["_meta"])
    except (LookupError, TypeError, ValueError) as error:
        message = "The index was not made by this server: load the catalogue."
        raise DependencyFailure(message, dependency="catalog") from error
