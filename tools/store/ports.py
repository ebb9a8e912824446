"""The narrow doors to the backends, in the store's own terms.

Every method takes the deadline of the call and either answers before it or raises. Adapters turn driver errors into
`tools.store.failures` at their own edge, so nobody above knows which driver it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from session.profile import ProfileStore
from session.resilience.deadline import Deadline
from tools.store.models import AvailabilityPage, CatalogPage, CatalogQuery, Facets, Filters, Health, Order, Title


class CatalogPort(Protocol):
    """Titles: what they are and how they are found."""

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        """Hits for free text in any script, best first, all satisfying the filters."""
        ...

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        """The titles that exist among `title_ids`."""
        ...

    async def popular(self, filters: Filters, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """The most popular titles that satisfy the filters."""
        ...

    async def alike(self, facets: Facets, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """Titles that share tags or authors with `facets`, best match first."""
        ...

    async def health(self, deadline: Deadline) -> Health: ...


class TitlesPort(Protocol):
    """The store's own record of each title, for when the catalogue is late or away."""

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        """The titles among `title_ids` that have a record and were got to in time."""
        ...

    async def health(self, deadline: Deadline) -> Health: ...


class StockPort(Protocol):
    """Prices and copies."""

    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage: ...

    async def health(self, deadline: Deadline) -> Health: ...


class OrdersPort(Protocol):
    """Orders, reachable only through their owner: there is no way to ask for somebody else's."""

    async def order(self, owner: str, order_id: str, deadline: Deadline) -> Order | None:
        """The owner's order, or None: not there and not theirs are one answer."""
        ...

    async def latest(self, owner: str, limit: int, deadline: Deadline) -> tuple[Order, ...]:
        """At most `limit` of the owner's orders, latest first."""
        ...

    async def purchased(self, owner: str, deadline: Deadline) -> tuple[str, ...]:
        """Ids of the titles the owner has bought (not cancelled, not returned), latest first."""
        ...

    async def health(self, deadline: Deadline) -> Health: ...


class ProfilePort(ProfileStore, Protocol):
    """What is remembered of a customer beyond a conversation, as the store keeps it."""

    async def health(self, deadline: Deadline) -> Health: ...


class Embedder(Protocol):
    """Text to a vector of unit length, the same direction for the same meaning in any language."""

    @property
    def name(self) -> str:
        """Identifies model and version; part of the key of everything computed with it."""
        ...

    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        """Shape (len(texts), dimensions), rows of length 1."""
        ...
