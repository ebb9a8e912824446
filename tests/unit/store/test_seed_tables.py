"""Which tables the seed loads: on AWS those of customers only with a file of orders."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest

from infra.seed import store
from infra.seed.contents import Contents
from infra.seed.loads import Done, TableLoad
from tests.support.cases import cases
from tools.store.backends.dynamodb.tables import ORDERS, PROFILE, RELEASES, STOCK, TABLES, TITLES

AWS = "dynamodb://ap-northeast-1?table_prefix=manga-prod-"
ELSEWHERE = f"{AWS}&endpoint=http://127.0.0.1:8000"
LEFT_ALONE = "orders and profiles are left alone"


@cases(
    ("url", "customers", "tables"),
    [
        (AWS, False, (TITLES, STOCK, RELEASES)),
        (AWS, True, TABLES),
        (ELSEWHERE, False, TABLES),
        (ELSEWHERE, True, TABLES),
    ],
)
async def test_customers_tables_are_loaded_on_aws_with_a_file_of_orders_only(
    monkeypatch: pytest.MonkeyPatch, url: str, customers: bool, tables: tuple[Any, ...]
) -> None:
    """The report says so where they are left out."""
    planned = list[Any]()

    async def plan(connection: Any, wanted: Any, *_: Any) -> list[store.Change]:
        planned.extend(wanted)
        return []

    monkeypatch.setattr(store, "plan", plan)
    done = Done()
    async with AsyncExitStack() as stack:
        load = TableLoad(url, Contents((), {}, customers), None, stack)
        await load.look()
        await load.carry_out(done, dry_run=True)
    assert tuple(planned) == tables
    assert {ORDERS, PROFILE} == {table for table in TABLES if table.personal}
    assert (LEFT_ALONE in "\n".join(done.lines)) is (tables != TABLES)
