"""Two servers on one Redis, which follow one flags document at an address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.flags import FlagsServer, serving_flags
from tests.support.serving import Serving, served
from tests.support.valkey import PrivateValkey, private_valkey


@dataclass(frozen=True, slots=True)
class TwoReplicas:
    """`settings` are those of both, and of whoever joins them."""

    redis: PrivateValkey
    flags: FlagsServer
    settings: dict[str, str]
    replicas: list[Serving]

    @property
    def urls(self) -> list[str]:
        return [each.url for each in self.replicas]


@contextmanager
def two_replicas(folder: Path, cache: Path) -> Iterator[TwoReplicas]:
    with ExitStack() as stack:
        redis, flags = stack.enter_context(private_valkey()), stack.enter_context(serving_flags())
        settings = {
            "MANGA_REDIS_URL": f"redis://127.0.0.1:{redis.port}",
            "MANGA_FLAGS_URL": flags.url,
            "MANGA_EMBEDDER": "none",
            "MANGA_RATE_LIMIT": "off",
        }
        replicas = [stack.enter_context(served(folder / name, cache, **settings)) for name in ("one", "two")]
        yield TwoReplicas(redis, flags, settings, replicas)
