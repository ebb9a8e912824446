"""Any title, volume, offer and order that the models admit, for tests that hold for all of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

from hypothesis import strategies as st

from session.profile import LONGEST_SUBJECT, Event, EventKind
from tools.store.identifiers import AUDIENCES, GENRES, ORDER_ID, TITLE_ID
from tools.store.models import (
    DIGITAL,
    PAPER,
    SET,
    USED_SET,
    Author,
    Availability,
    Campaign,
    Offer,
    Order,
    OrderLine,
    Shipment,
    Title,
    TrackingEvent,
    VolumeStock,
)
from tools.store.models.values import MOST

LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXTS = st.text(LETTERS, min_size=1, max_size=12)
ANY_TEXTS = st.text(LETTERS, max_size=12)
COUNTS = st.integers(0, 9) | st.just(MOST)
YEN = st.integers(1, 3_000)
TITLE_IDS = st.from_regex(TITLE_ID, fullmatch=True)
DAYS = st.dates(date(2000, 1, 1), date(2099, 12, 31)).map(date.isoformat)
YEARLY = st.dates(date(2001, 1, 1), date(2001, 12, 31)).map(lambda day: day.isoformat()[5:])
FORMATS = st.sampled_from([PAPER, DIGITAL, SET, USED_SET]) | TEXTS
TIMES = st.datetimes(datetime(2000, 1, 1), datetime(2099, 12, 31), timezones=st.just(UTC))
MOMENTS = TIMES.map(lambda moment: moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"))


def maybe(values: st.SearchStrategy[str] | st.SearchStrategy[int] | st.SearchStrategy[float]) -> st.SearchStrategy[object]:
    return st.none() | values


def several(values: st.SearchStrategy[object], least: int = 0) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(values, min_size=least, max_size=3).map(tuple)


AUTHORS = st.builds(Author, TEXTS, maybe(TEXTS), maybe(TEXTS), maybe(TEXTS))
STARS = st.tuples(*[st.integers(0, 9)] * 5)
RATED = st.fixed_dictionaries({"rating_count": maybe(COUNTS)}) | STARS.map(
    lambda stars: {"rating_count": sum(stars), "rating_counts": stars}
)
"""How many rated, alone or by their stars."""
TITLES = st.builds(
    Title,
    TITLE_IDS,
    en=TEXTS,
    **dict.fromkeys(("romaji", "ja", "kana", "synopsis_en", "synopsis_ja", "status", "magazine"), maybe(TEXTS)),
    **dict.fromkeys(("alt_titles", "tags"), several(TEXTS)),
    authors=several(AUTHORS),
    genre=maybe(st.sampled_from(GENRES)),
    audience=maybe(st.sampled_from(AUDIENCES)),
    rating=maybe(st.floats(0, 5) | st.integers(0, 5).map(float)),
    **dict.fromkeys(("volumes", "chapters"), maybe(COUNTS)),
    popularity_rank=maybe(st.integers(1, MOST)),
    start_year=maybe(st.integers(1000, 2000)),
    end_year=maybe(st.integers(2000, 9999)),
    related=several(TITLE_IDS),
    publisher=maybe(TEXTS),
    edition_language=maybe(st.sampled_from(("ja", "en-GB", "zh-Hant"))),
    **dict.fromkeys(
        ("cover_url", "product_url"), maybe(st.sampled_from(("https://shop.example/1.jpg?x=1", "https://a.b:8443")))
    ),
).flatmap(lambda title: RATED.map(lambda counts: replace(title, **counts)))


@st.composite
def campaigns(draw: st.DrawFn) -> Campaign:
    """Once, or every year."""
    if draw(st.booleans()):
        start, until = sorted([draw(DAYS), draw(DAYS)])
        return Campaign(until, draw(st.sampled_from([None, start])), draw(maybe(TEXTS)))
    return Campaign(draw(YEARLY), draw(YEARLY), draw(maybe(TEXTS)))


@st.composite
def an_offer(draw: st.DrawFn) -> Offer:
    """At its price, and perhaps reduced, for a while or for good."""
    offer = Offer(draw(FORMATS), draw(YEN), draw(maybe(COUNTS)))
    if not draw(st.booleans()):
        return offer
    reduced = replace(offer, list_price_jpy=offer.price_jpy + draw(YEN))
    return replace(reduced, campaign=draw(st.none() | campaigns()))


OFFERS = st.lists(an_offer(), max_size=4, unique_by=lambda offer: offer.format).map(tuple)
VOLUMES = st.builds(
    VolumeStock,
    COUNTS,
    st.sampled_from([None, "9784000000116", "9784000000123"]),
    st.sampled_from(["physical", DIGITAL]),
    YEN,
    COUNTS,
    maybe(DAYS),
    maybe(DAYS),
)
AVAILABILITIES = st.builds(Availability, TITLE_IDS, OFFERS, several(VOLUMES), MOMENTS)
LINES = st.builds(
    OrderLine,
    TITLE_IDS,
    ANY_TEXTS,
    maybe(COUNTS),
    maybe(ANY_TEXTS),
    ANY_TEXTS,
    st.integers(1, 9),
    st.integers(0, 3_000),
    maybe(ANY_TEXTS),
    maybe(DAYS),
    maybe(ANY_TEXTS),
)
SCANS = st.builds(TrackingEvent, ANY_TEXTS, MOMENTS, maybe(ANY_TEXTS), maybe(ANY_TEXTS))
SHIPMENTS = st.builds(
    Shipment, ANY_TEXTS, ANY_TEXTS, ANY_TEXTS, ANY_TEXTS, maybe(MOMENTS), maybe(MOMENTS), several(SCANS), maybe(ANY_TEXTS)
)


@st.composite
def orders(draw: st.DrawFn) -> Order:
    """Whose amounts add up."""
    lines = draw(several(LINES, least=1))
    subtotal, shipping = sum(line.quantity * line.unit_price_jpy for line in lines), draw(st.integers(0, 2_000))
    return Order(
        draw(st.from_regex(ORDER_ID, fullmatch=True)),
        draw(TEXTS),
        draw(MOMENTS),
        lines,
        subtotal,
        shipping,
        subtotal + shipping,
        draw(ANY_TEXTS),
        draw(several(SHIPMENTS)),
        draw(maybe(DAYS)),
        draw(maybe(ANY_TEXTS)),
        draw(maybe(DAYS)),
        draw(maybe(ANY_TEXTS)),
    )


EVENTS = st.builds(Event, st.sampled_from(EventKind), st.text(LETTERS, min_size=1, max_size=LONGEST_SUBJECT), MOMENTS)
