"""Lambda functions of the customers' entry points, outside the network and without access to the shop's data. The first
verifies tokens; the second posts to sockets, notes which flooded, and fetches keys. The template contains their code from
infra/door."""

from __future__ import annotations

from aws_cdk import Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.cdk.acknowledged import acknowledge
from infra.cdk.config import Stage
from infra.cdk.constructs.keys import Keys
from infra.cdk.constructs.permissions import allow
from infra.cdk.removal import removal
from server.config.settings import ROOT

SECONDS = 10
MEMORY = 256
"""MiB; Lambda allots CPU in proportion."""


class Sockets(Construct):
    """Table of each customer's open sockets, which limits their number: hashes and ids, which expire after two hours."""

    def __init__(self, scope: Construct, stage: Stage) -> None:
        super().__init__(scope, "Sockets")
        bounds = stage.bounds
        self.table = dynamodb.CfnTable(
            self,
            "Table",
            billing_mode="PAY_PER_REQUEST",
            attribute_definitions=[
                dynamodb.CfnTable.AttributeDefinitionProperty(attribute_name="customer", attribute_type="S")
            ],
            key_schema=[dynamodb.CfnTable.KeySchemaProperty(attribute_name="customer", key_type="HASH")],
            time_to_live_specification=dynamodb.CfnTable.TimeToLiveSpecificationProperty(
                enabled=True, attribute_name="ends_at"
            ),
            on_demand_throughput=dynamodb.CfnTable.OnDemandThroughputProperty(
                max_read_request_units=bounds.most_read_units, max_write_request_units=bounds.most_write_units
            ),
        )
        self.table.apply_removal_policy(removal(stage))
        acknowledge(self.table, "AwsSolutions-DDB3", "What is open is opened anew; there is nothing to recover.")


class Function(Construct):
    """Lambda function from a file of infra/door, with its own role and log. `arn`: the function's ARN."""

    def __init__(
        self,
        scope: Construct,
        stage: Stage,
        keys: Keys,
        name: str,
        environment: dict[str, str],
        statements: list[iam.PolicyStatement],
        source: str,
    ) -> None:
        super().__init__(scope, name.title())
        log = logs.LogGroup(
            self,
            "Log",
            log_group_name=f"/{stage.prefix}-{name}",
            retention=logs.RetentionDays.TWO_WEEKS,
            encryption_key=keys.shop,
            removal_policy=removal(stage),
        )
        lines = allow("Log", ("logs:CreateLogStream", "logs:PutLogEvents"), (log.log_group_arn,))
        self.role = iam.Role(
            self,
            "Role",
            role_name=f"{stage.prefix}-{name}",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"door": iam.PolicyDocument(statements=[lines, *statements])},
        )
        acknowledge(self.role, f"AwsSolutions-IAM5[Resource::{_nag(log)}]", "Streams of its own log, which Lambda names.")
        self.arn = lambda_.CfnFunction(
            self,
            "Function",
            function_name=f"{stage.prefix}-{name}",
            runtime=lambda_.Runtime.PYTHON_3_14.name,
            handler="index.handler",
            code=lambda_.CfnFunction.CodeProperty(zip_file=(ROOT / "infra/door" / source).read_text("utf-8")),
            role=self.role.role_arn,
            timeout=SECONDS,
            memory_size=MEMORY,
            reserved_concurrent_executions=stage.door.reserved_concurrency,
            environment=lambda_.CfnFunction.EnvironmentProperty(variables=environment),
            logging_config=lambda_.CfnFunction.LoggingConfigProperty(log_group=log.log_group_name),
        ).attr_arn


def _nag(log: logs.LogGroup) -> str:
    stack = Stack.of(log)
    return f"<{stack.get_logical_id(log.node.default_child)}.Arn>"  # type: ignore[arg-type]
