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
    """The server's: a pod in dev, behind a wall in prod."""
    return templates.get("pod") or templates["shared"]


@pytest.fixture(scope="session")
def agents(templates: dict[str, Template]) -> Template:
    """The agent's, with the door: the pod in dev, tasks of its own in prod."""
    return templates.get("pod") or templates["agents"]


@pytest.fixture(scope="session")
def pod(synthesised: Path) -> Template:
    return read(synthesised, "dev")["pod"]


@pytest.fixture(scope="session")
def shared(synthesised: Path) -> Template:
    return read(synthesised, "prod")["shared"]
