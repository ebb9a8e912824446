"""A server that answers wrongly fails the conversations: every kind of expectation can fail."""

from __future__ import annotations

from typing import Any

from tests.conversations.agent import Agent, Heard
from tests.conversations.script import Conversation, load_all
from tests.conversations.shelf import Json, Shelf
from tests.conversations.vocabulary import OF_TITLES
from tests.support.cases import cases
from tools.registry import TOOLS

SHELF = Shelf.of_the_demo()
LISTS = {tool.name: tool.output_schema["properties"] for tool in TOOLS}
NOTHING_IS_RIGHT = ["locked/limits::短いのに50巻以上"]
"""A wish that nothing can satisfy."""
FAILURE = {"error": {"name": "INTERNAL_ERROR", "message": "Something went wrong."}}


class SameForAll:
    """Shows the same five titles whatever is asked for, with everything that an answer could say of them."""

    async def ask(self, how: str, name: str, arguments: Json, stated: Json) -> Heard:
        rows = [
            {"title_id": title.title_id, **title.values, "price_jpy": 528, "in_stock": True} for title in list(SHELF)[:5]
        ]
        there: dict[str, Any] = {key: rows for key in LISTS.get(name, {}) if key in OF_TITLES}
        return Heard(
            {**rows[0], "total": 5, "result_set": "rs_aaaaaaaaaaaaaaaa", "next_offset": 5, "text": "Ask us.", **there}
        )


class Nothing:
    """Finds nothing, and says no more."""

    async def ask(self, how: str, name: str, arguments: Json, stated: Json) -> Heard:
        lists = {key: [] for key, rule in LISTS.get(name, {}).items() if rule.get("type") == "array"}
        return Heard({**lists, "total": 0, "result_set": "rs_aaaaaaaaaaaaaaaa", "text": ""})


class Broken:
    async def ask(self, how: str, name: str, arguments: Json, stated: Json) -> Heard:
        return Heard(FAILURE)


@cases(
    ("server", "right"),
    [(SameForAll(), []), (Nothing(), NOTHING_IS_RIGHT), (Broken(), [])],
    ids=["same", "nothing", "broken"],
)
async def test_wrong_servers_pass_no_conversation(server: Any, right: list[str]) -> None:
    agent = Agent(server, SHELF)
    passed: list[Conversation] = [each for each in load_all() if not await agent.play(each)]
    assert [each.name for each in passed] == right


async def test_degraded_answer_is_asked_for_again_in_a_new_turn() -> None:
    turns: list[str] = []

    class Busy:
        async def ask(self, how: str, name: str, arguments: Json, stated: Json) -> Heard:
            turns.append(stated["turnId"])
            return Heard(FAILURE if len(turns) > 1 else {"results": []}, degraded=len(turns) == 1)

    await Agent(Busy(), SHELF).play(load_all()[0])
    assert len(turns) >= 2
    assert turns[0] != turns[1]
