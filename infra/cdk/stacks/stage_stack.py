from __future__ import annotations

import aws_cdk as cdk
from constructs import Construct

from infra.cdk.config import Stage


class StageStack(cdk.Stack):
    """Stack of a stage, in the stage's region. Omits CDK's check of the bootstrap version, which would need an account."""

    def __init__(
        self, scope: Construct, stage: Stage, name: str, description: str, *, protected: bool | None = None
    ) -> None:
        super().__init__(
            scope,
            f"{stage.prefix}-{name}",
            env=cdk.Environment(region=stage.region),
            description=description,
            termination_protection=protected,
            synthesizer=cdk.DefaultStackSynthesizer(generate_bootstrap_version_rule=False),
        )
