"""Which parts a too long answer loses: in the order its tool declares, and never what a purchase needs."""

from __future__ import annotations

from typing import Any

from tests.support.cases import cases
from tools.contract import Tool
from tools.registry import TOOLS
from tools.results.shortening import Cut, shorten, weight_as_json
from tools.schema.problem import is_sheddable, list_sheddable

KEPT = {"title_id", "title", "price_jpy", "in_stock", "stock", "availability", "order_id", "total_jpy", "per_volume_jpy"}
"""These go with their row."""
ORDER = ("rows.text", "rows.tags[]", "rows[]")


def value() -> dict[str, Any]:
    return {"rows": [{"id": n, "text": "海" * n, "tags": ["a", "b"]} for n in range(1, 6)], "total": 5}


def least(*gone: str) -> int:
    """What is left after these."""
    return weight_as_json(shorten(value(), gone, 0).value)


@cases("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_declares_what_its_long_answers_drop_and_keeps_key_fields(tool: Tool) -> None:
    assert tool.sheds is not None, "say so in tools/results/shortening.py"
    assert all(is_sheddable(tool.output_schema, path) for path in tool.sheds)
    assert not {path for path in tool.sheds if "." in path and path.rpartition(".")[2] in KEPT}


def test_last_declared_field_is_dropped_first_by_default() -> None:
    schema = {
        "properties": {
            "rows": {"type": "array", "items": {"properties": {"id": {}, "a": {}, "b": {}}, "required": ["id"]}},
            "total": {},
            "note": {},
        },
        "anyOf": [{"required": ["rows"]}],
    }
    assert list_sheddable(schema) == ("total", "rows.b", "rows.a", "rows[]")


def test_answer_within_the_limit_is_unchanged() -> None:
    whole = value()
    assert shorten(whole, ORDER, weight_as_json(whole)).value == whole


@cases("most", [least("rows.text"), least("rows.text", "rows.tags[]"), 1])
def test_no_more_is_dropped_than_necessary(most: int) -> None:
    """A result estimated to fit is kept, to a fraction of a token."""
    short = shorten(value(), ORDER, most)
    assert weight_as_json(short.value) <= max(most, least(*ORDER))
    assert short.left_out == ("text",)


def test_fields_are_dropped_from_all_rows_before_any_row() -> None:
    assert shorten(value(), ORDER, least("rows.text")).cuts == ()
    cut = shorten(value(), ORDER, least("rows.text", "rows.tags[]") - 1)
    assert cut.cuts[-1] == Cut("rows", 4, 5)
    assert [row["id"] for row in cut.value["rows"]] == [1, 2, 3, 4]


def test_shortening_does_not_modify_the_value() -> None:
    whole = value()
    shorten(whole, ORDER, 0)
    assert whole == value()
