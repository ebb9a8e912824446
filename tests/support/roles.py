"""The roles of a stage with their policies, and what they are about, as its templates have them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from infra.cdk.config import Stage
from tests.support.aws_calls import TABLE_NAMES, AwsCall
from tests.support.cloudformation import ACCOUNT, Templates

BEDROCK = "bedrock:"
PAGE = "pages/manga-000001/1/1.webp"


@dataclass(frozen=True, slots=True)
class Role:
    arn: str
    policy: Mapping[str, Any]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """What it allows, each action on each resource."""
        for statement in self.policy["Statement"]:
            if statement["Effect"] == "Allow":
                yield from product(_listed(statement["Action"]), _listed(statement["Resource"]))


def roles(templates: Templates, prefix: str) -> dict[str, Role]:
    """By the name behind the stage's; a role has what is in it and what is attached to it."""
    found: dict[str, Role] = {}
    attached = [each for _, each in templates.of("AWS::IAM::Policy")]
    for name, each in templates.of("AWS::IAM::Role"):
        if not str(each.get("RoleName", "")).startswith(f"{prefix}-"):
            continue
        documents = [inline["PolicyDocument"] for inline in each.get("Policies", ())]
        documents += [policy["PolicyDocument"] for policy in attached if each["RoleName"] in policy.get("Roles", ())]
        statements = [statement for document in documents for statement in document["Statement"]]
        policy = {"Version": "2012-10-17", "Statement": statements}
        found[each["RoleName"].removeprefix(f"{prefix}-")] = Role(templates.arn(name), policy)
    return found


class Shop:
    """What is recorded by its own name has an ARN here."""

    def __init__(self, stage: Stage, templates: Templates) -> None:
        self.stage, self._templates = stage, templates
        self.region = templates.region
        self.embeds_by_bedrock = stage.embedder.startswith(BEDROCK)
        model = stage.embedder.removeprefix(BEDROCK) if self.embeds_by_bedrock else "amazon.titan-embed-text-v2:0"
        self.embedder_arn = f"arn:aws:bedrock:{self.region}::foundation-model/{model}"
        self.tables = [f"table/{name}" for name in TABLE_NAMES if name != "flags"]
        self.other_stage_table = f"manga-{'dev' if stage.name == 'prod' else 'prod'}-orders"

    def arn(self, resource: str) -> str:
        kind, _, rest = resource.partition("/")
        if kind == "table":
            table, _, index = rest.partition("/")
            whole = f"arn:aws:dynamodb:{self.region}:{ACCOUNT}:table/{self.stage.table_prefix}{table}"
            return f"{whole}/{index}" if index else whole
        if kind in ("bucket", "object"):
            return self._bucket if kind == "bucket" else f"{self._bucket}/{self._key(rest)}"
        if kind == "model":
            return self.embedder_arn
        if kind == "collection":
            return self._only("AWS::OpenSearchServerless::Collection")
        name = self._properties("AWS::ElastiCache::ServerlessCache")["ServerlessCacheName"]
        user = self._properties("AWS::ElastiCache::User")["UserId"]
        own = {"cache": f"serverlesscache:{name}", "cache user": f"user:{user}"}[resource]
        return f"arn:aws:elasticache:{self.region}:{ACCOUNT}:{own}"

    def context(self, call: AwsCall) -> dict[str, str]:
        return {"s3:prefix": PAGE.rpartition("/")[0] + "/"} if call.action == "s3:ListBucket" else {}

    @property
    def keys(self) -> list[str]:
        return [self._templates.arn(name) for name, _ in self._templates.of("AWS::KMS::Key")]

    def key_policy(self, arn: str) -> Mapping[str, Any]:
        found = {self._templates.arn(name): each for name, each in self._templates.of("AWS::KMS::Key")}
        policy: Mapping[str, Any] = found[arn]["KeyPolicy"]
        return policy

    @property
    def secrets(self) -> list[str]:
        return [self._templates.arn(name) for name, _ in self._templates.of("AWS::SecretsManager::Secret")]

    def search_permissions(self, role: str) -> dict[str, set[str]]:
        """Permissions of the collection's policies, and on what."""
        granted: dict[str, set[str]] = {}
        for _, each in self._templates.of("AWS::OpenSearchServerless::AccessPolicy"):
            for part in json.loads(each["Policy"]):
                if role in part["Principal"]:
                    for rule in part["Rules"]:
                        for permission in rule["Permission"]:
                            granted.setdefault(permission, set()).update(rule["Resource"])
        return granted

    @property
    def _bucket(self) -> str:
        """The one that is encrypted with a key of one's own; the other has logs."""
        found = [
            self._templates.arn(name)
            for name, each in self._templates.of("AWS::S3::Bucket")
            if "aws:kms" in json.dumps(each["BucketEncryption"])
        ]
        assert len(found) == 1
        return found[0]

    def _key(self, what: str) -> str:
        return PAGE if what == "pages" else "standby/catalogue.bundle"

    def _only(self, kind: str) -> str:
        (found,) = (self._templates.arn(name) for name, _ in self._templates.of(kind))
        return found

    def _properties(self, kind: str) -> dict[str, Any]:
        ((_, found),) = self._templates.of(kind)
        return found


def _listed(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]
