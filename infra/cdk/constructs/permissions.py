"""IAM policy statements for the roles, limited to the actions that the code performs and the resources that it uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

from infra.cdk.constructs.cache import Cache
from infra.cdk.constructs.files import PAGES, SHOP, STANDBY, Files
from infra.cdk.constructs.flags import Flags
from infra.cdk.constructs.keys import Keys
from infra.cdk.constructs.models import model_arns
from infra.cdk.constructs.search import Search
from infra.cdk.constructs.tables import Tables
from tools.store.backends.dynamodb.tables import ORDERS, PROFILE, RELEASES, STOCK, TITLES, Table

# Actions of tools/store/backends/dynamodb, and of the doctor command, which runs in the server's container.
READ_BY_KEY = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:DescribeTable")
QUERIED = ("dynamodb:GetItem", "dynamodb:Query", "dynamodb:DescribeTable")
REMEMBERED = (
    *QUERIED,
    "dynamodb:BatchWriteItem",
    "dynamodb:PutItem",
    "dynamodb:DeleteItem",
    "dynamodb:DescribeTimeToLive",
)
SEEDED = ("dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:BatchWriteItem")
KEY_USE = ("kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey", "kms:DescribeKey")


def allow(sid: str, actions: Sequence[str], resources: Sequence[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(sid=sid, actions=list(actions), resources=list(resources))


def reads_the_store(tables: Tables) -> list[iam.PolicyStatement]:
    return [
        allow("StoreByKey", READ_BY_KEY, _arns(tables, (TITLES, STOCK))),
        allow("StoreByQuery", QUERIED, _arns(tables, (RELEASES, ORDERS))),
        allow("WhatCustomersDid", REMEMBERED, _arns(tables, (PROFILE,))),
    ]


def writes_the_store(tables: Tables, *, orders: bool) -> list[iam.PolicyStatement]:
    """Returns statements that allow loading the catalogue's tables; with `orders`, also the table of orders and describing
    that of profiles, as the seed then does."""
    written = (TITLES, STOCK, RELEASES, *((ORDERS,) if orders else ()))
    described = [allow("DescribeProfiles", ("dynamodb:DescribeTable",), _arns(tables, (PROFILE,)))] if orders else []
    return [allow("SeedTheStore", SEEDED, _arns(tables, written)), *described]


def uses_keys(keys: Keys, region: str, *services: str) -> iam.PolicyStatement:
    """Returns a statement that allows using the personal and the shop's key, but only through the given AWS services."""
    return iam.PolicyStatement(
        sid="KeysThroughTheirServices",
        actions=list(KEY_USE),
        resources=[keys.personal.key_arn, keys.shop.key_arn],
        conditions={"StringEquals": {"kms:ViaService": [f"{each}.{region}.amazonaws.com" for each in services]}},
    )


def searches(search: Search) -> iam.PolicyStatement:
    """Returns a statement that allows requests to the search collection, whose own access policy decides on indices and
    documents."""
    return allow("Search", ("aoss:APIAccessAll",), (search.arn,))


def use_cache(cache: Cache) -> iam.PolicyStatement:
    return allow("SessionMemory", ("elasticache:Connect",), cache.connectable)


def fetches(files: Files, names: Sequence[str]) -> list[iam.PolicyStatement]:
    bucket = files.shop.bucket_arn
    listed = allow("ListPages", ("s3:ListBucket",), (bucket,))
    listed.add_condition("StringLike", {"s3:prefix": [f"{PAGES}/*", STANDBY]})
    objects = (f"{bucket}/{PAGES}/*", f"{bucket}/{STANDBY}", *_of_the_shop(files, names))
    return [listed, allow("FetchFiles", ("s3:GetObject",), objects)]


def puts_the_standby(files: Files, names: Sequence[str]) -> list[iam.PolicyStatement]:
    own = [allow("PutStandby", ("s3:GetObject", "s3:PutObject"), (f"{files.shop.bucket_arn}/{STANDBY}",))]
    return [*own, allow("FetchFiles", ("s3:GetObject",), _of_the_shop(files, names))] if names else own


def _of_the_shop(files: Files, names: Sequence[str]) -> list[str]:
    return [f"{files.shop.bucket_arn}/{SHOP}/{name}" for name in names]


def embeds(stack: cdk.Stack, model: str | None) -> list[iam.PolicyStatement]:
    return [] if model is None else [allow("Embed", ("bedrock:InvokeModel",), model_arns(stack, model))]


def classifies(stack: cdk.Stack, model: str | None) -> list[iam.PolicyStatement]:
    return [] if model is None else [allow("Classify", ("bedrock:InvokeModel",), model_arns(stack, model))]


def speaks_outside(stack: cdk.Stack, function: str) -> iam.PolicyStatement:
    arn = stack.format_arn(
        service="lambda", resource="function", resource_name=function, arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
    )
    return allow("SpeakOutside", ("lambda:InvokeFunction",), (arn,))


def send_spans() -> iam.PolicyStatement:
    """Returns a statement that allows sending spans to X-Ray, whose actions accept no resource."""
    return allow("Spans", ("xray:PutTraceSegments", "xray:PutTelemetryRecords"), ("*",))


def tells_of_metrics(stack: cdk.Stack, log: str) -> iam.PolicyStatement:
    streams = f"{log}:log-stream:*"
    arn = stack.format_arn(
        service="logs", resource="log-group", resource_name=streams, arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
    )
    return allow("Metrics", ("logs:CreateLogStream", "logs:PutLogEvents"), (arn,))


def invoke_model(stack: cdk.Stack, model: str) -> iam.PolicyStatement:
    actions = ("bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream")
    return allow("Converse", actions, model_arns(stack, model))


def reads_flags(flags: Flags) -> iam.PolicyStatement:
    return allow("Flags", ("appconfig:StartConfigurationSession", "appconfig:GetLatestConfiguration"), (flags.arn,))


def _arns(tables: Tables, wanted: Iterable[Table]) -> list[str]:
    arns: list[str] = []
    for table in wanted:
        arn = tables.of[table].attr_arn
        arns += [arn, *(f"{arn}/index/{index.name}" for index in table.indexes)]
    return arns
