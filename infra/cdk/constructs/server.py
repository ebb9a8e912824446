"""The server's container and its sidecars: AppConfig's agent, which serves the flags, and the audit container, which copies
the lines on access to orders to a separate log group."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_ecs as ecs

from infra.cdk.config import Stage, TaskSize
from infra.cdk.constructs.collector import spans
from infra.cdk.constructs.containers import HEALTHY, Containers, ContainerSpec, mount
from infra.cdk.constructs.flags import PORT
from infra.cdk.constructs.repositories import FLAGS_AGENT, Repositories
from infra.cdk.constructs.roles import Data, Roles
from infra.cdk.constructs.surroundings import AUDIT, PIPE, region, settings

NAME = "manga-tools"
FLAGS_NAME = "flags"
FLAGS_USER = "10002"
FLAGS_CPU, FLAGS_MEMORY = 32, 128
HEALTHY_FIRST = ecs.ContainerDependencyCondition.HEALTHY
POLL_SECONDS = 15
AUDIT_NAME = "audit"
AUDIT_MEMORY = 64
CARRY = f"mkfifo -m 600 {PIPE} 2>/dev/null; exec cat <>{PIPE}"
"""Audit command. Opens the pipe for reading and writing, so that a server's end does not end it. As PID 1 it ignores
SIGTERM, and copies the rest of the pipe until it is killed."""
CARRIES_ON_S = 5


@dataclass(frozen=True, slots=True)
class Shape:
    """Settings in which deployments of the server differ. `port`: None if only containers of the task reach the server."""

    size: TaskSize
    environment: dict[str, str]
    secrets: tuple[tuple[str, ecs.Secret], ...] = ()
    port: int | None = None


def add_server(
    stage: Stage, containers: Containers, repositories: Repositories, data: Data, roles: Roles, shape: Shape
) -> ecs.ContainerDefinition:
    """Adds the server and its sidecars; returns the server's container."""
    audit = _audit(stage, containers, repositories, data)
    flags = _flags_agent(stage, containers, repositories, data, roles)
    container = containers.add(
        ContainerSpec(
            name=NAME,
            repository=repositories.server,
            tag=stage.release,
            cpu=shape.size.server_cpu,
            memory=shape.size.server_memory,
            environment={**settings(stage, data), **region(stage), **spans(stage), **shape.environment},
            health=tuple(HEALTHY),
            stop_seconds=stage.stop_seconds,
            secrets=shape.secrets,
            port=shape.port,
        )
    )
    mount(container, containers.volume("server-tmp"))
    mount(container, AUDIT, f"/{AUDIT}")
    for each in (container, flags):
        each.add_container_dependencies(ecs.ContainerDependency(container=audit, condition=HEALTHY_FIRST))
    return container


def _audit(stage: Stage, containers: Containers, repositories: Repositories, data: Data) -> ecs.ContainerDefinition:
    """Adds the container that copies audit lines from a pipe to a log group, with a blocking driver. If the log fails, the
    pipe fills up, and the server reports lost lines and shows no order without its audit line.

    This container mounts the other containers' volumes first. An empty volume takes owner and mode from the VOLUME of the
    first image that mounts it, and the image of AppConfig's agent has none."""
    container = containers.add(
        ContainerSpec(
            name=AUDIT_NAME,
            repository=repositories.server,
            tag=stage.release,
            cpu=0,
            memory=AUDIT_MEMORY,
            environment={},
            entry_point=("sh", "-c"),
            command=(CARRY,),
            health=("CMD", "test", "-p", PIPE),
            stop_seconds=CARRIES_ON_S,
            log=containers.log("Audit", f"/{stage.service}/audit", data.keys.audit),
        )
    )
    mount(container, containers.volume(AUDIT), f"/{AUDIT}")
    mount(container, containers.volume("flags-tmp"))
    return container


def _flags_agent(
    stage: Stage, containers: Containers, repositories: Repositories, data: Data, roles: Roles
) -> ecs.ContainerDefinition:
    """Adds AppConfig's agent. If the agent stops, the task continues with the last flags."""
    container = containers.add(
        ContainerSpec(
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
                "PREFETCH_LIST": data.flags.prefetched,
                "ROLE_ARN": roles.flags.role_arn,
                "ROLE_SESSION_NAME": FLAGS_NAME,
                "SERVICE_REGION": stage.region,
            },
        )
    )
    mount(container, "flags-tmp")
    return container
