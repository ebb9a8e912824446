"""search_manga_catalog: find titles by anything a shopper says."""

from __future__ import annotations

from collections.abc import Sequence

from session.history import LastShown
from session.profile import EventKind
from session.result_cache import result_set_name
from tools.contract import TEXT, Fallback, Json, ProfileRule, Tool, ToolContext
from tools.results.cards import title_card, with_stock
from tools.schema.parts import INTEGER, STRING, TITLE_CARD, answer, arguments, listed, record
from tools.store.failures import BackendFailure, DependencyFailure
from tools.store.identifiers import GENRES
from tools.store.models import CatalogPage, CatalogQuery, Filters, Title
from tools.store.search.query.wordings import GENRES as WORDINGS
from tools.store.search.text.characters import normalise

UNAVAILABLE = "The search is not available right now;"
LONGEST_TRACE = 100
"""Characters of a query that a profile keeps."""

INPUT = arguments(
    {
        "query": {
            "type": "string",
            "minLength": 1,
            "maxLength": 500,
            "description": "What to look for: a title in English, romaji, kana or kanji, a nickname, an author, or a theme "
            "in plain words, for example 'ワンピ', 'manga by Naoki Urasawa' or 'a chess-like game with ghosts'.",
        },
        "genre": {
            "type": "string",
            "enum": [*GENRES, ""],
            "default": "",
            "description": "Readership to limit to; empty for any.",
        },
        "author": {
            "type": "string",
            "maxLength": 200,
            "default": "",
            "description": "Only titles by this author, in any script and order of names; empty for any.",
        },
        "max_results": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5, "description": "How many."},
        "min_rating": {
            "type": "number",
            "minimum": 0,
            "maximum": 5,
            "default": 0,
            "description": "Only titles rated at least this, 0 to 5.",
        },
    },
    required=["query"],
)

_NEARLY = record({"title_id": STRING, "title": STRING}, ["title_id", "title"])
MOST_NEARLY = 3
GUESSED = "No title has this name. These have similar ones: ask the customer whether one of them is meant."
TRY = "Try fewer or other words, the name in another script, or the author."

OUTPUT = answer(
    {
        "results": listed(TITLE_CARD, "Best match first."),
        "total": {**INTEGER, "description": "How many titles match in all."},
        "result_set": {**STRING, "description": "Names these results; check_inventory takes it in place of title_ids."},
        "nearly": listed(_NEARLY, "Where nothing matches: titles that come near. They are no matches; ask the customer."),
    },
    required=["results", "total", "result_set"],
)


def readership(text: str) -> str:
    """As the shop spells it: "Shounen", "Shōjo", 少女漫画. Anything else stays as it is."""
    said = normalise(text)
    return next((genre for genre, wording in WORDINGS.items() if wording.fullmatch(said)), text)


def filters_of(asked: Json) -> Filters:
    return Filters(asked["genre"] or None, asked["author"].strip() or None, asked["min_rating"] or None)


async def search(context: ToolContext, asked: Json) -> Json:
    query = CatalogQuery(asked["query"], filters_of(asked), asked["max_results"])
    page = await context.store.catalog.search(query, context.deadline)
    context.degraded.update(page.degraded)
    if not page.titles:
        return results((), 0) | await _nearly(context, query, page.near)
    return results(page.titles, page.total) | ({"note": GUESSED} if page.guessed else {})


async def _nearly(context: ToolContext, query: CatalogQuery, near: Sequence[Title]) -> Json:
    """What to offer where nothing matches: what the filters alone kept out, else titles with similar names."""
    if query.filters != Filters():
        page = await _without_filters(context, query)
        if page is not None and page.titles and not page.guessed:
            return {"nearly": _named(page.titles), "note": _kept_out(query.filters, page.total)}
    if near:
        return {"nearly": _named(near), "note": f"Nothing matches. The nearest names are in nearly. {TRY}"}
    return {"note": f"Nothing matches. {TRY}"}


async def _without_filters(context: ToolContext, query: CatalogQuery) -> CatalogPage | None:
    """None when the catalogue does not deliver: that nothing was found is known already."""
    try:
        return await context.store.catalog.search(CatalogQuery(query.text, Filters(), MOST_NEARLY), context.deadline)
    except BackendFailure:
        return None


def _kept_out(filters: Filters, total: int) -> str:
    names = [name for name in ("genre", "author", "min_rating") if getattr(filters, name) is not None]
    titles = "1 title does: the one" if total == 1 else f"{total} titles do, such as those"
    return f"Nothing matches with this {' and '.join(names)}. Without, {titles} in nearly."


def _named(titles: Sequence[Title]) -> list[Json]:
    return [{"title_id": title.title_id, "title": title.display} for title in titles[:MOST_NEARLY]]


async def popular_instead(context: ToolContext, asked: Json) -> Json:
    if not context.store.popular.title_ids:
        raise DependencyFailure("The catalogue is not available right now.", dependency="catalog", retry_after_ms=1000)
    popular, filters, most = context.store.popular, filters_of(asked), asked["max_results"]
    named = popular.called(asked["query"], filters, most)
    titles = tuple(dict.fromkeys((*named, *popular.matching(filters, most))))[:most]
    return results(titles, len(titles)) | {"note": _note(len(named), len(titles))}


def _note(named: int, given: int) -> str:
    rest = "popular titles that satisfy the filters, not matches."
    if not named:
        return f"{UNAVAILABLE} these are {rest}"
    first = "the first one matches" if named == 1 else f"the first {named} match"
    return f"{UNAVAILABLE} {first} by name" + (f"; the others are {rest}" if given > named else ".")


def results(titles: tuple[Title, ...], total: int) -> Json:
    ids = [title.title_id for title in titles]
    return {"results": [title_card(title) for title in titles], "total": total, "result_set": result_set_name(ids)}


async def complete(context: ToolContext, result: Json) -> Json:
    return result | {"results": await with_stock(context, result["results"])}


def shown(asked: Json, result: Json) -> LastShown:
    cards = result["results"]
    return LastShown(tuple(c["title_id"] for c in cards), tuple(c["title"] for c in cards), asked["query"])


TOOL = Tool(
    name="search_manga_catalog",
    title="Search the manga catalogue",
    description="Searches the store's manga by title (English, romaji, kana or kanji), nickname, author or theme. Returns "
    "the best matches with price and stock. Use it first whenever the customer names or describes a manga; afterwards "
    "check_inventory without title_ids refers to these results.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=search,
    complete=complete,
    timeout_ms=800,
    cache=TEXT,
    fallback=Fallback("cached_popular_manga", popular_instead),
    summary=lambda result: f"{len(result['results'])} of {result['total']} titles",
    remembered=("genre", "max_results", "min_rating"),
    spelled={"genre": readership},
    shown=shown,
    leaves_in_profile=ProfileRule(EventKind.SEARCHED, lambda asked: normalise(asked["query"])[:LONGEST_TRACE]),
    instead="Ask for a title id and use get_manga_details, or offer get_recommendations.",
)
