"""KMS keys that encrypt a stage's data: without them, a copy of the data is unreadable."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.removal import removal


class Keys(Construct):
    """`personal` encrypts orders, profiles and secrets; `audit` the log of access to orders; `shop` everything else,
    including other logs. Access to one key does not imply access to the others."""

    def __init__(self, scope: Construct, stage: Stage) -> None:
        super().__init__(scope, "Keys")
        self.personal = self._key(stage, "personal")
        self.shop = self._key(stage, "shop")
        self.audit = self._key(stage, "audit")
        for key in (self.shop, self.audit):
            self._let_logs_use(key)

    def _key(self, stage: Stage, name: str) -> kms.Key:
        return kms.Key(
            self,
            name.capitalize(),
            alias=f"alias/{stage.prefix}-{name}",
            enable_key_rotation=True,
            pending_window=cdk.Duration.days(30 if stage.keep else 7),
            removal_policy=removal(stage),
        )

    def _let_logs_use(self, key: kms.Key) -> None:
        stack = cdk.Stack.of(self)
        key.add_to_resource_policy(
            iam.PolicyStatement(
                sid="LogsOfThisAccount",
                principals=[iam.ServicePrincipal(f"logs.{stack.region}.amazonaws.com")],
                actions=["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"],
                resources=["*"],
                conditions={
                    "ArnLike": {"kms:EncryptionContext:aws:logs:arn": stack.format_arn(service="logs", resource="*")}
                },
            )
        )
