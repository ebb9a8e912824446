from __future__ import annotations

from session.profile import EventKind
from tools.contract import TEXT, Fallback, ProfileRule, Tool
from tools.results import shortening as worth
from tools.results.referred import single_title
from tools.results.rows import OFFER, join_offers, read_details, recall_details
from tools.schema.parts import EDITION, FOR_WHOM, STRING, STRINGS, answer, argument, arguments, list_of, nullable, record
from tools.store.identifiers import TITLE_ID

INPUT = arguments(
    {"title_id": argument("string", "From a search, such as manga-001001. Default: the title shown last.", pattern=TITLE_ID)}
)

_AUTHOR = record({"name": STRING, "name_ja": nullable("string"), "role": nullable("string")}, ["name"])
_RELATED = record({"title_id": STRING, "title": STRING}, ["title_id", "title"])

OUTPUT = answer(
    {
        "title_id": STRING,
        "title": STRING,
        "titles": {"type": "object"},
        "alt_titles": STRINGS,
        "author": nullable("string"),
        "authors": list_of(_AUTHOR),
        "genre": nullable("string"),
        "tags": STRINGS,
        "synopsis": {"type": "object"},
        "rating": nullable("number"),
        "rating_count": nullable("integer"),
        "popularity_rank": nullable("integer"),
        "volumes": nullable("integer"),
        "chapters": nullable("integer"),
        "status": nullable("string"),
        "start_year": nullable("integer"),
        "end_year": nullable("integer"),
        "magazine": nullable("string"),
        **EDITION,
        **FOR_WHOM,
        "related": list_of(_RELATED),
        "offers": list_of(OFFER),
        "price_jpy": nullable("integer", "Of one volume."),
        "in_stock": nullable("boolean", "Null: not known now."),
    },
    required=["title_id", "title"],
)

TOOL = Tool(
    name="get_manga_details",
    title="Details of one manga",
    description="Returns all facts of one title: names in each script, authors, synopsis, volumes, years, rating, related "
    "titles, prices. Call it for questions about one title.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=read_details,
    complete=join_offers,
    stock_of=lambda asked: [asked["title_id"]] if "title_id" in asked else [],
    timeout_ms=300,
    looks_up=True,
    cache=TEXT,
    fallback=Fallback("last_known_details", recall_details),
    summary=lambda result: str(result["title"]),
    leaves_in_profile=ProfileRule(EventKind.VIEWED, lambda asked: str(asked.get("title_id", ""))),
    remembered=("title_id",),
    shares=lambda result: single_title([result]),
    named_by=("title_id",),
    leaves=("title_id", "title"),
    reads=("title_id", "title"),
    sheds=worth.DETAILS,
    instead="search_manga_catalog shows the main facts of a title.",
)
