"""Protocols of the backends.

Every method either answers before its deadline or raises. Implementations translate driver errors into
`tools.store.failures`, so that no caller depends on a driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from session.preferences import PreferenceStore
from session.profile import Event, Profile
from session.resilience.deadline import Deadline
from tools.store.models import (
    AvailabilityPage,
    CatalogPage,
    CatalogQuery,
    CatalogTerms,
    Classification,
    Conditions,
    Health,
    NameMatches,
    Neighbour,
    Order,
    OrderLine,
    Preview,
    ReaderQuery,
    Release,
    Title,
)

MOST_RELEASES = 2_000
"""Most releases listed for a month. In Japan about a thousand manga volumes come out in a month."""
MOST_BOUGHT = 100
MOST_POPULAR = 500


class MonitoredPort(Protocol):
    async def health(self, deadline: Deadline) -> Health: ...


class CatalogPort(MonitoredPort, Protocol):
    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        """Searches by free text in any script. Returns hits that satisfy all conditions, best first."""
        ...

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        """Returns the titles that exist, by id; others are absent."""
        ...

    async def popular(self, conditions: Conditions, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """Returns the `limit` most popular titles that satisfy the conditions; children's titles first if `for_children`."""
        ...

    async def for_reader(self, query: ReaderQuery, deadline: Deadline) -> tuple[Title, ...]:
        """Recommends titles to a reader by taste, best first. All satisfy the query's conditions."""
        ...

    async def nearest(self, text: str, limit: int, deadline: Deadline) -> tuple[Neighbour, ...] | None:
        """Returns the titles nearest to the text in meaning, nearest first. None if the text could not be embedded in time;
        empty if the catalogue has no vectors."""
        ...

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        """Returns the catalogue's tags, magazines and readerships with counts; cached in the process."""
        ...

    async def match_names(self, names: Sequence[str], deadline: Deadline) -> dict[str, NameMatches]:
        """Returns, by name, the titles called exactly so, in any script, and the number of titles by authors called so.
        Looks up at most 64 names, ignores further ones, and omits names without a match."""
        ...


class TitlesPort(MonitoredPort, Protocol):
    """The store's own records of titles, the fallback while the catalogue is slow or down."""

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        """Returns the titles that have a record and could be read in time, by id."""
        ...

    async def popular(self, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """Returns the `limit` most popular titles, at most `MOST_POPULAR`. Empty if the records do not rank them."""
        ...


class StockPort(MonitoredPort, Protocol):
    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage: ...


class ReleasesPort(MonitoredPort, Protocol):
    async def of_month(self, month: str, deadline: Deadline) -> tuple[Release, ...]:
        """Returns the releases of a month (YYYY-MM, in Japan), by date and then most popular first. At most `MOST_RELEASES`,
        the earliest."""
        ...


class OrdersPort(MonitoredPort, Protocol):
    """Orders. Each method reads the orders of one owner only."""

    async def order(self, owner: str, order_id: str, deadline: Deadline) -> Order | None:
        """Returns the owner's order; None if it does not exist or belongs to another owner."""
        ...

    async def latest(self, owner: str, limit: int, deadline: Deadline) -> tuple[Order, ...]:
        """Returns at most `limit` of the owner's orders, latest first."""
        ...

    async def purchased(self, owner: str, deadline: Deadline) -> tuple[str, ...]:
        """Returns ids of titles from orders neither cancelled nor returned, latest first; old orders may be left out."""
        ...

    async def bought(self, owner: str, title_id: str, deadline: Deadline) -> tuple[OrderLine, ...]:
        """Returns the owner's lines of one title from orders neither cancelled nor returned, latest order first, from at
        most `MOST_BOUGHT` orders."""
        ...


class ProfilePort(MonitoredPort, Protocol):
    """Profiles. Failures are `BackendFailure`s of the dependency "profile"."""

    async def remember(self, entries: Sequence[tuple[str, Event]], deadline: Deadline) -> None:
        """Adds events to their users' profiles, equal events once. After a failure, some events may have been added."""
        ...

    async def recall(self, user: str, deadline: Deadline) -> Profile:
        """Returns the user's latest events of the last `session.profile.KEPT_DAYS` days, at most `RECALLED`."""
        ...

    async def forget(self, user: str, deadline: Deadline) -> None:
        """Removes the user's profile. Idempotent; after a failure, a part of the profile may have been removed."""
        ...


class PreferencesPort(PreferenceStore, MonitoredPort, Protocol): ...


class PagesPort(MonitoredPort, Protocol):
    async def pages(self, title_id: str, volume: int, deadline: Deadline) -> Preview | None:
        """Returns the first pages of a volume, at most three; None if it has no preview."""
        ...


class Classifier(MonitoredPort, Protocol):
    async def classify(self, text: str, terms: CatalogTerms, deadline: Deadline) -> Classification:
        """Returns the text's readerships, and its tags out of those in `terms`, each with a confidence from 0 to 1."""
        ...


class Embedder(Protocol):
    """Embeds texts as unit vectors. Texts of similar meaning have similar directions, in any language."""

    name: str
    """The model and its version, part of the key of everything computed with the model."""
    dimensions: int

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        """Returns an array of shape (len(texts), dimensions) with rows of length 1."""
        ...
