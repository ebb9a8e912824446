"""A client that is made anew after a failure leaves nothing of the one before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiobotocore.config import AioConfig
from botocore.exceptions import CredentialRetrievalError

from tools.store.backends.aws_client import AwsClient

ENDPOINT = "http://127.0.0.1:9"
"""Nobody asks there."""


async def test_each_client_that_could_not_be_used_is_closed() -> None:
    """As where a role cannot be assumed when the first calls come: who gives credentials is asked by `use`."""
    made: list[Any] = []
    closed: list[Any] = []

    @asynccontextmanager
    async def use(client: Any, session: Any) -> AsyncIterator[Any]:
        made.append(client)
        client._endpoint.http_session._exit_stack.callback(closed.append, client)
        if len(made) < 4:
            raise CredentialRetrievalError(provider="assume-role", error_msg="not now")
        yield client

    aws = AwsClient("dynamodb", "eu-west-1", ENDPOINT, AioConfig(), use)
    for _ in range(3):
        with pytest.raises(CredentialRetrievalError):
            await aws.ready()
        assert closed == made
    client = await aws.ready()
    assert await aws.ready() is client
    assert closed == made[:3]
    await aws.aclose()
    assert closed == made
