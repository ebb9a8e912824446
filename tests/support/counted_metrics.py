"""The server's metrics, which also tell what became of each event."""

from __future__ import annotations

from server.telemetry.metrics import Metrics


class CountedMetrics(Metrics):
    """The server's, and what became of each event on its way to a profile."""

    def __init__(self) -> None:
        super().__init__()
        self.profile_events: list[str] = []

    def count_profile_event(self, result: str) -> None:
        super().count_profile_event(result)
        self.profile_events.append(result)
