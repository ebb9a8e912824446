"""The calls that are made of every variant: one search, asked again and again, each turn by another customer."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass

TOOL = "search_manga_catalog"
ARGUMENTS = {"query": "dark fantasy with demons", "max_results": 5}
CALLS_A_TURN = 3
CUSTOMERS = 3000
"""Enough that no customer comes near 10 calls a second, so that the limits can stay on without refusing anybody."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A fresh turn of one customer in that customer's own session."""

    user: str
    session: str
    turn: str


def turns(run: str, client: int, clients: int, customers: int = CUSTOMERS) -> Iterator[Turn]:
    """Turn after turn; the clients of a run take the customers in rotation, so that no two share one."""
    for number in itertools.count():
        customer = (client + number * clients) % customers
        yield Turn(f"bench-user-{customer}", f"bench-session-{customer}", f"{run}-{client}-{number}")


def meta(turn: Turn) -> dict[str, str]:
    return {
        "com.mangaassist/sessionId": turn.session,
        "com.mangaassist/turnId": turn.turn,
        "com.mangaassist/userId": turn.user,
    }


def search_bodies(run: str, client: int, clients: int) -> Iterator[tuple[int, bytes]]:
    """(id, JSON-RPC request) for a search as an agent sends it."""
    head = f'"method":"tools/call","params":{{"name":"{TOOL}","arguments":{_json(ARGUMENTS)},"_meta":'
    ids = itertools.count(1)
    for turn in turns(run, client, clients):
        tail = f"{head}{_json(meta(turn))}}}}}"
        for _ in range(CALLS_A_TURN):
            number = next(ids)
            yield number, f'{{"jsonrpc":"2.0","id":{number},{tail}'.encode()


def echo_bodies() -> Iterator[tuple[int, bytes]]:
    """(id, JSON-RPC request) for an echo: the least that a call can be."""
    call = _json({"name": "echo", "arguments": {"message": ARGUMENTS["query"]}})
    for number in itertools.count(1):
        yield number, f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{call}}}'.encode()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
