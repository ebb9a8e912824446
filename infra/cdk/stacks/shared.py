"""Stack of the server as a separate service, for agents in other tasks, and of the task that loads the catalogue."""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_route53 as route53
from aws_cdk import aws_route53_targets as targets
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.alarms import Alarms
from infra.cdk.constructs.balancer import PORT, Balancer
from infra.cdk.constructs.collector import add_collector
from infra.cdk.constructs.containers import Containers
from infra.cdk.constructs.seed import Seed
from infra.cdk.constructs.server import NAME, Shape, add_server
from infra.cdk.constructs.service import Service
from infra.cdk.constructs.shop_files import add_files
from infra.cdk.constructs.surroundings import region
from infra.cdk.constructs.task import fargate_task
from infra.cdk.stacks.foundation import Foundation
from infra.cdk.stacks.stage_stack import StageStack


class Shared(StageStack):
    def __init__(self, scope: Construct, stage: Stage, foundation: Foundation) -> None:
        super().__init__(scope, stage, "shared", "The manga tools behind a load balancer, for agents of other tasks")
        Seed(self, stage, foundation.data, foundation.repositories, foundation.roles)
        balancer = Balancer(self, stage, foundation.network, foundation.data.files.logs)
        task = self._task(stage, foundation)
        alarms = Alarms(self, stage, foundation, balancer)
        # Immutable here: the rule that admits the load balancer belongs to the other group.
        tasks = ec2.SecurityGroup.from_security_group_id(
            self, "TasksGroup", foundation.network.tasks.security_group_id, mutable=False
        )
        groups: list[ec2.ISecurityGroup] = [tasks, balancer.group]
        service = Service(self, stage, foundation.cluster, foundation.network, task, alarms.rollback, groups, stage.scaling)
        balancer.attach(service.service, NAME)
        service.node.add_dependency(alarms)
        self._name(stage, foundation, balancer)

    def _name(self, stage: Stage, foundation: Foundation, balancer: Balancer) -> None:
        zone = route53.PrivateHostedZone(self, "Zone", zone_name=stage.shared.domain, vpc=foundation.network.vpc)
        target = route53.RecordTarget.from_alias(targets.LoadBalancerTarget(balancer.balancer))
        route53.ARecord(self, "Name", zone=zone, target=target)

    def _task(self, stage: Stage, foundation: Foundation) -> ecs.FargateTaskDefinition:
        task = fargate_task(self, stage.service, stage.shared_size, foundation.roles.service)
        containers = Containers(self, stage, task, foundation.keys)
        token = ecs.Secret.from_secrets_manager(foundation.secrets.token_read_by(self, task.obtain_execution_role()))
        environment = {
            "MANGA_HOST": "0.0.0.0",
            "MANGA_AUTH": "token",
            "MANGA_ALLOWED_HOSTS": stage.shared.domain,
            "MANGA_TRUSTED_PROXIES": stage.network.cidr,
        }
        shape = Shape(stage.shared_size, environment, (("MANGA_AUTH_TOKENS", token),), PORT)
        repositories, data = foundation.repositories, foundation.data
        server = add_server(stage, containers, repositories, data, foundation.roles, shape)
        add_files(stage, containers, repositories, data.files, server, region(stage))
        add_collector(stage, containers, repositories, foundation.roles, foundation.keys)
        return task
