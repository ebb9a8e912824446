"""An outcome as MCP carries it."""

from __future__ import annotations

import json
from typing import Any

from server.call import Call, Outcome, RequestMetadata
from server.results import META_KEY, call_tool_result
from session.begin import BeginRequest, Begun
from session.resilience.deadline import Deadline
from session.turn import IMPLICIT, Turn, TurnKind, TurnName, TurnRequest
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tests.support.pipeline import registered
from tools.store.failures import (
    BudgetExhausted,
    Failure,
    InvalidArguments,
    NotFound,
    RateLimited,
    ServerBusy,
    TimedOut,
    Violation,
)

NAMED = TurnName(TurnKind.NAMED, "t-1")


def a_call(
    tool: str = "search_manga_catalog", *, left_ms: int | None = None, name: TurnName = NAMED, without: str = ""
) -> Call:
    call = Call("call-1", registered(tool), {}, RequestMetadata(), 0.0)
    if left_ms is not None:
        turn = Turn(name, 3000, Deadline.after((left_ms + 200) / 1000, HandClock(0.0)))
        call.begun = Begun(BeginRequest(None, None, TurnRequest("", name, 0.0), limited=False), turn)
    call.degraded = set(without.split())
    return call


def told(call: Call, outcome: Outcome) -> dict[str, Any]:
    return dict(call_tool_result(call, outcome)["_meta"][META_KEY])


def test_a_success_is_structured_and_the_same_as_compact_text() -> None:
    result = call_tool_result(a_call(), Outcome({"results": [], "title": "進撃"}))
    assert result["structuredContent"] == {"results": [], "title": "進撃"}
    assert [block["text"] for block in result["content"]] == ['{"results":[],"title":"進撃"}']
    assert result["isError"] is False


def test_text_that_is_there_already_is_not_made_again() -> None:
    assert call_tool_result(a_call(), Outcome({"a": 1}, text='{"a":1.0}'))["content"][0]["text"] == '{"a":1.0}'


@cases(
    ("failure", "retryable", "after", "fallback"),
    [
        (NotFound("no"), False, None, False),
        (TimedOut("late", retry_after_ms=70), True, 70, True),
        (ServerBusy("busy", retry_after_ms=100), True, 100, True),
        (RateLimited("wait", retry_after_ms=7), True, 7, True),
    ],
)
def test_a_failure_is_the_envelope_twice(failure: Failure, retryable: bool, after: int | None, fallback: bool) -> None:
    result = call_tool_result(a_call(), Outcome(failure=failure))
    assert result["isError"] is True
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert result["structuredContent"] == {
        "error": {
            "code": failure.code,
            "name": failure.name,
            "message": failure.message,
            "data": {
                "tool": "search_manga_catalog",
                "request_id": "call-1",
                "retryable": retryable,
                "retry_after_ms": after,
                "fallback_available": fallback,
                "details": {},
            },
        }
    }


def test_a_tool_without_a_fallback_never_promises_one() -> None:
    result = call_tool_result(a_call("lookup_order"), Outcome(failure=ServerBusy("busy")))
    assert result["structuredContent"]["error"]["data"]["fallback_available"] is False


def test_every_violation_is_in_the_details_and_the_first_five_in_the_message() -> None:
    violations = [Violation(f"$.a{n}", "type", "is wrong", "mend it") for n in range(7)]
    error = call_tool_result(a_call(), Outcome(failure=InvalidArguments(violations)))["structuredContent"]["error"]
    assert len(error["data"]["details"]["violations"]) == 7
    assert "$.a4" in error["message"]
    assert "and 2 more" in error["message"]


def test_meta_tells_of_the_call() -> None:
    meta = told(a_call(left_ms=1500, without="stock vector"), Outcome({}, source="fallback", fallback="popular", as_of=0.0))
    latency = meta.pop("latencyMs")
    assert isinstance(latency, float)
    assert meta == {
        "callId": "call-1",
        "source": "fallback",
        "fallback": "popular",
        "asOf": "1970-01-01T00:00:00Z",
        "degraded": ["stock", "vector"],
        "budget": {"turnId": "t-1", "totalMs": 3000, "remainingMs": 1500},
    }


def test_meta_says_nothing_of_a_budget_before_the_turn_was_read_nor_of_a_source_where_there_is_none() -> None:
    assert set(told(a_call(), Outcome(failure=NotFound("no")))) == {"callId", "degraded", "latencyMs"}


def test_a_turn_that_nobody_named_has_no_id() -> None:
    assert told(a_call(left_ms=1, name=IMPLICIT), Outcome({}))["budget"]["turnId"] is None
    assert told(a_call(left_ms=1, name=TurnName(TurnKind.TRACE, "f" * 32)), Outcome({}))["budget"]["turnId"] == "f" * 32


@cases(
    ("outcome", "without", "left", "said"),
    [
        (Outcome({}), "", 2000, []),
        (Outcome({}, source="cache", as_of=5.0), "", 2000, []),
        (Outcome({}, source="fallback", fallback="popular"), "", 2000, ["a fallback (popular)"]),
        (Outcome({}, source="stale", as_of=0.0), "", 2000, ["1970-01-01T00:00:00Z", "out of date"]),
        (Outcome({}), "vector", 2000, ["without search by meaning"]),
        (Outcome({}), "stock taste vector", 2000, ["without some prices and stock, similar titles and search by meaning,"]),
        (Outcome({}), "session", 2000, ["name titles by their ids"]),
        (
            Outcome({}),
            "session stock",
            2000,
            ["Answered without some prices and stock, which did not come in time.", "name titles by their ids"],
        ),
        (Outcome({}), "unheard-of", 2000, ["without unheard-of"]),
        (Outcome({}), "", 499, ["nearly used up"]),
        (Outcome({}), "", 500, []),
        (Outcome({}), "stock", 10, ["some prices and stock", "nearly used up"]),
        (Outcome(failure=NotFound("no")), "stock", 2000, []),
        (Outcome(failure=NotFound("no")), "", 10, ["nearly used up"]),
        (Outcome(failure=BudgetExhausted("The time is used up.")), "", 10, []),
    ],
)
def test_a_note_tells_the_model_what_it_should_know(outcome: Outcome, without: str, left: int, said: list[str]) -> None:
    """In the structure and in its text alike, which stays one block that parses: some clients hand on the first alone."""
    result = call_tool_result(a_call(left_ms=left, without=without), outcome)
    (block,) = result["content"]
    assert json.loads(block["text"]) == result["structuredContent"]
    assert ("note" in result["structuredContent"]) is bool(said)
    assert all(words in result["structuredContent"]["note"] for words in said)


def test_a_result_without_a_turn_has_no_note() -> None:
    assert "note" not in call_tool_result(a_call(), Outcome({}))["structuredContent"]


def test_a_note_takes_up_what_the_tool_itself_and_the_stages_said_and_leaves_the_value_as_it_is() -> None:
    """The value may be shared by others who asked the same."""
    call, value = a_call(left_ms=10), {"results": [], "note": "Popular ones."}
    call.notes.append("Ignored: turn_id.")
    result = call_tool_result(call, Outcome(value, text='{"results":[],"note":"Popular ones."}'))
    assert result["structuredContent"]["note"].startswith("Popular ones. Ignored: turn_id. The time for this turn")
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert value == {"results": [], "note": "Popular ones."}


def test_a_tools_own_note_is_not_said_again() -> None:
    result = call_tool_result(a_call(), Outcome({"note": "Popular ones."}))
    assert result["structuredContent"] == {"note": "Popular ones."}
