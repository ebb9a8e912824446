"""The shop's own files, fetched from the bucket by a container that runs once, before the server starts."""

from __future__ import annotations

from aws_cdk import aws_ecs as ecs

from infra.cdk.config import Stage
from infra.cdk.constructs.containers import Containers, ContainerSpec, mount
from infra.cdk.constructs.files import Files
from infra.cdk.constructs.repositories import Repositories

NAME = "shop-files"
FOLDER = "/shop"


def stated_files(stage: Stage) -> dict[str, str]:
    """Returns the settings that name a file of the shop, with the path at which the server finds it."""
    named = {"MANGA_POLICIES_FILE": stage.policies_file, "MANGA_TAGS_FILE": stage.tags_file}
    return {name: f"{FOLDER}/{file[3:]}" if file.startswith("s3:") else file for name, file in named.items() if file}


def fetched(stage: Stage) -> list[str]:
    """Returns the names of the shop's files that are in the bucket."""
    return [file[3:] for file in (stage.policies_file, stage.tags_file) if file and file.startswith("s3:")]


def add_files(
    stage: Stage,
    containers: Containers,
    repositories: Repositories,
    files: Files,
    reader: ecs.ContainerDefinition,
    environment: dict[str, str],
) -> ecs.ContainerDefinition | None:
    """Adds the container that fetches the files for `reader`, with `environment`; None if the bucket has none."""
    if not (names := fetched(stage)):
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
