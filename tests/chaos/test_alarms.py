"""Alarms page for what customers suffer of, and for nothing else: on what real backends, broken, were recorded to look like.

CloudWatch's alarms are evaluated by `tests/support/cloudwatch.py`, Prometheus's rules by promtool where it is installed; both are
written from the same definitions."""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest
import pytest_asyncio

from infra.alarms.slos import BURNS, SERVICE_LEVELS
from tests.chaos import backends
from tests.chaos.alarming import HEALTHY, MOST_STALLED, PLAYED, SESSIONS, Played, pages, rang, recordings
from tests.chaos.recorded import Recording
from tests.chaos.rule_tests import rule_test
from tests.chaos.world import opened
from tests.stack.fixtures import dynamodb_endpoint, opensearch_url  # noqa: F401
from tests.stack.require import require
from tests.support.compose import OBSERVABILITY

SECONDS = 5.0
SOON_MINUTES = 5
"""By when an hour's fault has to page, and a page has to be over: two or three minutes, and what lines are late."""
LEAST_ANSWERS = 20

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
Made = dict[str, Recording]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def made(opensearch_url: str, dynamodb_endpoint: str) -> Made:  # noqa: F811
    """All scenarios, played once."""
    require("stack for chaos", backends.missing())
    async with opened({"opensearch": opensearch_url, "dynamodb": dynamodb_endpoint}, SESSIONS) as world:
        return await recordings(world, SECONDS)


@pytest.mark.parametrize("played", PLAYED, ids=[each.name for each in PLAYED])
async def test_a_fault_that_customers_notice_wakes_somebody(made: Made, played: Played) -> None:
    """Soon, and until it is over."""
    recorded = made[played.name]
    assert recorded.count("AnswersInTime") >= LEAST_ANSWERS, "too little was recorded to say anything"
    found = rang(recorded, made[HEALTHY])
    assert played.pages <= pages(found), found
    for name in played.pages:
        assert found[name].began <= used_up(name, recorded, made[HEALTHY]) + SOON_MINUTES, (name, found[name])


def used_up(name: str, recorded: Recording, healthy: Recording) -> float:
    """Minutes until a burn's long window, healthy so far, holds more bad answers than it may; 0 for every other alarm."""
    for level, burn in product(SERVICE_LEVELS, BURNS):
        if name == f"{level.alarm}-{burn.name}":
            answers = max(each.count(level.good) + each.count(level.bad) for each in (recorded, healthy))
            return burn.long * burn.factor * level.budget * answers / recorded.count(level.bad)
    return 0.0


@pytest.mark.parametrize("played", PLAYED, ids=[each.name for each in PLAYED])
async def test_nobody_else_is_woken_and_nobody_for_longer_than_it_lasts(made: Made, played: Played) -> None:
    """Where the machine has let the server work: one that does not is a fault of its own."""
    stalled = made[played.name].stalled
    if stalled > MOST_STALLED:
        pytest.skip(f"the machine kept the server waiting for {stalled:.0%} of the time")
    found = rang(made[played.name], made[HEALTHY])
    assert pages(found) - played.perhaps == played.pages, found
    for name in played.pages - {"MangaUnusableBurn-medium"}:  # that one looks at half an hour
        over = found[name].over
        assert over is not None, name
        assert over <= SOON_MINUTES + 1, (name, found[name])


async def test_lines_for_cloudwatch_and_scrapes_tell_the_same(made: Made) -> None:
    """Counts of a minute by both, as far as lines and scrapes, a second apart, can agree."""
    for name, each in made.items():
        usable = ("manga_service_level_total", (("level", "usable"), ("verdict", "good")))
        scraped = (each.last[usable] - each.first[usable]) * 60 / each.seconds
        assert each.count("AnswersUsable") == pytest.approx(scraped, rel=0.5), name


async def test_every_series_of_the_alarms_was_recorded(made: Made) -> None:
    """An alarm on what is never told would be silent in every scenario."""
    told = {name for each in made.values() for name, _ in each.minute}
    assert told >= {"AnswersLate", "AnswersUnusable", "BackendLost", "RedisAway", "AuditLinesLost", "Ready", "CallsUnderWay"}


async def test_prometheus_pages_for_the_same(made: Made, tmp_path: Path) -> None:
    """In the scenarios that the machine has not spoiled, and that hang on nothing else."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: apt-get install prometheus)")
    clean = [each for each in PLAYED if made[each.name].stalled <= MOST_STALLED and not each.perhaps]
    tests = [rule_test(each.name, made[HEALTHY], made[each.name], each.pages) for each in clean]
    shutil.copy(OBSERVABILITY / "alerts.yml", tmp_path)
    file = tmp_path / "recorded.yml"
    file.write_text(json.dumps({"rule_files": ["alerts.yml"], "evaluation_interval": "1m", "tests": tests}))
    done = subprocess.run([promtool, "test", "rules", file], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
