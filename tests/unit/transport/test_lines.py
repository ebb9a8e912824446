"""Lines of stdin of any length are read within bounds."""

from __future__ import annotations

import io

import mcp_types as types

from server.transport.messages import DEEPEST, TOO_DEEP
from server.transport.stdio import Lines

MOST = 200


async def read(data: bytes) -> tuple[list[str], list[str], int]:
    """The lines that were passed on, why others were not, and the most bytes that were asked for at once."""
    refused: list[str] = []
    largest = 0

    class Source(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            nonlocal largest
            assert size is not None
            assert size > 0
            line = super().readline(size)
            largest = max(largest, len(line))
            return line

    lines = Lines(Source(data), MOST)

    async def answer(error: types.JSONRPCError) -> None:
        refused.append(error.error.message)

    lines.answer = answer
    return [line async for line in lines], refused, largest


async def test_lines_are_read_unchanged_and_the_last_needs_no_newline() -> None:
    """Invalid UTF-8 is left to the parser."""
    assert (await read(b'{"a":1}\n\xff\n{"b":2}'))[0] == ['{"a":1}\n', "\ufffd\n", '{"b":2}']


async def test_line_beyond_the_limit_is_skipped_without_being_held() -> None:
    """The next line is read again, and one of exactly the limit is accepted."""
    longest = b"x" * (MOST - 1) + b"\n"
    passed, refused, largest = await read(b"y" * (50 * MOST) + b"\n" + longest + b"z" * (MOST + 1) + b"\n{}\n" + b"x" * 999)
    assert passed == [longest.decode(), "{}\n"]
    assert refused == [f"A message has at most {MOST} bytes."] * 3
    assert largest <= MOST + 1


async def test_line_nested_too_deeply_is_skipped() -> None:
    """An HTTP body nested so deeply is refused too."""
    deep = b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1) + b"\n"
    assert await read(deep + b"{}\n") == (["{}\n"], [TOO_DEEP], len(deep))
