"""Whether answers are what a bookseller would give. An unknown fact satisfies nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools.store.audience import audience_of
from tools.store.models import DIGITAL, PAPER, Offer, Title

Json = Mapping[str, Any]
_STEPS = ("all_ages", "teen", "older_teen", "adult")
_OTHER = {PAPER: DIGITAL, DIGITAL: PAPER}


def offer_of(offers: Sequence[Offer], format_: str) -> Offer | None:
    return next((offer for offer in offers if offer.format == format_), None)


def satisfies(title: Title, offers: Sequence[Offer], where: Json) -> bool:
    """Whether one title is a right answer, its place aside."""
    digital = where.get("format") == DIGITAL
    sale = offer_of(offers, DIGITAL if digital else PAPER)
    price = None if sale is None else sale.price_jpy
    paper, tags = offer_of(offers, PAPER), set(title.tags)
    authors = " ".join(part for each in title.authors for part in (each.name.split(",")[0], each.name_ja or ""))
    audience = audience_of(title)
    tests = (
        _one_of(title.status, where, "status"),
        _within(title.volumes, where.get("min_volumes"), where.get("max_volumes")),
        _within(title.start_year, where.get("from_year"), where.get("to_year")),
        _within(title.rating, where.get("min_rating"), None),
        all(tags.intersection(group) for group in where.get("tags", ())),
        not tags.intersection(where.get("no_tags", ())),
        _one_of(title.genre, where, "genre"),
        title.genre not in where.get("no_genre", ()),
        _named(authors, where, "authors"),
        not any(name in authors for name in where.get("no_authors", ())),
        _named(title.magazine or "", where, "magazines"),
        not any(name in (title.magazine or "") for name in where.get("no_magazines", ())),
        _within(price, where.get("min_price"), where.get("max_price")),
        _within(price * title.volumes if price and title.volumes else None, None, where.get("max_series_price")),
        "format" not in where or offer_of(offers, where["format"]) is not None,
        "no_format" not in where or offer_of(offers, _OTHER[where["no_format"]]) is not None,
        "in_stock" not in where or (paper is not None and bool(paper.stock)) == where["in_stock"],
        "audience" not in where or (audience is not None and _STEPS.index(audience) <= _STEPS.index(where["audience"])),
        title.en not in where.get("no_titles", ()),
    )
    return all(tests)


def in_order(titles: Sequence[Title], offers: Mapping[str, Sequence[Offer]], where: Json) -> bool:
    """Whether the answers stand in the order that was asked for."""
    if "sort" not in where:
        return True
    format_ = where.get("format", PAPER)
    keys = [_key(title, offers.get(title.title_id, ()), where["sort"], format_) for title in titles]
    return None not in keys and keys == sorted(keys, key=lambda key: key or 0.0)


def refused(title: Title, offers: Sequence[Offer], unwanted: Json) -> bool:
    """Whether a title is what the words refuse."""
    if "titles_any" in unwanted:
        return title.en in unwanted["titles_any"]
    return bool(unwanted) and satisfies(title, offers, unwanted)


def _key(title: Title, offers: Sequence[Offer], sort: str, format_: str) -> float | None:
    match sort:
        case "popularity":
            return title.popularity_rank
        case "rating":
            return None if title.rating is None else -title.rating
        case "newest":
            return None if title.start_year is None else -title.start_year
        case "shortest":
            return title.volumes
    sale = offer_of(offers, format_) or offer_of(offers, DIGITAL)
    return None if sale is None else sale.price_jpy


def _one_of(value: str | None, where: Json, name: str) -> bool:
    return name not in where or value in where[name]


def _named(text: str, where: Json, name: str) -> bool:
    return name not in where or any(each in text for each in where[name])


def _within(value: float | None, least: float | None, most: float | None) -> bool:
    if least is None and most is None:
        return True
    return value is not None and (least is None or value >= least) and (most is None or value <= most)
