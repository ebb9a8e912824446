"""`python -m server flags` prints which tool is on for whom, and why."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from server.commands.cli import _parser, _run
from server.config.settings import PREFIX, Settings
from tools.registry import TOOLS

DOCUMENT = {
    TOOLS[0].name: {
        "segments": [{"name": "staff", "conditions": [{"property": "user", "operator": "in", "value": ["ann"]}]}]
    },
    TOOLS[1].name: {"percent": 50},
    TOOLS[2].name: False,
    "sell_house": True,
}
Shown = Callable[..., tuple[int, Any]]


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shown:
    for name in Settings.__slots__:
        monkeypatch.delenv(PREFIX + name.upper(), raising=False)

    def run(*arguments: str, document: Any = DOCUMENT, url: str | None = None) -> tuple[int, Any]:
        file = tmp_path / "flags.json"
        file.write_text(document if isinstance(document, str) else json.dumps(document))
        monkeypatch.setenv("MANGA_FLAGS_URL", url or file.as_uri())
        settings = Settings.from_environment(os.environ)
        status = _run(_parser().parse_args(["flags", *arguments]), settings)
        out = capsys.readouterr().out
        return status, json.loads(out) if "--json" in arguments else out

    return run


def test_flags_command_prints_state_and_reason_of_each_tool(shown: Shown) -> None:
    status, told = shown("--user", "ann", "--json")
    unnamed = next(tool for tool in TOOLS[3:] if tool.default_on)
    first, second, third, fourth = (told["tools"][tool.name] for tool in (*TOOLS[:3], unnamed))
    assert status == 0
    assert (first["on"], first["variant"]) == (True, "staff")
    assert second["why"].startswith("the flag: ")
    assert (third["on"], third["variant"]) == (False, "off")
    assert fourth["why"] == "no flag names it, and it is on by itself"
    assert (told["principal"], told["unknown"], told["problem"]) == ("stated", ["sell_house"], None)


def test_session_decides_for_a_caller_without_a_user(shown: Shown) -> None:
    found = {shown("--session", f"s{n}", "--json")[1]["tools"][TOOLS[1].name]["on"] for n in range(20)}
    assert found == {True, False}
    assert "neither user nor session" in shown("--json")[1]["tools"][TOOLS[1].name]["why"]


def test_flags_command_prints_a_table(shown: Shown) -> None:
    _, text = shown("--user", "ann")
    assert f"{TOOLS[0].name}  on   staff" in text
    assert "no tool of this version: sell_house" in text
    assert "caller: stated" in text


def test_kind_of_caller_follows_from_the_authentication_setting(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANGA_AUTH", "token")
    monkeypatch.setenv("MANGA_AUTH_TOKENS", "a-secret-of-some-length")
    assert shown("--user", "ann", "--json")[1]["principal"] == "agent"
    monkeypatch.delenv("MANGA_AUTH_TOKENS")
    monkeypatch.setenv("MANGA_AUTH", "jwt")
    monkeypatch.setenv("MANGA_JWT_JWKS_URL", "https://issuer.example/jwks")
    monkeypatch.setenv("MANGA_JWT_ISSUER", "https://issuer.example")
    monkeypatch.setenv("MANGA_JWT_AUDIENCE", "tools")
    of_scope = {"property": "scopes", "operator": "in", "value": ["mcp:manga-tools:beta"]}
    document = {TOOLS[0].name: {"segments": [{"name": "beta", "conditions": [of_scope]}]}}
    _, told = shown("--user", "ann", "--scope", "mcp:manga-tools:beta", "--json", document=document)
    assert (told["principal"], told["tools"][TOOLS[0].name]["variant"]) == ("token", "beta")


def test_wrong_document_is_reported_with_status_1(shown: Shown) -> None:
    status, text = shown(document="{")
    assert status == 1
    assert "problem: the flags are not JSON (line 1, column 2); a running server keeps its last version" in text
    status, told = shown("--json", url="http://127.0.0.1:9/flags")
    assert (status, told["source"]) == (1, "http://127.0.0.1:9/flags")
