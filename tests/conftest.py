"""No setting of whoever runs the tests reaches them: neither from the environment nor from the .env that make reads."""

from __future__ import annotations

import os
from dataclasses import fields

from server.config.settings import PREFIX, Settings


def pytest_configure() -> None:
    """What only tests know (MANGA_TEST_…, MANGA_STACK_…) stays."""
    for each in fields(Settings):
        os.environ.pop(PREFIX + each.name.upper(), None)
