from __future__ import annotations

from collections.abc import Mapping

from tools.contract import TEXT, Fallback, Json, Tool, ToolContext
from tools.results.referred import TitleReference, resolve_titles, single_title, title_ids
from tools.results.rows import recall_titles
from tools.schema.parts import STRING, STRINGS, answer, arguments, join_notes, list_of, nullable, record
from tools.store.failures import DependencyFailure, NotFound
from tools.store.models import Title

NO_SUCH_IDS = "missing has ids that this store does not know. If one is a name, find its id with search_manga_catalog."
NOT_KNOWN_NOW = "Titles in missing cannot be read right now."

_ROW = record(
    {
        "title_id": STRING,
        "title": STRING,
        "rating": nullable("number", "Of 5; null: not rated."),
        "count": nullable("integer", "Of readers."),
        "stars": nullable("object", "How many gave 1, 2, 3, 4 and 5; null: not known."),
    },
    ["title_id", "title", "rating", "count"],
)


async def ratings(context: ToolContext, asked: Json) -> Json:
    about = resolve_titles(context, asked)
    if not about.ids:
        return present_ratings(about, {}, "")
    reading = await context.store.titles.read(about.ids, context.deadline)
    if reading.from_records:  # local records may lack titles of the catalogue
        context.degraded.add("catalog")
        return present_ratings(about, reading.titles, NOT_KNOWN_NOW)
    if not reading.titles:
        raise NotFound("No title here has any of these ids. Find ids with search_manga_catalog.")
    return present_ratings(about, reading.titles, NO_SUCH_IDS)


async def last_known(context: ToolContext, asked: Json) -> Json:
    about = resolve_titles(context, asked)
    known = recall_titles(context, about.ids)
    if about.ids and not known:
        raise DependencyFailure("Ratings are not available right now.", dependency="catalog", retry_after_ms=1000)
    return present_ratings(about, known, NOT_KNOWN_NOW)


def present_ratings(about: TitleReference, titles: Mapping[str, Title], about_missing: str) -> Json:
    missing = [i for i in about.ids if i not in titles]
    rows = [row(titles[i]) for i in about.ids if i in titles]
    return {"ratings": rows, "missing": missing} | join_notes(about.as_note(), about_missing if missing else "")


def row(title: Title) -> Json:
    stars = None if title.rating_counts is None else {str(n): count for n, count in enumerate(title.rating_counts, 1)}
    return {
        "title_id": title.title_id,
        "title": title.display,
        "rating": title.rating,
        "count": title.rating_count,
        "stars": stars,
    }


TOOL = Tool(
    name="get_ratings",
    title="Readers' ratings",
    description="Tells how readers rate up to 20 titles: mean of 5, number of ratings, and how many gave each number of "
    "stars. Call it to compare titles; a search already shows the mean.",
    input_schema=arguments({"title_ids": title_ids(most=20)}),
    output_schema=answer({"ratings": list_of(_ROW), "missing": STRINGS}, required=["ratings", "missing"]),
    handler=ratings,
    timeout_ms=300,
    cache=TEXT,
    fallback=Fallback("last_known_ratings", last_known),
    summary=lambda result: f"ratings of {len(result['ratings'])} titles",
    remembered=("title_ids",),
    shares=lambda result: single_title(result["ratings"]),
    named_by=("title_ids",),
    leaves=("title_id", "title"),
    reads=("title_id", "title"),
    sheds=("ratings.stars", "ratings[]", "missing[]"),
    instead="get_manga_details tells the rating of a title.",
)
