"""The containers of both shapes: the server, AppConfig's agent with its flags, and the audit's, which carries the lines on
who saw which order to a log of its own."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_ecs as ecs

from infra.cdk.config import Stage, TaskSize
from infra.cdk.constructs.collector import spans
from infra.cdk.constructs.containers import HEALTHY, Containers, Kind, mount
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
"""Opened for both, so that a server that goes does not end it. As the first process it does not hear SIGTERM, and carries
what is in the pipe until it is killed."""
CARRIES_ON_S = 5


@dataclass(frozen=True, slots=True)
class Shape:
    """The particulars of a shape: size, settings, secrets, and whether it is reached from outside of the task."""

    size: TaskSize
    environment: dict[str, str]
    secrets: tuple[tuple[str, ecs.Secret], ...] = ()
    port: int | None = None


def add_server(
    stage: Stage, containers: Containers, repositories: Repositories, data: Data, roles: Roles, shape: Shape
) -> ecs.ContainerDefinition:
    """Adds the server and its helpers."""
    audit = _audit(stage, containers, repositories, data)
    flags = _flags_agent(stage, containers, repositories, data, roles)
    container = containers.add(
        Kind(
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
    """Reads the audit from a pipe and writes it to its log, whose driver waits for room. Where the log is away the pipe is
    full, and the server, which shows no order without its line, says that lines are lost. It is the first to mount the
    volumes of others, since an empty volume takes its rights from the VOLUME of the image that mounts it first, and that of
    the flags agent, which is not ours, has none."""
    container = containers.add(
        Kind(
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
    """Adds AppConfig's agent. The task goes on without it, with the last flags."""
    container = containers.add(
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
                "PREFETCH_LIST": data.flags.prefetched,
                "ROLE_ARN": roles.flags.role_arn,
                "ROLE_SESSION_NAME": FLAGS_NAME,
                "SERVICE_REGION": stage.region,
            },
        )
    )
    mount(container, "flags-tmp")
    return container
