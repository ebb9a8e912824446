"""When to ask a backend again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `attempts` in all, the n-th after a pause drawn evenly from 0 to `base * 2**n` seconds, at most `longest`:
    "full jitter" (Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015)."""

    attempts: int = 2
    base: float = 0.02
    longest: float = 0.2


class RetryBudget:
    """Lets retries be a share of the calls, so that a backend in trouble is not asked twice as much as a healthy one
    (Google SRE Book, ch. 21, "Handling Overload")."""

    def __init__(self, share: float = 0.1, most: float = 10.0) -> None:
        self._share = share
        self._most = most
        self._tokens = most

    def earn(self) -> None:
        self._tokens = min(self._most, self._tokens + self._share)

    def spend(self) -> bool:
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class Backoff:
    """The pauses of a policy, each drawn anew."""

    def __init__(self, policy: RetryPolicy, draw: Callable[[], float] = random.random) -> None:
        self._policy = policy
        self._draw = draw

    def pause(self, attempt: int) -> float:
        """Seconds to wait before attempt number `attempt` + 1 (the first attempt is number 1)."""
        return self._draw() * min(self._policy.longest, self._policy.base * 2.0**attempt)
