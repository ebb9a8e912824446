"""The audit of order accesses: a line for each, with who, what and the outcome, apart from the log."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from server.telemetry.audit import NAME, AuditLog, audit_lines
from server.telemetry.events import CallFinished


def an_event(**changed: Any) -> CallFinished:
    facts: dict[str, Any] = {
        "call_id": "c1", "tool": "lookup_order", "outcome": "ok", "source": "live", "fallback": None, "milliseconds": 1.0,
        "budget_left_ms": 2000, "degraded": (), "transport": "sse", "user": "hash-of-user", "traceparent": None,
        "arguments": {}, "agent": "agent", "audited": {"order_id": "MNG-DEMO1001"},
    }  # fmt: skip
    return CallFinished(**{**facts, **changed})


def test_a_line_says_who_asked_for_what_and_what_became_of_it() -> None:
    """And nothing more: an allowlist."""
    lines: list[str] = []
    AuditLog(lines.append)(an_event(outcome="NOT_FOUND"))
    line = json.loads(lines[0])
    assert line.pop("at").endswith("+00:00")
    assert line == {
        "call": "c1", "tool": "lookup_order", "agent": "agent", "user": "hash-of-user",
        "what": {"order_id": "MNG-DEMO1001"}, "outcome": "NOT_FOUND",
    }  # fmt: skip


def test_calls_of_tools_that_touch_no_orders_leave_none() -> None:
    """An audit that holds everything is read by nobody."""
    lines: list[str] = []
    AuditLog(lines.append)(an_event(tool="search_manga_catalog", audited=None))
    assert lines == []


def test_a_file_gets_the_lines_and_the_log_does_not(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """All of them are there once it is closed, and only its owner can read it."""
    path = tmp_path / "audit.jsonl"
    with audit_lines(path) as write:
        for number in range(100):
            write(f'{{"n":{number}}}')
    assert [json.loads(line)["n"] for line in path.read_text().splitlines()] == list(range(100))
    assert path.stat().st_mode & 0o077 == 0
    assert not caplog.records


def test_without_a_file_the_lines_go_to_a_logger_of_their_own_whatever_the_level(caplog: pytest.LogCaptureFixture) -> None:
    """MANGA_LOG_LEVEL=error silences the log and not the audit."""
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.ERROR)
    try:
        with audit_lines(None) as write:
            write("a line")
    finally:
        root.setLevel(before)
    assert [(record.name, record.getMessage()) for record in caplog.records] == [(NAME, "a line")]


def test_a_file_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    """Not at the first order."""
    with pytest.raises(OSError), audit_lines(tmp_path / "no" / "such" / "folder"):
        pass
