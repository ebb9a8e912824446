"""The standby replica: which bundles it loads or refuses, and that nobody waits for it."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import sys
import weakref
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from server.runtime.health import Dependencies
from server.standby import replica as replicas
from server.standby.bundle import FULL, NAMES, VERSION_KEY, FileStore, Manifest, RedisStore, UnreachableError
from server.standby.replica import Loaded, Replica, StandbyMetrics, load_gently, probe_replica
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tests.support.process import until
from tests.support.standby import bundle_of, read_manifest
from tests.support.store import RECORDS
from tests.support.valkey import ask
from tests.support.virtual_time import running_clock
from tools.store.models import CatalogQuery, Conditions
from tools.store.records.catalog_file import Record, parse

SOON = 30.0


def records(*titles: dict[str, Any]) -> tuple[Record, ...]:
    import json

    return parse("".join(f"{json.dumps(each)}\n" for each in titles or RECORDS).encode())


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return tmp_path / "standby.bundle"


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicas, "GRACE_SECONDS", 0.0)


@asynccontextmanager
async def kept(bundle: Path, kind: str = FULL) -> AsyncIterator[Replica]:
    replica = Replica(FileStore(bundle), kind, None)
    try:
        yield replica
    finally:
        if replica.current is not None:
            await replica.current.opened.aclose()


async def found(replica: Replica, text: str) -> list[str]:
    assert replica.current is not None
    page = await replica.current.catalog.search(CatalogQuery(text, Conditions(), 3), Deadline.after(SOON))
    return [title.display for title in page.titles]


async def told(replica: Replica, seconds_old: int = 7200) -> tuple[bool, str]:
    now = replica.current.manifest.made + seconds_old if replica.current else 0
    health = await probe_replica(replica, lambda: now, Deadline.after(1))
    return health.ok, health.detail


class Named:
    """An embedder that is not asked, unless it made the bundle."""

    dimensions = 4

    def __init__(self, name: str, *, made_it: bool = False) -> None:
        self.name = name
        self._made_it = made_it

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        assert self._made_it, "nothing is embedded"
        return np.full((len(texts), 4), 0.5, np.float32)


async def test_titles_of_the_seeded_bundle_are_found_in_any_script(bundle: Path) -> None:
    await bundle_of(bundle, records())
    async with kept(bundle) as replica:
        assert await replica.look()
        assert (await found(replica, "chess ghost"))[0] == "Chess Ghost"
        assert (await found(replica, "猫型ロボ"))[0] == "Robot Cat"
        assert (await found(replica, "a story about medical"))[0] == "Monster Hunter Doctor"
        assert not await replica.look(), "it has not changed"


async def test_log_tells_how_many_titles_were_loaded_and_in_what_time(
    bundle: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await bundle_of(bundle, records())
    with caplog.at_level(logging.INFO):
        async with kept(bundle) as replica:
            await replica.look()
    (said,) = re.findall(r"6 titles \(full\) loaded in ([0-9.]+) s", caplog.text)
    assert float(said) < SOON


async def test_names_bundle_has_no_synopses_and_obeys_conditions(bundle: Path) -> None:
    await bundle_of(bundle, records(), kind=NAMES)
    async with kept(bundle, NAMES) as replica:
        assert await replica.look()
        assert replica.current is not None
        assert {each.synopsis_en for each in replica.current.catalog.titles} == {None}
        asked = CatalogQuery("", Conditions(genres=("shonen",), without_tags=("Ghosts",)), 9)
        page = await replica.current.catalog.search(asked, Deadline.after(SOON))
        assert [title.display for title in page.titles] == ["Pirate Sea"]


async def test_new_bundle_replaces_the_old_one(bundle: Path) -> None:
    await bundle_of(bundle, records(*RECORDS[:1]))
    async with kept(bundle) as replica:
        assert await replica.look()
        await bundle_of(bundle, records(*RECORDS[:2]))
        assert await replica.look()
        assert (await found(replica, "chess ghost"))[0] == "Chess Ghost"


async def test_unchanged_bundle_is_not_written_again(bundle: Path) -> None:
    before = (await bundle_of(bundle, records())).stat().st_mtime_ns
    assert (await bundle_of(bundle, records())).stat().st_mtime_ns == before
    assert (await bundle_of(bundle, records(), kind=NAMES)).stat().st_mtime_ns != before


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def restated(**changed: Any) -> Any:
    """The same bundle, with a first line that says otherwise."""

    def change(content: bytes) -> bytes:
        from server.standby.bundle import Manifest

        line, _, rest = content.partition(b"\n")
        return replace(Manifest.read(line), **changed).line() + rest

    return change


DAMAGES = {
    "broken off": (lambda content: content[:-100], "bytes of"),
    "in its first line": (lambda content: content[:50], "no standby catalogue"),
    "one bit": (flipped, "digest is wrong"),
    "empty": (lambda content: b"", "no standby catalogue"),
    "something else": (lambda content: b"<html>" * 5000, "no standby catalogue"),
    "a number": (lambda content: b"7\n", "no standby catalogue"),
    "another layout": (restated(layout=9), "seed it again"),
    "another kind": (restated(kind=NAMES), "MANGA_STANDBY says full"),
    "no archive": (lambda content: restated(size=0, digest=EMPTY)(content.partition(b"\n")[0] + b"\n"), "archive"),
}
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize("damage", DAMAGES)
async def test_damaged_bundle_is_refused_in_one_line_and_the_last_good_one_stays(
    bundle: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    damaged, why = DAMAGES[damage]
    await bundle_of(bundle, records())
    async with kept(bundle) as replica:
        assert await replica.look()
        good = replica.current
        content = bundle.read_bytes()
        bundle.unlink()
        bundle.write_bytes(damaged(content))
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert not await replica.look()
            assert not await replica.look()
        (line,) = (each.getMessage() for each in caplog.records)
        assert why in line
        assert "last good one stays" in line
        assert replica.current is good
        assert (await found(replica, "pirate sea"))[0] == "Pirate Sea"
        assert (replica.refused, (await told(replica))[0]) == (1, True)


async def test_a_truncated_bundle_is_refused_reported_and_fetched_again_until_complete(
    bundle: Path, redis: MultiplexedRedis, caplog: pytest.LogCaptureFixture
) -> None:
    """Its version mark is unchanged, as from a Redis replica that lags behind its primary."""
    await bundle_of(bundle, records())
    place = RedisStore(redis)
    await place.publish(bundle)
    whole, (key,) = bundle.read_bytes(), await ask(redis, "KEYS", f"{VERSION_KEY}:*")
    replica = Replica(place, FULL, None)
    for short, why in ((b"", "ends within its first line"), (whole[:50], "ends within"), (whole[:-1], "bytes of")):
        await ask(redis, "SET", key, short)
        for _ in range(2):
            assert await replica._poll_place() == 5.0
        ok, detail = await told(replica)
        assert not ok
        assert why in detail
    assert (replica.refused, caplog.text.count("is refused")) == (1, 1), "once for a mark"
    await ask(redis, "SET", key, whole)
    await replica._poll_place()
    assert (await told(replica))[1].endswith(read_manifest(bundle).digest[:12])
    assert replica.current is not None
    await replica.current.opened.aclose()


async def test_standby_not_yet_loaded_is_reported_on_readyz_and_not_as_an_outage(
    bundle: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await bundle_of(bundle, records())
    async with kept(bundle) as replica:
        asked = Dependencies({"standby": (partial(probe_replica, replica, lambda: 0), None)}, lambda: 0)
        assert (await asked.states())["standby"] | {"latency_ms": 0} == {
            "state": "down", "latency_ms": 0, "detail": "nothing is loaded yet",
        }  # fmt: skip
    assert "lost" not in caplog.text


async def test_garbage_created_during_a_load_is_collected(bundle: Path) -> None:
    """The garbage collector skips the loaded catalogue, and not the garbage of calls made meanwhile."""
    await bundle_of(bundle, records(*({**RECORDS[0], "title_id": f"manga-{n:06}"} for n in range(500))))
    left: list[weakref.ref[Any]] = []

    class Ring:
        def __init__(self) -> None:
            self.itself = self
            left.append(weakref.ref(self))

    async def litter() -> None:
        while True:
            Ring()
            await asyncio.sleep(0)

    async with kept(bundle) as replica:
        littering = asyncio.create_task(litter())
        await asyncio.sleep(0)
        assert await replica.look()
        littering.cancel()
        gc.collect()
        assert len(left) > 10
        assert not [each for each in left if each() is not None]


async def test_archive_entries_outside_the_target_folder_are_refused(bundle: Path, tmp_path: Path) -> None:
    """No file is written outside the folder it is unpacked into."""
    import zipfile
    from hashlib import sha256

    from server.standby.bundle import BundleError, unpack

    await bundle_of(bundle, records())
    manifest, archive = read_manifest(bundle), tmp_path / "evil.zip"
    with zipfile.ZipFile(archive, "w") as content:
        content.writestr("../evil", "x")
    payload = archive.read_bytes()
    changed = replace(manifest, size=len(payload), digest=sha256(payload).hexdigest())
    bundle.write_bytes(changed.line() + payload)
    with pytest.raises(BundleError, match="unexpected entries"):
        unpack(bundle, tmp_path / "out" / "deep")
    assert not (tmp_path / "out" / "evil").exists()


async def test_unreachable_place_is_logged_once_and_the_loaded_catalogue_stays(
    bundle: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await bundle_of(bundle, records())
    async with kept(bundle) as replica:
        assert await told(replica) == (False, "nothing is loaded yet")
        await replica._poll_place()
        bundle.rename(bundle.with_suffix(".gone"))
        with caplog.at_level(logging.INFO):
            for _ in range(3):
                assert await replica._poll_place() == 30.0
            assert len([each for each in caplog.records if each.levelname == "WARNING"]) == 1
            ok, detail = await told(replica)
            assert ok
            assert "6 titles (full), 2.0 h old, sha256 " in detail
            assert "No such file" in detail
            assert " 10000.0 h old, " in (await told(replica, 36_000_000))[1]
            assert " 0.0 h old, " in (await told(replica, -10))[1]
            bundle.with_suffix(".gone").rename(bundle)
            await replica._poll_place()
        assert caplog.records[-1].getMessage().startswith("the place of the standby catalogue is back")
        assert "No such file" not in (await told(replica))[1]


async def test_replica_without_a_bundle_retries_soon(bundle: Path) -> None:
    async with kept(bundle) as replica:
        with pytest.raises(UnreachableError):
            await replica.look()
        assert await replica._poll_place() == 5.0


async def test_replica_task_loads_the_bundle_and_closes_it_at_the_end(bundle: Path) -> None:
    await bundle_of(bundle, records())
    replica = Replica(FileStore(bundle), FULL, None)
    task = asyncio.create_task(replica.run())
    await until(lambda: replica.current is not None, SOON, "a bundle that is loaded")
    assert replica.current is not None
    threads = replica.current.catalog._workers
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert threads._shutdown


async def test_loading_restores_interpreter_settings_and_leaves_no_temporary_file(bundle: Path, tmp_path: Path) -> None:
    await bundle_of(bundle, records())
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before = sys.getswitchinterval(), gc.get_threshold()
    async with load_gently():
        assert sys.getswitchinterval() <= 0.001
        assert (*gc.get_threshold()[:2], gc.get_threshold()[2] > 2**30) == (*before[1][:2], True)
    replica = Replica(FileStore(bundle), FULL, None, scratch)
    assert await replica.look()
    assert (sys.getswitchinterval(), gc.get_threshold()) == before
    assert list(scratch.iterdir()) == []
    assert replica.current is not None
    await replica.current.opened.aclose()


@cases(("kind", "made_by", "asked", "warned"), [
    (FULL, None, "other", 1),
    (FULL, "m", "l", 1),
    (FULL, "m", "n", 1),
    (FULL, "m", None, 0),
    (NAMES, None, "other", 0),
])  # fmt: skip
async def test_vectors_of_another_embedder_are_ignored_and_words_are_searched(
    bundle: Path, caplog: pytest.LogCaptureFixture, kind: str, made_by: str | None, asked: str | None, warned: int
) -> None:
    """Vectors of a whole catalogue are not computed beside the calls, and a catalogue of names has none."""
    caplog.clear()
    await bundle_of(bundle, records(), Named(made_by, made_it=True) if made_by else None, kind=kind)
    replica = Replica(FileStore(bundle), kind, Named(asked) if asked else None)
    assert await replica.look()
    assert caplog.text.count("by words alone") == warned
    assert (await found(replica, "chess ghost"))[0] == "Chess Ghost"
    assert replica.current is not None
    await replica.current.opened.aclose()


async def test_bundle_of_all_is_refused_where_names_are_asked_for(bundle: Path) -> None:
    await bundle_of(bundle, records())
    replica = Replica(FileStore(bundle), NAMES, None)
    assert not await replica.look()
    assert replica.problem == "the newest bundle is refused: it holds full, MANGA_STANDBY says names"


@pytest.mark.virtual_time
@pytest.mark.parametrize("cancelled", [False, True])
async def test_replaced_bundle_is_closed_after_six_seconds_or_with_its_task(
    cancelled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than any search in it takes."""
    monkeypatch.undo()
    clock, closed = running_clock(), list[float]()

    def loaded(titles: int) -> Loaded:
        stack = AsyncExitStack()
        stack.callback(lambda: closed.append(clock()))
        catalog: Any = SimpleNamespace(titles=[None] * titles)
        return Loaded(Manifest(FULL, titles, 0, "", "", None, 0, ""), catalog, stack)

    replica, first, second = Replica(FileStore(Path()), FULL, None), loaded(1200), loaded(0)
    await replica._take(first)
    taking = asyncio.create_task(replica._take(second))
    await asyncio.sleep(5.9)
    assert (replica.current, closed) == (second, [])
    if cancelled:
        taking.cancel()
    await asyncio.gather(taking, return_exceptions=True)
    assert closed == [pytest.approx(5.9 if cancelled else 6.0)]
    if not cancelled:
        await replica._take(first)
        assert len(closed) == 2


async def test_metrics_show_the_loaded_standby_catalogue(bundle: Path) -> None:
    await bundle_of(bundle, records())
    async with kept(bundle) as replica:
        samples = {s.name: s for family in StandbyMetrics(replica).collect() for s in family.samples}
        assert samples["manga_standby_titles"].value == 0
        assert "manga_standby_made_seconds" not in samples
        await replica.look()
        manifest = read_manifest(bundle)
        samples = {s.name: s for family in StandbyMetrics(replica).collect() for s in family.samples}
        assert samples["manga_standby_titles"].value == 6
        assert samples["manga_standby_titles"].labels == {"kind": FULL, "digest": manifest.digest[:12]}
        assert samples["manga_standby_made_seconds"].value == manifest.made


async def test_lag_is_the_time_since_the_replica_last_matched_its_place(bundle: Path) -> None:
    """An unreachable place and a refused bundle both make the replica old."""
    clock = HandClock()
    await bundle_of(bundle, records())
    replica = Replica(FileStore(bundle), FULL, None, clock=clock)
    clock.advance(5)
    assert replica.lag() == 5
    await replica._poll_place()
    assert replica.lag() == 0
    content = bundle.read_bytes()
    for spoil in (bundle.unlink, partial(bundle.write_bytes, content[:-1])):
        spoil()
        clock.advance(5)
        await replica._poll_place()
    assert replica.lag() == 10
    bundle.unlink()
    await bundle_of(bundle, records())
    await replica._poll_place()
    assert replica.lag() == 0
    assert replica.current is not None
    await replica.current.opened.aclose()


async def test_return_to_the_loaded_bundle_after_a_truncated_one_ends_the_problem(bundle: Path, tmp_path: Path) -> None:
    """A file that is renamed back has its old mark."""
    await bundle_of(bundle, records())
    replica = Replica(FileStore(bundle), FULL, None)
    await replica._poll_place()
    loaded = bundle.rename(tmp_path / "loaded")
    bundle.write_bytes(loaded.read_bytes()[:-1])
    await replica._poll_place()
    assert replica.problem is not None
    loaded.replace(bundle)
    await replica._poll_place()
    assert replica.problem is None
    assert replica.current is not None
    await replica.current.opened.aclose()
