"""The repositories of images: the network cannot reach a public registry, so AWS's own images have copies here too."""

from __future__ import annotations

from aws_cdk import aws_ecr as ecr
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.keys import Keys
from infra.cdk.removal import removal

KEPT = 30
"""Releases kept to roll back to."""
FLAGS_AGENT = "2.0.9210"
"""The tag that the copy of public.ecr.aws/aws-appconfig/aws-appconfig-agent:2.x is pushed by; tags do not change here."""

COLLECTOR = "v0.49.0"
"""The same of public.ecr.aws/aws-observability/aws-otel-collector, by its own tag."""


class Repositories(Construct):
    """The repositories. Their tags are immutable."""

    def __init__(self, scope: Construct, stage: Stage, keys: Keys) -> None:
        super().__init__(scope, "Repositories")
        self.server, self.agent, self.flags_agent, self.collector = (
            ecr.Repository(
                self,
                name.title().replace("-", ""),
                repository_name=f"{stage.prefix}/{name}",
                image_tag_mutability=ecr.TagMutability.IMMUTABLE,
                image_scan_on_push=True,
                encryption=ecr.RepositoryEncryption.KMS,
                encryption_key=keys.shop,
                lifecycle_rules=[ecr.LifecycleRule(max_image_count=KEPT, description="as many as can be rolled back to")],
                removal_policy=removal(stage),
            )
            for name in ("server", "agent", "flags-agent", "collector")
        )
