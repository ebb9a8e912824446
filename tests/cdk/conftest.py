from __future__ import annotations

from pathlib import Path

import pytest

from tests.component.conftest import pytest_asyncio_loop_factories
from tests.support.cdk import STACKS, STAGES, Template, read, synthesise

__all__ = ["pytest_asyncio_loop_factories"]


@pytest.fixture(scope="session")
def synthesised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both stages, as `make synth` writes them."""
    folder = tmp_path_factory.mktemp("cdk")
    synthesise(folder)
    return folder


@pytest.fixture(scope="session", params=STAGES)
def stage(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def templates(synthesised: Path, stage: str) -> dict[str, Template]:
    return read(synthesised, stage)


@pytest.fixture(scope="session")
def foundation(templates: dict[str, Template]) -> Template:
    return templates["foundation"]


@pytest.fixture(scope="session")
def pod(templates: dict[str, Template]) -> Template:
    return templates["pod"]


@pytest.fixture(scope="session", params=STACKS[1:])
def service(request: pytest.FixtureRequest, templates: dict[str, Template]) -> Template:
    """Either shape."""
    return templates[request.param]


@pytest.fixture(scope="session")
def shared(templates: dict[str, Template]) -> Template:
    return templates["shared"]
