"""A customer's question goes through the door to the agent and the store's tools, and comes back: over both ways, as the customer
of the token and nobody else."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.door.authorizer import PROTOCOL
from infra.door.gateway import AUDIENCE, ISSUER
from tests.support.environments import ROOT, python_of
from tests.support.ports import free_port
from tests.support.serving import served
from tests.support.websocket import WebSocket, websocket

SECRET = "known-to-door-and-agent"
READY_SECONDS = 60
OWN, FOREIGN = "MNG-DEMO1001", "MNG-DEMO2001"


class Shop:
    """Server, agent and gateway, each a process of its own; a customer knows the gateway's port."""

    def __init__(self, client: httpx.AsyncClient, port: int, agent: str, process: subprocess.Popen[bytes]) -> None:
        """`process` is the agent's."""
        self.client, self.port, self.agent, self.process = client, port, agent, process

    async def token(self, user: str = "demo-user-1") -> str:
        return str((await self.client.post("/token", json={"user": user})).json()["token"])

    async def posted(self, text: str, token: str, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}", "X-Session-ID": "c-1"}
        return await self.client.post("/turns", json={"text": text, **more}, headers=headers)


async def said(socket: WebSocket, **message: str) -> tuple[str, dict[str, Any]]:
    """The words of an answer, and its end."""
    socket.say(message)
    words = ""
    while (heard := await socket.heard()).get("event") == "words":
        words += heard["text"]
    return words, heard


@contextmanager
def started(folder: Path) -> Iterator[tuple[int, str, subprocess.Popen[bytes]]]:
    """The three processes: the gateway's port, the agent's address, and the agent."""
    port, inner, agents = free_port(), free_port(), free_port()
    back, agent = f"http://127.0.0.1:{inner}", f"http://127.0.0.1:{agents}"
    told = {
        "AGENT_JWT_ISSUER": ISSUER,
        "AGENT_JWT_AUDIENCE": AUDIENCE,
        "AGENT_JWT_JWKS_URL": f"{back}/jwks.json",
        "AGENT_DOOR_SECRET": SECRET,
        "AGENT_CALLBACK_URL": back,
    }
    own = {"GATEWAY_AGENT": agent, "GATEWAY_SECRET": SECRET, "GATEWAY_PORT": str(port), "GATEWAY_INNER_PORT": str(inner)}
    with served(folder, folder / "cache", MANGA_EMBEDDER="none") as server:
        command = [str(python_of("clients/strands")), "-m", "infra.agent.agent", "--serve", "--url", f"{server.url}/sse"]
        command += ["--thinking-ms", "300"]
        running = [
            subprocess.Popen([*command, "--port", str(agents)], cwd=ROOT, env={**os.environ, **told}),
            subprocess.Popen([sys.executable, "-m", "infra.door"], cwd=ROOT, env={**os.environ, **own}),
        ]
        try:
            yield port, agent, running[0]
        finally:
            for each in running:
                each.kill()
                each.wait()


@asynccontextmanager
async def entered(port: int, agent: str, process: subprocess.Popen[bytes]) -> AsyncIterator[Shop]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False) as client:
        await ready(client, agent)
        yield Shop(client, port, agent, process)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str, subprocess.Popen[bytes]]]:
    with started(tmp_path_factory.mktemp("shop")) as processes:
        yield processes


@pytest.fixture
async def shop(running: tuple[int, str, subprocess.Popen[bytes]]) -> AsyncIterator[Shop]:
    async with entered(*running) as shop:
        yield shop


async def ready(client: httpx.AsyncClient, agent: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            store = (await client.get(f"{agent}/healthz")).json()["store"]
            if store == "connected" and (await client.get("/healthz")).status_code == 200:
                return
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.1)
    raise AssertionError("they did not find each other")


async def test_an_order_is_told_to_its_owner_over_both_ways_and_to_nobody_else(shop: Shop) -> None:
    token = await shop.token("demo-user-1")
    answer = await shop.posted(f"where is {OWN}?", token)
    assert (answer.status_code, OWN in answer.text) == (200, True)
    assert "event: done" in answer.text
    foreign = await shop.posted(f"where is {OWN}?", await shop.token("demo-user-2"))
    assert "delivered" in answer.text
    assert "delivered" not in foreign.text
    async with websocket(shop.port, path="/", subprotocols=(PROTOCOL, token)) as socket:
        words, end = await said(socket, text=f"where is {OWN}?")
        assert (OWN in words, "delivered" in words, end["event"]) == (True, True, "done")
        words, _ = await said(socket, text=f"where is {FOREIGN}?")
        assert "no such order" in words


async def test_a_user_in_a_body_is_refused_by_name(shop: Shop) -> None:
    token = await shop.token("demo-user-1")
    posted = await shop.posted("my orders", token, user="demo-user-2")
    assert (posted.status_code, posted.json()["error"]["name"]) == (400, "VALIDATION_ERROR")
    assert "user" in posted.json()["error"]["message"]
    async with websocket(shop.port, path="/", subprotocols=(PROTOCOL, token)) as socket:
        _, end = await said(socket, text="my orders", user="demo-user-2")
        assert (end["event"], end["name"], "user" in end["message"]) == ("error", "VALIDATION_ERROR", True)


async def test_whoever_comes_past_the_door_is_nobody(shop: Shop) -> None:
    """With the token of somebody, and with headers as the door would send them."""
    headers = {
        "X-Door-Connection": "c=",
        "X-Door-User": "demo-user-1",
        "X-Door-Until": "99999999999",
        "X-Door-Secret": "guessed",
    }
    async with httpx.AsyncClient(base_url=shop.agent, trust_env=False) as client:
        past = await client.post("/door", json={"text": f"where is {OWN}?"}, headers=headers)
        assert past.status_code == 401
        headers |= {"X-Session-ID": "c-1", "X-User-ID": "demo-user-1", "X-Door-Secret": SECRET}
        assert (await client.post("/turns", json={"text": f"where is {OWN}?"}, headers=headers)).status_code == 401


async def test_the_agent_refuses_an_expired_token_that_the_gateway_still_admits(shop: Shop) -> None:
    """The gateway lets in with some leeway; the agent takes nothing after the end."""
    answer = await shop.client.post("/token", json={"user": "demo-user-1", "seconds": -5})
    async with websocket(shop.port, path="/", subprotocols=(PROTOCOL, answer.json()["token"])) as socket:
        words, end = await said(socket, text=f"where is {OWN}?")
        assert (words, end["event"], end["name"]) == ("", "error", "UNAUTHORIZED")
        assert OWN not in json.dumps(end)


@pytest.mark.slow  # an agent of its own
async def test_an_agent_that_dies_in_the_middle_of_an_answer_is_told_over_its_stream(tmp_path: Path) -> None:
    """And the next message over a socket, which nobody can take, is told too."""
    with started(tmp_path) as processes:
        async with entered(*processes) as shop:
            headers = {"Authorization": f"Bearer {await shop.token()}", "X-Session-ID": "c-1"}
            async with websocket(shop.port, path="/", subprotocols=(PROTOCOL, await shop.token())) as socket:
                async with shop.client.stream(
                    "POST", "/turns", json={"text": f"where is {OWN}?"}, headers=headers
                ) as answer:
                    assert answer.status_code == 200
                    shop.process.kill()
                    lines = [line async for line in answer.aiter_lines() if line]
                assert lines[-2] == "event: error"
                assert "please ask again" in lines[-1]
                assert (await shop.posted("my orders", await shop.token())).status_code == 502
                socket.say({"text": "my orders"})
                assert (await socket.heard())["message"] == "Internal server error"


@pytest.mark.slow  # waits for a limit of ten seconds
async def test_a_body_that_is_never_whole_is_given_up(shop: Shop) -> None:
    """By the gateway, and by the agent for one who comes past it; one whose sender goes away leaves no trace."""
    head = f"POST /turns HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {await shop.token()}\r\nX-Session-ID: c-1\r\n"

    async def send_half(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f'{head}Content-Length: 100\r\n\r\n{{"text": '.encode())
        await writer.drain()
        return reader, writer

    ports = (shop.port, int(shop.agent.rpartition(":")[2]))
    gone = [await send_half(port) for port in ports]
    waiting = [await send_half(port) for port in ports]
    for _, writer in gone:
        writer.close()
    async with asyncio.timeout(READY_SECONDS):
        told = [(await reader.readline()).split()[1] for reader, _ in waiting]
    assert told == [b"408", b"408"]
    for _, writer in waiting:
        writer.close()
