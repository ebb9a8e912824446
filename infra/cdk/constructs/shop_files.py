"""Containers that fetch the shop's own files from the bucket: one runs once, before the server starts, the other follows the
policies while it runs. If the other stops, the server continues with the last policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aws_cdk import aws_ecs as ecs

from infra.cdk.config import FILES_MEMORY, SHOP_FILES, Stage
from infra.cdk.constructs.containers import TMP, Containers, ContainerSpec, mount
from infra.cdk.constructs.files import Files
from infra.cdk.constructs.repositories import Repositories

NAME, FOLLOWER = "shop-files", "policies"
FOLDER = "/shop"
FOLLOW_SECONDS = 15
"""Seconds between two looks at the policies; those at the flags are as far apart."""
STOP_SECONDS = 5


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
) -> list[ecs.ContainerDefinition]:
    """Adds the container that fetches the shop's files for `reader`, and beside a server the one that follows the policies.
    Returns them; there is none if the stage has no file in the bucket."""
    if not (names := fetched(stage, fields)):
        return []
    volume, urls = containers.volume("shop"), [files.shop_url(name) for name in names]

    def add(spec: ContainerSpec) -> ecs.ContainerDefinition:
        container = containers.add(spec)
        mount(container, volume)
        return container

    once = ContainerSpec(
        name=NAME,
        repository=repositories.server,
        tag=stage.release,
        cpu=0,
        memory=None,
        essential=False,
        restarts=False,
        entry_point=("python", "-m", "infra.seed.fetch"),
        command=(TMP, *urls),
        environment=environment,
        stop_seconds=STOP_SECONDS,
    )
    made = [first := add(once)]
    done = ecs.ContainerDependency(container=first, condition=ecs.ContainerDependencyCondition.SUCCESS)
    reader.add_container_dependencies(done)
    mount(reader, volume, FOLDER, read_only=True)
    if stage.follows_policies and fields == SHOP_FILES:
        command = ("--follow", str(FOLLOW_SECONDS), TMP, urls[0])
        made.append(add(replace(once, name=FOLLOWER, memory=FILES_MEMORY, restarts=True, command=command)))
        made[-1].add_container_dependencies(done)
    return made
