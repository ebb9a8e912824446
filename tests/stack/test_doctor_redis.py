"""Doctor on real Redis servers, each fault really made."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import pytest

from server.commands.doctor import MOST_SECONDS
from tests.stack import redis_servers
from tests.stack.examined import BOUND_SECONDS, Doctor
from tests.stack.require import require

pytestmark = pytest.mark.timeout(300)


def told(server: redis_servers.Redis, *words: str) -> None:
    subprocess.run(["redis-cli", "-p", str(server.port), *words], check=True, capture_output=True, timeout=BOUND_SECONDS)


@pytest.fixture
def redis() -> Iterator[Callable[..., redis_servers.Redis]]:
    """Servers of one's own."""
    require("Redis", redis_servers.missing())
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(redis_servers.started(**options))


@pytest.mark.parametrize(
    ("login", "said"),
    [
        (":wrong-one@", "it refuses user and password"),
        ("nobody:wrong-one@", "it refuses user and password"),
        ("", "it wants a password"),
    ],
)
async def test_a_wrong_password_of_redis_is_told_of_and_not_shown(login: str, said: str, redis: Any, doctor: Doctor) -> None:
    """Neither in the address nor in what is wrong."""
    server = redis(password="the-right-one")
    found = (await doctor(redis_url=f"redis://{login}127.0.0.1:{server.port}/0"))["redis"]
    assert (found["state"], found["detail"]) == ("down", said)
    assert "wrong-one" not in json.dumps(found)
    assert (await doctor(redis_url=server.url))["redis"]["state"] == "ok"


async def test_a_password_that_redis_does_not_ask_for_is_told_of(redis: Any, doctor: Doctor) -> None:
    """It refuses the greeting then."""
    found = (await doctor(redis_url=f"redis://:secret@127.0.0.1:{redis().port}/0"))["redis"]
    assert found["detail"] == "it has no such user, or wants no password"


async def test_a_database_that_redis_does_not_have_is_told_of(redis: Any, doctor: Doctor) -> None:
    """There are sixteen by default."""
    found = (await doctor(redis_url=f"redis://127.0.0.1:{redis().port}/99"))["redis"]
    assert found["detail"] == "it has no database of this number"


async def test_a_certificate_of_an_unknown_authority_is_told_of(redis: Any, doctor: Doctor) -> None:
    """And with its authority named it is trusted."""
    server = redis(tls=True)
    found = (await doctor(redis_url=f"rediss://127.0.0.1:{server.port}/0"))["redis"]
    assert found["detail"].startswith("its certificate is not trusted: ")
    assert (await doctor(redis_url=server.url))["redis"]["state"] == "ok"


async def test_plain_words_to_a_server_that_wants_tls_are_told_of(redis: Any, doctor: Doctor) -> None:
    """With a hint to the scheme."""
    found = (await doctor(redis_url=f"redis://127.0.0.1:{redis(tls=True).port}/0"))["redis"]
    assert found["state"] == "down"
    assert "TLS" in found["remedy"]


async def test_a_redis_that_hangs_is_told_of(redis: Any, doctor: Doctor) -> None:
    """Its connection is taken by the kernel, and nothing follows."""
    server = redis()
    server.child.pause()
    found = (await doctor(MOST_SECONDS, redis_url=server.url))["redis"]
    assert found["detail"] == "it takes the connection and does not answer"


async def test_replicas_are_told_of(redis: Any, doctor: Doctor) -> None:
    """One that takes no writes, and one that has lost its primary and answers nothing."""
    server = redis()
    told(server, "replicaof", "127.0.0.1", "1")
    assert (await doctor(redis_url=server.url))["redis"]["detail"] == "it is a replica and takes no writes"
    told(server, "config", "set", "replica-serve-stale-data", "no")
    assert (await doctor(redis_url=server.url))["redis"]["detail"] == "it is a replica that lost its primary"


async def test_a_full_redis_is_told_of(redis: Any, doctor: Doctor) -> None:
    """And one that will refuse writes once it is full, beforehand."""
    server = redis()
    told(server, "config", "set", "maxmemory", "100mb")
    ahead = (await doctor(redis_url=server.url))["redis"]
    assert (ahead["state"], "volatile-lru" in ahead["remedy"]) == ("degraded", True)
    told(server, "config", "set", "maxmemory", "1")
    assert (await doctor(redis_url=server.url))["redis"]["detail"] == "its memory is full"


async def test_a_cluster_and_a_single_server_are_told_apart(redis: Any, redis_cluster_url: str, doctor: Doctor) -> None:
    """Each by the scheme that it wants; and a cluster whose slots nobody serves is down."""
    port = urlsplit(redis_cluster_url).port
    assert (await doctor(redis_url=f"redis+cluster://127.0.0.1:{port}"))["redis"]["state"] == "ok"
    found = (await doctor(redis_url=f"redis://127.0.0.1:{port}"))["redis"]
    assert (found["detail"], "redis+cluster" in found["remedy"]) == ("it is a cluster", True)
    single = (await doctor(redis_url=f"redis+cluster://127.0.0.1:{redis().port}"))["redis"]
    assert single["detail"] == "it is no cluster"
    empty = (await doctor(redis_url=f"redis+cluster://127.0.0.1:{redis(cluster=True).port}"))["redis"]
    assert empty["detail"] == "the cluster is down: not every slot is served"
