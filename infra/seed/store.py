"""Loads items into DynamoDB: creates missing tables, then writes the items that are missing or differ.

The load reads the tables first and needs no record of progress. So an interrupted load continues where it stopped, a
repeated load writes nothing, and a dry run knows what would be written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from session.resilience.deadline import RetryPolicy
from tools.store.backends.aws_client import failure_of
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.diagnosis import MISSING, create_tables, describe_tables
from tools.store.backends.dynamodb.items import Item
from tools.store.backends.dynamodb.profiles import write_all
from tools.store.backends.dynamodb.tables import DynamoAddress, Table
from tools.store.failures import DependencyFailure, Throttled
from tools.store.records.shape import ShapeError

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
    await asyncio.to_thread(_create, connection.address, [each.table for each in changes if each.created])
    for change in changes:
        items, what = change.to_write, f"items into {change.called}"
        if items:
            tell = _counted(progress, len(items), what) if progress else None
            await write_all(connection, change.table, items, progress=tell)


def _create(address: DynamoAddress, tables: Sequence[Table]) -> None:
    """Creates the tables. Sends no request if there are none, since a role that may write need not be allowed to create."""
    if tables:
        create_tables(address, tables)


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
