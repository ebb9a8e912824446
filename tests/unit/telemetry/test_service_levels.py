"""Which answers count as good: the rule behind the alarms."""

from __future__ import annotations

from server.telemetry.metrics import Metrics
from server.telemetry.service_levels import OWN_FAILURES, usable
from tests.support.cases import cases
from tests.support.events import an_event
from tools.store import failures
from tools.store.failures import CallerFailure, Failure


@cases(
    ("changed", "verdict"),
    [
        ({}, True),
        ({"source": "fallback", "degraded": ("catalog",)}, True),
        ({"source": "fallback", "degraded": ("matches",)}, False),
        ({"empty": True}, True),
        ({"empty": True, "source": "cache"}, True),
        ({"empty": True, "degraded": ("session",)}, True),
        ({"empty": True, "degraded": ("session", "vector")}, False),
        ({"empty": True, "source": "fallback"}, False),
        ({"empty": True, "source": "stale"}, False),
        ({"outcome": "TIMEOUT", "source": None}, False),
        ({"outcome": "SERVER_BUSY", "source": None}, False),
        ({"outcome": "NOT_FOUND", "source": None}, None),
        ({"outcome": "cancelled", "source": None}, None),
        ({"outcome": "BUDGET_EXHAUSTED", "source": None}, None),
    ],
)
def test_answer_is_usable_unless_it_failed_or_was_a_bare_fallback(changed: dict[str, object], verdict: bool | None) -> None:
    assert usable(an_event(**changed)) is verdict


def test_every_failure_kind_is_a_caller_error_or_counts_against_the_service() -> None:
    """A new failure kind needs a decision here."""
    named = {each for each in vars(failures).values() if isinstance(each, type) and issubclass(each, Failure)}
    for failure in named - {Failure, CallerFailure, failures.BackendFailure, failures.BudgetExhausted}:
        assert issubclass(failure, CallerFailure) is not (failure.name in OWN_FAILURES), failure


def test_service_level_verdicts_are_counted_and_start_at_zero() -> None:
    """A ratio of two series that do not exist yet has no value, and raises no alarm."""
    metrics = Metrics()

    def count(verdict: str) -> float | None:
        return metrics.registry.get_sample_value("manga_service_level_total", {"level": "usable", "verdict": verdict})

    assert (count("good"), count("bad")) == (0.0, 0.0)
    for outcome in ("ok", "ok", "CIRCUIT_OPEN", "NOT_FOUND"):
        metrics(an_event(outcome=outcome))
    assert (count("good"), count("bad")) == (2.0, 1.0)
