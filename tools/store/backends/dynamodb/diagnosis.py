"""What is wrong with a table, found out as serving would ask it, and then by its description where that is allowed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, ReadTimeoutError
from botocore.parsers import ResponseParserError

from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DEGRADED, OK, Diagnosis, Problem, silence
from tools.store.backends.aws_problems import aws_problem, code_of
from tools.store.backends.dynamodb.address import DynamoAddress
from tools.store.backends.dynamodb.admin import difference
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.probe import key_of_nobody
from tools.store.backends.dynamodb.tables import Table
from tools.store.records.shape import ShapeError

SETTING = "MANGA_STORE_URL"
SEED = "run: python -m infra.seed"


async def diagnose(connection: Connection, table: Table, deadline: Deadline) -> Diagnosis:
    """Never raises."""
    address = connection.address
    called = table.called(address.prefix)
    try:
        async with asyncio.timeout(deadline.less(0.8).remaining()):
            await _look_up_nobody(connection, table, called)
            description = await _description(connection, called)
            forgets = await _forgets(connection, table, called)
    except TimeoutError:
        return Diagnosis.of(await _silence(address))
    except (BotoCoreError, ClientError, ResponseParserError, ShapeError, OSError, EOFError) as error:
        if code_of(error) == "ValidationException":  # of such a request only the key can be wrong
            return Diagnosis.of(Problem(f"the table {called} has other keys than it should", _remade()))
        return Diagnosis.of(problem_of(error, called))
    if description and (wrong := difference(description, table, address.prefix)):
        return Diagnosis.of(Problem(f"the table {called} {wrong}", _remade()))
    if not forgets:
        return Diagnosis.of(Problem(f"the table {called} never forgets", f"turn on its TTL, {table.ttl}"), state=DEGRADED)
    items = description.get("ItemCount") if description else None
    return Diagnosis(OK, f"table {called}" + (f", {items:,} items at the last count" if items is not None else ""))


def problem_of(error: BaseException, called: str, permission: str = "dynamodb:GetItem") -> Problem:
    """Of an error of the driver's, or of a failure that was made of one. `permission` is the IAM action that was needed."""
    if code_of(error) == "ResourceNotFoundException":
        return Problem(f"the table {called} is not there", SEED)
    return aws_problem(error, SETTING, f"{permission} on {called}")


async def _look_up_nobody(connection: Connection, table: Table, called: str) -> None:
    """Until it is answered: serving's own limits are short, and whoever examines has more patience than a customer."""
    while True:
        try:
            await connection.call("get_item", TableName=called, Key=key_of_nobody(table))
        except (ConnectTimeoutError, ReadTimeoutError):
            continue
        return


async def _description(connection: Connection, called: str) -> dict[str, Any]:
    """Empty where describing is not allowed: serving does without."""
    with suppress(ClientError, BotoCoreError):
        return dict((await connection.call("describe_table", TableName=called)).get("Table") or {})
    return {}


async def _forgets(connection: Connection, table: Table, called: str) -> bool:
    """Whether what has expired goes by itself, where it should; taken for granted where asking is not allowed."""
    if table.ttl is None:
        return True
    with suppress(ClientError, BotoCoreError):
        told = (await connection.call("describe_time_to_live", TableName=called)).get("TimeToLiveDescription")
        if isinstance(told, dict):
            on = told.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
            return on and told.get("AttributeName", table.ttl) == table.ttl
    return True


def _remade() -> str:
    return f"remove it, or set another table_prefix in {SETTING}; then {SEED}"


async def _silence(address: DynamoAddress) -> Problem:
    if address.endpoint is None:
        return Problem("it does not answer", "check routes, VPC endpoints and security groups")
    parts = urlsplit(address.endpoint)
    return await silence(str(parts.hostname), parts.port or (443 if parts.scheme == "https" else 80), SETTING)
