"""ARNs of a Bedrock model that is called by its own id or by an inference profile."""

from __future__ import annotations

import re

from aws_cdk import Stack

BEDROCK = "bedrock:"


def bedrock_model(setting: str) -> str | None:
    """Returns the model id of a setting such as `bedrock:MODEL`; None for other settings, such as `local`."""
    return setting.removeprefix(BEDROCK) if setting.startswith(BEDROCK) else None


def model_arns(stack: Stack, model: str) -> list[str]:
    """Returns the ARNs that a caller of `model` needs access to. For an inference profile (`apac.…`) these are the
    profile's, and the model's in every region, since the profile routes calls to several regions."""
    profile = re.fullmatch(r"(?:apac|jp|us|eu|au|global)\.(.+)", model)
    if profile is None:
        return [f"arn:{stack.partition}:bedrock:{stack.region}::foundation-model/{model}"]
    return [
        f"arn:{stack.partition}:bedrock:{stack.region}:{stack.account}:inference-profile/{model}",
        f"arn:{stack.partition}:bedrock:*::foundation-model/{profile[1]}",
    ]
