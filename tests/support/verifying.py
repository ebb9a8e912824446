"""A verifier as the server has it, over an issuer's keys, with clocks that a test turns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace
from unittest.mock import patch

from server.identity.jwt.keys import IssuerKeys, KeySet, parse_jwks
from server.identity.jwt.verifier import AccessTokens, TrustIssuer, Verifier
from tests.support.issuer import AUDIENCE, Issuer, compact_json

NOW = 1_800_000_000.0


@dataclass
class Turned:
    """A clock that stands still until it is moved."""

    now: float

    def __call__(self) -> float:
        return self.now


@dataclass
class Verifying:
    issuer: Issuer
    clock: Turned
    verifier: Verifier
    identifier: TrustIssuer
    keys: IssuerKeys


@asynccontextmanager
async def verifying(issuer: Issuer, *audiences: str) -> AsyncIterator[Verifying]:
    """The keys are taken from the issuer directly; how they are fetched is tested elsewhere."""

    async def read() -> KeySet:
        return parse_jwks(compact_json(issuer.jwks))

    keys, clock = IssuerKeys(read), Turned(NOW)
    fresh = asyncio.create_task(keys.keep_fresh())
    verifier = Verifier(keys, AccessTokens(issuer.name, audiences or (AUDIENCE,)), clock)
    # PyJWT asks the machine for the time.
    turned = SimpleNamespace(now=lambda tz: datetime.fromtimestamp(clock(), tz))
    try:
        with patch("jwt.api_jwt.datetime", turned):
            yield Verifying(issuer, clock, verifier, TrustIssuer(verifier), keys)
    finally:
        fresh.cancel()
        await asyncio.gather(fresh, return_exceptions=True)
