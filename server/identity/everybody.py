"""MANGA_AUTH=none."""

from __future__ import annotations

from collections.abc import Mapping

from server.call import Bearer, Principal, RequestMetadata, Vouched
from server.identity.request_metadata import checked_user


class TrustEverybody:
    """The identity is as metadata. For loopback only, where the caller is the agent's own task; and for stdio, where it is
    the parent process: `user` stands for a customer whom that one cannot state."""

    def __init__(self, user: str | None = None) -> None:
        self._user = user

    async def admit(self, bearer: str | None) -> str | None:
        return None

    async def identify(self, metadata: RequestMetadata, bearer: Bearer | None) -> Principal:
        return Principal(user=checked_user(metadata.user or self._user))

    async def vouch(self, bearer: str | None, tokens: Mapping[str, str]) -> Vouched:
        return Vouched()
