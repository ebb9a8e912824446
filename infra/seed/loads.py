"""Loads tables into DynamoDB and an index into OpenSearch. `look` plans a load, and `carry_out` writes it, unless in a dry
run, and adds a report to a `Done`. Both raise `SeedError`."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from infra.seed import store
from infra.seed.contents import Contents
from infra.seed.index import Loading, Plan
from server.config.settings import Settings
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import Problem
from tools.store.backends.dynamodb import diagnosis as dynamodb
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.tables import TABLES, DynamoAddress
from tools.store.backends.opensearch import diagnosis as opensearch
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.client import Client
from tools.store.failures import BackendFailure, Failure
from tools.store.ports import Embedder

EMBED_SECONDS = 30.0
IDENTIFY_SECONDS = 10.0
PERMISSIONS = "dynamodb:DescribeTable, BatchGetItem and BatchWriteItem (and CreateTable, where none is there)"
Progress = Callable[[int, int, str], None]


class SeedError(Exception):
    """The load cannot continue. The message names the setting or backend, the problem and its remedy."""

    def __init__(self, where: str, problem: Problem) -> None:
        super().__init__(f"{where}: {problem.what}; {problem.remedy}")


@dataclass(slots=True)
class Done:
    lines: list[str] = field(default_factory=list)
    nothing_to_do: bool = True
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started


class TableLoad:
    """Creates DynamoDB's tables, and loads titles, stock, releases and orders. On AWS, skips customers' tables unless a file
    of orders was named: no shop wants the demo's orders, and only then may the loading role write customers' data."""

    def __init__(self, url: str, contents: Contents, progress: Progress | None, stack: AsyncExitStack) -> None:
        self._address, self._contents, self._progress = DynamoAddress.parse(url), contents, progress
        self._connection = Connection(self._address, in_bulk=True)
        everything = contents.customers or self._address.endpoint is not None
        self._tables = TABLES if everything else tuple(table for table in TABLES if not table.personal)
        self._changes: list[store.Change] = []
        stack.push_async_callback(self._connection.aclose)

    async def look(self) -> None:
        try:
            self._changes = await store.plan(self._connection, self._tables, self._contents.items, self._progress)
        except (BackendFailure, ValueError) as error:
            raise self._error(error) from error

    async def carry_out(self, done: Done, dry_run: bool) -> None:
        started = time.monotonic()
        if not dry_run:
            try:
                await store.carry_out(self._connection, self._changes, self._progress)
            except (BackendFailure, ValueError) as error:
                raise self._error(error) from error
        done.lines.append(f"store      DynamoDB {self._address}, {time.monotonic() - started:.1f} s")
        for each in self._changes:
            done.lines.append(f"           {_told(each, dry_run)}")
            done.nothing_to_do &= not each.created and not each.to_write
        if self._tables is not TABLES:
            done.lines.append("           orders and profiles are left alone: on AWS they are loaded by --orders FILE only")

    def _error(self, error: BackendFailure | ValueError) -> SeedError:
        where = f"DynamoDB {self._address}"
        if isinstance(error, ValueError):
            what, _, remedy = str(error).partition("; ")
            return SeedError(where, Problem(what, remedy or "look at the tables there"))
        called = f"{self._address.prefix}{error.dependency}"
        return SeedError(where, dynamodb.problem_of(error, called, PERMISSIONS))


class IndexLoad:
    def __init__(
        self,
        settings: Settings,
        contents: Contents,
        embedder: Embedder | None,
        progress: Progress | None,
        stack: AsyncExitStack,
    ) -> None:
        self._address = OpenSearchAddress.parse(settings.catalog_url)
        self._embedder = embedder
        try:
            self._client = Client(self._address)
        except ValueError as error:
            raise SeedError("MANGA_CATALOG_URL", Problem(str(error), "correct it")) from None
        stack.push_async_callback(self._client.aclose)
        self._loading = Loading(self._client, contents.records, embedder, progress or (lambda done, total, what: None))
        self._plan: Plan | None = None

    async def look(self) -> None:
        try:
            await opensearch.identify(self._client, Deadline.after(IDENTIFY_SECONDS))
            self._plan = await self._loading.plan()
        except (BackendFailure, ValueError) as error:
            raise self._error(error) from error
        if self._embedder is not None and not self._plan.nothing_to_do:
            await _try(self._embedder)

    async def carry_out(self, done: Done, dry_run: bool) -> None:
        plan, started = self._plan, time.monotonic()
        assert plan is not None
        if not dry_run and not plan.nothing_to_do:
            try:
                await self._loading.run(plan)
            except (BackendFailure, ValueError) as error:
                raise self._error(error) from error
        done.lines.append(f"catalogue  OpenSearch {self._address}, {time.monotonic() - started:.1f} s")
        done.lines.append(f"           {_planned(plan, dry_run)}")
        done.nothing_to_do &= plan.nothing_to_do

    def _error(self, error: BackendFailure | ValueError) -> SeedError:
        where = f"OpenSearch {self._address}"
        if isinstance(error, ValueError):
            what, _, remedy = str(error).partition(": ")
            return SeedError(where, Problem(what, remedy or "look at its indices"))
        if error.dependency == "embedder":
            return SeedError("MANGA_EMBEDDER", Problem(error.message.rstrip("."), "run: python -m server doctor"))
        return SeedError(where, opensearch.problem_of(error, self._address))


async def _try(embedder: Embedder) -> None:
    """Embeds one word; raises `SeedError` if that fails, so that an embedder that cannot work is reported at once: the load
    would retry for minutes."""
    try:
        await embedder.embed(["漫画"], Deadline.after(EMBED_SECONDS))
    except Failure as failure:
        raise SeedError("MANGA_EMBEDDER", Problem(failure.message.rstrip("."), "run: python -m server doctor")) from failure


def _told(change: store.Change, dry_run: bool) -> str:
    would = "would be " if dry_run else ""
    state = f"{would}created" if change.created else "is there"
    if not change.to_write and not change.unchanged:
        return f"table {change.called} {state}"
    written = f"{len(change.new):,} new and {len(change.changed):,} changed items {would}written"
    return f"table {change.called} {state}: {written}, {change.unchanged:,} unchanged"


def _planned(plan: Plan, dry_run: bool) -> str:
    if plan.nothing_to_do:
        return f"index {plan.index} serves these {plan.titles:,} titles already: nothing to do"
    would = "would be " if dry_run else ""
    begun = f"goes on at {plan.there:,}: " if plan.there else f"{would}created: "
    replaced = f" instead of {', '.join(plan.replaces)}, which stays until the next load" if plan.replaces else ""
    return f"index {plan.index} {begun}{plan.titles - plan.there:,} titles {would}written; {would}in service{replaced}"
