"""What several people read at the same moment: orders, what is remembered of them, and what they are proposed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.support.canaries import Person
from tests.support.crowd import NOT_NOW, PREFIX, Crowd, demand

OF_ORDERS = {"type": "ref/resource", "uri": "manga://orders/{order_id}"}
OF_TITLES = {"type": "ref/resource", "uri": "manga://titles/{title_id}"}


async def _read_own_order(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    """After one was proposed: one's own, all of them, and none to who is not signed in."""
    own = {order.order_id for order in person.orders}
    proposed = await _proposed(crowd, person, OF_ORDERS, "order_id", "MNG-", turn)
    demand(proposed is None or set(proposed) == own, "numbers of others' orders, or not all of one's own")
    told, failure = await _read(crowd, person, f"manga://orders/{crowd.draw.choice([*own, 'MNG-ABCD1234'])}", turn)
    demand(told is None or (told["order_id"] in own and person.user is not None), "another order")
    demand(failure in (None, "NOT_FOUND" if person.user else "FORBIDDEN"), "no order of one's own")


async def _read_foreign_order(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    others = [order.order_id for other in crowd.people if other is not person for order in other.orders]
    order_id = crowd.draw.choice(others)
    told, failure = await _read(crowd, person, f"manga://orders/{order_id}", turn)
    demand(told is None and failure in (None, "NOT_FOUND" if person.user else "FORBIDDEN"), "somebody else's order")
    proposed = await _proposed(crowd, person, OF_ORDERS, "order_id", order_id, turn)
    demand(not proposed, "the number of somebody else's order")


async def _read_profile(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    """The bytes are looked at afterwards; here, that it is the reader's own."""
    told, failure = await _read(crowd, person, "manga://profile", turn)
    demand(failure in (None, "FORBIDDEN" if person.user is None else None), "no profile of one's own")
    if told is not None:
        viewed, own = {each["title_id"] for each in told["viewed"]}, {person.secret_id, *person.liked}
        demand(viewed <= own and person.user is not None, "what somebody else looked at")


async def _propose_titles(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    """What others look for makes no title a likelier one."""
    proposed = await _proposed(crowd, person, OF_TITLES, "title_id", "sea st", turn)
    demand(not proposed or proposed[0] == "manga-000001", "titles by what somebody else looked for")


async def _read(crowd: Crowd, person: Person, uri: str, turn: str) -> tuple[Any, str | None]:
    """The document, or the name of a failure that says something. A failure names the address that was asked for, which is
    taken out of what the person got: they had it before."""
    meta = {PREFIX + "sessionId": crowd.session, PREFIX + "turnId": turn}
    got = await crowd.request(person, "resources/read", {"uri": uri}, meta)
    if "result" in got.answer:
        return json.loads(got.answer["result"]["contents"][0]["text"]), None
    crowd.got[crowd.got.index(got)] = replace(got, raw=got.raw.replace(uri.encode(), b""))
    name = got.answer["error"]["data"]["name"]
    return None, None if name in NOT_NOW else name


async def _proposed(crowd: Crowd, person: Person, ref: dict[str, str], name: str, typed: str, turn: str) -> list[str] | None:
    """None where nothing could be proposed now; what is looked up and does not come is nothing."""
    meta = {PREFIX + "sessionId": crowd.session, PREFIX + "turnId": turn}
    params = {"ref": ref, "argument": {"name": name, "value": typed}}
    got = await crowd.request(person, "completion/complete", params, meta)
    values = got.answer["result"]["completion"]["values"] if "result" in got.answer else []
    return list(values) or None


READS = [_read_own_order, _read_foreign_order, _read_profile, _propose_titles]
