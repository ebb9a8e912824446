"""One scenario: conversations as ever, the fault, its end, and on until the answers are live again."""

from __future__ import annotations

import asyncio
import time

from tests.chaos.bars import Measured, Window
from tests.chaos.heartbeat import Held
from tests.chaos.measure import Told, measure, settled
from tests.chaos.scenarios import BACKENDS, Scenario
from tests.chaos.world import World

PAUSE_SECONDS = 1.0
WARM_SECONDS = 20.0
CALM_SECONDS = 1.0
PATIENCE_SECONDS = 9.0


async def warm_up(world: World) -> None:
    """Until everything has been asked for once, and every backend is well."""
    await world.clients.ask(f"go {PAUSE_SECONDS}")
    await calm(world, WARM_SECONDS)


async def calm(world: World, seconds: float) -> None:
    """A while of answers from every backend; not for longer than given."""
    since = time.monotonic()
    first = len(world.clients.read)
    while time.monotonic() < since + seconds:
        await asyncio.sleep(0.1)  # between two looks at what other processes write
        samples = world.clients.of("sample", first)
        if time.monotonic() > since + CALM_SECONDS and settled(BACKENDS, samples, since):
            return


async def play(world: World, scenario: Scenario, seconds: float, patience: float = PATIENCE_SECONDS) -> Measured:
    await calm(world, PATIENCE_SECONDS)
    first_answer, first_sample = len(world.samples.read), len(world.clients.read)
    began = time.monotonic()
    for backend, fault in scenario.faults.items():
        await world.begin(backend, fault)
    await asyncio.sleep(seconds)  # as long as the fault is to last
    await asyncio.gather(*(world.end(backend, fault) for backend, fault in scenario.faults.items()))
    ended = time.monotonic()
    while time.monotonic() < ended + patience:
        await asyncio.sleep(0.1)  # between two looks at what other processes write
        if settled(scenario.backends, world.clients.of("sample", first_sample), ended):
            break
    closed = time.monotonic()
    # What is under way belongs to it: every call is over by then.
    await asyncio.sleep(1.2)
    world.samples.catch_up()
    told = Told(
        world.samples.of("answer", first_answer),
        world.clients.of("sample", first_sample),
        Held.of(world.samples.of("held", first_answer)),
        Held.of(world.clients.of("held", first_sample)),
    )
    return measure(scenario.name, scenario.faults, Window(began, ended, closed), told)
