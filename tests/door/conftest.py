"""The local gateway as a process of its own, and an agent behind it that says what it was asked."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from tests.door.said_agent import SECRET, SaidAgent, serving
from tests.support.ports import free_port
from tests.support.serving import ROOT

START_SECONDS = 30


@dataclass
class Way:
    """The way in, as a customer finds it, and the agent at its end."""

    port: int
    inner_port: int
    agent: SaidAgent
    process: subprocess.Popen[bytes]
    client: httpx.AsyncClient = field(repr=False)

    async def token(self, user: str = "demo-user-1", **more: Any) -> str:
        answer = await self.client.post("/token", json={"user": user, **more})
        return str(answer.json()["token"])

    async def turn(self, body: Any, token: str | None, **headers: str) -> httpx.Response:
        bearer = {} if token is None else {"Authorization": f"Bearer {token}"}
        told = {"content": body} if isinstance(body, bytes) else {"json": body}
        return await self.client.post("/turns", headers={**bearer, **headers}, **told)


async def _up(client: httpx.AsyncClient, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None
        try:
            if (await client.get("/healthz")).status_code == 200:
                return
        except httpx.TransportError:
            pass
    raise AssertionError("the gateway did not start")


@pytest.fixture
async def way() -> AsyncIterator[Way]:
    port, inner = free_port(), free_port()
    async with serving(f"http://127.0.0.1:{inner}") as agent:
        own = {
            "GATEWAY_AGENT": agent.url,
            "GATEWAY_SECRET": SECRET,
            "GATEWAY_PORT": str(port),
            "GATEWAY_INNER_PORT": str(inner),
            "GATEWAY_MESSAGES_A_SECOND": "20",
        }
        process = subprocess.Popen([sys.executable, "-m", "infra.door"], cwd=ROOT, env={**os.environ, **own})
        try:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False) as client:
                await _up(client, process)
                yield Way(port, inner, agent, process, client)
        finally:
            process.kill()
            process.wait()
