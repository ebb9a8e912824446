"""Completers for the arguments of prompts and resource templates: authors, titles, ids, order numbers, tags, readerships."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.contract import ToolContext
from tools.results.orders import read_latest_orders
from tools.results.rows import author_name
from tools.store.audience import Adult, without_adult
from tools.store.failures import BackendFailure
from tools.store.identifiers import GENRES, SEPARATORS
from tools.store.models import Author, CatalogQuery, Conditions, Title
from tools.store.search.text.characters import has_cjk
from tools.store.search.text.romaji import sound, sound_key
from tools.store.search.titles.document import is_author
from tools.store.search.titles.names import names_of

MOST = 20


async def complete_author(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    """Returns names of authors that begin with the text, else names that contain its words: given name first ("Kentarou
    Miura"), but in Japanese for a Japanese text. For "" returns authors of popular titles."""
    authors = context.store.popular.index.authors_beginning.find(typed, MOST)
    if not authors and typed.strip():
        authors = await _find_authors(context, typed)
    in_japanese = has_cjk(typed)
    names = ((author.name_ja if in_japanese else None) or author_name(author) for author in authors)
    return list(dict.fromkeys(names))


async def _find_authors(context: ToolContext, typed: str) -> list[Author]:
    """Returns authors in the catalogue whose name contains all words of the text; [] if the catalogue fails."""
    try:
        titles = await context.store.catalog.popular(Conditions(author=typed), MOST, context.deadline)
    except BackendFailure:
        return []
    return [author for title in without_adult(titles) for author in title.authors if is_author(typed, author)]


async def complete_order_id(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    """Returns the caller's latest order numbers that contain the text, whatever its case and separators; [] for anonymous
    callers or if the backend fails."""
    if context.user is None:
        return []
    try:
        latest = await read_latest_orders(context)
    except BackendFailure:
        return []
    wanted = SEPARATORS.sub("", typed).casefold()
    return [order.order_id for order in latest if wanted in SEPARATORS.sub("", order.order_id).casefold()]


LEAST_ASKED, MOST_ASKED = 3, 200
"""Fewest and most letters for which the catalogue is searched: fewer would fit half of the catalogue, more fit no name."""


async def complete_title_id(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    """Returns ids of at most 20 titles: popular titles whose id, or name in any script ("berse", ベル), begins with the
    text. If there are none, takes titles of the catalogue with a word in a name that begins with the text. For "" returns
    the most popular titles."""
    return [title.title_id for title in await _find_titles(context, typed)]


async def complete_title(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    in_japanese = has_cjk(typed)
    names = ((title.ja if in_japanese else None) or title.display for title in await _find_titles(context, typed))
    return list(dict.fromkeys(names))


async def _find_titles(context: ToolContext, typed: str) -> Sequence[Title]:
    popular = context.store.popular
    titles = popular.index.titles_beginning.find(typed, MOST) + popular.index.ids_beginning(typed, MOST)
    if not titles and LEAST_ASKED <= len(sound_key(typed)) <= MOST_ASKED:
        titles = await _search_titles(context, typed)
    # A few letters are no request for adult titles.
    shown = titles if context.store.adult is Adult.ON else without_adult(titles)
    return list({title.title_id: title for title in shown}.values())[:MOST]


async def _search_titles(context: ToolContext, typed: str) -> list[Title]:
    """Returns titles in the catalogue that have a name with a word beginning with the text; [] if the catalogue fails."""
    query = CatalogQuery(typed, Conditions(no_adult=context.store.adult is not Adult.ON), MOST)
    try:
        page = await context.store.catalog.search(query, context.deadline)
    except BackendFailure:
        return []
    return [title for title in page.titles if any(_begins_with(typed, name) for name in names_of(title))]


def _begins_with(typed: str, name: str) -> bool:
    return sound_key(name).startswith(sound_key(typed)) or f" {sound(typed)}" in f" {sound(name)}"


MOST_WORDS = 50
SPELLED = {
    "shonen": ("shounen", "少年", "しょうねん", "boys"),
    "seinen": ("青年", "せいねん", "men"),
    "shojo": ("shoujo", "少女", "しょうじょ", "girls"),
    "josei": ("女性", "じょせい", "women"),
    "kodomo": ("子供", "子ども", "こども", "児童", "children", "kids"),
}


async def complete_tag(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    """Returns at most 50 tags with a word that begins with the text, most frequent first; [] if the catalogue fails."""
    try:
        tags = (await context.store.catalog.terms(context.deadline)).tags
    except BackendFailure:
        return []
    begun = [tag for tag in tags if f" {typed.strip().casefold()}" in f" {tag.casefold()}"]
    return sorted(begun, key=lambda tag: (-tags[tag], tag))[:MOST_WORDS]


async def complete_genre(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    start = typed.strip().casefold()
    return [genre for genre in GENRES if any(each.startswith(start) for each in (genre, *SPELLED[genre]))]
