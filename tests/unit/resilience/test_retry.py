"""How often a call may be retried, and after what pause."""

from __future__ import annotations

from session.resilience.deadline import RetryBudget, RetryPolicy


def test_default_retry_budget_allows_ten_at_once_then_one_per_ten_calls() -> None:
    budget = RetryBudget()
    assert [budget.spend() for _ in range(11)] == [True] * 10 + [False]
    for _ in range(11):  # of a tenth each, which are not exact
        budget.earn()
    assert [budget.spend() for _ in range(2)] == [True, False]


def test_retry_budget_holds_no_more_than_its_maximum() -> None:
    budget = RetryBudget(share=0.5, most=2)
    budget.earn()
    assert [budget.spend() for _ in range(3)] == [True, True, False]


def test_default_policy_retries_once_after_at_most_40_ms() -> None:
    policy = RetryPolicy(draw=lambda: 1.0)
    assert RetryPolicy().attempts == 2
    assert [policy.pause(n) for n in (1, 2, 3, 4, 5)] == [0.04, 0.08, 0.16, 0.2, 0.2]
