"""What lies beside that which the server may: nobody asks it, and no role of a container may do it."""

from __future__ import annotations

from tests.support.cloudformation import ACCOUNT
from tests.support.roles import Shop


def neighbours(shop: Shop) -> list[tuple[str, str, dict[str, str]]]:
    """Near what the server may, and further away: action, resource, and what its conditions are held against."""
    tables = {name: shop.arn(f"table/{name}") for name in ("titles", "stock", "releases", "orders", "profile")}
    on_tables = [
        (f"dynamodb:{action}", arn, {})
        for arn in tables.values()
        for action in ("Scan", "DeleteTable", "UpdateTable", "UpdateItem", "PartiQLSelect", "UpdateContinuousBackups")
    ]
    written = [
        (f"dynamodb:{action}", tables[name], {})
        for name in ("titles", "stock", "releases", "orders")
        for action in ("PutItem", "DeleteItem", "BatchWriteItem")
    ]
    return [
        *on_tables,
        *written,
        ("dynamodb:BatchGetItem", tables["orders"], {}),
        ("dynamodb:BatchGetItem", tables["profile"], {}),
        ("dynamodb:Query", tables["stock"], {}),
        ("dynamodb:Query", f"{tables['orders']}/index/by_customer", {}),
        *((action, arn, {}) for action, arn in elsewhere(shop)),
        ("s3:ListBucket", shop.arn("bucket"), {}),
        ("s3:ListBucket", shop.arn("bucket"), {"s3:prefix": "standby/"}),
        (
            "kms:Decrypt",
            f"arn:aws:kms:{shop.region}:{ACCOUNT}:key/another",
            {"kms:ViaService": f"dynamodb.{shop.region}.amazonaws.com"},
        ),
    ]


def elsewhere(shop: Shop) -> list[tuple[str, str]]:
    region, bucket = shop.region, shop.arn("bucket")
    here = f"{region}:{ACCOUNT}"
    return [
        ("dynamodb:GetItem", f"arn:aws:dynamodb:{here}:table/another"),
        ("dynamodb:GetItem", f"arn:aws:dynamodb:{here}:table/{shop.other_stage_table}"),
        ("dynamodb:GetItem", shop.arn("table/orders").replace(ACCOUNT, "999999999999")),
        ("dynamodb:GetItem", shop.arn("table/orders").replace(region, "eu-west-1")),
        ("aoss:APIAccessAll", f"arn:aws:aoss:{here}:collection/another"),
        ("aoss:DeleteCollection", shop.arn("collection")),
        ("bedrock:InvokeModel", f"arn:aws:bedrock:{region}::foundation-model/amazon.nova-lite-v1:0"),
        ("bedrock:InvokeModel", f"arn:aws:bedrock:{region}::foundation-model/amazon.titan-embed-text-v1"),
        ("bedrock:InvokeModelWithResponseStream", shop.embedder_arn),
        ("s3:GetObject", f"{bucket}/another/object"),
        ("s3:GetObject", f"{bucket}/standby/another.bundle"),
        ("s3:GetObject", "arn:aws:s3:::another/pages/manga-000001/1/1.webp"),
        ("s3:PutObject", shop.arn("object/standby")),
        ("s3:DeleteObject", shop.arn("object/pages")),
        ("elasticache:Connect", f"arn:aws:elasticache:{here}:serverlesscache:another"),
        ("elasticache:Connect", f"arn:aws:elasticache:{here}:user:another"),
        *(("secretsmanager:GetSecretValue", each) for each in shop.secrets),
        ("lambda:InvokeFunction", f"arn:aws:lambda:{here}:function:another"),
        ("execute-api:ManageConnections", f"arn:aws:execute-api:{here}:another/v1/POST/@connections/x"),
        ("logs:DeleteLogGroup", f"arn:aws:logs:{here}:log-group:another"),
        ("ecs:ExecuteCommand", f"arn:aws:ecs:{here}:cluster/another"),
        ("iam:CreateUser", f"arn:aws:iam::{ACCOUNT}:user/another"),
        ("iam:PassRole", f"arn:aws:iam::{ACCOUNT}:role/another"),
        ("sts:AssumeRole", f"arn:aws:iam::{ACCOUNT}:role/another"),
    ]
