"""A short version of chaos (`make chaos`): real servers behind proxies, real clients, a fault for each kind of backend."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.chaos import backends
from tests.chaos.bars import FORGIVING
from tests.chaos.play import play, warm_up
from tests.chaos.scenarios import SHORT, Scenario
from tests.chaos.world import World, opened
from tests.stack.fixtures import dynamodb_endpoint, opensearch_url  # noqa: F401
from tests.stack.require import require

SECONDS = 3.0
SESSIONS = 10
LEAST_CALLS = 15
"""Fewer show nothing."""

pytestmark = [pytest.mark.alone, pytest.mark.timeout(400), pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(opensearch_url: str, dynamodb_endpoint: str) -> AsyncIterator[World]:  # noqa: F811
    """One server and its clients for all of the faults, with the run's own OpenSearch and DynamoDB behind the proxies."""
    require("stack for chaos", backends.missing())
    async with opened({"opensearch": opensearch_url, "dynamodb": dynamodb_endpoint}, SESSIONS) as world:
        await warm_up(world)
        yield world


@pytest.mark.parametrize("scenario", SHORT, ids=[each.name for each in SHORT])
async def test_every_call_is_answered_in_time_and_truthfully_and_all_is_well_again(world: World, scenario: Scenario) -> None:
    """On time by the server's own clock, inside the budget at the client, usable, labelled, and live again soon after."""
    measured = await play(world, scenario, SECONDS, FORGIVING.recovery_seconds)
    missed = [*measured.missed(FORGIVING), *measured.offenders[:5]]
    assert measured.calls >= LEAST_CALLS
    assert measured.sources, "nothing was answered during the fault"
    assert not measured.missed(FORGIVING), "\n".join(missed)
