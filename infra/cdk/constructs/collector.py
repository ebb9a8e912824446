"""AWS's OpenTelemetry collector as a sidecar: sends spans to X-Ray, and metrics for alarms from /metrics to CloudWatch."""

from __future__ import annotations

import json

import yaml  # type: ignore[import-untyped, unused-ignore]

from infra.cdk.config import Stage
from infra.cdk.constructs.containers import Containers, ContainerSpec
from infra.cdk.constructs.keys import Keys
from infra.cdk.constructs.repositories import COLLECTOR, Repositories
from infra.cdk.constructs.roles import Roles
from server.config.settings import ROOT

NAME = "collector"
CONFIG = "infra/observability/aws.yml"
USER = "10003"
CPU, MEMORY = 32, 128
ENDPOINT = "http://127.0.0.1:4318"


def spans(stage: Stage) -> dict[str, str]:
    """Returns the environment with which a container exports spans of the stage's share of turns; {} if the share is 0."""
    if not stage.traces:
        return {}
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": ENDPOINT,
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        "OTEL_TRACES_SAMPLER_ARG": f"{stage.traces:g}",
    }


def add_collector(
    stage: Stage, containers: Containers, repositories: Repositories, roles: Roles, keys: Keys | None = None
) -> None:
    """Adds the collector, unless there is nothing to collect. No container depends on it: if it fails, only spans and
    metrics are lost. `keys`: encrypts the log group of the metrics; None in a task without a server."""
    if keys:
        containers.log("Metrics", stage.metrics_log, keys.shop)
    pipelines = [name for name, wanted in (("traces", stage.traces), ("metrics", keys)) if wanted]
    if not pipelines:
        return
    containers.add(
        ContainerSpec(
            name=NAME,
            repository=repositories.collector,
            tag=COLLECTOR,
            cpu=CPU,
            memory=MEMORY,
            user=USER,
            essential=False,
            environment={"AOT_CONFIG_CONTENT": _config(stage, roles, pipelines)},
            health=("CMD", "/healthcheck"),
        )
    )


def _config(stage: Stage, roles: Roles, pipelines: list[str]) -> str:
    """Returns the collector's configuration, without `${env:…}`, which CloudFormation would interpret."""
    config = yaml.safe_load((ROOT / CONFIG).read_text("utf-8"))
    chosen = config["service"]["pipelines"] = {name: config["service"]["pipelines"][name] for name in pipelines}
    for kind in ("receivers", "processors", "exporters"):
        config[kind] = {name: config[kind][name] for each in chosen.values() for name in each[kind]}
    text = json.dumps(config)
    for name, value in (
        ("AWS_REGION", stage.region),
        ("TRACES_ROLE_ARN", roles.traces.role_arn),
        ("NAMESPACE", stage.namespace),
        ("METRICS_LOG", stage.metrics_log),
    ):
        text = text.replace(f"${{env:{name}}}", value)
    return text
