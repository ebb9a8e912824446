from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cdk import STAGES, Template, read, synthesise


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
def service(templates: dict[str, Template]) -> Template:
    """The stage's shape: a pod in dev, behind a wall in prod."""
    (own,) = (template for name, template in templates.items() if name != "foundation")
    return own


@pytest.fixture(scope="session")
def pod(synthesised: Path) -> Template:
    return read(synthesised, "dev")["pod"]


@pytest.fixture(scope="session")
def shared(synthesised: Path) -> Template:
    return read(synthesised, "prod")["shared"]
