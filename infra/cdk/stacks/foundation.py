"""What outlives every release: network, keys, data, and the roles that may touch it. A rollback of a service leaves it as it
is."""

from __future__ import annotations

import aws_cdk as cdk
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.keys import Keys
from infra.cdk.constructs.tables import Tables


class Foundation(cdk.Stack):
    def __init__(self, scope: Construct, stage: Stage) -> None:
        super().__init__(
            scope,
            f"{stage.prefix}-foundation",
            env=cdk.Environment(region=stage.region),
            description="Network, keys, data and roles of the manga tools",
            termination_protection=stage.keep,
            synthesizer=cdk.DefaultStackSynthesizer(generate_bootstrap_version_rule=False),
        )
        self.keys = Keys(self, stage)
        self.tables = Tables(self, stage, self.keys)
