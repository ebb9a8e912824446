"""Orders asked for again and again, over the wire and in the server's own process, and how long each answer took."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from server.call import Call, RequestMetadata
from server.config.settings import DEMO, Settings
from server.results import call_tool_result
from server.wiring import open_app
from tests.load.told_apart import SEED
from tests.support.crowd import NOT_NOW
from tests.support.process import environment, serving
from tests.support.raw import Connection, call, in_2026
from tools.store.records.store_files import read_orders

OWN, FOREIGN, MISSING, ABSURD = "own", "foreign", "missing", "absurd"
KINDS = (OWN, FOREIGN, MISSING, ABSURD)
USER = "demo-user-1"
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
ABSURD_ONES = [f"MNG-{sign * 8}" for sign in "0AZ9"] + ["MNG-NULL0000", "MNG-SELECT11", "MNG-00000001", "MNG-0X0X0X0X"]
WARM = 200
MOST_LATE = 0.01
Samples = dict[str, NDArray[np.float64]]
Ask = Callable[[str], Awaitable[float | None]]


def numbers() -> Mapping[str, Sequence[str]]:
    """The order numbers of each kind, of which each is asked for again and again, as somebody who tries would."""
    known = [(owner, order.order_id) for owner, order in read_orders(DEMO / "orders.jsonl")]
    draw = Random(SEED)
    foreign = [order_id for owner, order_id in known if owner != USER]
    missing = ["MNG-" + "".join(draw.choices(ALPHABET, k=8)) for _ in foreign]
    assert not set(missing + ABSURD_ONES) & {order_id for _, order_id in known}
    return {OWN: [of for owner, of in known if owner == USER], FOREIGN: foreign, MISSING: missing, ABSURD: ABSURD_ONES}


async def sampled(ask: Ask, count: int) -> Samples:
    """`count` of each kind, in seconds. In each round one of each, in random order, so that a machine that gets slower does
    so for all of them. What got no answer in its time is asked for again."""
    draw, asked = Random(SEED), numbers()
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    late = 0
    for number in range(-WARM // len(KINDS), count):
        for kind in draw.sample(KINDS, len(KINDS)):
            while (seconds := await ask(draw.choice(asked[kind]))) is None:
                late += 1
                assert late <= max(2, MOST_LATE * count), "this machine is too busy to measure anything"
            if number >= 0:
                found[kind].append(seconds)
    return {kind: np.array(seconds) for kind, seconds in found.items()}


async def over_the_wire(count: int, settings: Mapping[str, str]) -> tuple[Samples, Samples]:
    """A client that does nothing else, over one connection: what its clock says, and what the answer says of itself
    (`latencyMs`)."""
    told: dict[str, list[float]] = {kind: [] for kind in KINDS}
    kind_of = {number: kind for kind, ids in numbers().items() for number in ids}
    requests = {number: in_2026(call("lookup_order", {"order_id": number}), **_user()) for number in kind_of}
    prepared = {number: (json.dumps(body).encode(), headers) for number, (body, headers) in requests.items()}
    own = {name.removeprefix("MANGA_").lower(): value for name, value in settings.items()}
    async with serving(rate_limit="off", **own) as server, Connection.to(server.port) as connection:

        async def ask(number: str) -> float | None:
            body, headers = prepared[number]
            started = time.perf_counter()
            answer = await connection.request("POST", "/mcp", body, headers)
            seconds = time.perf_counter() - started
            result = answer.json()["result"]
            if not _answered(kind_of[number], result):
                return None
            told[kind_of[number]].append(result["_meta"]["com.mangaassist/call"]["latencyMs"] / 1000)
            return seconds

        outside = await sampled(ask, count)
    return outside, {kind: np.array(each[-count:]) for kind, each in told.items()}


async def inside(count: int, settings: Mapping[str, str]) -> Samples:
    """The same calls into the pipeline in this process: no HTTP, no MCP."""
    kind_of = {number: kind for kind, ids in numbers().items() for number in ids}
    async with open_app(Settings.from_environment({**environment(rate_limit="off"), **settings})) as app:
        tool = app.registry.get("lookup_order")
        assert tool is not None

        async def ask(number: str) -> float | None:
            started = time.perf_counter()
            one = Call(uuid.uuid4().hex, tool, {"order_id": number}, RequestMetadata(user=USER), time.monotonic())
            outcome = await app.pipeline.run(one)
            seconds = time.perf_counter() - started
            return seconds if _answered(kind_of[number], call_tool_result(one, outcome)) else None

        return await sampled(ask, count)


def _user() -> dict[str, str]:
    return {"com.mangaassist/userId": USER}


def _answered(kind: str, result: dict[str, object]) -> bool:
    """False for one that was late. Fails when it is not what it should be."""
    content = result["structuredContent"]
    assert isinstance(content, dict)
    found = content["error"]["name"] if result["isError"] else "ok"
    assert found in ("ok" if kind == OWN else "NOT_FOUND", *NOT_NOW), f"{kind}: {content}"
    return found not in NOT_NOW
