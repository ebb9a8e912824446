"""A tool asks its client questions, with the official client of each era and no socket between."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from server.transport.request import LONGEST_STATE
from tests.conformance.fixture.asking import asking, elicitation, in_rounds, what_it_can
from tests.conformance.fixture.making import said, tool
from tests.support.inmemory import ERAS, LEGACY_WORDS, connected
from tests.support.pipeline import Kit
from tools.contract import CachePolicy, Json, ToolContext
from tools.registry import ToolRefused

NAME = elicitation("Your name?", name={"type": "string"})
STATELESS = "2026-07-28"

pytestmark = [pytest.mark.virtual_time, pytest.mark.filterwarnings(LEGACY_WORDS)]


def answering(name: str) -> Any:
    """A user who gives this name, and likes blue."""

    async def answer(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"name": name, "color": "blue"})

    return answer


def asks(kit: Kit, name: str = "asks", handler: Any = None) -> None:
    kit.registry.register(tool(name, "Asks.", handler or asking("Told", user=NAME), asks=True))


@pytest.mark.parametrize("era", ERAS)
async def test_tool_asks_its_client_questions_in_both_eras(era: str, kit: Kit) -> None:
    """The second question is made of the first answer."""
    asks(kit, handler=in_rounds)
    async with connected(kit, era, elicitation_callback=answering("Nami")) as client:
        result = await client.call_tool("asks")
    told = json.loads(result.structured_content["said"].partition(": ")[2])
    assert [told[step]["content"]["name"] for step in ("step1", "step2")] == ["Nami", "Nami"]


async def test_tool_that_asks_fails_for_a_client_without_elicitation(kit: Kit) -> None:
    asks(kit)
    asks(kit, "careful", what_it_can)
    async with connected(kit, "legacy") as client:
        failed = await client.call_tool("asks")
        assert failed.is_error
        assert failed.structured_content["error"]["name"] == "FORBIDDEN"
        assert failed.structured_content["error"]["data"]["details"] == {"capabilities": ["elicitation"]}
    async with connected(kit, "auto") as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("asks")
        assert refused.value.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
        assert refused.value.data == {"requiredCapabilities": {"elicitation": {}}}
        assert (await client.call_tool("careful")).structured_content == {"said": "capabilities-ok: received "}


async def test_error_answer_of_a_2025_client_ends_the_call(kit: Kit) -> None:
    async def refuse(context: Any, params: types.ElicitRequestParams) -> types.ErrorData:
        return types.ErrorData(code=-1, message="secret of the client")

    asks(kit)
    async with connected(kit, "legacy", elicitation_callback=refuse) as client:
        failed = await client.call_tool("asks")
    assert failed.structured_content["error"]["name"] == "FORBIDDEN"
    assert "secret" not in failed.structured_content["error"]["message"]


async def test_unanswered_question_to_a_2025_client_ends_at_the_deadline(kit: Kit) -> None:
    async def never(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        await asyncio.Event().wait()
        raise AssertionError

    asks(kit)
    async with connected(kit, "legacy", elicitation_callback=never) as client:
        failed = await client.call_tool("asks")
    assert failed.structured_content["error"]["name"] == "TIMEOUT"


async def first_round(client: Client, name: str = "asks", **arguments: Any) -> types.InputRequiredResult:
    result = await client.session.call_tool(name, arguments, allow_input_required=True)
    assert isinstance(result, types.InputRequiredResult)
    return result


async def second_round(client: Client, state: str | None, name: str = "asks", meta: Json | None = None) -> Any:
    told = types.ElicitResult(action="accept", content={"name": "Nami"})
    return await client.call_tool(name, {}, input_responses={"step1": told}, request_state=state, meta=meta)  # type: ignore[arg-type]


async def test_request_state_is_sealed_for_its_tool_user_and_arguments(kit: Kit) -> None:
    """Another tool, another user and a changed letter get the same refusal."""
    for name in ("asks", "other"):
        asks(kit, name, in_rounds)
    user = {"com.mangaassist/userId": "demo-user-1"}
    async with connected(kit, STATELESS, elicitation_callback=answering("x"), input_required_max_rounds=1) as client:
        state = (await first_round(client)).request_state
        assert state is not None
        for changed in (
            {"state": state[:-1]},
            {"state": state + "A"},
            {"state": state, "name": "other"},
            {"state": state, "meta": user},
        ):
            with pytest.raises(MCPError) as refused:
                await second_round(client, **changed)  # type: ignore[arg-type]
            assert (refused.value.code, refused.value.message) == (types.INVALID_PARAMS, "Invalid or expired requestState")


async def test_only_answers_to_the_questions_asked_are_carried_on(kit: Kit) -> None:
    asks(kit, handler=in_rounds)
    told = types.ElicitResult(action="accept", content={"name": "x" * LONGEST_STATE})
    small = types.ElicitResult(action="accept", content={"name": "x"})
    async with connected(kit, STATELESS, elicitation_callback=answering("x")) as client:

        async def call(answers: dict[str, types.ElicitResult]) -> Any:
            return await client.session.call_tool("asks", {}, input_responses=answers, allow_input_required=True)  # type: ignore[arg-type]

        more = await call({"step1": small, "junk": told})
        assert list(more.input_requests) == ["step2"]
        assert len(more.request_state) < 1000
        with pytest.raises(MCPError, match="characters together"):
            await call({"step1": told})


async def test_equal_calls_of_two_clients_share_no_flight_when_the_tool_asks(kit: Kit) -> None:
    """Both are anonymous with equal arguments: calls of other tools would share a flight."""
    meeting = asyncio.Barrier(2)

    async def meets(context: ToolContext, arguments: Json) -> Json:
        answers = await context.client.ask({"user": NAME})
        await meeting.wait()
        return said(answers["user"]["content"]["name"])

    asks(kit, handler=meets)

    async def name(own: str) -> str:
        async with connected(kit, STATELESS, elicitation_callback=answering(own)) as client:
            result = await client.call_tool("asks")
            return str(result.structured_content["said"])

    assert await asyncio.gather(name("Nami"), name("Robin")) == ["Nami", "Robin"]


async def test_only_a_declared_tool_may_ask_and_it_may_have_no_cache(kit: Kit) -> None:
    kit.registry.register(tool("sly", "Asks all the same.", asking("Told", user=NAME)))
    async with connected(kit, "legacy", elicitation_callback=answering("x")) as client:
        failed = await client.call_tool("sly")
    assert failed.structured_content["error"]["name"] == "INTERNAL_ERROR"
    for number, error in ((8, None), (9, "INTERNAL_ERROR")):  # questions at once
        asks(kit, f"asks_{number}", asking("Told", **{f"user{each}": NAME for each in range(number)}))
        async with connected(kit, "legacy", elicitation_callback=answering("x")) as client:
            told = (await client.call_tool(f"asks_{number}")).structured_content
        assert told.get("error", {}).get("name") == error
    with pytest.raises(ToolRefused, match="no cache"):
        keeps = tool("keeps", "Asks.", asking("Told", user=NAME), asks=True, cache=CachePolicy(60, 60))
        kit.registry.compile_tool(keeps, "1", "a-package")
