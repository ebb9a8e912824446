"""Pages as images, with real clients over every transport."""

from __future__ import annotations

import asyncio
import json
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import installed
from tests.support.clients import TRANSPORTS, Client, Connections, OfSdk, params
from tests.support.environments import python_of
from tests.support.images import png
from tests.support.serving import Serving, served
from tests.support.strands import OfStrands, StrandsDriver
from tools.store.models.order import MOST_PAGE_BYTES

NAME, ONE_PIECE = "preview_manga_pages", {"title_id": "manga-001001"}
SECONDS = 120
TRIES = 5
LONGEST_LINE = 64 * 1024


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    flags = tmp_path_factory.mktemp("flags") / "flags.json"
    flags.write_text('{"enable_manga_preview_tool": true}', "utf-8")
    return {"MANGA_EMBEDDER": "none", "MANGA_RATE_LIMIT": "off", "MANGA_FLAGS_URL": flags.as_uri()}


@pytest.fixture(scope="module")
def server_with_preview(
    tmp_path_factory: pytest.TempPathFactory, cache: Path, settings: dict[str, str]
) -> Iterator[Serving]:
    with served(tmp_path_factory.mktemp("server"), cache, **settings) as serving:
        yield serving


@pytest.fixture(scope="module")
def server_with_files(tmp_path_factory: pytest.TempPathFactory, cache: Path, settings: dict[str, str]) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("pages")
    volume = folder / ONE_PIECE["title_id"] / "1"
    volume.mkdir(parents=True)
    for number in (1, 2, 3):
        (volume / f"{number}.png").write_bytes(png(size=MOST_PAGE_BYTES))
    with served(tmp_path_factory.mktemp("server"), cache, **settings, MANGA_PAGES_URL=folder.as_uri()) as serving:
        yield serving


@pytest.fixture(scope="module")
def opened(
    tmp_path_factory: pytest.TempPathFactory, cache: Path, settings: dict[str, str], strands_driver: StrandsDriver
) -> Iterator[Connections]:
    connections = Connections(tmp_path_factory.mktemp("clients"), cache, strands_driver, settings)
    yield connections
    connections.close()


async def whole_result(client: Client, pages: int = 3) -> dict[str, Any]:
    """With all pages: a machine that is busy with tests may draw the first ones too late, and has them for the next call."""
    for _ in range(TRIES):
        result = await raw_result(client)
        if len(result["structuredContent"].get("pages", ())) == pages:
            break
    return result


async def raw_result(client: Client) -> dict[str, Any]:
    if isinstance(client, OfStrands):
        return await client.raw_call(NAME, ONE_PIECE)
    assert isinstance(client, OfSdk)
    result = await client.held.ask(client.sdk.call_tool(NAME, ONE_PIECE))
    return dict(result.model_dump(mode="json", by_alias=True, exclude_none=True))


@pytest.mark.parametrize("name", params(name for name, transport in TRANSPORTS.items() if not transport.strands))
async def test_official_client_gets_three_images_behind_the_json(
    name: str, opened: Connections, server_with_preview: Serving
) -> None:
    """In either era the whole answer is one line that every stdio client accepts."""
    result = await whole_result(opened.shared(name, server_with_preview.url))
    text, *images = result["content"]
    assert json.loads(text["text"]) == result["structuredContent"]
    assert [(image["type"], image["mimeType"]) for image in images] == [("image", "image/png")] * 3
    assert all(b64decode(image["data"]).startswith(b"\x89PNG") for image in images)
    alts = [page["alt"] for page in result["structuredContent"]["pages"]]
    assert [image["_meta"]["com.mangaassist/alt"] for image in images] == alts
    assert len(json.dumps(result)) < LONGEST_LINE


@pytest.mark.parametrize("name", params(name for name, transport in TRANSPORTS.items() if transport.strands))
async def test_strands_passes_the_images_to_its_model(name: str, opened: Connections, server_with_preview: Serving) -> None:
    """It keeps PNG, WebP, JPEG and GIF, and drops other types."""
    result = await whole_result(opened.shared(name, server_with_preview.url))
    assert result["status"] == "success"
    assert [block["image"]["format"] for block in result["content"] if "image" in block] == ["png"] * 3
    assert len(result["structuredContent"]["pages"]) == 3


async def test_sdk_1_x_python_client_gets_the_images(
    opened: Connections, server_with_preview: Serving, tmp_path: Path
) -> None:
    """The transport is SSE, in the handshake era."""
    await whole_result(opened.shared("sse-2025", server_with_preview.url))
    program = [str(python_of("clients/mcp-1")), str(installed.CLIENTS / "mcp1_preview.py")]
    command = [*program, f"{server_with_preview.url}/sse", ONE_PIECE["title_id"]]
    done = await asyncio.to_thread(subprocess.run, command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["kinds"] == ["text", "image", "image", "image"]
    assert seen["starts"] == ["\x89PNG"] * 3
    assert seen["types"] == ["image/png"] * 3
    assert seen["alts"] == [page["alt"] for page in seen["pages"]]


@pytest.mark.parametrize("name", ["sse-2025", "http-2025", "http-2026"])
async def test_largest_preview_arrives_whole_and_so_does_the_next(
    name: str, opened: Connections, server_with_files: Serving
) -> None:
    """It is some 680 KiB of base64 in one message, more than a stream may leave unread."""
    client = opened.shared(name, server_with_files.url)
    for _ in range(2):
        result = await whole_result(client, pages=2)
        assert [len(b64decode(image["data"])) for image in result["content"][1:]] == [MOST_PAGE_BYTES] * 2
        assert "Page 3 cannot be shown." in result["structuredContent"]["note"]
