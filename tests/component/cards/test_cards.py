"""Cards are shown to clients that declared them and to no other, whatever backend is away."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from jsonschema import Draft202012Validator
from mcp.client import Client, advertise
from mcp.shared.exceptions import MCPError

from session.resilience.rate_limit import Rate
from tests.support.cards import DECLARED, LISTED_PAGE, LISTED_TOOL, MIME_TYPE, NAME, OF_TOOLS, READ_PAGE, URIS
from tests.support.cases import cases
from tests.support.inmemory import ERAS, LEGACY_WORDS, connected
from tests.support.pipeline import Kit, Opener
from tests.support.store import Mood
from tools.cards.extension import cards

CARD = "com.mangaassist/card"
CARDS = cards()
OTHER = {"mimeTypes": ["text/uri-list"]}

pytestmark = [pytest.mark.virtual_time, pytest.mark.filterwarnings(LEGACY_WORDS)]


@pytest.fixture
async def kit(opener: Opener) -> Kit:
    own: Kit = await opener(extensions=(CARDS,))
    return own


def showing(kit: Kit, era: str, declared: dict[str, Any] = DECLARED) -> Client:
    return connected(kit, era, extensions=[advertise(NAME, declared)])


async def listed(client: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tools by name and resources by address, as they are sent."""
    tools, resources = (await client.list_tools()).tools, (await client.list_resources()).resources
    return {each.name: _sent(each) for each in tools}, {each.uri: _sent(each) for each in resources}


def _sent(model: Any) -> dict[str, Any]:
    return dict(model.model_dump(mode="json", by_alias=True, exclude_none=True))


@cases("era", ERAS)
async def test_host_that_declared_cards_sees_every_card_and_its_tools(era: str, kit: Kit) -> None:
    async with showing(kit, era) as client:
        tools, resources = await listed(client)
    assert {name: tool["_meta"]["ui/resourceUri"] for name, tool in tools.items() if "_meta" in tool} == OF_TOOLS
    for name in OF_TOOLS:
        Draft202012Validator(LISTED_TOOL).validate(tools[name])
    assert [uri for uri in resources if uri.startswith("ui://")] == list(URIS)
    for uri in URIS:
        Draft202012Validator(LISTED_PAGE).validate(resources[uri])


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("declared", [{}, OTHER], ids=["nothing of it", "other pages"])
async def test_client_without_cards_gets_the_same_lists_as_before(
    era: str, declared: dict[str, Any], kit: Kit, opener: Opener
) -> None:
    async with showing(kit, era, declared) as client, connected(await opener(), era) as before:
        assert await listed(client) == await listed(before)


@cases("era", ERAS)
async def test_card_is_readable_by_every_client_and_cacheable(era: str, kit: Kit) -> None:
    async with showing(kit, era) as host, connected(kit, era) as other:
        for uri in URIS:
            found = await host.read_resource(uri)
            [content] = found.contents
            Draft202012Validator(READ_PAGE).validate(_sent(content))
            assert isinstance(content, types.TextResourceContents)
            assert (content.uri, content.mime_type) == (uri, MIME_TYPE)
            assert content.text.startswith("<!doctype html>\n<html")
            assert (await other.read_resource(uri)).contents == found.contents
            assert era == "legacy" or (found.ttl_ms, found.cache_scope) == (3_600_000, "public")


@cases("era", ERAS)
async def test_metadata_of_a_card_is_the_same_in_list_and_read(era: str, kit: Kit) -> None:
    async with showing(kit, era) as client:
        _, resources = await listed(client)
        for uri in URIS:
            [content] = (await client.read_resource(uri)).contents
            assert _sent(content)["_meta"] == resources[uri]["_meta"]


async def test_lists_with_cards_are_private_and_lists_without_are_public(kit: Kit) -> None:
    async with showing(kit, "auto") as host, connected(kit, "auto") as other:
        scopes = [(await host.list_tools()).cache_scope, (await host.list_resources()).cache_scope]
        assert scopes == ["private", "private"]
        assert [(await other.list_tools()).cache_scope, (await other.list_resources()).cache_scope] == ["public", "public"]


@cases("era", ERAS)
async def test_disabled_tool_is_listed_without_its_card(era: str, kit: Kit) -> None:
    """Where two tools share a card, the other tool keeps it."""
    kit.switch(preview_manga_pages=False, get_recommendations=False, lookup_order=True)
    async with showing(kit, era) as client:
        tools, resources = await listed(client)
        assert {"preview_manga_pages", "get_recommendations"}.isdisjoint(tools)
        assert [uri for uri in resources if uri.startswith("ui://")] == list(URIS[:-1])
        assert (await client.read_resource(URIS[-1])).contents, "which a host may still have on its screen"


async def test_cards_are_read_without_any_backend_while_all_are_down(kit: Kit) -> None:
    for backend in (kit.backends.catalog, kit.backends.stock, kit.backends.orders, kit.backends.titles):
        backend.mood = Mood.FAILS
    kit.redis.inner.away = True  # type: ignore[attr-defined]
    async with showing(kit, "auto") as client:
        for uri in URIS:
            assert (await client.read_resource(uri)).contents
        assert len((await listed(client))[1]) > len(URIS)
    asked = (kit.backends.catalog, kit.backends.stock, kit.backends.orders, kit.backends.titles, kit.backends.pages)
    assert [port.asked for port in asked] == [
        [call for call in kit.backends.catalog.asked if call[0] == "popular"],
        *[[]] * 4,
    ]


async def test_reading_cards_counts_against_the_rate_limit(opener: Opener) -> None:
    kit = await opener(extensions=(CARDS,), rate=Rate(1, 3))
    async with showing(kit, "auto") as client:
        meta: Any = {"com.mangaassist/sessionId": "reader"}
        for uri in URIS[:3]:
            await client.read_resource(uri, meta=meta)
        with pytest.raises(MCPError) as refused:
            await client.read_resource(URIS[3], meta=meta)
    assert refused.value.data["name"] == "RATE_LIMITED"


async def test_reading_a_card_emits_one_telemetry_event(kit: Kit) -> None:
    async with showing(kit, "auto") as client:
        await client.read_resource(URIS[0])
    assert [(event.tool, event.outcome) for event in kit.events] == [("resource card_search", "ok")]


@cases("era", ERAS)
async def test_japanese_names_are_added_to_a_result_for_a_card_host_only(era: str, kit: Kit) -> None:
    asked = {"title_ids": ["manga-000001", "manga-000005"]}
    async with showing(kit, era) as host, connected(kit, era) as other:
        told, plain = await host.call_tool("check_inventory", asked), await other.call_tool("check_inventory", asked)
        failed = await host.call_tool("get_manga_details", {"title_id": "manga-999999"})
        found = await host.call_tool("search_manga_catalog", {"query": "Pirate Sea"})
    assert told.meta is not None
    assert told.meta[CARD] == {"names": {"manga-000001": "海賊の海", "manga-000005": "台所の日々"}}
    assert told.structured_content == plain.structured_content
    assert told.content == plain.content, "nothing of it is for a model"
    assert [CARD in (each.meta or {}) for each in (plain, failed)] == [False] * 2
    assert found.meta is not None
    assert found.meta[CARD] == {"tools": ["check_inventory", "get_recommendations"]}, "whose names are in the result"


@cases("era", ERAS)
async def test_card_is_told_which_buttons_are_enabled_for_the_caller(era: str, kit: Kit) -> None:
    title = {"title_id": "manga-000001"}
    async with showing(kit, era) as host:
        kit.switch(preview_manga_pages=False, check_inventory=True)
        off = await host.call_tool("get_manga_details", title)
        kit.switch(preview_manga_pages=True, check_inventory=False)
        on = await host.call_tool("get_manga_details", title)
    assert off.meta is not None
    assert on.meta is not None
    assert (off.meta[CARD], on.meta[CARD]) == ({"tools": ["check_inventory"]}, {"tools": ["preview_manga_pages"]})
