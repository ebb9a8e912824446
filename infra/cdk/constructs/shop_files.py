"""Container that fetches the shop's own files from the bucket. It runs once, before the server starts."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_ecs as ecs

from infra.cdk.config import SHOP_FILES, Stage
from infra.cdk.constructs.containers import Containers, ContainerSpec, mount
from infra.cdk.constructs.files import Files
from infra.cdk.constructs.repositories import Repositories

NAME = "shop-files"
FOLDER = "/shop"


def stated_files(stage: Stage, fields: Sequence[str] = SHOP_FILES) -> dict[str, str]:
    """Returns the settings that name a file of the shop, with the file's path in the container that reads it."""
    named = {f"MANGA_{field.upper()}": getattr(stage, field) for field in fields}
    return {name: f"{FOLDER}/{file[3:]}" if file.startswith("s3:") else file for name, file in named.items() if file}


def fetched(stage: Stage, fields: Sequence[str] = SHOP_FILES) -> list[str]:
    return [file[3:] for field in fields if (file := getattr(stage, field)) and file.startswith("s3:")]


def add_files(
    stage: Stage,
    containers: Containers,
    repositories: Repositories,
    files: Files,
    reader: ecs.ContainerDefinition,
    environment: dict[str, str],
    fields: Sequence[str] = SHOP_FILES,
) -> ecs.ContainerDefinition | None:
    """Adds the container that fetches the shop's files for `reader`; returns None if the stage has none in the bucket."""
    if not (names := fetched(stage, fields)):
        return None
    container = containers.add(
        ContainerSpec(
            name=NAME,
            repository=repositories.server,
            tag=stage.release,
            cpu=0,
            memory=128,
            essential=False,
            restarts=False,
            entry_point=("python", "-m", "infra.seed.fetch"),
            command=("/tmp", *(files.shop_url(name) for name in names)),
            environment=environment,
        )
    )
    volume = containers.volume("shop")
    mount(container, volume)
    mount(reader, volume, FOLDER, read_only=True)
    done = ecs.ContainerDependencyCondition.SUCCESS
    reader.add_container_dependencies(ecs.ContainerDependency(container=container, condition=done))
    return container
