"""ARNs of a Bedrock model, called by its own id or by an inference profile."""

from __future__ import annotations

import re

from aws_cdk import Stack

BEDROCK = "bedrock:"


def bedrock_model(setting: str) -> str | None:
    """Returns the model of a setting such as `bedrock:MODEL`; None for other settings, such as `local`."""
    return setting.removeprefix(BEDROCK) if setting.startswith(BEDROCK) else None


def model_arns(stack: Stack, model: str) -> list[str]:
    """Returns the model's ARN; for an inference profile (`apac.…`), which routes calls to any of its regions, the profile's
    ARN and the model's in all regions."""
    profile = re.fullmatch(r"(?:apac|jp|us|eu|au|global)\.(.+)", model)
    if profile is None:
        return [f"arn:{stack.partition}:bedrock:{stack.region}::foundation-model/{model}"]
    return [
        f"arn:{stack.partition}:bedrock:{stack.region}:{stack.account}:inference-profile/{model}",
        f"arn:{stack.partition}:bedrock:*::foundation-model/{profile[1]}",
    ]
