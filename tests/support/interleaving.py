"""What several people and anonymous callers do at the same moment, drawn from a seed: a round at a time."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager

from tests.support.canaries import Person
from tests.support.crowd import PREFIX, Crowd, Got, demand
from tests.support.interleaved_reads import READS
from tests.support.interleaved_sessions import ROUNDS_OF_SESSIONS, listen_to_silence
from tests.support.raw import BOTH, ask

SHARED_CRITERIA = "sea story"


def interleaved(port: int, people: tuple[Person, ...], seed: int) -> AbstractAsyncContextManager[Crowd]:
    """A crowd that does all of what stands below, after everybody has looked at what they like."""
    first = (listen_to_silence, _look_at_ones_own, _list, _own_order, _remember)
    return Crowd.at(port, people, seed, first, [*ROUNDS, *ROUNDS_OF_SESSIONS])


async def _own_order(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    order_id = crowd.draw.choice(person.orders).order_id if person.orders else "MNG-ABCD1234"
    stated = {"sessionId": crowd.session, "turnId": turn, "idempotencyKey": key}
    got = await crowd.call(person, "lookup_order", {"order_id": order_id}, **stated)
    if got.success is not None:
        demand(got.success["order_id"] == order_id and person.user is not None, "another order")
    elif got.failure is not None:
        expected = "NOT_FOUND" if person.user and not person.orders else "FORBIDDEN" if not person.user else None
        demand(got.failure == expected, "no order of one's own")


async def _foreign_order(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    others = [order for other in crowd.people if other is not person for order in other.orders]
    order_id = crowd.draw.choice(others).order_id
    got = await crowd.call(person, "lookup_order", {"order_id": order_id}, sessionId=crowd.session, turnId=turn)
    expected = "NOT_FOUND" if person.user else "FORBIDDEN"
    demand(got.success is None and got.failure in (None, expected), "somebody else's order")


async def _latest_orders(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    got = await crowd.call(person, "lookup_order", {}, sessionId=crowd.session, turnId=turn)
    if got.success is not None:
        listed, own = {row["order_id"] for row in got.success["orders"]}, {order.order_id for order in person.orders}
        demand(listed == own and person.user is not None, "orders of others, or not all of one's own")
    demand(got.failure in (None, "FORBIDDEN" if person.user is None else None), "no list of one's own orders")


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
    demand(not known and got.failure is None, "recommendations for somebody else")


async def _remember(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    """What one's own searches obey from then on, and say so."""
    await _about_preferences(crowd, person, "remember_preference", turn)


async def _forget(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    """All of one's own, and remembers it again."""
    await _about_preferences(crowd, person, "forget_preference", turn)
    await _about_preferences(crowd, person, "remember_preference", turn)


async def _about_preferences(crowd: Crowd, person: Person, tool: str, turn: str) -> None:
    got = await crowd.call(person, tool, {"preference": person.states}, sessionId=crowd.session, turnId=turn)
    if got.success is not None:
        demand(set(got.success["preferences"]) <= {person.states}, "preferences of others")
    demand(got.failure in (None, "FORBIDDEN" if person.user is None else None), "no preferences of one's own")


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
        demand(checked <= found, f"somebody else's last search: {checked}, not {found}")


async def _search(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    words = crowd.draw.choice([{"query": f"story {person.query}"}, {"query": person.query, "author": person.criteria}])
    await crowd.call(person, "search_manga_catalog", words, sessionId=person.session, turnId=turn)


async def _same_search(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    """One flight and one cached result serve everybody, and a key that others use as well is everybody's own."""
    own = {"idempotencyKey": f"{key}-search"} if person.user else {}
    words = {"query": "sea story 1", "max_results": 3 + crowd.people.index(person) % 2}
    got = await crowd.call(person, "search_manga_catalog", words, sessionId=person.session, turnId=turn, **own)
    demand(got.failure is None, "somebody else's idempotency key")


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
    for tool, arguments in wrong:
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
    _remember,
    _forget,
    _search_then_stock,
    _search_then_stock,
    _search,
    _same_search,
    _look_at_ones_own,
    _refused,
    _no_message,
    _list,
    _end_of_a_session,
    *READS,
]
