"""Stack of agent and server in one task, with everything else that a release changes, so that they roll back together."""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.alarms import Alarms
from infra.cdk.constructs.door import Door
from infra.cdk.constructs.door_alarms import DoorAlarms
from infra.cdk.constructs.pod import Pod
from infra.cdk.constructs.seed import Seed
from infra.cdk.constructs.service import Service
from infra.cdk.stacks.foundation import Foundation
from infra.cdk.stacks.stage_stack import StageStack


class PodStack(StageStack):
    def __init__(self, scope: Construct, stage: Stage, foundation: Foundation) -> None:
        super().__init__(scope, stage, "pod", "The agent with the manga tools beside it, as one service")
        Seed(self, stage, foundation.data, foundation.repositories, foundation.roles)
        network, secrets = foundation.network, foundation.secrets
        door = Door(self, stage, network, foundation.keys, secrets.door.secret_arn)
        pod = Pod(self, stage, foundation.data, foundation.repositories, foundation.roles, secrets)
        alarms, of_the_door = Alarms(self, stage, foundation), DoorAlarms(self, stage, foundation, door)
        # Immutable here: the rule that admits the door belongs to the other group.
        tasks = ec2.SecurityGroup.from_security_group_id(self, "TasksGroup", network.tasks.security_group_id, mutable=False)
        rollback = (*alarms.rollback, *of_the_door.rollback)
        groups = (tasks, door.group)
        service = Service(self, stage, foundation.cluster, network, pod.task, rollback, groups, stage.scaling)
        door.attach(service.service)
        service.node.add_dependency(alarms, of_the_door)
