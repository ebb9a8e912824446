"""The agent's container: its command, settings and port, the same in the server's task and in a separate task."""

from __future__ import annotations

from aws_cdk import aws_ecs as ecs

from infra.cdk.config import Stage, TaskSize
from infra.cdk.constructs.collector import spans
from infra.cdk.constructs.containers import Containers, ContainerSpec, mount
from infra.cdk.constructs.repositories import Repositories
from infra.cdk.constructs.surroundings import region
from infra.door.api import AGENT_PORT

AGENT = "agent"
HEALTHY_AGENT = ("CMD", "python", "-m", "infra.agent.healthcheck")
AGENT_STOP_SPARE_S = 20
"""Seconds beyond the server's: the agent is stopped first, and its model still speaks after the last tool call."""
SOURCE = "lambda:"
"""Prefix of a Lambda function's name given in place of a URL."""


def add_agent(
    stage: Stage,
    containers: Containers,
    repositories: Repositories,
    size: TaskSize,
    store: str,
    secrets: tuple[tuple[str, ecs.Secret], ...],
) -> ecs.ContainerDefinition:
    """Adds the agent's container. `store`: the server's SSE URL. The agent listens on every address of its task, and
    security groups admit only the customers' entry points."""
    container = containers.add(
        ContainerSpec(
            name=AGENT,
            repository=repositories.agent,
            tag=stage.release,
            cpu=size.agent_cpu,
            memory=size.agent_memory,
            environment={**region(stage), **spans(stage), **_model(stage), **_door(stage)},
            command=("--serve", "--host", "0.0.0.0", "--port", str(AGENT_PORT), "--url", store, "--bedrock", stage.model),
            health=HEALTHY_AGENT,
            stop_seconds=stage.stop_seconds + AGENT_STOP_SPARE_S,
            secrets=secrets,
            port=AGENT_PORT,
        )
    )
    mount(container, containers.volume("agent-tmp"))
    return container


def _model(stage: Stage) -> dict[str, str]:
    stated = {
        "AGENT_TEMPERATURE": stage.temperature,
        "AGENT_MAX_TOKENS": stage.max_tokens,
        "AGENT_PROMPT_CACHE": None if stage.prompt_cache else "off",
        "AGENT_TOOLS": stage.tools,
        "AGENT_TURN_CALLS": stage.turn_calls,
    }
    return {name: str(value) for name, value in stated.items() if value is not None}


def _door(stage: Stage) -> dict[str, str]:
    return {
        "AGENT_JWT_ISSUER": stage.door.issuer,
        "AGENT_JWT_AUDIENCE": ",".join(stage.door.audiences),
        "AGENT_JWT_JWKS_URL": f"{SOURCE}{stage.outside}",
        "AGENT_CALLBACK_URL": f"{SOURCE}{stage.outside}",
    }
