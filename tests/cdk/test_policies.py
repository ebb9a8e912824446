"""What each role may do, judged by the policies that are synthesised: all that the adapters ask of AWS, and nothing beside it.

What they ask is recorded from the contract tests (tests/support/aws_calls.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infra.cdk.stages import STAGES
from tests.support.aws_calls import DEPLOYMENT, DOCTOR, SEED, SERVER, AwsCall, kept
from tests.support.cases import cases
from tests.support.cloudformation import ACCOUNT, Templates
from tests.support.iam import ALLOWED, Asked, decided
from tests.support.neighbours import neighbours
from tests.support.roles import Role, Shop, roles
from tools.store.backends.dynamodb.tables import TABLES

NOT_DEPLOYED = {
    "table/flags": "flags come from AppConfig, not from a table",
    "model/classifier": "genres are voted by the catalogue's titles, unless a stage says otherwise (test_shop.py)",
}
OWN_ROLE = {SERVER: "server", DOCTOR: "server", SEED: "seed"}
"""The doctor runs in the server's container; what makes tables is the deployment, which is no role of a container."""

PERSONAL = [f"table/{table.name}" for table in TABLES if table.personal]
SEEDED = [f"dynamodb:{action}" for action in ("DescribeTable", "GetItem", "BatchGetItem", "BatchWriteItem", "PutItem")]


@dataclass(frozen=True)
class Stage:
    shop: Shop
    roles: dict[str, Role]

    def request(self, role: str, action: str, resource: str, **context: str) -> Asked:
        own = self.roles[role]
        return Asked(own.arn, own.policy, action, resource, context)


@pytest.fixture(scope="module", params=sorted(STAGES))
def stage(request: pytest.FixtureRequest, synthesised: Path) -> Stage:
    templates = Templates.read(synthesised / request.param, STAGES[request.param].region)
    return Stage(Shop(STAGES[request.param], templates), roles(templates, STAGES[request.param].prefix))


def recorded(stage: Stage) -> list[AwsCall]:
    away = NOT_DEPLOYED | ({} if stage.shop.embeds_by_bedrock else {"model/embedder": "the encoder is in the process"})
    own = (call for call in kept() if call.by != DEPLOYMENT and call.resource not in away)
    return sorted(call for call in own if call.by != SEED or call.resource not in PERSONAL)  # on AWS it leaves them alone


def by_iam(calls: list[AwsCall]) -> list[AwsCall]:
    """Without those that the collection's own policy judges."""
    return [call for call in calls if not call.action.startswith("aoss:") or call.action == "aoss:APIAccessAll"]


def test_what_was_recorded_is_of_every_backend() -> None:
    calls = kept()
    assert {call.action.partition(":")[0] for call in calls} == {"aoss", "bedrock", "dynamodb", "elasticache", "s3"}
    assert {call.by for call in calls} >= {SERVER, SEED}
    assert len(by_iam([call for call in calls if call.by == SERVER])) > 15


def test_every_call_of_an_adapter_is_allowed(stage: Stage) -> None:
    calls = by_iam(recorded(stage))
    asked = [
        stage.request(OWN_ROLE[call.by], call.action, stage.shop.arn(call.resource), **stage.shop.context(call))
        for call in calls
    ]
    refused = [call for call, decision in zip(calls, decided(asked), strict=True) if decision != ALLOWED]
    assert not refused


def test_what_is_encrypted_can_be_read_and_only_through_its_service(stage: Stage) -> None:
    """A table, or a bucket, with a key of one's own asks whoever reads it for the key as well."""
    region, keys = stage.shop.region, stage.shop.keys
    through = {service: f"{service}.{region}.amazonaws.com" for service in ("dynamodb", "s3", "secretsmanager")}
    asked = {
        (role, key, service): Asked(
            stage.roles[role].arn,
            stage.roles[role].policy,
            "kms:Decrypt",
            key,
            {"kms:ViaService": via},
            stage.shop.key_policy(key),
        )
        for role in stage.roles
        for key in keys
        for service, via in through.items()
    }
    allowed = {case for case, decision in zip(asked, decided(list(asked.values())), strict=True) if decision == ALLOWED}
    assert {(role, service) for role, _, service in allowed} == {
        (role, service) for role in ("server", "seed") for service in ("dynamodb", "s3")
    }
    bare = [
        Asked(each.principal, each.policy, each.action, each.resource, {}, each.resourcePolicy) for each in asked.values()
    ]
    assert ALLOWED not in decided(bare)


@cases("by", [SERVER, SEED])
def test_the_collection_lets_in_what_is_asked_of_it(by: str, stage: Stage) -> None:
    asked = {call.action for call in recorded(stage) if call.by == by and call.action.startswith("aoss:")}
    granted = stage.shop.search_permissions(stage.roles[OWN_ROLE[by]].arn)
    assert asked - {"aoss:APIAccessAll"} <= granted.keys()
    if by == SERVER:
        assert granted.keys() == {"aoss:ReadDocument", "aoss:DescribeIndex"}
    assert all("*" not in resource.removesuffix("*") for resources in granted.values() for resource in resources)


def test_nobody_else_is_let_in_by_the_collection(stage: Stage) -> None:
    for role in stage.roles.keys() - {"server", "seed"}:
        assert not stage.shop.search_permissions(stage.roles[role].arn)


def test_neighbours_are_denied(stage: Stage) -> None:
    listed = neighbours(stage.shop)
    roles = stage.roles.keys() - {"seed"}
    asked = [stage.request(role, action, arn, **context) for role in roles for action, arn, context in listed]
    allowed = [each for each, decision in zip(asked, decided(asked), strict=True) if decision == ALLOWED]
    assert not [(each.principal, each.action, each.resource) for each in allowed]


def test_what_the_server_may_no_other_role_may(stage: Stage) -> None:
    """The agent converses, the flags agent reads flags, and a pod's own role does nothing but become one of them."""
    asked = [
        stage.request(role, call.action, stage.shop.arn(call.resource), **stage.shop.context(call))
        for role in stage.roles.keys() - {"server", "seed"}
        for call in by_iam(recorded(stage))
    ]
    assert ALLOWED not in decided(asked)


def test_production_has_a_wall_between_agent_and_server(stage: Stage, synthesised: Path) -> None:
    """Nobody but ECS takes on the role of either, and there is no role that becomes both."""
    name = stage.shop.stage.name
    assert ("pod" in stage.roles) is (name == "dev")
    if name == "prod":
        templates = Templates.read(synthesised / name, STAGES[name].region)
        for _, each in templates.of("AWS::IAM::Role"):
            if each.get("RoleName", "").endswith(("-server", "-agent")):
                (trust,) = each["AssumeRolePolicyDocument"]["Statement"]
                assert trust["Principal"] == {"Service": "ecs-tasks.amazonaws.com"}


def test_the_seed_neither_makes_nor_empties_tables_nor_touches_what_is_of_customers(stage: Stage) -> None:
    made = [call for call in kept() if call.by == DEPLOYMENT and call.resource in stage.shop.tables]
    assert made
    asked = [stage.request("seed", call.action, stage.shop.arn(call.resource)) for call in made]
    asked += [stage.request("seed", action, stage.shop.arn(table)) for action in SEEDED for table in PERSONAL]
    for action in ("Scan", "DeleteItem", "Query", "DeleteTable"):
        asked += [stage.request("seed", f"dynamodb:{action}", stage.shop.arn(table)) for table in stage.shop.tables]
    assert ALLOWED not in decided(asked)


def test_the_server_may_nothing_that_no_adapter_asks(stage: Stage) -> None:
    """Every action of its policy on every resource there is one that was recorded, or of the doctor."""
    asked = {(call.action, stage.shop.arn(call.resource)) for call in by_iam(recorded(stage))}
    more = {pair for pair in stage.roles["server"].pairs() if pair not in asked}
    assert {action for action, _ in more} <= EXPLAINED.keys(), sorted(more)


EXPLAINED: dict[str, str] = {
    "kms:Decrypt": "a key of one's own, through the service that uses it",
    "kms:Encrypt": "the same",
    "kms:GenerateDataKey": "the same",
    "kms:DescribeKey": "the same",
    "dynamodb:DescribeTable": "the doctor's",
    "dynamodb:DescribeTimeToLive": "the doctor's",
    "dynamodb:Query": "a table is granted in one statement with its index, by which alone it is queried",
    "dynamodb:GetItem": "whether a table can be read is asked by a key that no item has",
    "sts:AssumeRole": "the shared service's task role becomes the flags agent's",
    "s3:GetObject": "pages of every title",
}


def test_roles_are_told_apart(stage: Stage) -> None:
    policies: list[Any] = [role.policy for role in stage.roles.values()]
    assert all(policies.count(policy) == 1 for policy in policies)


def test_the_agent_speaks_outside_by_one_function_and_nobody_else_does(stage: Stage) -> None:
    function = f"arn:aws:lambda:{stage.shop.region}:{ACCOUNT}:function:{stage.shop.stage.outside}"
    asked = {role: stage.request(role, "lambda:InvokeFunction", function) for role in stage.roles}
    allowed = [role for role, decision in zip(asked, decided(list(asked.values())), strict=True) if decision == ALLOWED]
    assert allowed == ["agent"]
    assert {action for action, _ in stage.roles["agent"].pairs()} <= {
        "bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream", "lambda:InvokeFunction", "sts:AssumeRole",
    }  # fmt: skip


def test_the_functions_of_the_door_may_what_their_code_asks(stage: Stage) -> None:
    """To write their own log, and one thing each: count sockets, speak to them and close them."""
    own = {"logs:CreateLogStream", "logs:PutLogEvents"}
    told = {role: {action for action, _ in stage.roles[role].pairs()} for role in ("door", "outside", "traces")}
    assert told["door"] == own | {"dynamodb:GetItem", "dynamodb:UpdateItem"}
    assert told["outside"] == own | {"execute-api:ManageConnections", "dynamodb:PutItem"}
    assert told["traces"] == own | {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}
    (log,) = {resource for action, resource in stage.roles["traces"].pairs() if action == "logs:PutLogEvents"}
    assert log.endswith(f":log-group:{stage.shop.stage.metrics_log}:log-stream:*")
    for role in ("door", "outside"):
        assert all(resource != "*" for _, resource in stage.roles[role].pairs())


def test_a_connection_is_spoken_to_by_the_function_alone(stage: Stage) -> None:
    arns = {resource for action, resource in stage.roles["outside"].pairs() if action.startswith("execute-api")}
    assert {arn.split("/")[-3] for arn in arns} == {"POST", "DELETE"}
    for connection in (arn.replace("*", "c-1=") for arn in arns):
        asked = {role: stage.request(role, "execute-api:ManageConnections", connection) for role in stage.roles}
        allowed = [role for role, decision in zip(asked, decided(list(asked.values())), strict=True) if decision == ALLOWED]
        assert allowed == ["outside"]
