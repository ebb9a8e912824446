"""For whom each client has its list, and whose list has really changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from server.call import Principal

MOST_PRINCIPALS = 8
"""For so many one client may list before the first of them is forgotten."""
SLICE = 16
"""Lists that are compared, or clients that are told, before calls have their turn: about a millisecond."""


@dataclass(slots=True, eq=False)
class Client:
    """`tell` neither waits nor fails. `lists` are the digests of what it knows, by principal."""

    tell: Callable[[], None]
    lists: dict[Principal, str] = field(default_factory=dict)


class Audiences:
    """Clients who are told. `digest` stands for the list of a principal as it is now."""

    def __init__(self, digest: Callable[[Principal], str]) -> None:
        self._digest = digest
        self._clients: dict[Client, None] = {}

    def __len__(self) -> int:
        return len(self._clients)

    def join(self, principal: Principal, tell: Callable[[], None]) -> Client:
        """What is listed now is what the client knows, whether it has asked or not."""
        client = Client(tell)
        self.widen(client, principal)
        self._clients[client] = None
        return client

    def widen(self, client: Client, principal: Principal) -> None:
        """From now on the client hears of this principal's list as well."""
        if principal in client.lists:
            return
        if len(client.lists) >= MOST_PRINCIPALS:
            del client.lists[next(iter(client.lists))]
        client.lists[principal] = self._digest(principal)

    def leave(self, client: Client) -> None:
        self._clients.pop(client, None)

    async def compare(self) -> None:
        """Tells each client once of whom a list has changed. A principal's list is looked at once, however many have it;
        what changes meanwhile is for the next comparison."""
        now: dict[Principal, str] = {}
        work = 0
        for client in list(self._clients):
            work += self._digest_new(client, now)
            if client in self._clients and _changed(client, now):
                client.tell()
                work += 1
            if work >= SLICE:
                work = 0
                await asyncio.sleep(0)

    def _digest_new(self, client: Client, now: dict[Principal, str]) -> int:
        new = client.lists.keys() - now.keys()
        now.update((principal, self._digest(principal)) for principal in new)
        return len(new)


def _changed(client: Client, now: dict[Principal, str]) -> bool:
    """Tells whether there is another list, and takes note of it."""
    before = client.lists
    client.lists = {principal: now[principal] for principal in before}
    return client.lists != before
