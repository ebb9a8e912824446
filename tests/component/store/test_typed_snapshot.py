"""A snapshot that one process leaves in Redis is read back by the next unchanged, or not at all."""

from __future__ import annotations

import logging
import zlib
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import TypeAdapter

from session.begin import digest
from session.failures import MemoryUnavailable
from session.memory import pack, unpack
from session.redis.multiplexed import MultiplexedRedis
from tests.support.snapshots import Away, memory_over
from tests.support.valkey import ask
from tools.store.catalog.popular import FORM_OF_TITLES, TypedSnapshot
from tools.store.models import Author, Availability, Title
from tools.store.stock import FORM_OF_ROWS

TITLES = (
    Title("manga-000001", en="Pirate Sea", ja="海賊の海", authors=(Author("Oda, Eiji"),), rating=4),
    Title("manga-000002"),
)


def kept_in(
    redis: MultiplexedRedis | Away, shape: object = tuple[Title, ...], form: str = FORM_OF_TITLES
) -> TypedSnapshot[tuple[Title, ...]]:
    return TypedSnapshot(memory_over(redis), "popular", shape, form)


FORMS = {
    (FORM_OF_TITLES, Title): "wvldjosacj",
    (FORM_OF_ROWS, Availability): "ije4ejl5fs",
}


@pytest.mark.parametrize(("form", "shape"), FORMS)
def test_changed_record_fields_need_a_new_snapshot_form(form: str, shape: type) -> None:
    """A changed record needs a new form and its digest here; changed descriptions need neither."""
    schema = TypeAdapter(tuple[shape, ...]).json_schema()  # type: ignore[valid-type]
    assert digest(_without_descriptions(schema))[:10] == FORMS[form, shape]


def _without_descriptions(schema: Any) -> Any:
    if isinstance(schema, dict):
        kept = {name: each for name, each in schema.items() if not (name == "description" and isinstance(each, str))}
        return {name: _without_descriptions(each) for name, each in kept.items()}
    return [_without_descriptions(each) for each in schema] if isinstance(schema, list) else schema


async def the_key(redis: MultiplexedRedis) -> bytes:
    (key,) = await ask(redis, "KEYS", "manga:mcp:snapshot:*")
    return bytes(key)


async def test_snapshot_is_read_by_another_process_and_expires(redis: MultiplexedRedis) -> None:
    assert await kept_in(redis).load() is None
    assert await kept_in(redis).save(TITLES, 60)
    assert await kept_in(redis).load() == TITLES
    assert 0 < await ask(redis, "TTL", await the_key(redis)) <= 60


async def test_parts_of_a_snapshot_are_stored_apart(redis: MultiplexedRedis) -> None:
    kept = kept_in(redis)
    await kept.save(TITLES[:1], 60, 1)
    await kept.save(TITLES[1:], 60, 2)
    assert [await kept.load(1), await kept.load(2), await kept.load(3)] == [TITLES[:1], TITLES[1:], None]


async def test_version_with_another_shape_does_not_see_the_snapshot(redis: MultiplexedRedis) -> None:
    @dataclass(frozen=True, slots=True)
    class NewTitle(Title):
        mood: str | None = None

    await kept_in(redis).save(TITLES, 60)
    newer = kept_in(redis, tuple[NewTitle, ...], "newer")
    assert await newer.load() is None
    await newer.save((NewTitle("manga-000003"),), 60)
    assert await kept_in(redis).load() == TITLES


WRONG = {
    "no packing": b"[]",
    "nothing": b"",
    "no JSON": pack(b"nonsense"),
    "another shape": pack(b'{"titles": []}'),
    "a wrong type": pack(b'[{"title_id": "manga-000001", "rating": "4.5"}]'),
    "a name missing": pack(b'[{"en": "x"}]'),
    "cut off": pack(b"[]" + b" " * 5000)[:-8],
    "a bomb": zlib.compress(b" " * (2**24 + 1)),
    "half a character": pack(b'[{"title_id": "\xff"}]'),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_unreadable_snapshot_is_logged_once_and_overwritten(
    redis: MultiplexedRedis, caplog: pytest.LogCaptureFixture, wrong: bytes
) -> None:
    kept = kept_in(redis)
    await kept.save(TITLES, 60)
    await ask(redis, "SET", await the_key(redis), wrong)
    with caplog.at_level(logging.WARNING):
        assert [await kept.load(), await kept.load()] == [None, None]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    await kept.save(TITLES, 60)
    assert await kept.load() == TITLES


async def test_loading_without_redis_raises_and_saving_returns_false(redis: MultiplexedRedis) -> None:
    with pytest.raises(MemoryUnavailable):
        await kept_in(Away()).load()
    assert not await kept_in(Away()).save(TITLES, 60)


async def test_oversized_or_expired_snapshot_is_not_stored(redis: MultiplexedRedis) -> None:
    memory = memory_over(redis)
    assert not await memory.save_snapshot("k", b"x" * (2**20 + 1), 60)
    assert not await memory.save_snapshot("k", b"x", 0)
    assert await memory.load_snapshot("k") is None
    assert await memory.save_snapshot("k", b"x" * 2**20, 1)
    assert await memory.load_snapshot("k") == b"x" * 2**20


def test_unpack_reverses_pack() -> None:
    assert unpack(pack(b"x" * 100_000)) == b"x" * 100_000
    assert unpack(pack(b"")) == b""
    assert unpack(pack(b" " * 2**24)) == b" " * 2**24, "the most that is unpacked"
