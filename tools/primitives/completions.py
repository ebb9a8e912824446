"""Words of the catalogue that somebody may be typing: tags, and readerships."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.contract import ToolContext
from tools.results.orders import read_latest_orders
from tools.results.rows import author_name
from tools.store.catalog.adult import Adult, without_adult
from tools.store.failures import BackendFailure
from tools.store.identifiers import GENRES
from tools.store.models import Author, CatalogQuery, Conditions, Title
from tools.store.search.text.characters import has_cjk
from tools.store.search.text.romaji import sound, sound_key
from tools.store.search.titles.names import names_of
from tools.store.search.titles.people import is_author

MOST = 20


async def complete_author(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    """Names as people say them ("Kentarou Miura"), in Japanese where that is what is typed; those of the most popular titles
    where nothing is."""
    authors = context.store.popular.authors_beginning(typed, MOST)
    if not authors and typed.strip():
        authors = await _found(context, typed)
    in_japanese = has_cjk(typed)
    names = ((author.name_ja if in_japanese else None) or author_name(author) for author in authors)
    return list(dict.fromkeys(names))


async def _found(context: ToolContext, typed: str) -> list[Author]:
    """Those of the catalogue of whom it is a whole part of the name."""
    try:
        titles = await context.store.catalog.popular(Conditions(author=typed), MOST, context.deadline)
    except BackendFailure:
        return []
    return [author for title in without_adult(titles) for author in title.authors if is_author(typed, author)]


async def complete_order_id(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    """Those of the caller's latest orders that have what is typed in them; none for who is not signed in."""
    if context.user is None:
        return []
    try:
        latest = await read_latest_orders(context)
    except BackendFailure:
        return []
    return [order.order_id for order in latest if typed.strip().casefold() in order.order_id.casefold()]


LEAST_ASKED, MOST_ASKED = 3, 200
"""Letters for which the catalogue is asked for what is not at hand: fewer begin a word of half of it, and more no name."""


async def complete_title_id(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    """Ids of what is typed the name of ("berse", ベル), or the beginning of the id itself; the most popular where nothing
    is typed."""
    return [title.title_id for title in await _meant(context, typed)]


async def complete_title(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    """Names: in Japanese where that is what is typed."""
    in_japanese = has_cjk(typed)
    names = ((title.ja if in_japanese else None) or title.display for title in await _meant(context, typed))
    return list(dict.fromkeys(names))


async def _meant(context: ToolContext, typed: str) -> Sequence[Title]:
    popular = context.store.popular
    titles = popular.titles_beginning(typed, MOST) + popular.ids_beginning(typed, MOST)
    if not titles and LEAST_ASKED <= len(sound_key(typed)) <= MOST_ASKED:
        titles = await _titles_found(context, typed)
    # A few letters ask for nothing, least of all for what has to be asked for.
    shown = titles if context.store.adult is Adult.ON else without_adult(titles)
    return list({title.title_id: title for title in shown}.values())[:MOST]


async def _titles_found(context: ToolContext, typed: str) -> list[Title]:
    """What the catalogue has, where a word of a name begins so: nobody is told of what is merely about it."""
    query = CatalogQuery(typed, Conditions(no_adult=context.store.adult is not Adult.ON), MOST)
    try:
        page = await context.store.catalog.search(query, context.deadline)
    except BackendFailure:
        return []
    return [title for title in page.titles if any(_begins(typed, name) for name in names_of(title))]


def _begins(typed: str, name: str) -> bool:
    return sound_key(name).startswith(sound_key(typed)) or f" {sound(typed)}" in f" {sound(name)}"


MOST_WORDS = 50
SPELLED = {
    "shonen": ("shounen", "少年", "しょうねん", "boys"),
    "seinen": ("青年", "せいねん", "men"),
    "shojo": ("shoujo", "少女", "しょうじょ", "girls"),
    "josei": ("女性", "じょせい", "women"),
    "kodomo": ("子供", "子ども", "こども", "児童", "children", "kids"),
}
"""How else the readerships are written."""


async def complete_tag(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    """Tags in which a word begins so, those of the most titles first; as far as the catalogue says them in time."""
    try:
        tags = (await context.store.catalog.terms(context.deadline)).tags
    except BackendFailure:
        return []
    begun = [tag for tag in tags if f" {typed.strip().casefold()}" in f" {tag.casefold()}"]
    return sorted(begun, key=lambda tag: (-tags[tag], tag))[:MOST_WORDS]


async def complete_genre(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    """Readerships, however they are written."""
    start = typed.strip().casefold()
    return [genre for genre in GENRES if any(each.startswith(start) for each in (genre, *SPELLED[genre]))]
