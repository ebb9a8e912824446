"""The containers that both shapes have: the server, and AppConfig's agent that gives it its flags."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam

from infra.cdk.config import Stage, TaskSize
from infra.cdk.constructs.containers import HEALTHY, Containers, Kind, mount
from infra.cdk.constructs.flags import PORT, Flags
from infra.cdk.constructs.repositories import FLAGS_AGENT, Repositories
from infra.cdk.constructs.roles import Data
from infra.cdk.constructs.surroundings import region, settings

NAME = "manga-tools"
FLAGS_NAME = "flags"
FLAGS_USER = "10002"
FLAGS_CPU, FLAGS_MEMORY = 32, 128
POLL_SECONDS = 15


@dataclass(frozen=True, slots=True)
class Shape:
    """What one shape has of its own: its size, settings, namespace of metrics, secrets, and whether it is reached from
    outside of the task."""

    size: TaskSize
    namespace: str
    environment: dict[str, str]
    secrets: tuple[tuple[str, ecs.Secret], ...] = ()
    port: int | None = None


def add_server(
    stage: Stage, containers: Containers, repositories: Repositories, data: Data, shape: Shape
) -> ecs.ContainerDefinition:
    container = containers.add(
        Kind(
            name=NAME,
            repository=repositories.server,
            tag=stage.release,
            cpu=shape.size.server_cpu,
            memory=shape.size.server_memory,
            environment={**settings(stage, data, shape.namespace), **region(stage), **shape.environment},
            health=tuple(HEALTHY),
            stop_seconds=stage.stop_seconds,
            secrets=shape.secrets,
            port=shape.port,
        )
    )
    mount(container, containers.volume("server-tmp"))
    return container


def add_flags_agent(
    stage: Stage, containers: Containers, repositories: Repositories, flags: Flags, role: iam.IRole
) -> ecs.ContainerDefinition:
    """Not essential: while it is away the flags stay as they were."""
    return containers.add(
        Kind(
            name=FLAGS_NAME,
            repository=repositories.flags_agent,
            tag=FLAGS_AGENT,
            cpu=FLAGS_CPU,
            memory=FLAGS_MEMORY,
            user=FLAGS_USER,
            essential=False,
            environment={
                "HTTP_PORT": str(PORT),
                "POLL_INTERVAL": str(POLL_SECONDS),
                "PREFETCH_LIST": flags.prefetched,
                "ROLE_ARN": role.role_arn,
                "ROLE_SESSION_NAME": FLAGS_NAME,
                "SERVICE_REGION": stage.region,
            },
        )
    )
