"""`python -m server tools` prints the tools and their schemas without a server."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from server.commands.cli import _parser, _run
from server.config.settings import Settings
from server.transport.tool_listing import listed_tool
from server.version import VERSION
from tests.support.tool_packages import Site, saying
from tools.registry import TOOLS

Shown = Callable[..., tuple[int, str]]
AWAY = {"catalog_url": "http://127.0.0.1:9", "store_url": "dynamodb://eu-west-1?endpoint=http://127.0.0.1:9"}
"""Backends that are not there."""


@pytest.fixture
def shown(site: Site, capsys: pytest.CaptureFixture[str]) -> Shown:
    def run(*arguments: str) -> tuple[int, str]:
        site.forget_modules()  # each is a process of its own
        status = _run(_parser().parse_args(["tools", *arguments]), Settings(cache_ttl_s=60, **AWAY))
        return status, capsys.readouterr().out

    return run


def rows(text: str) -> dict[str, str]:
    return {line.split()[0]: " ".join(line.split()[1:]) for line in text.splitlines()}


def test_tools_command_prints_a_table_of_all_tools(shown: Shown, site: Site) -> None:
    site.install("1.2", saying("one", "say_word"))
    status, text = shown()
    found = rows(text)
    assert status == 0
    assert list(found) == ["tool", *(tool.name for tool in TOOLS), "say_word"]
    assert found["search_manga_catalog"] == f"{VERSION} built in on 800 ms 60 s cached_popular_manga"
    assert found["lookup_order"] == f"{VERSION} built in on 300 ms never none"
    assert found["say_word"] == "1.2 manga-words on 500 ms never none"


def test_tools_command_prints_the_listed_schemas_as_stable_json(shown: Shown, site: Site) -> None:
    site.install("1.2", saying("one", "say_word"))
    status, text = shown("--json")
    tools = json.loads(text)["tools"]
    assert status == 0
    assert tools[:-1] == [json.loads(json.dumps(listed_tool(tool))) for tool in TOOLS]
    assert (tools[-1]["name"], tools[-1]["inputSchema"]["type"]) == ("say_word", "object")
    assert shown("--json") == (status, text)


def test_refused_package_gives_status_1_and_the_other_tools_are_printed(
    shown: Shown, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.install("1.0", {"__init__.py": "import no_such_thing\n"}, name="a-broken", module="a_broken")
    site.install("1.0", saying("one", "say_word"))
    status, text = shown()
    assert status == 1
    assert "say_word" in rows(text)
    assert "a-broken 1.0: refused: the import of a_broken:TOOLS fails" in caplog.text


def test_reload_without_a_running_server_is_reported(
    shown: Shown, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status = _run(_parser().parse_args(["tools", "reload"]), Settings(port=9))
    told = capsys.readouterr()
    assert (status, told.out) == (1, "")
    assert "no server of this user at 127.0.0.1:9 (MANGA_HOST, MANGA_PORT)" in told.err
