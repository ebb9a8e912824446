"""`python -m tests.load.attackers`: what others feel while callers send the largest arguments that a tool admits.

One server over a catalogue of 18,804 titles. For each tool, N users of their own send the largest valid arguments of every
kind of text (tests/support/largest.py) as fast as they are answered; beside them somebody asks `/healthz`, and a customer for
an order. The bar is 250 ms for both. Limits are on, so most of an attacker's calls beyond ten a second are refused; with
`--no-limits` none is.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.load import report
from tests.quality.sets import evaluation_set, missing_message
from tests.support.large_catalog import large_catalog
from tests.support.largest import TEXTS, asked_of
from tests.support.process import serving
from tests.support.raw import Connection, call, in_2026
from tools.contract import Tool
from tools.registry import TOOLS

BAR_MS = 250.0
PAUSE = 0.02
CUSTOMER, ORDER = "demo-user-1", "MNG-DEMO1001"
Prepared = tuple[bytes, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Felt:
    """Milliseconds of each question, and how many calls the attackers got through."""

    attack: str
    health: Sequence[float]
    order: Sequence[float]
    calls: int

    def row(self) -> str:
        return f"{self.attack:24} {self.calls:7}   {_spread(self.health)}   {_spread(self.order)}"

    def missed(self) -> bool:
        return max(*self.health, *self.order) > BAR_MS


def _spread(milliseconds: Sequence[float]) -> str:
    ordered = sorted(milliseconds)
    picked = (ordered[len(ordered) // 2], ordered[int(0.99 * len(ordered))], ordered[-1])
    return " ".join(f"{each:7.1f}" for each in picked)


def largest_calls(tool: Tool, user: str, title_ids: Sequence[str]) -> list[Prepared]:
    rule = tool.input_schema["properties"].get("title_ids", {})
    known = {"title_id": title_ids[0], "title_ids": list(title_ids[: rule.get("maxItems", 0)]), "order_id": ORDER}
    asked = [arguments for text in TEXTS.values() for arguments in asked_of(tool, text, known)]
    return [_prepared(tool.name, arguments, user) for arguments in asked]


def _prepared(tool: str, arguments: object, user: str) -> Prepared:
    body, headers = in_2026(call(tool, arguments), **{"com.mangaassist/userId": user})
    return json.dumps(body).encode(), headers


async def attack(port: int, bodies: Sequence[Prepared], until: float) -> int:
    """As fast as the answers come, one after the other. How many came."""
    answered = 0
    async with Connection.to(port) as connection:
        for body, headers in itertools.cycle(bodies):
            if time.monotonic() >= until:
                return answered
            await connection.request("POST", "/mcp", body, headers)
            answered += 1
    return answered


async def feel(ask: Callable[[], Awaitable[object]], until: float) -> list[float]:
    waits = []
    while time.monotonic() < until:
        began = time.perf_counter()
        await ask()
        waits.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(PAUSE)
    return waits


async def felt(port: int, name: str, attackers: Sequence[Sequence[Prepared]], seconds: float) -> Felt:
    until = time.monotonic() + seconds
    body, headers = _prepared("lookup_order", {"order_id": ORDER}, CUSTOMER)
    async with Connection.to(port) as one, Connection.to(port) as other:
        health, order, *calls = await asyncio.gather(
            feel(lambda: one.request("GET", "/healthz"), until),
            feel(lambda: other.request("POST", "/mcp", body, headers), until),
            *(attack(port, bodies, until) for bodies in attackers),
        )
    return Felt(name, health, order, sum(calls))


def catalogue(folder: Path) -> tuple[Path, list[str]]:
    """The file, and the ids of some of its titles."""
    judged = evaluation_set()
    if judged is not None:
        return judged.catalog, [f"manga-{number:06}" for number in range(1, 101)]
    print(f"{missing_message()}; a generated catalogue of the same size is used", file=sys.stderr)
    path, records = folder / "catalog.jsonl", large_catalog()
    path.write_text("\n".join(json.dumps(each, ensure_ascii=False) for each in records) + "\n", "utf-8")
    return path, [str(each["title_id"]) for each in records[:100]]


async def measure(asked: argparse.Namespace) -> list[Felt]:
    limits = {"rate_limit": "off"} if asked.no_limits else {}
    with tempfile.TemporaryDirectory() as folder:
        path, title_ids = catalogue(Path(folder))
        flags = Path(folder) / "flags.json"
        flags.write_text(json.dumps({tool.name: True for tool in TOOLS}), "utf-8")  # what is off does no work
        async with serving(catalog_file=path, data_dir=folder, flags_url=f"file:{flags}", **limits) as server:
            return [each async for each in _rounds(server.port, title_ids, asked)]


async def _rounds(port: int, title_ids: Sequence[str], asked: argparse.Namespace) -> AsyncIterator[Felt]:
    yield await felt(port, "nobody", [], asked.seconds)
    for tool in TOOLS:
        users = [f"attacker-{tool.name}-{number}" for number in range(asked.attackers)]
        bodies = [largest_calls(tool, user, title_ids) for user in users]
        yield await felt(port, tool.name, bodies, asked.seconds)


def table(found: Sequence[Felt], attackers: int) -> Iterator[str]:
    yield f"{report.machine()}; {attackers} attackers"
    yield f"{'':24} {'':7}   {'/healthz, ms':>23}   {'an order, ms':>23}"
    yield f"{'attack':24} {'calls':>7}   {'p50':>7} {'p99':>7} {'most':>7}   {'p50':>7} {'p99':>7} {'most':>7}"
    yield from (each.row() for each in found)
    for each in found:
        if each.missed():
            yield f"MISSED  {each.attack}: somebody waited for more than {BAR_MS:g} ms"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.attackers", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--attackers", type=int, default=6, help="users at once (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=4.0, help="for each tool (default: %(default)g)")
    parser.add_argument("--no-limits", action="store_true", help="without the limit of calls for each user")
    parser.add_argument("--bars", action="store_true", help="exit with 1 when somebody waited for too long")
    asked = parser.parse_args(arguments)
    found = asyncio.run(measure(asked))
    print("\n".join(table(found, asked.attackers)))
    return int(asked.bars and any(each.missed() for each in found))


if __name__ == "__main__":
    raise SystemExit(main())
