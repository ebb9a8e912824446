"""What a check is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from session.resilience.deadline import Deadline
from session.resilience.diagnosis import Diagnosis

Check = Callable[[Deadline], Awaitable[Diagnosis]]


def always(diagnosis: Diagnosis) -> Check:
    """Answers for what needs no asking."""

    async def check(deadline: Deadline) -> Diagnosis:
        return diagnosis

    return check
