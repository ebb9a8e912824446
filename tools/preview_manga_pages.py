from __future__ import annotations

from session.profile import EventKind
from tools.contract import TEXT, Fallback, Json, ProfileRule, Tool, ToolContext
from tools.results import shortening as worth
from tools.results.content import Image
from tools.results.referred import single_title
from tools.results.rows import audience_facts, format_ranges, read_titles
from tools.results.volumes import normalise_volume
from tools.schema.parts import INTEGER, STRING, STRINGS, answer, argument, arguments, join_notes, list_of, nullable, record
from tools.store.failures import BackendFailure, DependencyFailure, NotFound
from tools.store.identifiers import TITLE_ID
from tools.store.models import Page, Title

TITLE_SECONDS = 0.3
"""Seconds of the call's time for reading the title; the rest is for its pages."""

INPUT = arguments(
    {
        "title_id": argument("string", "From a search.", pattern=TITLE_ID),
        "volume": argument("integer", "Number of the volume.", minimum=1, maximum=999, default=1),
    },
    required=["title_id"],
)
OUTPUT = answer(
    {
        "title_id": STRING,
        "title": STRING,
        "volume": INTEGER,
        "audience": nullable("string"),
        "content_notes": STRINGS,
        "pages": list_of(record({"page": INTEGER, "alt": STRING}, ["page"]), "Of the images, in their order."),
    },
    required=["title_id", "title", "volume", "pages"],
)


async def preview_volume(context: ToolContext, asked: Json) -> Json:
    title_id = asked["title_id"]
    title = (await read_titles(context, [title_id], context.deadline.within(TITLE_SECONDS))).get(title_id)
    if title is None:
        raise NotFound(f"No title here has the id {title_id}. If that is a name, find its id with search_manga_catalog.")
    if title.volumes and asked["volume"] > title.volumes:
        raise NotFound(f"No volume {asked['volume']} of {title.display} has come out: there are {title.volumes}.")
    return facts(title, asked["volume"])


async def of_known_title(context: ToolContext, asked: Json) -> Json:
    """Fallback: reads the title from the popular titles in memory. Raises `DependencyFailure` for other titles, since pages
    are shown only with their title's audience."""
    title = context.store.popular.index.by_id.get(asked["title_id"])
    if title is None:
        raise DependencyFailure("The catalogue is not available right now.", dependency="catalog", retry_after_ms=1000)
    return facts(title, asked["volume"])


def facts(title: Title, volume: int) -> Json:
    return {"title_id": title.title_id, "title": title.display, "volume": volume, **audience_facts(title), "pages": []}


async def with_pages(context: ToolContext, result: Json) -> Json:
    """Adds page images, which are never cached, to a fresh or cached result; if they cannot be read, only adds "pages" to
    `degraded`. Raises `NotFound` if the volume has no preview."""
    try:
        preview = await context.store.pages.pages(result["title_id"], result["volume"], context.deadline)
    except BackendFailure:
        context.degraded.add("pages")
        return result
    if preview is None:
        raise NotFound(f"There is no preview of volume {result['volume']} of {result['title']}. Describe the manga instead.")
    alts = [alt_of(page, result) for page in preview.pages]
    context.content += [Image(page.data, page.media_type, alt) for page, alt in zip(preview.pages, alts, strict=True)]
    pages = [{"page": page.number, "alt": alt} for page, alt in zip(preview.pages, alts, strict=True)]
    which = "Page" if len(preview.left_out) == 1 else "Pages"
    note = f"{which} {format_ranges(preview.left_out)} cannot be shown." if preview.left_out else None
    return result | {"pages": pages} | join_notes(note)


def alt_of(page: Page, result: Json) -> str:
    where = f"Page {page.number} of {result['title']}, volume {result['volume']}"
    return f"{where}: {page.alt}" if page.alt else f"{where}."


TOOL = Tool(
    name="preview_manga_pages",
    title="Look into a volume",
    description="Shows up to three first pages of a volume as images. Call it when the customer wants to see how a manga is "
    "drawn. Some volumes have no preview.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=preview_volume,
    complete=with_pages,
    timeout_ms=800,
    cache=TEXT,
    fallback=Fallback("preview_of_known_title", of_known_title),
    summary=lambda result: f"{len(result['pages'])} pages of {result['title']}, volume {result['volume']}",
    leaves_in_profile=ProfileRule(EventKind.VIEWED, lambda asked: str(asked["title_id"])),
    remembered=("title_id", "volume"),
    shares=lambda result: single_title([result]),
    leaves=("title_id", "title"),
    spelled={"volume": normalise_volume},
    default_on=False,
    sheds=worth.PREVIEW,
    instead="Describe the manga instead: get_manga_details has its synopsis, authors and tags.",
)
