"""moto's stand-in of AWS in a process of its own, from the environment that deploys, and stacks created in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3

from tests.stack.children import answers, child
from tests.support.environments import folder_of
from tests.support.ports import free_port

KEYS = {"aws_access_key_id": "moto", "aws_secret_access_key": "moto"}
START_SECONDS = 60.0
Json = dict[str, Any]
UNKNOWN = (
    "AWS::ApiGateway::Account",
    "AWS::AppConfig::",
    "AWS::ElastiCache::ServerlessCache",
    "AWS::ElastiCache::User",
    "AWS::OpenSearchServerless::",
    "AWS::EC2::SecurityGroupEgress",
    "AWS::ECS::ClusterCapacityProviderAssociations",
    "AWS::S3::BucketPolicy",
    "AWS::SNS::TopicPolicy",
    "AWS::SNS::Subscription",
    "AWS::Budgets::Budget",
    "AWS::CloudWatch::Alarm",
    "AWS::SecretsManager::Secret",
)
"""Types that moto 5.2 does not create from a template; a type by its beginning."""


@contextmanager
def moto(folder: Path) -> Iterator[str]:
    """Its endpoint."""
    port, program = free_port(), folder_of("clients/cdk") / "bin" / "moto_server"
    with child("moto", [program, "-H", "127.0.0.1", "-p", str(port)], folder / "moto.log") as process:
        process.wait_until(lambda: answers(port), START_SECONDS)
        yield f"http://127.0.0.1:{port}"


def client(service: str, endpoint: str, region: str) -> Any:
    return boto3.client(service, region_name=region, endpoint_url=endpoint, **KEYS)


def created(template: Mapping[str, Any], endpoint: str, region: str, name: str) -> set[str]:
    """Creates what moto knows of a template, and returns the types that were left out. Tags are left out too, which moto
    takes for keys in another form than CloudFormation's, and the order of creation, which names what is left out."""
    body, left_out = _reduced(template)
    driver = client("cloudformation", endpoint, region)
    driver.create_stack(StackName=name, TemplateBody=json.dumps(body), Capabilities=["CAPABILITY_NAMED_IAM"])
    (stack,) = driver.describe_stacks(StackName=name)["Stacks"]
    assert stack["StackStatus"] == "CREATE_COMPLETE", stack
    there = driver.describe_stack_resources(StackName=name)["StackResources"]
    assert {each["LogicalResourceId"] for each in there} == body["Resources"].keys()
    return left_out


def _reduced(template: Mapping[str, Any]) -> tuple[Json, set[str]]:
    """Without what moto does not know, and what refers to that."""
    whole: Json = template["Resources"]
    kept = {name: each for name, each in whole.items() if not each["Type"].startswith(UNKNOWN)}
    while gone := [name for name, each in kept.items() if _refers(each) & (whole.keys() - kept.keys())]:
        for name in gone:
            del kept[name]
    resources = {name: {"Type": each["Type"], "Properties": _untagged(each)} for name, each in kept.items()}
    return {"Resources": resources}, {each["Type"] for name, each in whole.items() if name not in kept}


def _untagged(resource: Json) -> Json:
    return {name: value for name, value in resource.get("Properties", {}).items() if name != "Tags"}


def _refers(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(_refers, value))
    if not isinstance(value, dict):
        return set()
    own = {value["Ref"]} if "Ref" in value else set()
    if isinstance(told := value.get("Fn::GetAtt"), list):
        own.add(told[0])
    return own.union(*(_refers(each) for name, each in value.items() if name != "DependsOn"))
