"""Tools are replaced and withdrawn while calls run: each call ends on the version it began with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from server.call import Principal
from server.identity.tool_access import ToolAccess
from server.transport.tool_listing import ToolListing
from tests.support.pipeline import Kit, Opener
from tests.support.valkey import eventually
from tools.contract import TEXT, Json, Tool, ToolContext
from tools.registry import TOOLS
from tools.schema.parts import answer, arguments

pytestmark = pytest.mark.virtual_time
NAME = "say_word"


@dataclass
class Version:
    """One of a tool whose calls wait at an event before they answer with a word."""

    word: str
    key: str = "word"
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    begun: int = 0

    async def say(self, context: ToolContext, asked: Json) -> Json:
        self.begun += 1
        await self.gate.wait()
        return {self.key: self.word}

    @property
    def tool(self) -> Tool:
        return Tool(
            name=NAME,
            title="Say a word",
            description="Says a word.",
            input_schema=arguments({}),
            output_schema=answer({self.key: {"type": "string"}}, required=[self.key]),
            handler=self.say,
            timeout_ms=500,
            summary=lambda result: str(result[self.key]),
            cache=TEXT,
            instead="Say it yourself.",
        )


async def test_running_call_ends_on_the_version_it_began_with(kit: Kit) -> None:
    """An equal later call does not wait for it, and is answered by the present version."""
    old, new = Version("old"), Version("new", key="said")
    kit.registry.register(old.tool, "1")
    first = asyncio.create_task(kit.ask(NAME, user="u"))
    await eventually(lambda: old.begun == 1)
    kit.registry.register(new.tool, "2")
    new.gate.set()
    assert (await kit.ask(NAME, user="u")).value == {"said": "new"}
    assert not first.done()
    old.gate.set()
    assert (await first).value == {"word": "old"}
    assert (await first).call.tool.version == "1"
    assert (old.begun, new.begun) == (1, 1)


async def test_running_call_ends_though_its_tool_was_withdrawn(kit: Kit) -> None:
    tool = Version("word")
    kit.registry.register(tool.tool, "1")
    call = asyncio.create_task(kit.ask(NAME))
    await eventually(lambda: tool.begun == 1)
    kit.registry.exchange({}, [NAME])
    tool.gate.set()
    assert (await call).value == {"word": "word"}


async def test_call_of_a_withdrawn_tool_is_told_what_to_use_instead(kit: Kit) -> None:
    tool = Version("word")
    tool.gate.set()
    kit.registry.register(tool.tool, "1")
    kit.registry.exchange({}, [NAME])
    answer = await kit.ask(NAME)
    assert answer.failure == "TOOL_NOT_FOUND"
    error = answer.result["structuredContent"]["error"]
    assert error["message"] == "say_word was withdrawn. Say it yourself."
    assert error["data"]["details"] == {"instead": "Say it yourself."}
    assert tool.begun == 0
    kit.registry.register(tool.tool, "1")
    assert (await kit.ask(NAME)).value == {"word": "word"}, "and when it is back it is there"


@pytest.mark.parametrize("key", ["word", "said"], ids=["the same schema", "another schema"])
async def test_cache_entry_of_another_version_is_not_served(key: str, opener: Opener) -> None:
    """This holds in every process, and when the new version cannot answer; an entry of its own is served."""
    kit, other = await opener(), await opener()
    old, new = Version("old"), Version("new", key)
    for version in (old, new):
        version.gate.set()
    kit.registry.register(old.tool, "1")
    other.registry.register(new.tool, "2")
    await kit.ask(NAME)
    assert (await kit.ask(NAME)).meta["source"] == "cache"
    assert (await other.ask(NAME)).value == {key: "new"}
    kit.registry.register(new.tool, "2")
    answer = await kit.ask(NAME)
    assert (answer.value, answer.meta["source"]) == ({key: "new"}, "cache"), "what the other process has left is of this one"
    kit.registry.register(old.tool, "1")
    assert (await kit.ask(NAME)).value == {"word": "old"}, "back to the version before"


async def test_idempotency_key_does_not_join_two_versions(kit: Kit) -> None:
    old, new = Version("old"), Version("new", "said")
    new.gate.set()
    kit.registry.register(old.tool, "1")
    first = asyncio.create_task(kit.ask(NAME, user="u", idempotency_key="k"))
    await eventually(lambda: old.begun == 1)
    kit.registry.register(new.tool, "2")
    assert (await kit.ask(NAME, user="u", idempotency_key="k")).failure == "SERVER_BUSY"
    old.gate.set()
    assert (await first).value == {"word": "old"}
    assert (await kit.ask(NAME, user="u", idempotency_key="k")).value == {"said": "new"}


async def test_cache_entries_are_not_shared_between_different_settings(opener: Opener) -> None:
    """Contents depend on MANGA_ADULT, so servers with different values share no entry."""
    version = Version("word")
    version.gate.set()
    for setting in ("on", "off"):
        kit = await opener(adult=setting)
        kit.registry.register(version.tool, "1")
        assert (await kit.ask(NAME)).meta["source"] == "live"
    assert version.begun == 2


async def test_tool_list_follows_registration_replacement_flags_and_withdrawal(kit: Kit) -> None:
    listing = ToolListing(ToolAccess(kit.registry, kit.flags))

    def listed() -> list[tuple[str, str]]:
        return [(tool["name"], tool["title"]) for tool in listing.result(Principal())["tools"][len(TOOLS) :]]

    tool = Version("word").tool
    kit.registry.register(tool, "1")
    assert listed() == [(NAME, "Say a word")]
    kit.registry.register(replace(tool, title="Another"), "2")
    assert listed() == [(NAME, "Another")]
    kit.switch(say_word=False)
    assert listed() == []
    kit.switch()
    kit.registry.exchange({}, [NAME])
    assert listed() == []


async def test_flag_applies_to_a_tool_registered_later(kit: Kit) -> None:
    kit.switch(say_word=False)
    version = Version("word")
    kit.registry.register(version.tool, "1")
    assert (await kit.ask(NAME)).failure == "TOOL_NOT_FOUND"
    assert version.begun == 0
