"""Queued log lines: nobody waits for the output, and lost lines are counted and reported."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from server.telemetry.log_output import NOT_TAKEN, Lines, write_all

PATIENCE_SECONDS = 10.0


class Place:
    """Where lines go. It hangs until it is opened, and fails as long as it is broken."""

    def __init__(self) -> None:
        self.opened, self.asked = threading.Event(), threading.Event()
        self.broken = False
        self.got = b""
        self.lost: list[str] = []
        self.found: list[int] = []
        self.written: SimpleQueue[bool] = SimpleQueue()

    def write(self, data: bytes) -> None:
        self.asked.set()
        self.opened.wait(PATIENCE_SECONDS)
        if self.broken:
            raise OSError(28, "No space left on device")
        self.got += data


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.fixture
def lines(place: Place) -> Iterator[Lines]:
    own = Lines("test", place.write, place.lost.append, place.found.append, most_bytes=100)
    yield own
    place.opened.set()
    own.close(PATIENCE_SECONDS)


def test_hanging_output_blocks_no_put_and_queued_bytes_are_bounded(place: Place, lines: Lines) -> None:
    """Ten lines of ten bytes are queued; the dropped ones are counted, and reported once."""
    taken = [lines.put(b"123456789\n") for _ in range(1000)]
    assert sum(taken) == 10
    assert lines.dropped == 990
    assert place.lost == [NOT_TAKEN]


def test_queued_lines_are_written_in_order_and_the_missing_ones_counted(place: Place, lines: Lines) -> None:
    for number in range(12):
        lines.put(b"%09d\n" % number, place.written.put)
    place.opened.set()
    assert all(place.written.get(timeout=PATIENCE_SECONDS) for _ in range(10))
    assert place.got == b"".join(b"%09d\n" % number for number in range(10))
    assert place.found == [2]
    lines.put(b"and on\n", place.written.put)
    assert place.written.get(timeout=PATIENCE_SECONDS)
    assert place.found == [2]


def test_failing_and_recovered_output_are_each_reported_once(place: Place, lines: Lines) -> None:
    """A caller that asks learns the fate of each line."""
    place.opened.set()
    place.broken = True
    for _ in range(3):
        lines.put(b"lost\n", place.written.put)
        assert not place.written.get(timeout=PATIENCE_SECONDS)
    assert place.lost == ["No space left on device"]
    place.broken = False
    lines.put(b"there\n", place.written.put)
    assert place.written.get(timeout=PATIENCE_SECONDS)
    assert place.got == b"there\n"
    assert place.found == [3]
    assert lines.dropped == 3


def test_close_waits_no_longer_than_its_timeout(place: Place, lines: Lines) -> None:
    """The writing thread still hangs, and further lines are refused."""
    lines.put(b"a line\n")
    assert place.asked.wait(PATIENCE_SECONDS)
    lines.close(0.0)
    assert not lines.put(b"another\n")
    assert not place.opened.is_set()


def test_close_writes_the_queued_lines(place: Place, lines: Lines) -> None:
    assert all(lines.put(b"%d\n" % number) for number in range(10))
    place.opened.set()
    lines.close(PATIENCE_SECONDS)
    assert place.got == b"".join(b"%d\n" % number for number in range(10))


def test_line_that_comes_while_the_queue_closes_is_written_or_counted(place: Place, lines: Lines) -> None:
    """`put` measures the line when it has found the queue open; closing begins at that moment, on another thread."""
    closing = threading.Thread(target=lines.close, args=(PATIENCE_SECONDS,))

    class Line(bytes):
        def __len__(self) -> int:
            if closing.ident is None:
                closing.start()
                closing.join(0.2)  # it may have to wait for this line
            return super().__len__()

    place.opened.set()
    taken = lines.put(Line(b"last\n"))
    closing.join(PATIENCE_SECONDS)
    assert (place.got, lines.dropped) == ((b"last\n", 0) if taken else (b"", 1))


def test_write_to_a_full_non_blocking_pipe_waits_until_all_is_written() -> None:
    """Node makes its children's pipes non-blocking."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    data = b"." * 1_000_000
    thread = threading.Thread(target=write_all, args=(writing, data))
    thread.start()
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read(len(data)) == data
    thread.join()
    os.close(writing)
