"""Two replicas on one Redis and one flags file: a change reaches every kind of client of both, once, with its new list."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients import Connections
from tests.support.flags import FlagsServer
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
from tests.support.strands import StrandsDriver
from tests.support.two_replicas import TwoReplicas
from tests.support.valkey import eventually

pytestmark = pytest.mark.timeout(240)
"""The first of them starts two servers and a dozen clients."""

SECONDS = 30.0
OFF = "get_recommendations"


@pytest.fixture(scope="module")
def flags(two: TwoReplicas) -> FlagsServer:
    return two.flags


@pytest.fixture(scope="module")
def connections(
    tmp_path_factory: pytest.TempPathFactory, cache: Path, strands_driver: StrandsDriver, two: TwoReplicas
) -> Iterator[Connections]:
    opened = Connections(tmp_path_factory.mktemp("hearing"), cache, strands_driver, two.settings)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def hearers(connections: Connections, two: TwoReplicas) -> list[Hearer]:
    """Every kind on both replicas; and over stdio, where each is a replica of its own. They hear every flip of this module,
    so every flip waits for them: of one that nobody waited for a slow client would tell during the next test."""
    opened = [of_2025(connections, "stdio-2025", "")]
    for url in two.urls:
        opened += [of_2025(connections, name, url) for name in ("sse-2025", "http-2025")]
        opened += [of_2026(connections, name, url) for name in ("sse-2026", "http-2026")]
        opened += [of_strands(connections, name, url) for name in ("strands-sse", "strands-http")]
    return opened


async def flip(flags: FlagsServer, hearers: Sequence[Hearer], **to: Any) -> None:
    """Turns the flags, and waits until everybody has heard."""
    before = [len(hearer.news) for hearer in hearers]
    flags.set(**to)
    await all_have_heard(hearers, before, SECONDS)


async def check_flips(flags: FlagsServer, hearers: Sequence[Hearer]) -> None:
    """Off, on, off, on: one notification each time, after which each has the new list; and none for what is another's."""
    for hearer in hearers:
        hearer.news.clear()
    flips: list[dict[str, Any]] = [{OFF: False}, {}, {OFF: False}, {}]
    for number, to in enumerate(flips, 1):
        await flip(flags, hearers, **to)
        for hearer in hearers:
            assert (OFF in hearer.news[-1].tools) is (OFF not in to), hearer
            assert len(hearer.news) == number, hearer


async def test_flag_change_reaches_every_kind_of_client_of_both_replicas_once(
    hearers: list[Hearer], flags: FlagsServer
) -> None:
    await check_flips(flags, hearers)


async def test_flag_change_for_one_user_notifies_that_user_only(
    hearers: list[Hearer], connections: Connections, two: TwoReplicas, flags: FlagsServer
) -> None:
    """One client has a user. The tool goes off for all, on for her, on for all (no change to her), off for all."""
    headers = {"X-User-ID": "alice"}
    alice = [
        of_2025(connections, "sse-2025", two.urls[0], headers),
        of_2026(connections, "http-2026", two.urls[1], headers),
    ]
    before = [len(hearer.news) for hearer in hearers]
    hers = {"segments": [{"name": "hers", "conditions": [{"property": "user", "operator": "in", "value": ["alice"]}]}]}
    await flip(flags, [*hearers, *alice], **{OFF: False})
    await flip(flags, alice, **{OFF: hers})
    await flip(flags, hearers)
    await flip(flags, [*hearers, *alice], **{OFF: False})
    assert [len(hearer.news) - past for hearer, past in zip(hearers, before, strict=True)] == [3] * len(hearers)
    assert [[OFF in news.tools for news in each.news] for each in alice] == [[False, True, False]] * 2
    await flip(flags, [*hearers, *alice])


def test_sdk_1_x_client_is_notified_of_flag_changes(
    hearers: list[Hearer], two: TwoReplicas, flags: FlagsServer, tmp_path: Path
) -> None:
    with of_program("mcp-1", mcp_1_listener(), two.urls, tmp_path / "log") as its:
        asyncio.run(check_flips(flags, [*hearers, *its]))


def test_typescript_client_is_notified_of_flag_changes(
    hearers: list[Hearer], two: TwoReplicas, flags: FlagsServer, tmp_path: Path
) -> None:
    with of_program("typescript", typescript_listener(), two.urls, tmp_path / "log") as its:
        asyncio.run(check_flips(flags, [*hearers, *its]))


async def test_no_flag_change_is_lost_when_redis_dies_and_recovers(
    hearers: list[Hearer], flags: FlagsServer, two: TwoReplicas
) -> None:
    """While Redis is away each replica finds the change by itself; afterwards they notify each other again."""
    await flip(flags, hearers, **{OFF: False})
    two.redis.kill()
    await flip(flags, hearers)
    two.redis.start_again()
    await flip(flags, hearers, **{OFF: False})
    back = "the channel of changes in Redis is back"
    await eventually(lambda: all(back in replica.log for replica in two.replicas), SECONDS)
    await flip(flags, hearers)
    await check_flips(flags, hearers)
