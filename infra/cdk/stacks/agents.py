"""Stack of agents in separate tasks, behind the customers' entry points; the agents call the shared server."""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.agent_container import add_agent
from infra.cdk.constructs.collector import add_collector
from infra.cdk.constructs.containers import Containers
from infra.cdk.constructs.door import Door
from infra.cdk.constructs.door_alarms import DoorAlarms
from infra.cdk.constructs.service import Service
from infra.cdk.constructs.task import fargate_task
from infra.cdk.stacks.foundation import Foundation
from infra.cdk.stacks.stage_stack import StageStack


class Agents(StageStack):
    def __init__(self, scope: Construct, stage: Stage, foundation: Foundation) -> None:
        super().__init__(scope, stage, "agents", "Agents, and the door by which customers reach them")
        network = foundation.network
        door = Door(self, stage, network, foundation.keys, foundation.secrets.door.secret_arn)
        task = self._task(stage, foundation)
        alarms = DoorAlarms(self, stage, foundation, door)
        # Immutable here: the rule that admits the door belongs to the other group.
        agents = ec2.SecurityGroup.from_security_group_id(
            self, "AgentsGroup", network.agents.security_group_id, mutable=False
        )
        groups = (agents, door.group)
        service = Service(self, stage, foundation.cluster, network, task, alarms.rollback, groups, stage.agents_scaling)
        door.attach(service.service)
        service.node.add_dependency(alarms)

    def _task(self, stage: Stage, foundation: Foundation) -> ecs.FargateTaskDefinition:
        task = fargate_task(self, stage.agents, stage.agents_size, foundation.roles.agent)
        containers = Containers(self, stage, task, foundation.keys)
        execution, kept = task.obtain_execution_role(), foundation.secrets
        secrets = (
            ("AGENT_DOOR_SECRET", ecs.Secret.from_secrets_manager(kept.door_read_by(self, execution))),
            ("AGENT_STORE_TOKEN", ecs.Secret.from_secrets_manager(kept.token_read_by(self, execution))),
        )
        store = f"https://{stage.shared.domain}/sse"
        add_agent(stage, containers, foundation.repositories, stage.agents_size, store, secrets)
        add_collector(stage, containers, foundation.repositories, foundation.roles)
        return task
