"""CDK app of one stage: its stacks, the tags on all resources, and cdk-nag's checks."""

from __future__ import annotations

import re
from pathlib import Path

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from infra.cdk.config import Stage
from infra.cdk.stacks.agents import Agents
from infra.cdk.stacks.beside import PodStack
from infra.cdk.stacks.foundation import Foundation
from infra.cdk.stacks.shared import Shared

PLACE = re.compile(r'[^"\s]*/jsii-kernel-[A-Za-z0-9]+/')
"""Matches jsii's temporary folder, different in each run, which CDK writes into traces beside the templates."""
CONTEXT = {
    "aws:cdk:disable-stack-trace": True,
    "@aws-cdk/aws-iam:minimizePolicies": True,
    "@aws-cdk/core:enablePartitionLiterals": True,
    "@aws-cdk/core:checkSecretUsage": True,
    "@aws-cdk/aws-kms:aliasNameRef": True,
    "@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy": True,
}


def synthesise(stage: Stage, folder: Path) -> None:
    """Writes the stage's cloud assembly, with its CloudFormation templates. Makes no look-ups, reads no clock and packs no
    files, so the same code gives the same bytes on every machine. Raises RuntimeError for cdk-nag findings."""
    app = cdk.App(outdir=str(folder), analytics_reporting=False, tree_metadata=False, context=CONTEXT)
    foundation = Foundation(app, stage)
    if stage.walled:
        Shared(app, stage, foundation)
        Agents(app, stage, foundation)
    else:
        PodStack(app, stage, foundation)
    cdk.Tags.of(app).add("Project", "manga-tools")
    cdk.Tags.of(app).add("Stage", stage.name)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app, write_suppressions_to_cloud_formation=True))
    app.synth()
    for file in folder.glob("*.json"):
        file.write_text(PLACE.sub("", file.read_text("utf-8")), "utf-8")
