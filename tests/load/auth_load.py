"""Callers that prove themselves in one of the ways that the benchmark of identities compares."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.load import report
from tests.load.calls import ARGUMENTS, CALLS_A_TURN, TOOL, Turn, meta, turns
from tests.load.raw_client import Client, LoadGenerator
from tests.load.variants import FROM_CACHE

NONE, TOKEN, OWN, SHARED = "none", "token", "jwt, own", "jwt, shared"
KINDS = (NONE, TOKEN, OWN, SHARED)
CUSTOMERS = 300
SECRET = "a-secret-of-the-benchmark"


class AuthLoad(LoadGenerator):
    """`connect` makes clients that prove themselves in one of the ways; the rest is as for the other benchmarks."""

    async def connect(self, port: int, clients: int, run: str, kind: str, tokens: str) -> dict[str, Any]:  # type: ignore[override]
        self._clients = [
            Client(port, bodies(run, number, clients, kind, tokens), FROM_CACHE.encode(), header(kind, tokens, number))
            for number in range(clients)
        ]
        await asyncio.gather(*(client.connect() for client in self._clients))
        return {}


@cache
def minted(file: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(Path(file).read_text("utf-8"))
    return read


def header(kind: str, tokens: str, number: int) -> str:
    if kind == NONE:
        return ""
    bearer = {
        TOKEN: SECRET,
        OWN: minted(tokens)["users"][number],
        SHARED: minted(tokens)["agent"],
    }[kind]
    return f"Authorization: Bearer {bearer}\r\n"


def bodies(run: str, client: int, clients: int, kind: str, tokens: str) -> Iterator[tuple[int, bytes]]:
    ids = itertools.count(1)
    for turn in turns(run, client, clients, CUSTOMERS):
        stated = report.compact(stated_by(turn, kind, tokens))
        for _ in range(CALLS_A_TURN):
            number = next(ids)
            params = f'{{"name":"{TOOL}","arguments":{report.compact(ARGUMENTS)},"_meta":{stated}}}'
            yield number, f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{params}}}'.encode()


def stated_by(turn: Turn, kind: str, tokens: str) -> dict[str, str]:
    stated = meta(turn)
    if kind in (OWN, SHARED):
        del stated["com.mangaassist/userId"]
    if kind == SHARED:
        customer = int(turn.user.rpartition("-")[2])
        stated["com.mangaassist/userToken"] = minted(tokens)["users"][customer]
    return stated


if __name__ == "__main__":
    sys.exit(AuthLoad.main())
