"""The identifier of MANGA_AUTH=jwt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from server.call import Bearer, Principal, RequestMetadata, Vouched
from server.identity.identifier import CannotTell, Unproven
from server.identity.jwt.verifier import Proven, Verifier
from server.identity.request_metadata import checked_user
from tools.store.failures import DependencyFailure, Forbidden

RETRY_AFTER_MS = 1000


class TrustIssuer:
    """Believes tokens that the issuer has signed. The bearer is the user's token, or the agent's with the user's in `_meta`.
    The subject is the user, and nobody can state another. Scopes are the user's if there is a user."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier

    async def admit(self, bearer: str | None) -> str | None:
        if bearer is None:
            raise Unproven("A bearer token is needed.")
        return (await self._verifier.verify(bearer)).principal

    async def identify(self, metadata: RequestMetadata, bearer: Bearer | None) -> Principal:
        if bearer is None:
            raise Forbidden("A bearer token is needed.")
        of_bearer = await self._verify(bearer.bearer if isinstance(bearer, Vouched) else bearer, "Authorization")
        user, scopes = of_bearer.user, of_bearer.scopes
        if metadata.user_token is not None:
            known = isinstance(bearer, Vouched) and bearer.tokens.get(metadata.user_token)
            of_user = await self._verify(known or metadata.user_token, "userToken")
            if of_user.user is None:
                raise Forbidden("userToken: The token is an agent's own, and names no user.")
            if user not in (None, of_user.user):
                raise Forbidden("userToken and the bearer token are two users'.")
            # An ID token names a user and grants nothing.
            user, scopes = of_user.user, of_bearer.scopes if of_user.id_token else of_user.scopes
        named_user = checked_user(metadata.user)
        if named_user is not None and named_user != user:
            raise Forbidden("The user that is stated is not the one whose token came with the call.")
        return Principal(agent=of_bearer.client, user=user, scopes=scopes)

    async def vouch(self, bearer: str | None, tokens: Mapping[str, str]) -> Vouched:
        return Vouched(
            bearer and await self._verify_as_json(bearer),
            {name: await self._verify_as_json(token) for name, token in tokens.items()},
        )

    async def _verify_as_json(self, token: str) -> Any:
        """Returns the holder of a token as JSON, or why it is invalid."""
        try:
            return (await self._verifier.verify(token)).as_json()
        except Unproven as unproven:
            return {"unproven": str(unproven)}
        except CannotTell:
            return {"unproven": None}

    async def _verify(self, token: Any, where: str) -> Proven:
        """Returns the holder of a token, which another process may have verified."""
        try:
            if isinstance(token, str):
                return await self._verifier.verify(token)
            return Proven.of_json(token)
        except Unproven as unproven:
            raise Forbidden(f"{where}: {unproven}") from None
        except CannotTell:
            message = "The issuer's keys are not there yet, so nobody can be identified. Try again in a moment."
            raise DependencyFailure(message, dependency="issuer", retry_after_ms=RETRY_AFTER_MS) from None
