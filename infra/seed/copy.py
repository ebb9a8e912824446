"""`python -m infra.seed.copy TO-THEN TO`: writes the items of a restored DynamoDB table over those of the table it was.

A table that is restored to a point in time always has a new name (infra/cdk/README.md). Items that TO alone has stay.
Region and credentials are those of the AWS environment."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError


def copy(driver: Any, source: str, target: str) -> int:
    """Copies all items, and returns their number. Raises botocore's errors; a second run does no harm."""
    copied = 0
    with driver.Table(target).batch_writer() as writer:
        for page in driver.meta.client.get_paginator("scan").paginate(TableName=source, ConsistentRead=True):
            for item in page["Items"]:
                writer.put_item(Item=item)
                copied += 1
    return copied


def main(arguments: Sequence[str]) -> int:
    import boto3

    if len(arguments) != 2 or not arguments[0].startswith(f"{arguments[1]}-"):
        print("usage: python -m infra.seed.copy TO-THEN TO, where the copy is named as the table, and then", file=sys.stderr)
        return 2
    source, target = arguments
    try:
        copied = copy(boto3.resource("dynamodb"), source, target)
    except (BotoCoreError, ClientError) as error:
        print(f"the table cannot be copied; run it again: {error}", file=sys.stderr)
        return 1
    print(f"{copied:,} items of {source} are in {target}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
