"""The failures of a call, as values that a model or an agent can act on.

Messages are for a person and never carry addresses, secrets, driver texts or other people's data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar


class Failure(Exception):
    """The base class of failures. `code` and `name` are sent to the client. `retry_after_ms` defaults to `soon_ms`; None
    means that waiting does not help."""

    code: ClassVar[int]
    name: ClassVar[str]
    retryable: ClassVar[bool] = False
    soon_ms: ClassVar[int | None] = None

    def __init__(self, message: str, *, retry_after_ms: int | None = None, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after_ms = self.soon_ms if retry_after_ms is None else retry_after_ms
        self.details: dict[str, Any] = dict(details or {})


class CallerFailure(Failure):
    """A failure that the caller causes: no fallback is tried, and no circuit breaker counts it."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A problem with an argument, by the schema or another check. `path` is like `$.title_ids[3]`; `fix` is the remedy."""

    path: str
    rule: str
    message: str
    fix: str


class InvalidArguments(CallerFailure):
    code, name = -32602, "VALIDATION_ERROR"

    def __init__(self, violations: Sequence[Violation]) -> None:
        self.violations = tuple(violations)
        lines = "; ".join(f"{v.path}: {v.message} ({v.fix})" for v in self.violations[:5])
        more = f"; and {len(self.violations) - 5} more" if len(self.violations) > 5 else ""
        super().__init__(lines + more, details={"violations": [asdict(v) for v in self.violations]})


class ToolNotFound(CallerFailure):
    code, name = -32601, "TOOL_NOT_FOUND"


class NotFound(CallerFailure):
    code, name = -32007, "NOT_FOUND"


class Forbidden(CallerFailure):
    code, name = -32008, "FORBIDDEN"


class ClientLacksCapability(Forbidden):
    """The client does not declare the `capabilities` needed to ask it a question, or does not answer the question."""

    def __init__(self, capabilities: Sequence[str], message: str | None = None) -> None:
        self.capabilities = tuple(capabilities)
        said = message or f"This needs a client that can be asked: {', '.join(self.capabilities)}."
        super().__init__(said, details={"capabilities": list(self.capabilities)})


class InputRequired(CallerFailure):
    """The tool needs the client's answers to `questions`, by name. `answers` are those that the client has already given.
    The client is sent the questions instead of an error."""

    name = "INPUT_REQUIRED"

    def __init__(self, questions: Mapping[str, Any], answers: Mapping[str, Any]) -> None:
        super().__init__("The client is asked for more.")
        self.questions = dict(questions)
        self.answers = dict(answers)


class RateLimited(CallerFailure):
    code, name, retryable, soon_ms = -32002, "RATE_LIMITED", True, 100


class ServerBusy(Failure):
    code, name, retryable, soon_ms = -32009, "SERVER_BUSY", True, 100


class BackendFailure(Failure):
    """A backend failed: fallbacks are tried, such as cached, stale or partial data. `dependency` is the backend's name, such
    as catalog, stock, orders or profile."""

    retryable = True
    soon_ms: ClassVar[int | None] = 100

    def __init__(
        self,
        message: str,
        *,
        dependency: str | None = None,
        retry_after_ms: int | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        merged = {**({"dependency": dependency} if dependency else {}), **(details or {})}
        super().__init__(message, retry_after_ms=retry_after_ms, details=merged)
        self.dependency = dependency


class DependencyFailure(BackendFailure):
    code, name = -32005, "DEPENDENCY_FAILURE"


class Throttled(DependencyFailure):
    """The backend rejected the call because of its load: retry later, not at once."""

    soon_ms = 1000


class RequestRejected(DependencyFailure):
    """The backend rejected this one request, for instance as malformed. Repeating it does not help. No circuit breaker
    counts the failure, since the backend may accept other requests."""

    retryable, soon_ms = False, None


class TimedOut(BackendFailure):
    code, name = -32001, "TIMEOUT"


class CircuitOpen(BackendFailure):
    code, name = -32003, "CIRCUIT_OPEN"


class BudgetExhausted(BackendFailure):
    """The turn's time budget is used up: a retry can succeed only in a new turn."""

    code, name, retryable, soon_ms = -32006, "BUDGET_EXHAUSTED", False, None


class InternalFailure(Failure):
    code, name, retryable = -32603, "INTERNAL_ERROR", False
