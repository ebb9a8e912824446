"""The way of spans out of a task: AWS's collector beside the other containers, which sends them to X-Ray."""

from __future__ import annotations

from infra.cdk.config import Stage
from infra.cdk.constructs.containers import Containers, Kind
from infra.cdk.constructs.repositories import COLLECTOR, Repositories
from infra.cdk.constructs.roles import Roles
from server.config.settings import ROOT

NAME = "collector"
CONFIG = "infra/observability/xray.yml"
USER = "10003"
CPU, MEMORY = 32, 128
ENDPOINT = "http://127.0.0.1:4318"


def spans(stage: Stage) -> dict[str, str]:
    """What makes a container tell of its spans: the same share of turns, decided where a turn begins."""
    if not stage.traces:
        return {}
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": ENDPOINT,
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        "OTEL_TRACES_SAMPLER_ARG": f"{stage.traces:g}",
    }


def add_collector(stage: Stage, containers: Containers, repositories: Repositories, roles: Roles) -> None:
    """Not essential, and nobody waits for it: without it spans are lost, and nothing else."""
    if not stage.traces:
        return
    containers.add(
        Kind(
            name=NAME,
            repository=repositories.collector,
            tag=COLLECTOR,
            cpu=CPU,
            memory=MEMORY,
            user=USER,
            essential=False,
            environment={"AOT_CONFIG_CONTENT": _config(stage, roles)},
            health=("CMD", "/healthcheck"),
        )
    )


def _config(stage: Stage, roles: Roles) -> str:
    """With its values in their places: CloudFormation takes `${…}` for its own."""
    told = (ROOT / CONFIG).read_text("utf-8")
    text = "".join(line for line in told.splitlines(keepends=True) if not line.startswith("#"))
    return text.replace("${env:AWS_REGION}", stage.region).replace("${env:TRACES_ROLE_ARN}", roles.traces.role_arn)
