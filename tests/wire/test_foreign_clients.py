"""Clients that cannot share this environment: the 1.x line of the Python SDK, OpenAI Agents, TypeScript, the Inspector."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import installed
from tests.support.environments import python_of
from tests.support.serving import ROOT, Serving, clean_environment

SECONDS = 60
NAMES = ["search_manga_catalog", "get_manga_details", "check_inventory", "get_recommendations", "lookup_order"]
TARGETS = ["sse", "http", "stdio"]


@pytest.fixture(scope="module")
def node() -> installed.Node:
    return installed.node()


def run(command: list[str], cache: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = clean_environment(cache, {"MANGA_EMBEDDER": "none", "HOME": str(folder), "PYTHONPATH": str(ROOT)})
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS)


def target(kind: str, server: Serving) -> list[str]:
    stdio = [sys.executable, "-m", "server", "stdio"]
    return {"sse": [f"{server.url}/sse"], "http": [f"{server.url}/mcp"], "stdio": stdio}[kind]


def check(seen: dict[str, Any]) -> None:
    """The same for every client that prints what it saw."""
    assert seen["tools"] == NAMES
    assert seen["found"]["results"][0]["title_id"] == "manga-001001"
    assert seen["stock"]["checked"] == "last_search"
    assert [item["title_id"] for item in seen["stock"]["items"]] == ["manga-001001"]
    failed, envelope = seen["wrong"]
    assert (failed, envelope["error"]["name"]) == (True, "VALIDATION_ERROR")
    assert seen["order"]["order_id"] == "MNG-DEMO1001"
    assert seen["unknown"]["code"] == -32602
    assert seen["unknown"]["data"]["nearest"][0] == "search_manga_catalog"


@pytest.mark.parametrize("kind", TARGETS)
def test_the_1_x_python_client_is_served(kind: str, server: Serving, cache: Path, tmp_path: Path) -> None:
    """It speaks the handshake era only, as most clients in the field do."""
    program = [str(python_of("clients/mcp-1")), str(installed.CLIENTS / "mcp1_client.py")]
    done = run([*program, kind, *target(kind, server)], cache, tmp_path)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["version"] == "2025-11-25"
    check(seen)


@pytest.mark.parametrize("kind", TARGETS)
def test_the_openai_agents_sdk_is_served(kind: str, server: Serving, cache: Path, tmp_path: Path) -> None:
    """A success with its structure, a failure as a result and not as an exception, `_meta` passed on."""
    program = [str(python_of("clients/openai-agents")), str(installed.CLIENTS / "openai_agents_client.py")]
    done = run([*program, kind, *target(kind, server)], cache, tmp_path)
    assert done.returncode == 0, done.stderr
    check(json.loads(done.stdout))


@installed.with_npm
@pytest.mark.parametrize("kind", TARGETS)
def test_the_typescript_client_is_served(
    kind: str, node: installed.Node, server: Serving, cache: Path, tmp_path: Path
) -> None:
    """It validates failures against the output schema as well."""
    script = installed.CLIENTS / "typescript_client.mjs"
    done = run([*node.beside(script), kind, *target(kind, server)], cache, tmp_path)
    assert done.returncode == 0, done.stderr
    check(json.loads(done.stdout))


def inspect(node: installed.Node, cache: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    launcher = node.script("@modelcontextprotocol/inspector/clients/launcher/build/index.js")
    return run([*launcher, "--cli", *words], cache, folder)


@installed.with_npm
@pytest.mark.parametrize("path", ["/sse", "/mcp"])
def test_the_inspector_finds_nothing_to_complain_of_in_the_tools(
    path: str, node: installed.Node, server: Serving, cache: Path, tmp_path: Path
) -> None:
    """`--strict` reports what other clients and model providers would stumble over."""
    done = inspect(node, cache, tmp_path, "--strict", f"{server.url}{path}", "--method", "tools/list")
    assert done.returncode == 0, done.stderr
    assert [tool["name"] for tool in json.loads(done.stdout)["tools"]] == NAMES
    assert "Path:" not in done.stderr, done.stderr


@installed.with_npm
def test_the_inspector_calls_tools(node: installed.Node, server: Serving, cache: Path, tmp_path: Path) -> None:
    """A result, and a failure as the failed result that it is (its exit status 5)."""
    words = ["--method", "tools/call", "--tool-name", "search_manga_catalog", "--tool-arg", "query=one piece"]
    found = inspect(node, cache, tmp_path, f"{server.url}/mcp", *words, "max_results=1")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["structuredContent"]["results"][0]["title_id"] == "manga-001001"
    wrong = inspect(node, cache, tmp_path, f"{server.url}/sse", *words, "max_results=77")
    assert wrong.returncode == 5
    assert json.loads(wrong.stdout)["structuredContent"]["error"]["name"] == "VALIDATION_ERROR"
