"""The large fuzz run in small, as CI runs it: the same server, senders and bars."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.grammar import Grammar
from tests.fuzz.run import fuzzed
from tests.fuzz.tally import Tally
from tests.support.raw import Answer

INPUTS = 10_000


@pytest.mark.alone
@pytest.mark.timeout(300)
def test_ten_thousand_bad_inputs_harm_nobody(tmp_path: Path) -> None:
    """No crash, no error in the log, no 5xx but 503, no growth, and a healthy client that gets its answers throughout."""
    run = fuzzed(INPUTS, "ci", tmp_path)
    assert not run.missed(), run.report()


def test_the_same_seed_makes_the_same_inputs() -> None:
    """What was found once is found again."""

    def made(seed: str) -> list[object]:
        grammar = Grammar(seed)
        return [(grammar.in_2026(number), grammar.http(), grammar.bytes()) for number in range(200)]

    assert made("a") == made("a")
    assert made("a") != made("b")


@pytest.mark.parametrize(
    "answer",
    [
        Answer(500, {}),
        Answer(502, {}),
        Answer(200, {"content-type": "application/json"}, b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -32603}}'),
        Answer(
            400, {"content-type": "application/json"}, b'{"jsonrpc": "2.0", "error": {"code": 1, "message": "ValueError"}}'
        ),
        Answer(
            200,
            {"content-type": "application/json"},
            b'{"jsonrpc": "2.0", "result": {"isError": true, "structuredContent": {"error": {"name": "INTERNAL_ERROR"}}}}',
        ),
    ],
    ids=["500", "502", "-32603", "an exception's name", "INTERNAL_ERROR"],
)
def test_what_must_not_come_back_is_noticed(answer: Answer) -> None:
    """A tally that saw nothing wrong would be worth nothing."""
    tally = Tally()
    tally.answered("http", answer, b"GET /")
    assert tally.wrongs


def test_a_server_that_is_busy_is_not_wrong() -> None:
    """503 says to come back."""
    tally = Tally()
    tally.answered("http", Answer(503, {}, b"busy"), b"GET /")
    assert not tally.wrongs
