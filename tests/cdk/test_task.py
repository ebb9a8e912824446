"""The containers of every task, with what cfn-lint lets pass: it knows no limit of StopTimeout, no missing container of a
DependsOn, and no health command without CMD."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from infra.alarms.rules import NAMES as RULED
from infra.cdk.stages import STAGES
from server.config.settings import Settings
from server.telemetry.service_levels import NUMBERS
from tests.support.cases import cases
from tests.support.cdk import Template, containers, environment


def by_name(template: Template, family: str) -> dict[str, dict[str, object]]:
    return {each["Name"]: each for each, task in containers(template) if task["Family"].endswith(family)}


def test_no_container_has_rights_that_it_does_not_need(service: Template) -> None:
    for container, _ in containers(service):
        assert container["ReadonlyRootFilesystem"] is True
        assert int(container["User"]) > 0
        assert container["LinuxParameters"]["Capabilities"] == {"Drop": ["ALL"]}
        assert "Privileged" not in container
        assert container["Ulimits"] == [{"Name": "nofile", "SoftLimit": 65536, "HardLimit": 65536}]


def test_no_log_holds_a_container_up_and_the_audit_loses_no_line(service: Template, foundation: Template) -> None:
    """The audit has a log of its own, with a key of its own."""
    for container, _ in containers(service):
        logged = container["LogConfiguration"]
        assert logged["LogDriver"] == "awslogs"
        if container["Name"] == "audit":
            group = service.body["Resources"][logged["Options"]["awslogs-group"]["Ref"]]["Properties"]
            assert (logged["Options"]["mode"], group["LogGroupName"][-6:]) == ("blocking", "/audit")
            (key,) = [name for name in foundation.of("AWS::KMS::Key") if "KeysAudit" in name]
            assert key in service.value(group["KmsKeyId"])
            continue
        assert logged["Options"]["mode"] == "non-blocking"
        assert int(logged["Options"]["max-buffer-size"].removesuffix("b")) == 25 * 2**20


def test_the_task_is_large_enough_for_its_containers(service: Template) -> None:
    for task in service.of("AWS::ECS::TaskDefinition").values():
        stated = task["Properties"]
        inside = stated["ContainerDefinitions"]
        lasting = [each for each in inside if each["Name"] != "profiles"]  # it has ended before the others start
        assert sum(each["Cpu"] for each in inside) <= int(stated["Cpu"])
        assert sum(each["Memory"] for each in lasting) <= int(stated["Memory"])
        assert (stated["NetworkMode"], stated["RequiresCompatibilities"]) == ("awsvpc", ["FARGATE"])


def test_stop_times_leave_room_for_a_turn_and_are_what_ecs_takes(service: Template, stage: str) -> None:
    budget = STAGES[stage].turn_budget_ms / 1000
    for container, _ in containers(service):
        if container["Name"] in ("manga-tools", "agent"):
            assert budget + 2 < container["StopTimeout"] <= 120
    if service.name == "pod":
        named = by_name(service, "-pod")
        assert named["agent"]["StopTimeout"] > named["manga-tools"]["StopTimeout"]


def test_every_dependency_is_on_a_container_that_is_there(service: Template) -> None:
    for container, task in containers(service):
        names = {each["Name"] for each in task["ContainerDefinitions"]}
        health = {each["Name"] for each in task["ContainerDefinitions"] if "HealthCheck" in each}
        once = {each["Name"] for each in task["ContainerDefinitions"] if not each["Essential"]}
        for needed in container.get("DependsOn", ()):
            assert needed["ContainerName"] in names - {container["Name"]}
            assert needed["Condition"] != "HEALTHY" or needed["ContainerName"] in health
            assert needed["Condition"] != "SUCCESS" or needed["ContainerName"] in once


def test_the_agent_starts_after_the_server_and_so_stops_before_it(pod: Template) -> None:
    named = by_name(pod, "-pod")
    assert {"ContainerName": "manga-tools", "Condition": "HEALTHY"} in named["agent"]["DependsOn"]
    assert named["agent"]["Essential"] is named["manga-tools"]["Essential"] is True
    assert named["flags"]["Essential"] is named["profiles"]["Essential"] is False


def test_the_health_check_is_stated_as_ecs_runs_it(service: Template) -> None:
    checks = [each["HealthCheck"] for each, _ in containers(service) if each["Name"] == "manga-tools"]
    assert checks
    for check in checks:
        assert check["Command"] == ["CMD", "python", "-m", "server.commands.healthcheck"]
        assert 5 <= check["Interval"] <= 300
        assert 2 <= check["Timeout"] <= 60
        assert 0 <= check["StartPeriod"] <= 300
    for container, _ in containers(service):
        assert container.get("HealthCheck", {"Command": ["CMD"]})["Command"][0] in ("CMD", "CMD-SHELL")


def test_a_crash_is_mended_in_place_and_a_wrong_setting_is_not_tried_again(service: Template) -> None:
    for container, _ in containers(service):
        if container["Name"] in ("manga-tools", "agent", "flags", "audit"):
            policy = {"Enabled": True, "IgnoredExitCodes": [2], "RestartAttemptPeriod": 60}
            assert container["RestartPolicy"] == policy


def test_what_is_written_goes_to_a_volume_of_its_own(pod: Template) -> None:
    named = by_name(pod, "-pod")
    tmp = {
        name: [m["SourceVolume"] for m in each.get("MountPoints", ()) if m["ContainerPath"] == "/tmp"]
        for name, each in named.items()
    }
    assert (tmp["manga-tools"], tmp["agent"], tmp["profiles"]) == (["server-tmp"], ["agent-tmp"], ["aws"])
    # The flags agent's image has no VOLUME: its /tmp takes its rights from the image that mounts it before.
    assert tmp["flags"] == tmp["audit"] == ["flags-tmp"]
    for name in ("flags", "manga-tools"):
        assert {"ContainerName": "audit", "Condition": "HEALTHY"} in named[name]["DependsOn"]
    for name in ("manga-tools", "agent"):
        (profile,) = [m for m in named[name]["MountPoints"] if m["SourceVolume"] == "aws"]
        assert profile == {"SourceVolume": "aws", "ContainerPath": "/aws", "ReadOnly": True}


def test_the_server_reads_its_settings(service: Template, stage: str, tmp_path: Path) -> None:
    """As the server itself would at its start."""
    servers = [each for each, _ in containers(service) if each["Name"] == "manga-tools"]
    assert servers
    for container in servers:
        stated = environment(service, container) | {
            each["Name"]: "0123456789abcdef" for each in container.get("Secrets", ())
        }
        stated["MANGA_AUDIT_LOG"] = f"{tmp_path}{stated['MANGA_AUDIT_LOG'].removeprefix('/audit')}"  # there is none here
        settings = Settings.from_environment({name: text for name, text in stated.items() if name.startswith("MANGA_")})
        assert (settings.audit, settings.shop_name) == ("required", STAGES[stage].shop_name)
        assert settings.turn_budget_ms == STAGES[stage].turn_budget_ms
        assert settings.redis_url.startswith("rediss+cluster://")
        assert settings.catalog_url.startswith("aoss+https://")
        assert (settings.auth, settings.loopback) == (("none", True) if service.name == "pod" else ("token", False))
        assert settings.emf == f"MangaTools/{stage}"


def test_spans_leave_a_task_by_the_collector_beside(service: Template, agents: Template, stage: str) -> None:
    """Server and agent tell it, the same share of turns; its config is YAML, goes to X-Ray, and has a role for that alone.
    Beside a server it reads the metrics too."""
    for template in (service, agents):
        named = {each["Name"]: each for each, task in containers(template) if not task["Family"].endswith("seed")}
        collector = named["collector"]
        assert (collector["Essential"], collector["HealthCheck"]["Command"]) == (False, ["CMD", "/healthcheck"])
        config = yaml.safe_load(environment(template, collector)["AOT_CONFIG_CONTENT"])
        metrics = {"receivers": ["prometheus"], "processors": ["memory_limiter"], "exporters": ["awsemf"]}
        assert config["service"]["pipelines"] == {
            "traces": {"receivers": ["otlp"], "processors": ["memory_limiter", "batch"], "exporters": ["awsxray"]}
        } | ({"metrics": metrics} if "manga-tools" in named else {})
        exporter = config["exporters"]["awsxray"]
        assert (exporter["region"], "Traces" in exporter["role_arn"]) == (STAGES[stage].region, True)
        listens = config["receivers"]["otlp"]["protocols"]["http"]["endpoint"]
        for name in named.keys() & {"manga-tools", "agent"}:
            told = environment(template, named[name])
            assert told["OTEL_EXPORTER_OTLP_ENDPOINT"] == f"http://{listens}"
            assert (told["OTEL_TRACES_SAMPLER"], float(told["OTEL_TRACES_SAMPLER_ARG"])) == (
                "parentbased_traceidratio",
                STAGES[stage].traces,
            )


def test_each_rule_of_prometheus_has_an_alarm_of_which_cloudwatch_is_told(service: Template, stage: str) -> None:
    """By the server's own lines, or by what the collector lets through, with the dimension that it gives it, to a log that
    is there and is forgotten in time."""
    (collector,) = [each for each, _ in containers(service) if each["Name"] == "collector"]
    config = yaml.safe_load(environment(service, collector)["AOT_CONFIG_CONTENT"])
    (scraped,) = config["receivers"]["prometheus"]["config"]["scrape_configs"]
    (kept,) = scraped["metric_relabel_configs"]
    assert (kept["action"], kept["source_labels"]) == ("keep", ["__name__", "tool", "outcome"])
    assert (scraped["metrics_path"], scraped["scrape_interval"]) == ("/metrics", "60s")
    (static,) = scraped["static_configs"]
    assert static == {"targets": ["127.0.0.1:8080"], "labels": {"Service": "manga-tools"}}
    exporter = config["exporters"]["awsemf"]
    assert (exporter["namespace"], exporter["region"]) == (STAGES[stage].namespace, STAGES[stage].region)
    (log,) = [
        each["Properties"] for each in service.of("AWS::Logs::LogGroup").values()
        if each["Properties"]["LogGroupName"] == exporter["log_group_name"]
    ]  # fmt: skip
    assert log["RetentionInDays"] == STAGES[stage].log_days
    kinds = ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")
    alarms = [each["Properties"] for kind in kinds for each in service.of(kind).values()]
    for name in RULED:
        assert any(each["AlarmName"].startswith(f"{STAGES[stage].service}-{name}") for each in alarms), name
    own, seen = {number.name for number in NUMBERS}, set[str]()
    parts = [part for each in alarms for part in each.get("Metrics", ()) if "MetricStat" in part]
    for metric in [part["MetricStat"]["Metric"] for part in parts]:
        name = metric["MetricName"]
        if metric["Namespace"] != STAGES[stage].namespace or name in own:
            continue
        (dimension,) = metric["Dimensions"]
        (declared,) = [
            each["dimensions"] for each in exporter["metric_declarations"]
            if any(re.search(selector, name) for selector in each["metric_name_selectors"])
        ]  # fmt: skip
        assert declared == [[dimension["Name"]]], name
        of_a_call = dimension["Value"] if dimension["Name"] == "outcome" else ""
        assert re.fullmatch(kept["regex"], f"{name};search_manga_catalog;{of_a_call}"), name
        seen.add(name)
    assert len(seen) == 7
    for label in ("check_inventory;ok", "search_manga_catalog;TIMEOUT"):
        assert not re.fullmatch(kept["regex"], f"manga_calls_total;{label}")


def test_secrets_are_no_settings(service: Template, agents: Template) -> None:
    secret = {"MANGA_AUTH_TOKENS", "AGENT_STORE_TOKEN", "AGENT_DOOR_SECRET"}
    for template in (service, agents):
        for container, _ in containers(template):
            assert not secret & environment(template, container).keys()
    if service.name == "shared":
        (secret,) = next(each["Secrets"] for each, _ in containers(service) if each["Name"] == "manga-tools")
        assert secret["Name"] == "MANGA_AUTH_TOKENS"


@cases("name", ["manga-tools", "agent"])
def test_each_container_is_told_which_role_is_its_own(pod: Template, stage: str, name: str) -> None:
    own = environment(pod, by_name(pod, "-pod")[name])
    assert own["AWS_PROFILE"] == {"manga-tools": "server", "agent": "agent"}[name]
    assert own["AWS_CONFIG_FILE"] == "/aws/config"
    assert own["AWS_DEFAULT_REGION"] == STAGES[stage].region


def test_images_are_pulled_by_a_tag_that_stays(service: Template) -> None:
    for container, _ in containers(service):
        image = service.value(container["Image"])
        assert not image.endswith(":latest")
        assert ":" in image.rpartition("/")[2]
    assert "public.ecr.aws" not in json.dumps(service.body), "the network has no way there"
