"""ECS task that runs `python -m infra.seed` inside the network, since the index cannot be reached from outside."""

from __future__ import annotations

from constructs import Construct

from infra.cdk.config import SEED_FILES, SHOP_FILES, Stage, TaskSize
from infra.cdk.constructs.containers import Containers, ContainerSpec, mount
from infra.cdk.constructs.repositories import Repositories
from infra.cdk.constructs.roles import Data, Roles
from infra.cdk.constructs.shop_files import add_files, stated_files
from infra.cdk.constructs.surroundings import region, settings
from infra.cdk.constructs.task import fargate_task

SIZE = TaskSize(cpu=1024, memory=4096, server_cpu=960, server_memory=3712, agent_cpu=0, agent_memory=0)
"""Size of the task, which computes the vectors of a whole catalogue."""
UNUSED = ("MANGA_FLAGS_URL", "MANGA_REDIS_URL", "MANGA_PAGES_URL", "MANGA_EMF", "MANGA_AUDIT", "MANGA_AUDIT_LOG")
"""Settings that the seed does not read."""


class Seed(Construct):
    """Definition of the seed's task, which `aws ecs run-task` starts (infra/RUNBOOKS.md). A second run writes only what is
    missing or has changed."""

    def __init__(self, scope: Construct, stage: Stage, data: Data, repositories: Repositories, roles: Roles) -> None:
        super().__init__(scope, "Seed")
        task = fargate_task(self, f"{stage.prefix}-seed", SIZE, roles.seed)
        containers = Containers(self, stage, task, data.keys)
        needed = {name: value for name, value in settings(stage, data).items() if name not in UNUSED}
        container = containers.add(
            ContainerSpec(
                name="seed",
                repository=repositories.server,
                tag=stage.release,
                cpu=SIZE.server_cpu,
                memory=SIZE.server_memory,
                environment={**needed, **stated_files(stage, SEED_FILES), **region(stage)},
                entry_point=("python", "-m", "infra.seed"),
                restarts=False,
            )
        )
        mount(container, containers.volume("seed-tmp"))
        add_files(stage, containers, repositories, data.files, container, region(stage), (*SHOP_FILES, *SEED_FILES))
