"""What a check is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from session.resilience.deadline import Deadline
from session.resilience.diagnosis import Diagnosis

Check = Callable[[Deadline], Awaitable[Diagnosis]]


def always(diagnosis: Diagnosis) -> Check:
    """Answers for what needs no asking."""

    async def check(deadline: Deadline) -> Diagnosis:
        return diagnosis

    return check


def once(check: Check) -> Check:
    """Asks once, whoever wants to know."""
    asked: list[asyncio.Task[Diagnosis]] = []

    async def shared(deadline: Deadline) -> Diagnosis:
        if not asked:
            asked.append(asyncio.ensure_future(check(deadline)))
        return await asyncio.shield(asked[0])

    return shared
