"""Turns over a fleet of tasks, with what happens to it meanwhile, and what came of every call."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.load.fleet.demand import arrivals
from tests.load.fleet.engine import Clock
from tests.load.fleet.inputs import Inputs, Mode
from tests.load.fleet.task import ANSWERED, LOST, REFUSED, Task, World
from tests.load.results import percentile

NOTHING, ZONE, REDIS, OPENSEARCH = "nothing", "a zone", "Redis", "OpenSearch"
DRAIN_SECONDS = 10.0
"""How long the last calls are waited for."""
FALLBACK = "fallback"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is simulated: `calls` a second over so many tasks, for so long, and what goes after a third of it."""

    calls: float
    tasks: int
    seconds: float
    goes: str = NOTHING
    seed: int = 1


@dataclass(slots=True)
class Outcome:
    """`milliseconds` of the calls that were answered after it went (all of them, where nothing did); the others are counts of
    the whole run."""

    begun: int = 0
    answered: int = 0
    refused: int = 0
    lost: int = 0
    degraded: int = 0
    milliseconds: list[float] = field(default_factory=list)
    busy: float = 0.0

    def ms(self, share: float) -> float:
        return percentile(sorted(self.milliseconds), share) if self.milliseconds else float("nan")

    @property
    def refused_share(self) -> float:
        return self.refused / max(1, self.begun)


class Run:
    """One of it. The same plan and inputs have the same outcome."""

    def __init__(self, plan: Plan, mode: Mode, inputs: Inputs) -> None:
        self._plan, self._inputs = plan, inputs
        self._draw = random.Random(plan.seed)
        self._world = World(Clock(), self._draw, mode, inputs.rules)
        zones = inputs.plan["zones"]
        self._tasks = [Task(self._world, number % zones) for number in range(plan.tasks)]
        self._goes_at = 0.0 if plan.goes == NOTHING else plan.seconds / 3
        self.outcome = Outcome()

    def __call__(self) -> Outcome:
        clock, plan = self._world.clock, self._plan
        for due in arrivals(plan.calls / len(self._inputs.turn.steps), plan.seconds, self._draw):
            clock.after(due, self._turn)
        if plan.goes != NOTHING:
            clock.after(self._goes_at, self._go)
        clock.run(plan.seconds + DRAIN_SECONDS)
        self.outcome.busy = sum(task.processor.busy for task in self._tasks) / plan.seconds / plan.tasks
        return self.outcome

    def goes_already(self, what: str) -> None:
        """Has a backend be away from the beginning, when every breaker is open."""
        if what != NOTHING:
            self._world.away.add(what.lower())
            for task in self._tasks:
                task.opens(what.lower())

    def _go(self) -> None:
        if self._plan.goes == ZONE:
            for task in self._tasks:
                task.dead = task.zone == 0
        else:
            self._world.away.add(self._plan.goes.lower())

    def _turn(self) -> None:
        """An agent stays with the task that it runs beside."""
        alive = [task for task in self._tasks if not task.dead]
        self._step(self._draw.choice(alive), 0)

    def _step(self, task: Task, number: int) -> None:
        turn, began = self._inputs.turn, self._world.clock.now
        self.outcome.begun += 1

        def told(how: str, degraded: bool) -> None:
            self._count(how, degraded, began)
            if how != LOST and number + 1 < len(turn.steps):
                think = min(self._draw.expovariate(1 / turn.think_seconds), turn.longest_think_seconds)
                self._world.clock.after(think, lambda: self._step(task, number + 1))

        if task.dead:
            told(LOST, True)
        else:
            self._ask(task, number, told)

    def _ask(self, task: Task, number: int, told: Callable[[str, bool], None]) -> None:
        step = self._inputs.turn.steps[number]
        (tool,) = self._draw.choices(list(step), list(step.values()))
        live = self._draw.random() < self._inputs.turn.live[tool] or "redis" in self._world.away
        kinds = self._world.mode.kinds
        if live and "opensearch" in kinds[tool].asks and task.gives_up_on("opensearch"):
            task.call(kinds[FALLBACK], lambda how, _: told(how, True))
        else:
            task.call(kinds[tool if live else "cached"], told)

    def _count(self, how: str, degraded: bool, began: float) -> None:
        outcome, now = self.outcome, self._world.clock.now
        outcome.answered += how == ANSWERED
        outcome.refused += how == REFUSED
        outcome.lost += how == LOST
        outcome.degraded += degraded and how == ANSWERED
        if how == ANSWERED and began >= self._goes_at:
            outcome.milliseconds.append(1000 * (now - began) + self._world.mode.outside_ms)
