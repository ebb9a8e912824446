"""manga://titles/{title_id}: everything the store says of one title, as `get_manga_details` tells it."""

from __future__ import annotations

from collections.abc import Mapping

from tools.contract import Json, ToolContext
from tools.primitives.completions import complete_title_id
from tools.primitives.resource import Contents, ReadFallback, ResourceTemplate, UriTemplate
from tools.resources.document import JSON_TYPE, document
from tools.results.details import complete, details, last_known
from tools.store.failures import NotFound

STOCK_MS = 5000
"""Price and stock are in it, and are fresh for so long."""


async def read(context: ToolContext, given: Mapping[str, str]) -> Contents:
    if not context.store.identifiers.titles.matches(given["title_id"]):
        raise NotFound("There is no title with this id. The completions of title_id find ids by names.")
    return await _document(context, given, await details(context, {"title_id": given["title_id"]}))


async def read_last_known(context: ToolContext, given: Mapping[str, str]) -> Contents:
    kept = await last_known(context, {"title_id": given["title_id"]})
    context.degraded.add("catalog")
    return await _document(context, given, kept)


async def _document(context: ToolContext, given: Mapping[str, str], facts: Json) -> Contents:
    return document(context, given["uri"], await complete(context, facts))


TITLES = ResourceTemplate(
    uri_template=UriTemplate("manga://titles/{title_id}"),
    name="title",
    title="A manga of the store",
    description="Everything known of one title: names in each script, authors, synopsis, volumes, years, rating, related "
    "titles, prices and stock as they are now.",
    handler=read,
    mime_type=JSON_TYPE,
    completions={"title_id": complete_title_id},
    ttl_ms=STOCK_MS,
    fallback=ReadFallback("last_known_details", read_last_known),
    subscribable=False,
)
