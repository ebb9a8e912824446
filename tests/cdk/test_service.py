"""How many tasks there are, how a release takes the place of the last, and what stands before the shared service."""

from __future__ import annotations

import ast
import json
from collections import Counter

from infra.capacity.inputs import FIREWALL_RULES, read_inputs
from infra.cdk.stages import STAGES
from server.config.settings import ROOT
from server.telemetry.service_levels import UNDER_WAY
from tests.support.cdk import Template
from tools.store.backends.dynamodb.tables import TABLES


def constant(path: str, name: str) -> int:
    """Of a module that is not imported for it."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    values = [each.value for each in tree.body if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == name]
    return int(ast.literal_eval(values[0]))


def test_a_deployment_takes_no_capacity_away_and_rolls_back_by_itself(service: Template) -> None:
    stated = service.only("AWS::ECS::Service")
    how = stated["DeploymentConfiguration"]
    assert (how["MinimumHealthyPercent"], how["MaximumPercent"]) == (100, 200)
    assert how["DeploymentCircuitBreaker"] == {"Enable": True, "Rollback": True}
    assert (how["Alarms"]["Enable"], how["Alarms"]["Rollback"]) == (True, True)
    assert stated["DeploymentController"] == {"Type": "ECS"}
    assert stated["AvailabilityZoneRebalancing"] == "ENABLED"


def test_the_alarms_that_roll_back_are_there_before_the_service(service: Template) -> None:
    made = {each["Properties"]["AlarmName"]: name for name, each in service.of("AWS::CloudWatch::Alarm").items()}
    (resource,) = service.of("AWS::ECS::Service").values()
    wanted = resource["Properties"]["DeploymentConfiguration"]["Alarms"]["AlarmNames"]
    assert len(wanted) == (5 if service.name == "pod" else 3), "with the door's two"
    assert {made[name] for name in wanted} <= set(resource["DependsOn"])


def test_scaling_follows_work_and_never_streams(service: Template, stage: str) -> None:
    policies = [
        each["Properties"]["TargetTrackingScalingPolicyConfiguration"]
        for each in service.of("AWS::ApplicationAutoScaling::ScalingPolicy").values()
    ]
    by_cpu = next(each for each in policies if "PredefinedMetricSpecification" in each)
    by_calls = next(each for each in policies if "CustomizedMetricSpecification" in each)
    assert len(policies) == 2
    assert by_cpu["PredefinedMetricSpecification"] == {
        "PredefinedMetricType": "ECSServiceAverageCPUUtilizationHighResolution"
    }
    metric = by_calls["CustomizedMetricSpecification"]
    assert (metric["MetricName"], metric["Statistic"]) == (UNDER_WAY.name, "Average")
    assert metric["Namespace"] == f"MangaTools/{stage}"
    assert by_calls["TargetValue"] < 50, "where the server refuses calls nothing can be counted"
    assert "Stream" not in json.dumps(policies)


def test_scaling_by_20_seconds_has_metrics_of_20_seconds(service: Template) -> None:
    fine = {"MetricConfigurations": [{"MetricNames": ["CPUUtilization"], "ResolutionSeconds": 20}]}
    assert service.only("AWS::ECS::Service")["Monitoring"] == fine


def test_how_many_tasks_is_the_scaling_s_alone(service: Template, stage: str) -> None:
    """A number in the service would put it back at each deployment."""
    assert "DesiredCount" not in service.only("AWS::ECS::Service")
    target = service.only("AWS::ApplicationAutoScaling::ScalableTarget")
    assert (target["MinCapacity"], target["MaxCapacity"]) == (STAGES[stage].scaling.least, STAGES[stage].scaling.most)
    assert STAGES["prod"].scaling.least >= len(STAGES["prod"].network.zones), "a zone may be lost"


def test_tasks_have_no_address_outside(service: Template) -> None:
    assert service.only("AWS::ECS::Service")["NetworkConfiguration"]["AwsvpcConfiguration"]["AssignPublicIp"] == "DISABLED"
    assert service.only("AWS::ECS::Service")["EnableExecuteCommand"] is False


def test_what_aws_tells_of_its_own_services_tells_somebody(service: Template, stage: str) -> None:
    """Tasks, targets, cache and search, each by names that are deployed; and no alarm tells nobody that no other one is made
    of."""
    alarms = {name: each["Properties"] for name, each in service.of("AWS::CloudWatch::Alarm").items()}
    of_the_door = service.name == "pod"
    native: dict[str, list[dict[str, object]]] = {}
    for each in alarms.values():
        for metric in [part["MetricStat"]["Metric"] for part in each.get("Metrics", ()) if "MetricStat" in part] or [each]:
            if not metric["Namespace"].startswith("MangaTools/"):
                dimensions = {pair["Name"]: service.value(pair["Value"]) for pair in metric["Dimensions"]}
                native.setdefault(metric["MetricName"], []).append(dimensions)
    own = STAGES[stage]
    assert native["RunningTaskCount"] == [{"ClusterName": own.prefix, "ServiceName": own.service}]
    assert native["BytesUsedForCache"] == native["ThrottledCmds"] == [{"clusterId": f"{own.prefix}-sessions"}]
    assert native["SearchOCU"] == native["IndexingOCU"]
    assert [each["CollectionGroupName"] for each in native["SearchOCU"]] == [f"{own.prefix}-search"]
    assert len(native.get("UnHealthyHostCount", ())) == (2 if of_the_door else 1)
    composed = json.dumps(
        [each["Properties"]["AlarmRule"] for each in service.of("AWS::CloudWatch::CompositeAlarm").values()]
    )
    silent = [each["AlarmName"] for each in alarms.values() if not each.get("AlarmActions")]
    assert all(name in composed for name in silent)


def test_what_any_table_or_index_refuses_tells_somebody(templates: dict[str, Template]) -> None:
    """The door's table too. A global index counts by itself, a local one as its table."""
    deployed, watched = set(), set()
    for template in templates.values():
        for name, each in template.of("AWS::DynamoDB::Table").items():
            called = each["Properties"].get("TableName", template.value({"Ref": name}))
            indexes = [index["IndexName"] for index in each["Properties"].get("GlobalSecondaryIndexes", ())]
            deployed |= {(called, index, kind) for index in (None, *indexes) for kind in ("Read", "Write")}
        for each in template.of("AWS::CloudWatch::Alarm").values():
            parts = [part for part in each["Properties"].get("Metrics", ()) if "MetricStat" in part]
            for part in parts if "Throttled-" in each["Properties"]["AlarmName"] else ():
                assert each["Properties"]["AlarmActions"]
                assert f"FILL({part['Id']}, 0)" in each["Properties"]["Metrics"][-1]["Expression"]
                of = {pair["Name"]: template.value(pair["Value"]) for pair in part["MetricStat"]["Metric"]["Dimensions"]}
                kind = part["MetricStat"]["Metric"]["MetricName"].removesuffix("ThrottleEvents")
                watched.add((of["TableName"], of.get("GlobalSecondaryIndexName"), kind))
    assert watched == deployed
    assert len(deployed) == 2 * (len(TABLES) + 1 + 1), "the store's tables, by_month, and the sockets"


def test_capacity_counts_what_is_deployed(templates: dict[str, Template], stage: str) -> None:
    counted = read_inputs().stages[stage]
    every = [each for template in templates.values() for each in template.body["Resources"].values()]
    alarms = [each["Properties"] for each in every if each["Type"] == "AWS::CloudWatch::Alarm"]
    numbers = sum(max(1, sum("MetricStat" in part for part in each.get("Metrics", ()))) for each in alarms)
    kinds = Counter(each["Type"] for each in every)
    assert counted.alarms == numbers + 5 * kinds["AWS::CloudWatch::CompositeAlarm"]
    interfaces = [each for each in every if each["Properties"].get("VpcEndpointType") == "Interface"]
    assert counted.interface_endpoints == len(interfaces) + kinds["AWS::OpenSearchServerless::VpcEndpoint"]
    assert (counted.keys, counted.secrets) == (kinds["AWS::KMS::Key"], kinds["AWS::SecretsManager::Secret"])
    assert counted.dashboards == kinds["AWS::CloudWatch::Dashboard"]
    assert counted.balancers == kinds["AWS::ElasticLoadBalancingV2::LoadBalancer"]
    (firewall,) = [each["Properties"] for each in every if each["Type"] == "AWS::WAFv2::WebACL"]
    assert len(firewall["Rules"]) == FIREWALL_RULES


def attributes(stated: dict[str, object], of: str) -> dict[str, str]:
    return {each["Key"]: str(each["Value"]) for each in stated[of]}  # type: ignore[attr-defined]


def test_the_balancer_is_inside_and_speaks_tls(shared: Template) -> None:
    balancer, listener = (
        shared.only("AWS::ElasticLoadBalancingV2::LoadBalancer"),
        shared.only("AWS::ElasticLoadBalancingV2::Listener"),
    )
    assert balancer["Scheme"] == "internal"
    assert (listener["Port"], listener["Protocol"]) == (443, "HTTPS")
    assert listener["Certificates"] == [{"CertificateArn": STAGES["prod"].shared.certificate_arn}]
    assert "TLS13" in listener["SslPolicy"]
    said = attributes(balancer, "LoadBalancerAttributes")
    assert said["access_logs.s3.enabled"] == said["routing.http.drop_invalid_header_fields.enabled"] == "true"


def test_idle_times_fit_streams_and_the_server_s_own(shared: Template) -> None:
    said = attributes(shared.only("AWS::ElasticLoadBalancingV2::LoadBalancer"), "LoadBalancerAttributes")
    idle = int(said["idle_timeout.timeout_seconds"])
    assert 2 * 15 <= idle < constant("server/commands/serve.py", "IDLE_SECONDS"), (
        "two signs of life of a stream; the server last"
    )


def test_any_task_takes_any_request_and_ends_after_its_turns(shared: Template) -> None:
    target = shared.only("AWS::ElasticLoadBalancingV2::TargetGroup")
    said = attributes(target, "TargetGroupAttributes")
    assert said["stickiness.enabled"] == "false"
    assert said["load_balancing.algorithm.type"] == "least_outstanding_requests"
    assert int(said["deregistration_delay.timeout_seconds"]) > STAGES["prod"].turn_budget_ms / 1000 + 2
    assert (target["HealthCheckPath"], target["Matcher"]) == ("/readyz", {"HttpCode": "200"})


def test_only_the_balancer_reaches_the_shared_tasks(shared: Template) -> None:
    rules = [each["Properties"] for each in shared.of("AWS::EC2::SecurityGroupIngress").values()]
    assert rules
    assert [rule["FromPort"] for rule in rules] == [443, 8080], "agents reach the balancer, and it alone the tasks"
    for rule in rules:
        assert rule["FromPort"] == rule["ToPort"]
        assert "SourceSecurityGroupId" in rule
        assert "CidrIp" not in rule
