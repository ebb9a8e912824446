"""Which tools are on, and for whom; read from a file and again when it changes."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.config import flags as module
from server.config.flags import Flags, FlagsError, FlagsFile, parse_flags
from tests.support.valkey import eventually

TOOLS = ("check_inventory", "lookup_order")


def test_a_tool_that_is_not_named_is_on() -> None:
    flags = Flags(parse_flags('{"lookup_order": false}', TOOLS))
    assert flags.is_on("check_inventory", None)
    assert not flags.is_on("lookup_order", "u")
    assert not flags.depends_on_user()


@pytest.mark.parametrize(
    ("value", "percent"), [("true", 100), ("false", 0), ('{"percent": 20}', 20), ('{"percent": 0.5}', 0.5)]
)
def test_a_flag_is_true_false_or_a_share(value: str, percent: float) -> None:
    assert parse_flags(f'{{"lookup_order": {value}}}', TOOLS) == {"lookup_order": percent}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "5", '{"sell_house": true}', '{"lookup_order": 1}', '{"lookup_order": "on"}', '{"lookup_order": {"percent": true}}',
     '{"lookup_order": {"percent": 101}}', '{"lookup_order": {"percent": -1}}', '{"lookup_order": {"percent": 5, "x": 1}}',
     '{"lookup_order": {"percent": NaN}}'],
)  # fmt: skip
def test_a_wrong_file_says_what_is_wrong_in_one_line(text: str) -> None:
    with pytest.raises(FlagsError) as caught:
        parse_flags(text, TOOLS)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@given(st.text(max_size=255))
def test_a_user_always_sees_the_same_and_a_larger_share_takes_nobody_away(user: str) -> None:
    on = [Flags({"lookup_order": percent}).is_on("lookup_order", user) for percent in (0, 1, 20, 50, 99, 100)]
    assert on == sorted(on)
    assert on[0] is False
    assert on[-1] is True


def test_a_share_is_about_that_share_of_the_users_and_others_for_each_tool() -> None:
    flags = Flags({"lookup_order": 20.0, "check_inventory": 20.0})
    sets = [{n for n in range(5000) if flags.is_on(tool, f"u{n}")} for tool in TOOLS]
    assert all(900 < len(each) < 1100 for each in sets)
    assert len(sets[0] & sets[1]) < 300
    assert not flags.is_on("lookup_order", None)
    assert flags.depends_on_user()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    own = tmp_path / "flags.json"
    own.write_text("{}")
    return own


def test_loading_says_whether_anything_changed(path: Path) -> None:
    flags = Flags()
    file = FlagsFile(path, TOOLS, flags)
    assert not file.load()
    path.write_text('{"lookup_order": false}')
    assert file.load()
    assert not file.load()
    path.write_text('{"lookup_order":   false}')
    assert not file.load(), "other text, the same flags"
    assert not flags.is_on("lookup_order", "u")


async def test_a_watched_file_is_followed_and_a_wrong_one_changes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.005)
    flags = Flags()
    told: list[bool] = []

    async def changed() -> None:
        told.append(flags.is_on("lookup_order", "u"))

    watching = asyncio.create_task(FlagsFile(path, TOOLS, flags).watch(changed))
    with caplog.at_level(logging.WARNING, logger="server.config.flags"):
        path.write_text('{"lookup_order": false}')
        await eventually(lambda: told == [False])
        for wrong in (b"{", b"\xff\xfe", b'{"hunter2": 1}'):
            caplog.clear()
            path.write_bytes(wrong)
            await eventually(lambda: bool(caplog.records))
        path.unlink()
        await eventually(lambda: "MANGA_FLAGS_URL is lost" in caplog.text)
        path.write_text('{"lookup_order": true}')
        await eventually(lambda: told == [False, True])
    assert not watching.done()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def test_a_file_that_stays_wrong_is_told_of_once(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.001)
    file = FlagsFile(path, TOOLS, Flags())
    polls = 0
    load = FlagsFile.load

    def counted(self: FlagsFile) -> bool:
        nonlocal polls
        polls += 1
        return load(self)

    monkeypatch.setattr(FlagsFile, "load", counted)
    path.write_text("{")

    async def changed() -> None:
        raise AssertionError

    watching = asyncio.create_task(file.watch(changed))
    await eventually(lambda: polls > 10)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    assert len(caplog.records) == 1
