"""Customers' tokens are verified with the issuer's keys."""

from __future__ import annotations

import asyncio

import pytest

from infra.agent import customers as keys
from infra.agent.customers import Customers, InvalidToken
from infra.agent.options import JwtSettings
from tests.support.issuer import AUDIENCE, DRIPPING, HANGING, SigningKey, issuing
from tests.support.valkey import eventually


async def test_known_key_is_used_while_an_unknown_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "AGAIN_SECONDS", 0)
    with issuing() as issuer:
        customers = Customers(JwtSettings(issuer.name, (AUDIENCE,), issuer.jwks_url))
        assert await customers.authenticate(issuer.token("demo-user-1")) == "demo-user-1"
        issuer.behaves = HANGING
        stranger = asyncio.create_task(customers.authenticate(issuer.token(key=SigningKey.rsa("rsa-9"))))
        await eventually(lambda: issuer.asked == 2)
        async with asyncio.timeout(10):
            assert await customers.authenticate(issuer.token("demo-user-2")) == "demo-user-2"
        assert not stranger.done()
        issuer.released.set()
        with pytest.raises(InvalidToken):
            await stranger


async def test_known_key_does_not_wait_for_the_fetch_that_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "AGAIN_SECONDS", 0)
    with issuing() as issuer:
        customers = Customers(JwtSettings(issuer.name, (AUDIENCE,), issuer.jwks_url))
        assert await customers.authenticate(issuer.token("demo-user-1")) == "demo-user-1"
        monkeypatch.setattr(keys, "FRESH_SECONDS", 0)
        monkeypatch.setattr(keys, "FETCH_SECONDS", 60)
        issuer.behaves = HANGING
        async with asyncio.timeout(10):
            assert await customers.authenticate(issuer.token("demo-user-1")) == "demo-user-1"
        await eventually(lambda: issuer.asked == 2)
        issuer.released.set()


async def test_fetch_of_keys_goes_on_when_its_caller_has_left() -> None:
    with issuing() as issuer:
        customers = Customers(JwtSettings(issuer.name, (AUDIENCE,), issuer.jwks_url))
        issuer.behaves = HANGING
        first = asyncio.create_task(customers.authenticate(issuer.token("demo-user-1")))
        await eventually(lambda: issuer.asked == 1)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        second = asyncio.create_task(customers.authenticate(issuer.token("demo-user-2")))
        issuer.released.set()
        assert await second == "demo-user-2"
        assert issuer.asked == 1


async def test_keys_that_come_byte_by_byte_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "FETCH_SECONDS", 0.2)
    with issuing() as issuer:
        customers = Customers(JwtSettings(issuer.name, (AUDIENCE,), issuer.jwks_url))
        issuer.behaves = DRIPPING
        async with asyncio.timeout(5):
            with pytest.raises(InvalidToken):
                await customers.authenticate(issuer.token("demo-user-1"))
