"""Addresses of backends that must not be taken."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def refused(parse: Callable[[str], object], url: str, says: str) -> None:
    """That `parse` refuses `url` by naming what is wrong with it, and keeps its secrets."""
    with pytest.raises(ValueError, match=says) as caught:
        parse(url)
    assert "secret" not in str(caught.value)
