"""Orders and profiles as resources: for their owner only, by the rules of the tools, and audited."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from server.telemetry.audit import AuditLog
from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tests.support.inmemory import ERAS, LEGACY_WORDS, connected
from tests.support.pipeline import Kit, Opener
from tests.support.store import Mood
from tools.store.failures import NotFound

OWN, FOREIGN, MISSING = "MNG-UUUU0001", "MNG-VVVV0001", "MNG-ZZZZ9999"
OF_ORDERS = types.ResourceTemplateReference(uri="manga://orders/{order_id}")
PROFILE = "manga://profile"

pytestmark = [pytest.mark.virtual_time, pytest.mark.filterwarnings(LEGACY_WORDS)]


def as_user(user: str | None) -> Any:
    return {"com.mangaassist/userId": user} if user else {}


async def read(client: Client, uri: str, user: str | None = "u") -> Any:
    [content] = (await client.read_resource(uri, meta=as_user(user))).contents
    assert isinstance(content, types.TextResourceContents)
    return json.loads(content.text)


async def refused(client: Client, uri: str, user: str | None = "u") -> dict[str, Any]:
    """All that is told, but for the number of the request and the address."""
    with pytest.raises(MCPError) as error:
        await read(client, uri, user)
    told = {**error.value.data, "code": error.value.code, "message": error.value.message}
    assert told.pop("uri") == uri
    del told["request_id"]
    return told


async def proposed(client: Client, typed: str, user: str | None) -> list[str]:
    """The client itself has no argument for `_meta` here."""
    given = {"ref": OF_ORDERS, "argument": types.CompletionArgument(name="order_id", value=typed), "_meta": as_user(user)}
    request = types.CompleteRequest(params=types.CompleteRequestParams(**given))
    return list((await client.session.send_request(request, types.CompleteResult)).completion.values)


class Sink:
    """Takes each line of an audit, and says what becomes of it."""

    dropped = 0

    def __init__(self, says: bool = True) -> None:
        self.says = says
        self.lines: list[dict[str, Any]] = []

    def put(self, line: bytes, written: Callable[[bool], None] | None = None) -> bool:
        self.lines.append(json.loads(line))
        if written is not None:
            written(self.says)
        return True


@pytest.fixture
async def viewed(kit: Kit) -> Kit:
    """`u` has searched and looked, `v` has looked at something else."""
    await kit.ask("search_manga_catalog", {"query": "pirates"}, user="u")
    for title_id in ("manga-000001", "manga-000003", "manga-000001"):
        await kit.ask("get_manga_details", {"title_id": title_id}, user="u")
    await kit.ask("get_manga_details", {"title_id": "manga-000004"}, user="v")
    await kit.pipeline.profile_queue.aclose()
    return kit


@cases("era", ERAS)
async def test_order_resource_is_the_answer_of_the_tool_and_private(era: str, kit: Kit) -> None:
    told = (await kit.ask("lookup_order", {"order_id": OWN}, user="u")).value
    async with connected(kit, era) as client:
        assert await read(client, f"manga://orders/{OWN}") == told
        result = await client.read_resource(f"manga://orders/{OWN}", meta=as_user("u"))
    assert era == "legacy" or (result.ttl_ms, result.cache_scope) == (0, "private")


async def test_foreign_missing_and_malformed_order_numbers_give_one_answer(kit: Kit) -> None:
    async with connected(kit, "auto") as client:
        told = [await refused(client, f"manga://orders/{each}") for each in (FOREIGN, MISSING, "x", f"{OWN}%0A")]
        anonymous = [await refused(client, f"manga://orders/{each}", None) for each in (OWN, MISSING, "x")]
    assert told == [told[0]] * 4
    assert (told[0]["code"], told[0]["name"]) == (types.INVALID_PARAMS, NotFound("").name)
    assert anonymous == [anonymous[0]] * 3
    assert (anonymous[0]["code"], anonymous[0]["name"]) == (types.INVALID_PARAMS, "FORBIDDEN")


async def test_order_numbers_are_completed_for_their_owner_only(kit: Kit) -> None:
    async with connected(kit, "auto") as client:
        for typed, expected in {"": [OWN], "mng-u": [OWN], " 0001": [OWN], "mng uuuu 00": [OWN], "vv": []}.items():
            assert await proposed(client, typed, "u") == expected, typed
        assert await proposed(client, "", "v") == [FOREIGN]
        assert [await proposed(client, FOREIGN, user) for user in ("u", None)] == [[], []]


async def test_unreadable_order_is_an_error_and_not_a_missing_one(kit: Kit) -> None:
    kit.backends.orders.mood = Mood.FAILS
    async with connected(kit, "auto") as client:
        told = await refused(client, f"manga://orders/{OWN}")
        assert (told["code"], told["name"]) == (types.INTERNAL_ERROR, "DEPENDENCY_FAILURE")
        assert await proposed(client, "", "u") == []


@cases("era", ERAS)
async def test_profile_is_readable_by_its_owner_only(era: str, viewed: Kit) -> None:
    async with connected(viewed, era) as client:
        told = await read(client, PROFILE)
        assert [each["words"] for each in told["searched"]] == ["pirates"]
        assert sorted((each["title_id"], each["title"]) for each in told["viewed"]) == [
            ("manga-000001", "Pirate Sea"),
            ("manga-000003", "Monster Hunter Doctor"),
        ]
        assert all(each["at"].endswith("Z") for each in (*told["searched"], *told["viewed"]))
        assert told["kept_days"] == 180
        others = await read(client, PROFILE, "v")
        assert [each["title"] for each in others["viewed"]] == ["Rose Garden"]
        assert (await read(client, PROFILE, "somebody-new"))["viewed"] == []
        assert (await refused(client, PROFILE, None))["name"] == "FORBIDDEN"


async def test_forgotten_profile_is_read_as_empty(viewed: Kit) -> None:
    soon = Deadline.after(1, viewed.clock)
    async with connected(viewed, "auto") as client:
        told = await read(client, PROFILE)
        assert told["searched"]
        assert told["viewed"]
        await viewed.store.profiles.forget("u", soon)
        told = await read(client, PROFILE)
    assert told["searched"] == told["viewed"] == []


async def test_profile_lists_the_owners_preferences_with_date_and_effect(kit: Kit) -> None:
    for text in ("I don't like ghosts", "I read English only"):
        await kit.ask("remember_preference", {"preference": text}, user="u")
    today = kit.store.now().date().isoformat()
    async with connected(kit, "auto") as client:
        own, others = await read(client, PROFILE), await read(client, PROFILE, "v")
        await kit.ask("forget_preference", {"preference": "all"}, user="u")
        assert (await read(client, PROFILE))["preferences"] == []
    ghosts, english = own["preferences"]
    assert (ghosts["preference"], ghosts["at"]) == ("I don't like ghosts", today)
    assert "without Ghosts" in ghosts["obeyed"][0]
    assert english == {"preference": "I read English only", "at": today, "obeyed": []}
    assert others["preferences"] == []


@pytest.mark.parametrize("port", ["profiles", "preferences"])
async def test_unreadable_profile_is_an_error_and_not_an_empty_one(viewed: Kit, port: str) -> None:
    getattr(viewed.backends, port).mood = Mood.FAILS
    async with connected(viewed, "auto") as client:
        assert (await refused(client, PROFILE))["name"] == "DEPENDENCY_FAILURE"


async def test_each_access_to_personal_data_leaves_an_audit_line_without_the_user(opener: Opener) -> None:
    sink = Sink()
    kit: Kit = await opener(audit=AuditLog(sink))
    async with connected(kit, "legacy") as client:
        await read(client, f"manga://orders/{OWN}")
        await refused(client, f"manga://orders/{FOREIGN}")
        await read(client, PROFILE)
        await client.read_resource("manga://titles/manga-000001", meta=as_user("u"))
        await proposed(client, "mng", "u")
    assert [(line["tool"], line["outcome"], line["what"]) for line in sink.lines] == [
        ("resource order", "ok", {"uri": f"manga://orders/{OWN}", "order_id": OWN}),
        ("resource order", "NOT_FOUND", {"uri": f"manga://orders/{FOREIGN}", "order_id": FOREIGN}),
        ("resource profile", "ok", {"uri": PROFILE}),
        ("completion order order_id", "ok", {"value": "mng"}),
    ]


async def test_personal_resource_is_withheld_when_its_audit_line_cannot_be_written(opener: Opener) -> None:
    kit: Kit = await opener(audit=AuditLog(Sink(says=False), required=True))
    async with connected(kit, "legacy") as client:
        for uri in (f"manga://orders/{OWN}", PROFILE):
            assert (await refused(client, uri))["name"] == "DEPENDENCY_FAILURE"
