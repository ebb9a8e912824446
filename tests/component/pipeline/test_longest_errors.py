"""An error message has at most 2 KB however much is wrong, and says what to do first."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.cases import cases
from tests.support.pipeline import Kit
from tools.registry import TOOLS
from tools.store.identifiers import TITLE_ID

pytestmark = pytest.mark.virtual_time
MOST_BYTES = 2048
WRONG: dict[str, Any] = {
    "unknown arguments": {f"{'何' * 50}{n}": n for n in range(20)},
    "wrong ids": {"title_ids": ["進撃の巨人" * 20] * 20},
    "wrong types": {name: {"a": "é" * 100} for tool in TOOLS for name in tool.input_schema["properties"]},
    "names of who calls": {f"{sep}user{sep}id": "x" for sep in ("", "_", "-", "__", "--", "_-")} | {"query": "x"},
}


@cases("tool", [tool.name for tool in TOOLS])
@cases("wrong", list(WRONG))
async def test_error_has_at_most_two_kilobytes(kit: Kit, tool: str, wrong: str) -> None:
    answer = await kit.ask(tool, WRONG[wrong], session="s", user="u", turn="t", arrived=kit.clock() - 2.6)
    if answer.failure is None:
        return
    assert len(answer.texts[0].encode()) <= MOST_BYTES
    assert len(json.dumps(answer.result["_meta"])) <= 400
    details = answer.result["structuredContent"]["error"]["data"]["details"]
    assert details.get("violations", True), "at least one is told whole"


async def test_violations_left_out_of_an_error_are_counted(kit: Kit) -> None:
    answer = await kit.ask("check_inventory", {"title_ids": [f"名前{n}" for n in range(20)]})
    details = answer.result["structuredContent"]["error"]["data"]["details"]
    assert len(details["violations"]) + details["more"] == 20
    assert details["violations"][0]["path"] == "$.title_ids[0]"
    assert TITLE_ID not in answer.texts[0], "it is told in words"
