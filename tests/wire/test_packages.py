"""Packages' tools change in a running server: by command, and by the flags document."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from server.packages.packages import NONE_INSTALLED
from tests.support.answers import RpcError
from tests.support.clients import Client, Connections
from tests.support.ports import free_port
from tests.support.process import environment, serving, until
from tests.support.serving import ROOT, Serving
from tests.support.tool_packages import Site, saying

SECONDS = 30.0
TOOL = "say_word"
CALLERS = ("http-2026", "http-2025", "sse-2025")
PAUSE_SECONDS = 0.002
"""Between two calls of one client: the server is to have some time for what it is asked to do."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    own = Site(tmp_path_factory.mktemp("site") / "packages")
    own.install("1", saying("1", TOOL))
    return own


@pytest.fixture(scope="module")
def flags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("flags") / "flags.json"
    path.write_text('{"$reload": "at the start"}')
    return path


@pytest.fixture(scope="module")
def server_with_packages(serve: Callable[..., Serving], site: Site, flags: Path) -> Serving:
    return serve(PYTHONPATH=str(site.folder), MANGA_FLAGS_URL=flags.as_uri())


@pytest.fixture(scope="module")
def connections(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Connections]:
    opened = Connections(tmp_path_factory.mktemp("clients"), cache)
    yield opened
    opened.close()


@pytest.fixture
async def changing(server_with_packages: Serving, site: Site) -> Serving:
    """The tool says "1" when a test begins."""
    site.install("1", saying("1", TOOL))
    status, told = await reload_tools(server_with_packages.url)
    assert status == 0, told
    return server_with_packages


async def reload_tools(url: str) -> tuple[int, str]:
    """The command's exit status, and what it said."""
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "server", "tools", "reload"],
        cwd=ROOT,
        env=environment(port=url.rpartition(":")[2]),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.returncode, (done.stdout or done.stderr).strip()


async def word(client: Client) -> str:
    return str((await client.call(TOOL)).value["word"])


async def state(url: str) -> dict[str, Any]:
    def read() -> dict[str, Any]:
        with urlopen(f"{url}/readyz", timeout=30) as response:
            return dict(json.load(response))

    return await asyncio.to_thread(read)


@asynccontextmanager
async def calling(*clients: Client) -> AsyncIterator[list[str]]:
    """Each of them calls again and again until the block ends; the words that they heard. What fails fails the test."""
    heard: list[str] = []
    over = asyncio.Event()

    async def go_on(client: Client) -> None:
        while not over.is_set():
            heard.append(await word(client))
            await asyncio.sleep(PAUSE_SECONDS)

    async with asyncio.TaskGroup() as group:
        for client in clients:
            group.create_task(go_on(client))
        try:
            yield heard
        finally:
            over.set()


async def test_package_versions_change_while_calls_run_and_none_fails(
    connections: Connections, changing: Serving, site: Site
) -> None:
    """A broken version in between changes the reported state only."""
    clients = [connections.shared(name, changing.url) for name in CALLERS]
    for client in clients:
        assert TOOL in [tool["name"] for tool in await client.tools()]
    async with calling(*clients) as heard:
        for version in ("2", "3"):
            site.install(version, saying(version, TOOL))
            assert await reload_tools(changing.url) == (0, f"manga-words {version}: replaced {TOOL}")
            await until(lambda version=version: heard[-1] == version, SECONDS, f"calls are answered by version {version}")
            site.install("0", {"__init__.py": "import no_such_thing\n"})
            status, told = await reload_tools(changing.url)
            assert status == 1
            assert told.startswith("manga-words 0: refused: the import of manga_words:TOOLS fails (ModuleNotFoundError: ")
            assert told.endswith(f"; version {version} stays")
    assert sorted(set(heard)) == ["1", "2", "3"]
    assert [await word(client) for client in clients] == ["3", "3", "3"]


async def test_refused_package_is_reported_in_log_and_readyz_until_mended(
    connections: Connections, changing: Serving, site: Site
) -> None:
    """/readyz omits the text of the package's exception."""
    site.install("5", {"__init__.py": "raise RuntimeError('hunter2')\n"})
    assert "hunter2" in (await reload_tools(changing.url))[1]
    found = await state(changing.url)
    assert (found["status"], found["dependencies"]["packages"]["state"]) == ("degraded", "down")
    assert found["dependencies"]["packages"]["detail"] == "manga-words: the import of manga_words:TOOLS fails"
    assert "manga-words 5: refused" in changing.log
    site.install("6", saying("6", TOOL))
    assert (await reload_tools(changing.url))[0] == 0

    async def well() -> bool:
        return bool((await state(changing.url))["dependencies"]["packages"]["state"] == "ok")

    await until(well, SECONDS, "it is told that all is well")


async def test_withdrawn_tool_names_its_alternative(connections: Connections, changing: Serving, site: Site) -> None:
    """It is answered like a switched off tool: only an unknown name is a protocol error."""
    clients = [connections.shared(name, changing.url) for name in CALLERS]
    site.remove()
    assert await reload_tools(changing.url) == (0, f"manga-words 1: withdrawn {TOOL}")
    for client in clients:
        assert TOOL not in [tool["name"] for tool in await client.tools()]
        error = (await client.call(TOOL)).error
        assert (error["code"], error["name"]) == (-32601, "TOOL_NOT_FOUND")
        assert error["data"]["details"] == {"instead": "Say it yourself."}
        with pytest.raises(RpcError):
            await client.call("say_nothing")


async def test_reload_word_in_the_flags_document_reloads_packages(
    connections: Connections, changing: Serving, site: Site, flags: Path
) -> None:
    """Flags switch a package's tools like any other tool."""
    client = connections.shared("http-2026", changing.url)
    site.install("7", saying("7", TOOL))
    replace(flags, {"$reload": "7"})

    async def says_seven() -> bool:
        return await word(client) == "7"

    await until(says_seven, SECONDS, "the package is loaded anew")
    replace(flags, {"$reload": "7", TOOL: False})

    async def is_off() -> bool:
        return TOOL not in [tool["name"] for tool in await client.tools()]

    await until(is_off, SECONDS, "the tool is switched off")
    replace(flags, {"$reload": "7"})


def replace(path: Path, flags: dict[str, Any]) -> None:
    """In one step."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(flags), "utf-8")
    new.replace(path)


async def test_reload_command_reaches_the_server_after_one_killed_on_its_port(changing: Serving) -> None:
    """The killed one left its socket. Without a server the command says so; other servers are not reached."""
    port = free_port()
    async with serving(port=port) as killed:
        killed.signal(signal.SIGKILL)
        await killed.ended(SECONDS)
    status, told = await reload_tools(killed.url)
    assert (status, f"no server of this user at 127.0.0.1:{port}" in told) == (1, True)
    async with serving(port=port) as there:
        assert await reload_tools(there.url) == (0, NONE_INSTALLED)
    assert (await reload_tools(changing.url))[1].startswith("manga-words 1: ")
