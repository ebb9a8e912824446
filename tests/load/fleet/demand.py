"""When turns come: a day's curve, and a sale that everybody hears of at once."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

HOUR, DAY = 3600.0, 86_400.0


@dataclass(frozen=True, slots=True)
class Demand:
    """So many messages a day, of which each is a turn."""

    messages_a_day: float
    day: Mapping[str, Any]

    def at(self, hour: int) -> float:
        """Messages a second in that hour: the curve's weights are scaled to the day's sum."""
        hours = self.day["hours"]
        return float(self.messages_a_day / HOUR * hours[hour] / sum(hours))

    @property
    def peak(self) -> float:
        return max(self.at(hour) for hour in range(24))

    @property
    def flash_sale(self) -> float:
        """Messages a second while it lasts, if it falls into the busiest hour."""
        return float(self.peak * self.day["flash_sale_times"])


def arrivals(rate: float, seconds: float, draw: random.Random) -> list[float]:
    """A Poisson process of `rate` a second: when each comes, in seconds."""
    due, found = 0.0, []
    if rate <= 0:
        return found
    while (due := due + draw.expovariate(rate)) < seconds:
        found.append(due)
    return found
