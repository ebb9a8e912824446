"""How what was left out of a shortened result can be had: where its list goes on, and in which words the model is told."""

from __future__ import annotations

from collections.abc import Sequence

from server.call import Call
from session.result_cache import result_set_name
from tools.conditions.offers import PLACES as PLACES
from tools.contract import Json
from tools.results.shortening import Cut, Shortened

OFFSET, NEXT, TITLE_IDS, RESULT_SET = "offset", "next_offset", "title_ids", "result_set"


def continued(call: Call, short: Shortened, whole: Json, places: Sequence[int]) -> Json:
    """The shortened value, with `next_offset` right behind its last row and a `result_set` of the rows that are left: what
    was not shown is not what "the second one" means. `places` are those of the rows in the list that offsets count, where
    they do not follow one another."""
    value, cut = short.value, _of_root(short)
    if cut is None:
        return value
    if RESULT_SET in value:
        value = value | {RESULT_SET: result_set_name([str(row["title_id"]) for row in value[cut.name]])}
    if OFFSET in call.tool.tool.input_schema["properties"] and (places or _follow(call, cut, whole)):
        after = places[cut.kept - 1] if places and cut.kept else cut.kept
        value = value | {NEXT: call.arguments.get(OFFSET, 0) + after}
    return value


def _follow(call: Call, cut: Cut, whole: Json) -> bool:
    """Whether the rows are what offsets count, one after another: some lists are a choice of rows."""
    return NEXT in whole or whole.get("total", cut.of) == call.arguments.get(OFFSET, 0) + cut.of


def hints(call: Call, short: Shortened, value: Json) -> list[str]:
    """The most useful first, since there may not be room for all."""
    cut = _of_root(short)
    told = [f"Shortened: {cut.kept} of {cut.of}{_way_on(call, value)}."] if cut else []
    if short.left_out:
        said = "Left out" if told else "Shortened: without"
        told.append(f"{said} {', '.join(dict.fromkeys(short.left_out))}.")
    if call.packed and "session" not in call.degraded:
        told.append(f"The whole: manga://session/results/{call.call_id}")
    return told


def _way_on(call: Call, value: Json) -> str:
    if NEXT in value:
        return f", offset {value[NEXT]} goes on"
    return ", pass the others as title_ids" if TITLE_IDS in call.tool.tool.input_schema["properties"] else ""


def _of_root(short: Shortened) -> Cut | None:
    """The first list that has lost rows, where it is one of the result's own."""
    return next((cut for cut in short.cuts if isinstance(short.value.get(cut.name), list)), None)
