"""Nothing of one person reaches another: not in an answer, not in a log, a metric or a span, and not by way of Redis.

The people are marked (`tests.support.canaries`), what they do at the same time is drawn from a seed
(`tests.support.interleaving`; MANGA_TEST_SEED takes another), and the server is a process with every port it has.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from session.memory import unpack
from session.redis.address import RedisAddress
from tests.stack.dynamodb import REGION
from tests.stack.fixtures import dynamodb_endpoint  # noqa: F401
from tests.support.canaries import CanaryShop, Person, found
from tests.support.cases import cases
from tests.support.crowd import UPDATED, WAYS, Got, MixedUp
from tests.support.interleaved_sessions import WHOLE
from tests.support.interleaving import interleaved
from tests.support.process import LISTENING, Process, run, until
from tests.support.raw import ask
from tests.support.redis_kinds import all_keys
from tests.support.stack import seeded
from tests.support.valkey import ask as ask_redis
from tests.support.valkey import connected, private_valkey
from tests.support.watched_server import FORGETS, SAYS

ROUNDS = 72
ROUNDS_TO_CATCH = 24
SECONDS_TO_CATCH = 25.0
WRITTEN_SECONDS = 30.0
SEED = int(os.environ.get("MANGA_TEST_SEED", "20261122"))

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Watched:
    """A server, the people who use it, and everything that it leaves behind."""

    shop: CanaryShop
    process: Process
    redis: RedisAddress
    folder: Path
    unasked: bytes = b""
    told_of_silence: bool = False
    got: list[Got] = field(default_factory=list)
    public: dict[str, bytes] = field(default_factory=dict)
    read_before: dict[str, int] = field(default_factory=dict)

    async def play(self, rounds: int, seed: int = SEED) -> None:
        """Raises at once what a round finds; the bytes are looked at afterwards."""
        async with interleaved(self.process.port, self.shop.people, seed) as crowd:
            try:
                for _ in range(rounds):
                    await crowd.round()
            finally:
                self.got += crowd.got
                self.unasked += crowd.unasked
                self.told_of_silence |= crowd.told_of_silence
        for path in ("/metrics", "/readyz", "/healthz"):
            self.public[path] = (await ask(self.process.port, "GET", path)).body
        told = [line for got in self.got[-20:] if (line := got.call_id) is not None]
        await until(lambda: all(call_id in self.log for call_id in told), WRITTEN_SECONDS, "the last calls in the log")
        await until(lambda: '"tool":"lookup_order"' not in self.log or bool(self.audit), WRITTEN_SECONDS, "an audit")

    async def anew(self, forgets: str = "nothing") -> None:
        """Nothing is remembered, and what was said until now was said. `forgets`: see `tests.support.watched_server`."""
        assert self.process.process.stdin is not None
        self.process.process.stdin.write(f"{forgets}\n".encode())
        await until(lambda: SAYS.format(forgets) in self.process.lines[-50:], WRITTEN_SECONDS, "it forgets")
        async with connected(self.redis) as redis:
            await ask_redis(redis, "FLUSHALL")
        self.got, self.unasked, self.told_of_silence, self.public, self.read_before = [], b"", False, {}, {}
        self.read_before = {"log": len(self.log), "spans": len(self.spans), "audit": len(self.audit)}

    @property
    def log(self) -> str:
        return self.process.log[self.read_before.get("log", 0) :]

    @property
    def spans(self) -> str:
        return (self.folder / "spans.jsonl").read_text("utf-8")[self.read_before.get("spans", 0) :]

    @property
    def audit(self) -> str:
        return (self.folder / "audit.jsonl").read_text("utf-8")[self.read_before.get("audit", 0) :]


@asynccontextmanager
async def watched(
    shop: CanaryShop, folder: Path, redis: RedisAddress, redis_url: str, **urls: str
) -> AsyncIterator[Watched]:
    """Everything that it could say, it says: debug, all calls, an audit, spans."""
    told = {"log_level": "debug", "log_tool_calls": "all", "audit_log": folder / "audit.jsonl"}
    given = {"catalog_file": shop.catalog, "data_dir": folder, "redis_url": redis_url, "rate_limit": "off", **told, **urls}
    program = [sys.executable, "-m", "tests.support.watched_server", str(shop.orders), str(folder / "spans.jsonl")]
    async with run("serve", program=program, stdin=subprocess.PIPE, **given) as process:
        process.port = int((await process.said(LISTENING)).group(1))
        yield Watched(shop, process, redis, folder)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["embedded", "real stack"])
async def started(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Watched]:
    """Over the backends in its own process, and over OpenSearch, DynamoDB Local and Redis."""
    folder = tmp_path_factory.mktemp("watched")
    shop = CanaryShop.made(SEED, folder / "shop")
    if request.param == "embedded":
        with private_valkey() as valkey:
            async with watched(shop, folder, valkey.address, f"redis://127.0.0.1:{valkey.port}") as own:
                yield own
        return
    own_name = f"canary{uuid.uuid4().hex[:8]}"
    index, tables = request.getfixturevalue("opensearch_url"), request.getfixturevalue("dynamodb_endpoint")
    redis_url = request.getfixturevalue("redis_url")
    urls = {
        "catalog_url": f"{index}/?alias={own_name}",
        "store_url": f"dynamodb://{REGION}?endpoint={tables}&table_prefix={own_name}-",
    }
    settings = {f"MANGA_{name.upper()}": value for name, value in urls.items()} | {"MANGA_EMBEDDER": "none"}
    done = await asyncio.to_thread(seeded, settings, "--catalog", str(shop.catalog), "--orders", str(shop.orders))
    assert done.returncode == 0, done.stderr
    async with watched(shop, folder, RedisAddress.parse(redis_url), redis_url, **urls) as own:
        yield own


@pytest_asyncio.fixture(loop_scope="module")
async def server(started: Watched) -> Watched:
    await started.anew()
    return started


async def test_nobody_sees_data_of_another_user_and_everybody_gets_their_own(server: Watched) -> None:
    """Answers, log, metrics, spans, audit and Redis after several people did everything at once; and each did get what is
    their own, without which all this would prove nothing."""
    await server.play(ROUNDS)
    assert await wrong_in(server) == [], f"MANGA_TEST_SEED={SEED}"
    assert in_audit(server) == []
    assert missing_of_their_own(server) == []


@pytest.mark.parametrize("started", ["embedded"], indirect=True, scope="module")
@pytest.mark.parametrize("what", FORGETS)
async def test_deliberate_mix_up_of_users_is_detected(started: Watched, what: str) -> None:
    """One place is mixed up at a time; otherwise the test above could pass without looking."""
    wrong: list[str] = []
    end, seed = time.monotonic() + SECONDS_TO_CATCH, SEED
    while not wrong and time.monotonic() < end:
        seed += 1
        await started.anew(forgets=what)
        try:
            await started.play(ROUNDS_TO_CATCH, seed)
        except MixedUp as error:
            wrong = [str(error)]
        else:
            wrong = await wrong_in(started)
    assert wrong, f"a server that mixes up its {what} was not noticed"


async def test_ending_a_session_does_not_end_that_of_another_user(server: Watched) -> None:
    """Two customers use the same session id, and each removes only its own."""
    one, other = server.shop.signed_in[:2]
    async with interleaved(server.process.port, server.shop.people, SEED) as crowd:

        async def checked(person: Person) -> Got:
            return await crowd.call(person, "check_inventory", {}, sessionId="theirs")

        for person in (one, other):
            await crowd.call(person, "search_manga_catalog", {"query": person.secret, "max_results": 1}, sessionId="theirs")
        for person in (other, server.shop.people[-1]):
            assert await crowd.forget(person, "theirs") == 204
        kept, gone = await checked(one), await checked(other)
        assert kept.success is not None, kept.answer
        assert [row["title_id"] for row in kept.success["items"]] == [one.secret_id]
        assert gone.success is None, gone.answer


@cases("way", WAYS)
async def test_foreign_missing_and_malformed_orders_give_byte_equal_answers(server: Watched, way: str) -> None:
    """Only the call's id and its milliseconds may differ."""
    one, other = server.shop.signed_in[:2]
    asked = [other.orders[0].order_id, "MNG-22222222", "MNG-00000000", "MNG-ZZZZZZZZ"]
    async with interleaved(server.process.port, server.shop.people, SEED) as crowd:
        crowd.ways = (way,)
        answers = [await crowd.call(one, "lookup_order", {"order_id": order_id}) for order_id in asked for _ in range(5)]
    told = {json.dumps(_without_chance(got.answer["result"]), sort_keys=True) for got in answers}
    assert len(told) == 1, told
    assert "NOT_FOUND" in told.pop()


# -- what may be where


async def wrong_in(server: Watched) -> list[str]:
    found = [*in_answers(server), *in_public(server), *await in_redis(server), *in_log(server), *in_spans(server)]
    return list(dict.fromkeys(found))


def in_answers(server: Watched) -> list[str]:
    """Everything of everybody else, in any byte that a person got; and an order's number not even where it was asked for."""
    wrong = []
    for got in server.got:
        for other in server.shop.people:
            if other is not got.person:
                wrong += [f"{canary} in an answer of {got.asked}" for canary in found(got.raw, _foreign(got, other))]
    everybodys = [canary for person in server.shop.people for canary in person.everything]
    wrong += ["an update of another's session"] if server.told_of_silence else []
    return wrong + [f"{canary} over a stream, unasked" for canary in found(server.unasked, everybodys)]


def _foreign(got: Got, other: Person) -> list[str]:
    return [canary for canary in other.everything if canary not in got.person.everything]


def in_public(server: Watched) -> list[str]:
    everybodys = [canary for person in server.shop.people for canary in person.everything]
    return [f"{canary} in {path}" for path, body in server.public.items() for canary in found(body, everybodys)]


def in_log(server: Watched) -> list[str]:
    """It knows people by their hash, and titles."""
    return [f"{canary} in the log" for canary in found(server.log, _private(server.shop))]


def in_spans(server: Watched) -> list[str]:
    hashes = [person.hash for person in server.shop.signed_in]
    return [f"{canary} in a span" for canary in found(server.spans, [*_private(server.shop), *hashes])]


def in_audit(server: Watched) -> list[str]:
    """Which order was asked for, and by whose hash: nothing else of the order."""
    numbers = [order.order_id for person in server.shop.people for order in person.orders]
    others = [canary for canary in _private(server.shop) if canary not in numbers]
    wrong = [f"{canary} in the audit" for canary in found(server.audit, others)]
    return wrong if found(server.audit, numbers) else [*wrong, "no order in the audit"]


def _private(shop: CanaryShop) -> list[str]:
    """All but the hash, and the ids of titles, which are the catalogue's."""
    return [
        canary
        for person in shop.people
        for canary in (*person.of_orders, *person.typed, *person.reasons, *person.handles, *person.names, person.secret)
    ]


async def in_redis(server: Watched) -> list[str]:
    """No order and no user as they are called, anywhere; a person's words and reasons in that person's own keys alone."""
    wrong = []
    people = server.shop.people
    never = [canary for person in people for canary in (*person.of_orders, *person.names)]
    async with connected(server.redis) as redis:
        for name in await all_keys(redis):
            value = await _value(redis, name)
            allowed = {canary for person in people if _is_theirs(name, person) for canary in _may_be_kept(name, person)}
            orders = [number for person in people if _is_theirs(name, person) for number in _orders_kept(name, person)]
            in_value = [canary for canary in never if canary not in orders]
            in_value += [c for each in people for c in (*each.typed, *each.reasons) if c not in allowed]
            in_value += [] if _holds_titles(name) else [c for each in people for c in each.searched if c not in allowed]
            in_name = never + [c for each in people for c in (*each.typed, *each.searched, *each.liked.values())]
            wrong += [f"{canary} in the value of {name!r}" for canary in found(value, in_value)]
            wrong += [f"{canary} in the name of {name!r}" for canary in found(name, in_name)]
    return wrong


def _is_theirs(name: bytes, person: Person) -> bool:
    """By the hash in it; anonymous callers have what is kept under their own session."""
    return person.hash.encode() in name if person.user else person.session.encode() in name


def _may_be_kept(name: bytes, person: Person) -> list[str]:
    """A session knows its last search, and its history what was asked and looked at; what an idempotency key gave is given
    again, and so is the whole of a result that was shortened."""
    given = b":session:" not in name or name.endswith(b":whole")
    return [*person.typed, *person.searched, *(person.reasons if given else [])]


def _orders_kept(name: bytes, person: Person) -> list[str]:
    """A session knows the number of the order that was looked up last, and nothing else of it."""
    return [order.order_id for order in person.orders] if name.endswith(f"}}:{person.hash}".encode()) else []


def _holds_titles(name: bytes) -> bool:
    """What the catalogue says is everybody's."""
    return any(kind in name for kind in (b":set:", b":snapshot:"))


async def _value(redis: Any, name: bytes) -> bytes:
    kind = await ask_redis(redis, "TYPE", name)
    read = {b"string": ("GET", name), b"hash": ("HGETALL", name), b"list": ("LRANGE", name, 0, -1), b"none": ("ECHO", b"")}
    value = await ask_redis(redis, *read[kind])
    if name.endswith(b":whole"):
        value = [unpack(each.partition(b" ")[2]) or b"unreadable" for each in value]
    return b"\n".join(value) if isinstance(value, list) else value or b""


def missing_of_their_own(server: Watched) -> list[str]:
    """Of what each ought to have seen."""
    kinds = {"resources/read": "anything that is read", WHOLE: "a whole result"}
    read = {got.asked for got in server.got if "result" in got.answer}
    missing = [what for kind, what in kinds.items() if kind not in read] + ([] if UPDATED in server.unasked else ["updates"])
    for person in server.shop.people:
        raw = b"".join(got.raw for got in server.got if got.person is person)
        wanted = {"search": [person.secret], "stock": [person.secret_id], "criteria": [person.criteria]}
        wanted["history"] = [f'search \\"{person.secret}']
        if person.orders:
            wanted |= {"an order": [order.note or "" for order in person.orders]}
        if person.user:
            wanted |= {"reasons": person.reasons, "what is remembered": [f"remembered: {person.states}"]}
        missing += [
            f"{what} of {person.user or 'an anonymous caller'}" for what, any_of in wanted.items() if not found(raw, any_of)
        ]
    return missing


def _without_chance(result: Any) -> Any:
    """A result without what differs from call to call by itself."""
    by_chance = ("callId", "latencyMs", "request_id", "turnId", "remainingMs", "totalMs")
    if isinstance(result, dict):
        return {name: _without_chance(each) for name, each in result.items() if name not in by_chance}
    if isinstance(result, list):
        return [_without_chance(each) for each in result]
    if isinstance(result, str) and result.startswith("{"):
        return _without_chance(json.loads(result))
    return result
