"""When each turn begins and how long its agent thinks: fixed before the first call is sent, whatever the server does.

Turns arrive by a Poisson process (a million customers who know nothing of each other). A turn is three calls one after the
other, because an agent needs an answer to go on: the next call is due when the answer is there and the agent has thought,
for a time that was drawn in advance. So the system is "partly open" (Schroeder, Wierman and Harchol-Balter, "Open versus
closed: a cautionary tale", NSDI 2006): a server that stalls meets every turn that would have come in that time.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

CALLS_A_TURN = 3
THINK_SECONDS, LONGEST_THINK_SECONDS = 0.3, 0.7


@dataclass(frozen=True, slots=True)
class Ask:
    """One call: the tool, its JSON arguments, and what is asked in its place when an earlier one was refused or not remembered."""

    tool: str
    arguments: str
    instead: str | None = None

    def arguments_after(self, refused: bool) -> str:
        return self.instead if refused and self.instead is not None else self.arguments


@dataclass(frozen=True, slots=True)
class Turn:
    """`due` is seconds from the start of the run; `thinks` are the pauses before the second and the third call."""

    due: float
    asks: Sequence[Ask]
    thinks: Sequence[float]
    user: str
    session: str
    name: str


def arrivals(calls_per_second: float, seconds: float, random_: random.Random) -> list[float]:
    """When turns begin, in seconds, so that they bring so many calls a second on average."""
    rate, due, found = calls_per_second / CALLS_A_TURN, 0.0, []
    while (due := due + random_.expovariate(rate)) < seconds:
        found.append(due)
    return found


def thinking(random_: random.Random) -> tuple[float, ...]:
    """Exponential, and cut so that three calls and two thoughts have room in the three seconds of a turn."""
    return tuple(min(random_.expovariate(1 / THINK_SECONDS), LONGEST_THINK_SECONDS) for _ in range(CALLS_A_TURN - 1))
