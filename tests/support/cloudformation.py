"""Templates as an account would have them: what refers to something is replaced by that thing's name or ARN."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

Json = Any
ACCOUNT = "111122223333"
NAMES = {
    "AWS::DynamoDB::Table": ("dynamodb:{region}:{account}:table/{name}", "TableName"),
    "AWS::S3::Bucket": ("s3:::{name}", "BucketName"),
    "AWS::KMS::Key": ("kms:{region}:{account}:key/{name}", ""),
    "AWS::IAM::Role": ("iam::{account}:role/{name}", "RoleName"),
    "AWS::OpenSearchServerless::Collection": ("aoss:{region}:{account}:collection/{name}", ""),
    "AWS::SecretsManager::Secret": ("secretsmanager:{region}:{account}:secret:{name}", ""),
    "AWS::Logs::LogGroup": ("logs:{region}:{account}:log-group:{name}:*", "LogGroupName"),
    "AWS::ECR::Repository": ("ecr:{region}:{account}:repository/{name}", "RepositoryName"),
}
"""By type: what comes after `arn:aws:`, and the property that names it; where there is none AWS makes one up."""
REFERS_BY_ARN = ("AWS::SecretsManager::Secret",)


@dataclass(frozen=True, slots=True)
class Templates:
    """All stacks of one stage. What one exports the others import."""

    region: str
    resources: Mapping[str, Mapping[str, Any]]
    """By stack and logical id: `STACK/ID`."""
    exports: Mapping[str, tuple[str, Json]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, region: str) -> Templates:
        resources: dict[str, Mapping[str, Any]] = {}
        exports: dict[str, tuple[str, Json]] = {}
        for file in sorted(folder.glob("*.template.json")):
            stack, told = file.name.removesuffix(".template.json"), json.loads(file.read_text("utf-8"))
            resources |= {f"{stack}/{name}": each for name, each in told["Resources"].items()}
            for output in told.get("Outputs", {}).values():
                if isinstance(name := output.get("Export", {}).get("Name"), str):
                    exports[name] = (stack, output["Value"])
        return cls(region, resources, exports)

    def of(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every resource of a type, by `STACK/ID`, with its properties as an account would have them."""
        for name, each in self.resources.items():
            if each["Type"] == kind:
                yield name, self.resolved(each.get("Properties", {}), name.partition("/")[0])

    def arn(self, name: str) -> str:
        each = self.resources[name]
        form, named_by = NAMES[each["Type"]]
        own = each.get("Properties", {}).get(named_by)
        called = own if isinstance(own, str) else _made_up(name)
        return "arn:aws:" + form.format(region=self.region, account=ACCOUNT, name=called)

    def resolved(self, value: Json, stack: str) -> Json:
        again = partial(self.resolved, stack=stack)
        if isinstance(value, list):
            return [again(each) for each in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1 and (function := self._functions(stack).get(name := next(iter(value)))):
            return function(value[name])
        return {name: again(each) for name, each in value.items()}

    def _functions(self, stack: str) -> dict[str, Callable[[Json], Json]]:
        again = partial(self.resolved, stack=stack)
        return {
            "Ref": partial(self._ref, stack),
            "Fn::GetAtt": partial(self._attribute, stack),
            "Fn::Join": lambda told: str(told[0]).join(map(str, again(told[1]))),
            "Fn::Select": lambda told: again(told[1])[int(told[0])],
            "Fn::Split": lambda told: str(again(told[1])).split(told[0]),
            "Fn::Sub": lambda told: re.sub(r"\$\{([^}]+)\}", lambda found: str(self._ref(stack, found[1])), str(told)),
            "Fn::ImportValue": lambda name: self.resolved(self.exports[name][1], self.exports[name][0]),
        }

    def _ref(self, stack: str, name: str) -> Json:
        pseudo = {
            "AWS::Region": self.region,
            "AWS::AccountId": ACCOUNT,
            "AWS::Partition": "aws",
            "AWS::URLSuffix": "amazonaws.com",
            "AWS::NoValue": None,
        }
        if name in pseudo:
            return pseudo[name]
        found = self.resources.get(f"{stack}/{name}")
        if found is None or found["Type"] not in NAMES:
            return _made_up(name)
        arn = self.arn(f"{stack}/{name}")
        return arn if found["Type"] in REFERS_BY_ARN else re.split(r"[:/]", arn.removesuffix(":*"))[-1]

    def _attribute(self, stack: str, told: Json) -> Json:
        name, _, attribute = told.partition(".") if isinstance(told, str) else (told[0], "", told[1])
        if attribute == "Arn" and self.resources[f"{stack}/{name}"]["Type"] in NAMES:
            return self.arn(f"{stack}/{name}")
        return _made_up(f"{name}{attribute}")


def _made_up(name: str) -> str:
    """A name that AWS would make: small letters, always the same for the same thing."""
    return re.sub(r"[^a-z0-9]", "-", name.rpartition("/")[2].lower())
