"""`python -m infra.door`: runs the local gateway until SIGTERM, with a port for customers and one for the agent."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import uvicorn

from infra.door.gateway import Gateway
from infra.door.limits import IDLE_SECONDS, MOST_BYTES, MOST_CONNECTIONS
from server.transport.http.bodies import TOTAL_FACTOR, UnfinishedMessages
from server.transport.http.connection import Connections, HttpConnection
from server.transport.websocket.connection import LOGGER, MOST_CALLERS, WebSocketConnection
from session.resilience.lru import Lru

CLOSE_SECONDS = 2
LEAST_SECRET = 16


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings of the gateway. `agent`: the agent's URL. `secret`: shared with the agent. `host`, `port`: address for
    customers. `inner_host`, `inner_port`: address for the agent. `messages_a_second`: limit for all customers together."""

    agent: str
    secret: str
    host: str
    port: int
    inner_host: str
    inner_port: int
    messages_a_second: int

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Setup:
        """Reads each field from the variable of its name in capitals, after `GATEWAY_`. Raises KeyError if the agent or the
        secret is missing, and ValueError for an invalid value."""
        told = {name.removeprefix("GATEWAY_").lower(): value for name, value in environment.items() if value}
        if len(secret := told["secret"]) < LEAST_SECRET:
            raise ValueError(f"secret has {LEAST_SECRET} characters or more")
        return cls(
            told["agent"],
            secret,
            told.get("host", "127.0.0.1"),
            int(told.get("port", "8090")),
            told.get("inner_host", "127.0.0.1"),
            int(told.get("inner_port", "8091")),
            int(told.get("messages_a_second", "50")),
        )


class _Server(uvicorn.Server):
    """uvicorn server without signal handlers, since two servers run and stop together. Closes overdue connections."""

    def __init__(self, config: uvicorn.Config, connections: Connections) -> None:
        super().__init__(config)
        self._connections = connections

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:
            self._connections.close_overdue()
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _server(app: Any, host: str, port: int) -> _Server:
    """Makes a server that logs no connections, since the lines would contain addresses. Connections have the tool server's
    bounds of heads, frames and time; a frame has at most `MOST_BYTES`."""
    logging.getLogger(LOGGER).setLevel(logging.ERROR)
    connections = Connections(MOST_CONNECTIONS)
    unfinished, buckets = UnfinishedMessages(TOTAL_FACTOR * MOST_BYTES), Lru[str, float](MOST_CALLERS)
    ws: Any = partial(WebSocketConnection, all_connections=connections, unfinished=unfinished, buckets=buckets)
    config = uvicorn.Config(
        app, host=host, port=port, http=partial(HttpConnection, all_connections=connections),  # type: ignore[arg-type]
        ws=ws, ws_max_size=MOST_BYTES, ws_per_message_deflate=False,
        timeout_keep_alive=IDLE_SECONDS, timeout_graceful_shutdown=CLOSE_SECONDS,
        access_log=False, server_header=False, log_level="warning", lifespan="off",
    )  # fmt: skip
    return _Server(config, connections)


async def serve(setup: Setup) -> None:
    gateway = Gateway(setup.agent, setup.secret, setup.messages_a_second)
    servers = [
        _server(gateway.outer(), setup.host, setup.port),
        _server(gateway.inner(), setup.inner_host, setup.inner_port),
    ]

    def end() -> None:
        for server in servers:
            server.should_exit = True

    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, end)
    await asyncio.gather(*(server.serve() for server in servers))


def main() -> int:
    try:
        setup = Setup.read(os.environ)
    except (KeyError, ValueError) as error:
        print(f"GATEWAY_AGENT and GATEWAY_SECRET have to be stated, ports are numbers: {error}", file=sys.stderr)
        return 2
    asyncio.run(serve(setup))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
