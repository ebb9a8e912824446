"""Ports behind their guards: every call of a port runs through its `Backend`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from tools.store.guarded.backend import Backend

P = TypeVar("P")
GUARDED = frozenset(
    {
        *("search", "get", "popular", "for_reader", "nearest"),  # CatalogPort and TitlesPort
        *("availability", "of_month", "pages", "classify"),
        *("order", "latest", "purchased", "bought"),
        *("recall", "forget", "stated", "keep"),
    }
)
NAMES = frozenset({"terms", "match_names"})
"""Calls that only help to read a search: they may have a guard of their own, so that late ones keep no search waiting."""
UNGUARDED = frozenset({"health", "remember"})
"""Health asks the backend itself: a probe that the breaker answered would never see it recover. Events of a profile are
written behind the calls, one batch at a time, bounded and not repeated; they may take longer than a read."""


def guard_port(port: P, backend: Backend, names: Backend | None = None) -> P:
    """The port with each call run by `backend`, and look-ups of names and terms by `names` where that is given."""
    return cast(P, _GuardedPort(port, backend, names or backend))


class _GuardedPort:
    """The last argument of each method is the deadline, which the guard shortens for each attempt."""

    def __init__(self, port: object, backend: Backend, names: Backend) -> None:
        self._port, self._backend, self._names = port, backend, names

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        if method not in GUARDED | NAMES | UNGUARDED:
            raise AttributeError(f"no port has a method {method}")
        call: Callable[..., Awaitable[Any]] = getattr(self._port, method)
        if method in UNGUARDED:
            return call
        backend = self._names if method in NAMES else self._backend

        async def guarded(*arguments: Any) -> Any:
            *asked, deadline = arguments
            return await backend.call(lambda attempt: call(*asked, attempt), deadline, method)

        return guarded
