"""Tests build what servers make of equal files once: `tests/support/built_once.py`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from server.config.settings import DEMO
from tests.support.built_once import BUILDERS, built_once
from tools.store.backends.embedded import catalog, stock_and_orders
from tools.store.catalog import popular
from tools.store.currency import YEN
from tools.store.records.store_files import StoreFileError
from tools.store.tags import shipped


def test_equal_content_and_equal_titles_are_built_once() -> None:
    content = (DEMO / "catalog.jsonl").read_bytes()
    with built_once():
        records = catalog.parse(content, shipped(), currency=YEN)
        assert catalog.parse(bytes(bytearray(content)), shipped(), currency=YEN) is records
        titles = [title for title, _ in records[:9]]
        index = popular.PopularIndex(titles)
        assert popular.PopularIndex(tuple(titles)) is index
        assert popular.PopularIndex(titles[1:]) is not index


def test_other_arguments_build_another_result() -> None:
    content = b"".join((DEMO / "catalog.jsonl").read_bytes().splitlines(keepends=True)[:3])
    with built_once():
        assert catalog.parse(content) is not catalog.parse(content, currency=YEN)


def test_changed_file_is_read_again(tmp_path: Path) -> None:
    path = Path(shutil.copy(DEMO / "orders.jsonl", tmp_path))
    with built_once():
        orders = stock_and_orders.read_orders(path)
        assert stock_and_orders.read_orders(path) is orders
        path.write_bytes(path.read_bytes().partition(b"\n")[0])
        assert len(stock_and_orders.read_orders(path)) == 1


def test_missing_file_is_the_builders_error(tmp_path: Path) -> None:
    with built_once(), pytest.raises(StoreFileError):
        stock_and_orders.read_volumes(tmp_path / "none.jsonl")


def test_builders_are_as_before_behind_the_block() -> None:
    before = [getattr(module, name) for module, name, _ in BUILDERS]
    with built_once():
        pass
    assert [getattr(module, name) for module, name, _ in BUILDERS] == before
