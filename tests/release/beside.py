"""Two releases, what they share, and how each is called."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.stack.seeding import Destination
from tests.support.flags import FlagsServer
from tests.support.raw import call, message, post_2026
from tests.support.serving import ROOT
from tests.support.stack import seeded

Json = dict[str, Any]
PREFIX = "com.mangaassist/"
VARIES = frozenset({"note", "as_of", "today"})
PATIENCE_SECONDS = 30.0
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Release:
    name: str
    tree: Path


THIS = Release("this", ROOT)


@dataclass(frozen=True, slots=True)
class Stack:
    """`place` has the index and the tables."""

    place: Destination
    redis: str
    flags: FlagsServer

    def settings(self, files: Release) -> dict[str, str]:
        """Those of every server, and of the seed: `files` has the catalogue and what belongs to it. A turn has five seconds,
        since what is answered is asked for here, and not how soon."""
        demo = files.tree / "infra" / "demo"
        return {
            **self.place.settings,
            "MANGA_REDIS_URL": self.redis,
            "MANGA_FLAGS_URL": self.flags.url,
            "MANGA_CATALOG_FILE": str(demo / "catalog.jsonl"),
            "MANGA_VOLUMES_FILE": str(demo / "volumes.jsonl"),
            "MANGA_ORDERS_FILE": str(demo / "orders.jsonl"),
            "MANGA_POLICIES_FILE": str(demo / "policies.md"),
            "MANGA_TURN_BUDGET_MS": "5000",
            "MANGA_RATE_LIMIT": "off",
        }

    def seed(self, by: Release, files: Release) -> None:
        done = seeded(self.settings(files), tree=by.tree)
        assert done.returncode == 0, done.stderr


@dataclass(frozen=True, slots=True)
class Beside:
    """`ports` has that of the server of each release, by its name."""

    stack: Stack
    ports: Mapping[str, int]

    async def call(self, release: str, tool: str, arguments: Json | None = None, **stated: Any) -> Json:
        """The structure of the first success with nothing that it does without: a first call may be late. Fails the test
        for a failure that no repetition mends."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_whole(result := await self.result(release, tool, arguments, **stated)):
                error = result["structuredContent"].get("error")
                assert error is None or error["data"]["retryable"], (release, tool, error)
                await asyncio.sleep(0.1)
        return dict(result["structuredContent"])

    async def result(self, release: str, tool: str, arguments: Json | None = None, **stated: Any) -> Json:
        meta = {PREFIX + name: value for name, value in stated.items()}
        answer = await post_2026(self.ports[release], call(tool, arguments or {}, meta))
        assert "result" in answer, (release, tool, answer)
        return dict(answer["result"])

    async def failure(self, release: str, tool: str, arguments: Json | None = None, **stated: Any) -> str:
        result = await self.result(release, tool, arguments, **stated)
        return str(result["structuredContent"].get("error", {}).get("name", ""))

    async def read(self, release: str, uri: str, **stated: Any) -> str:
        meta = {PREFIX + name: value for name, value in stated.items()}
        answer = await post_2026(self.ports[release], message("resources/read", {"uri": uri, "_meta": meta}))
        return str(answer["result"]["contents"][0]["text"])


def is_whole(result: Json) -> bool:
    said = result["_meta"][f"{PREFIX}call"]
    return not result["isError"] and not said["degraded"] and said["source"] in ("live", "cache")


def new_name(kind: str) -> str:
    """A session, turn or user that no other test knows."""
    return f"{kind}-{next(_numbers)}"


def differences(last: Any, this: Any, path: str = "$") -> list[str]:
    """Values of the last release's answer that this one's has not. What is said besides is no difference."""
    if isinstance(last, dict) and isinstance(this, dict):
        names = [name for name in last if name not in VARIES]
        return [found for name in names for found in differences(last[name], this.get(name), f"{path}.{name}")]
    if isinstance(last, list) and isinstance(this, list) and len(last) == len(this):
        return [found for i, each in enumerate(last) for found in differences(each, this[i], f"{path}[{i}]")]
    return [] if last == this else [f"{path}: {last!r} and {this!r}"]
