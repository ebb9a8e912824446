"""`python -m infra.door`: runs the local gateway until SIGTERM, with a port for customers and one for the agent."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import uvicorn

from infra.door.gateway import Gateway
from infra.door.limits import IDLE_SECONDS, MOST_BYTES, MOST_CONNECTIONS
from server.commands.serve import PatientServer
from server.transport.http.connection import Connections, HttpConnection
from server.transport.websocket.connection import websocket_options

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


def _server(app: Any, host: str, port: int) -> PatientServer:
    """Makes a server that logs no connections, since the lines would contain addresses. Connections have the tool server's
    bounds of heads, frames and time; a frame has at most `MOST_BYTES`."""
    connections = Connections(MOST_CONNECTIONS)
    config = uvicorn.Config(
        app, host=host, port=port, http=partial(HttpConnection, all_connections=connections),  # type: ignore[arg-type]
        **websocket_options(connections, MOST_BYTES),
        timeout_keep_alive=IDLE_SECONDS, timeout_graceful_shutdown=CLOSE_SECONDS,
        access_log=False, server_header=False, log_level="warning", lifespan="off",
    )  # fmt: skip
    return PatientServer(config, connections)


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
