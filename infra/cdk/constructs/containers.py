"""Common settings of containers: an unprivileged user, a read-only root, and a log driver that drops lines rather than
block, except for a log that must be complete."""

from __future__ import annotations

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.cdk.config import ONCE_MEMORY, Stage
from infra.cdk.constructs.keys import Keys
from infra.cdk.removal import removal

USER = "10001"
"""User id in both Dockerfiles."""
TMP = "/tmp"
OPEN_FILES = 65_536
LOG_BUFFER = 25
"""MiB of log lines that wait for CloudWatch. Further lines are dropped; with a blocking driver a full buffer would stop the
process at its next line."""
RESTART_SECONDS = 60
WRONG_SETTING = 2
"""Exit status of an invalid setting, after which a restart is useless."""
HEALTHY = ["CMD", "python", "-m", "server.commands.healthcheck"]


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """Parameters of a container; None or empty leaves a property out. `cpu`: units (1024 are a vCPU). `memory`: most MiB,
    None for a container that has ended when the others need theirs. `essential`: the task ends when the container ends.
    `restarts`: ECS restarts it in place. `log`: a separate log group, whose driver makes the writer wait instead of dropping
    lines; None for the task's."""

    name: str
    repository: ecr.IRepository
    tag: str
    cpu: int
    memory: int | None
    environment: dict[str, str]
    essential: bool = True
    user: str = USER
    command: tuple[str, ...] = ()
    entry_point: tuple[str, ...] = ()
    health: tuple[str, ...] = ()
    stop_seconds: int | None = None
    restarts: bool = True
    secrets: tuple[tuple[str, ecs.Secret], ...] = ()
    port: int | None = None
    log: logs.ILogGroup | None = None


class Containers(Construct):
    def __init__(self, scope: Construct, stage: Stage, task: ecs.FargateTaskDefinition, keys: Keys) -> None:
        super().__init__(scope, "Containers")
        self._stage, self._task = stage, task
        self._log = self.log("Log", f"/{task.family}", keys.shop)

    def log(self, name: str, called: str, key: kms.IKey) -> logs.LogGroup:
        return logs.LogGroup(
            self,
            name,
            log_group_name=called,
            retention=_retention(self._stage.log_days),
            encryption_key=key,
            removal_policy=removal(self._stage),
        )

    def add(self, kind: ContainerSpec) -> ecs.ContainerDefinition:
        name = kind.name.title().replace("-", "")
        return self._task.add_container(
            name,
            container_name=kind.name,
            image=ecs.ContainerImage.from_ecr_repository(kind.repository, kind.tag),
            cpu=kind.cpu,
            memory_limit_mib=kind.memory,
            memory_reservation_mib=ONCE_MEMORY if kind.memory is None else None,
            essential=kind.essential,
            user=kind.user,
            command=list(kind.command) or None,
            entry_point=list(kind.entry_point) or None,
            environment=kind.environment,
            secrets=dict(kind.secrets) or None,
            readonly_root_filesystem=True,
            linux_parameters=self._harmless(name),
            ulimits=[ecs.Ulimit(name=ecs.UlimitName.NOFILE, soft_limit=OPEN_FILES, hard_limit=OPEN_FILES)],
            health_check=_health(kind),
            stop_timeout=cdk.Duration.seconds(kind.stop_seconds) if kind.stop_seconds else None,
            port_mappings=[ecs.PortMapping(container_port=kind.port)] if kind.port else None,
            logging=self._routing(kind),
            # Restarts in place, without a new task. A second exit within a minute ends the task, if essential.
            enable_restart_policy=kind.restarts or None,
            restart_attempt_period=cdk.Duration.seconds(RESTART_SECONDS) if kind.restarts else None,
            restart_ignored_exit_codes=[WRONG_SETTING] if kind.restarts else None,
        )

    def volume(self, name: str) -> str:
        """Adds an empty volume that lives as long as the task, since Fargate has no tmpfs. Returns its name. Owner and mode
        come from the image's VOLUME; without VOLUME, root owns the volume and no other user can write."""
        self._task.add_volume(name=name)
        return name

    def _harmless(self, name: str) -> ecs.LinuxParameters:
        linux = ecs.LinuxParameters(self, f"{name}Linux", init_process_enabled=False)
        linux.drop_capabilities(ecs.Capability.ALL)
        return linux

    def _routing(self, kind: ContainerSpec) -> ecs.LogDriver:
        """Returns the log driver, with an explicit mode because the default is a setting of the account."""
        if kind.log is not None:
            return ecs.LogDrivers.aws_logs(stream_prefix=kind.name, log_group=kind.log, mode=ecs.AwsLogDriverMode.BLOCKING)
        return ecs.LogDrivers.aws_logs(
            stream_prefix=kind.name,
            log_group=self._log,
            mode=ecs.AwsLogDriverMode.NON_BLOCKING,
            max_buffer_size=cdk.Size.mebibytes(LOG_BUFFER),
        )


def mount(container: ecs.ContainerDefinition, volume: str, path: str = TMP, *, read_only: bool = False) -> None:
    container.add_mount_points(ecs.MountPoint(source_volume=volume, container_path=path, read_only=read_only))


def _health(kind: ContainerSpec) -> ecs.HealthCheck | None:
    if not kind.health:
        return None
    return ecs.HealthCheck(
        command=list(kind.health),
        interval=cdk.Duration.seconds(5),
        timeout=cdk.Duration.seconds(2),
        retries=3,
        start_period=cdk.Duration.seconds(60),
    )


def _retention(days: int) -> logs.RetentionDays:
    kept = logs.RetentionDays
    return {
        7: kept.ONE_WEEK,
        14: kept.TWO_WEEKS,
        30: kept.ONE_MONTH,
        90: kept.THREE_MONTHS,
        180: kept.SIX_MONTHS,
        365: kept.ONE_YEAR,
    }[days]
