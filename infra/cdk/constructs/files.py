"""S3 bucket for the standby catalogue, preview pages and the shop's own files, and a bucket for access logs."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.cdk.acknowledged import acknowledge
from infra.cdk.config import Stage
from infra.cdk.constructs.keys import Keys
from infra.cdk.constructs.network import Network
from infra.cdk.removal import removal

STANDBY = "standby/catalogue.bundle"
PAGES = "pages"
SHOP = "shop"
"""Folder of the shop's own files: policies, tags, and what the seed loads."""
ON_BUCKETS = ["s3:ListBucket"]
ON_OBJECTS = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]


class Files(Construct):
    def __init__(self, scope: Construct, stage: Stage, network: Network, keys: Keys) -> None:
        super().__init__(scope, "Files")
        self._stage = stage
        # Load balancers can write only to buckets encrypted with S3's own key.
        self.logs = self._bucket("Logs", s3.BucketEncryption.S3_MANAGED, None)
        expire = cdk.Duration.days(stage.log_days)
        self.logs.add_lifecycle_rule(expiration=expire, abort_incomplete_multipart_upload_after=cdk.Duration.days(1))
        acknowledge(self.logs, "AwsSolutions-S1", "It holds the logs of access; its own would be logs of logs.")
        self.shop = self._bucket("Shop", s3.BucketEncryption.KMS, keys)
        self.shop.add_lifecycle_rule(
            noncurrent_version_expiration=cdk.Duration.days(30),
            abort_incomplete_multipart_upload_after=cdk.Duration.days(1),
        )
        self._only_through(network)

    @property
    def standby_url(self) -> str:
        return f"s3://{self.shop.bucket_name}/{STANDBY}?region={self._stage.region}"

    @property
    def pages_url(self) -> str:
        return f"s3://{self.shop.bucket_name}/{PAGES}?region={self._stage.region}"

    def shop_url(self, name: str) -> str:
        return f"s3://{self.shop.bucket_name}/{SHOP}/{name}?region={self._stage.region}"

    def _only_through(self, network: Network) -> None:
        """Denies reads and writes except through the network's gateway endpoint, so that stolen credentials are useless
        outside. The endpoint may reach only this bucket and ECR's image layers. `publishers` may come from outside."""
        both = [self.shop.bucket_arn, self.shop.arn_for_objects("*")]
        network.s3.add_to_policy(network.through([*ON_BUCKETS, *ON_OBJECTS], both))
        conditions: dict[str, dict[str, object]] = {"StringNotEquals": {"aws:SourceVpce": network.s3.vpc_endpoint_id}}
        if self._stage.publishers:
            conditions["ArnNotLike"] = {"aws:PrincipalArn": list(self._stage.publishers)}
        self.shop.add_to_resource_policy(
            iam.PolicyStatement(
                sid="OnlyThroughTheNetwork",
                effect=iam.Effect.DENY,
                principals=[iam.AnyPrincipal()],
                actions=[*ON_BUCKETS, *ON_OBJECTS],
                resources=both,
                conditions=conditions,
            )
        )

    def _bucket(self, name: str, encryption: s3.BucketEncryption, keys: Keys | None) -> s3.Bucket:
        return s3.Bucket(
            self,
            name,
            encryption=encryption,
            encryption_key=keys.shop if keys else None,
            bucket_key_enabled=True if keys else None,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            minimum_tls_version=1.2 if keys else None,
            versioned=keys is not None,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            server_access_logs_bucket=self.logs if keys else None,
            server_access_logs_prefix="shop/" if keys else None,
            removal_policy=removal(self._stage),
        )
