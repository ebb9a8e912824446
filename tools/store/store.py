from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from session.resilience.clocks import Clock, Now, utc_now
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from session.stated_preferences import StatedPreferences
from tools.store.audience import Adult, is_adult
from tools.store.catalog.catalog import TitleNames, TitleReader
from tools.store.catalog.popular import PopularTitles
from tools.store.classification import TextClassifier
from tools.store.currency import Currency
from tools.store.identifiers import Identifiers
from tools.store.models import Release, Title, VolumeStock
from tools.store.models.order import Policies
from tools.store.ports import CatalogPort, OrdersPort, PagesPort, ProfilePort, ReleasesPort, TitlesPort
from tools.store.preferences import PreferenceReader
from tools.store.search.reading.reader import Reader
from tools.store.stock import StockReader


def releases_of(titles: Iterable[Title], volumes: Iterable[tuple[str, VolumeStock]]) -> Iterator[Release]:
    """Yields a release for each volume with a release date whose title is among `titles`."""
    known = {title.title_id: title for title in titles}
    for title_id, volume in volumes:
        title, date = known.get(title_id), volume.release_date
        if title is not None and date is not None:
            yield Release(title_id, volume.volume, volume.format, date, title.popularity_rank, is_adult(title))


FRESH_SECONDS = 300.0
LAST_KNOWN_SECONDS = 86_400.0


@dataclass(slots=True)
class ReleaseReader:
    """A cache of 36 months in front of the releases port: a month is fresh for five minutes and a fallback for a day. If
    `fresh` is False, every read asks the port, and cached months are only a fallback."""

    port: ReleasesPort
    clock: Clock = time.monotonic
    fresh: bool = True
    _months: Lru[str, tuple[tuple[Release, ...], float]] = field(default_factory=lambda: Lru(36))

    async def of_month(self, month: str, deadline: Deadline) -> tuple[Release, ...]:
        """Returns the releases of a month (YYYY-MM). Raises `BackendFailure` if none are fresh and the port fails."""
        if self.fresh and (known := self.last_known(month, FRESH_SECONDS)) is not None:
            return known
        told = await self.port.of_month(month, deadline)
        releases = tuple(each for each in told if each.month == month)
        self._months.put(month, (releases, self.clock()))
        return releases

    def last_known(self, month: str, seconds: float = LAST_KNOWN_SECONDS) -> tuple[Release, ...] | None:
        """Returns the month's releases if they were read within `seconds`; else None."""
        known = self._months.use(month)
        return known[0] if known is not None and self.clock() - known[1] <= seconds else None


@dataclass(frozen=True, slots=True)
class Store:
    """The ports and readers that tools use. All are guarded: a call through them ends by its deadline.

    `titles` reads by id, from `catalog` and `records`. `reader` parses customers' queries, `preference_reader` their stated
    preferences, which `preferences` stores. `classifying` labels texts. `adult` says where adult titles may appear;
    `policies` are the shop's texts; `now` is the wall clock."""

    catalog: CatalogPort
    stock: StockReader
    releases: ReleaseReader
    orders: OrdersPort
    popular: PopularTitles
    profiles: ProfilePort
    preferences: StatedPreferences
    preference_reader: PreferenceReader
    titles: TitleReader
    records: TitlesPort
    reader: Reader
    pages: PagesPort
    classifying: TextClassifier
    adult: Adult = Adult.ON_REQUEST
    policies: Policies = field(default_factory=Policies)
    names: TitleNames = field(default_factory=TitleNames)
    identifiers: Identifiers = field(default_factory=Identifiers)
    now: Now = utc_now

    @property
    def currency(self) -> Currency:
        return self.identifiers.currency
