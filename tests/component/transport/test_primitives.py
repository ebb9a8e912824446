"""Resources, prompts and completions, with the official client of each era and no socket between."""

from __future__ import annotations

import asyncio

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from tests.support.cases import cases
from tests.support.inmemory import ERAS, LEGACY_WORDS, connected
from tests.support.pipeline import Kit, Opener
from tests.support.primitives import Given, offering, prompt, resource
from tools.contract import ToolContext
from tools.primitives.resource import Contents, Message
from tools.results.content import EmbeddedBlob, Text
from tools.store.failures import NotFound

OFFERED = ("resources", "prompts", "completions")

pytestmark = [pytest.mark.virtual_time, pytest.mark.filterwarnings(LEGACY_WORDS)]


@pytest.fixture
async def kit(opener: Opener) -> Kit:
    """With nothing built in."""
    own: Kit = await opener(primitives=())
    return own


@cases("era", ERAS)
async def test_server_without_primitives_announces_none_and_refuses_their_methods(era: str, kit: Kit) -> None:
    async with connected(kit, era) as client:
        announced = client.server_capabilities
        assert announced is not None
        assert [getattr(announced, name) for name in (*OFFERED, "logging")] == [None] * 4
        assert announced.tools is not None
        asking = (client.list_resources, client.list_resource_templates, client.list_prompts)
        for ask in asking:
            with pytest.raises(MCPError) as refused:
                await ask()
            assert refused.value.code == types.METHOD_NOT_FOUND


@pytest.mark.parametrize("era", ERAS)
async def test_primitives_registered_at_run_time_are_served_and_withdrawn_ones_not(era: str, kit: Kit) -> None:
    offering(kit)
    async with connected(kit, era) as client:
        announced = client.server_capabilities
        assert announced is not None
        assert all(getattr(announced, name) is not None for name in OFFERED)
        assert [each.uri for each in (await client.list_resources()).resources] == ["test://one"]
        if era == "auto":
            listing = (client.list_resources, client.list_resource_templates, client.list_prompts, client.list_tools)
            lists = [await ask() for ask in listing]
            assert [(each.ttl_ms, each.cache_scope) for each in lists] == [(1000, "public")] * 4
        templates = (await client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == ["test://many/{which}"]
        read = await client.read_resource("test://many/%E9%BB%92")
        [content] = read.contents
        assert isinstance(content, types.TextResourceContents)
        assert content.text == "[('uri', 'test://many/%E9%BB%92'), ('which', '黒')] None"
        kit.app.primitives.templates.exchange({}, ["test://many/{which}"])
        with pytest.raises(MCPError, match="no resource") as refused:
            await client.read_resource("test://many/1")
        assert (refused.value.code, refused.value.data["uri"]) == (types.INVALID_PARAMS, "test://many/1")


@pytest.mark.parametrize("era", ERAS)
async def test_prompt_is_built_from_validated_arguments(era: str, kit: Kit) -> None:
    async with connected(offering(kit), era) as client:
        made = await client.get_prompt("greet", {"name": "Nami\u200b"})
        assert [(each.role, each.content.text) for each in made.messages] == [  # type: ignore[union-attr]
            ("user", "Hello, Nami."),
            ("assistant", "Hello."),
        ]
        for arguments, told in (({}, "name"), ({"name": "x" * 2001}, "name"), ({"name": "x", "nam": "y"}, "nam")):
            with pytest.raises(MCPError, match=told) as refused:
                await client.get_prompt("greet", arguments)
            assert (refused.value.code, refused.value.data["name"]) == (types.INVALID_PARAMS, "VALIDATION_ERROR")


@pytest.mark.parametrize("era", ERAS)
async def test_completions_are_at_most_a_hundred_and_see_the_other_arguments(era: str, kit: Kit) -> None:
    ref, of_template = types.PromptReference(name="greet"), types.ResourceTemplateReference(uri="test://many/{which}")
    async with connected(offering(kit), era) as client:
        told = (await client.complete(ref, {"name": "name", "value": "Na"}, context_arguments={"how": "!"})).completion
        assert (told.values[0], len(told.values), told.total, told.has_more) == ("Na0!", 100, 120, True)
        assert (await client.complete(of_template, {"name": "which", "value": ""})).completion.values[1] == "1"
        none = (await client.complete(ref, {"name": "how", "value": "x"})).completion
        assert (none.values, none.total, none.has_more) == ([], 0, False)
        for unknown in ({"name": "else", "value": "x"}, {"name": "which", "value": "x"}):
            with pytest.raises(MCPError, match="no such argument"):
                await client.complete(ref, unknown)


@pytest.mark.parametrize("era", ERAS)
async def test_failed_read_states_its_reason_without_secrets(era: str, kit: Kit) -> None:
    async def missing(context: ToolContext, given: Given) -> Contents:
        raise NotFound("There is no such order.")

    async def broken(context: ToolContext, given: Given) -> Contents:
        raise RuntimeError("redis://:secret@10.0.0.1")

    async def slow(context: ToolContext, given: Given) -> Contents:
        await asyncio.Event().wait()
        return []

    async def large(context: ToolContext, given: Given) -> Contents:
        return [EmbeddedBlob(given["uri"], bytes(1024 * 1024))]

    handlers = {"missing": missing, "broken": broken, "slow": slow, "large": large}
    for name, handler in handlers.items():
        kit.app.primitives.register(resource(f"test://{name}", name=name, handler=handler))
    said = {}
    async with connected(kit, era) as client:
        for name in handlers:
            with pytest.raises(MCPError) as refused:
                await client.read_resource(f"test://{name}")
            error = refused.value
            said[name] = (error.code, error.data.get("name"), error.data["uri"].removeprefix("test://"))
            assert "secret" not in f"{error.message}{error.data}"
    assert said == {
        "missing": (types.INVALID_PARAMS, "NOT_FOUND", "missing"),
        "broken": (types.INTERNAL_ERROR, "INTERNAL_ERROR", "broken"),
        "slow": (types.INTERNAL_ERROR, "TIMEOUT", "slow"),
        "large": (types.INTERNAL_ERROR, None, "large"),
    }


async def test_prompt_without_messages_or_too_large_is_an_internal_error(kit: Kit) -> None:
    async def nothing(context: ToolContext, given: Given) -> list[Message]:
        return []

    async def talkative(context: ToolContext, given: Given) -> list[Message]:
        return [Message("user", Text("x" * 700_000))]

    kit.app.primitives.register(prompt("nothing", handler=nothing, arguments=()))
    kit.app.primitives.register(prompt("talkative", handler=talkative, arguments=()))
    async with connected(kit, "legacy") as client:
        for name in ("nothing", "talkative"):
            with pytest.raises(MCPError) as refused:
                await client.get_prompt(name)
            assert refused.value.code == types.INTERNAL_ERROR


async def test_unknown_name_is_quoted_up_to_its_hundredth_character_without_hidden_ones(kit: Kit) -> None:
    unknown = f"test://\u200b{'x' * 100}"
    async with connected(offering(kit), "legacy") as client:
        for ask in (client.get_prompt, client.read_resource, client.call_tool):
            with pytest.raises(MCPError, match=f"'test://{'x' * 92}'"):
                await ask(unknown)
