from __future__ import annotations

from aws_cdk import RemovalPolicy

from infra.cdk.config import Stage


def removal(stage: Stage) -> RemovalPolicy:
    """Returns RETAIN if the stage keeps its data, so that only a person can delete the data; else DESTROY."""
    return RemovalPolicy.RETAIN if stage.keep else RemovalPolicy.DESTROY
