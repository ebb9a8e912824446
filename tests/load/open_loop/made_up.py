"""Runs as tests make them up: turns at even distances, and calls of one latency."""

from __future__ import annotations

import asyncio

from tests.load.open_loop.conversation import Conversation
from tests.load.open_loop.measured import Measured, Row
from tests.load.open_loop.run import Run
from tests.load.open_loop.schedule import Ask, Turn

GAP, TURNS = 0.01, 40


async def kept(port: int, turns: list[Turn]) -> list[Row]:
    """The schedule, run against that port."""
    runs: list[Run] = []
    conversation = Conversation(port, lambda *it: runs[0].answered(*it), lambda *it: runs[0].refused(*it))
    await conversation.connect()
    runs.append(Run(turns, [conversation]))
    async with asyncio.timeout(30):
        await runs[0].kept()
    conversation.close()
    assert runs[0].strays == 0
    return [Row(*row) for row in runs[0].rows]


def every(gap: float, turns: int) -> list[Turn]:
    asks = (Ask("check_inventory", "{}"),) * 3
    return [Turn(number * gap, asks, (0.0, 0.0), "someone", f"s{number}", f"t{number}") for number in range(turns)]


def measured(rows: list[Row], rate: float = 50.0) -> Measured:
    use = {"server": 100.0}
    turns = len({row.turn for row in rows})
    return Measured(rate, rows, turns, 0, 0, use, 10.0, 1.0, use, len(rows), 3 * turns / rate, 0.0)


def calls(milliseconds: float, count: int = 300, outcome: str = "live") -> list[Row]:
    return [Row(n // 3, n % 3, "x", n / 100, 0.0, milliseconds / 1000, outcome, False, 100) for n in range(count)]


def later(rows: list[Row]) -> list[Row]:
    return [row._replace(turn=row.turn + 1000) for row in rows]
