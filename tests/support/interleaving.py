"""Several people and anonymous callers, all at once, with the same session, turn and idempotency key, over one shared stream
and over connections of their own; and every byte that each of them got."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.support.canaries import Person
from tests.support.raw import BOTH, SseClient, ask, in_2026, message

PREFIX = "com.mangaassist/"
WAYS = ("shared stream", "own stream", "2026")
SHARED_CRITERIA = "sea story"
NOT_NOW = {"TIMEOUT", "BUDGET_EXHAUSTED", "CIRCUIT_OPEN", "DEPENDENCY_FAILURE", "SERVER_BUSY"}
"""What a slow machine may answer to anything: it gives nothing away, and proves nothing."""
Json = dict[str, Any]


class MixedUp(AssertionError):
    """Somebody was answered what is another's."""


def _demand(condition: bool, problem: str) -> None:
    if not condition:
        raise MixedUp(problem)


@dataclass(frozen=True)
class Got:
    """What came back for one request, byte for byte, and what it says; `asked` is the tool, or the method."""

    person: Person
    asked: str
    raw: bytes
    answer: Json

    @property
    def call_id(self) -> str | None:
        """As the log knows it; None for what was no call."""
        told = self.answer.get("result", {}).get("_meta", {}).get("com.mangaassist/call")
        return str(told["callId"]) if told else None

    @property
    def success(self) -> Json | None:
        """What a call gave; None for a failure."""
        result = self.answer.get("result", {})
        return None if result.get("isError") else result.get("structuredContent")

    @property
    def failure(self) -> str | None:
        """The name of a failure that says something."""
        result = self.answer.get("result", {})
        name = result["structuredContent"]["error"]["name"] if result.get("isError") else None
        return None if name in NOT_NOW else name


class Stream(SseClient):
    """A stream that keeps the bytes of each event."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.raw: dict[str, bytes] = {}
        self.unasked = b""

    def _hear(self, event: str) -> None:
        before = len(self.heard)
        super()._hear(event)
        if len(self.heard) > before and "id" in self.heard[-1]:
            self.raw[str(self.heard[-1]["id"])] = event.encode()
        else:
            self.unasked += event.encode()


@dataclass
class Crowd:
    """`got` is everything that anybody was answered. `deck` are the rounds that are to come: each kind once, after people have
    looked at what they like, and then whatever is drawn."""

    port: int
    people: tuple[Person, ...]
    draw: Random
    shared: Stream
    own: dict[int, Stream]
    session: str
    ways: tuple[str, ...] = WAYS
    got: list[Got] = field(default_factory=list)
    deck: list[Any] = field(default_factory=list)
    _number: Any = field(default_factory=itertools.count)

    @classmethod
    @asynccontextmanager
    async def at(cls, port: int, people: tuple[Person, ...], seed: int) -> AsyncIterator[Crowd]:
        draw = Random(seed)
        async with AsyncExitStack() as stack:
            shared = await stack.enter_async_context(Stream.to(port))
            own = {n: await stack.enter_async_context(Stream.to(port)) for n in range(len(people))}
            deck = [_look_at_ones_own, _list, _own_order, *draw.sample(ROUNDS, len(ROUNDS))]
            yield cls(port, people, draw, shared, own, f"shared-{seed}", deck=deck)  # type: ignore[arg-type]

    @property
    def unasked(self) -> bytes:
        """What came over streams as the answer to nothing."""
        return b"".join(stream.unasked for stream in (self.shared, *self.own.values()))

    async def round(self) -> None:
        """One thing, asked by everybody at the same moment."""
        kind = self.deck.pop(0) if self.deck else self.draw.choice(ROUNDS)
        turn, key = f"turn-{next(self._number)}", f"key-{self.draw.randrange(4)}"
        await asyncio.gather(*(kind(self, person, turn, key) for person in self.draw.sample(self.people, len(self.people))))

    async def call(self, person: Person, tool: str, arguments: Json, **stated: str) -> Got:
        """By one of the ways there are. What is `stated` beside the user goes into `_meta`."""
        meta = {PREFIX + name: value for name, value in stated.items()}
        return await self.request(person, "tools/call", {"name": tool, "arguments": arguments}, meta)

    async def request(self, person: Person, method: str, params: Json, meta: Json) -> Got:
        user = {PREFIX + "userId": person.user} if person.user is not None else {}
        body = message(method, {**params, "_meta": {**meta, **user}}, f"r{next(self._number)}")
        way = self.draw.choice(self.ways)
        if way == "2026":
            given, headers = in_2026(body)
            answer = await ask(self.port, "POST", "/mcp", given, headers)
            raw, says = answer.body + json.dumps(answer.headers).encode(), answer.json()
        else:
            stream = self.shared if way == "shared stream" else self.own[self.people.index(person)]
            posted = await stream.post(body)
            assert posted.status == 202, posted
            says = await stream.answer_to(body["id"])
            raw = stream.raw[body["id"]] + posted.body + json.dumps(posted.headers).encode()
        got = Got(person, params.get("name", method), raw, says)
        self.got.append(got)
        return got

    async def forget(self, person: Person, session: str) -> int:
        """DELETE /sessions/{id} in this person's name."""
        headers = {"x-user-id": person.user.encode().decode("latin-1")} if person.user else {}
        answer = await ask(self.port, "DELETE", f"/sessions/{session}", headers=headers)
        return answer.status


# -- what everybody does in a round


async def _own_order(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    order_id = crowd.draw.choice(person.orders).order_id if person.orders else "MNG-ABCD1234"
    stated = {"sessionId": crowd.session, "turnId": turn, "idempotencyKey": key}
    got = await crowd.call(person, "lookup_order", {"order_id": order_id}, **stated)
    if got.success is not None:
        _demand(got.success["order_id"] == order_id and person.user is not None, "another order")
    elif got.failure is not None:
        expected = "NOT_FOUND" if person.user and not person.orders else "FORBIDDEN" if not person.user else None
        _demand(got.failure == expected, "no order of one's own")


async def _foreign_order(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    others = [order for other in crowd.people if other is not person for order in other.orders]
    order_id = crowd.draw.choice(others).order_id
    got = await crowd.call(person, "lookup_order", {"order_id": order_id}, sessionId=crowd.session, turnId=turn)
    expected = "NOT_FOUND" if person.user else "FORBIDDEN"
    _demand(got.success is None and got.failure in (None, expected), "somebody else's order")


async def _latest_orders(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    got = await crowd.call(person, "lookup_order", {}, sessionId=crowd.session, turnId=turn)
    if got.success is not None:
        listed, own = {row["order_id"] for row in got.success["orders"]}, {order.order_id for order in person.orders}
        _demand(listed == own and person.user is not None, "orders of others, or not all of one's own")
    _demand(got.failure in (None, "FORBIDDEN" if person.user is None else None), "no list of one's own orders")


async def _recommendations(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    stated = {"sessionId": crowd.session, "turnId": turn} | ({"idempotencyKey": key} if crowd.draw.random() < 0.5 else {})
    own_id = {"user_id": person.user} if person.user and crowd.draw.random() < 0.3 else {}
    await crowd.call(person, "get_recommendations", {"criteria": SHARED_CRITERIA, "count": 8} | own_id, **stated)


async def _recommendations_in_own_words(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    asked = {"criteria": f"{SHARED_CRITERIA} {person.criteria}"}
    await crowd.call(person, "get_recommendations", asked, sessionId=person.session, turnId=turn)


async def _recommendations_for_another(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    other = crowd.draw.choice([each for each in crowd.people if each.user and each is not person])
    asked = {"criteria": SHARED_CRITERIA, "user_id": other.user}
    got = await crowd.call(person, "get_recommendations", asked, sessionId=crowd.session, turnId=turn)
    known = set(got.success["based_on"]) - {"criteria", "popularity"} if got.success is not None else set()
    _demand(not known and got.failure is None, "recommendations for somebody else")


async def _search_then_stock(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    """The second call takes the titles of the caller's own last search, whoever else searched in between."""
    words = {"query": person.secret, "max_results": 1}
    session = crowd.draw.choice([crowd.session, person.session]) if person.user else person.session
    search = await crowd.call(
        person, "search_manga_catalog", words, sessionId=session, turnId=turn, idempotencyKey=person.key
    )
    stock = await crowd.call(person, "check_inventory", {}, sessionId=session, turnId=turn)
    if stock.success is not None and search.success is not None:
        found, checked = ({row["title_id"] for row in rows} for rows in (search.success["results"], stock.success["items"]))
        _demand(checked <= found, f"somebody else's last search: {checked}, not {found}")


async def _search(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    words = crowd.draw.choice([{"query": f"story {person.query}"}, {"query": person.query, "author": person.criteria}])
    await crowd.call(person, "search_manga_catalog", words, sessionId=person.session, turnId=turn)


async def _same_search(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    """One flight and one cached result serve everybody, and a key that others use as well is everybody's own."""
    own = {"idempotencyKey": f"{key}-search"} if person.user else {}
    words = {"query": "sea story 1", "max_results": 3 + crowd.people.index(person) % 2}
    got = await crowd.call(person, "search_manga_catalog", words, sessionId=person.session, turnId=turn, **own)
    _demand(got.failure is None, "somebody else's idempotency key")


async def _look_at_ones_own(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    for title_id in (person.secret_id, *person.liked):
        await crowd.call(person, "get_manga_details", {"title_id": title_id}, sessionId=person.session, turnId=turn)


async def _refused(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    """What was never checked is written nowhere."""
    wrong = [
        ("lookup_order", {"order_id": f"{person.criteria} 1"}),
        ("get_recommendations", {"criteria": person.criteria, "mood": person.query}),
        ("check_inventory", {"title_ids": [f"{person.criteria} 1"], "result_set": "rs_abcdefghijklmnop"}),
    ]
    tool, arguments = crowd.draw.choice(wrong)
    await crowd.call(person, tool, arguments, sessionId=person.session, turnId=turn, idempotencyKey=person.key)


async def _no_message(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    """Bodies, headers and paths that are not what they should be, with somebody's words in them."""
    words = person.query
    bodies = [
        f'{{"jsonrpc": "2.0", "method": "tools/call", "params": {{"query": "{words}"'.encode(),
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": words, "params": {words: person.criteria}}).encode(),
        json.dumps({"jsonrpc": "2.0", "id": {"x": words}, "method": "tools/call", "params": [words]}).encode(),
        json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": words}}]).encode(),
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 7, "arguments": words}}).encode(),
        words.encode() + b"\xff\xfe",
    ]
    headers = (
        {**BOTH, "x-session-id": f"{words} {words}", "x-user-id": person.user.encode().decode("latin-1")}
        if person.user
        else BOTH
    )
    stream = crowd.own[crowd.people.index(person)]
    target = crowd.draw.choice(["/mcp", stream.messages, f"/sessions/{words}%20", f"/{words}"])
    answer = await ask(crowd.port, crowd.draw.choice(["POST", "DELETE"]), target, crowd.draw.choice(bodies), headers)
    crowd.got.append(Got(person, "no message", answer.body, {}))


async def _list(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    method = crowd.draw.choice(["tools/list", "resources/list"])
    await crowd.request(person, method, {}, {PREFIX + "sessionId": person.session, PREFIX + "turnId": turn})


async def _end_of_a_session(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    """Of one's own; that of the others, under the same id, is theirs to end."""
    status = await crowd.forget(person, crowd.draw.choice([crowd.session, person.session]))
    assert status in (204, 503), status


ROUNDS = [
    _own_order,
    _foreign_order,
    _latest_orders,
    _recommendations,
    _recommendations,
    _recommendations_in_own_words,
    _recommendations_for_another,
    _search_then_stock,
    _search_then_stock,
    _search,
    _same_search,
    _look_at_ones_own,
    _refused,
    _no_message,
    _list,
    _end_of_a_session,
]
