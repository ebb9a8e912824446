"""Two replicas on one Redis and one flags file, clients of every kind on both, and a crowd that listens."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.load.children import Child, python
from tests.support.clients import Connections
from tests.support.hearing import (
    Hearer,
    all_have_heard,
    mcp_1_listener,
    of_2025,
    of_2026,
    of_program,
    of_strands,
    typescript_listener,
)
from tests.support.serving import served
from tests.support.strands import StrandsDriver
from tests.support.valkey import private_valkey

WITNESS = "witness"
_ALL_BUT = {"name": "others", "conditions": [{"property": "user", "operator": "not_in", "value": [WITNESS]}]}
NOT_FOR_THE_WITNESS = {"lookup_order": {"segments": [_ALL_BUT]}}
CALLERS, PAUSE_SECONDS = 4, 0.1
"""On each replica, and between two of their calls."""


@dataclass(slots=True)
class Rig:
    flags: Path
    hearers: list[Hearer]
    witnesses: list[Hearer]
    crowd: Child
    users: Sequence[str]
    turned: bool = False

    async def flip_and_see(self, seconds: float, **flags: Any) -> None:
        """Over when every replica has seen it, whoever it concerns: another flag, which concerns the witness alone, goes with
        it and turns each time."""
        before = [len(each.news) for each in self.witnesses]
        self.turned = not self.turned
        self.flip(**flags, **(NOT_FOR_THE_WITNESS if self.turned else {}))
        await all_have_heard(self.witnesses, before, seconds)

    def flip(self, **flags: Any) -> float:
        """Replaces the file in one step; tells when, in monotonic seconds."""
        new = self.flags.with_suffix(".new")
        new.write_text(json.dumps(flags), "utf-8")
        new.replace(self.flags)
        return time.monotonic()


@asynccontextmanager
async def rig(listeners: int, *, typescript: bool, every_kind: bool) -> AsyncIterator[Rig]:
    """`listeners` are so many in the crowd; without `every_kind` there are only the SDK's clients beside it."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="manga-flips-")))
        flags = folder / "flags.json"
        flags.write_text("{}", "utf-8")
        redis = stack.enter_context(private_valkey())
        settings = {
            "MANGA_REDIS_URL": f"redis://127.0.0.1:{redis.port}",
            "MANGA_FLAGS_URL": flags.as_uri(),
            "MANGA_EMBEDDER": "none",
            "MANGA_RATE_LIMIT": "off",
            "MANGA_MAX_SSE_SESSIONS": str(listeners + 100),
        }
        urls = [stack.enter_context(served(folder / name, folder, **settings)).url for name in ("one", "two")]
        strands = StrandsDriver(folder)
        stack.callback(strands.close)
        connections = Connections(folder, folder, strands, settings)
        stack.callback(connections.close)
        hearers = _hearers(connections, urls, every_kind=every_kind)
        witnesses = [of_2025(connections, "sse-2025", url, {"X-User-ID": WITNESS}) for url in urls]
        if every_kind:
            hearers += stack.enter_context(of_program("mcp-1", mcp_1_listener(), urls, folder / "mcp-1.log"))
        if typescript:
            hearers += stack.enter_context(of_program("typescript", typescript_listener(), urls, folder / "ts.log"))
        crowd = await stack.enter_async_context(python(folder, "tests.load.listeners", worker=True))
        users = [f"listener-{number}" for number in range(listeners)]
        ports = [int(url.rpartition(":")[2]) for url in urls]
        await crowd.ask("connect", ports=ports, users=users)
        await crowd.ask("call", ports=ports, callers=CALLERS, pause=PAUSE_SECONDS)
        yield Rig(flags, hearers, witnesses, crowd, users)


def _hearers(connections: Connections, urls: Sequence[str], *, every_kind: bool) -> list[Hearer]:
    hearers = []
    for url in urls:
        hearers += [of_2025(connections, name, url) for name in ("sse-2025", "http-2025")]
        hearers += [of_2026(connections, name, url) for name in ("sse-2026", "http-2026")]
        if every_kind:
            hearers += [of_strands(connections, name, url) for name in ("strands-sse", "strands-http")]
    if every_kind:
        hearers.append(of_2025(connections, "stdio-2025", ""))
    return hearers
