"""How many tasks there are, how a release takes the place of the last, and what stands before the shared service."""

from __future__ import annotations

import ast
import json

from infra.cdk.stages import STAGES
from server.config.settings import ROOT
from server.telemetry.emf.numbers import UNDER_WAY
from tests.support.cdk import Template


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
    assert len(wanted) == 3
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
    assert metric["Namespace"] == f"MangaTools/{stage}{'' if service.name == 'pod' else '-shared'}"
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


def attributes(stated: dict[str, object], of: str) -> dict[str, str]:
    return {each["Key"]: str(each["Value"]) for each in stated[of]}  # type: ignore[attr-defined]


def test_the_balancer_is_inside_and_speaks_tls(shared: Template, stage: str) -> None:
    balancer, listener = (
        shared.only("AWS::ElasticLoadBalancingV2::LoadBalancer"),
        shared.only("AWS::ElasticLoadBalancingV2::Listener"),
    )
    assert balancer["Scheme"] == "internal"
    assert (listener["Port"], listener["Protocol"]) == (443, "HTTPS")
    assert listener["Certificates"] == [{"CertificateArn": STAGES[stage].shared.certificate_arn}]
    assert "TLS13" in listener["SslPolicy"]
    said = attributes(balancer, "LoadBalancerAttributes")
    assert said["access_logs.s3.enabled"] == said["routing.http.drop_invalid_header_fields.enabled"] == "true"


def test_idle_times_fit_streams_and_the_server_s_own(shared: Template) -> None:
    said = attributes(shared.only("AWS::ElasticLoadBalancingV2::LoadBalancer"), "LoadBalancerAttributes")
    idle = int(said["idle_timeout.timeout_seconds"])
    assert 2 * 15 <= idle < constant("server/commands/serve.py", "IDLE_SECONDS"), (
        "two signs of life of a stream; the server last"
    )


def test_any_task_takes_any_request_and_ends_after_its_turns(shared: Template, stage: str) -> None:
    target = shared.only("AWS::ElasticLoadBalancingV2::TargetGroup")
    said = attributes(target, "TargetGroupAttributes")
    assert said["stickiness.enabled"] == "false"
    assert said["load_balancing.algorithm.type"] == "least_outstanding_requests"
    assert int(said["deregistration_delay.timeout_seconds"]) > STAGES[stage].turn_budget_ms / 1000 + 2
    assert (target["HealthCheckPath"], target["Matcher"]) == ("/readyz", {"HttpCode": "200"})


def test_only_the_balancer_reaches_the_shared_tasks(shared: Template) -> None:
    rules = [each["Properties"] for each in shared.of("AWS::EC2::SecurityGroupIngress").values()]
    assert rules
    for rule in rules:
        assert (rule["FromPort"], rule["ToPort"]) == (8080, 8080)
        assert "SourceSecurityGroupId" in rule
        assert "CidrIp" not in rule
