"""The stream of the operators' page holds no query, user or answer of a customer, to the byte."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from server.config.settings import Settings
from server.ops.waterfalls import hash_text, is_plain
from session.keys import user_hash
from tests.support.cases import cases
from tests.support.inprocess import in_process
from tests.support.ops import watching
from tests.support.raw import Connection, call, in_2026

TOKEN = "a-secret-zyxw-of-the-agent"
USER, OTHER = "customer-qqzz@example.com", "demo-user-1"
SESSION, TURN, KEY = "session-vvkk-1", "turn-vvkk-1", "key-vvkk-1"
TRACE = "0af7651916cd43dd8448eb211c80319c"
QUERY, PREFERENCE = "zebra xylophone kraken", "nothing with wuggles in it"
EMAIL, ORDER, UNKNOWN_ORDER = "qqzz.reader@example.com", "MNG-DEMO1001", "MNG-ZZQQ9999"
SAID = [TOKEN, USER, OTHER, SESSION, TURN, KEY, TRACE, QUERY, "zebra", "xylophone", "kraken", "wuggles", EMAIL, ORDER]
SAID += [UNKNOWN_ORDER, "example.com", user_hash(USER), user_hash(OTHER), "manga-000777", "evil-name", "evil-value"]
CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("search_manga_catalog", {"query": QUERY}, USER),
    ("search_manga_catalog", {"query": EMAIL}, USER),
    ("get_recommendations", {"criteria": QUERY}, OTHER),
    ("lookup_order", {"order_id": ORDER}, OTHER),
    ("lookup_order", {"order_id": UNKNOWN_ORDER}, USER),
    ("get_manga_details", {"title_id": "manga-000777"}, USER),
    ("remember_preference", {"preference": PREFERENCE}, OTHER),
    ("classify_genre", {"text": QUERY}, OTHER),
    ("search_manga_catalog", {"query": QUERY, "evil-name": "evil-value"}, USER),
    ("check_inventory", {"title_ids": ["evil-value"]}, USER),
]


def meta(user: str) -> dict[str, str]:
    stated = {"sessionId": SESSION, "turnId": TURN, "userId": user, "idempotencyKey": KEY, "turnBudgetMs": "30000"}
    return {f"com.mangaassist/{name}": each for name, each in stated.items()} | {
        "traceparent": f"00-{TRACE}-b7ad6b7169203331-01"
    }


async def test_ops_stream_contains_no_personal_data() -> None:
    settings = replace(Settings(), auth="token", auth_tokens=(TOKEN,), turn_budget_ms=30_000)
    bearer = {"authorization": f"Bearer {TOKEN}"}
    async with in_process(settings=settings) as own, watching(own.port, bearer) as page:
        await page.next("state")
        answers, told = b"", []
        async with Connection.to(own.port) as connection:
            for number, (tool, arguments, user) in enumerate(CALLS):
                request = call(tool, arguments, meta(user) | {"com.mangaassist/idempotencyKey": f"{KEY}-{number}"}, number)
                body, headers = in_2026(request)
                answers += (await connection.request("POST", "/mcp", body, {**headers, **bearer})).body
        while len(told) < len(CALLS):
            told.append(await page.next("call"))
        while (state := await page.next("state"))["calls"]["total"] < len(CALLS):
            pass
    assert ORDER.encode() in answers, "the calls were not answered as they should be"
    assert {each["tool"] for each in told} == {tool for tool, _, _ in CALLS}
    assert len({each["turn"] for each in told}) == len({each["session"] for each in told}) == 1
    assert len({each["user"] for each in told}) == 2
    assert {each["name"] for each in state["errors"]} >= {"VALIDATION_ERROR", "NOT_FOUND"}
    heard = bytes(page.said).lower()
    assert [each for each in SAID if each.lower().encode() in heard] == []


def test_hash_depends_on_the_process_key_and_the_kind() -> None:
    assert hash_text(b"own", "user", USER) == hash_text(b"own", "user", USER)
    assert len({hash_text(b"own", "user", USER), hash_text(b"own", "session", USER), hash_text(b"other", "user", USER)}) == 3
    assert len(hash_text(b"own", "user", "\ud800")) == 8


@cases("value", ["MNG-DEMO1001", "a@b.example", "x" * 41, "日本", "https://u:p@host", "10.0.0.1"])
def test_only_numbers_and_short_words_are_plain_attributes(value: str) -> None:
    assert not is_plain(value)
    assert is_plain("batch get")
    assert is_plain(3)
