"""Clients that cannot share this environment: the 1.x line of the Python SDK, OpenAI Agents, TypeScript, the Inspector. They,
Strands and the 2.x line read everything that there is to read."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import installed
from tests.support.clients import Connections
from tests.support.environments import python_of
from tests.support.offered import OWNER, Offered
from tests.support.serving import ROOT, Serving, clean_environment
from tests.support.strands import OfStrands
from tools.registry import TOOLS

SECONDS = 120
NAMES = [tool.name for tool in TOOLS if tool.default_on]


@pytest.fixture(scope="module")
def node() -> installed.Node:
    return installed.node()


def run(command: list[str], cache: Path, folder: Path, **also: str) -> subprocess.CompletedProcess[str]:
    own = {"MANGA_EMBEDDER": "none", "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    environment = clean_environment(cache, {**own, **also})
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS)


def seen(program: list[str], server: Serving, offered: Offered, cache: Path, folder: Path) -> list[dict[str, Any]]:
    """What a client printed that was served over each transport, and that is the same for every client."""
    stdio = [sys.executable, "-m", "server", "stdio", "--user", OWNER]
    targets = [["sse", f"{server.url}/sse"], ["http", f"{server.url}/mcp"], ["stdio", *stdio]]
    done = run([*program, json.dumps(targets)], cache, folder, READS=offered.asked)
    assert done.returncode == 0, done.stderr
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(printed) == len(targets)
    for each in printed:
        check(each, offered)
    return printed


@pytest.fixture(scope="module")
def offered(server: Serving) -> Offered:
    return asyncio.run(Offered.found(f"{server.url}/mcp"))


def check(seen: dict[str, Any], offered: Offered) -> None:
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
    offered.check(seen["reading"])


def test_sdk_1_x_python_client_is_served(server: Serving, offered: Offered, cache: Path, tmp_path: Path) -> None:
    """It speaks the handshake era only, as most deployed clients do."""
    program = [str(python_of("clients/mcp-1")), str(installed.CLIENTS / "mcp1_client.py")]
    versions = {each["version"] for each in seen(program, server, offered, cache, tmp_path)}
    assert versions == {"2025-11-25"}


@pytest.mark.slow  # one of every client
def test_openai_agents_sdk_is_served(server: Serving, offered: Offered, cache: Path, tmp_path: Path) -> None:
    """A success has its structure, a failure is a result and no exception, and `_meta` is passed on."""
    program = [str(python_of("clients/openai-agents")), str(installed.CLIENTS / "openai_agents_client.py")]
    seen(program, server, offered, cache, tmp_path)


@pytest.mark.slow  # one of every client
def test_typescript_client_is_served(
    node: installed.Node, server: Serving, offered: Offered, cache: Path, tmp_path: Path
) -> None:
    """It validates failures against the output schema too."""
    seen(node.beside(installed.CLIENTS / "typescript_client.mjs"), server, offered, cache, tmp_path)


def test_resources_of_each_kind_exist_to_be_read(offered: Offered) -> None:
    """Some of them are readable by their owner only."""
    resources, templates, _ = offered.listed
    assert {"manga://policies/shipping", "manga://profile"} <= set(resources) <= set(offered.read)
    assert {"manga://titles/{title_id}", "manga://orders/{order_id}"} <= set(templates)
    assert any(uri.startswith("manga://orders/MNG-DEMO1") for uri in offered.read)


async def test_sdk_2_x_python_client_reads_the_same_in_the_2025_era(server: Serving, offered: Offered) -> None:
    other = await Offered.found(f"{server.url}/mcp", "legacy")
    offered.check({"listed": list(map(list, other.listed)), "made": other.made, "read": other.read})


@pytest.mark.parametrize("name", ["strands-sse", "strands-http"])
async def test_strands_reads_the_same_resources_and_prompts(
    name: str, server: Serving, fresh: Connections, offered: Offered
) -> None:
    client = fresh.open(name, server.url, {"X-User-ID": OWNER})
    assert isinstance(client, OfStrands)
    offered.check(await client.read(**json.loads(offered.asked)))


def inspect(node: installed.Node, cache: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    launcher = node.script("@modelcontextprotocol/inspector/clients/launcher/build/index.js")
    return run([*launcher, "--cli", *words], cache, folder)


@pytest.mark.parametrize("path", ["/sse", "/mcp"])
def test_inspector_accepts_the_tools_in_strict_mode(
    path: str, node: installed.Node, server: Serving, cache: Path, tmp_path: Path
) -> None:
    """`--strict` reports schemas that other clients and model providers reject."""
    done = inspect(node, cache, tmp_path, "--strict", f"{server.url}{path}", "--method", "tools/list")
    assert done.returncode == 0, done.stderr
    assert [tool["name"] for tool in json.loads(done.stdout)["tools"]] == NAMES
    assert "Path:" not in done.stderr, done.stderr


def test_inspector_calls_tools(node: installed.Node, server: Serving, cache: Path, tmp_path: Path) -> None:
    """A failure is printed as the failed result it is (exit status 5)."""
    words = ["--method", "tools/call", "--tool-name", "search_manga_catalog", "--tool-arg", "query=one piece"]
    found = inspect(node, cache, tmp_path, f"{server.url}/mcp", *words, "max_results=1")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["structuredContent"]["results"][0]["title_id"] == "manga-001001"
    wrong = inspect(node, cache, tmp_path, f"{server.url}/sse", *words, "max_results=77")
    assert wrong.returncode == 5
    assert json.loads(wrong.stdout)["structuredContent"]["error"]["name"] == "VALIDATION_ERROR"
