"""What the measurements share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the titles' vectors are kept: they are the same for all measurements, and are computed by the first."""
    return tmp_path_factory.mktemp("vectors")
