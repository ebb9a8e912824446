"""Client of the store's MCP server: an SSE connection, re-established when it ends, and the server's session memory."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from http.client import HTTPException
from typing import Any
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError, TextContent, TextResourceContents
from strands.tools.mcp import MCPAgentTool, MCPClient

logger = logging.getLogger(__name__)

PROMPT = "shopping_assistant"
OWN_WORDS = "You help the customers of a manga store. Answer from what its tools say, and from nothing else."
CONNECT_SECONDS = 3
AGAIN_SECONDS = 0.2
END_SECONDS = 2.0
GONE = (401, 404)
"""Statuses of a POST after which the connection is of no use: the token or the session is not known any more."""
POST_SECONDS = 2.0
SILENCE_SECONDS = 20.0
"""Read timeout of the SSE stream. The server sends something every 15 s; after a longer silence it is gone."""
RECALL_SECONDS = 0.3
MOST_QUERY, MOST_CALLS = 500, 5
ERA_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2026-07-28",
}
ERA = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Connection:
    """Connection to the store and its contents. `rules` is the system prompt, and `source` names its origin. `skills` are
    the entries of `skills/list`. `ended` is set when the connection ends; `client` cannot be used afterwards."""

    client: MCPClient
    ended: threading.Event
    tools: tuple[MCPAgentTool, ...]
    rules: str
    source: str
    skills: tuple[Json, ...] = ()


class Store:
    """Keeps a connection to the store, which many agents share. Connects on its own thread, since starting Strands' client
    blocks, and with a new client each time, since an ended client cannot be reused. `headers` go with every request."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, language: str = "en") -> None:
        self.url = url
        self._headers = dict(headers or {})
        self._language = language
        self._current: Connection | None = None
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="store", daemon=True)

    @property
    def connection(self) -> Connection | None:
        """The open connection; None while the store is unreachable."""
        current = self._current
        return None if current is None or current.ended.is_set() else current

    def open(self) -> None:
        self._thread.start()

    def wait(self, seconds: float) -> Connection | None:
        with self._changed:
            self._changed.wait_for(lambda: self.connection is not None, max(0.0, seconds))
        return self.connection

    def close(self) -> None:
        """Ends the connection. Waits at most two seconds, although Strands' client may take longer to stop."""
        self._closing.set()
        if self._current is not None:
            self._current.ended.set()
        self._thread.join(END_SECONDS)

    def recall(self, session: str, user: str | None, token: str | None, question: str) -> Json:
        """Returns the server's memory of the session, as far as it is relevant to the question; {} if it cannot be read.
        Blocking, at most 0.3 s for each of two requests. `token`: the customer's own, None without one."""
        at, asked = urlsplit(self.url), urlencode({"query": question[:MOST_QUERY], "calls": MOST_CALLS})
        address = f"{at.scheme}://{at.netloc}/sessions/{quote(session, safe='')}?{asked}"
        stated = {**self._headers, **({"X-User-ID": user} if user else {})}
        # A server that does not trust agents to name the customer wants the customer's own token.
        for headers in (stated, *([{"Authorization": f"Bearer {token}"}] if token else [])):
            try:
                with urlopen(Request(address, headers=headers), timeout=RECALL_SECONDS) as response:
                    return dict(json.load(response))
            except (OSError, HTTPException, ValueError) as error:
                logger.debug("nothing recalled: %s", error)
        return {}

    def _list_skills(self) -> tuple[Json, ...]:
        """Returns the server's skills, by plain HTTP, since Strands' client lacks the extension; () if that fails."""
        asked = {"jsonrpc": "2.0", "id": 1, "method": "skills/list", "params": {"_meta": ERA}}
        headers = {**ERA_HEADERS, **self._headers, "Mcp-Method": "skills/list"}
        at = urlsplit(self.url)
        try:
            posted = Request(f"{at.scheme}://{at.netloc}/mcp", json.dumps(asked).encode(), headers)
            with urlopen(posted, timeout=CONNECT_SECONDS) as response:
                return tuple(json.load(response)["result"]["skills"])
        except (OSError, HTTPException, ValueError, LookupError, TypeError) as error:
            logger.debug("no skills: %s", error)
            return ()

    def read_skill(self, entry: Json) -> str:
        """Returns the text of a skill, in Japanese if that is the store's language and the skill offers it. Blocking. Raises
        ValueError if the text does not match `entry` or the store is unreachable, and MCPError if the store refuses."""
        connection = self.connection
        if connection is None:
            raise ValueError("the store is away")
        files = {each["uri"]: each for each in entry["resources"]}
        japanese = entry["uri"].replace("SKILL.md", "references/ja.md")
        uri = japanese if self._language == "ja" and japanese in files else entry["uri"]
        (content,) = connection.client.read_resource_sync(uri).contents
        text = content.text if isinstance(content, TextResourceContents) else ""
        found = {"uri": uri, "digest": f"sha256:{sha256(text.encode()).hexdigest()}", "size": len(text.encode())}
        if found != files[uri]:
            raise ValueError(f"{uri} has changed since it was listed")
        return f'<skill name="{entry["frontmatter"]["name"]}" server="{self.url}">\n{text}</skill>'

    def _keep(self) -> None:
        away = False
        while not self._closing.is_set():
            made = self._dial()
            if made is None:
                if not away:
                    logger.warning("the store is away: %s", self.url)
                away = True
                self._closing.wait(AGAIN_SECONDS)
                continue
            logger.info("the store answers: %s, %d tools", self.url, len(made.tools))
            away = False
            with self._changed:
                self._current = made
                self._changed.notify_all()
            made.ended.wait()
            # Stopping Strands' client may take five seconds, so it runs on another thread.
            threading.Thread(target=_end, args=(made.client,), name="store-end", daemon=True).start()

    def _dial(self) -> Connection | None:
        if not listens(self.url):
            return None
        ended = threading.Event()
        client: MCPClient = MCPClient(
            lambda: _watched_sse(self.url, self._headers, ended),
            startup_timeout=CONNECT_SECONDS,
            on_tools_changed=lambda _, tools: self._follow(client, tools),
        )
        try:
            client.start()
        except Exception as error:  # on any failure the caller dials again
            logger.debug("no connection: %s", error)
            return None
        impatience = threading.Timer(CONNECT_SECONDS, _end, (client,))  # these requests have no timeout of their own
        impatience.daemon = True
        impatience.start()
        try:
            rules, source = read_rules(client, self._language)
            return Connection(client, ended, tuple(client.list_tools_sync()), rules, source, self._list_skills())
        except Exception as error:
            logger.debug("connected, and nothing came: %s", error)
            _end(client)
            return None
        finally:
            impatience.cancel()

    def _follow(self, client: MCPClient, tools: list[MCPAgentTool]) -> None:
        """Replaces the connection's tools, and reads its rules and skills again, since these name only enabled tools."""
        current = self._current
        if current is not None and current.client is client:
            rules, source = read_rules(client, self._language)
            self._current = replace(current, tools=tuple(tools), rules=rules, source=source, skills=self._list_skills())


def read_rules(client: MCPClient, language: str = "en") -> tuple[str, str]:
    """Returns the system prompt and its source: the server's prompt, or its instructions (older servers), or `OWN_WORDS`."""
    try:
        made = client.get_prompt_sync(PROMPT, {"language": language})
    except MCPError:
        said = client.server_instructions
        return (said, "instructions") if said else (OWN_WORDS, "own words")
    return "\n".join(each.content.text for each in made.messages if isinstance(each.content, TextContent)), PROMPT


def listens(url: str) -> bool:
    """Returns whether the address accepts a TCP connection. The SDK would log a hundred lines for a refused one."""
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), CONNECT_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True


def _end(client: MCPClient) -> None:
    with suppress(Exception):  # stop raises the error that ended the client
        client.stop(None, None, None)


class _PostingClient(httpx2.AsyncClient):
    """HTTP client for the SDK's writer, which ends at the first failed POST. A failed one loses its own message only: `lose`
    is awaited with the message and the error."""

    def __init__(self, lose: Callable[[Json, Exception], Awaitable[None]], **options: Any) -> None:
        super().__init__(follow_redirects=True, **options)
        self._lose = lose

    async def post(self, url: Any, *, json: Any = None, **options: Any) -> httpx2.Response:
        try:
            return (await super().post(url, json=json, **{"timeout": POST_SECONDS, **options})).raise_for_status()
        except Exception as error:
            await self._lose(json, error)
            return httpx2.Response(202, request=httpx2.Request("POST", url))


class _Writer:
    """Wraps the SDK's stream of requests. Refuses a message that cannot be written, which would end the SDK's writer. Sets
    `ended` when the writer has ended."""

    def __init__(self, stream: Any, ended: threading.Event) -> None:
        self._stream = stream
        self._ended = ended

    async def send(self, sent: SessionMessage) -> None:
        sent.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
        try:
            await self._stream.send(sent)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._ended.set()
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> _Writer:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()


@asynccontextmanager
async def _watched_sse(url: str, headers: dict[str, str], ended: threading.Event) -> AsyncIterator[tuple[Any, Any]]:
    """Opens the SDK's connection, and sets `ended` when either half of it ends, or the store does not know it any more. A
    request that could not be posted is answered with an error at once."""
    answers, read = anyio.create_memory_object_stream[Any](0)

    async def lose(message: Json, error: Exception) -> None:
        logger.debug("a message to the store was lost: %r", error)
        status = error.response.status_code if isinstance(error, httpx2.HTTPStatusError) else None
        if status in GONE or isinstance(error, httpx2.TransportError):
            ended.set()
        if "id" in message and "method" in message:
            failure = ErrorData(code=INTERNAL_ERROR, message=f"the store did not take it: {status or type(error).__name__}")
            await answers.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=message["id"], error=failure)))

    async def listen(stream: Any) -> None:
        try:
            async for got in stream:
                if isinstance(got, Exception):  # the SDK yields the error that broke the stream
                    ended.set()
                await answers.send(got)
        except anyio.BrokenResourceError:
            logger.debug("an answer came after the end of its session")
        finally:
            ended.set()
            answers.close()

    client: Any = partial(_PostingClient, lose)
    opening = sse_client(url, headers, POST_SECONDS, SILENCE_SECONDS, httpx_client_factory=client)
    try:
        async with opening as (stream, write), anyio.create_task_group() as listening:
            listening.start_soon(listen, stream)
            yield read, _Writer(write, ended)
            listening.cancel_scope.cancel()
    finally:
        ended.set()
