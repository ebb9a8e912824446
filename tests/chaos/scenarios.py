"""What is played: every fault at every backend, some two at once, Redis's clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.chaos import faults
from tests.chaos.faults import Fault

BACKENDS = ("opensearch", "dynamodb", "redis", "bedrock")


@dataclass(frozen=True, slots=True)
class Scenario:
    """Which backends have which fault, all at the same time."""

    faults: Mapping[str, Fault]

    @property
    def name(self) -> str:
        return " + ".join(f"{backend} {fault.name}" for backend, fault in self.faults.items())

    @property
    def backends(self) -> tuple[str, ...]:
        return tuple(self.faults)

    @property
    def clock(self) -> bool:
        return any(fault.clock_step for fault in self.faults.values())

    @property
    def own(self) -> bool:
        """Whether it does something to a process, which has to be one's own."""
        return any(fault.deed is not None for fault in self.faults.values())


def one(backend: str, fault: Fault) -> Scenario:
    return Scenario({backend: fault})


TWO_AT_ONCE = (
    Scenario({"opensearch": faults.HANG_MID, "redis": faults.HANG}),
    Scenario({"opensearch": faults.REFUSED, "dynamodb": faults.REFUSED}),
    Scenario({"opensearch": faults.HANG_MID, "dynamodb": faults.LATENCY}),
    Scenario({"dynamodb": faults.LATENCY, "redis": faults.LATENCY}),
    Scenario({"dynamodb": faults.HANG, "bedrock": faults.DRIP}),
    Scenario({"opensearch": faults.JITTER, "dynamodb": faults.THROTTLED}),
    Scenario({"opensearch": faults.PAUSED, "redis": faults.KILLED}),
)

MATRIX = (
    *(one(backend, fault) for fault in faults.EVERYWHERE for backend in BACKENDS),
    *TWO_AT_ONCE,
    *(one("redis", fault) for fault in faults.CLOCKS),
)

SHORT = (
    one("opensearch", faults.HANG_MID),
    one("dynamodb", faults.THROTTLED),
    one("redis", faults.HANG),
    one("bedrock", faults.DRIP),
    Scenario({"opensearch": faults.REFUSED, "redis": faults.LATENCY}),
)
"""For CI: every backend, and none of their processes, which other tests may be using."""


def chosen(words: list[str]) -> list[Scenario]:
    """Those whose name has each of the words; all of the matrix when there is none."""
    return [each for each in MATRIX if all(word in each.name for word in words)]
