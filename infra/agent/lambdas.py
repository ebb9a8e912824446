"""Invokes the AWS Lambda functions that reach the internet for an ECS task without internet access."""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any

from botocore.config import Config

Json = dict[str, Any]


class FunctionFailed(Exception):
    pass


@cache
def _client() -> Any:
    import boto3

    config = Config(connect_timeout=1, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 2})
    return boto3.client("lambda", region_name=os.environ.get("AWS_REGION"), config=config)


def invoke(address: str, payload: Json) -> Json:
    """Invokes the function `lambda:NAME` and returns its answer. Blocks. Raises `FunctionFailed`, or botocore's errors."""
    response = _client().invoke(FunctionName=address.removeprefix("lambda:"), Payload=json.dumps(payload))
    answer = response["Payload"].read()
    if response.get("FunctionError"):
        raise FunctionFailed(f"{address} failed")
    return dict(json.loads(answer))
