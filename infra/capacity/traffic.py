"""Traffic of a day: messages, the tool calls that answer them, and the calls that no cache answers."""

from __future__ import annotations

from dataclasses import dataclass, fields

from infra.capacity.inputs import CACHED, LIVE, Consumed, Inputs

HOUR = 3600.0
HOURS = range(24)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Day with a number of customers' `messages`. If `cached` is False, every call reaches the backends."""

    messages: float
    inputs: Inputs
    cached: bool = True

    @property
    def calls_a_message(self) -> float:
        return float(sum(self.inputs["turn"]["calls"].values()))

    @property
    def calls(self) -> float:
        return self.messages * self.calls_a_message

    def share(self, hour: int) -> float:
        hours = self.inputs["day"]["hours"]
        return float(hours[hour] / sum(hours))

    def calls_a_second(self, hour: int) -> float:
        return self.calls * self.share(hour) / HOUR

    @property
    def peak(self) -> float:
        """Calls a second in the busiest hour."""
        return max(self.calls_a_second(hour) for hour in HOURS)

    def live(self, kind: str) -> float:
        """Returns the calls a day of this kind that no cache answers."""
        turn = self.inputs["turn"]
        return float(self.messages * turn["calls"][kind] * (turn["live"][kind] if self.cached else 1.0))

    @property
    def embedded_texts(self) -> float:
        """Texts a day to embed: one for each search and recommendation that no cache answers."""
        return self.live("search") + self.live("recommend")

    def consumed(self) -> Consumed:
        sums = dict.fromkeys((field.name for field in fields(Consumed)), 0.0)
        for kind, calls in self.inputs["turn"]["calls"].items():
            live = self.live(kind)
            for how, times in ((LIVE, live), (CACHED, self.messages * calls - live)):
                one = self.inputs.consumed.get((how, kind), Consumed())
                for name in sums:
                    sums[name] += times * getattr(one, name)
        return Consumed(**sums)
