"""The doctor's report on the place of a standby bundle."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from server.config.parsing import SettingError
from server.config.settings import Settings
from server.standby import opening
from server.standby.bundle import NAMES
from server.standby.opening import diagnose
from session.redis.subscriber import Redis
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import Diagnosis
from tests.support.cases import cases
from tests.support.s3 import Bucket, hangs, serving
from tests.support.standby import bundle_of, read_manifest
from tests.support.store import RECORDS
from tools.store.records.catalog_file import parse

OPENSEARCH = {"MANGA_CATALOG_URL": "http://127.0.0.1:9200"}


class Named:
    dimensions = 4

    def __init__(self, name: str) -> None:
        self.name = name

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        return np.full((len(texts), 4), 0.5, np.float32)


def read(text: str) -> str:
    """A setting is another string, as the environment's are."""
    return text.encode().decode()


async def seen(url: str, embedder: Any = None, seconds: float = 10.0, standby: str = "full") -> Diagnosis:
    settings = Settings(standby=read(standby), standby_url=url)
    async with AsyncExitStack() as stack:
        return await diagnose(settings, embedder, stack, Deadline.after(seconds))


@pytest.fixture
async def bundle(tmp_path: Path) -> Path:
    import json

    records = parse("".join(f"{json.dumps(each)}\n" for each in RECORDS).encode())
    await bundle_of(tmp_path / "names.bundle", records, kind=NAMES)
    await bundle_of(tmp_path / "vectors.bundle", records, Named("m"))
    return await bundle_of(tmp_path / "full.bundle", records)


async def test_bundle_is_reported_by_its_manifest(bundle: Path) -> None:
    for seconds in (10.0, 1.0):
        found = await seen(bundle.as_uri(), seconds=seconds)
        assert (found.state, found.detail) == ("ok", "6 titles (full), made 0.0 h ago")
    names, vectors = (bundle.with_name(f"{name}.bundle").as_uri() for name in ("names", "vectors"))
    assert (await seen(names, Named("m"), standby="names")).detail == "6 titles (names), made 0.0 h ago"
    assert (await seen(vectors, Named(read("m")))).state == "ok"
    old = replace(read_manifest(bundle), made=int(time.time()) - 36_000_000)
    bundle.write_bytes(old.line())
    assert (await seen(bundle.as_uri())).detail == "6 titles (full), made 10000.0 h ago"


async def test_redis_is_not_opened_for_a_bundle_elsewhere(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(settings: Settings, stack: AsyncExitStack) -> Redis:
        raise AssertionError("the bundle is not there")

    monkeypatch.setattr(opening, "open_redis", refuse)
    assert (await seen(bundle.as_uri())).state == "ok"


async def test_unusable_bundle_is_reported_as_degraded_with_a_remedy(bundle: Path) -> None:
    for url, embedder, said in (
        (bundle.with_name("names.bundle").as_uri(), None, "it holds names, MANGA_STANDBY says full"),
        (bundle.as_uri(), Named("other"), "its vectors are not of MANGA_EMBEDDER"),
        (bundle.with_name("vectors.bundle").as_uri(), Named("l"), "its vectors are not of MANGA_EMBEDDER"),
        (bundle.with_name("vectors.bundle").as_uri(), Named("n"), "its vectors are not of MANGA_EMBEDDER"),
        (bundle.with_name("nowhere").as_uri(), None, "there is no bundle"),
        (read("redis:"), None, "there is no bundle"),
        (Path(__file__).as_uri(), None, "it is no standby catalogue"),
    ):
        found = await seen(url, embedder)
        assert found.state == "degraded"
        assert said in found.detail
        assert "infra.seed" in (found.remedy or "")
    assert (await seen(bundle.as_uri(), standby="names")).detail == "it holds full, MANGA_STANDBY says names"


@pytest.mark.virtual_time
async def test_hanging_bucket_does_not_hold_up_the_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    async with serving(Bucket()) as bucket:
        bucket.answer, began = hangs, asyncio.get_running_loop().time()
        found = await seen(bucket.url("standby.bundle"), seconds=1.0)
    assert (found.state, found.detail) == ("degraded", "it does not answer")
    assert asyncio.get_running_loop().time() - began == pytest.approx(0.5, abs=0.3), "half a second is left to tell it"


@cases(
    ("set_to", "said"),
    [
        ({"MANGA_STANDBY": "full"}, "needs MANGA_STANDBY_URL"),
        ({"MANGA_STANDBY_URL": "redis:"}, "no effect with MANGA_STANDBY=off"),
        ({"MANGA_STANDBY": "names", "MANGA_STANDBY_URL": "redis:", "MANGA_CATALOG_URL": "embedded:"}, "stands by for"),
    ],
)
def test_contradictory_standby_settings_are_refused(set_to: dict[str, str], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        Settings.from_environment(OPENSEARCH | set_to)
