"""`python -m tests.load.order_timing`: can a customer tell by the clock whether a number that is not theirs is an order?

One customer asks for orders of their own, of others, that never were, and with absurd numbers, in random order, over the
embedded store and over DynamoDB; see "Orders that are not yours" in README.md. Own ones are there to show what a difference
looks like.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import sys
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random

import numpy as np
from numpy.typing import NDArray

from server.call import Call, RequestMetadata
from server.config.settings import DEMO, Settings
from server.results import call_tool_result
from server.wiring import open_app
from tests.load import report
from tests.stack import dynamodb
from tests.support.interleaving import NOT_NOW
from tests.support.process import environment, serving
from tests.support.raw import Connection, call, in_2026
from tests.support.stack import seeded
from tools.store.records.store_files import read_orders

OWN, FOREIGN, MISSING, ABSURD = "own", "foreign", "missing", "absurd"
KINDS = (OWN, FOREIGN, MISSING, ABSURD)
USER = "demo-user-1"
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
ABSURD_ONES = [f"MNG-{sign * 8}" for sign in "0AZ9"] + ["MNG-NULL0000", "MNG-SELECT11", "MNG-00000001", "MNG-0X0X0X0X"]
SEED = 20261122
WARM = 200
BOOTSTRAPS = 1000
MOST_LATE = 0.01
MOST = 0.03
"""How far the AUC may be from 0.5, which is what guessing has."""
BEGIN, END = (
    "<!-- figures: written by `python -m tests.load.order_timing --write` -->\n",
    "<!-- end of the figures of orders -->\n",
)
Samples = dict[str, NDArray[np.float64]]
Ask = Callable[[str], Awaitable[float | None]]


@dataclass(frozen=True, slots=True)
class Compared:
    """How far two samples can be told apart. `auc` is the chance that one drawn from the first is larger than one drawn from
    the second (Mann-Whitney's U, ties count half), `p` that of so much by accident; `advantage` is what the best threshold
    has over guessing (Kolmogorov-Smirnov's D)."""

    difference_us: float
    difference_ci: tuple[float, float]
    auc: float
    auc_ci: tuple[float, float]
    p: float
    advantage: float
    advantage_p: float

    @property
    def met(self) -> bool:
        return abs(self.auc - 0.5) <= MOST


def compared(one: NDArray[np.float64], other: NDArray[np.float64], seed: int = SEED) -> Compared:
    draw = np.random.default_rng(seed)
    medians = [np.median(draw.choice(one, one.size)) - np.median(draw.choice(other, other.size)) for _ in range(BOOTSTRAPS)]
    low, high = np.percentile(medians, [2.5, 97.5])
    auc, error, p = _mann_whitney(one, other)
    advantage, advantage_p = _kolmogorov_smirnov(one, other)
    return Compared(
        float(np.median(one) - np.median(other)) * 1e6,
        (float(low) * 1e6, float(high) * 1e6),
        auc,
        (auc - 1.96 * error, auc + 1.96 * error),
        p,
        advantage,
        advantage_p,
    )


def _mann_whitney(one: NDArray[np.float64], other: NDArray[np.float64]) -> tuple[float, float, float]:
    """AUC, its standard error (DeLong, DeLong and Clarke-Pearson, Biometrics 1988), and the two-sided p of no difference."""
    above = _placements(one, other)
    below = 1 - _placements(other, one)
    auc = float(above.mean())
    error = math.sqrt(above.var(ddof=1) / one.size + below.var(ddof=1) / other.size)
    z = (auc - 0.5) / error if error else 0.0
    return auc, error, math.erfc(abs(z) / math.sqrt(2))


def _placements(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each of the first the share of the second that is smaller, an equal one counting half."""
    ordered = np.sort(other)
    smaller = np.searchsorted(ordered, one, "left") + np.searchsorted(ordered, one, "right")
    return np.asarray(smaller / (2 * other.size), dtype=np.float64)


def _kolmogorov_smirnov(one: NDArray[np.float64], other: NDArray[np.float64]) -> tuple[float, float]:
    """D, and by its limiting distribution the p of so much by accident."""
    everything = np.concatenate([one, other])
    shares = [np.searchsorted(np.sort(each), everything, "right") / each.size for each in (one, other)]
    d = float(np.abs(shares[0] - shares[1]).max())
    x = d * math.sqrt(one.size * other.size / (one.size + other.size))
    if x < 0.2:
        return d, 1.0
    p = 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * x) ** 2) for k in range(1, 101))
    return d, min(1.0, max(0.0, p))


# -- asking


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


# -- the table


async def measure(count: int, stores: Mapping[str, Mapping[str, str]]) -> dict[tuple[str, str], Samples]:
    """By store, and by where the clock is."""
    found: dict[tuple[str, str], Samples] = {}
    for store, settings in stores.items():
        found[store, "client"], found[store, "latencyMs"] = await over_the_wire(count, settings)
        found[store, "in the server"] = await inside(count, settings)
    return found


def table(found: Mapping[tuple[str, str], Samples]) -> str:
    count = next(iter(found.values()))[OWN].size
    lines = [f"{datetime.now(UTC):%Y-%m-%d}, {count:,} of each kind in every row", report.machine(), ""]
    lines += ["median ms                      own   foreign   missing    absurd"]
    for (store, clock), samples in found.items():
        medians = "".join(f"{np.median(samples[kind]) * 1000:10.3f}" for kind in KINDS)
        lines.append(f"{store:9} {clock:14}{medians}")
    lines += ["", "told apart                     medians differ by µs      AUC                    p     best threshold"]
    for pair in ((FOREIGN, MISSING), (ABSURD, MISSING), (OWN, MISSING)):
        lines.append(f"{pair[0]} from {pair[1]}")
        for (store, clock), samples in found.items():
            lines.append(f"  {store:9} {clock:14}  {_row(compared(samples[pair[0]], samples[pair[1]]))}")
    return "\n".join([*lines, "", *bars(found)]) + "\n"


def _row(each: Compared) -> str:
    difference = f"{each.difference_us:+.1f} [{each.difference_ci[0]:+.1f}, {each.difference_ci[1]:+.1f}]"
    auc = f"{each.auc:.3f} [{each.auc_ci[0]:.3f}, {each.auc_ci[1]:.3f}]"
    return f"{difference:25} {auc:22} {each.p:.2f}  +{each.advantage:.3f} (p {each.advantage_p:.2f})"


def bars(found: Mapping[tuple[str, str], Samples]) -> Iterator[str]:
    """Own orders are no secret; of the others none may be told from another."""
    for one in (FOREIGN, ABSURD):
        worst = max((abs(compared(each[one], each[MISSING]).auc - 0.5), *of) for of, each in found.items())
        word = "met   " if worst[0] <= MOST else "MISSED"
        yield f"{word}  {one} from missing: AUC within {worst[0]:.3f} of 0.5, at most {MOST} ({worst[1]}, {worst[2]})"


def write(text: str) -> None:
    """Puts the table between the marks in README.md."""
    whole = report.README.read_text("utf-8")
    head, _, rest = whole.partition(BEGIN)
    assert rest, "README.md has lost its marks"
    _, _, tail = rest.partition(END)
    report.README.write_text(f"{head}{BEGIN}\n```text\n{text}```\n\n{END}{tail}", "utf-8")


def opened(names: Sequence[str], stack: ExitStack) -> dict[str, dict[str, str]]:
    """The settings of each store, filled with the demo's orders."""
    own: dict[str, dict[str, str]] = {name: {} for name in names}
    if "DynamoDB" in own:
        running = os.environ.get("MANGA_STACK_DYNAMODB")
        url = running or stack.enter_context(dynamodb.dynamodb_local())
        prefix = f"timing{uuid.uuid4().hex[:8]}-"
        own["DynamoDB"] = {"MANGA_STORE_URL": f"dynamodb://{dynamodb.REGION}?endpoint={url}&table_prefix={prefix}"}
        done = seeded(own["DynamoDB"])
        assert done.returncode == 0, done.stderr
    return own


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.order_timing", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--samples", type=int, default=5000, help="of each kind, for each store and clock")
    parser.add_argument("--only", choices=("embedded", "DynamoDB"), help="one store instead of both")
    parser.add_argument("--write", action="store_true", help="put the table into tests/load/README.md")
    parser.add_argument("--bars", action="store_true", help="exit with 1 when they can be told apart")
    asked = parser.parse_args(arguments)
    with ExitStack() as stack:
        stores = opened([asked.only] if asked.only else ["embedded", "DynamoDB"], stack)
        found = asyncio.run(measure(asked.samples, stores))
    text = table(found)
    sys.stdout.write(text)
    if asked.write:
        write(text)
    return int(asked.bars and any(line.startswith("MISSED") for line in bars(found)))


if __name__ == "__main__":
    raise SystemExit(main())
