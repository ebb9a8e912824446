"""The audit log has a line for each order access, with caller, tool and outcome, apart from the log."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from server.telemetry.audit import NAME, AuditFile, AuditLog, audit_sink
from server.telemetry.log_calls import EACH, SECONDS, RepeatLimit
from session.redis.multiplexed import MultiplexedRedis
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tests.support.events import an_event
from tests.support.pipeline import open_kit
from tests.support.store import Backends
from tests.support.valkey import eventually


class Sink:
    """Takes lines as a disk does: `says` what becomes of each, None for one that hangs."""

    def __init__(self, says: bool | None = True, *, room: bool = True) -> None:
        self.says, self.room, self.dropped = says, room, 0
        self.lines: list[dict[str, Any]] = []

    def put(self, line: bytes, written: Callable[[bool], None] | None = None) -> bool:
        self.lines.append(json.loads(line))
        if written is not None and self.room and self.says is not None:
            written(self.says)
        return self.room


def test_audit_line_has_only_caller_tool_order_and_outcome() -> None:
    """The fields are an allowlist."""
    sink = Sink()
    AuditLog(sink).record(an_event(outcome="NOT_FOUND"))
    (line,) = sink.lines
    assert line.pop("at").endswith("+00:00")
    assert line == {
        "call": "c1", "tool": "lookup_order", "agent": "agent", "user": "hash-of-user",
        "what": {"order_id": "MNG-DEMO1001"}, "outcome": "NOT_FOUND",
    }  # fmt: skip


def test_calls_that_touch_no_orders_leave_no_audit_line() -> None:
    """An audit that holds everything is read by nobody."""
    sink = Sink()
    AuditLog(sink).record(an_event(tool="search_manga_catalog", audited=None))
    assert sink.lines == []


@cases("outcome", ["ok", "NOT_FOUND", "cancelled"])
def test_each_order_access_has_its_audit_line(outcome: str) -> None:
    """A caller that tries order numbers one by one is visible call by call."""
    sink = Sink()
    audit = AuditLog(sink, repeats=RepeatLimit(HandClock(0.0)))
    for _ in range(1000):
        audit.record(an_event(outcome=outcome))
    assert len(sink.lines) == 1000


@cases("outcome", ["VALIDATION_ERROR", "RATE_LIMITED", "FORBIDDEN", "SERVER_BUSY"])
def test_repeated_refusals_are_limited_and_counted_in_the_audit(outcome: str) -> None:
    """A refused call reads no order, and a caller can be refused without end."""
    sink, clock = Sink(), HandClock(0.0)
    audit = AuditLog(sink, repeats=RepeatLimit(clock))
    for _ in range(1000):
        audit.record(an_event(outcome=outcome))
    assert len(sink.lines) == EACH
    clock.now += SECONDS
    audit.record(an_event())
    assert [line.get("left_out") for line in sink.lines[EACH:]] == [
        [{"user": "hash-of-user", "tool": "lookup_order", "outcome": outcome, "times": 1000 - EACH}],
        None,
    ]


# -- the file


def test_audit_lines_go_to_a_private_file_and_not_to_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """All lines are in it once it is closed, and only its owner can read it."""
    path = tmp_path / "audit.jsonl"
    with audit_sink(path) as sink:
        for number in range(100):
            sink.put(b'{"n":%d}\n' % number)
    assert [json.loads(line)["n"] for line in path.read_text().splitlines()] == list(range(100))
    assert path.stat().st_mode & 0o077 == 0
    assert not caplog.records


def test_existing_audit_file_is_made_private_and_appended_to(tmp_path: Path) -> None:
    """Its former contents stay."""
    path = tmp_path / "audit.jsonl"
    path.write_text("before\n")
    path.chmod(0o644)
    with audit_sink(path) as sink:
        sink.put(b"after\n")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == "before\nafter\n"


def test_moved_audit_file_is_created_anew(tmp_path: Path) -> None:
    """logrotate moves files so; earlier lines stay in the moved file."""
    path = tmp_path / "audit.jsonl"
    file = AuditFile(path)
    file.write(b"one\n")
    path.rename(tmp_path / "audit.1")
    file.write(b"two\n")
    path.unlink()
    file.write(b"three\n")
    file.close()
    assert (tmp_path / "audit.1").read_text() == "one\n"
    assert path.read_text() == "three\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_audit_without_a_file_goes_to_its_own_logger_at_any_log_level(caplog: pytest.LogCaptureFixture) -> None:
    """MANGA_LOG_LEVEL=error silences the log and not the audit."""
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.ERROR)
    try:
        with audit_sink(None) as sink:
            sink.put(b"a line\n")
    finally:
        root.setLevel(before)
    assert [(record.name, record.getMessage()) for record in caplog.records] == [(NAME, "a line")]


def test_unwritable_audit_file_is_refused_at_the_start(tmp_path: Path) -> None:
    """It is not discovered only at the first order."""
    with pytest.raises(OSError), audit_sink(tmp_path / "no" / "such" / "folder"):
        pass


async def test_full_disk_is_logged_once_and_lost_audit_lines_counted(caplog: pytest.LogCaptureFixture) -> None:
    with audit_sink(Path("/dev/full")) as sink:
        for _ in range(10):
            assert sink.put(b"a line\n")
        await eventually(lambda: sink.dropped == 10)
    assert [record.getMessage() for record in caplog.records] == [
        "lines of the audit (MANGA_AUDIT_LOG) are lost: No space left on device"
    ]


async def test_audit_pipe_without_a_reader_loses_lines_until_one_opens_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The start waits for no reader; the log reports the loss of lines and its end."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with audit_sink(path) as sink:
        sink.put(b"lost\n")
        await eventually(lambda: sink.dropped == 1)
        reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        written: list[bool] = []
        sink.put(b"found\n", written.append)
        await eventually(lambda: written == [True])
        assert os.read(reading, 100) == b"found\n"
        os.close(reading)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "lines of the audit (MANGA_AUDIT_LOG) are lost",
        "the audit is written again; 1 lines of it are missing",
    ]


def test_torn_audit_line_is_ended_before_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk takes only a part of a line."""
    path = tmp_path / "audit.jsonl"
    file, write = AuditFile(path), os.write

    def part(fd: int, data: bytes) -> int:
        if data.startswith(b"full"):
            raise OSError(28, "No space left on device")
        return write(fd, data[:5])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", part)
        with pytest.raises(OSError, match="No space"):
            file.write(b"disk-full\n")
    file.write(b"whole\n")
    file.close()
    assert path.read_text() == "disk-\nwhole\n"


# -- what is shown of an order


@pytest.mark.virtual_time
@pytest.mark.parametrize(("required", "sink"), [(True, Sink()), (False, Sink(says=False)), (False, Sink(room=False))])
async def test_order_is_shown_when_its_audit_line_is_written_or_not_required(
    redis: MultiplexedRedis, moody: Backends, required: bool, sink: Sink
) -> None:
    async with open_kit(redis, moody, audit=AuditLog(sink, required=required)) as kit:
        answer = await kit.ask("lookup_order", {"order_id": "MNG-UUUU0001"}, user="u", session="s")
    assert answer.failure is None
    assert [line["outcome"] for line in sink.lines] == ["ok"]


@pytest.mark.virtual_time
@pytest.mark.parametrize("sink", [Sink(says=False), Sink(says=None), Sink(room=False)], ids=["fails", "hangs", "full"])
async def test_order_is_withheld_when_its_required_audit_line_cannot_be_written(
    redis: MultiplexedRedis, moody: Backends, sink: Sink
) -> None:
    async with open_kit(redis, moody, audit=AuditLog(sink, required=True)) as kit:
        answer = await kit.ask("lookup_order", {"order_id": "MNG-UUUU0001"}, user="u", session="s")
        assert answer.failure == "DEPENDENCY_FAILURE"
        assert "MNG-UUUU0001" not in json.dumps(answer.result["structuredContent"])
        assert answer.result["structuredContent"]["error"]["data"]["retryable"]
        assert (await kit.ask("search_manga_catalog", {"query": "pirates"}, user="u", session="s")).failure is None
        assert kit.events[0].outcome == "DEPENDENCY_FAILURE"
