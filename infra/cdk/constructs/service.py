"""ECS service: its tasks, and how a release replaces the previous release without a failed turn."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from infra.cdk.config import Scaling, Stage
from infra.cdk.constructs.network import Network
from infra.cdk.constructs.scaling import scale

FINE = {"MetricConfigurations": [{"MetricNames": ["CPUUtilization"], "ResolutionSeconds": 20}]}
"""CPU metric every 20 seconds, to scale by (ECS Developer Guide, "Faster auto scaling"); CDK has no property for it yet."""


class Service(Construct):
    """ECS service with its scaling. All tasks of a release are healthy before a task of the previous release is stopped. The
    circuit breaker rolls back a release whose tasks do not start; the alarms roll back a release that answers badly."""

    def __init__(
        self,
        scope: Construct,
        stage: Stage,
        cluster: ecs.ICluster,
        network: Network,
        task: ecs.FargateTaskDefinition,
        rollback_alarms: Sequence[str],
        groups: Sequence[ec2.ISecurityGroup],
        scaling: Scaling,
    ) -> None:
        super().__init__(scope, "Service")
        self.service = ecs.FargateService(
            self,
            "Service",
            cluster=cluster,
            service_name=task.family,
            task_definition=task,
            platform_version=ecs.FargatePlatformVersion.VERSION1_4,
            assign_public_ip=False,
            security_groups=list(groups),
            vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
            availability_zone_rebalancing=ecs.AvailabilityZoneRebalancing.ENABLED,
            min_healthy_percent=100,
            max_healthy_percent=200,
            circuit_breaker=ecs.DeploymentCircuitBreaker(enable=True, rollback=True),
            deployment_alarms=ecs.DeploymentAlarmConfig(
                alarm_names=list(rollback_alarms), behavior=ecs.AlarmBehavior.ROLLBACK_ON_ALARM
            ),
            enable_execute_command=False,
            enable_ecs_managed_tags=True,
            propagate_tags=ecs.PropagatedTagSource.SERVICE,
        )
        resource = self.service.node.default_child
        assert isinstance(resource, cdk.CfnResource)
        resource.add_property_override("Monitoring", FINE)
        scale(self, stage, task.family, self.service, scaling)
