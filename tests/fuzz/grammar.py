"""A seeded grammar of bad input: JSON-RPC and MCP messages of both eras, HTTP requests, and bytes that are neither.

Quicker than hypothesis by far, which is what 200,000 inputs in minutes need; the odd values are those of the property tests.
"""

from __future__ import annotations

import random
from typing import Any

from tests.fuzz.shapes import LONGEST, MARK, shape, shaped
from tests.support.fuzzing import CONDITIONS, ODD_NUMBERS, ODD_TEXTS, encoded, nested
from tests.support.raw import BOTH, VERSION_2025, VERSION_2026, head, in_2026, message
from tools.registry import TOOLS

Json = Any
GOOD: dict[str, Json] = {
    "query": "school love story",
    "genre": "seinen",
    "author": "Miura",
    "max_results": 5,
    "min_rating": 3.5,
    "title_id": "manga-002001",
    "title_ids": ["manga-002001", "manga-001001"],
    "result_set": "rs_abcdefghijklmnop",
    "criteria": "dark fantasy",
    "user_id": "demo-user-1",
    "exclude_titles": ["Berserk"],
    "count": 3,
    "order_id": "MNG-DEMO1001",
    "volume": 12,
    "month": "2026-11",
    "preference": "I don't like gore",
    "text": "A boy learns to play shogi.",
    **CONDITIONS,
}
METHODS = [
    "tools/list",
    "initialize",
    "ping",
    "server/discover",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
    "resources/list",
    "resources/read",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "tools/call/x",
    "x" * 5000,
    "",
]
STATED = ["sessionId", "turnId", "userId", "turnBudgetMs", "tokenBudget", "expectedCalls", "idempotencyKey", "userToken"]
META = [f"com.mangaassist/{each}" for each in STATED] + ["traceparent", "tracestate", "baggage", "progressToken"]
HEADERS = {
    "accept": ["*/*", "application/json", "text/event-stream", BOTH["accept"]],
    "authorization": ["Bearer ", "Bearer x.y.z", "Basic eDp5"],
    "baggage": ["session.id=s-1", "=;,", "session.id=%ff%00"],
    "content-encoding": ["gzip", "identity"],
    "content-type": ["application/json", "text/plain", "application/json; charset=utf-16"],
    "connection": ["close", "keep-alive", "upgrade"],
    "cookie": ["a=b"],
    "expect": ["100-continue", "x"],
    "host": ["evil.example", "127.0.0.1:99999", "", "[::1]"],
    "last-event-id": ["0", "x"],
    "mcp-method": ["tools/call", "tools/list", "ping", "x"],
    "mcp-name": ["get_manga_details", "x", "=?base64?eA==?="],
    "mcp-protocol-version": [VERSION_2025, VERSION_2026, "1999-01-01", "x"],
    "mcp-session-id": ["0" * 32, "x", ""],
    "origin": ["http://[half", "null", "http://127.0.0.1", "https://evil.example"],
    "range": ["bytes=0-5"],
    "traceparent": ["00-" + "a" * 32 + "-" + "b" * 16 + "-01", "00-0"],
    "upgrade": ["websocket", "h2c"],
    "x-forwarded-for": ["10.0.0.1", "::1, x"],
    "x-forwarded-proto": ["https", "javascript"],
    "x-session-id": ["s-1", "a b"],
    "x-turn-budget-ms": ["2000", "-1", "soon", "9" * 400],
    "x-token-budget": ["2000", "-1", "many", "9" * 400],
    "x-turn-id": ["t-1"],
    "x-user-id": ["demo-user-1", "x" * 300],
}
PATHS = [
    "/mcp",
    "/sse",
    "/messages/",
    "/messages/?session_id=0",
    "/sessions/",
    "/readyz",
    "/healthz",
    "/metrics",
    "/",
    "/x",
    "*",
]
RESTS = ["", "", "", "%00", "%0a", "%ff%fe", "..%2f..%2fetc", "//", "?" * 50, "a" * 9000, "?" + "a=1&" * 500]
VERBS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "X-ODD"]
BITS = [
    b"GET ",
    b"POST /mcp HTTP/1.1\r\n",
    b" HTTP/1.1\r\n",
    b" HTTP/1.0\r\n",
    b"HTTP/2.0\r\n",
    b"\r\n",
    b"\r\n\r\n",
    b"\n\n",
    b"host: 127.0.0.1\r\n",
    b"content-length: 5\r\n",
    b"content-length: 99999999999999999999\r\n",
    b"content-length: -1\r\n",
    b"transfer-encoding: chunked\r\n",
    b"transfer-encoding: gzip, chunked\r\n",
    b"expect: 100-continue\r\n",
    b"connection: upgrade\r\nupgrade: websocket\r\n",
    b"x: " + b"y" * 20_000 + b"\r\n",
    b"a:\r\n" * 300,
    b"5\r\nhello\r\n",
    b"ffffffffffffffff\r\n",
    b"0\r\n\r\n",
    b"\x00" * 20,
    b"\xff\xfe\xfd",
    b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
]


SHAPED = 0.03
MARKED = encoded(MARK)


class Grammar:
    """The same seed makes the same inputs."""

    def __init__(self, seed: int | str, token: str = "") -> None:
        self.random = random.Random(seed)
        self.own = {"authorization": f"Bearer {token}"} if token else {}
        """What proves the sender, in nearly every request."""

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, choices: Any) -> Any:
        return self.random.choice(choices)

    def text(self) -> str:
        if self.chance(0.4):
            return str(self.pick(ODD_TEXTS))
        size = int(self.random.expovariate(1 / 15))
        if self.chance(0.5):
            return "".join(self.random.choices("abcdefghijklmnopqrstuvwxyz 0123456789", k=size))
        return "".join(map(chr, self.random.choices(range(0x11_0000), k=min(size, 60))))

    def value(self, depth: int = 0) -> Json:
        kind = self.random.randrange(10)
        if depth < 4 and kind == 0:
            return [self.value(depth + 1) for _ in range(self.random.randrange(5))]
        if depth < 4 and kind == 1:
            return {self.text(): self.value(depth + 1) for _ in range(self.random.randrange(5))}
        if kind == 2 and depth == 0 and self.chance(0.3):
            return nested(self.pick([5, 40, 120, 900]))
        if kind == 3 and depth == 0 and self.chance(0.05):
            return [self.pick(["manga-002001", 1, ""])] * self.pick([300, 20_000])
        return self.pick([None, True, False, self.pick(ODD_NUMBERS), self.random.randrange(-10, 30), self.text()])

    def arguments(self, schema: Json) -> Json:
        """As the schema wants them, nearly so, or not at all."""
        if self.chance(0.05):
            return self.value()
        known, required = schema["properties"], schema["required"]
        given = {name: GOOD[name] for name in known if name in required or self.chance(0.25)}
        while self.chance(0.45):
            name = self.pick(list(known)) if self.chance(0.8) else self.text()
            given[name] = self.value() if self.chance(0.7) else GOOD.get(name)
        if given and self.chance(0.1):
            del given[self.pick(list(given))]
        return given

    def call(self) -> dict[str, Json]:
        tool = self.pick(TOOLS)
        name = tool.name if self.chance(0.95) else self.text()
        params = {"name": name, "arguments": self.arguments(tool.input_schema)}
        if self.chance(0.5):
            params["_meta"] = self.meta()
        return params

    def meta(self) -> Json:
        if self.chance(0.05):
            return self.value()
        return {self.pick(META) if self.chance(0.9) else self.text(): self.stated() for _ in range(self.random.randrange(4))}

    def stated(self) -> Json:
        usual = [f"s-{self.random.randrange(50)}", "demo-user-1", 2000, "3", "session.id=s-9"]
        return self.pick(usual) if self.chance(0.6) else self.value()

    def message(self, number: int) -> Json:
        """One message, more often a call than not."""
        if self.chance(0.03):
            return self.value()
        if self.chance(SHAPED):
            return shaped(self.random, number, VERSION_2025)
        if self.chance(0.7):
            method, params = "tools/call", self.call()
        else:
            method, params = self.pick(METHODS), self.params()
        message: dict[str, Json] = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        if method.startswith("notifications/") and self.chance(0.9):
            del message["id"]
        if self.chance(0.08):
            message[self.pick(["jsonrpc", "id", "method", "params", "result", "error", self.text()])] = self.value()
        if self.chance(0.04):
            del message[self.pick(list(message))]
        return message

    def params(self) -> Json:
        names = ["protocolVersion", "capabilities", "clientInfo", "cursor", "requestId", "_meta", "uri", "level", "name"]
        if self.chance(0.2):
            return {
                "protocolVersion": self.pick([VERSION_2025, VERSION_2026, "x"]),
                "capabilities": {},
                "clientInfo": {"name": "fuzz", "version": "1"},
            }
        return {self.pick(names): self.value() for _ in range(self.random.randrange(4))}

    def body(self, message: Json) -> bytes:
        """As JSON; sometimes damaged, sometimes with a name twice."""
        data = encoded(message)
        if MARKED in data:
            first, *rest = data.split(MARKED)
            data = first + b"".join(shape(self.random) + each for each in rest)
            data = data[:LONGEST]
        if self.chance(0.03) and data.startswith(b'{"'):
            data = data[:-1] + b"," + data[1:]
        if self.chance(0.06):
            data = self.damaged(data)
        return data

    def damaged(self, data: bytes) -> bytes:
        damaged = bytearray(data)
        for _ in range(self.random.randrange(1, 4)):
            at = self.random.randrange(len(damaged) + 1)
            how = self.random.randrange(4)
            if how == 0:
                damaged[at:at] = self.random.randbytes(self.random.randrange(1, 6))
            elif how == 1:
                del damaged[at : at + self.random.randrange(1, 20)]
            elif how == 2:
                damaged[at : at + 1] = self.random.randbytes(1)
            else:
                del damaged[at:]
        return bytes(damaged)

    def in_2026(self, number: int) -> tuple[dict[str, str], bytes]:
        """A request of the stateless era, with what its headers and `_meta` have to say, or something else."""
        message = self.message(number)
        headers = {**BOTH, **self.own, "mcp-protocol-version": VERSION_2026}
        params = message.get("params") if isinstance(message, dict) else None
        if isinstance(params, dict):
            own = {
                "io.modelcontextprotocol/protocolVersion": VERSION_2026,
                "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            if self.chance(0.04):
                own[self.pick(list(own))] = self.value()
            stated = params.get("_meta")
            params["_meta"] = {**stated, **own} if isinstance(stated, dict) else own
            said = {"mcp-method": message.get("method"), "mcp-name": params.get("name")}
            headers |= {name: each for name, each in said.items() if isinstance(each, str) and each.isprintable()}
            headers = {name: each.encode("ascii", "replace").decode() for name, each in headers.items()}
        return self.altered(headers), self.body(message)

    def altered(self, headers: dict[str, str]) -> dict[str, str]:
        if self.chance(0.1):
            name = self.pick([name for name in HEADERS if name not in ("host", "connection", "upgrade", "expect")])
            headers[name] = self.pick(HEADERS[name])
        if self.chance(0.02):
            headers.pop(self.pick(list(headers)))
        return headers

    def http(self) -> tuple[str, bytes]:
        """Method and bytes of a request that is whole, whatever else it is."""
        if self.chance(0.03):
            return "POST", self.subscription()
        method, target = self.pick(VERBS), self.pick(PATHS) + self.pick(RESTS)
        body = self.body(self.message(1)) if self.chance(0.5) else b""
        headers = {"host": "127.0.0.1", **self.own}
        for name in self.random.sample(list(HEADERS), self.random.randrange(5)):
            headers[name] = self.pick(HEADERS[name])
        headers["content-length"] = str(len(body))
        if self.chance(0.02):
            headers |= {f"x-{each}": "y" * self.pick([0, 300]) for each in range(self.pick([90, 400]))}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return method, f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1", "replace") + body

    def subscription(self) -> bytes:
        """A stream of the 2026 era, which has no end by itself."""
        uris = {"resourceSubscriptions": [f"manga://titles/{each}" for each in range(self.pick([1, 64, 65, 900]))]}
        params = {"notifications": self.pick([{"toolsListChanged": True}, {"toolsListChanged": True}, uris, self.value()])}
        body, headers = in_2026(message("subscriptions/listen", params))
        data = encoded(body)
        return head("POST", "/mcp", {**headers, **self.own}, len(data)) + data

    def bytes(self) -> bytes:
        """What may begin like HTTP and goes on like anything."""
        if self.chance(0.4):
            return self.damaged(self.http()[1])
        if self.chance(0.3):
            return self.random.randbytes(self.random.randrange(1, 400))
        return b"".join(self.random.choices(BITS, k=self.random.randrange(1, 8)))
