"""An AWS client whose creation failed is created by the next call."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiobotocore.config import AioConfig
from botocore.exceptions import CredentialRetrievalError

from tools.store.backends.aws_client import AwsClient


async def test_failed_client_creation_is_retried_by_the_next_call_and_the_client_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A role that cannot be assumed at the first calls is such a failure."""
    made: list[Any] = []
    closed: list[Any] = []
    aws = AwsClient("dynamodb", "eu-west-1", "http://127.0.0.1:9", AioConfig())
    create = aws._session.create_client

    @asynccontextmanager
    async def creating(*arguments: Any, **options: Any) -> Any:
        made.append(arguments)
        if len(made) < 4:
            raise CredentialRetrievalError(provider="assume-role", error_msg="not now")
        async with create(*arguments, **options) as client:
            yield client
        closed.append(client)

    monkeypatch.setattr(aws._session, "create_client", creating)
    for _ in range(3):
        with pytest.raises(CredentialRetrievalError):
            await aws.ready()
    client = await aws.ready()
    assert await aws.ready() is client
    assert (len(made), closed) == (4, [])
    await aws.aclose()
    assert closed == [client]
