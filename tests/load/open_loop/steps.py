"""Rates doubled until the knee, then halved towards it, then twice the knee to see how the server fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.load.open_loop.measured import BUSY, Measured
from tests.load.open_loop.rig import Rig

TIMES_SLOWER, NOTICED_MS, SLOW_MS, LEAST_ACHIEVED, MOST_REFUSED = 3.0, 100.0, 500.0, 0.95, 0.01
KNEE = (
    f"The knee is the highest rate at which p99 is at most {TIMES_SLOWER:g} times that of the lowest rate (where that is less "
    f"than {NOTICED_MS:g} ms, {NOTICED_MS:g} ms) and at most {SLOW_MS:g} ms, at least {LEAST_ACHIEVED:.0%} of the calls due "
    f"got their result within a turn's 3 s, and at most {MOST_REFUSED:.0%} were refused as too many."
)
HIGHEST = 6400.0
P99 = 0.99
Say = Callable[[str], None]


@dataclass(slots=True)
class Steps:
    """`measured` by rate, lowest first. `knee` is the highest rate that was fine; None when not even the lowest was."""

    measured: list[Measured] = field(default_factory=list)
    overload: Measured | None = None

    @property
    def lowest(self) -> Measured:
        return self.measured[0]

    def why_beyond(self, step: Measured) -> str | None:
        """What is wrong at this rate; None when it is fine."""
        p99, least = step.ms(P99), self.lowest.ms(P99)
        if step.share(*BUSY) > MOST_REFUSED:
            return f"{step.share(*BUSY):.1%} refused"
        if step.achieved < LEAST_ACHIEVED:
            return f"{step.achieved:.0%} achieved"
        if p99 is None:
            return None  # too few calls to say
        if p99 > SLOW_MS:
            return f"p99 over {SLOW_MS:g} ms"
        if least is not None and p99 > max(TIMES_SLOWER * least, NOTICED_MS):
            return f"p99 {p99 / least:.1f} times the lowest rate's"
        return None

    @property
    def fine(self) -> list[Measured]:
        first_bad = self.beyond[0].rate if self.beyond else float("inf")
        return [step for step in self.measured if step.rate < first_bad]

    @property
    def beyond(self) -> list[Measured]:
        return [step for step in self.measured if self.why_beyond(step)]

    @property
    def knee(self) -> float | None:
        return self.fine[-1].rate if self.fine else None

    def add(self, step: Measured) -> None:
        self.measured.append(step)
        self.measured.sort(key=lambda each: each.rate)


async def climb(
    rig: Rig, rates: Sequence[float], seconds: float, settle: float, halvings: int, overload: bool, say: Say
) -> Steps:
    steps = Steps()

    async def measure(rate: float) -> None:
        step = await rig.run(rate, seconds, settle)
        steps.add(step)
        p50, p99 = step.ms(0.5), step.ms(P99)
        why = steps.why_beyond(step) or "fine"
        say(f"{rate:6g} calls/s: p50 {p50 or 0:.1f} ms, p99 {p99 or 0:.1f} ms, achieved {step.achieved:.1%}: {why}")

    rate = rates[0]
    for rate in rates:
        await measure(rate)
        if steps.beyond:
            break
    while halvings and not steps.beyond and rate < HIGHEST:
        rate *= 2
        await measure(rate)
    for _ in range(halvings):
        if not (steps.fine and steps.beyond):
            break
        await measure(round((steps.fine[-1].rate + steps.beyond[0].rate) / 2))
    if overload and steps.knee:
        say(f"overload, {2 * steps.knee:g} calls/s")
        steps.overload = await rig.run(2 * steps.knee, seconds, settle)
    return steps
