"""Scales the number of tasks by their load rather than by their connections, since an open stream costs next to nothing."""

from __future__ import annotations

from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from infra.cdk.config import Scaling, Stage
from server.telemetry.service_levels import UNDER_WAY

CPU = "ECSServiceAverageCPUUtilizationHighResolution"
CALLS = UNDER_WAY.name
"""Metric of concurrent calls. Each task reports its number once a second, so the average is that of a task. CloudFormation
cannot state the period of a custom metric: it is a minute."""
OUT_S, IN_S = 30, 300
"""Cooldowns in seconds: quick to add tasks, slow to remove them, since agents of a stopped task have to reconnect."""


def scale(scope: Construct, stage: Stage, name: str, service: ecs.FargateService, bounds: Scaling) -> None:
    target = scaling.CfnScalableTarget(
        scope,
        "Tasks",
        min_capacity=bounds.least,
        max_capacity=bounds.most,
        resource_id=f"service/{service.cluster.cluster_name}/{service.service_name}",
        scalable_dimension="ecs:service:DesiredCount",
        service_namespace="ecs",
    )
    by_cpu = scaling.CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty(
        target_value=bounds.cpu_percent,
        predefined_metric_specification=scaling.CfnScalingPolicy.PredefinedMetricSpecificationProperty(
            predefined_metric_type=CPU
        ),
        scale_out_cooldown=OUT_S,
        scale_in_cooldown=IN_S,
    )
    tracked = {"Cpu": by_cpu}
    if bounds.calls_under_way is not None:
        tracked["Calls"] = scaling.CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty(
            target_value=bounds.calls_under_way,
            customized_metric_specification=scaling.CfnScalingPolicy.CustomizedMetricSpecificationProperty(
                namespace=stage.namespace, metric_name=CALLS, statistic="Average"
            ),
            scale_out_cooldown=OUT_S,
            scale_in_cooldown=IN_S,
        )
    for by, tracking in tracked.items():
        scaling.CfnScalingPolicy(
            scope,
            by,
            policy_name=f"{name}-{by.lower()}",
            policy_type="TargetTrackingScaling",
            scaling_target_id=target.ref,
            target_tracking_scaling_policy_configuration=tracking,
        )
