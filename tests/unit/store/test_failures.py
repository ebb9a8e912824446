"""Failures as values: the message and the remedy of each."""

from __future__ import annotations

from tools.store.failures import (
    BackendFailure,
    Failure,
    InternalFailure,
    TimedOut,
    ToolNotFound,
)


def all_failures() -> list[type[Failure]]:
    def below(kind: type[Failure]) -> list[type[Failure]]:
        return [kind, *(each for sub in kind.__subclasses__() for each in below(sub))]

    return [kind for kind in below(Failure) if hasattr(kind, "code")]


def test_failure_kinds_have_the_names_and_codes_of_the_specification() -> None:
    assert {kind.name: kind.code for kind in all_failures()} == {
        "VALIDATION_ERROR": -32602,
        "TOOL_NOT_FOUND": -32601,
        "INTERNAL_ERROR": -32603,
        "TIMEOUT": -32001,
        "RATE_LIMITED": -32002,
        "CIRCUIT_OPEN": -32003,
        "DEPENDENCY_FAILURE": -32005,
        "BUDGET_EXHAUSTED": -32006,
        "NOT_FOUND": -32007,
        "FORBIDDEN": -32008,
        "SERVER_BUSY": -32009,
    }


def test_only_backend_failures_lead_to_a_fallback() -> None:
    descends = {kind.name for kind in all_failures() if issubclass(kind, BackendFailure)}
    assert descends == {"DEPENDENCY_FAILURE", "TIMEOUT", "CIRCUIT_OPEN", "BUDGET_EXHAUSTED"}


def test_retryable_failures_are_marked_as_retryable() -> None:
    again = {kind.name for kind in all_failures() if kind.retryable}
    assert again == {"DEPENDENCY_FAILURE", "TIMEOUT", "CIRCUIT_OPEN", "RATE_LIMITED", "SERVER_BUSY"}


def test_failure_details_are_exactly_those_given() -> None:
    assert ToolNotFound("m", details={"instead": "x"}).details == {"instead": "x"}
    assert InternalFailure("m").details == {}
    assert TimedOut("m", dependency="stock", details={"a": 1}).details == {"dependency": "stock", "a": 1}
