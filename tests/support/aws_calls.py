"""What this process asks of AWS, as IAM would judge it: an action on a resource, by whom.

Requests are seen where a driver is about to send them: botocore's clients, that of OpenSearch, and the signature that
ElastiCache takes for a password. `tests/contract/aws_calls.json` has all that the adapters ask, recorded
from the tests that hold them to their ports; a test that asks for more fails until it is recorded too
(`python -m tests.support.record_aws_calls`).
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import pytest
from aiobotocore.client import AioBaseClient
from botocore.auth import SigV4QueryAuth
from botocore.client import BaseClient

from server.flags.follower import TABLE as FLAGS
from tools.store.backends.dynamodb.tables import TABLES
from tools.store.backends.opensearch.client import Client

FILE = Path(__file__).parents[1] / "contract" / "aws_calls.json"
RECORD = "RECORD_AWS_CALLS"
SERVER, SEED, DOCTOR, DEPLOYMENT = "server", "seed", "doctor", "deployment"
TABLE_NAMES = tuple(table.name for table in (*TABLES, FLAGS))
MODELS = {"InvokeModel": "modelId", "Converse": "modelId"}
OBJECTS = {"GetObject", "PutObject", "HeadObject"}
IAM_NAMES = {
    "s3:ListObjectsV2": "s3:ListBucket",
    "s3:HeadObject": "s3:GetObject",
    "bedrock:Converse": "bedrock:InvokeModel",
}
"""Where IAM's action is not called as the operation is (Service Authorization Reference)."""
SERVICES = {"bedrock-runtime": "bedrock"}
DRIVERS = (
    __name__,
    "aiobotocore",
    "botocore",
    "asyncio",
    "contextlib",
    "tools.store.backends.dynamodb.connection",
    "tools.store.backends.aws",
)
"""Between who asks and the request."""
INDEX_PERMISSIONS = (
    (r"(GET|POST) /_msearch|POST /.+/_search", "aoss:ReadDocument", "index"),
    (r"POST /.+/_bulk", "aoss:WriteDocument", "index"),
    (r"GET /.+/_mapping", "aoss:DescribeIndex", "index"),
    (r"PUT /.+/_settings|POST /.+/_(forcemerge|refresh)", "aoss:UpdateIndex", "index"),
    (r"GET /.+/_alias", "aoss:DescribeCollectionItems", "collection"),
    (r"POST /_aliases", "aoss:UpdateCollectionItems", "collection"),
    (r"DELETE /[^/]+", "aoss:DeleteIndex", "index"),
    (r"PUT /[^/]+", "aoss:CreateIndex", "index"),
)
"""Permissions of a data access policy (OpenSearch Service Developer Guide, "Data access control", "Supported operations")."""


@dataclass(frozen=True, slots=True, order=True)
class AwsCall:
    """`resource` names what the shop has, whatever it is called in an account: `table/orders/index/by_time`."""

    by: str
    action: str
    resource: str


def kept() -> set[AwsCall]:
    return {AwsCall(**each) for each in json.loads(FILE.read_text("utf-8"))}


@pytest.fixture(autouse=True)
def asked_of_aws() -> Iterator[None]:
    """Holds a test of an adapter to what is known that it asks; where `RECORD` names a file it is written there instead."""
    with recording() as made:
        yield
    file = os.environ.get(RECORD)
    if file is None:
        assert made <= kept(), f"not known before: {sorted(made - kept())}; python -m tests.support.record_aws_calls"
    else:
        with Path(file).open("a", encoding="utf-8") as lines:
            lines.writelines(json.dumps(asdict(call)) + "\n" for call in sorted(made))


@contextmanager
def recording() -> Iterator[set[AwsCall]]:
    """What is asked until the block ends."""
    made: set[AwsCall] = set()
    api, blocking = AioBaseClient._make_api_call, BaseClient._make_api_call
    call, sign = Client.call, SigV4QueryAuth.add_auth

    async def api_call(client: Any, operation: str, parameters: Mapping[str, Any]) -> Any:
        if (by := _who(client)) is not None:
            made.update(_calls(by, client.meta.service_model.service_name, operation, parameters))
        return await api(client, operation, parameters)

    def blocking_call(client: Any, operation: str, parameters: Mapping[str, Any]) -> Any:
        if _who(client) is not None:
            by = SEED if operation == "DescribeTable" else DEPLOYMENT
            made.update(_calls(by, client.meta.service_model.service_name, operation, parameters))
        return blocking(client, operation, parameters)

    async def searched(client: Client, method: str, path: str, *rest: Any, **named: Any) -> Any:
        made.update(_searches(_module_above(), method, path))
        return await call(client, method, path, *rest, **named)

    def signed(auth: Any, request: Any) -> Any:
        if auth._service_name == "elasticache":
            made.update(AwsCall(SERVER, "elasticache:Connect", each) for each in ("cache", "cache user"))
        return sign(auth, request)

    with ExitStack() as stack:
        for owner, name, seen in (
            (AioBaseClient, "_make_api_call", api_call),
            (BaseClient, "_make_api_call", blocking_call),
            (Client, "call", searched),
            (SigV4QueryAuth, "add_auth", signed),
        ):
            stack.enter_context(patch.object(owner, name, seen))
        yield made


def _who(client: Any) -> str | None:
    """By the module that asks the driver's wrapper: only a person at a terminal asks the doctor, and what a test asks by
    itself is nobody's."""
    module = next(name for name in _modules() if not name.startswith(DRIVERS))
    if module.startswith("tests."):
        return None
    return DOCTOR if module.endswith(".diagnosis") else SEED if module.startswith("infra.seed") else SERVER


def _calls(by: str, service: str, operation: str, parameters: Mapping[str, Any]) -> Iterator[AwsCall]:
    service = SERVICES.get(service, service)
    action = IAM_NAMES.get(f"{service}:{operation}", f"{service}:{operation}")
    resources: Callable[[str, Mapping[str, Any]], Iterator[str]] = _RESOURCES[service]
    for resource in resources(operation, parameters):
        in_bulk = action == "dynamodb:BatchWriteItem" and resource != "table/profile"  # the server writes events alone
        yield AwsCall(SEED if action == "s3:PutObject" or in_bulk else by, action, resource)


def _tables(operation: str, parameters: Mapping[str, Any]) -> Iterator[str]:
    names = [parameters["TableName"]] if "TableName" in parameters else list(parameters.get("RequestItems", {}))
    index = f"/index/{parameters['IndexName']}" if "IndexName" in parameters else ""
    for name in names:
        found = next((table for table in TABLE_NAMES if name.endswith(table)), None)
        if found is not None:  # tests ask of tables that are nowhere as well
            yield f"table/{found}{index}"


def _buckets(operation: str, parameters: Mapping[str, Any]) -> Iterator[str]:
    if operation in OBJECTS:
        yield "object/standby" if "standby" in parameters["Key"] else "object/pages"
    else:
        yield "bucket"


def _models(operation: str, parameters: Mapping[str, Any]) -> Iterator[str]:
    yield "model/embedder" if "embed" in parameters[MODELS[operation]] else "model/classifier"


_RESOURCES = {"dynamodb": _tables, "s3": _buckets, "bedrock": _models}


def _searches(module: str, method: str, path: str) -> Iterator[AwsCall]:
    by = SEED if module.startswith("infra.seed") else DOCTOR if module.endswith(".diagnosis") else SERVER
    asked = f"{method} {path.partition('?')[0]}"
    if not module.startswith(("tools.", "infra.seed.")) or (by == DOCTOR and "_mapping" not in path):
        return  # a test by itself; and what a collection does not answer at all is asked of clusters only
    yield AwsCall(by, "aoss:APIAccessAll", "collection")
    for pattern, permission, resource in INDEX_PERMISSIONS:
        if re.fullmatch(pattern, asked):
            yield AwsCall(by, permission, resource)
            return
    raise AssertionError(f"which permission does {asked} need?")


def _module_above() -> str:
    """The first on the way here that is not the client itself."""
    return next(name for name in _modules() if name not in (__name__, Client.__module__))


def _modules() -> Iterator[str]:
    """Of all who wait for this, from the nearest on: a coroutine that awaits another stands above it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield str(frame.f_globals.get("__name__", ""))
        frame = frame.f_back
