"""The pod: the agent and the server beside it in one task, on loopback alone."""

from __future__ import annotations

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.containers import Containers, Kind, mount
from infra.cdk.constructs.profiles import Profiles
from infra.cdk.constructs.repositories import Repositories
from infra.cdk.constructs.roles import Data, Roles
from infra.cdk.constructs.server import Shape, add_server
from infra.cdk.constructs.task import fargate_task

AGENT = "agent"
STORE = "http://127.0.0.1:8080/sse"
HEALTHY_AGENT = ("CMD", "python", "-m", "infra.agent.healthcheck")
AGENT_STOP_SPARE_S = 20
"""On top of the server's: the agent is stopped first, and its model talks on after the last tool."""


class Pod(Construct):
    """The server starts first and is stopped last, because the agent depends on it."""

    def __init__(self, scope: Construct, stage: Stage, data: Data, repositories: Repositories, roles: Roles) -> None:
        super().__init__(scope, "Pod")
        self.task = fargate_task(self, stage.service, stage.size, roles.service)
        containers = Containers(self, stage, self.task, data.keys)
        profiles = Profiles(stage, containers, repositories, {"server": roles.server, "agent": roles.agent})
        server = add_server(stage, containers, repositories, data, roles, Shape(stage.size, {}))
        profiles.give(server, "server")
        agent = self._agent(stage, containers, repositories)
        profiles.give(agent, "agent")
        healthy = ecs.ContainerDependencyCondition.HEALTHY
        agent.add_container_dependencies(ecs.ContainerDependency(container=server, condition=healthy))

    def _agent(self, stage: Stage, containers: Containers, repositories: Repositories) -> ecs.ContainerDefinition:
        container = containers.add(
            Kind(
                name=AGENT,
                repository=repositories.agent,
                tag=stage.release,
                cpu=stage.size.agent_cpu,
                memory=stage.size.agent_memory,
                environment={"AWS_DEFAULT_REGION": stage.region, "AWS_STS_REGIONAL_ENDPOINTS": "regional"},
                command=("--serve", "--url", STORE, "--bedrock", stage.model),
                health=HEALTHY_AGENT,
                stop_seconds=stage.stop_seconds + AGENT_STOP_SPARE_S,
            )
        )
        mount(container, containers.volume("agent-tmp"))
        return container
