"""Authenticates customers by the subject of a JWT signed by the shop's issuer."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from typing import Any
from urllib.request import HTTPRedirectHandler, build_opener

import jwt

from infra.agent.lambdas import invoke
from infra.agent.options import JwtSettings

logger = logging.getLogger(__name__)

LEEWAY_SECONDS = 30
FRESH_SECONDS, AGAIN_SECONDS, KEPT_SECONDS = 600, 30, 86_400
FETCH_SECONDS = 3
MOST_BYTES = 150_000
USER = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?")


class InvalidToken(Exception):
    """The token authenticates no customer. The message reveals nothing of the token's content."""


class NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *ignored: Any) -> None:
        """Makes urllib raise `HTTPError` for every redirect, so that secrets and questions stay at one address."""


class Customers:
    """Verifies customers' tokens with the issuer's public keys. Fetches keys older than ten minutes, or for an unknown key
    id, at most every 30 seconds. While fetching fails, the last keys remain valid for a day. A token whose key is known
    waits for no fetch."""

    def __init__(self, settings: JwtSettings) -> None:
        self._settings = settings
        self._keys: dict[str, Any] = {}
        self._fetched = self._tried = -float(KEPT_SECONDS)
        self._loading: asyncio.Task[None] | None = None

    async def authenticate(self, token: str) -> str:
        """Verifies a token's signature (RS256), issuer, audience and times, and returns the customer's id, its `sub`. Raises
        `InvalidToken`, also for a machine's token."""
        try:
            key = await self._key(str(jwt.get_unverified_header(token).get("kid")))
            claims = jwt.decode(
                token,
                key,
                algorithms=["RS256"],
                issuer=self._settings.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "sub"], "verify_aud": False},
            )
        except jwt.PyJWTError as error:
            raise InvalidToken(f"The token is not believed ({type(error).__name__}).") from None
        if int(claims["exp"]) <= time.time():  # the leeway is for the other times: a token ends here as it does at /door
            raise InvalidToken("The token is not believed (ExpiredSignatureError).")
        meant = claims.get("aud", claims.get("client_id"))  # an access token of Amazon Cognito has no aud
        if not any(each in self._settings.audience for each in (meant if isinstance(meant, list) else [meant])):
            raise InvalidToken("The token is meant for another audience.")
        machine = claims.get("gty") == "client-credentials" or claims["sub"] == claims.get("client_id")
        if machine or "cnf" in claims or not USER.fullmatch(claims["sub"]):
            raise InvalidToken("The token is not a customer's bearer token.")
        return str(claims["sub"])

    async def _key(self, name: str) -> Any:
        if not self._is_known(name) or time.monotonic() - self._fetched > FRESH_SECONDS:
            self._refresh()
        if not self._is_known(name) and self._loading is not None:
            await asyncio.shield(self._loading)
        if not self._is_known(name):
            raise InvalidToken("The token is signed with a key that its issuer does not have.")
        return self._keys[name]

    def _is_known(self, name: str) -> bool:
        return name in self._keys and time.monotonic() - self._fetched <= KEPT_SECONDS

    def _refresh(self) -> None:
        """Starts a fetch unless one is in progress, at most every 30 seconds. A failure is logged and leaves the keys as
        they are."""
        if (self._loading is None or self._loading.done()) and time.monotonic() - self._tried > AGAIN_SECONDS:
            self._tried = time.monotonic()
            self._loading = asyncio.create_task(self._load(), name="the issuer's keys")

    async def _load(self) -> None:
        try:
            async with asyncio.timeout(2 * FETCH_SECONDS):
                read = await asyncio.to_thread(self._fetch)
            self._keys = {str(each.key_id): each for each in jwt.PyJWKSet.from_dict(read).keys}
            self._fetched = self._tried
        except Exception as error:  # on any failure the last keys stay in use
            logger.warning("the issuer's keys cannot be read: %r", error)

    def _fetch(self) -> dict[str, Any]:
        if self._settings.keys.startswith("lambda:"):
            return dict(invoke(self._settings.keys, {"keys": True}))
        until, read = time.monotonic() + FETCH_SECONDS, b""
        with build_opener(NoRedirects).open(self._settings.keys, timeout=FETCH_SECONDS) as response:
            while len(read) < MOST_BYTES and (piece := response.read1(MOST_BYTES)):
                read += piece
                if time.monotonic() > until:  # the socket's timeout limits each piece alone
                    raise TimeoutError
        return dict(json.loads(read))
