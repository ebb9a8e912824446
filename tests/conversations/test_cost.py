"""What a message costs: counted from requests that the agent sent, with the tools' answers judged as ever."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from infra.agent.options import CORE
from tests.conversations import cost
from tests.conversations.cost import LEAN, PRICES, READ, WRITE, Message, Played, Request, Way, play_all, table
from tests.conversations.script import load_all
from tests.support.converse import conversing
from tools.registry import TOOLS

LEAST_SAVED = 0.4


def test_a_message_costs_less_than_it_did_and_is_answered_as_well(tmp_path: Path) -> None:
    """Some of the conversations, with the results that the service allows by itself."""
    chosen = [each for each in load_all() if each.file == "open/corrections"]
    played = play_all(chosen, tmp_path / "shop", {})
    assert [each.conversation.name for each in played if bool(each.problems) != bool(each.conversation.known)] == []
    prices = tomllib.loads(PRICES.read_text("utf-8"))
    before, now = Way("with earlier results", played, before=True, cached=False), Way("now", played)
    for price in prices.values():
        assert now.paid(price) < (1 - LEAST_SAVED) * before.paid(price)
    assert len(table([before, now], prices).splitlines()) == 4


def test_the_model_is_told_of_no_tool_beyond_the_five(tmp_path: Path) -> None:
    """Rules that name a tool which is not there cost tokens, and a step that asks for it."""
    with conversing() as model, cost.open_shop(tmp_path, model, cost.FIVE) as agent:
        agent.answer("berserk?", "five")
    body = model.asked[0]
    assert {each["toolSpec"]["name"] for each in body["toolConfig"]["tools"] if "toolSpec" in each} == set(CORE)
    assert {tool.name for tool in TOOLS if tool.name in json.dumps(body["system"])} <= set(CORE)


def test_a_cache_is_read_for_a_tenth_and_written_for_a_quarter_more() -> None:
    """From what it keeps at least, and what is the same for everybody is there already."""
    first = Request(prompt=3000, schemas=2000, history=0, question=100, results=0)
    assert first.paid(None) == 5100
    assert first.paid(1024) == 5000 * READ + 100 * WRITE
    second = Request(prompt=3000, schemas=2000, history=0, question=100, results=500, cached=5100)
    assert second.paid(1024) == 5100 * READ + 500 * WRITE
    assert second.paid(round(5050 / LEAN)) == 5100 * READ + 500 * WRITE
    assert first.paid(4500) == 5100


def test_what_is_paid_is_that_of_a_message_and_not_of_a_step() -> None:
    step = Request(prompt=100, schemas=100, history=0, question=10, results=0)
    played = Played(load_all()[0], messages=[Message([step, step], [step], 7), Message([step], [step], 7)])
    price = {"input": 1.0, "output": 1.0, "least_cached": 1024}
    assert Way("now", [played]).paid(price) == 3 * 210 / 2
    assert Way("before", [played], before=True).paid(price) == 210
