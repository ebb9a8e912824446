"""Two servers in this process share one Redis or one folder of sockets: a message that reaches either is answered by the
one that holds the session."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from server.config.settings import Settings
from server.identity.request_metadata import TrustStated
from server.transport.http.sse import SessionRouter
from server.transport.relay.carriers import SocketRelay
from server.transport.relay.forwarding import strip_tokens
from server.transport.relay.port import SESSIONS, Ask
from server.transport.relay.relayed import RelayRouter
from session.keys import relay as relay_channel
from session.keys import user_hash
from session.redis.address import RedisAddress
from tests.conformance.fixture.asking import asking, elicitation
from tests.conformance.fixture.making import tool
from tests.support.cases import cases
from tests.support.inprocess import HeldCatalog, InProcess, in_process
from tests.support.raw import (
    BOTH,
    INITIALIZE,
    INITIALIZED,
    VERSION_2025,
    Answer,
    Connection,
    Json,
    ask,
    call,
    message,
    post_2026,
)
from tests.support.redis_kinds import reached
from tests.support.sse import SseClient
from tests.support.valkey import ask as ask_redis
from tests.support.valkey import eventually, private_valkey

ONE, OTHER = "secret-of-one-agent", "secret-of-another-agent"


@pytest.fixture
def settings(valkey: RedisAddress) -> Settings:
    return Settings(redis_url=f"unix://{valkey.path}", auth="token", auth_tokens=(ONE, OTHER))


@pytest.fixture(params=["redis", "sockets"])
def each_way(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> Settings:
    return settings if request.param == "redis" else replace(settings, relay=f"unix://{tmp_path}/relay")


def search() -> Json:
    """What nobody has searched for."""
    return {"query": f"a story of {uuid.uuid4().hex}"}


@asynccontextmanager
async def two_of(settings: Settings) -> AsyncIterator[tuple[InProcess, InProcess, HeldCatalog]]:
    """The catalogue is the first one's. It holds what is searched until its gate is open."""
    held: list[HeldCatalog] = []

    def holding(ports):  # type: ignore[no-untyped-def]
        held.append(HeldCatalog(ports.catalog))
        return replace(ports, catalog=held[0])

    async with in_process(holding, settings) as one, in_process(settings=settings) as two:
        held[0].gate.set()
        yield one, two, held[0]


def proof(secret: str = ONE) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


async def post(port: int, session: str, body: Json, secret: str = ONE) -> Answer:
    headers = {**BOTH, **proof(secret), "mcp-session-id": session, "mcp-protocol-version": VERSION_2025}
    return await ask(port, "POST", "/mcp", body, headers)


async def opened(port: int) -> str:
    """A session of Streamable HTTP, whose name says where it is."""
    answer = await ask(port, "POST", "/mcp", INITIALIZE, {**BOTH, **proof()})
    session = answer.headers["mcp-session-id"]
    assert (await post(port, session, INITIALIZED)).status == 202
    return session


async def test_message_posted_to_the_other_replica_is_answered_on_the_stream(each_way: Settings) -> None:
    async with two_of(each_way) as (one, two, _), SseClient.to(one.port, proof()) as client:
        client.port = two.port
        for number in range(5):
            answer = await client.call("get_manga_details", {"title_id": f"manga-00100{number + 1}"})
            assert not answer["isError"], answer
        assert len([each for each in client.heard if "result" in each]) == 6  # each once


async def test_other_replica_accepts_messages_as_soon_as_the_stream_is_announced(settings: Settings) -> None:
    """A client that has read its stream's name may post to either replica."""
    async with two_of(settings) as (one, two, _):
        for _ in range(20):
            async with Connection.to(one.port) as stream, Connection.to(two.port) as posts:
                await stream.ask("GET", "/sse", headers={"accept": "text/event-stream", **proof()})
                await stream.begin()
                endpoint = (await stream.chunk() or b"").decode().split("data: ")[1].strip()
                answer = await posts.request("POST", endpoint, INITIALIZE, proof())
                assert answer.status == 202, answer
                event = (await stream.chunk() or b"").decode()
                assert json.loads(event.partition("data: ")[2])["id"] == "init"


async def test_call_runs_in_a_session_held_by_the_other_replica(each_way: Settings) -> None:
    async with two_of(each_way) as (one, two, _):
        session = await opened(one.port)
        answer = await post(two.port, session, call("get_manga_details", {"title_id": "manga-001001"}, number=7))
        assert (answer.status, answer.complete) == (200, True)
        assert answer.headers["mcp-session-id"] == session
        assert answer.json()["id"] == 7
        assert answer.json()["result"]["structuredContent"]["title_id"] == "manga-001001"


@cases("wrong", ["another principal", "no such session"])
async def test_foreign_session_is_not_revealed_on_any_replica(wrong: str, settings: Settings) -> None:
    """The answer is word for word that of the replica with the session."""
    async with two_of(settings) as (one, two, _):
        session, secret = await opened(one.port), OTHER
        async with SseClient.to(one.port, proof()) as client:
            messages = client.messages
            if wrong == "no such session":
                secret, session, messages = ONE, session[:-1] + "x", messages[:-1] + "x"
            for port in (two.port, one.port):
                said = await post(port, session, message("ping"), secret)
                assert (said.status, said.json()["error"]["message"]) == (404, "Session not found")
                told = await ask(port, "POST", messages, message("ping"), {**BOTH, **proof(secret)})
                assert (told.status, told.body) == (404, b"There is no such session.\n")
            assert (await client.post(message("ping", number=3))).status == 202
        assert (await post(two.port, await opened(one.port), message("ping"))).status == 200


async def test_refusals_are_returned_by_the_replica_that_was_asked(settings: Settings) -> None:
    """A request may be refused before it is relayed, or by the replica that holds the session."""
    async with two_of(settings) as (one, two, held), SseClient.to(one.port, proof()) as client:
        client.port = two.port
        held.gate.clear()
        number = await client.start("search_manga_catalog", search())
        twice = await client.post(call("search_manga_catalog", search(), number=number))
        assert (twice.status, twice.body) == (400, b"There is a request with this id under way in this session.\n")
        assert (await client.post(b"no JSON")).status == 400
        assert (await client.post(message("tools/list", {"filler": "x" * 2**16}))).status == 413
        assert (await client.post(b"x" * (2**18 + 1))).status == 413
        held.gate.set()
        assert "result" in await client.answer_to(number)


async def test_large_arguments_are_relayed_whole(each_way: Settings) -> None:
    """They are as large as a message may be, and larger than a pub/sub message of the relay."""
    async with two_of(each_way) as (one, two, _):
        async with SseClient.to(one.port, proof()) as client:
            client.port = two.port
            answer = await client.call("classify_genre", {"text": "冒険" * 10_000})
        assert "isError" in answer
        session = await opened(one.port)
        said = await post(two.port, session, call("classify_genre", {"text": "x" * 100_000}, number=1))
        assert "structuredContent" in said.json()["result"]


async def test_cancellation_via_one_replica_stops_a_call_relayed_by_another(
    settings: Settings,
) -> None:
    async with two_of(settings) as (one, two, held):
        held.gate.clear()
        async with SseClient.to(one.port, proof()) as client:
            client.port = two.port
            number = await client.start("search_manga_catalog", search())
            await eventually(lambda: held.under_way == 1)
            client.port = one.port
            assert (await client.post(message("notifications/cancelled", {"requestId": number}, number=None))).status == 202
            await eventually(lambda: held.under_way == 0 and held.stopped)
            number = await client.start("search_manga_catalog", search())
            await eventually(lambda: held.under_way == 1)
            client.port = two.port
            assert (await client.post(message("notifications/cancelled", {"requestId": number}, number=None))).status == 202
            await eventually(lambda: len(held.stopped) == 2)


async def test_delete_ends_a_session_from_any_replica(settings: Settings) -> None:
    async with two_of(settings) as (one, two, _):
        session = await opened(one.port)
        headers = {**proof(), "mcp-session-id": session, "mcp-protocol-version": VERSION_2025}
        assert (await ask(two.port, "DELETE", "/mcp", headers={**headers, **proof(OTHER)})).status == 404
        assert (await ask(two.port, "DELETE", "/mcp", headers=headers)).status == 200
        for port in (one.port, two.port):
            assert (await post(port, session, message("ping"))).status == 404
        assert len(one.http.endpoint.sessions._slots) == 0


async def test_stream_of_a_session_is_opened_and_reopened_via_the_other_replica(
    each_way: Settings,
) -> None:
    """The session's replica learns of the end of the first stream."""
    async with two_of(each_way) as (one, two, _):
        session = await opened(one.port)
        headers = {"accept": "text/event-stream", **proof(), "mcp-session-id": session, "mcp-protocol-version": VERSION_2025}
        for port in (two.port, one.port, two.port):

            async def opens(port: int = port) -> int:
                async with Connection.to(port) as stream:
                    await stream.ask("GET", "/mcp", headers=headers)
                    status = (await stream.begin()).status
                    if status == 200:
                        async with Connection.to(two.port) as second:
                            await second.ask("GET", "/mcp", headers=headers)
                            assert (await second.begin()).status == 409
                    return status

            async with asyncio.timeout(30):
                while (status := await opens()) != 200:
                    assert status == 409  # until the last one's end has come there


async def test_disconnected_client_ends_its_relayed_requests(settings: Settings) -> None:
    async with two_of(settings) as (one, two, held):
        session = await opened(one.port)
        assert isinstance(one.app.reach, RelayRouter)
        assert isinstance(two.app.reach, RelayRouter)
        headers = {"accept": "text/event-stream", **proof(), "mcp-session-id": session, "mcp-protocol-version": VERSION_2025}
        async with Connection.to(two.port) as stream:
            await stream.ask("GET", "/mcp", headers=headers)
            assert (await stream.begin()).status == 200
            assert (len(two.app.reach._forwarder), len(one.app.reach._served)) == (1, 1)
        await eventually(lambda: not len(one.app.reach._served) and not len(two.app.reach._forwarder))


async def test_process_is_not_among_the_others(tmp_path: Path) -> None:
    """Not before the others can reach it, and not after."""
    relays = [SocketRelay(tmp_path), SocketRelay(tmp_path)]
    one, two = (RelayRouter(relay, 1.0, CollectorRegistry(), TrustStated()) for relay in relays)
    assert one.others() == set()
    keeping = [asyncio.create_task(each.run()) for each in (one, two)]
    await asyncio.gather(*(relay.ready() for relay in relays))
    assert (one.others(), two.others()) == ({two.own}, {one.own})
    for each in keeping:
        each.cancel()
    await asyncio.gather(*keeping, return_exceptions=True)
    await asyncio.gather(one.aclose(), two.aclose())


async def test_relay_is_not_opened_for_a_single_process(valkey: RedisAddress) -> None:
    for settings in (Settings(), Settings(redis_url=f"unix://{valkey.path}", relay="off")):
        async with in_process(settings=settings) as own:
            assert type(own.app.reach) is SessionRouter
            async with SseClient.to(own.port) as client:
                assert "." not in client.messages


async def test_replica_without_redis_serves_its_own_sessions_and_refuses_others_with_503() -> None:
    with private_valkey() as redis:
        settings = Settings(redis_url=f"redis://127.0.0.1:{redis.port}")
        async with two_of(settings) as (one, two, _), SseClient.to(one.port) as client:
            session = (await ask(one.port, "POST", "/mcp", INITIALIZE, BOTH)).headers["mcp-session-id"]
            redis.kill()
            assert not (await client.call("get_manga_details", {"title_id": "manga-001001"}))["isError"]
            assert (await post(one.port, session, message("ping"))).status == 200
            client.port = two.port
            refused = await client.post(message("ping", number=77))
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            told = await post(two.port, session, message("ping", number=5))
            assert (told.status, told.json()["id"]) == (200, 5)
            assert "does not answer" in told.json()["error"]["message"]
            assert (await post(two.port, session, INITIALIZED)).status == 503
            redis.start_again()

            async def reached() -> bool:
                return "result" in (await post(two.port, session, message("ping"))).json()

            async with asyncio.timeout(30):
                while not await reached():
                    await asyncio.sleep(0.05)
            assert not (await client.call("get_manga_details", {"title_id": "manga-001002"}))["isError"]


async def test_no_token_passes_through_redis_and_foreign_messages_are_ignored() -> None:
    """Neither bearer nor customer text is readable there, and messages published by others have no effect."""
    said, word = call("search_manga_catalog", {"query": "a word of a customer"}), b"a word of a customer"
    with private_valkey() as redis:
        settings = Settings(redis_url=f"redis://127.0.0.1:{redis.port}", auth="token", auth_tokens=(ONE, OTHER))
        async with two_of(settings) as (one, two, held):
            session = await opened(one.port)
            reader, writer = await asyncio.open_connection("127.0.0.1", redis.port, limit=2**24)
            writer.write(b"MONITOR\r\n")
            assert await reader.readline() == b"+OK\r\n"
            assert "result" in (await post(two.port, session, said)).json()
            owner, begun = session.partition(".")[0], held.begun
            forged = Ask("f" * 12, 1, SESSIONS, "POST", "/mcp", b"", "http", _headers(session), None, None, 0, b"")
            async with reached(redis.address) as outsider:
                forged = replace(forged, body=json.dumps(said).encode(), bearer=True, user=user_hash(ONE))
                assert await ask_redis(outsider, "PUBLISH", relay_channel(owner), forged.encode()) == 1
                assert "result" in (await post(two.port, session, message("ping"))).json()  # it is behind the forged one
                await ask_redis(outsider, "SET", "the-end", "1")
            seen = b""
            while b"the-end" not in seen.rpartition(b"\n")[0]:
                seen += await reader.readline()
            writer.close()
            assert held.begun == begun
        published = [line for line in seen.splitlines() if b'"PUBLISH"' in line and b"f" * 12 not in line]
        assert len(published) >= 4
        assert not [line for line in published if ONE.encode() in line or word in line]
        assert ONE.encode() not in seen


def _headers(session: str) -> list[tuple[bytes, bytes]]:
    named = {**BOTH, "mcp-session-id": session, "mcp-protocol-version": VERSION_2025}
    return [(name.encode(), value.encode()) for name, value in named.items()]


async def test_user_tokens_are_replaced_by_placeholders_in_relayed_messages() -> None:
    """Each message of a batch is handled; a message without a token is relayed unchanged."""
    one = {"jsonrpc": "2.0", "id": 1, "params": {"_meta": {"com.mangaassist/userToken": "a.b.c", "x": 1}, "name": "é"}}
    for body in (
        json.dumps(one),
        json.dumps([one, message("ping")]),
        json.dumps(one).replace("userToken", "user\\u0054oken"),
    ):
        rest, tokens = strip_tokens(body.encode())
        assert list(tokens.values()) == ["a.b.c"]
        assert b"a.b.c" not in rest
        assert next(iter(tokens)).encode() in rest
    meta = ('{"com.mangaassist/userToken": 7}', '{"com.mangaassist/userToken": "" }', "[ ]")
    for body in (
        b"{",
        b"[]",
        b"[1, [ ]]",
        b'{"id": 1 }',
        b'{"params": [ ]}',
        *(b'{ "params": {"_meta": %b}}' % each.encode() for each in meta),
    ):
        assert strip_tokens(body) == (body, {})
    two = {"_meta": {"com.mangaassist/userToken": "d.e.f"}}
    assert list(strip_tokens(json.dumps([1, one, {"params": two}]).encode())[1].values()) == ["a.b.c", "d.e.f"]


async def test_stream_is_reopened_at_once_after_a_restart_of_redis() -> None:
    """Its owner ends what it cannot tell to be alive: the client's next one was refused with 409 for 13 seconds, and the
    SDK's clients give up after two."""
    with private_valkey() as redis:
        settings = Settings(redis_url=f"redis://127.0.0.1:{redis.port}")
        async with two_of(settings) as (one, two, _):
            session = (await ask(one.port, "POST", "/mcp", INITIALIZE, BOTH)).headers["mcp-session-id"]
            headers = {"accept": "text/event-stream", "mcp-session-id": session, "mcp-protocol-version": VERSION_2025}

            async def opened_again() -> list[int]:
                """Each status, until the stream is open."""
                told: list[int] = []
                async with asyncio.timeout(30):
                    while not told or told[-1] != 200:
                        stream = await stack.enter_async_context(Connection.to(two.port))
                        await stream.ask("GET", "/mcp", headers=headers)
                        told.append((await stream.begin()).status)
                    streams.append(stream)
                return told

            streams: list[Connection] = []
            async with AsyncExitStack() as stack:
                for _ in range(5):  # either of the two may hear again before the other
                    assert 409 not in await opened_again()
                    redis.kill()
                    redis.start_again()
                    async with asyncio.timeout(30):
                        while await streams[-1].chunk() is not None:
                            pass


async def test_answer_to_a_question_of_one_replica_is_accepted_by_another(valkey: RedisAddress) -> None:
    """The state that a 2026 client carries is sealed by the fleet's key; forty answers go to the other replica."""
    question = elicitation("Your name?", name={"type": "string"})
    asks = tool("asks", "Asks.", asking("Told", user=question), asks=True)
    capable = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    async with two_of(Settings(redis_url=f"unix://{valkey.path}")) as (one, two, _):
        for each in (one, two):
            each.app.registry.register(asks)
        await eventually(lambda: all(each.app.protocol._key.agreed.is_set() for each in (one, two)))
        for number in range(40):
            first, second = (one, two) if number % 2 else (two, one)
            asked = (await post_2026(first.port, call("asks", {}), **capable))["result"]
            assert asked["resultType"] == "input_required", asked
            told = call("asks", {})
            told["params"] |= {
                "requestState": asked["requestState"],
                "inputResponses": {"user": {"action": "accept", "content": {"name": "Nami"}}},
            }
            answer = await post_2026(second.port, told, **capable)
            assert "Nami" in json.dumps(answer.get("result")), answer
