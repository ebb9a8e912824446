"""The bearer that proves an agent to the server. Nobody has to see it: it is made here, and ECS hands it to both."""

from __future__ import annotations

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra.cdk.acknowledged import acknowledge
from infra.cdk.config import Stage
from infra.cdk.constructs.keys import Keys
from infra.cdk.removal import removal

CHARACTERS = 48


class Secrets(Construct):
    def __init__(self, scope: Construct, stage: Stage, keys: Keys) -> None:
        super().__init__(scope, "Secrets")
        self.token = secretsmanager.Secret(
            self,
            "Token",
            secret_name=f"{stage.prefix}/agent-token",
            description="The bearer by which an agent proves itself to the tool server",
            encryption_key=keys.personal,
            generate_secret_string=secretsmanager.SecretStringGenerator(
                password_length=CHARACTERS, exclude_punctuation=True, include_space=False
            ),
            removal_policy=removal(stage),
        )
        self._key = keys.personal
        acknowledge(
            self.token,
            "AwsSolutions-SMG4",
            "Containers read it when they start: a new value needs a deployment, which a rotation does not make.",
        )

    def read_by(self, scope: Construct, role: iam.IRole) -> secretsmanager.ISecret:
        """The token for a stack that is deployed later. Named by its ARN alone, or its key would name the reader, and could
        not be made before it."""
        role.add_to_principal_policy(
            iam.PolicyStatement(
                sid="KeyOfTheToken",
                actions=["kms:Decrypt"],
                resources=[self._key.key_arn],
                conditions={"StringEquals": {"kms:ViaService": f"secretsmanager.{Stack.of(self).region}.amazonaws.com"}},
            )
        )
        return secretsmanager.Secret.from_secret_complete_arn(scope, "Token", self.token.secret_arn)
