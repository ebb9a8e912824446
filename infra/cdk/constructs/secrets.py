"""Generated secrets: the bearer token by which the server authenticates agents, and the secret by which agents authenticate
the WebSocket gateway. Neither is ever shown: ECS injects both into containers, and CloudFormation gives the second to API
Gateway."""

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
        self._stage, self._key = stage, keys.personal
        self.token = self._secret("Token", "agent-token", "The bearer by which an agent proves itself to the tool server")
        self.door = self._secret("Door", "door-secret", "By which API Gateway proves to the agent that it is the door")

    def _secret(self, name: str, called: str, what: str) -> secretsmanager.Secret:
        made = secretsmanager.Secret(
            self,
            name,
            secret_name=f"{self._stage.prefix}/{called}",
            description=what,
            encryption_key=self._key,
            generate_secret_string=secretsmanager.SecretStringGenerator(
                password_length=CHARACTERS, exclude_punctuation=True, include_space=False
            ),
            removal_policy=removal(self._stage),
        )
        acknowledge(
            made,
            "AwsSolutions-SMG4",
            "Containers read it when they start: a new value needs a deployment, which a rotation does not make.",
        )
        return made

    def token_read_by(self, scope: Construct, role: iam.IRole) -> secretsmanager.ISecret:
        """Lets `role` decrypt the token; returns the token for `scope`, a stack that is deployed later. The result refers to
        the secret by ARN only: otherwise the key's policy would name the role, and depend on that stack."""
        self._let_use_key(role)
        return secretsmanager.Secret.from_secret_complete_arn(scope, "Token", self.token.secret_arn)

    def door_read_by(self, scope: Construct, role: iam.IRole) -> secretsmanager.ISecret:
        self._let_use_key(role)
        return secretsmanager.Secret.from_secret_complete_arn(scope, "DoorSecret", self.door.secret_arn)

    def _let_use_key(self, role: iam.IRole) -> None:
        role.add_to_principal_policy(
            iam.PolicyStatement(
                sid="KeyOfTheSecrets",
                actions=["kms:Decrypt"],
                resources=[self._key.key_arn],
                conditions={"StringEquals": {"kms:ViaService": f"secretsmanager.{Stack.of(self).region}.amazonaws.com"}},
            )
        )
