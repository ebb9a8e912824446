"""What becomes of data when its stack goes."""

from __future__ import annotations

from aws_cdk import RemovalPolicy

from infra.cdk.config import Stage


def removal(stage: Stage) -> RemovalPolicy:
    """Kept where the stage keeps it: then only a person can delete it."""
    return RemovalPolicy.RETAIN if stage.keep else RemovalPolicy.DESTROY
