"""Conditions, read once and held against many titles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tools.store.audience import audience_of
from tools.store.models import Audience, Conditions, Offer, Status, Title
from tools.store.search.conditions.sales import Sale, sale_in, sales_of, sales_on, series_price
from tools.store.search.text.characters import normalise
from tools.store.search.titles.people import AskedName, AuthorKeys

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


Test = Callable[[Facts], bool]


class Check:
    """Tests in the order of their cost: a title that misses one is held against no further."""

    def __init__(self, conditions: Conditions) -> None:
        self._tests = (*_plain(conditions), *_of_tags(conditions), *_of_sale(conditions), *_of_authors(conditions))
        self._asks_for_authors = conditions.author is not None or bool(conditions.without_authors)

    def admit(self, facts: Facts) -> bool:
        """True if all conditions are met. An unknown fact meets none."""
        return all(test(facts) for test in self._tests)

    def satisfied_by(self, title: Title, offers: Sequence[Offer] = ()) -> bool:
        """Without keys of authors where nobody asks for one: to make them is the costly part."""
        return self.admit(Facts.of(title, offers, None if self._asks_for_authors else ()))


def satisfies(title: Title, conditions: Conditions, offers: Sequence[Offer] = ()) -> bool:
    """True if `title`, sold by these `offers`, meets every condition."""
    return Check(conditions).satisfied_by(title, offers)


def rated_at_least(rating: float | None, least: float | None) -> bool:
    """A title without a rating satisfies no minimum above zero: unknown is not good."""
    if least is None or least <= 0:
        return True
    return rating is not None and rating >= least


def _plain(asked: Conditions) -> Iterator[Test]:
    if asked.genres:
        yield lambda facts: facts.genre in asked.genres
    if asked.min_rating is not None:
        yield lambda facts: rated_at_least(facts.rating, asked.min_rating)
    if asked.statuses:
        yield lambda facts: facts.status in asked.statuses
    if asked.volumes:
        yield lambda facts: facts.volumes in asked.volumes
    if asked.years:
        yield lambda facts: facts.year in asked.years
    if (most := asked.audience) is not None:
        yield lambda facts: facts.audience is not None and facts.audience.fits(most)
    if asked.no_adult:
        yield lambda facts: facts.audience is not Audience.ADULT
    if asked.magazines:
        yield lambda facts: facts.magazine in asked.magazines


def _of_tags(asked: Conditions) -> Iterator[Test]:
    for group in map(frozenset, asked.tags):
        yield lambda facts, group=group: not group.isdisjoint(facts.tags)  # type: ignore[misc]
    if asked.without_tags:
        unwanted = frozenset(asked.without_tags)
        yield lambda facts: bool(facts.tags) and unwanted.isdisjoint(facts.tags)
    if asked.without_genres:
        yield lambda facts: facts.genre is not None and facts.genre not in asked.without_genres
    if asked.without_magazines:
        yield lambda facts: facts.magazine is not None and facts.magazine not in asked.without_magazines
    if asked.without_titles:
        yield lambda facts: facts.title_id not in asked.without_titles


def _of_sale(asked: Conditions) -> Iterator[Test]:
    if asked.format is not None:
        yield lambda facts: facts.sold_as(asked.format, asked.day) is not None
    if asked.price:
        yield lambda facts: (sale := facts.sold_as(asked.format, asked.day)) is not None and sale.price in asked.price
    if asked.series_price:
        yield lambda facts: facts.series_price(asked.format, asked.day) in asked.series_price
    if asked.in_stock or asked.all_volumes:
        yield lambda facts: (sale := facts.sold_as(asked.format, asked.day)) is not None and sale.stocked


def _of_authors(asked: Conditions) -> Iterator[Test]:
    if asked.author is not None:
        wanted = AskedName(asked.author)
        yield lambda facts: any(map(wanted.fits, facts.authors))
    unwanted = tuple(map(AskedName, asked.without_authors))
    if unwanted:
        yield lambda facts: bool(facts.authors) and not any(name.fits(keys) for name in unwanted for keys in facts.authors)
