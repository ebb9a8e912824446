"""The link to the store: one connection at a time, made anew by a client of its own whenever it ends."""

from __future__ import annotations

import logging
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from strands.tools.mcp import MCPAgentTool, MCPClient

from infra.agent.system_prompt import SystemPrompt, system_prompt
from infra.agent.watched_stream import watched_sse

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 3
STARTUP_SECONDS = 3
AGAIN_SECONDS = 0.2
END_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Connection:
    """What a turn needs of the store."""

    client: MCPClient
    ended: threading.Event
    tools: list[MCPAgentTool]
    prompt: SystemPrompt


class StoreLink:
    """Dials in a thread of its own, because a start of Strands' client blocks. A client that has ended is never used again:
    it cannot be."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._current: Connection | None = None
        self._closing = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="store-link", daemon=True)

    @property
    def connection(self) -> Connection | None:
        """None while the store is away."""
        current = self._current
        return None if current is None or current.ended.is_set() else current

    def open(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Waits for two seconds at most: an end of Strands' client can take longer, and the process ends then anyway."""
        self._closing.set()
        if self._current is not None:
            self._current.ended.set()
        self._thread.join(END_SECONDS)

    def _keep(self) -> None:
        away = False
        while not self._closing.is_set():
            self._current = self._dial()
            if self._current is None:
                if not away:
                    logger.warning("the store is away: %s", self._url)
                away = True
                self._closing.wait(AGAIN_SECONDS)
                continue
            logger.info("the store answers: %s, %d tools", self._url, len(self._current.tools))
            away = False
            self._current.ended.wait()
            client, self._current = self._current.client, None
            # An end may take Strands' client five seconds, and nobody waits for it.
            threading.Thread(target=_end, args=(client,), name="store-link-end", daemon=True).start()

    def _dial(self) -> Connection | None:
        if not listens(self._url):
            return None
        ended = threading.Event()
        client = MCPClient(lambda: watched_sse(self._url, ended.set), startup_timeout=STARTUP_SECONDS)
        try:
            client.start()
        except Exception as error:  # whatever it is, the answer is to dial again
            logger.debug("no connection: %s", error)
            return None
        impatience = threading.Timer(STARTUP_SECONDS, _end, (client,))  # these questions have no bound of their own
        impatience.daemon = True
        impatience.start()
        try:
            return Connection(client, ended, list(client.list_tools_sync()), system_prompt(client))
        except Exception as error:
            logger.debug("connected, and nothing came: %s", error)
            _end(client)
            return None
        finally:
            impatience.cancel()


def _end(client: MCPClient) -> None:
    with suppress(Exception):  # it tells once more why it ended
        client.stop(None, None, None)


def listens(url: str) -> bool:
    """Asked first, because the SDK tells of a refused connection in a hundred lines."""
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), CONNECT_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True
