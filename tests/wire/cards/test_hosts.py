"""Hosts that show cards, on the official clients, get the same metadata over each transport and era."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp.client import advertise

from tests.support import installed
from tests.support.cards import DECLARED, LISTED_PAGE, LISTED_TOOL, MIME_TYPE, NAME, OF_TOOLS, READ_PAGE, URIS
from tests.support.cases import cases
from tests.support.clients import TRANSPORTS, Connections, OfSdk
from tests.support.environments import python_of
from tests.support.serving import Serving, clean_environment
from tools.cards.extension import cards
from tools.registry import TOOLS

CARD = "com.mangaassist/card"
ON = {tool.name for tool in TOOLS if tool.default_on}
TOLD = {name: uri for name, uri in OF_TOOLS.items() if name in ON}
LISTED = [uri for uri in URIS if uri in TOLD.values()]
STOCK = {"title_ids": ["manga-001001"]}
NAMES = {"names": {"manga-001001": "ONE PIECE"}}
MOST_BYTES = 24 * 1024


def check(seen: dict[str, Any]) -> None:
    """What a host in a process of its own has printed."""
    assert {name: meta["ui"]["resourceUri"] for name, meta in seen["tools"].items()} == TOLD
    for name, meta in seen["tools"].items():
        Draft202012Validator(LISTED_TOOL).validate({"name": name, "_meta": meta})
    assert list(seen["resources"]) == LISTED
    for uri, (mime_type, begins, meta) in seen["read"].items():
        assert begins == "<!doctype html>"
        assert meta == seen["resources"][uri]
        Draft202012Validator(READ_PAGE).validate({"uri": uri, "mimeType": mime_type, "text": begins, "_meta": meta})
    assert seen["beside"][CARD] == NAMES


@cases("name", [name for name, transport in TRANSPORTS.items() if not transport.strands])
async def test_host_on_sdk_2_x_sees_card_metadata_in_tools_resources_and_results(
    name: str, whole: Serving, fresh: Connections
) -> None:
    host = fresh.open(name, whole.url, extensions=[advertise(NAME, DECLARED)])
    assert isinstance(host, OfSdk)
    tools = {tool["name"]: tool["_meta"] for tool in await host.tools() if "_meta" in tool}
    resources = (await host.held.ask(host.sdk.list_resources())).model_dump(mode="json", by_alias=True, exclude_none=True)
    pages = {each["uri"]: each for each in resources["resources"] if "_meta" in each}
    read = {}
    for uri, page in pages.items():
        Draft202012Validator(LISTED_PAGE).validate(page)
        [content] = (await host.held.ask(host.sdk.read_resource(uri))).contents
        read[uri] = [content.mime_type, content.text[:15], content.meta]  # type: ignore[union-attr]
    stock = await host.call("check_inventory", STOCK)
    metas = {uri: page["_meta"] for uri, page in pages.items()}
    check({"tools": tools, "resources": metas, "read": read, "beside": stock.meta})


async def test_tool_list_for_a_card_host_stays_within_the_size_limit(whole: Serving, fresh: Connections) -> None:
    host = fresh.open("http-2026", whole.url, extensions=[advertise(NAME, DECLARED)])
    assert isinstance(host, OfSdk)
    assert len(json.dumps(await host.listed(), ensure_ascii=False, separators=(",", ":")).encode()) <= MOST_BYTES


def printed(command: list[str], cache: Path, folder: Path) -> dict[str, Any]:
    environment = clean_environment(cache, {"HOME": str(folder)})
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("kind", ["sse", "http"])
def test_host_on_sdk_1_x_sees_the_same_card_metadata(kind: str, whole: Serving, cache: Path, tmp_path: Path) -> None:
    path = {"sse": "/sse", "http": "/mcp"}[kind]
    program = [str(python_of("clients/mcp-1")), "-W", "ignore", str(installed.CLIENTS / "mcp1_cards.py")]
    check(printed([*program, kind, whole.url + path], cache, tmp_path))


@pytest.mark.parametrize("kind", ["sse", "http"])
def test_typescript_host_sees_the_same_card_metadata(kind: str, whole: Serving, cache: Path, tmp_path: Path) -> None:
    """The specification's own library finds a tool's page in it."""
    path = {"sse": "/sse", "http": "/mcp"}[kind]
    program = installed.node().beside(installed.CLIENTS / "typescript_cards.mjs")
    seen = printed([*program, kind, whole.url + path], cache, tmp_path)
    check(seen)
    assert seen["found"] == TOLD


def test_card_metadata_is_valid_by_the_reference_schema() -> None:
    """The schema is that of the reference implementation, beside this repository's own checks."""
    library = installed.node().folder / "node_modules/@modelcontextprotocol/ext-apps/dist/src/generated/schema.json"
    schema = json.loads(library.read_text("utf-8"))

    def taken(name: str, value: Any) -> None:
        Draft202012Validator({**schema, "$ref": f"#/$defs/{name}"}).validate(value)

    for page in cards().resources:
        taken("McpUiResourceMeta", page.meta["ui"])
    for meta in cards().of_tools.values():
        taken("McpUiToolMeta", meta["ui"])
    taken("McpUiClientCapabilities", {"mimeTypes": [MIME_TYPE]})
