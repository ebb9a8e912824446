"""A wrong setting stops the start with one clear line that names the setting, exit status 2, and no secret in it."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from pathlib import Path

import pytest

from server.commands.cli import main
from server.config.parsing import SettingError
from server.config.settings import Settings
from server.wiring import open_app
from tests.support.process import LISTENING, run

SECRET = "hunter2"
END_SECONDS = 20.0

WRONG = {
    "a port that is none": {"port": "99999"},
    "a port in words": {"port": "http"},
    "a budget that is no whole number": {"turn_budget_ms": "1e3"},
    "a budget too small to keep": {"turn_budget_ms": "1"},
    "a limit of zero": {"max_concurrent_calls": "0"},
    "a switch that is neither on nor off": {"cache": "maybe"},
    "a log level that does not exist": {"log_level": "loud"},
    "an embedder that does not exist": {"embedder": "psychic"},
    "a scheme that Redis does not have": {"redis_url": f"http://:{SECRET}@localhost"},
    "a Redis port that is no number": {"redis_url": f"redis://user:{SECRET}@localhost:port/0"},
    "a Redis database that is no number": {"redis_url": f"redis://user:{SECRET}@localhost/first"},
    "a Redis socket's database that is no number": {"redis_url": f"unix:///run/redis.sock?db={SECRET}"},
    "a Redis address with a broken host": {"redis_url": f"redis://user:{SECRET}@[half"},
    "a Redis address that no host can have": {"redis_url": f"redis://user:{SECRET}@ho\u2100st"},
    "an authority file that is not there": {"redis_url": f"rediss://:{SECRET}@h/0?ssl_ca_certs=/nowhere.pem"},
    "a catalogue that is not there": {"catalog_file": "/nowhere.jsonl"},
    "policies that are not there": {"policies_file": "/nowhere.md"},
    "a catalogue in nobody's home": {"catalog_file": "~nobody-of-this-name/catalog.jsonl"},
    "a catalogue of a kind there is none": {"catalog_url": f"ftp://user:{SECRET}@host"},
    "a store of a kind there is none": {"store_url": f"ftp://user:{SECRET}@host"},
    "flags at an address with a password": {"flags_url": f"http://user:{SECRET}@host/flags"},
    "flags in a table without a name": {"flags_url": "dynamodb://eu-west-1"},
    "tokens without any": {"auth": "token"},
    "tokens in a file that is not there": {"auth": "token", "auth_tokens_file": "/nowhere"},
    "a kind of proof that does not exist": {"auth": "trust", "auth_tokens": SECRET},
    "the open network without proof": {"host": "0.0.0.0", "auth": "none"},
}

WRONG_FILES = {
    "a catalogue that is not text": ("catalog_file", "{}", b"\xff\xfe"),
    "a catalogue that is not JSON": ("catalog_file", "{}", b'{"title_id"'),
    "a catalogue with a field of its own": ("catalog_file", "{}", b'{"title_id": "manga-000001", "colour": 1}'),
    "policies that are not text": ("policies_file", "{}", b"\xff\xfe"),
    "policies without a text": ("policies_file", "{}", b"# shipping en\n"),
    "tokens that are not text": ("auth_tokens_file", "{}", b"\xff\xfe"),
}


def one_line(code: int, log: str) -> str:
    """The one line that the server said before it ended."""
    own = [line for line in log.splitlines() if line.startswith("manga-tools: ")]
    assert code == 2, log
    assert len(own) == 1, log
    assert own[0] == log.splitlines()[-1]
    assert "Traceback" not in log
    assert SECRET not in log
    return own[0]


async def refused(**settings: str) -> str:
    async with run("serve", **settings) as process:
        return one_line(await process.ended(END_SECONDS), process.log)


@pytest.mark.parametrize("settings", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_setting_is_named_in_one_line(
    settings: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 2, the variable's name, and never the value of one that may hold a secret."""
    for name in list(os.environ):
        if name.startswith("MANGA_"):
            monkeypatch.delenv(name)
    for name, value in settings.items():
        monkeypatch.setenv(f"MANGA_{name.upper()}", value)
    line = one_line(main(["serve"]), capsys.readouterr().err)
    assert any(f"MANGA_{name.upper()}" in line for name in settings), line


@pytest.mark.parametrize(("name", "form", "content"), WRONG_FILES.values(), ids=WRONG_FILES.keys())
async def test_a_wrong_file_is_named_in_one_line(name: str, form: str, content: bytes, tmp_path: Path) -> None:
    """The start fails with a sentence that names the setting, and the file at most by where it is."""
    file = tmp_path / "file"
    file.write_bytes(content)
    environment = {f"MANGA_{name.upper()}": form.format(file), "MANGA_EMBEDDER": "none", "MANGA_AUTH": "token"}
    environment |= {"MANGA_AUTH_TOKENS": "a-secret-of-some-length"}
    with pytest.raises(SettingError, match=f"^MANGA_{name.upper()}\\b") as refusal:
        async with open_app(Settings.from_environment(environment)):
            pass
    assert "\n" not in str(refusal.value)


WRONG_FLAGS = {
    "not there": None,
    "not text": b"\xff\xfe",
    "not JSON": b"{",
    "nested without end": b"[" * 100_000,
    "no share": b'{"check_inventory": {"percent": 101}}',
}


async def test_a_wrong_flags_document_stops_no_start_and_opens_no_tool(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It may be wrong just while a task starts. Which tools are off nobody knows then, so none is on, and the log says so."""
    for name, content in WRONG_FLAGS.items():
        file = tmp_path / f"{name}.json"
        if content is not None:
            file.write_bytes(content)
        settings = Settings.from_environment({"MANGA_FLAGS_URL": f"file://{file}", "MANGA_EMBEDDER": "none"})
        caplog.clear()
        async with open_app(settings) as app:
            assert not app.flags.known, name
            assert "no flags document is known: no call is taken" in caplog.text


WHOLE = {
    "before anything is loaded": {"redis_url": f"redis://user:{SECRET}@localhost:port/0"},
    "when the socket is opened": {"host": "203.0.113.7", "allow_insecure": "1"},
    "when a file is read": {"catalog_file": __file__},
}


@pytest.mark.parametrize("settings", WHOLE.values(), ids=WHOLE.keys())
async def test_the_process_ends_with_that_line(settings: dict[str, str]) -> None:
    """Wherever it is found out, the process says one line, without a traceback, and ends with exit status 2."""
    line = await refused(**settings)
    assert any(f"MANGA_{name.upper()}" in line for name in settings), line


async def test_a_port_in_use_is_told_in_one_line() -> None:
    """Exit status 2 and the address, before anything is loaded."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        line = await refused(port=port)
    assert f"127.0.0.1:{port}" in line
    assert "in use" in line


async def test_two_servers_that_start_at_once_do_not_share_a_port() -> None:
    """One of them serves, and the other says at once that the port is taken, though neither serves yet."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    async with run("serve", port=port) as first, run("serve", port=port) as second:
        both = {asyncio.create_task(each.process.wait()): each for each in (first, second)}
        done, waiting = await asyncio.wait(both, timeout=END_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        (lost,) = done
        (won,) = waiting
        assert lost.result() == 2
        await both[lost].said(re.compile("in use"))
        await both[won].said(LISTENING)
        won.cancel()
