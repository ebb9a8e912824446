"""How a call can fail, as values that a model or an agent can act on.

    Failure
    ├── CallerFailure            the caller's to mend: never descends the ladder, never opens a breaker
    │   ├── InvalidArguments     VALIDATION_ERROR
    │   ├── ToolNotFound         TOOL_NOT_FOUND
    │   ├── NotFound             NOT_FOUND
    │   ├── Forbidden            FORBIDDEN
    │   ├── ClientCannot         FORBIDDEN, the client cannot be asked what the tool has to know
    │   ├── InputRequired        never sent: the client is asked instead, and calls again
    │   └── RateLimited          RATE_LIMITED
    ├── ServerBusy               SERVER_BUSY
    ├── BackendFailure           descends the ladder
    │   ├── DependencyFailure    DEPENDENCY_FAILURE
    │   │   ├── Throttled        DEPENDENCY_FAILURE, the backend asked for fewer calls
    │   │   └── QuestionRefused  DEPENDENCY_FAILURE, the backend would not take this one question
    │   ├── TimedOut             TIMEOUT
    │   ├── CircuitOpen          CIRCUIT_OPEN
    │   └── BudgetExhausted      BUDGET_EXHAUSTED
    └── InternalFailure          INTERNAL_ERROR

Messages are for a person and never carry addresses, secrets, driver texts or other people's data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


class Failure(Exception):
    """The base class. `code` and `name` are the wire contract; `retry_after_ms` is None where waiting does not help, and
    `soon_ms` its default."""

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
    """The caller has to change something before trying again."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One violation of the arguments' schema: where (`$.title_ids[3]`), which rule, and how to mend it."""

    path: str
    rule: str
    message: str
    fix: str

    def as_dict(self) -> dict[str, str]:
        return {"path": self.path, "rule": self.rule, "message": self.message, "fix": self.fix}


class InvalidArguments(CallerFailure):
    code, name = -32602, "VALIDATION_ERROR"

    def __init__(self, violations: Sequence[Violation]) -> None:
        self.violations = tuple(violations)
        lines = "; ".join(f"{v.path}: {v.message} ({v.fix})" for v in self.violations[:5])
        more = f"; and {len(self.violations) - 5} more" if len(self.violations) > 5 else ""
        super().__init__(lines + more, details={"violations": [v.as_dict() for v in self.violations]})


class ToolNotFound(CallerFailure):
    code, name = -32601, "TOOL_NOT_FOUND"


class NotFound(CallerFailure):
    code, name = -32007, "NOT_FOUND"


class Forbidden(CallerFailure):
    code, name = -32008, "FORBIDDEN"


class ClientCannot(Forbidden):
    """The client cannot be asked: it would have to declare these `capabilities`."""

    def __init__(self, capabilities: Sequence[str], message: str | None = None) -> None:
        self.capabilities = tuple(capabilities)
        said = message or f"This needs a client that can be asked: {', '.join(self.capabilities)}."
        super().__init__(said, details={"capabilities": list(self.capabilities)})


class InputRequired(CallerFailure):
    """The client has to answer `questions`, by name, before there is a result. `answers` are those that it gave already."""

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
    """A backend did not deliver. `dependency` names it in the store's own terms (catalog, stock, orders, profile)."""

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
    """The backend refused for load; retry later, not at once."""

    soon_ms = 1000


class QuestionRefused(DependencyFailure):
    """The backend answered that this question is malformed. It may answer others, so this never opens a breaker; and asking
    the same again does not help."""

    retryable, soon_ms = False, None


class TimedOut(BackendFailure):
    code, name = -32001, "TIMEOUT"


class CircuitOpen(BackendFailure):
    code, name = -32003, "CIRCUIT_OPEN"


class BudgetExhausted(BackendFailure):
    """The turn is over: calling again within it cannot help, a new turn can."""

    code, name, retryable, soon_ms = -32006, "BUDGET_EXHAUSTED", False, None


class InternalFailure(Failure):
    code, name, retryable = -32603, "INTERNAL_ERROR", False
