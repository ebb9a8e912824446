"""The ports again, each behind its backend's guard."""

from __future__ import annotations

from collections.abc import Sequence

from session.profile import Event, Profile
from session.resilience.deadline import Deadline
from tools.store.guarded.backend import Backend
from tools.store.models import AvailabilityPage, CatalogPage, CatalogQuery, Facets, Filters, Health, Order, Title
from tools.store.ports import CatalogPort, OrdersPort, ProfilePort, StockPort, TitlesPort


class GuardedCatalog:
    def __init__(self, port: CatalogPort, backend: Backend) -> None:
        self._port = port
        self._backend = backend

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        return await self._backend.call(lambda attempt: self._port.search(query, attempt), deadline)

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        return await self._backend.call(lambda attempt: self._port.get(title_ids, attempt), deadline)

    async def popular(self, filters: Filters, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        return await self._backend.call(lambda attempt: self._port.popular(filters, limit, attempt), deadline)

    async def alike(self, facets: Facets, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        return await self._backend.call(lambda attempt: self._port.alike(facets, limit, attempt), deadline)

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)


class GuardedTitles:
    def __init__(self, port: TitlesPort, backend: Backend) -> None:
        self._port = port
        self._backend = backend

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        return await self._backend.call(lambda attempt: self._port.get(title_ids, attempt), deadline)

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)


class GuardedStock:
    def __init__(self, port: StockPort, backend: Backend) -> None:
        self._port = port
        self._backend = backend

    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage:
        return await self._backend.call(lambda attempt: self._port.availability(title_ids, attempt), deadline)

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)


class GuardedOrders:
    def __init__(self, port: OrdersPort, backend: Backend) -> None:
        self._port = port
        self._backend = backend

    async def order(self, owner: str, order_id: str, deadline: Deadline) -> Order | None:
        return await self._backend.call(lambda attempt: self._port.order(owner, order_id, attempt), deadline)

    async def latest(self, owner: str, limit: int, deadline: Deadline) -> tuple[Order, ...]:
        return await self._backend.call(lambda attempt: self._port.latest(owner, limit, attempt), deadline)

    async def purchased(self, owner: str, deadline: Deadline) -> tuple[str, ...]:
        return await self._backend.call(lambda attempt: self._port.purchased(owner, attempt), deadline)

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)


class GuardedProfiles:
    """Writes pass by the guard: there is one at a time, which nobody waits for and which is bounded and not repeated. They
    may take longer than a read, and reads shall not rest for that."""

    def __init__(self, port: ProfilePort, backend: Backend) -> None:
        self._port = port
        self._backend = backend

    async def remember(self, entries: Sequence[tuple[str, Event]], deadline: Deadline) -> None:
        await self._port.remember(entries, deadline)

    async def recall(self, user: str, deadline: Deadline) -> Profile:
        return await self._backend.call(lambda attempt: self._port.recall(user, attempt), deadline)

    async def forget(self, user: str, deadline: Deadline) -> None:
        await self._backend.call(lambda attempt: self._port.forget(user, attempt), deadline)

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)
