"""The store's own resources, read by the official client of each era with no socket between."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from tests.support.cases import cases
from tests.support.inmemory import ERAS, LEGACY_WORDS, connected
from tests.support.pipeline import Kit
from tests.support.store import BAD, Mood
from tools.store.models.order import TOPICS

TITLE = "manga://titles/manga-000001"
OF_TITLES = types.ResourceTemplateReference(uri="manga://titles/{title_id}")

pytestmark = [pytest.mark.virtual_time, pytest.mark.filterwarnings(LEGACY_WORDS)]


async def read(client: Client, uri: str, **meta: Any) -> Any:
    """The JSON document at an address."""
    stated: Any = {f"com.mangaassist/{name}": value for name, value in meta.items()}
    [content] = (await client.read_resource(uri, meta=stated)).contents
    assert isinstance(content, types.TextResourceContents)
    assert (content.uri, content.mime_type) == (uri, "application/json")
    return json.loads(content.text)


async def refusal(client: Client, uri: str, **meta: Any) -> tuple[int, str]:
    with pytest.raises(MCPError) as refused:
        await read(client, uri, **meta)
    assert refused.value.data["uri"] == uri
    return refused.value.code, refused.value.data["name"]


@cases("era", ERAS)
async def test_title_resource_is_the_answer_of_the_tool(era: str, kit: Kit) -> None:
    told = (await kit.ask("get_manga_details", {"title_id": "manga-000001"})).value
    async with connected(kit, era) as client:
        assert await read(client, TITLE) == told
        result = await client.read_resource(TITLE)
    assert (told["price_jpy"], told["in_stock"]) == (501, True)
    assert era == "legacy" or (result.ttl_ms, result.cache_scope) == (5000, "public")


@cases("title_id", ["manga-999999", "no%20id", "%00", "-"])
async def test_missing_title_is_an_error_with_its_uri(title_id: str, kit: Kit) -> None:
    async with connected(kit, "auto") as client:
        assert await refusal(client, f"manga://titles/{title_id}") == (types.INVALID_PARAMS, "NOT_FOUND")


async def test_title_resource_states_its_degradation(kit: Kit) -> None:
    kit.backends.stock.mood = kit.backends.catalog.mood = Mood.FAILS
    async with connected(kit, "auto") as client:
        told = await read(client, TITLE)
        assert (told["title"], told["in_stock"], told["degraded"]) == ("Pirate Sea", None, ["catalog", "stock"])


@pytest.mark.parametrize("mood", BAD)
async def test_title_resource_falls_back_to_last_known_details(mood: Mood, kit: Kit) -> None:
    """It uses the tool's own fallback, for every kind of backend failure. A call goes by the pipeline's clock."""
    kit.backends.titles.mood = kit.backends.catalog.mood = mood
    async with connected(kit, "auto") as client:
        told = await read(client, TITLE)
    assert (told["title"], told["in_stock"], told["degraded"]) == ("Pirate Sea", True, ["catalog"])
    event = kit.events[-1]
    assert (event.source, event.fallback) == ("fallback", "last_known_details")
    assert mood is not Mood.HANGS or event.milliseconds >= 300


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("pira", "manga-000001"),
        ("海", "manga-000001"),
        ("怪物", "manga-000003"),
        ("robot c", "manga-000006"),
        ("manga-000004", "manga-000004"),
        ("Garden", "manga-000004"),
    ],
)
async def test_title_ids_are_completed_by_a_typed_name(typed: str, first: str, kit: Kit) -> None:
    async with connected(kit, "auto") as client:
        proposed = (await client.complete(OF_TITLES, {"name": "title_id", "value": typed})).completion
    assert proposed.values[0] == first


async def test_popular_titles_complete_an_empty_text_and_nonsense_has_no_completion(kit: Kit) -> None:
    async with connected(kit, "auto") as client:
        empty = (await client.complete(OF_TITLES, {"name": "title_id", "value": ""})).completion.values
        assert empty == [f"manga-{n:06}" for n in range(1, 7)]
        for nonsense in ("zzqqxx", "!!", "\u200b", "x" * 2000):
            assert (await client.complete(OF_TITLES, {"name": "title_id", "value": nonsense})).completion.values in (
                [],
                empty,
            )
        kit.backends.catalog.mood = Mood.FAILS
        assert (await client.complete(OF_TITLES, {"name": "title_id", "value": "garden"})).completion.values == []


@cases("era", ERAS)
@cases("topic", TOPICS)
async def test_policy_resource_has_both_languages_and_is_listed(era: str, topic: str, kit: Kit) -> None:
    """Each topic is listed for clients that do not know templates."""
    uri = f"manga://policies/{topic}"
    async with connected(kit, era) as client:
        listed = {each.uri: each for each in (await client.list_resources()).resources}
        result = await client.read_resource(uri)
    assert listed[uri].mime_type == "text/markdown"
    texts = [each.text for each in result.contents if isinstance(each, types.TextResourceContents)]
    assert texts == [kit.store.policies.text(topic, language) for language in ("en", "ja")]
    assert era == "legacy" or result.cache_scope == "public"


async def test_unknown_policy_topic_is_refused_with_the_existing_ones(kit: Kit) -> None:
    async with connected(kit, "auto") as client:
        for topic in ("gifts", "Shipping", "shipping%2Fja"):
            with pytest.raises(MCPError, match=r"shipping, returns, payment, languages") as refused:
                await client.read_resource(f"manga://policies/{topic}")
            assert (refused.value.code, refused.value.data["name"]) == (types.INVALID_PARAMS, "NOT_FOUND")
        ref = types.ResourceTemplateReference(uri="manga://policies/{topic}")
        assert (await client.complete(ref, {"name": "topic", "value": "pa"})).completion.values == ["payment"]


async def test_subscription_to_a_resource_without_change_events_is_refused(kit: Kit) -> None:
    """The 2025 era gets an error, and the 2026 era no acknowledgement."""
    uris = [TITLE, "manga://policies/returns", "manga://orders/MNG-UUUU0001", "manga://profile"]
    async with connected(kit, "legacy") as client:
        for uri in uris:
            with pytest.raises(MCPError, match="read it again"):
                await client.subscribe_resource(uri)
    async with connected(kit, "auto") as client, client.listen(resource_subscriptions=[*uris, "manga://none"]) as events:
        assert not events.honored.resource_subscriptions
