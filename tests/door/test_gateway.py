"""Customers reach the agent through the door, over both ways, as who their token says; what is wrong is refused there, in words."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import AsyncExitStack

import httpx
import pytest

from infra.door.authorizer import MOST_SOCKETS, PROTOCOL
from infra.door.gateway import AUDIENCE, ISSUER, Buckets, Gateway
from infra.door.limits import MOST_BYTES
from tests.door.conftest import Way
from tests.door.said_agent import SECRET, WORDS
from tests.support.cases import cases
from tests.support.issuer import SigningKey, b64, compact_json
from tests.support.websocket import Refused, websocket

NOW = int(time.time())
NO_LIMITS = httpx.Limits(max_connections=None)
EMPTY_TEXT, EMPTY_PIECE = b"\x01\x80\0\0\0\0", b"\x00\x80\0\0\0\0"
"""An unfinished message's first frame, and one that goes on with it."""
CLAIMS = {"iss": ISSUER, "aud": AUDIENCE, "sub": "demo-user-2", "iat": NOW, "exp": NOW + 600}


async def key_id(way: Way) -> str:
    async with httpx.AsyncClient(trust_env=False) as client:
        (key,) = (await client.get(f"http://127.0.0.1:{way.inner_port}/jwks.json")).json()["keys"]
    assert "d" not in key
    return str(key["kid"])


async def refused(way: Way, *subprotocols: str) -> Refused:
    with pytest.raises(Refused) as caught:
        async with websocket(way.port, path="/", subprotocols=subprotocols):
            pass
    return caught.value


async def test_a_question_on_a_socket_is_answered_word_by_word(way: Way) -> None:
    token = await way.token("demo-user-1")
    async with websocket(way.port, path="/", subprotocols=(PROTOCOL, token)) as socket:
        assert socket.subprotocol == PROTOCOL, "the token is not said back"
        socket.say({"text": "is Berserk in stock?"})
        heard = [await socket.heard() for _ in range(4)]
    assert [each["text"] for each in heard[:3]] == list(WORDS)
    assert heard[3] == {"event": "done", "turn": "t-1", "ms": 5}
    ((path, headers, body),) = way.agent.asked
    assert (path, json.loads(body)) == ("/door", {"text": "is Berserk in stock?"})
    assert (headers["x-door-user"], headers["x-door-secret"]) == ("demo-user-1", SECRET)
    assert int(headers["x-door-until"]) > time.time()
    assert token not in str(headers)


async def test_a_posted_question_is_answered_by_events_as_they_come(way: Way) -> None:
    way.agent.pause = 0.2
    began, times = time.monotonic(), []
    token = await way.token("demo-user-1")
    headers = {"Authorization": f"Bearer {token}", "X-Session-ID": "c-1", "X-Door-User": "demo-user-2", "X-User-ID": "x"}
    async with way.client.stream("POST", "/turns", json={"text": "hello"}, headers=headers) as answer:
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
        events = []
        async for line in answer.aiter_lines():
            if line.startswith("event: "):
                events.append(line.removeprefix("event: "))
                times.append(time.monotonic() - began)
    assert events == ["words", "words", "words", "done"]
    assert times[3] - times[0] > 0.4, "none waits for the last"
    ((_, told, _),) = way.agent.asked
    assert (told["authorization"], told["x-session-id"]) == (f"Bearer {token}", "c-1")
    assert not {"x-door-user", "x-user-id", "x-door-secret"} & told.keys(), "only the token says who asks"


@cases(
    "token",
    [None, "no token", "forged", "alg=none", "expired"],
    ids=["none", "garbage", "forged", "alg=none", "expired"],
)
async def test_whoever_shows_no_good_token_is_refused_on_both_ways(token: str | None, way: Way) -> None:
    if token == "expired":
        token = await way.token(seconds=-60)
    elif token == "forged":
        token = SigningKey.rsa(await key_id(way)).token(CLAIMS)
    elif token == "alg=none":
        token = ".".join((b64(compact_json({"alg": "none", "kid": await key_id(way)})), b64(compact_json(CLAIMS)), ""))
    posted = await way.turn({"text": "hello"}, token)
    assert (posted.status_code, posted.headers["www-authenticate"]) == (401, "Bearer")
    assert "token" in posted.json()["error"]
    socket = await refused(way, *((PROTOCOL,) if token is None else (PROTOCOL, token.replace(" ", "-"))))
    assert socket.status == 401
    assert way.agent.asked == []


async def test_a_token_in_the_address_is_none(way: Way) -> None:
    """Addresses are written into logs of all kinds."""
    with pytest.raises(Refused) as caught:
        async with websocket(way.port, path=f"/?token={await way.token()}", subprotocols=(PROTOCOL,)):
            pass
    assert caught.value.status == 401


async def test_a_message_of_a_megabyte_is_refused_and_costs_the_agent_nothing(way: Way) -> None:
    token = await way.token()
    posted = await way.turn({"text": "x" * 2**20}, token)
    assert (posted.status_code, posted.json()["error"]) == (413, f"a message has {MOST_BYTES} bytes at most")

    async def pieces():  # type: ignore[no-untyped-def]
        for _ in range(2**6):
            yield b" " * 2**14

    chunked = await way.client.post("/turns", content=pieces(), headers={"Authorization": f"Bearer {token}"})
    assert chunked.status_code == 413
    async with websocket(way.port, path="/", subprotocols=(PROTOCOL, token)) as socket:
        socket.say(json.dumps({"text": "x" * 2**20}))
        assert await socket.closed() == 1009
    assert way.agent.asked == []
    just = json.dumps({"text": "ä" * ((MOST_BYTES - 20) // 2)}, ensure_ascii=False)
    async with websocket(way.port, path="/", subprotocols=(PROTOCOL, token)) as socket:
        socket.say(just)
        assert (await socket.heard())["event"] == "words"


async def test_of_500_sockets_of_one_customer_ten_are_open_and_others_are_let_in(way: Way) -> None:
    token, other = await way.token("demo-user-1"), await way.token("demo-user-2")
    async with AsyncExitStack() as open_ones:

        async def open_one() -> int:
            try:
                await open_ones.enter_async_context(websocket(way.port, path="/", subprotocols=(PROTOCOL, token)))
            except Refused as no:
                return no.status
            return 101

        said = [await asyncio.gather(*(open_one() for _ in range(50))) for _ in range(10)]
        counted = [status for some in said for status in some]
        assert (counted.count(101), counted.count(403), len(counted)) == (MOST_SOCKETS, 500 - MOST_SOCKETS, 500)
        async with websocket(way.port, path="/", subprotocols=(PROTOCOL, other)) as socket:
            socket.say({"text": "hello"})
            assert (await socket.heard())["event"] == "words"
    for _ in range(50):  # those that were closed make room, as soon as the gateway has noticed
        try:
            async with websocket(way.port, path="/", subprotocols=(PROTOCOL, token)):
                return
        except Refused:
            await asyncio.sleep(0.1)
    raise AssertionError("there never was room again")


async def test_user_stated_in_the_body_does_not_replace_the_proven_user(way: Way) -> None:
    """It reaches the agent as the customer wrote it, beside who has been proven; the agent refuses it by name."""
    token = await way.token("demo-user-1")
    async with websocket(way.port, path="/", subprotocols=(PROTOCOL, token)) as socket:
        socket.say({"text": "my orders", "user": "demo-user-2", "X-Door-User": "demo-user-2"})
        await socket.heard()
    ((_, headers, _),) = way.agent.asked
    assert headers["x-door-user"] == "demo-user-1"


async def test_bytes_are_no_message(way: Way) -> None:
    async with websocket(way.port, path="/", subprotocols=(PROTOCOL, await way.token())) as socket:
        socket.say(b"\x00\x01")
        assert await socket.closed() == 1003


async def test_what_no_header_and_no_number_holds_is_refused(way: Way) -> None:
    shown = (b"authorization", f"Bearer {await way.token()}".encode())
    posted = await way.client.post("/turns", json={"text": "hello"}, headers=[shown, (b"x-session-id", b"\xe9")])
    assert (posted.status_code, posted.json()["error"]) == (400, "X-Session-ID has to be ASCII")
    for body in (b'{"user": "x", "seconds": 1e400}', b"[" * 9000):
        assert (await way.client.post("/token", content=body)).status_code == 400
    assert way.agent.asked == []


async def test_more_messages_than_a_stage_lets_through_are_told_so(way: Way) -> None:
    way.agent.status = 204
    async with websocket(way.port, path="/", subprotocols=(PROTOCOL, await way.token())) as socket:
        for _ in range(200):
            socket.say({"text": "hello"})
        assert (await socket.heard())["message"] == "Too many requests"


async def test_one_customer_who_floods_leaves_others_of_the_same_address_their_words(way: Way) -> None:
    """Over ten sockets, and over HTTPS, where whoever proves nothing floods too."""
    token, other = await way.token("demo-user-1"), await way.token("demo-user-2")
    way.agent.mute = "demo-user-1"
    async with AsyncExitStack() as open_ones:
        opened = [websocket(way.port, path="/", subprotocols=(PROTOCOL, token)) for _ in range(MOST_SOCKETS)]
        sockets = [await open_ones.enter_async_context(each) for each in opened]

        async def flood() -> None:
            while True:
                for each in sockets:
                    each.say({"text": "hello"})
                await asyncio.sleep(0.01)

        open_ones.callback(asyncio.create_task(flood()).cancel)
        strangers = await asyncio.gather(*(way.turn({"text": "hello"}, None) for _ in range(40)))
        assert {each.status_code for each in strangers} == {401, 429}
        while (await way.turn({"text": "hello"}, token)).status_code != 429:
            pass
        async with websocket(way.port, path="/", subprotocols=(PROTOCOL, other)) as socket:
            for _ in range(4):
                socket.say({"text": "hello"})
                for event in ("words", "words", "words", "done"):
                    assert (await socket.heard()).get("event") == event
        assert (await way.turn({"text": "hello"}, other)).status_code == 200


def test_buckets_are_bounded_in_number_and_the_one_unused_for_longest_makes_room() -> None:
    buckets = Buckets(a_second=1, most=2)
    assert [buckets.take(who) for who in ("a", "a", "a", "b", "a", "c")] == [True, True, False, True, False, True]
    assert (buckets.take("a"), buckets.take("b")) == (False, True)
    assert len(buckets.of) == 2


async def test_an_agent_that_is_away_is_a_clear_answer(way: Way) -> None:
    token = await way.token()
    way.agent.status = 503
    async with websocket(way.port, path="/", subprotocols=(PROTOCOL, token)) as socket:
        socket.say({"text": "hello"})
        assert (await socket.heard())["message"] == "Internal server error"


async def test_nobody_but_the_agent_speaks_to_a_socket(way: Way) -> None:
    async with websocket(way.port, path="/", subprotocols=(PROTOCOL, await way.token())) as socket:
        socket.say({"text": "hello"})
        assert (await socket.heard())["event"] == "words"
        connection = way.agent.asked[0][1]["x-door-connection"]
        assert await way.agent.send(connection, {"event": "words", "text": "buy!"}, "guessed") == 401
        outside = await way.client.post(f"/@connections/{connection}", json={}, headers={"X-Door-Secret": SECRET})
        assert outside.status_code == 404, "it is not on the customers' port"
    assert await way.agent.send("nobody=", {"event": "words", "text": "x"}) == 410


async def test_its_keys_are_told_to_the_agent_alone(way: Way) -> None:
    assert await key_id(way)
    assert (await way.client.get("/jwks.json")).status_code == 404


async def test_key_of_each_start_has_a_name_of_its_own() -> None:
    """An agent would take a new key of an old name for the key that it knows, for ten minutes."""
    names = set()
    for _ in range(2):
        inner = httpx.ASGITransport(Gateway("http://127.0.0.1:1", SECRET, 1).inner())
        async with httpx.AsyncClient(transport=inner, base_url="http://door") as client:
            names.add((await client.get("/jwks.json")).json()["keys"][0]["kid"])
    assert len(names) == 2


async def test_head_without_end_is_refused(way: Way) -> None:
    for line in (b"X-A: a\r\n", b"a" * 1000):
        reader, writer = await asyncio.open_connection("127.0.0.1", way.port)
        writer.write(b"POST /turns HTTP/1.1\r\nHost: door\r\nX-B: " + line * 1000)
        async with asyncio.timeout(30):
            assert (await reader.readline()).split()[1] in (b"400", b"431")
        writer.close()


@pytest.mark.parametrize(
    ("host", "protocol"), [(b"door", b"manga-chat, \xe9"), (b"a\xff", b"manga-chat"), (b"xn--a", b"manga-chat")]
)
async def test_handshake_that_cannot_be_decoded_is_refused(way: Way, host: bytes, protocol: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", way.port)
    key = b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %b==\r\nSec-WebSocket-Protocol: %b\r\n" % (b"a" * 22, protocol)
    writer.write(b"GET / HTTP/1.1\r\nHost: %b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n%b\r\n" % (host, key))
    async with asyncio.timeout(30):
        assert (await reader.readline()).split()[1] == b"400"
    writer.close()


async def test_cheap_frames_of_one_socket_leave_others_their_answers(way: Way) -> None:
    token, other = await way.token("demo-user-1"), await way.token("demo-user-2")
    async with websocket(way.port, path="/", subprotocols=(PROTOCOL, token)) as socket:
        socket.writer.write(EMPTY_TEXT + EMPTY_PIECE * 3_000_000)
        async with asyncio.timeout(5):
            for _ in range(8):
                assert (await way.turn({"text": "hello"}, other)).status_code == 200


async def test_agent_is_reached_beside_a_hundred_open_answers(way: Way) -> None:
    way.agent.pause = 60
    tokens = [await way.token(f"demo-user-{number}") for number in range(12)]
    async with httpx.AsyncClient(base_url=str(way.client.base_url), trust_env=False, limits=NO_LIMITS) as client:
        asked = [
            client.build_request("POST", "/turns", json={"text": "hello"}, headers={"Authorization": f"Bearer {token}"})
            for token in tokens * 9
        ]
        for each in asked:
            while (answer := await client.send(each, stream=True)).status_code == 429:
                await answer.aclose()
            assert answer.status_code == 200
        assert (await client.get("/healthz")).status_code == 200


async def test_it_ends_at_sigterm(way: Way) -> None:
    way.process.terminate()
    assert await asyncio.to_thread(way.process.wait, 20) == 0
