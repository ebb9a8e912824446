"""What conditions are about: all that is kept of a title to hold it against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tools.store.audience import audience_of
from tools.store.models import Audience, Offer, Status, Title
from tools.store.search.conditions.sales import Sale, sale_in, sales_of, sales_on, series_price
from tools.store.search.text.characters import normalise
from tools.store.search.titles.people import AuthorKeys

_STATUSES = {
    "finished": Status.FINISHED,
    "complete": Status.FINISHED,
    "completed": Status.FINISHED,
    "publishing": Status.PUBLISHING,
    "ongoing": Status.PUBLISHING,
    "on hiatus": Status.HIATUS,
    "hiatus": Status.HIATUS,
    "discontinued": Status.DISCONTINUED,
    "cancelled": Status.DISCONTINUED,
}


def status_of(title: Title) -> Status | None:
    """The status, however the catalogue words it; None for another word or none."""
    return None if title.status is None else _STATUSES.get(normalise(title.status))


@dataclass(frozen=True, slots=True)
class Facts:
    """None, and an empty tuple, is not known. `sales`: one a format and day, the cheapest."""

    title_id: str
    genre: str | None
    rating: float | None
    status: Status | None
    volumes: int | None
    year: int | None
    audience: Audience | None
    magazine: str | None
    tags: frozenset[str]
    authors: tuple[AuthorKeys, ...]
    sales: tuple[Sale, ...] = ()

    @classmethod
    def of(cls, title: Title, offers: Sequence[Offer] = (), authors: tuple[AuthorKeys, ...] | None = None) -> Facts:
        """Where `authors` are not given they are made, which is the costly part."""
        return cls(
            title_id=title.title_id,
            genre=title.genre,
            rating=title.rating,
            status=status_of(title),
            volumes=title.volumes,
            year=title.start_year,
            audience=audience_of(title),
            magazine=title.magazine,
            tags=frozenset(title.tags),
            authors=tuple(map(AuthorKeys.of, title.authors)) if authors is None else authors,
            sales=sales_of(offers),
        )

    def sold_as(self, format_: str | None, day: str | None = None) -> Sale | None:
        """The sale in a format on a day; where no format is asked for that of a volume."""
        return sale_in(sales_on(day, self.sales), format_)

    def series_price(self, format_: str | None, day: str | None = None) -> int | None:
        """Yen for all volumes, at the price of one."""
        return series_price(self.sold_as(format_, day), self.volumes)
