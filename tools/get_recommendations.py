"""get_recommendations: what to read next, and why."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from tools.contract import CachePolicy, Fallback, Json, Tool, ToolContext
from tools.failures import BackendFailure
from tools.models import CatalogPage, CatalogQuery, Facets, Filters, Title
from tools.presentation import title_card, with_stock
from tools.recommending import Ranked, Reader, is_named, rank
from tools.schemas import STRING, TITLE_CARD, answer, arguments, listed

INPUT = arguments(
    {
        "criteria": {
            "type": "string",
            "minLength": 1,
            "maxLength": 500,
            "description": "What the customer is in the mood for, in plain words: themes, titles they liked, authors.",
        },
        "user_id": {
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "description": "Only ever the signed-in customer; best left out.",
        },
        "exclude_titles": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": 300},
            "maxItems": 50,
            "default": [],
            "description": "Titles not to recommend, by id or by name.",
        },
        "count": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3, "description": "How many."},
    },
    required=["criteria"],
)

_CARD = {
    **TITLE_CARD,
    "properties": {**TITLE_CARD["properties"], "reason": {**STRING, "description": "Why this one; say it in your words."}},
    "required": [*TITLE_CARD["required"], "reason"],
}

OUTPUT = answer(
    {
        "recommendations": listed(_CARD, "Best first; never a title the customer owns or excluded."),
        "based_on": {"type": "array", "items": {"type": "string"}, "description": "criteria, purchases, popularity."},
        "note": STRING,
    },
    required=["recommendations"],
)

CANDIDATES = 40
TASTE_TITLES = 20


async def recommend(context: ToolContext, asked: Json) -> Json:
    page, reader = await asyncio.gather(_by_criteria(context, asked), _reader(context))
    kindred = await _kindred(context, reader, page)
    candidates = rank(asked["criteria"], page.titles, kindred, reader)
    chosen = [each for each in candidates if _wanted(each.title, asked, reader)][: asked["count"]]
    if len(chosen) < asked["count"]:
        chosen += _popular(context, asked, reader, chosen)
    based_on = ["criteria", *(["purchases"] if reader.owned else []), "popularity"]
    return _answer(chosen, based_on)


async def trending(context: ToolContext, asked: Json) -> Json:
    """Popular titles. What the customer owns is left out if the orders can still be asked."""
    reader = await _reader(context)
    note = "Personal recommendations are not available right now; these are what other readers buy."
    return _answer(_popular(context, asked, reader, []), ["popularity"]) | {"note": note}


async def _by_criteria(context: ToolContext, asked: Json) -> CatalogPage:
    query = CatalogQuery(asked["criteria"], Filters(), CANDIDATES)
    page = await context.store.catalog.search(query, context.deadline)
    context.degraded.update(page.degraded)
    return page


async def _reader(context: ToolContext) -> Reader:
    """What is known of the customer; nothing for an anonymous one, and nothing, labelled, when the orders are late."""
    if context.user is None:
        return Reader()
    try:
        owned = await context.store.orders.purchased(context.user, context.deadline)
    except BackendFailure:
        context.degraded.add("profile")
        return Reader()
    try:
        titles = await context.store.catalog.get(owned[:TASTE_TITLES], context.deadline) if owned else {}
    except BackendFailure:
        # What they own is known, and is not recommended, even where nothing is known about it.
        context.degraded.add("taste")
        titles = {}
    return Reader(frozenset(owned), tuple(titles[i] for i in owned if i in titles))


async def _kindred(context: ToolContext, reader: Reader, page: CatalogPage) -> tuple[Title, ...]:
    """Titles like those the customer bought, or like the best hits for one of whom nothing is known."""
    like = reader.titles or page.titles[:3]
    if not like:
        return ()
    try:
        return await context.store.catalog.alike(_facets(like), CANDIDATES, context.deadline)
    except BackendFailure:
        context.degraded.add("taste")
        return ()


def _facets(titles: Sequence[Title]) -> Facets:
    tags = Counter(tag for title in titles for tag in title.tags)
    authors = dict.fromkeys(author.name for title in titles for author in title.authors)
    genres = Counter(title.genre for title in titles if title.genre)
    genre = genres.most_common(1)[0][0] if genres else None
    return Facets({tag: count / len(titles) for tag, count in tags.items()}, tuple(authors), genre)


def _popular(context: ToolContext, asked: Json, reader: Reader, chosen: Sequence[Ranked]) -> list[Ranked]:
    taken = {each.title.title_id for each in chosen}
    popular = context.store.popular.matching(Filters(), 200)
    fitting = [t for t in popular if t.title_id not in taken and _wanted(t, asked, reader)]
    return [Ranked(t, "Popular with the store's readers.") for t in fitting[: asked["count"] - len(chosen)]]


def _wanted(title: Title, asked: Json, reader: Reader) -> bool:
    return title.title_id not in reader.owned and not any(is_named(title, name) for name in asked["exclude_titles"])


def _answer(chosen: Sequence[Ranked], based_on: list[str]) -> Json:
    cards = [title_card(each.title) | {"reason": each.reason} for each in chosen]
    return {"recommendations": cards, "based_on": based_on}


async def complete(context: ToolContext, result: Json) -> Json:
    return result | {"recommendations": await with_stock(context, result["recommendations"])}


TOOL = Tool(
    name="get_recommendations",
    title="Recommend manga",
    description="Recommends titles for what the customer says they like, each with a reason, and takes account of what the "
    "signed-in customer has bought. Never recommends a title they own or asked to leave out. Use it for 'what should "
    "I read next' rather than for finding a known title.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=recommend,
    complete=complete,
    timeout_ms=1000,
    cache=CachePolicy(fresh_seconds=60, stale_seconds=600, per_user=True),
    fallback=Fallback("cached_trending_manga", trending),
    summary=lambda result: f"{len(result['recommendations'])} recommendations",
    remembered=("count",),
    instead="Use search_manga_catalog with a theme in plain words.",
)
