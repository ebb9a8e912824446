"""The outcome of a call becomes an MCP result."""

from __future__ import annotations

import json
from typing import Any

from server.call import Call, Outcome, RequestMetadata
from server.results import META_KEY, call_tool_result
from session.begin import BeginRequest, BeginResult
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
        call.begin_result = BeginResult(BeginRequest(None, None, TurnRequest("", name, 0.0)), turn)
    call.degraded = set(without.split())
    return call


def told(call: Call, outcome: Outcome) -> dict[str, Any]:
    return dict(call_tool_result(call, outcome)["_meta"][META_KEY])


def test_success_has_its_value_as_structured_content_and_as_compact_json_text() -> None:
    result = call_tool_result(a_call(), Outcome({"results": [], "title": "進撃"}))
    assert result["structuredContent"] == {"results": [], "title": "進撃"}
    assert [block["text"] for block in result["content"]] == ['{"results":[],"title":"進撃"}']
    assert result["isError"] is False


@cases("message", ['"' * 900, "\n" * 900, "進撃の巨人" * 300, "a" * 5000, "\x01" * 400, "é\\" * 500])
def test_long_message_is_cut_between_characters_to_600_bytes(message: str) -> None:
    cut = call_tool_result(a_call(), Outcome(failure=NotFound(message)))["structuredContent"]["error"]["message"]
    assert 500 <= len(json.dumps(cut, ensure_ascii=False).encode()) <= 602
    assert cut.endswith("…")
    assert message.startswith(cut[:-1])


def test_text_of_an_outcome_is_sent_unchanged() -> None:
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
def test_failure_has_the_error_envelope_as_text_and_as_structured_content(
    failure: Failure, retryable: bool, after: int | None, fallback: bool
) -> None:
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


def test_failure_of_a_tool_without_fallback_promises_none() -> None:
    result = call_tool_result(a_call("lookup_order"), Outcome(failure=ServerBusy("busy")))
    assert result["structuredContent"]["error"]["data"]["fallback_available"] is False


def test_all_violations_are_in_the_details_and_the_first_five_in_the_message() -> None:
    violations = [Violation(f"$.a{n}", "type", "is wrong", "mend it") for n in range(7)]
    error = call_tool_result(a_call(), Outcome(failure=InvalidArguments(violations)))["structuredContent"]["error"]
    assert len(error["data"]["details"]["violations"]) == 7
    assert "$.a4" in error["message"]
    assert "and 2 more" in error["message"]


def test_result_meta_has_call_id_source_age_degradation_latency_and_budget() -> None:
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


def test_result_meta_of_an_early_failure_has_neither_budget_nor_source() -> None:
    assert set(told(a_call(), Outcome(failure=NotFound("no")))) == {"callId", "degraded", "latencyMs"}


def test_budget_has_the_trace_as_turn_id_and_none_for_an_implicit_turn() -> None:
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
def test_note_about_degradation_is_in_structured_content_and_text_alike(
    outcome: Outcome, without: str, left: int, said: list[str]
) -> None:
    """The text stays one block that parses as JSON, because some clients pass on the first block alone."""
    result = call_tool_result(a_call(left_ms=left, without=without), outcome)
    (block,) = result["content"]
    assert json.loads(block["text"]) == result["structuredContent"]
    assert ("note" in result["structuredContent"]) is bool(said)
    assert all(words in result["structuredContent"]["note"] for words in said)


def test_result_without_a_turn_has_no_note() -> None:
    assert "note" not in call_tool_result(a_call(), Outcome({}))["structuredContent"]


def test_note_joins_those_of_tool_and_stages_and_leaves_a_shared_value_unchanged() -> None:
    """The value may be shared with other callers of the same flight."""
    call, value = a_call(left_ms=10), {"results": [], "note": "Popular ones."}
    call.notes.append("Ignored: turn_id.")
    result = call_tool_result(call, Outcome(value, text='{"results":[],"note":"Popular ones."}'))
    assert result["structuredContent"]["note"].startswith("Popular ones. Ignored: turn_id. The time for this turn")
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert value == {"results": [], "note": "Popular ones."}


def test_note_of_the_tool_is_not_repeated() -> None:
    result = call_tool_result(a_call(), Outcome({"note": "Popular ones."}))
    assert result["structuredContent"] == {"note": "Popular ones."}
