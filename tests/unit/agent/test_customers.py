"""Customers' tokens are verified with the issuer's keys."""

from __future__ import annotations

import asyncio

import pytest

from infra.agent import customers as keys
from infra.agent.customers import Customers, InvalidToken
from infra.agent.options import JwtSettings
from tests.support.issuer import AUDIENCE, HANGING, SigningKey, issuing
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
