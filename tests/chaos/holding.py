"""A server whose searches wait until a test lets them go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from unittest.mock import patch

from server import wiring
from server.backends import guarded_store as policies
from server.config.settings import Settings
from tests.support.inprocess import HeldCatalog, InProcess, in_process
from tests.support.process import until
from tools.registry import TOOLS
from tools.store.ports import CatalogPort

SOON = 30.0
PATIENT_SECONDS = 60.0


@dataclass
class Held:
    server: InProcess
    catalog: HeldCatalog

    @property
    def port(self) -> int:
        return self.server.port

    async def begun(self, searches: int = 1) -> None:
        await until(lambda: self.catalog.begun >= searches, SOON, f"{searches} searches under way")

    async def at_rest(self) -> None:
        """No search, no call, no flight, no claim, and no task of one is left."""
        app = self.server.app
        await until(lambda: self.catalog.under_way == 0, SOON, "no search under way")
        await until(lambda: app.pipeline.shed.under_way == 0, SOON, "no call under way")
        await until(lambda: not app.pipeline.cache.flights, SOON, "no flight left")
        await until(lambda: not tasks_of_calls(), SOON, "no task of a call left")


def tasks_of_calls() -> list[str]:
    """Names of the tasks that exist for a call's sake."""
    names = ("flight ", "refresh ", "release of ")
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith(names)]


@asynccontextmanager
async def holding(seconds: float = PATIENT_SECONDS) -> AsyncIterator[Held]:
    """A server whose searches wait for so long. (No fixture: one would be set up and torn down in different tasks.)"""
    catalogs: list[HeldCatalog] = []

    def hold(catalog: CatalogPort) -> HeldCatalog:
        catalogs.append(HeldCatalog(catalog))
        return catalogs[0]

    # On a slow machine many clients at once take their time, and only they are to end a search: what is cut off late would
    # be counted against the backend and the tool, and those that come after it would not be asked for.
    patient = replace(policies.POLICIES["catalog"], slow_seconds=PATIENT_SECONDS, attempt_seconds=PATIENT_SECONDS)
    milliseconds = round(PATIENT_SECONDS * 1000)
    settings = Settings(turn_budget_ms=milliseconds, call_timeout_ms=milliseconds)
    with (
        patch.dict(policies.POLICIES, catalog=patient),
        patch.object(wiring, "TOOLS", [replace(tool, timeout_ms=round(seconds * 1000)) for tool in TOOLS]),
        patch("server.stages.admission.LONGEST_WAIT_MS", PATIENT_SECONDS * 1000),
    ):
        async with in_process(lambda ports: replace(ports, catalog=hold(ports.catalog)), settings) as server:
            yield Held(server, catalogs[0])
