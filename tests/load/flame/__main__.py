"""Where processor time goes, as a flame graph: `python -m tests.load.flame cached|search|stack FILE.svg`.

`cached` is the bench's cached call: the server with 32 clients of HTTP+SSE. `search` is searches that were never asked
before, in the embedded catalogue, whose cache is off; MANGA_CATALOG_FILE names another catalogue than the demo's. `stack` is
turns of three calls on real OpenSearch, DynamoDB and Redis, of a server that keeps no results.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import uuid
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

from tests.load.children import python
from tests.load.flame.drawing import flame_graph
from tests.load.flame.sampled import folded, unfolded
from tests.load.flame.sampler import OneThread, Samples, Stack
from tests.load.flame.stack import SAMPLED, stack
from tests.load.searches import Searches
from tests.load.variants import FROM_CACHE, PRODUCT
from tests.support.ports import free_port

CLIENTS, WARM_CALLS = 32, 20
WARM_SECONDS = 300.0
"""On a busy machine some answers are none of the cache until trips to Redis are quick enough."""


async def cached(folder: Path, seconds: float) -> tuple[Counter[Stack], int, float]:
    """Samples, calls, and ms of processor time of one."""
    file, port = folder / "cached", free_port()
    environment = PRODUCT | {"MANGA_PORT": str(port)}
    async with AsyncExitStack() as stack:
        load = await stack.enter_async_context(python(folder, "tests.load.raw_client", worker=True))
        serving = (SAMPLED, str(file), "server.commands.cli", "serve", "--with-parent")
        async with python(folder, *serving, environment=environment) as server:
            await server.serving(port)
            run = uuid.uuid4().hex[:12]
            await load.ask("connect", port=port, clients=CLIENTS, run=run, echo=False, promised=FROM_CACHE)
            await load.ask("warm", calls=WARM_CALLS, within=WARM_SECONDS)
            os.kill(server.pid, signal.SIGUSR1)
            answer = await load.ask("go", seconds=seconds)
            await load.ask("close")
    calls = len(answer["latencies"])
    return unfolded(file.read_text("utf-8")), calls, answer["seconds"]


async def search(folder: Path, seconds: float) -> tuple[Counter[Stack], int, float]:
    samples = Samples()
    async with Searches.opened() as searches:
        await searches.warm()
        with samples.taken():
            answer = await searches.go(seconds=seconds)
    return samples.stacks, answer.calls, answer.seconds


MEASURED = {each.__name__: each for each in (cached, search, stack)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.flame", description=__doc__)
    parser.add_argument("what", choices=tuple(MEASURED))
    parser.add_argument("file", type=Path)
    parser.add_argument("--stacks", type=Path, help="write the samples too, one stack a line with its count")
    parser.add_argument("--seconds", type=float, default=10.0)
    asked = parser.parse_args()
    measured = MEASURED[asked.what]
    loop = OneThread if measured is search else None
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner(loop_factory=loop) as runner:
        stacks, calls, took = runner.run(measured(Path(folder), asked.seconds))
    title = f"{asked.what}: {calls} calls in {took:.1f} s, {stacks.total()} samples of processor time"
    asked.file.write_text(flame_graph(stacks, title), "utf-8")
    if asked.stacks:
        asked.stacks.write_text(folded(stacks), "utf-8")
    print(title)
    return 0


if __name__ == "__main__":
    sys.exit(main())
