"""get_recommendations: what to read next, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from session.history import RECOMMENDATIONS, LastShown
from session.result_cache import result_set_name
from tools.contract import CachePolicy, Fallback, Json, Tool, ToolContext
from tools.recommend.customer import customer_taste, purchased
from tools.recommend.ranking import Excluded, named_as_liked, rank, reason
from tools.recommend.taste import CustomerTaste, taste
from tools.recommend.together import both
from tools.results.cards import title_card, with_stock
from tools.schema.parts import STRING, TITLE_CARD, answer, arguments, listed
from tools.store.failures import BackendFailure, DependencyFailure
from tools.store.models import CatalogPage, CatalogQuery, Filters, Title

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

BASED_ON = "criteria, purchases, views (what the customer looked at), searches, popularity."

OUTPUT = answer(
    {
        "recommendations": listed(_CARD, "Best first; never a title the customer owns, named as liked or excluded."),
        "based_on": {"type": "array", "items": {"type": "string"}, "description": BASED_ON},
        "result_set": {**STRING, "description": "Names these titles; check_inventory takes it in place of title_ids."},
    },
    required=["recommendations", "result_set"],
)

CANDIDATES = 40
MOST_POPULAR = 200
NOTHING_FITS = (
    "Nothing here fits the criteria: these go by what based_on says alone. Say so, or ask the customer for other words."
)


async def recommend(context: ToolContext, asked: Json) -> Json:
    page, customer = await both(_by_criteria(context, asked), customer_taste(context))
    hits = () if page.guessed else page.titles
    liked = named_as_liked(hits, asked["criteria"])
    customer = customer.with_named(liked)
    to_taste = await _to_taste(context, customer, hits)
    excluded = Excluded((*customer.owned, *(title.title_id for title in liked)), asked["exclude_titles"])
    chosen = _first(rank(hits, to_taste), excluded, asked["count"])
    matched = {title.title_id for title in hits}
    cards = [_card(each, reason(each, asked["criteria"] if each.title_id in matched else None, customer)) for each in chosen]
    if len(cards) < asked["count"]:
        cards += _popular(context, asked["count"] - len(cards), excluded.and_these(chosen))
    known = {"purchases": customer.owned, "views": customer.viewed, "searches": customer.searched}
    personal = [what for what, there in known.items() if there]
    if not hits:
        return _answer(cards, [*personal, "popularity"]) | {"note": NOTHING_FITS}
    return _answer(cards, ["criteria", *personal, "popularity"])


async def trending(context: ToolContext, asked: Json) -> Json:
    """Popular titles. What the customer owns is left out if the orders can still be asked."""
    if not context.store.popular.title_ids:
        raise DependencyFailure("The catalogue is not available right now.", dependency="catalog", retry_after_ms=1000)
    bought = await purchased(context, context.user, context.deadline) if context.user is not None else ()
    note = "Personal recommendations are not available right now; these are what other readers buy."
    excluded = Excluded(bought, asked["exclude_titles"])
    return _answer(_popular(context, asked["count"], excluded), ["popularity"]) | {"note": note}


async def _by_criteria(context: ToolContext, asked: Json) -> CatalogPage:
    query = CatalogQuery(asked["criteria"], Filters(), CANDIDATES)
    page = await context.store.catalog.search(query, context.deadline)
    context.degraded.update(page.degraded)
    return page


async def _to_taste(context: ToolContext, customer: CustomerTaste, hits: Sequence[Title]) -> tuple[Title, ...]:
    """Titles to the customer's taste, but those it is made of: what they have looked at is recommended when it fits the
    criteria, and not for being like itself. What they name as liked says what they want now, and goes before the rest."""
    facets = taste(customer.by_named_alone(), hits[:3])
    if facets is None:
        return ()
    try:
        alike = await context.store.catalog.alike(facets, CANDIDATES + len(customer.known), context.deadline)
    except BackendFailure:
        context.degraded.add("taste")
        return ()
    known = {each.title.title_id for each in customer.known}
    return tuple(title for title in alike if title.title_id not in known)


def _popular(context: ToolContext, count: int, excluded: Excluded) -> list[Json]:
    popular = _first(context.store.popular.matching(Filters(), MOST_POPULAR), excluded, count)
    return [_card(title, "Popular with the store's readers.") for title in popular]


def _first(titles: Iterable[Title], excluded: Excluded, count: int) -> list[Title]:
    """Looks at no more titles than it takes."""
    return list(islice((title for title in titles if title not in excluded), count))


def _card(title: Title, why: str) -> Json:
    return title_card(title) | {"reason": why}


def _answer(cards: list[Json], based_on: list[str]) -> Json:
    name = result_set_name([card["title_id"] for card in cards])
    return {"recommendations": cards, "based_on": based_on, "result_set": name}


async def complete(context: ToolContext, result: Json) -> Json:
    return result | {"recommendations": await with_stock(context, result["recommendations"])}


def shown(asked: Json, result: Json) -> LastShown:
    cards = result["recommendations"]
    ids, titles = tuple(card["title_id"] for card in cards), tuple(card["title"] for card in cards)
    return LastShown(ids, titles, asked["criteria"], RECOMMENDATIONS)


TOOL = Tool(
    name="get_recommendations",
    title="Recommend manga",
    description="Recommends titles for what the customer says they like, each with a reason, and takes account of what the "
    "signed-in customer has bought and looked at. Never recommends a title they own or asked to leave out. Use it for "
    "'what should I read next' rather than for finding a known title.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=recommend,
    complete=complete,
    timeout_ms=1000,
    cache=CachePolicy(fresh_seconds=60, stale_seconds=600, per_user=True),
    fallback=Fallback("cached_trending_manga", trending),
    summary=lambda result: f"{len(result['recommendations'])} recommendations",
    remembered=("count",),
    shown=shown,
    instead="Use search_manga_catalog with a theme in plain words.",
)
