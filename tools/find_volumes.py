from __future__ import annotations

import re
from collections.abc import Sequence

from tools.contract import Fallback, Json, Tool, ToolContext
from tools.results import shortening as worth
from tools.results.referred import resolve_title, single_title
from tools.results.volumes import (
    NEXT,
    ROW,
    VolumeQuery,
    find_month,
    find_title,
    normalise_volume,
    recall_month,
    recall_title,
)
from tools.schema.parts import INTEGER, STRING, answer, argument, arguments, join_notes, list_of
from tools.schema.validation import FIXES
from tools.store.failures import DependencyFailure, Violation
from tools.store.identifiers import MONTH, TITLE_ID
from tools.store.models import DIGITAL, PAPER
from tools.store.models.values import day_in_japan, is_month
from tools.store.ports import MOST_RELEASES

VOLUME = "^[0-9enxt]{1,4}$"
"""Pattern of the argument `volume`, which is text since some clients cannot send a union type. `check_volume_and_month`
refuses matches that are no volume, such as "0" and "et"."""

INPUT = arguments(
    {
        "title_id": argument("string", "From a search. Default: the title shown last.", pattern=TITLE_ID),
        "volume": argument(
            "string", "A number, or next: after the customer's last, else the next out. Default: all.", pattern=VOLUME
        ),
        "format": argument("string", "Default: any.", enum=[PAPER, DIGITAL]),
        "month": argument("string", "YYYY-MM; all titles.", pattern=MONTH),
        "offset": argument("integer", "Rows to skip.", minimum=0, maximum=MOST_RELEASES),
    }
)

OUTPUT = answer(
    {
        "title_id": STRING,
        "title": STRING,
        "today": STRING,
        "volumes": list_of(ROW),
        "total": INTEGER,
        "next_offset": INTEGER,
        "in_stock": STRING,
    },
    required=["volumes", "total", "today"],
)


async def find(context: ToolContext, given: Json) -> Json:
    given, note = _with_title(context, given)
    asked = VolumeQuery.read(given, day_in_japan(context.store.now()).isoformat())
    result = await (find_month if asked.title_id is None else find_title)(context, asked)
    return result | join_notes(note, result.get("note"))


async def last_known(context: ToolContext, given: Json) -> Json:
    given, note = _with_title(context, given)
    asked = VolumeQuery.read(given, day_in_japan(context.store.now()).isoformat())
    known = (recall_month if asked.title_id is None else recall_title)(context, asked)
    if known is None:
        raise DependencyFailure("Volumes cannot be looked up right now.", dependency="stock", retry_after_ms=1000)
    return known | join_notes(note, known.get("note"))


def _with_title(context: ToolContext, given: Json) -> tuple[Json, str]:
    """Returns the arguments, and a note if the title shown last was added ("" if not). A volume without a title gets that
    title; `InvalidArguments` is raised if no title was shown last. Without any arguments but `format`, the title is added
    if there is one."""
    if "volume" not in given and (given.keys() - {"format"} or not context.shared.get("title_id")):
        return given, ""
    title_id, note = resolve_title(context, given, NO_TITLE)
    return {**given, "title_id": title_id}, note


NO_TITLE = Violation("$.title_id", "required", "volume is of a title, and none is named", "pass its title_id too")


def check_volume_and_month(given: Json) -> Sequence[Violation]:
    month_given, volume, wrong = str(given.get("month", "")), str(given.get("volume", NEXT)), []
    if re.fullmatch(VOLUME, volume) and volume != NEXT and (not volume.isdecimal() or int(volume) < 1):
        wrong.append(Violation("$.volume", "pattern", f"{volume} is no volume", FIXES["volume"]))
    if re.fullmatch(MONTH, month_given) and not is_month(month_given):
        wrong.append(Violation("$.month", "format", f"{month_given} is no month", FIXES["month"]))
    if "volume" in given and "month" in given:
        wrong.append(Violation("$", "not", "volume and month were both given", "give one of the two"))
    return wrong


def summary(result: Json) -> str:
    return f"{len(result['volumes'])} of {result['total']} volumes"


# Not cached: a result may depend on orders. The process already caches stock for seconds and releases for minutes.
TOOL = Tool(
    name="find_volumes",
    title="Volumes",
    description="Lists one volume of a title, the next, or all: stock, price, ISBN, release and restock date. With month: "
    "what comes out then. Call it for the next volume and release dates.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=find,
    check=check_volume_and_month,
    timeout_ms=300,
    fallback=Fallback("last_known_volumes", last_known),
    summary=summary,
    remembered=("title_id", "volume", "format", "month", "offset"),
    shares=lambda result: single_title([result] if "title_id" in result else result["volumes"]),
    leaves=("title_id", "title"),
    reads=("title_id", "title"),
    spelled={"volume": lambda text: str(normalise_volume(text))},
    sheds=worth.VOLUMES,
    instead="check_inventory tells which volumes of a title are missing and what is upcoming.",
)
