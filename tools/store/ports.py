"""Ports to the backends, in the store's own terms.

Every method takes the deadline of the call and either answers before it or raises. Adapters translate driver errors into
`tools.store.failures` themselves, so that no caller depends on a driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from session.preferences import PreferenceStore
from session.profile import ProfileStore
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
"""Most releases listed for a month: in Japan some thousand manga volumes come out in one."""
MOST_BOUGHT = 100
MOST_POPULAR = 500


class CatalogPort(Protocol):
    """Finds and describes titles."""

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        """Searches by free text in any script. Returns hits that satisfy all conditions, best first."""
        ...

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        """Returns the titles among `title_ids` that exist, by id."""
        ...

    async def popular(self, conditions: Conditions, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """Returns the `limit` most popular titles that satisfy the conditions."""
        ...

    async def for_reader(self, query: ReaderQuery, deadline: Deadline) -> tuple[Title, ...]:
        """Recommends titles to a reader's taste, best first; all satisfy the conditions."""
        ...

    async def nearest(self, text: str, limit: int, deadline: Deadline) -> tuple[Neighbour, ...] | None:
        """Returns the titles nearest to the text in meaning, nearest first. None if the text could not be embedded in time;
        empty if the catalogue has no vectors."""
        ...

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        """Returns the catalogue's tags, magazines and readerships with counts; cached in the process."""
        ...

    async def match_names(self, names: Sequence[str], deadline: Deadline) -> dict[str, NameMatches]:
        """Returns titles and authors by exact name, in any script, for at most 64 names; omits names without a match."""
        ...

    async def health(self, deadline: Deadline) -> Health: ...


class TitlesPort(Protocol):
    """The store's own record of each title: the fallback while the catalogue is slow or down."""

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        """Returns the titles among `title_ids` that have a record and came in time, by id."""
        ...

    async def popular(self, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """Returns the `limit` most popular titles, at most `MOST_POPULAR`. Empty if the records do not rank them."""
        ...

    async def health(self, deadline: Deadline) -> Health: ...


class StockPort(Protocol):
    """Prices and numbers of copies."""

    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage: ...

    async def health(self, deadline: Deadline) -> Health: ...


class ReleasesPort(Protocol):
    """Volumes and their release dates."""

    async def of_month(self, month: str, deadline: Deadline) -> tuple[Release, ...]:
        """Returns the releases of a month of Japan's calendar (YYYY-MM), by date, then most popular first. At most
        `MOST_RELEASES`, the earliest."""
        ...

    async def health(self, deadline: Deadline) -> Health: ...


class OrdersPort(Protocol):
    """Orders. Each method reads the orders of one owner only."""

    async def order(self, owner: str, order_id: str, deadline: Deadline) -> Order | None:
        """Returns the owner's order; None if it does not exist or belongs to another owner."""
        ...

    async def latest(self, owner: str, limit: int, deadline: Deadline) -> tuple[Order, ...]:
        """Returns at most `limit` of the owner's orders, latest first."""
        ...

    async def purchased(self, owner: str, deadline: Deadline) -> tuple[str, ...]:
        """Returns the ids of titles the owner has bought (not cancelled, not returned), latest purchase first."""
        ...

    async def bought(self, owner: str, title_id: str, deadline: Deadline) -> tuple[OrderLine, ...]:
        """Returns the owner's order lines of one title (not cancelled, not returned), latest order first, from at most
        `MOST_BOUGHT` orders."""
        ...

    async def health(self, deadline: Deadline) -> Health: ...


class ProfilePort(ProfileStore, Protocol):
    """Long-term profiles of customers."""

    async def health(self, deadline: Deadline) -> Health: ...


class PreferencesPort(PreferenceStore, Protocol):
    """Preferences that customers stated."""

    async def health(self, deadline: Deadline) -> Health: ...


class PagesPort(Protocol):
    """Previews of volumes."""

    async def pages(self, title_id: str, volume: int, deadline: Deadline) -> Preview | None:
        """Returns the first pages of a volume, three at most; None without a preview."""
        ...

    async def health(self, deadline: Deadline) -> Health: ...


class Classifier(Protocol):
    """Labels texts with readerships and tags."""

    async def classify(self, text: str, terms: CatalogTerms, deadline: Deadline) -> Classification:
        """Returns readerships and tags of the text with confidences, only ones that `terms` lists."""
        ...

    async def health(self, deadline: Deadline) -> Health: ...


class Embedder(Protocol):
    """Embeds texts as vectors of unit length: the same meaning has the same direction in any language."""

    @property
    def name(self) -> str:
        """Identifies model and version; part of the key of everything computed with it."""
        ...

    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        """Returns vectors in an array of shape (len(texts), dimensions), with rows of length 1."""
        ...
