"""Rows of titles in a result, with price and stock, and the details of one title."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import TypeVar

from session.history import LastShown
from session.resilience.deadline import Deadline
from tools.contract import Json, ToolContext
from tools.results.referred import resolve_title
from tools.schema.parts import ADDRESSES, EDITION, INTEGER, STRING, join_notes, record
from tools.store.audience import audience_of, content_notes, is_adult
from tools.store.failures import BackendFailure, DependencyFailure, NotFound
from tools.store.models import DIGITAL as DIGITAL
from tools.store.models import PAPER, WHOLE, Author, Availability, Offer, Title
from tools.store.stock import StockReading

T = TypeVar("T")
NAMES_SECONDS = 0.06
"""Most seconds to wait for names that are not in memory."""


def recall_titles(context: ToolContext, title_ids: Iterable[str]) -> dict[str, Title]:
    """Returns the titles with these ids, by title_id, but only those that are popular, and therefore in memory."""
    popular = context.store.popular.index.by_id
    return {title_id: popular[title_id] for title_id in title_ids if title_id in popular}


def recall_names(context: ToolContext, title_ids: Iterable[str]) -> dict[str, str]:
    """Returns names by title_id from memory; unknown names are absent."""
    ids = list(title_ids)
    return {i: title.display for i, title in recall_titles(context, ids).items()} | context.store.names.recall_names(ids)


async def read_names(context: ToolContext, title_ids: Sequence[str]) -> Mapping[str, str]:
    """Returns names by title_id, from memory or read within `NAMES_SECONDS` and half of the remaining time; unknown names
    are absent."""
    known, store = recall_names(context, title_ids), context.store
    missing = [title_id for title_id in title_ids if title_id not in known]
    deadline = context.deadline.within(min(NAMES_SECONDS, context.deadline.remaining() / 2))
    return {**known, **await store.names.read_names(missing, store.titles, deadline)} if missing else known


async def read_or(context: ToolContext, reading: Awaitable[T], name: str, otherwise: T) -> T:
    """Returns the result of `reading`; if the backend fails, adds `name` to `degraded` and returns `otherwise`."""
    try:
        return await reading
    except BackendFailure:
        context.degraded.add(name)
        return otherwise


SYNOPSIS_CHARACTERS = 240
TAGS = 6
NOTES = 4
STOCK_SECONDS = 0.15
SUM_OF_VOLUMES, COPIES, DOWNLOAD = "sum_of_volumes", "copies", "download"
CAMPAIGN = record({"until": STRING, "name": STRING}, ["until"])
OFFER = record(
    {
        "format": STRING,
        "price_jpy": {**INTEGER, "description": "Of one volume; of a set or used_set for all of it."},
        "list_price_jpy": INTEGER,
        "campaign": CAMPAIGN,
        "stock": INTEGER,
        "stock_is": {"type": "string", "enum": [SUM_OF_VOLUMES, COPIES, DOWNLOAD]},
    },
    ["format", "price_jpy"],
)


def author_name(author: Author) -> str:
    """Converts "Miura, Kentarou" to "Kentarou Miura"."""
    family, comma, given = author.name.partition(",")
    return f"{given.strip()} {family.strip()}" if comma else author.name


def authors_line(title: Title) -> str | None:
    return ", ".join(author_name(author) for author in title.authors) or None


def shorten_text(text: str | None, limit: int = SYNOPSIS_CHARACTERS) -> str | None:
    """Cuts the text, if there is any, to `limit` characters, at the end of a sentence or word if possible. A "…", which may
    exceed `limit`, marks a cut inside a sentence."""
    if text is None or len(text) <= limit:
        return text
    head = text[:limit]
    for mark in ("。", ". "):
        if (end := head.rfind(mark)) > limit // 2:
            return head[: end + 1]
    return head[: head.rfind(" ")].rstrip(",;: ") + "…" if " " in head[limit // 2 :] else head + "…"


def title_row(title: Title) -> Json:
    """Returns a title's row in a list. Price and stock are None until `stock_facts` adds them."""
    return {
        "title_id": title.title_id,
        "title": title.display,
        "title_ja": title.ja,
        "author": authors_line(title),
        "genre": title.genre,
        "rating": title.rating,
        "tags": list(title.tags[:TAGS]),
        "volumes": title.volumes,
        "status": title.status,
        "start_year": title.start_year,
        "synopsis": shorten_text(title.synopsis_en or title.synopsis_ja),
        **audience_facts(title),
        **edition_facts(title, ADDRESSES),
        "price_jpy": None,
        "in_stock": None,
    }


def audience_facts(title: Title) -> Json:
    fit_for, notes = audience_of(title), list(content_notes(title)[:NOTES])
    return {"audience": None if fit_for is None else fit_for.value, **({"content_notes": notes} if notes else {})}


def edition_facts(title: Title, names: Iterable[str] = EDITION) -> Json:
    return {name: value for name in names if (value := getattr(title, name)) is not None}


def price(offers: Sequence[Offer]) -> int | None:
    """Returns the lowest price of a single volume, in the currency's smallest unit: on paper if the title is sold on paper,
    else in any format. Returns None if no single volumes are sold."""
    single = [offer for offer in offers if offer.format not in WHOLE]
    paper = [offer.price_jpy for offer in single if offer.format == PAPER]
    return min(paper or [offer.price_jpy for offer in single], default=None)


def in_stock(row: Availability) -> bool:
    """True if at least one paper volume can be bought; for a title that is not sold on paper, if any offer can be bought."""
    counted = False
    for volume in row.volumes:  # stops at the first in stock, since a long series has a hundred
        if volume.format == PAPER:
            if volume.stock:
                return True
            counted = True
    if counted:
        return False
    paper = [offer for offer in row.offers if offer.format == PAPER]
    return any(offer.stock is None or offer.stock > 0 for offer in paper or row.offers)


def list_offers(row: Availability) -> list[Json]:
    """Returns the offers of a title. `stock_is` tells what `stock` counts; a download has no `stock`."""
    counted = {volume.format for volume in row.volumes}
    return [_describe_offer(offer, by_volume=offer.format in counted) for offer in row.offers]


def _describe_offer(offer: Offer, *, by_volume: bool) -> Json:
    facts: Json = {"format": offer.format, "price_jpy": offer.price_jpy, **describe_reduction(offer)}
    if offer.stock is None:
        return facts | {"stock_is": DOWNLOAD}
    return facts | {"stock": offer.stock, "stock_is": SUM_OF_VOLUMES if by_volume else COPIES}


def describe_reduction(offer: Offer) -> Json:
    """Returns the list price and campaign of an offer; {} if its price is not reduced."""
    facts: Json = {}
    if offer.list_price_jpy is not None and offer.list_price_jpy > offer.price_jpy:
        facts["list_price_jpy"] = offer.list_price_jpy
    if (campaign := offer.campaign) is not None:
        facts["campaign"] = {"until": campaign.until, **({"name": campaign.name} if campaign.name else {})}
    return facts


def format_ranges(numbers: Iterable[int]) -> str:
    """Formats numbers as ranges: "3-7, 9"."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in runs)


def list_shown(rows: Sequence[Json], query: str, by: str) -> LastShown:
    return LastShown(tuple(row["title_id"] for row in rows), tuple(row["title"] for row in rows), query, by)


async def read_stock(context: ToolContext, listed: Sequence[Json]) -> StockReading:
    """Reads the rows' stock within `STOCK_SECONDS`, and caches their names. Adds "stock" to `degraded` if any got no
    answer."""
    ids = [str(row["title_id"]) for row in listed]
    if not ids:
        return StockReading({})
    for row in listed:
        context.store.names.note(str(row["title_id"]), str(row["title"]), row.get("title_ja"))
    reading = await context.store.stock.read_available(ids, context.deadline.within(STOCK_SECONDS))
    if reading.unanswered:
        context.degraded.add("stock")
    return reading


def stock_facts(rows: Mapping[str, Availability], title_id: str) -> Json:
    row = rows.get(title_id)
    if row is None:
        return {"price_jpy": None, "in_stock": None}
    return {"price_jpy": price(row.offers), "in_stock": in_stock(row)}


RELATED = 10


async def read_details(context: ToolContext, asked: Json) -> Json:
    title_id, note = resolve_title(context, asked)
    title = (await read_titles(context, [title_id], context.deadline)).get(title_id)
    if title is None:
        raise NotFound(f"No title here has the id {title_id}. If that is a name, find its id with search_manga_catalog.")
    return title_facts(title) | {"related": await _list_related(context, title)} | join_notes(note)


async def read_titles(context: ToolContext, title_ids: Sequence[str], deadline: Deadline) -> Mapping[str, Title]:
    """Reads the titles with these ids, by title_id; unknown ones are absent. Adds "catalog" to `degraded` if the store's
    own records answered in place of the catalogue."""
    reading = await context.store.titles.read(title_ids, deadline)
    if reading.from_records:
        context.degraded.add("catalog")
    return reading.titles


async def _list_related(context: ToolContext, title: Title) -> list[Json]:
    if not title.related:
        return []
    # Half of the remaining time, so that a slow read does not cost the title found already.
    half = context.deadline.within(context.deadline.remaining() / 2)
    others = await read_or(context, read_titles(context, title.related[:RELATED], half), "related", {})
    return [
        {"title_id": i, "title": others[i].display} for i in title.related if i in others and _may_follow(others[i], title)
    ]


def _may_follow(other: Title, title: Title) -> bool:
    """False if `other` is an adult title and `title` is not."""
    return is_adult(title) or not is_adult(other)


async def recall_details(context: ToolContext, asked: Json) -> Json:
    title_id, note = resolve_title(context, asked)
    title = context.store.popular.index.by_id.get(title_id)
    if title is None:
        raise DependencyFailure("The catalogue is not available right now.", dependency="catalog", retry_after_ms=1000)
    return title_facts(title) | {"related": []} | join_notes(note)


def title_facts(title: Title) -> Json:
    return {
        "title_id": title.title_id,
        "title": title.display,
        "titles": {"en": title.en, "romaji": title.romaji, "ja": title.ja, "kana": title.kana},
        "alt_titles": list(title.alt_titles),
        "author": authors_line(title),
        "authors": [{"name": author_name(a), "name_ja": a.name_ja, "role": a.role} for a in title.authors],
        "genre": title.genre,
        "tags": list(title.tags),
        "synopsis": {"en": title.synopsis_en, "ja": title.synopsis_ja},
        "rating": title.rating,
        "rating_count": title.rating_count,
        "popularity_rank": title.popularity_rank,
        "volumes": title.volumes,
        "chapters": title.chapters,
        "status": title.status,
        "start_year": title.start_year,
        "end_year": title.end_year,
        "magazine": title.magazine,
        **edition_facts(title),
        **audience_facts(title),
    }


async def join_offers(context: ToolContext, result: Json) -> Json:
    title_id = result["title_id"]
    reading = await (context.stock or context.store.stock.read_available([title_id], context.deadline))
    if reading.unanswered:
        context.degraded.add("stock")
    row = reading.rows.get(title_id)
    return result | {"offers": list_offers(row) if row else [], **stock_facts(reading.rows, title_id)}
