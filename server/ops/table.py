"""How the dependencies fare: what `/readyz` knows of each, and what to do, which is what doctor's table says."""

from __future__ import annotations

import asyncio
from typing import Any

from server.runtime.health import Dependencies
from session.resilience.breaker import BreakerState
from session.resilience.tasks import start_task

RUNBOOKS = "infra/RUNBOOKS.md"
DOCTOR = "`python -m server doctor` asks it again and says why."


def _book(alarm: str) -> str:
    return f" {RUNBOOKS}#{alarm.lower()}"


FAILURES = {
    "VALIDATION_ERROR": "The model's arguments break the tool's schema. Nothing to mend here, unless one tool gets many: "
    "look at its description. The log names path and rule of each.",
    "TOOL_NOT_FOUND": "A tool was called that is switched off. See the flags, and whether the agent keeps an old list.",
    "NOT_FOUND": "An order or a title that there is not. Many of them: is the catalogue or the orders' table the right one?",
    "FORBIDDEN": "A token, a scope or a stated user was refused. Many of them: did a secret or an issuer's key change?",
    "INPUT_REQUIRED": "No error: the client was asked for more, and calls again.",
    "RATE_LIMITED": "One caller asks more than 10 times a second. Look for an agent that repeats itself."
    + _book("MangaRefusesMany"),
    "SERVER_BUSY": "More calls at once than MANGA_MAX_CONCURRENT_CALLS: add tasks." + _book("MangaUnusableBurn"),
    "DEPENDENCY_FAILURE": "A backend refused or broke off: the breakers and dependencies on this page say which. "
    + DOCTOR
    + _book("MangaBackendLost"),
    "TIMEOUT": "A backend was too slow: the waterfalls show which attempt waited. Look at its load." + _book("MangaSlow"),
    "CIRCUIT_OPEN": "A backend is left alone after failures: the breakers on this page say which, and why. It is "
    "tried again by itself." + _book("MangaBackendLost"),
    "BUDGET_EXHAUSTED": "The turn's time was over before this call began: see what took it in the turn's other calls."
    + _book("MangaUnusableBurn"),
    "INTERNAL_ERROR": "A fault in this server: the log has it with its trace, by the call's id."
    + _book("MangaInternalErrors"),
}
"""By the name that a client is told."""
UNKNOWN_FAILURE = "A name that this version does not know: look into the log." + _book("MangaCallsFail")
DEPENDENCIES = {
    "catalog": "The standby catalogue answers where there is one; else searches fall back to popular titles. "
    + DOCTOR
    + _book("MangaBackendLost"),
    "titles": "Details come from the catalogue alone. " + DOCTOR + _book("MangaBackendImpaired"),
    "stock": "Availability is last known. " + DOCTOR + _book("MangaBackendLost"),
    "releases": "Volumes and their dates are missing. " + DOCTOR + _book("MangaBackendImpaired"),
    "orders": "Orders cannot be shown: there is no fallback. " + DOCTOR + _book("MangaBackendLost"),
    "profile": "Recommendations do not know their reader. " + DOCTOR + _book("MangaBackendImpaired"),
    "pages": "There are no previews. " + DOCTOR + _book("MangaBackendImpaired"),
    "redis": "Each process goes on with what it knows by itself. " + DOCTOR + _book("MangaRedisAway"),
    "classifier": "Genres of texts are not told. " + DOCTOR + _book("MangaBackendImpaired"),
    "embedder": "Searches go by words alone. " + DOCTOR + _book("MangaBackendImpaired"),
    "background": "A task beside the calls has died and is begun again; the log says why."
    + _book("MangaBackgroundTaskDies"),
    "packages": "A package's tools were not loaded: `python -m server tools` says why.",
    "flags": "The flags stay as they were read last: mend the document or its source." + _book("MangaFlagsLag"),
    "standby": "If search fails now, the standby catalogue is missing or old: has the seed run?" + _book("MangaReplicaLags"),
}
UNKNOWN_DEPENDENCY = DOCTOR


def for_failure(name: str) -> str:
    return FAILURES.get(name, UNKNOWN_FAILURE)


def for_dependency(name: str) -> str:
    return DEPENDENCIES.get(name, UNKNOWN_DEPENDENCY)


REFRESH_SECONDS = 30.0
STATUS = {"ok": "ok", "open": "degraded", "half_open": "degraded", "down": "down"}
Json = dict[str, Any]


class Table:
    """Asked behind what is told: each for half a second at most, all of them each half minute, and sooner when a breaker has
    opened or closed. Nobody waits for it."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._states: dict[str, Json] = {}
        self._asked_at = float("-inf")
        self._eras: list[int] = []
        self._asking: asyncio.Task[None] | None = None

    def tick(self) -> None:
        due = self._dependencies.clock() - self._asked_at >= REFRESH_SECONDS or self._eras != self._now()
        if due and self._asking is None:
            self._asked_at, self._eras = self._dependencies.clock(), self._now()
            self._asking = start_task(self._ask(), "ops-dependencies")

    def end(self) -> None:
        if self._asking is not None:
            self._asking.cancel()

    def rows(self) -> list[Json]:
        return [self._row(name) for name in self._dependencies.probes]

    def _row(self, name: str) -> Json:
        known, breaker = self._states.get(name), self._dependencies.probes[name][1]
        status = STATUS.get(known["state"], "unknown") if known else "unknown"
        if status == "ok" and breaker is not None and breaker.state is not BreakerState.CLOSED:
            status = "degraded"
        detail = known.get("detail") if known else None
        return {"name": name, "status": status, "detail": detail, "advice": _advice(name, status)}

    def _now(self) -> list[int]:
        return [breaker.era for _, breaker in self._dependencies.probes.values() if breaker is not None]

    async def _ask(self) -> None:
        try:
            self._states = await self._dependencies.states()
        finally:
            self._asking = None


def _advice(name: str, status: str) -> str | None:
    return for_dependency(name) if status in ("down", "degraded") else None
