"""Compiles conditions to a predicate on titles, and computes the prices at which a title is sold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from tools.store.audience import audience_of
from tools.store.models import DIGITAL, PAPER, WHOLE, Audience, Campaign, Conditions, Offer, Range, Status, Title
from tools.store.models.offer import FIXED, campaign_offer_problem, standing_price
from tools.store.search.text.characters import normalise
from tools.store.search.titles.document import AskedName, AuthorKeys

Days = tuple[tuple[int, int], ...]
"""Ranges of days, first and last included. A day is a number: YYYYMMDD, or MMDD for the same day of every year."""
NO_DAY = 0
_YEAR, _ALWAYS = ((0, 1231),), ((0, 0), (1000_01_01, 9999_12_31))
EVERY_DAY: Days = _YEAR
"""All days of every year, and `NO_DAY`, a day on which no campaign runs."""


def numbers_of(day: str | None) -> tuple[int, ...]:
    """Returns a day (YYYY-MM-DD) as the integers MMDD and YYYYMMDD, to compare with `Days`; `(NO_DAY,)` for None."""
    return (NO_DAY,) if day is None else (int(day[5:].replace("-", "")), int(day.replace("-", "")))


def is_one_of(day: str | None, days: Days) -> bool:
    return any(first <= number <= last for first, last in days for number in numbers_of(day))


def running(campaign: Campaign) -> tuple[Days, Days]:
    """Returns the days on which a valid campaign runs, and the days on which it does not."""
    until = int(campaign.until.replace("-", ""))
    start = int((campaign.start or "1000-01-01").replace("-", ""))
    over_new_year = campaign.yearly and start > until
    days = ((101, until), (start, 1231)) if over_new_year else ((start, until),)
    return days, tuple(_others(days, _YEAR if campaign.yearly else _ALWAYS))


def _others(days: Days, every: Days) -> Iterator[tuple[int, int]]:
    for first, last in every:
        for taken_first, taken_last in days:
            if first <= taken_last and taken_first <= last:
                if first < taken_first:
                    yield first, taken_first - 1
                first = taken_last + 1
        if first <= last:
            yield first, last


@dataclass(frozen=True, slots=True)
class Sale:
    """A title's price in one format, in the currency's smallest unit: the price of one volume or, if the format is a
    complete set, of the set. `stocked` tells whether the title can be bought now. `days` are the days of this price."""

    format: str
    price: int
    stocked: bool
    days: Days = EVERY_DAY


def sales_of(offers: Sequence[Offer]) -> tuple[Sale, ...]:
    """Returns the sales of each format: its lowest regular price and, on the days of its cheapest campaign, the campaign's
    price if that is lower. A sale is stocked if any offer of the format is."""
    formats = dict.fromkeys(offer.format for offer in offers)
    return tuple(sale for each in formats for sale in _sales(each, [offer for offer in offers if offer.format == each]))


def sales_on(day: str | None, sales: Sequence[Sale]) -> tuple[Sale, ...]:
    """Returns the sales that apply on a day (YYYY-MM-DD). None stands for a day without campaigns."""
    return tuple(sale for sale in sales if is_one_of(day, sale.days))


def sale_in(sales: Sequence[Sale], format_: str | None) -> Sale | None:
    """Returns the sale in `format_`, or None if the title has no such sale. If `format_` is None, returns the paper sale,
    else the digital one, else the first that is not of a complete set, else None."""
    if format_ is not None:
        return next((sale for sale in sales if sale.format == format_), None)
    single = [sale for sale in sales if sale.format not in WHOLE]
    usual = (PAPER, DIGITAL)
    return min(single, key=lambda each: usual.index(each.format) if each.format in usual else len(usual), default=None)


def series_price(sale: Sale | None, volumes: int | None) -> int | None:
    """Returns the price of all volumes: that of a set, or one volume's price times `volumes`; None if unknown."""
    if sale is None or sale.format in WHOLE:
        return None if sale is None else sale.price
    return sale.price * volumes if volumes else None


def _sales(format_: str, offers: Sequence[Offer]) -> Iterator[Sale]:
    stocked = any(offer.stock is None or offer.stock > 0 for offer in offers)
    regular = min(map(regular_price, offers))
    reduced = min((offer for offer in offers if _is_reduced(offer)), key=standing_price, default=None)
    if reduced is None or reduced.campaign is None or reduced.price_jpy >= regular:
        yield Sale(format_, regular, stocked)
        return
    days, others = running(reduced.campaign)
    yield Sale(format_, reduced.price_jpy, stocked, days)
    yield Sale(format_, regular, stocked, others)


def regular_price(offer: Offer) -> int:
    if offer.campaign is None or offer.format in FIXED or offer.list_price_jpy is None:
        return standing_price(offer)
    return offer.list_price_jpy


def _is_reduced(offer: Offer) -> bool:
    return offer.campaign is not None and offer.format not in FIXED and campaign_offer_problem(offer) is None


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
    """Returns the status that the catalogue's wording stands for; None for a missing or unknown wording."""
    return None if title.status is None else _STATUSES.get(normalise(title.status))


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a title that conditions check; None or an empty value means unknown. `genre` is the readership;
    `magazine` has the names of the magazine and of the publisher; `sales` has the lowest price by format and day."""

    title_id: str
    genre: str | None
    rating: float | None
    status: Status | None
    volumes: int | None
    year: int | None
    audience: Audience | None
    magazine: tuple[str, ...]
    tags: frozenset[str]
    authors: tuple[AuthorKeys, ...]
    sales: tuple[Sale, ...] = ()

    @classmethod
    def from_title(cls, title: Title, offers: Sequence[Offer] = (), authors: tuple[AuthorKeys, ...] | None = None) -> Facts:
        """Collects the facts of a title. Computes the costly author keys unless `authors` is given."""
        return cls(
            title_id=title.title_id,
            genre=title.genre,
            rating=title.rating,
            status=status_of(title),
            volumes=title.volumes,
            year=title.start_year,
            audience=audience_of(title),
            magazine=tuple(filter(None, (title.magazine, title.publisher))),
            tags=frozenset(title.tags),
            authors=tuple(map(AuthorKeys.from_author, title.authors)) if authors is None else authors,
            sales=sales_of(offers),
        )

    def sold_as(self, format_: str | None, day: str | None = None) -> Sale | None:
        return sale_in(sales_on(day, self.sales), format_)

    def series_price(self, format_: str | None, day: str | None = None) -> int | None:
        return series_price(self.sold_as(format_, day), self.volumes)


@dataclass(frozen=True, slots=True)
class OneOf:
    field: str
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class NoneOf:
    """A criterion: the title has none of the values. A title whose value is unknown fails, unless `may_be_unknown`."""

    field: str
    values: Sequence[str]
    may_be_unknown: bool = False


@dataclass(frozen=True, slots=True)
class Within:
    """A criterion: the number lies within the bounds. An unknown number fails."""

    field: str
    bounds: Range


Criterion = OneOf | NoneOf | Within


def criteria(asked: Conditions) -> Iterator[Criterion]:
    """Yields the criteria of all conditions except those on format, price, stock and authors."""
    one_of = [("genre", asked.genres), ("status", asked.statuses), ("magazine", asked.magazines)]
    if (most := asked.audience) is not None:
        one_of.append(("audience", tuple(each for each in Audience if each.fits(most))))
    none_of = {"tags": asked.without_tags, "genre": asked.without_genres, "magazine": asked.without_magazines}
    rating = Range(asked.min_rating) if asked.min_rating is not None and asked.min_rating > 0 else Range()
    within = {"rating": rating, "volumes": asked.volumes, "year": asked.years}
    yield from (OneOf(field, values) for field, values in one_of if values)
    yield from (Within(field, bounds) for field, bounds in within.items() if bounds)
    if asked.no_adult:
        yield NoneOf("audience", (Audience.ADULT,), may_be_unknown=True)
    yield from (OneOf("tags", group) for group in asked.tags)
    yield from (NoneOf(field, values) for field, values in none_of.items() if values)
    if asked.without_titles:
        yield NoneOf("title_id", asked.without_titles, may_be_unknown=True)


Test = Callable[[Facts], bool]
_SEVERAL = frozenset({"tags", "magazine"})


class Check:
    """A predicate compiled from conditions. Runs the cheapest tests first, and stops at the first that fails."""

    def __init__(self, conditions: Conditions) -> None:
        of_facts = map(_test, criteria(conditions))
        self._tests = (*of_facts, *_of_sale(conditions), *_of_authors(conditions))
        self._asks_for_authors = conditions.author is not None or bool(conditions.without_authors)

    def admit(self, facts: Facts) -> bool:
        return all(test(facts) for test in self._tests)

    def satisfied_by(self, title: Title, offers: Sequence[Offer] = ()) -> bool:
        """Returns True if a title with these offers meets all conditions. Computes the costly author keys only if needed."""
        return self.admit(Facts.from_title(title, offers, None if self._asks_for_authors else ()))


def satisfies(title: Title, conditions: Conditions, offers: Sequence[Offer] = ()) -> bool:
    return Check(conditions).satisfied_by(title, offers)


def _test(asked: Criterion) -> Test:
    held = attrgetter(asked.field)
    if isinstance(asked, Within):
        bounds = asked.bounds
        return lambda facts: held(facts) in bounds
    values = frozenset(asked.values)
    if isinstance(asked, OneOf):
        if asked.field in _SEVERAL:
            return lambda facts: not values.isdisjoint(held(facts))
        return lambda facts: held(facts) in values
    if asked.field in _SEVERAL:
        return lambda facts: bool(held(facts)) and values.isdisjoint(held(facts))
    unfit = values if asked.may_be_unknown else values | {None}
    return lambda facts: held(facts) not in unfit


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
