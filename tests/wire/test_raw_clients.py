"""Clients with no library at all: the oldest protocol version over pipes, and curl over SSE."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import cases
from tests.support.listed import LISTED
from tests.support.serving import ROOT, STOP_SECONDS, Serving, clean_environment

ONE_PIECE = "manga-001001"
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def initialize(number: int, version: str) -> dict[str, Any]:
    client = {"name": "raw", "version": "1"}
    return request(number, "initialize", protocolVersion=version, capabilities={}, clientInfo=client)


class Lines:
    """A server over pipes: one JSON object a line, both ways."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def send(self, message: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """The next line, which has to be a JSON-RPC message: nothing else belongs on stdout. pytest-timeout bounds it."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server closed its stdout"
        message = dict(json.loads(line))
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self.send(message)
        answer = self.receive()
        assert answer["id"] == message["id"]
        return answer

    def end_of_input(self) -> int:
        """Closes the server's stdin; its exit status, and nothing more on stdout."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        status = self.process.wait(STOP_SECONDS)
        assert self.process.stdout.read() == b""
        return status


@contextmanager
def piped(folder: Path, cache: Path, **settings: str) -> Iterator[Lines]:
    environment = clean_environment(cache, {"MANGA_EMBEDDER": "none", "MANGA_LOG_TOOL_CALLS": "all", **settings})
    with (folder / "stdio.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "server", "stdio"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    with process:
        try:
            yield Lines(process)
        finally:
            if process.poll() is None:
                process.kill()


def test_client_of_2024_is_served_over_pipes_until_it_closes_them(tmp_path: Path, cache: Path) -> None:
    """Its version is agreed to, it chains two calls without a word about sessions, garbage between messages does not stop
    it, stdout carries messages only, logs go to stderr, and the end of input is a clean end."""
    with piped(tmp_path, cache) as lines:
        agreed = lines.ask(initialize(1, "2024-11-05"))["result"]
        assert agreed["protocolVersion"] == "2024-11-05"
        assert agreed["serverInfo"]["name"] == "manga-tools"
        lines.send(INITIALIZED)
        assert lines.ask(request(2, "ping"))["result"] == {}
        lines.send(b"{this is no JSON")
        lines.send(b"")
        assert len(lines.ask(request(3, "tools/list"))["result"]["tools"]) == len(LISTED)
        search = request(4, "tools/call", name="search_manga_catalog", arguments={"query": "ワンピース", "max_results": 1})
        found = lines.ask(search)["result"]
        assert json.loads(found["content"][0]["text"])["results"][0]["title_id"] == ONE_PIECE
        stock = lines.ask(request(5, "tools/call", name="check_inventory", arguments={}))["result"]
        assert json.loads(stock["content"][0]["text"])["checked"] == "last_search"
        for number, version in ((10, "2025-11-25"), (11, "2024-11-05")):
            assert lines.ask(initialize(number, version))["error"]["code"] == -32600
            lines.send(json.dumps([request(number, "ping")]).encode())
            assert lines.receive() == {"jsonrpc": "2.0", "id": number, "result": {}}
        assert lines.ask(request(6, "tools/call", name="nothing", arguments={}))["error"]["code"] == -32602
        assert lines.ask(request(7, "logging/setLevel", level="info"))["error"]["code"] == -32601
        assert lines.end_of_input() == 0
    log = (tmp_path / "stdio.log").read_text("utf-8")
    assert "search_manga_catalog" in log
    assert "Traceback" not in log


def test_user_stated_over_pipes_is_believed_without_a_token(tmp_path: Path, cache: Path) -> None:
    """MANGA_AUTH concerns HTTP: over pipes the only caller is the parent process."""
    with piped(tmp_path, cache, MANGA_AUTH="token", MANGA_AUTH_TOKENS="for-http-only") as lines:
        lines.ask(initialize(1, "2025-06-18"))
        lines.send(INITIALIZED)
        meta = {"com.mangaassist/userId": "demo-user-1"}
        call = request(2, "tools/call", name="lookup_order", arguments={"order_id": "MNG-DEMO1001"}, _meta=meta)
        assert lines.ask(call)["result"]["structuredContent"]["order_id"] == "MNG-DEMO1001"
        assert lines.end_of_input() == 0


def test_oversized_line_is_answered_with_an_error_and_the_next_one_served(tmp_path: Path, cache: Path) -> None:
    """The error has no id, since the line was not parsed."""
    with piped(tmp_path, cache) as lines:
        for wrong, why in ((b"x" * 2**20, "bytes"), (b"[" * 5000, "values")):
            lines.send(wrong)
            refused = lines.receive()
            assert (refused.get("id"), refused["error"]["code"]) == (None, -32600)
            assert why in refused["error"]["message"]
        assert lines.ask(initialize(1, "2025-06-18"))["result"]["serverInfo"]["name"] == "manga-tools"
        assert lines.end_of_input() == 0


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_a_stdio_server_with_status_0(stop: signal.Signals, tmp_path: Path, cache: Path) -> None:
    """Being told to stop is no failure."""
    with piped(tmp_path, cache) as lines:
        lines.ask(initialize(1, "2024-11-05"))
        lines.process.send_signal(stop)
        assert lines.process.wait(STOP_SECONDS) == 0


class Curl:
    """An SSE stream held by one curl; messages are posted by others."""

    def __init__(self, url: str, path: str, *options: str) -> None:
        if shutil.which("curl") is None:
            assert os.environ.get("CI") != "true", "curl has to be there in CI"
            pytest.skip("curl is not installed")
        self._url = url
        # Bounded by its own clock, so that a server that says nothing ends the test.
        command = ["curl", "-sN", "--max-time", "20", *options, f"{url}{path}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.endpoint = self.event("endpoint")

    def event(self, name: str) -> str:
        """The data of the next event, which has to have this name. Comments (pings) are passed over."""
        assert self.process.stdout is not None
        fields: dict[str, str] = {}
        for raw in self.process.stdout:
            line = raw.decode().rstrip("\r\n")
            if line and not line.startswith(":"):
                key, _, value = line.partition(": ")
                fields[key] = value
            elif fields:
                assert fields["event"] == name
                return fields["data"]
        raise AssertionError(f"the stream ended before an event {name}")

    def post(self, message: dict[str, Any], *headers: str) -> int:
        """The HTTP status."""
        options = [word for header in headers for word in ("-H", header)]
        words = ["-s", "--max-time", "10", "-o", os.devnull, "-w", "%{http_code}", "-H", "Content-Type: application/json"]
        command = ["curl", *words, *options, "-d", json.dumps(message), self._url + self.endpoint]
        return int(subprocess.run(command, capture_output=True, check=True).stdout)

    def ask(self, message: dict[str, Any], *headers: str) -> dict[str, Any]:
        assert self.post(message, *headers) == 202
        answer = dict(json.loads(self.event("message")))
        assert answer["id"] == message["id"]
        return answer

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@cases(("path", "options"), [("/sse", ()), ("/mcp", ("-H", "Accept: text/event-stream"))])
def test_curl_can_hold_a_conversation_over_sse(path: str, options: tuple[str, ...], server: Serving) -> None:
    """The 2024 transport needs one terminal for the stream and one for the messages."""
    curl = Curl(server.url, path, *options)
    try:
        assert curl.endpoint.startswith("/messages/?session_id=")
        assert curl.ask(initialize(1, "2024-11-05"))["result"]["protocolVersion"] == "2024-11-05"
        assert curl.post(INITIALIZED) == 202
        assert len(curl.ask(request(2, "tools/list"))["result"]["tools"]) == len(LISTED)
        call = request(3, "tools/call", name="lookup_order", arguments={"order_id": "MNG-DEMO1001"})
        assert curl.ask(call)["result"]["structuredContent"]["error"]["name"] == "FORBIDDEN"
        mine = curl.ask({**call, "id": 4}, "X-User-ID: demo-user-1")["result"]
        assert mine["structuredContent"]["order_id"] == "MNG-DEMO1001"
    finally:
        curl.close()
