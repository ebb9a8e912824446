"""When an issuer that is away is asked again and how often that is logged, by virtual time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from server.config.sources import Unreadable
from server.identity.jwt.keys import IssuerKeys, KeySet, TokenHeader
from server.identity.request_metadata import KeysUnavailable

pytestmark = pytest.mark.virtual_time

UNKNOWN = TokenHeader("unknown", "RS256")


class Reading:
    """Key sets, or what goes wrong; the last one for ever. `at` is when it was asked."""

    def __init__(self, *answers: KeySet | Exception) -> None:
        self.answers = list(answers)
        self.at: list[float] = []

    async def __call__(self) -> KeySet:
        self.at.append(round(asyncio.get_running_loop().time() - 1000, 3))
        answer = self.answers[min(len(self.at), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


@asynccontextmanager
async def kept(reading: Reading) -> AsyncIterator[IssuerKeys]:
    keys = IssuerKeys(reading, asyncio.get_running_loop().time)
    task = asyncio.create_task(keys.keep_fresh())
    try:
        yield keys
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_an_unreachable_issuer_is_retried_with_pauses_doubling_to_30_seconds() -> None:
    reading = Reading(Unreadable("away"))
    async with kept(reading):
        await asyncio.sleep(125)
    began = reading.at[0]
    assert [each - began for each in reading.at] == [0, 1, 3, 7, 15, 31, 61, 91, 121]


async def test_healthy_issuer_is_read_every_ten_minutes() -> None:
    reading = Reading(KeySet({}))
    async with kept(reading):
        await asyncio.sleep(1801)
    assert [each - reading.at[0] for each in reading.at] == [0, 600, 1200, 1800]


@pytest.mark.parametrize("trouble", [Unreadable("it is not JSON"), LookupError("what nobody foresaw")])
async def test_issuer_outage_and_recovery_are_logged_once_each(trouble: Exception, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    reading = Reading(*[trouble] * 4, KeySet({}))
    async with kept(reading):
        await asyncio.sleep(700)
    told = [record.getMessage() for record in caplog.records if record.name == "server.identity.jwt.keys"]
    assert len([each for each in told if "no caller can be admitted" in each]) == 1
    assert [each for each in told if "answers again" in each] == ["MANGA_JWT_JWKS_URL answers again"]


async def test_last_keys_are_used_for_a_day_without_the_issuer() -> None:
    keys = KeySet({})
    async with kept(Reading(keys, Unreadable("away"))) as own:
        await asyncio.sleep(24 * 3600)
        assert own.current is keys
        await asyncio.sleep(1)
        assert own.current is None
        with pytest.raises(KeysUnavailable):
            await own.key_of(UNKNOWN)


async def test_unknown_key_triggers_a_read_at_most_every_half_minute() -> None:
    reading = Reading(KeySet({}))
    async with kept(reading) as own:
        await asyncio.sleep(100)
        began = len(reading.at)
        for after, asked in ((0, 1), (1, 1), (28, 1), (1.5, 2)):
            await asyncio.sleep(after)
            assert await own.key_of(UNKNOWN) is None
            assert len(reading.at) - began == asked
