"""No setting of whoever runs the tests reaches them: neither from the environment nor from the .env that make reads. And some
have the machine to themselves, where there are several processes of tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import settings

from server.config.declaration import PREFIX
from server.config.settings import Settings
from tests.support.alone import turn


def pytest_configure() -> None:
    """What only tests know (MANGA_TEST_…, MANGA_STACK_…) stays."""
    for each in fields(Settings):
        os.environ.pop(PREFIX + each.name.upper(), None)
    for name in [each for each in os.environ if each.startswith("OTEL_")]:
        del os.environ[name]
    settings.register_profile("untimed", settings.default, deadline=None)  # no test fails because its machine is busy
    settings.load_profile("untimed")


@pytest.hookimpl(wrapper=True, tryfirst=True)  # what is waited for counts for no test's timeout
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Each test waits for those that are marked `alone`, and they for it; fixtures are made and ended within."""
    if not hasattr(item.config, "workerinput"):
        return (yield)
    with turn(Path(item.config.getoption("basetemp")).parent, alone=item.get_closest_marker("alone") is not None):
        return (yield)
