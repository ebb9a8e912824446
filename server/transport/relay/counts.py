"""What `/metrics` tells of the relay."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge

ANSWERED, GONE, UNREACHED, LOST = "answered", "gone", "unreached", "lost"
"""What became of a request that was passed on: begun to be answered by its owner, or refused here because that has
ended, nobody took the request, or no answer came."""


class Counts:
    """`forwarded` is told of each request when it is over."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._forwarded = Counter(
            "manga_relay_forwarded", "Requests passed on to the process of their session.", ["outcome"], registry=registry
        )
        self._under_way = Gauge(
            "manga_relay_under_way", "Requests passed on, asked here and served here.", ["side"], registry=registry
        )
        self._peers = Gauge("manga_relay_peers", "Processes with which a request is under way.", registry=registry)
        for outcome in (ANSWERED, GONE, UNREACHED, LOST):
            self._forwarded.labels(outcome)

    def forwarded(self, outcome: str) -> None:
        self._forwarded.labels(outcome).inc()

    def watch(self, asked: Callable[[], float], served: Callable[[], float], peers: Callable[[], float]) -> None:
        """Asks these whenever it is looked at."""
        self._under_way.labels("asked").set_function(asked)
        self._under_way.labels("served").set_function(served)
        self._peers.set_function(peers)
