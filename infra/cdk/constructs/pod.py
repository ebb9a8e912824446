"""Pod: agent and server in one task, where the server listens on loopback only."""

from __future__ import annotations

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.agent_container import add_agent
from infra.cdk.constructs.collector import add_collector
from infra.cdk.constructs.containers import Containers
from infra.cdk.constructs.profiles import Profiles
from infra.cdk.constructs.repositories import Repositories
from infra.cdk.constructs.roles import Data, Roles
from infra.cdk.constructs.secrets import Secrets
from infra.cdk.constructs.server import Shape, add_server
from infra.cdk.constructs.shop_files import add_files
from infra.cdk.constructs.surroundings import region
from infra.cdk.constructs.task import fargate_task

STORE = "http://127.0.0.1:8080/sse"


class Pod(Construct):
    """Task of the pod. The agent depends on the server, so the server starts first and stops last."""

    def __init__(
        self, scope: Construct, stage: Stage, data: Data, repositories: Repositories, roles: Roles, secrets: Secrets
    ) -> None:
        super().__init__(scope, "Pod")
        self.task = fargate_task(self, stage.service, stage.size, roles.service)
        containers = Containers(self, stage, self.task, data.keys)
        profiles = Profiles(stage, containers, repositories, {"server": roles.server, "agent": roles.agent})
        server = add_server(stage, containers, repositories, data, roles, Shape(stage.size, {}))
        profiles.give(server, "server")
        for files in add_files(stage, containers, repositories, data.files, server, region(stage)):
            profiles.give(files, "server")
        door = ecs.Secret.from_secrets_manager(secrets.door_read_by(self, self.task.obtain_execution_role()))
        agent = add_agent(stage, containers, repositories, stage.size, STORE, (("AGENT_DOOR_SECRET", door),))
        profiles.give(agent, "agent")
        add_collector(stage, containers, repositories, roles, data.keys)
        healthy = ecs.ContainerDependencyCondition.HEALTHY
        agent.add_container_dependencies(ecs.ContainerDependency(container=server, condition=healthy))
