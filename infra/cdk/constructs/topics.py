"""Who is told: those who are woken, and those who read in the morning. Addresses are subscribed by hand."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.keys import Keys


class Topics(Construct):
    def __init__(self, scope: Construct, stage: Stage, keys: Keys) -> None:
        super().__init__(scope, "Topics")
        self.page, self.ticket = (
            sns.Topic(self, name.title(), topic_name=f"{stage.prefix}-{name}", master_key=keys.shop, enforce_ssl=True)
            for name in ("page", "ticket")
        )
        alarms = iam.ServicePrincipal("cloudwatch.amazonaws.com")
        account = {"StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account}}
        keys.shop.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AlarmsOfThisAccount",
                principals=[alarms],
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                resources=["*"],
                conditions=account,
            )
        )
        for topic in (self.page, self.ticket):
            topic.add_to_resource_policy(
                iam.PolicyStatement(
                    sid="AlarmsOfThisAccount",
                    principals=[alarms],
                    actions=["sns:Publish"],
                    resources=[topic.topic_arn],
                    conditions=account,
                )
            )
