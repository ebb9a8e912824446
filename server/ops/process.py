"""Which process is shown: what does not change while it lives."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from server.config.settings import Settings
from server.ops.hashes import Hashes
from server.version import VERSION

if TYPE_CHECKING:
    from server.application import Application

SHOWN = ("call_timeout_ms", "cache", "cache_ttl_s", "max_concurrent_calls", "rate_limit", "workers", "standby", "adult")
PLACES = ("catalog_url", "store_url", "redis_url", "flags_url")
"""Of these only the scheme: an address may hold a password."""
Json = dict[str, Any]


@dataclass(slots=True)
class Process:
    """`worker` is its number among several that share a port."""

    settings: Settings
    app: Application
    worker: int | None = None
    hashes: Hashes = field(default_factory=Hashes)
    started_at: float = field(init=False)
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.started_at = round(self.app.pipeline.store.now().timestamp(), 1)
        self.name = self.app.reach.own or secrets.token_hex(6)

    def hello(self) -> Json:
        settings = self.settings
        shown = {name: getattr(settings, name) for name in SHOWN}
        places = {name.removesuffix("_url"): scheme(getattr(settings, name)) for name in PLACES}
        server = {"version": VERSION, "replica": self.name, "worker": self.worker, "started_at": self.started_at}
        return {
            "server": {**server, "auth": settings.auth, "settings": {**shown, **places}},
            "stages": list(self.app.pipeline.stages),
            "tools": [_tool(each) for each in self.app.registry],
            "turn_budget_ms": settings.turn_budget_ms,
        }


def scheme(url: str | None) -> str | None:
    return url.partition(":")[0] if url else None


def _tool(tool: Any) -> Json:
    return {"name": tool.name, "timeout_ms": tool.timeout_ms, "fallback": tool.fallback.name if tool.fallback else None}
