"""All facts of one title, for the tool and for readers of its address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from session.resilience.deadline import Deadline
from tools.contract import Json, ToolContext
from tools.results.referred import resolve_title
from tools.results.rows import audience_facts, author_name, authors_line, edition_facts, in_stock, list_offers, price
from tools.store.audience import is_adult
from tools.store.failures import BackendFailure, DependencyFailure, NotFound
from tools.store.models import Availability, Title

RELATED = 10


async def read_details(context: ToolContext, asked: Json) -> Json:
    title_id, note = resolve_title(context, asked)
    title = (await _read_titles(context, [title_id], context.deadline)).get(title_id)
    if title is None:
        raise NotFound(f"No title here has the id {title_id}. If that is a name, find its id with search_manga_catalog.")
    return title_facts(title) | {"related": await _list_related(context, title)} | ({"note": note} if note else {})


async def _read_titles(context: ToolContext, title_ids: Sequence[str], deadline: Deadline) -> Mapping[str, Title]:
    reading = await context.store.titles.read(title_ids, deadline)
    if reading.from_records:
        context.degraded.add("catalog")
    return reading.titles


async def _list_related(context: ToolContext, title: Title) -> list[Json]:
    """Related titles by name; none, rather than a failure, if they cannot be read."""
    if not title.related:
        return []
    try:
        # Half of what is left: the title itself has been found and must not be lost to its relations.
        half = context.deadline.within(context.deadline.remaining() / 2)
        others = await _read_titles(context, title.related[:RELATED], half)
    except BackendFailure:
        context.degraded.add("related")
        return []
    return [
        {"title_id": i, "title": others[i].display} for i in title.related if i in others and _may_follow(others[i], title)
    ]


def _may_follow(other: Title, title: Title) -> bool:
    """True unless the title is for adults and the one asked for is not."""
    return is_adult(title) or not is_adult(other)


async def recall_details(context: ToolContext, asked: Json) -> Json:
    title_id, note = resolve_title(context, asked)
    title = context.store.popular.index.by_id.get(title_id)
    if title is None:
        raise DependencyFailure("The catalogue is not available right now.", dependency="catalog", retry_after_ms=1000)
    return title_facts(title) | {"related": []} | ({"note": note} if note else {})


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
    return result | offers(reading.rows.get(title_id))


def offers(row: Availability | None) -> Json:
    if row is None:
        return {"offers": [], "price_jpy": None, "in_stock": None}
    return {"offers": list_offers(row), "price_jpy": price(row.offers), "in_stock": in_stock(row)}
