from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiobotocore.config import AioConfig
from aiohttp import ClientError as HttpError
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from server.standby.bundle import ALL_SECONDS, CHUNK, LONGEST_LINE, UnreachableError
from tools.store.backends.aws_address import S3Address
from tools.store.backends.aws_client import AwsClient, client_config, code_of


class S3Store:
    """Stores the bundle in an S3 object. Its version is the ETag; an unchanged object is not sent again (RFC 9110)."""

    def __init__(self, where: S3Address) -> None:
        self._named = {"Bucket": where.bucket, "Key": where.prefix.rstrip("/")}
        self._called = f"s3://{where.bucket}/{self._named['Key']}"
        config = client_config(
            connect_seconds=1.0,
            read_seconds=5.0,
            pool=2,
            response_checksum_validation="when_required",
            request_checksum_calculation="when_required",
            s3={"addressing_style": "path" if where.endpoint else "auto"},
        )
        retrying = AioConfig(retries={"mode": "standard", "total_max_attempts": 2})
        self._client = AwsClient("s3", where.region, where.endpoint, config.merge(retrying))
        self.aclose = self._client.aclose

    async def fetch(self, since: str | None, into: Path) -> str | None:
        async with self._reaching():
            try:
                answer = await self._get(**({"IfNoneMatch": since} if since else {}))
            except ClientError as error:
                if code_of(error) == "304":  # not changed
                    return None
                raise
            with await asyncio.to_thread(into.open, "wb") as file:
                async with answer["Body"] as body:
                    async for chunk in body.iter_chunks(CHUNK):
                        await asyncio.to_thread(file.write, chunk)
            return str(answer["ETag"])

    async def head(self) -> bytes:
        try:
            async with self._reaching():
                answer = await self._get(Range=f"bytes=0-{LONGEST_LINE - 1}")
                async with answer["Body"] as body:
                    return bytes(await body.read())
        except _NoObjectError:
            return b""

    async def publish(self, bundle: Path) -> None:
        async with self._reaching():
            client = await self._client.ready()
            with await asyncio.to_thread(bundle.open, "rb") as body:
                await client.put_object(**self._named, Body=body)

    async def _get(self, **how: Any) -> Any:
        client = await self._client.ready()
        return await client.get_object(**self._named, **how)

    @asynccontextmanager
    async def _reaching(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(ALL_SECONDS):
                yield
        except ClientError as error:
            kind = _NoObjectError if code_of(error) in ("NoSuchKey", "404") else UnreachableError
            raise kind(f"{self._called}: {code_of(error)}") from error
        except (BotoCoreError, ResponseParserError, HttpError, OSError, EOFError) as error:
            raise UnreachableError(f"{self._called} cannot be reached ({type(error).__name__})") from error
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise UnreachableError(f"{self._called} answers with something that cannot be read") from error


class _NoObjectError(UnreachableError):
    pass
