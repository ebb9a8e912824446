"""No setting of whoever runs the tests reaches them: neither from the environment nor from the .env that make reads. Some have
the machine to themselves, where there are several processes of tests. And the gate (`make test`) leaves some out."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from server.config.settings import DECLARED
from tests.support.alone import turn
from tests.support.built_once import built_once
from tests.support.forking import forked_servers
from tests.support.virtual_time import VirtualTimeLoop

SLOW = {
    "tests/browser": "one card and one page say that the browser works",
    "tests/cdk/test_cache_user.py": "half a minute",
    "tests/cdk/test_synthesis.py::test_two_syntheses_are_equal_to_the_byte": "a synthesis more",
    "tests/chaos": "each fault takes seconds by itself; tests/stack kills a cluster in a conversation",
    "tests/component/tools/test_loop_work.py": "counts every line of every tool",
    "tests/conversations/test_cost.py::test_a_message_costs": "plays conversations that others play too",
    "tests/evals": "loads the libraries of two evaluators",
    "tests/fuzz/test_run.py::test_ten_thousand_bad_inputs_harm_nobody": "half a minute, and make fuzz sends more",
    "tests/load": "each runs a bench that is no part of the server",
    "tests/observability": "draws what the documents show",
    "tests/pod": "builds two images",
    "tests/quality": "asks every judged query",
    "tests/release/test_side_by_side.py": "runs the last release beside this one",
    "tests/stack/test_cluster_lost.py::test_details_of_an_unpopular_title": "half a minute; the conversation loses its cluster",
    "tests/stack/test_seed.py::test_a_load_that_was_killed": "half a minute; tests/contract resumes loads",
    "tests/stack/test_seed.py::test_the_smoke_test_passes": "half a minute; the smoke test passes on the demo",
    "tests/wire/cards/test_hosts.py": "every host of cards",
    "tests/wire/test_rooms.py": "a server without each optional folder",
}
"""Folders and files that only `make test-all` runs, and why. A single test or parameter has the mark itself."""
KEPT = (
    "tests/browser/cards/test_search_card.py::test_a_title_is_told",
    "tests/browser/cards/test_search_card.py::test_more_like_a_title",
    "tests/browser/cards/test_second_shop.py",
    "tests/browser/operators_page/test_used.py::test_a_turn_gathers",
    "tests/browser/operators_page/test_used.py::test_it_reconnects",
)
"""What of them the gate runs all the same."""


def pytest_configure() -> None:
    """What only tests know (MANGA_TEST_…, MANGA_STACK_…) stays."""
    for name in DECLARED:
        os.environ.pop(name, None)
    for name in [each for each in os.environ if each.startswith("OTEL_")]:
        del os.environ[name]
    settings.register_profile("untimed", settings.default, deadline=None)  # no test fails because its machine is busy
    settings.load_profile("untimed")


@pytest.fixture(autouse=True, scope="session")
def results_built_once() -> Iterator[None]:
    """Servers of this process share what they build of the same files (`tests/support/built_once.py`)."""
    with built_once():
        yield


@pytest.fixture(autouse=True, scope="session")
def servers_by_forks() -> Iterator[None]:
    """A server that a test starts is forked, where nothing asks for a start of the interpreter (`tests/support/forking.py`)."""
    if sys.platform != "linux" or os.environ.get("MANGA_TEST_EXEC"):
        yield
        return
    with forked_servers():
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(tuple(SLOW)) and not item.nodeid.startswith(KEPT):
            item.add_marker(pytest.mark.slow)


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Tests that are marked `virtual_time` wait for nothing but work."""
    return {"loop": VirtualTimeLoop if item.get_closest_marker("virtual_time") else asyncio.new_event_loop}


@pytest.hookimpl(wrapper=True, tryfirst=True)  # what is waited for counts for no test's timeout
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Each test waits for those that are marked `alone`, and they for it; fixtures are made and ended within."""
    if not hasattr(item.config, "workerinput"):
        return (yield)
    with turn(Path(item.config.getoption("basetemp")).parent, alone=item.get_closest_marker("alone") is not None):
        return (yield)
