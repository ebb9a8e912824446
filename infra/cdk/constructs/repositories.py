"""ECR repositories of images. The network cannot reach a public registry, so AWS's own images are copied into them too."""

from __future__ import annotations

from aws_cdk import aws_ecr as ecr
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.keys import Keys
from infra.cdk.removal import removal

KEPT = 30
"""Images kept in each repository, to roll back to."""
FLAGS_AGENT = "2.0.9210"
"""Tag of the copy of public.ecr.aws/aws-appconfig/aws-appconfig-agent:2.x; tags are immutable here."""

COLLECTOR = "v0.49.0"
"""Tag of the copy of public.ecr.aws/aws-observability/aws-otel-collector, the same as there."""


class Repositories(Construct):
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
