"""The narrow doors to the backends, in the store's own terms.

Every method takes the deadline of the call and either answers before it or raises. Adapters turn driver errors into
`tools.store.failures` at their own edge, so nobody above knows which driver it was.
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
"""Volumes listed for a month: in Japan some thousand manga volumes come out in one."""
MOST_BOUGHT = 100
MOST_POPULAR = 500


class CatalogPort(Protocol):
    """Finds and describes titles."""

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        """Hits for free text in any script, best first, all satisfying the conditions."""
        ...

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        """The titles that exist among `title_ids`."""
        ...

    async def popular(self, conditions: Conditions, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """The most popular titles that satisfy the conditions."""
        ...

    async def for_reader(self, query: ReaderQuery, deadline: Deadline) -> tuple[Title, ...]:
        """Titles to a reader's taste, best first, all satisfying the conditions."""
        ...

    async def nearest(self, text: str, limit: int, deadline: Deadline) -> tuple[Neighbour, ...] | None:
        """The titles nearest to the text in meaning, nearest first. None if the text has no vector in time; empty if the
        catalogue has no vectors."""
        ...

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        """The catalogue's own words; kept in the process, so that it is asked for them seldom."""
        ...

    async def match_names(self, names: Sequence[str], deadline: Deadline) -> dict[str, NameMatches]:
        """The titles and authors of exactly these names, in any script; names without any are left out. 64 names at most."""
        ...

    async def health(self, deadline: Deadline) -> Health: ...


class TitlesPort(Protocol):
    """The store's own record of each title, for when the catalogue is late or away."""

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        """The titles among `title_ids` that have a record and came in time."""
        ...

    async def popular(self, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """The most popular titles, at most `MOST_POPULAR`, the most popular first. Empty if the records do not say."""
        ...

    async def health(self, deadline: Deadline) -> Health: ...


class StockPort(Protocol):
    """Prices and copies."""

    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage: ...

    async def health(self, deadline: Deadline) -> Health: ...


class ReleasesPort(Protocol):
    """Volumes and their days of release."""

    async def of_month(self, month: str, deadline: Deadline) -> tuple[Release, ...]:
        """Releases in a month of Japan's calendar (YYYY-MM), by day, then the best known first. At most
        `MOST_RELEASES`, the earliest."""
        ...

    async def health(self, deadline: Deadline) -> Health: ...


class OrdersPort(Protocol):
    """Orders, reachable only through their owner."""

    async def order(self, owner: str, order_id: str, deadline: Deadline) -> Order | None:
        """The owner's order, or None: not there and not theirs are one answer."""
        ...

    async def latest(self, owner: str, limit: int, deadline: Deadline) -> tuple[Order, ...]:
        """At most `limit` of the owner's orders, latest first."""
        ...

    async def purchased(self, owner: str, deadline: Deadline) -> tuple[str, ...]:
        """Ids of the titles the owner has bought (not cancelled, not returned), latest first."""
        ...

    async def bought(self, owner: str, title_id: str, deadline: Deadline) -> tuple[OrderLine, ...]:
        """The owner's order lines of one title (not cancelled, not returned), of at most `MOST_BOUGHT` orders, the latest
        first."""
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
        """The first pages of a volume, three at most; None without a preview."""
        ...

    async def health(self, deadline: Deadline) -> Health: ...


class Classifier(Protocol):
    """Labels texts with readerships and tags."""

    async def classify(self, text: str, terms: CatalogTerms, deadline: Deadline) -> Classification:
        """The readerships and tags of the text, in the words of `terms` and no others."""
        ...

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
        """Returns vectors in an array of shape (len(texts), dimensions), with rows of length 1."""
        ...
