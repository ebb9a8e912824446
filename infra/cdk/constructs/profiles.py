"""Gives each container of a pod its own role, by an AWS config file that is written before the containers start.

botocore takes a role to assume only from a profile, and the file contains the account id, which images do not know. So a
container that runs once writes the file to a volume that the other containers mount read-only."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam

from infra.cdk.config import Stage
from infra.cdk.constructs.containers import Containers, ContainerSpec, mount
from infra.cdk.constructs.repositories import Repositories

NAME = "profiles"
FOLDER = "/aws"
FILE = "config"
WRITE = f'umask 022 && printf "%s" "$AWS_CONFIG" > /tmp/{FILE}'


class Profiles:
    """Adds a container that writes the config file, with one profile for each of `roles`. `give` lets another container use
    one of the profiles."""

    def __init__(
        self, stage: Stage, containers: Containers, repositories: Repositories, roles: Mapping[str, iam.IRole]
    ) -> None:
        self._volume = containers.volume("aws")
        self._writer = containers.add(
            ContainerSpec(
                name=NAME,
                repository=repositories.server,
                tag=stage.release,
                cpu=0,
                memory=None,
                essential=False,
                restarts=False,
                entry_point=("sh", "-c"),
                command=(WRITE,),
                environment={"AWS_CONFIG": _config(stage, roles)},
            )
        )
        mount(self._writer, self._volume)

    def give(self, container: ecs.ContainerDefinition, profile: str) -> None:
        container.add_environment("AWS_CONFIG_FILE", f"{FOLDER}/{FILE}")
        container.add_environment("AWS_PROFILE", profile)
        mount(container, self._volume, FOLDER, read_only=True)
        finished = ecs.ContainerDependencyCondition.SUCCESS
        container.add_container_dependencies(ecs.ContainerDependency(container=self._writer, condition=finished))


def _config(stage: Stage, roles: Mapping[str, iam.IRole]) -> str:
    return "\n".join(
        f"[profile {name}]\nrole_arn = {role.role_arn}\ncredential_source = EcsContainer\n"
        f"role_session_name = {name}\nregion = {stage.region}\n"
        for name, role in roles.items()
    )
