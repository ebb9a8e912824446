from __future__ import annotations

from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.cdk.acknowledged import acknowledge
from infra.cdk.config import TaskSize


def fargate_task(scope: Construct, family: str, size: TaskSize, role: iam.IRole) -> ecs.FargateTaskDefinition:
    task = ecs.FargateTaskDefinition(
        scope,
        "Task",
        family=family,
        cpu=size.cpu,
        memory_limit_mib=size.memory,
        task_role=role,
        runtime_platform=ecs.RuntimePlatform(
            cpu_architecture=ecs.CpuArchitecture.X86_64, operating_system_family=ecs.OperatingSystemFamily.LINUX
        ),
    )
    acknowledge(task, "AwsSolutions-ECS2", "What is in the environment is settings: secrets come from Secrets Manager.")
    execution = task.obtain_execution_role()
    acknowledge(
        execution, "AwsSolutions-IAM5[Resource::*]", "The token of ECR is for a registry as a whole: it knows no resource."
    )
    return task
