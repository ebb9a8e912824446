"""Compares a DynamoDB table with its definition, and diagnoses it for the operator."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, ReadTimeoutError
from botocore.parsers import ResponseParserError

from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DEGRADED, DOWN, OK, Diagnosis, Problem, silence
from tools.store.backends.aws_client import aws_problem, code_of
from tools.store.backends.dynamodb.connection import Connection, probe_key
from tools.store.backends.dynamodb.items import POPULAR_KEY, attribute, text, title_ids_of
from tools.store.backends.dynamodb.tables import ORDERS, STOCK, TITLES, Table
from tools.store.identifiers import Identifiers, IdPattern
from tools.store.shape import ShapeError


def difference(found: dict[str, Any], table: Table, prefix: str) -> str | None:
    """Returns the first fault of a DescribeTable result, such as "lacks the index by_time"; None if it has the keys, indexes
    and attributes of `table`'s definition, and a good status. Raises ShapeError for anything else than such a result."""
    try:
        return _first_difference(found, table.creation(prefix))
    except (AttributeError, LookupError, TypeError) as error:
        raise ShapeError("$.Table is no description of a table") from error


def _first_difference(found: dict[str, Any], wanted: dict[str, Any]) -> str | None:
    if _keys(found["KeySchema"]) != _keys(wanted["KeySchema"]):
        return "has other keys than it should"
    there = {index["IndexName"]: index for index in _indexes(found)}
    for index in _indexes(wanted):
        other = there.get(index["IndexName"])
        if other is None or _keys(other["KeySchema"]) != _keys(index["KeySchema"]):
            return f"lacks the index {index['IndexName']}"
        if set(index["Projection"]["NonKeyAttributes"]) - set(other["Projection"].get("NonKeyAttributes", ())):
            return f"the index {index['IndexName']} lacks attributes"
    return None if found["TableStatus"] in ("ACTIVE", "UPDATING") else f"is {found['TableStatus']}"


def _indexes(table: dict[str, Any]) -> list[dict[str, Any]]:
    return [*table.get("LocalSecondaryIndexes", ()), *table.get("GlobalSecondaryIndexes", ())]


def _keys(schema: Sequence[dict[str, str]]) -> set[tuple[str, str]]:
    return {(key["AttributeName"], key["KeyType"]) for key in schema}


SETTING = "MANGA_STORE_URL"
SEED = "run: python -m infra.seed"
RECREATE = f"remove it, or set another table_prefix in {SETTING}; then {SEED}"


async def diagnose(connection: Connection, table: Table, shop: Identifiers, deadline: Deadline) -> Diagnosis:
    """Diagnoses one table by a read and, if permitted, by the ids and currency of an item and by the table's description and
    TTL. Errors of the driver become problems in the diagnosis."""
    address = connection.address
    called = table.full_name(address.prefix)
    try:
        async with asyncio.timeout(deadline.earlier_by(0.8).remaining()):
            await _probe(connection, table, called)
            description: dict[str, Any] = {}
            with suppress(ClientError, BotoCoreError):  # serving does not need the permission for it
                description = (await connection.call("describe_table", TableName=called)).get("Table") or {}
            forgets = await _has_ttl(connection, table, called)
            misfit = await _misfit(connection, table, shop)
            wrong = difference(description, table, address.prefix) if description else None
    except TimeoutError:
        if address.endpoint is None:
            return Diagnosis(DOWN, "it does not answer", "check routes, VPC endpoints and security groups")
        parts = urlsplit(address.endpoint)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return Diagnosis.from_problem(await silence(str(parts.hostname), port, SETTING))
    except (BotoCoreError, ClientError, ResponseParserError, ShapeError, OSError, EOFError) as error:
        if code_of(error) == "ValidationException":  # only the key of this request can be invalid
            return Diagnosis(DOWN, f"the table {called} has other keys than it should", RECREATE)
        return Diagnosis.from_problem(problem_of(error, called))
    if wrong is not None:
        return Diagnosis(DOWN, f"the table {called} {wrong}", RECREATE)
    if misfit is not None:
        return Diagnosis.from_problem(misfit)
    if not forgets:
        return Diagnosis(DEGRADED, f"the table {called} never forgets", f"turn on its TTL, {table.ttl}")
    items = description.get("ItemCount")
    return Diagnosis(OK, f"table {called}" + (f", {items:,} items at the last count" if isinstance(items, int) else ""))


def problem_of(error: BaseException, called: str, permission: str = "dynamodb:GetItem") -> Problem:
    """Describes an error as a problem that an operator can fix. `permission` is the IAM action that the request needed."""
    if code_of(error) == "ResourceNotFoundException":
        return Problem(f"the table {called} is not there", SEED)
    return aws_problem(error, SETTING, f"{permission} on {called}")


async def _probe(connection: Connection, table: Table, called: str) -> None:
    """Looks up a key that no item has, to check access. Repeats after the client's short timeouts, without end: the caller
    bounds the time."""
    while True:
        try:
            await connection.call("get_item", TableName=called, Key=probe_key(table))
        except (ConnectTimeoutError, ReadTimeoutError):
            continue
        return


async def _has_ttl(connection: Connection, table: Table, called: str) -> bool:
    """Returns False only if the table should expire items and its TTL is off or uses another attribute. Returns True if the
    request fails."""
    if table.ttl is None:
        return True
    with suppress(ClientError, BotoCoreError):
        told = (await connection.call("describe_time_to_live", TableName=called)).get("TimeToLiveDescription")
        if isinstance(told, dict):
            on = told.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
            return on and told.get("AttributeName", table.ttl) == table.ttl
    return True


async def _misfit(connection: Connection, table: Table, shop: Identifiers) -> Problem | None:
    """Describes an item that does not fit the shop's settings: for the table of orders, by the id of any order; for titles,
    by the id of the most popular title; for stock, by the currency of that title's prices. Returns None if the item fits or
    cannot be read (serving needs no permission to scan orders), and for other tables."""
    prefix = connection.address.prefix
    with suppress(BotoCoreError, ClientError, AttributeError, LookupError, TypeError, ValueError):  # odd answers too
        if table is ORDERS:
            wanted = {"ProjectionExpression": "order_id", "Limit": 1}
            order = (await connection.call("scan", TableName=ORDERS.full_name(prefix), **wanted))["Items"][0]
            return _foreign_id(shop.orders, text(order, "order_id"), "MANGA_ORDER_PATTERN")
        if table not in (TITLES, STOCK):
            return None
        popular = await connection.call("get_item", TableName=TITLES.full_name(prefix), Key=POPULAR_KEY)
        title_id = title_ids_of(popular["Item"])[0]
        if table is TITLES:
            return _foreign_id(shop.titles, title_id, "MANGA_TITLE_PATTERN")
        key = {"title_id": attribute(title_id)}
        sold = {"ProjectionExpression": "offers, volumes"}  # a shop's further attributes say nothing of the currency
        stock = await connection.call("get_item", TableName=STOCK.full_name(prefix), Key=key, **sold)
        prices = set(re.findall('"(price_[a-z]{3})"', json.dumps(stock["Item"], default=str)))
        foreign = prices if shop.currency.field("price_jpy") not in prices else ()
        if foreign:
            what = f"the stock of {title_id} has {min(foreign)}, but MANGA_CURRENCY is {shop.currency}"
            return Problem(what, f"set MANGA_CURRENCY to the shop's own, or {SEED}")
    return None


def _foreign_id(pattern: IdPattern, found: str, setting: str) -> Problem | None:
    wrong = not pattern.matches(found)
    return Problem(pattern.mismatch(found, setting), f"set {setting} to the shop's own, or {SEED}") if wrong else None
