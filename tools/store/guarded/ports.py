"""The ports again, each behind its backend's guard."""

from __future__ import annotations

from collections.abc import Sequence

from session.preferences import Kept
from session.profile import Event, Profile
from session.resilience.deadline import Deadline
from tools.store.guarded.backend import Backend
from tools.store.models import (
    AvailabilityPage,
    Called,
    CatalogPage,
    CatalogQuery,
    CatalogTerms,
    Classification,
    Conditions,
    Health,
    Neighbour,
    Order,
    OrderLine,
    Preview,
    ReaderQuery,
    Release,
    Title,
)
from tools.store.ports import (
    CatalogPort,
    Classifier,
    OrdersPort,
    PagesPort,
    PreferencesPort,
    ProfilePort,
    ReleasesPort,
    StockPort,
    TitlesPort,
)


class GuardedCatalog:
    """`names` guards what a search is only read better by: late, it keeps nobody from searching."""

    def __init__(self, port: CatalogPort, backend: Backend, names: Backend) -> None:
        self._port = port
        self._backend = backend
        self._names = names

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        return await self._backend.call(lambda attempt: self._port.search(query, attempt), deadline, "search")

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        return await self._backend.call(lambda attempt: self._port.get(title_ids, attempt), deadline, "get")

    async def popular(self, conditions: Conditions, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        return await self._backend.call(lambda attempt: self._port.popular(conditions, limit, attempt), deadline, "popular")

    async def for_reader(self, query: ReaderQuery, deadline: Deadline) -> tuple[Title, ...]:
        return await self._backend.call(lambda attempt: self._port.for_reader(query, attempt), deadline, "for_reader")

    async def nearest(self, text: str, limit: int, deadline: Deadline) -> tuple[Neighbour, ...] | None:
        return await self._backend.call(lambda attempt: self._port.nearest(text, limit, attempt), deadline, "nearest")

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        return await self._names.call(self._port.terms, deadline, "terms")

    async def called(self, names: Sequence[str], deadline: Deadline) -> dict[str, Called]:
        return await self._names.call(lambda attempt: self._port.called(names, attempt), deadline, "called")

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)


class GuardedTitles:
    def __init__(self, port: TitlesPort, backend: Backend) -> None:
        self._port = port
        self._backend = backend

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        return await self._backend.call(lambda attempt: self._port.get(title_ids, attempt), deadline, "get")

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)


class GuardedStock:
    def __init__(self, port: StockPort, backend: Backend) -> None:
        self._port = port
        self._backend = backend

    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage:
        return await self._backend.call(
            lambda attempt: self._port.availability(title_ids, attempt), deadline, "availability"
        )

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)


class GuardedReleases:
    def __init__(self, port: ReleasesPort, backend: Backend) -> None:
        self._port = port
        self._backend = backend

    async def of_month(self, month: str, deadline: Deadline) -> tuple[Release, ...]:
        return await self._backend.call(lambda attempt: self._port.of_month(month, attempt), deadline, "of_month")

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)


class GuardedOrders:
    def __init__(self, port: OrdersPort, backend: Backend) -> None:
        self._port = port
        self._backend = backend

    async def order(self, owner: str, order_id: str, deadline: Deadline) -> Order | None:
        return await self._backend.call(lambda attempt: self._port.order(owner, order_id, attempt), deadline, "order")

    async def latest(self, owner: str, limit: int, deadline: Deadline) -> tuple[Order, ...]:
        return await self._backend.call(lambda attempt: self._port.latest(owner, limit, attempt), deadline, "latest")

    async def purchased(self, owner: str, deadline: Deadline) -> tuple[str, ...]:
        return await self._backend.call(lambda attempt: self._port.purchased(owner, attempt), deadline, "purchased")

    async def bought(self, owner: str, title_id: str, deadline: Deadline) -> tuple[OrderLine, ...]:
        return await self._backend.call(lambda attempt: self._port.bought(owner, title_id, attempt), deadline, "bought")

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
        return await self._backend.call(lambda attempt: self._port.recall(user, attempt), deadline, "recall")

    async def forget(self, user: str, deadline: Deadline) -> None:
        await self._backend.call(lambda attempt: self._port.forget(user, attempt), deadline, "forget")

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)


class GuardedPreferences:
    """Behind the profile's guard, whose table they are in. A write that is told twice finds its own state there."""

    def __init__(self, port: PreferencesPort, backend: Backend) -> None:
        self._port = port
        self._backend = backend

    async def stated(self, user: str, deadline: Deadline) -> Kept:
        return await self._backend.call(lambda attempt: self._port.stated(user, attempt), deadline, "stated")

    async def keep(self, user: str, kept: Kept, in_place_of: str | None, deadline: Deadline) -> bool:
        return await self._backend.call(lambda attempt: self._port.keep(user, kept, in_place_of, attempt), deadline, "keep")

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)


class GuardedPages:
    def __init__(self, port: PagesPort, backend: Backend) -> None:
        self._port = port
        self._backend = backend

    async def pages(self, title_id: str, volume: int, deadline: Deadline) -> Preview | None:
        return await self._backend.call(lambda attempt: self._port.pages(title_id, volume, attempt), deadline, "pages")

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)


class GuardedClassifier:
    def __init__(self, port: Classifier, backend: Backend) -> None:
        self._port = port
        self._backend = backend

    async def classify(self, text: str, terms: CatalogTerms, deadline: Deadline) -> Classification:
        return await self._backend.call(lambda attempt: self._port.classify(text, terms, attempt), deadline, "classify")

    async def health(self, deadline: Deadline) -> Health:
        return await self._port.health(deadline)
