"""What each backend is given: when it counts as slow, what one attempt may take, how many run at once."""

from __future__ import annotations

import math

from session.resilience.breaker import BreakerPolicy
from session.resilience.retry import RetryPolicy
from tools.store.guarded.backend import BackendPolicy

POLICIES = {
    # Details have 0.3 s, half of what is slow for a search: who waited for all of that has waited long enough to tell.
    "catalog": BackendPolicy(slow_seconds=0.6, attempt_seconds=0.8, telling_share=0.4),
    "titles": BackendPolicy(slow_seconds=0.15, attempt_seconds=0.2),
    "stock": BackendPolicy(slow_seconds=0.15, attempt_seconds=0.2),
    "releases": BackendPolicy(slow_seconds=0.15, attempt_seconds=0.2),
    "orders": BackendPolicy(slow_seconds=0.25, attempt_seconds=0.3),
    # Who only wants to know what is remembered waits 0.06 s: all of that tells.
    "profile": BackendPolicy(slow_seconds=0.1, attempt_seconds=0.15, telling_share=0.5),
    # Three pictures each: of those, a few at once are more than the rest of the answers together.
    "pages": BackendPolicy(slow_seconds=0.6, attempt_seconds=0.75, places=16),
    # A model far away takes what it takes; asked again it would only be later.
    "classifier": BackendPolicy(slow_seconds=1.2, attempt_seconds=1.4, places=16, retry=RetryPolicy(attempts=1)),
}
# What a search is only read better by has a breaker of its own, is asked once, and answers at once or not at all.
BESIDE = {"names": BackendPolicy(slow_seconds=0.15, attempt_seconds=0.2, retry=RetryPolicy(attempts=1))}
# What is read behind the calls has longer, goes one at a time, and is no word on how a backend answers a call.
BEHIND = {
    "catalog": BackendPolicy(slow_seconds=5.0, attempt_seconds=5.0, places=1, retry=RetryPolicy(attempts=1)),
    "stock": BackendPolicy(slow_seconds=1.0, attempt_seconds=1.0, places=1, retry=RetryPolicy(attempts=1)),
}
# A trip that took too long has failed by itself. Shorter ones are never called slow: with many calls at once most of
# what a clock sees is this process's own work, and a breaker that opened for it would take everyone's session away.
REDIS = BreakerPolicy(slow_seconds=math.inf)
