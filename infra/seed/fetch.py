"""`python -m infra.seed.fetch FOLDER s3://BUCKET/KEY …`: fetches the shop's own files for a server's container.

Runs once, before the server. If a file cannot be fetched, exits with 2 and one line, and the server does not start."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError


def fetch(driver: Any, folder: Path, urls: Sequence[str]) -> None:
    """Writes each S3 object to `folder`, under the last part of its key, readable by all users. Raises botocore's errors."""
    for url in urls:
        parts = urlsplit(url)
        text = driver.get_object(Bucket=parts.netloc, Key=parts.path.removeprefix("/"))["Body"].read()
        file = folder / Path(parts.path).name
        file.write_bytes(text)
        file.chmod(0o644)


def main(arguments: Sequence[str]) -> int:
    import boto3

    folder, *urls = arguments
    try:
        fetch(boto3.client("s3"), Path(folder), urls)
    except (BotoCoreError, ClientError, OSError) as error:
        print(f"the shop's files cannot be fetched: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
