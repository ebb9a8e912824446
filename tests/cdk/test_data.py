"""What outlives a release: its definitions are the adapters' own, it is encrypted, and it is kept as its stage says."""

from __future__ import annotations

import json
from copy import deepcopy
from ipaddress import ip_network

from jsonschema import Draft4Validator

from infra.cdk.stages import STAGES
from tests.support.cases import cases
from tests.support.cdk import ACCOUNT, ROOT, Template
from tools.store.backends.dynamodb.tables import TABLES, Table
from tools.store.backends.opensearch.address import ALIAS, OpenSearchAddress

KEPT = (
    "AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::KMS::Key", "AWS::ElastiCache::ServerlessCache", "AWS::ECR::Repository",
    "AWS::OpenSearchServerless::Collection", "AWS::SecretsManager::Secret", "AWS::Logs::LogGroup",
)  # fmt: skip


def table(template: Template, wanted: Table, stage: str) -> dict[str, object]:
    name = wanted.full_name(STAGES[stage].table_prefix)
    (found,) = [
        each["Properties"]
        for each in template.of("AWS::DynamoDB::Table").values()
        if each["Properties"]["TableName"] == name
    ]
    return deepcopy(found)


@cases("wanted", TABLES, ids=lambda each: each.name)
def test_a_table_is_its_definition(foundation: Template, stage: str, wanted: Table) -> None:
    """To the letter of what CreateTable is asked by seed and tests."""
    made = table(foundation, wanted, stage)
    created = wanted.creation(STAGES[stage].table_prefix)
    bounds = STAGES[stage].bounds
    bound = {"MaxReadRequestUnits": bounds.most_read_units, "MaxWriteRequestUnits": bounds.most_write_units}
    bounded = [made, *(each for each in made.get("GlobalSecondaryIndexes", ()))]  # type: ignore[attr-defined]
    assert [each.pop("OnDemandThroughput") for each in bounded] == [bound] * len(bounded), "on demand has no other end"
    assert {name: made.get(name) for name in created} == created
    assert not {"LocalSecondaryIndexes", "GlobalSecondaryIndexes"} & (made.keys() - created.keys())


@cases("wanted", TABLES, ids=lambda each: each.name)
def test_a_table_is_protected_as_its_definition_says(foundation: Template, stage: str, wanted: Table) -> None:
    made = table(foundation, wanted, stage)
    assert made["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": wanted.recovery}
    assert made.get("TimeToLiveSpecification") == ({"AttributeName": wanted.ttl, "Enabled": True} if wanted.ttl else None)
    assert made["DeletionProtectionEnabled"] is STAGES[stage].keep
    encryption = made["SSESpecification"]
    assert (encryption["SSEEnabled"], encryption["SSEType"]) == (True, "KMS")  # type: ignore[index]
    assert ("Personal" in json.dumps(encryption)) is wanted.personal


def test_there_is_no_other_table(foundation: Template) -> None:
    assert len(foundation.of("AWS::DynamoDB::Table")) == len(TABLES)


def test_data_is_kept_as_its_stage_says(templates: dict[str, Template], stage: str) -> None:
    wanted = "Retain" if STAGES[stage].keep else "Delete"
    for template in templates.values():
        for name, each in template.body["Resources"].items():
            if each["Type"] in KEPT:
                assert (name, each.get("DeletionPolicy"), each.get("UpdateReplacePolicy")) == (name, wanted, wanted)


def test_everything_is_tagged(templates: dict[str, Template], stage: str) -> None:
    for template in templates.values():
        for each in template.body["Resources"].values():
            tags = each["Properties"].get("Tags", [])
            pairs = tags.items() if isinstance(tags, dict) else ((tag["Key"], tag["Value"]) for tag in tags)
            assert not tags or {("Project", "manga-tools"), ("Stage", stage)} <= set(pairs)
    for kind in ("AWS::DynamoDB::Table", "AWS::KMS::Key", "AWS::ElastiCache::ServerlessCache", "AWS::IAM::Role"):
        assert all("Tags" in each["Properties"] for each in templates["foundation"].of(kind).values())


def test_keys_turn(foundation: Template) -> None:
    keys = foundation.of("AWS::KMS::Key")
    assert len(keys) == 3
    assert all(each["Properties"]["EnableKeyRotation"] is True for each in keys.values())


def test_the_cache_is_serverless_valkey_with_a_user_of_iam(foundation: Template, stage: str) -> None:
    cache, user = foundation.only("AWS::ElastiCache::ServerlessCache"), foundation.only("AWS::ElastiCache::User")
    group = foundation.only("AWS::ElastiCache::UserGroup")
    assert cache["Engine"] == user["Engine"] == group["Engine"] == "valkey"
    assert user["AuthenticationMode"] == {"Type": "iam"}
    assert user["UserId"] == user["UserName"] == user["UserName"].lower()
    assert (group["UserIds"], cache["UserGroupId"]) == ([user["UserId"]], group["UserGroupId"])
    assert cache["ServerlessCacheName"] == cache["ServerlessCacheName"].lower()
    assert "KmsKeyId" in cache
    assert cache["CacheUsageLimits"]["DataStorage"] == {"Maximum": STAGES[stage].cache.most_gb, "Unit": "GB"}


def policy(template: Template, kind: str, of: str) -> object:
    (found,) = [each["Properties"] for each in template.of(kind).values() if each["Properties"]["Type"] == of]
    assert 3 <= len(found["Name"]) <= 32
    return json.loads(template.value(found["Policy"]))


def test_the_collection_s_policies_are_json_that_names_the_collection(foundation: Template) -> None:
    """CloudFormation takes any text here, and cfn-lint reads none of it."""
    collection = foundation.only("AWS::OpenSearchServerless::Collection")
    name = collection["Name"]
    assert collection["Type"] == "VECTORSEARCH"
    assert 3 <= len(name) <= 32
    all_of_it = {"ResourceType": "collection", "Resource": [f"collection/{name}"]}
    encryption = policy(foundation, "AWS::OpenSearchServerless::SecurityPolicy", "encryption")
    assert encryption == {"Rules": [all_of_it], "AWSOwnedKey": False, "KmsARN": encryption["KmsARN"]}  # type: ignore[index]
    assert encryption["KmsARN"].startswith("arn:aws:")  # type: ignore[index]
    (network,) = policy(foundation, "AWS::OpenSearchServerless::SecurityPolicy", "network")  # type: ignore[misc]
    assert (network["Rules"], network["AllowFromPublic"], len(network["SourceVPCEs"])) == ([all_of_it], False, 1)


def test_who_searches_cannot_write(foundation: Template) -> None:
    reads, writes = policy(foundation, "AWS::OpenSearchServerless::AccessPolicy", "data")  # type: ignore[misc]
    name = foundation.only("AWS::OpenSearchServerless::Collection")["Name"]
    assert [rule["Permission"] for rule in reads["Rules"]] == [["aoss:DescribeIndex", "aoss:ReadDocument"]]
    assert [rule["Resource"] for rule in reads["Rules"]] == [[f"index/{name}/{ALIAS}*"]]
    assert [ACCOUNT in each for each in (*reads["Principal"], *writes["Principal"])] == [True, True]
    assert ("Server" in reads["Principal"][0], "Seed" in writes["Principal"][0]) == (True, True)


def test_the_collection_never_starts_from_nothing(foundation: Template, stage: str) -> None:
    group, collection = (
        foundation.only("AWS::OpenSearchServerless::CollectionGroup"),
        foundation.only("AWS::OpenSearchServerless::Collection"),
    )
    assert group["CapacityLimits"]["MinSearchCapacityInOcu"] >= 1
    assert collection["CollectionGroupName"] == group["Name"]
    assert (
        collection["StandbyReplicas"]
        == group["StandbyReplicas"]
        == ("ENABLED" if STAGES[stage].search.replicas else "DISABLED")
    )


def test_the_server_takes_the_collection_s_address(foundation: Template, pod: Template) -> None:
    stated = next(each for each in foundation.body["Outputs"].values() if "CollectionEndpoint" in json.dumps(each["Value"]))
    assert OpenSearchAddress.parse(f"aoss+{foundation.value(stated['Value'])}").serverless


def test_there_is_no_way_out(foundation: Template, stage: str) -> None:
    """But for the door's balancer, whose subnets are its own (tests/cdk/test_door.py)."""
    kinds = {each["Type"] for each in foundation.body["Resources"].values()}
    assert not kinds & {"AWS::EC2::NatGateway", "AWS::EC2::EIP"}
    assert len(foundation.of("AWS::EC2::Subnet")) == 2 * len(STAGES[stage].network.zones)
    whole = ip_network(STAGES[stage].network.cidr)
    for subnet in foundation.of("AWS::EC2::Subnet").values():
        assert ip_network(subnet["Properties"]["CidrBlock"]).subnet_of(whole)  # type: ignore[arg-type]
        assert subnet["Properties"]["MapPublicIpOnLaunch"] is False


def test_what_tasks_call_is_inside(foundation: Template) -> None:
    endpoints = [
        foundation.value(each["Properties"]["ServiceName"]) for each in foundation.of("AWS::EC2::VPCEndpoint").values()
    ]
    for service in (
        "ecr.api",
        "ecr.dkr",
        "logs",
        "secretsmanager",
        "sts",
        "bedrock-runtime",
        "appconfigdata",
        "lambda",
        "xray",
        "s3",
        "dynamodb",
    ):
        assert any(each.endswith(f".{service}") for each in endpoints), service
    assert len(foundation.of("AWS::OpenSearchServerless::VpcEndpoint")) == 1


def test_every_endpoint_has_a_policy_or_can_have_none(foundation: Template) -> None:
    """The one that can have none is named in the document, and asked only for what the collection's own policies allow."""
    listed = {
        name: each for name, each in foundation.body["Resources"].items() if each["Type"].lower().endswith("::vpcendpoint")
    }
    assert len(listed) >= 12
    without = {each["Type"] for each in listed.values() if not each["Properties"].get("PolicyDocument", {}).get("Statement")}
    assert without == {"AWS::OpenSearchServerless::VpcEndpoint"}
    assert "each with a policy but OpenSearch Serverless's" in (ROOT / "infra/cdk/README.md").read_text("utf-8")


def test_nothing_is_let_out_but_to_aws_and_of_it_what_is_this_account_s(foundation: Template, stage: str) -> None:
    """Groups lead to groups, or to AWS's own lists of addresses; each endpoint says whose keys, and which resources."""
    own = STAGES[stage]
    for kind, key in (("AWS::EC2::SecurityGroup", "SecurityGroupEgress"), ("AWS::EC2::SecurityGroupEgress", "")):
        for each in foundation.of(kind).values():
            for rule in each["Properties"].get(key, ()) if key else [each["Properties"]]:
                assert rule.get("CidrIp") in (None, own.network.cidr, "255.255.255.255/32"), rule  # the last is nobody
                assert rule.get("CidrIpv6") is None
                prefixes = (None, own.network.s3_prefixes, own.network.dynamodb_prefixes)
                assert rule.get("DestinationPrefixListId") in prefixes
    for each in foundation.of("AWS::EC2::VPCEndpoint").values():
        for statement in each["Properties"]["PolicyDocument"]["Statement"]:
            told = foundation.value(statement)
            if "starport" in json.dumps(told):  # the registry signs what is fetched of its own bucket
                assert told["Action"] == "s3:GetObject"
                continue
            assert told["Condition"] == {"StringEquals": {"aws:PrincipalAccount": ACCOUNT}}
            assert told["Action"] != "*", told
            if told["Resource"] == "*":
                assert (
                    set(told["Action"]) & {"ecr:GetAuthorizationToken", "bedrock:InvokeModel", "xray:PutTraceSegments"}
                    or told["Action"][:3] == "ecr"
                )
            else:
                assert ACCOUNT in json.dumps(told["Resource"]) or "Shop" in json.dumps(told["Resource"])


def test_files_are_read_and_written_from_inside_alone(foundation: Template, stage: str) -> None:
    (denied,) = [
        statement
        for each in foundation.of("AWS::S3::BucketPolicy").values()
        for statement in each["Properties"]["PolicyDocument"]["Statement"]
        if statement.get("Sid") == "OnlyThroughTheNetwork"
    ]
    assert (denied["Effect"], denied["Principal"]) == ("Deny", {"AWS": "*"})
    assert set(denied["Action"]) == {"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"}
    gateway = denied["Condition"]["StringNotEquals"]["aws:SourceVpce"]["Ref"]
    assert foundation.value(foundation.body["Resources"][gateway]["Properties"]["ServiceName"]).endswith(".s3")
    excepted = denied["Condition"].get("ArnNotLike", {}).get("aws:PrincipalArn", [])
    assert tuple([excepted] if isinstance(excepted, str) else excepted) == STAGES[stage].publishers


def test_somebody_is_told_of_alarms_and_of_what_the_account_costs(foundation: Template, stage: str) -> None:
    told = [each["Properties"] for each in foundation.of("AWS::SNS::Subscription").values()]
    assert {each["TopicArn"]["Ref"] for each in told} == foundation.of("AWS::SNS::Topic").keys()
    assert {each["Endpoint"] for each in told} == {STAGES[stage].told.page, STAGES[stage].told.ticket}
    budget = foundation.only("AWS::Budgets::Budget")
    assert budget["Budget"]["BudgetLimit"]["Amount"] == STAGES[stage].bounds.dollars_a_month
    subscribers = {each["Subscribers"][0]["Address"]["Ref"] for each in budget["NotificationsWithSubscribers"]}
    assert subscribers <= foundation.of("AWS::SNS::Topic").keys()


def test_flags_begin_with_a_document_and_change_in_steps(foundation: Template, stage: str) -> None:
    assert json.loads(foundation.only("AWS::AppConfig::HostedConfigurationVersion")["Content"]) == {}
    strategies = [each["Properties"] for each in foundation.of("AWS::AppConfig::DeploymentStrategy").values()]
    strategy, at_once = sorted(strategies, key=lambda each: len(each["Name"]))
    assert (at_once["DeploymentDurationInMinutes"], at_once["FinalBakeTimeInMinutes"], at_once["GrowthFactor"]) == (
        0,
        0,
        100,
    )
    assert strategy["DeploymentDurationInMinutes"] == STAGES[stage].flags_bake_minutes
    assert strategy["GrowthFactor"] == (25 if stage == "prod" else 100)
    assert len(foundation.of("AWS::AppConfig::Deployment")) == 1


def test_flags_that_are_wrong_are_not_deployed_and_those_that_do_harm_are_rolled_back(foundation: Template) -> None:
    """What draft 4 can say of them is said; what is right by the server's own schema is right by this one."""
    (validator,) = foundation.only("AWS::AppConfig::ConfigurationProfile")["Validators"]
    assert validator["Type"] == "JSON_SCHEMA"
    schema = json.loads(validator["Content"])
    Draft4Validator.check_schema(schema)
    segment = {"name": "beta", "conditions": [{"property": "user", "operator": "in", "value": ["a"]}]}
    right = [{}, {"$reload": "2"}, {"a": False}, {"a": {"percent": 5, "_variant": 1}}, {"a": {"segments": [segment]}}]
    wrong = [[], {"a": "off"}, {"a": {"percent": 101}}, {"a": {"segments": [{}]}}, {"a": {"percents": 1}}]
    assert [Draft4Validator(schema).is_valid(each) for each in (*right, *wrong)] == [True] * 5 + [False] * 5
    monitors = foundation.only("AWS::AppConfig::Environment")["Monitors"]
    alarms = foundation.of("AWS::CloudWatch::Alarm")
    assert {each["AlarmArn"]["Fn::GetAtt"][0] for each in monitors} == alarms.keys()
    assert len(alarms) == 2


def test_buckets_are_closed(foundation: Template) -> None:
    for each in foundation.of("AWS::S3::Bucket").values():
        assert set(each["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
        assert "BucketEncryption" in each["Properties"]


def test_images_cannot_be_changed_behind_their_tag(foundation: Template) -> None:
    repositories = foundation.of("AWS::ECR::Repository")
    assert len(repositories) == 4
    assert {each["Properties"]["ImageTagMutability"] for each in repositories.values()} == {"IMMUTABLE"}
