"""Loads items into DynamoDB: creates missing tables, then writes the items that are missing or differ.

The load reads the tables first and needs no record of progress. So an interrupted load continues where it stopped, a
repeated load writes nothing, and a dry run knows what would be written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from session.resilience.deadline import RetryPolicy
from tools.store.backends.aws_client import code_of, failure_of
from tools.store.backends.dynamodb.connection import WRITE_BATCH, WRITES_AT_ONCE, Connection, TableAdapter
from tools.store.backends.dynamodb.diagnosis import difference
from tools.store.backends.dynamodb.items import Item
from tools.store.backends.dynamodb.tables import TABLES, DynamoAddress, Table
from tools.store.failures import DependencyFailure, Throttled
from tools.store.shape import ShapeError

READ_AT_ONCE = 100
"""Most keys of one BatchGetItem request."""
READERS = 4
ATTEMPTS = 12

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Change:
    """Planned changes of a table. `called`: the table's full name. `created`: the table has to be created. `new` items are
    written before `changed` ones; `unchanged` is the number of items that need no write."""

    table: Table
    called: str
    created: bool
    new: tuple[Item, ...]
    changed: tuple[Item, ...]
    unchanged: int

    @property
    def to_write(self) -> tuple[Item, ...]:
        return (*self.new, *self.changed)


async def plan(
    connection: Connection, tables: Sequence[Table], contents: Mapping[Table, Sequence[Item]], progress: Progress | None
) -> list[Change]:
    """Plans the changes of each table for these contents, and changes nothing. On AWS, items that a personal table already
    has are left as they are. Raises BackendFailure, and ValueError for a table that differs from its definition."""
    address = connection.address
    problems = await asyncio.to_thread(describe_tables, address, tables)
    for name, problem in problems.items():
        if problem not in (None, MISSING):
            raise ValueError(f"{name}: {problem}; remove it, or set another table_prefix in MANGA_STORE_URL")
    missing = {name for name, problem in problems.items() if problem == MISSING}
    return [
        await _change(
            connection, table, tuple(contents.get(table, ())), table.full_name(address.prefix) in missing, progress
        )
        for table in tables
    ]


async def carry_out(connection: Connection, changes: Sequence[Change], progress: Progress | None) -> None:
    """Writes the changes. Raises BackendFailure, and ValueError if a table created meanwhile differs from its definition."""
    # Without tables this sends no request, since a role that may write need not be allowed to create.
    await asyncio.to_thread(create_tables, connection.address, [each.table for each in changes if each.created])
    for change in changes:
        items, what = change.to_write, f"items into {change.called}"
        if items:
            tell = _counted(progress, len(items), what) if progress else None
            await write_all(connection, change.table, items, progress=tell)


def _counted(progress: Progress, total: int, what: str) -> Callable[[int], None]:
    return lambda done: progress(done, total, what)


async def _change(
    connection: Connection, table: Table, items: tuple[Item, ...], created: bool, progress: Progress | None
) -> Change:
    called = table.full_name(connection.address.prefix)
    if created or not items:
        return Change(table, called, created, items, (), 0)
    there = await _there(connection, table, items, progress)
    new, changed = [], []
    keeps = table.personal and connection.address.endpoint is None  # on AWS orders go on: a file may only add some
    for item in items:
        found = there.get(table.key_of(item))
        if found is None:
            new.append(item)
        elif not keeps and any(
            found.get(name) != value for name, value in item.items()
        ):  # attributes added by others are ignored
            changed.append(item)
    return Change(table, called, created, tuple(new), tuple(changed), len(items) - len(new) - len(changed))


async def _there(
    connection: Connection, table: Table, items: Sequence[Item], progress: Progress | None
) -> dict[tuple[str, ...], Item]:
    found: dict[tuple[str, ...], Item] = {}
    turns = asyncio.Semaphore(READERS)
    called, done = table.full_name(connection.address.prefix), 0

    async def look(part: Sequence[Item]) -> None:
        nonlocal done
        async with turns:
            for item in await _read(connection, table, called, part):
                found[table.key_of(item)] = item
        done += len(part)
        if progress:
            progress(done, len(items), f"items looked up in {called}")

    try:
        async with asyncio.TaskGroup() as group:
            for part in _parts(items):
                group.create_task(look(part))
    except ExceptionGroup as failed:
        first = failed.exceptions[0]
        raise first from first.__cause__
    return found


async def _read(connection: Connection, table: Table, called: str, items: Sequence[Item]) -> list[Item]:
    names = [name for name in (table.partition_key, table.sort_key) if name]
    keys: list[Any] = [{name: item[name] for name in names} for item in items]
    retry = RetryPolicy(base=0.05, longest=5.0)
    read: list[Item] = []
    for attempt in range(ATTEMPTS):
        if attempt:
            await asyncio.sleep(retry.pause(attempt))
        try:
            answer = await connection.call("batch_get_item", RequestItems={called: {"Keys": keys}})
            read += answer["Responses"].get(called, [])
            keys = answer.get("UnprocessedKeys", {}).get(called, {}).get("Keys", [])
        except (BotoCoreError, ClientError, ResponseParserError, ShapeError, OSError, EOFError) as error:
            failure = failure_of(error, table.name)
            if not isinstance(failure, Throttled):
                raise failure from error
        if not keys:
            return read
    raise DependencyFailure(f"The {table.name} stays too busy to be read.", dependency=table.name)


def _parts(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + READ_AT_ONCE] for start in range(0, len(items), READ_AT_ONCE))


MISSING = "is not there"
_NO_BACKUPS = ("UnknownOperationException", "ContinuousBackupsUnavailableException")
"""Errors that are ignored when backups are turned on: emulators have no backups, and AWS has none for a new table's first
seconds. The deployment turns them on too."""


def client(address: DynamoAddress) -> Any:
    """Returns a blocking boto3 client with short timeouts. It connects at the first request, so an unreachable endpoint
    raises nothing here."""
    config = Config(connect_timeout=2, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 3})
    local = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
    session = boto3.Session()
    anyone = local if address.is_emulated and session.get_credentials() is None else {}
    return session.client("dynamodb", region_name=address.region, endpoint_url=address.endpoint, config=config, **anyone)


def create_tables(address: DynamoAddress, tables: Sequence[Table] = TABLES) -> list[str]:
    """Creates the missing tables, waits up to a minute for each, and returns their names. Blocking. Raises `BackendFailure`,
    and ValueError if an existing table differs from its definition."""
    if not tables:
        return []
    driver = client(address)
    made = [table.full_name(address.prefix) for table in tables if _create_table(driver, address, table)]
    for name, problem in describe_tables(address, tables).items():
        if problem:
            raise ValueError(f"{name}: {problem}")
    return made


def describe_tables(address: DynamoAddress, tables: Sequence[Table] = TABLES) -> dict[str, str | None]:
    """Compares the tables with their definition. Returns the first difference by table name: `MISSING` for a table that does
    not exist, None without a difference. Blocking. Raises `BackendFailure` if a request fails."""
    driver = client(address)
    return {table.full_name(address.prefix): _describe(driver, address, table) for table in tables}


def _create_table(driver: Any, address: DynamoAddress, table: Table) -> bool:
    called = table.full_name(address.prefix)
    made = True
    try:
        try:
            driver.create_table(**table.creation(address.prefix))
        except ClientError as error:
            if code_of(error) != "ResourceInUseException":
                raise
            made = False
        driver.get_waiter("table_exists").wait(TableName=called, WaiterConfig={"Delay": 1, "MaxAttempts": 60})
        if made:
            _switch_on(driver, called, table)
    except (BotoCoreError, ClientError, OSError) as error:
        raise failure_of(error, table.name) from error
    return made


def _switch_on(driver: Any, called: str, table: Table) -> None:
    if table.ttl:
        setting = {"Enabled": True, "AttributeName": table.ttl}
        driver.update_time_to_live(TableName=called, TimeToLiveSpecification=setting)
    if table.recovery:
        try:
            driver.update_continuous_backups(
                TableName=called, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
            )
        except ClientError as error:
            if code_of(error) not in _NO_BACKUPS:
                raise


def _describe(driver: Any, address: DynamoAddress, table: Table) -> str | None:
    try:
        found = driver.describe_table(TableName=table.full_name(address.prefix)).get("Table")
        return difference(found, table, address.prefix)
    except (BotoCoreError, ClientError, OSError, ShapeError) as error:
        if code_of(error) == "ResourceNotFoundException":
            return MISSING
        raise failure_of(error, table.name) from error


async def write_all(
    connection: Connection, table: Table, items: Iterable[Item], *, progress: Callable[[int], None] | None = None
) -> int:
    """Puts all items and returns their number. An item replaces the stored item with the same key; of items with equal keys
    the last is stored. `progress` is called with the number of items written so far. Raises `BackendFailure` with the
    table's name as `dependency`."""
    adapter, rest, done = TableAdapter(connection, table), iter(items), 0
    while wave := list(islice(rest, WRITE_BATCH * WRITES_AT_ONCE)):
        try:
            await adapter.put(wave)
        except Exception as error:
            raise failure_of(error, table.name) from error
        done += len(wave)
        if progress is not None:
            progress(done)
    return done
