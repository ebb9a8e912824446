"""Alarms on the customers' entry points (HTTPS and WebSocket), from AWS's own metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from infra.alarms.cloudwatch import Deployed, Resource, compared
from infra.alarms.native import alarm, metric, part, throttled
from infra.alarms.slos import PAGE, TICKET

NAMES = ("MangaDoorFails", "MangaDoorUnhealthy", "MangaAgentsMissing")
FEW = 5
"""Failures a minute up to which nobody is notified."""
Dimensions = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DoorParts:
    """CloudWatch dimensions of the entry points. `https`: HTTPS load balancer and target group. `sockets`: WebSocket API.
    `link`: targets of that API's private link. `open_sockets`: name of the table that counts sockets. `service`: agents' ECS
    service; None if agents run in the server's tasks."""

    https: Dimensions
    sockets: Dimensions
    link: Dimensions
    open_sockets: Any
    cluster: str
    service: str | None
    least_tasks: int


def door_alarms(where: Deployed, of: DoorParts) -> dict[str, Resource]:
    return {
        name.replace("-", ""): alarm(where, name, severity, words, watched) for name, severity, words, watched in _listed(of)
    }


def rollback_names(where: Deployed) -> tuple[str, ...]:
    return tuple(f"{where.prefix}-MangaDoorFails-{way}" for way in ("https", "sockets"))


def _listed(of: DoorParts) -> Iterator[tuple[str, str, str, Resource]]:
    balancer = {"LoadBalancer": of.https["LoadBalancer"]}
    failures = [
        part("agents", "AWS/ApplicationELB", "HTTPCode_Target_5XX_Count", balancer),
        part("balancer", "AWS/ApplicationELB", "HTTPCode_ELB_5XX_Count", balancer),
    ]
    yield (
        "MangaDoorFails-https",
        PAGE,
        "Customers' questions over HTTPS end in errors. See whether agents run, then the end of their log.",
        {"Metrics": [*failures, _total("FILL(agents, 0) + FILL(balancer, 0)")]} | compared(FEW, 3, 5),
    )
    failures = [
        part("handed", "AWS/ApiGateway", "IntegrationError", of.sockets),
        part("done", "AWS/ApiGateway", "ExecutionError", of.sockets),
    ]
    yield (
        "MangaDoorFails-sockets",
        PAGE,
        "Messages on sockets do not reach an agent. See whether agents run, then the logs of the door's functions.",
        {"Metrics": [*failures, _total("FILL(handed, 0) + FILL(done, 0)")]} | compared(FEW, 3, 5),
    )
    for way, namespace, dimensions in (
        ("https", "AWS/ApplicationELB", of.https),
        ("sockets", "AWS/NetworkELB", of.link),
    ):
        yield (
            f"MangaDoorUnhealthy-{way}",
            TICKET,
            "An agent has not been healthy for the door for ten minutes. See the end of its log.",
            metric(namespace, "UnHealthyHostCount", dimensions, "Maximum") | compared(0, 10, 10),
        )
    yield throttled("sockets", of.open_sockets)
    if of.service:
        yield (
            "MangaAgentsMissing",
            PAGE,
            f"Fewer than {of.least_tasks} agents run. See why the last one stopped.",
            metric(
                "ECS/ContainerInsights",
                "RunningTaskCount",
                {"ClusterName": of.cluster, "ServiceName": of.service},
                "Minimum",
            )
            | compared(of.least_tasks, 5, 5, below=True, missing="breaching"),
        )


def _total(expression: str) -> Resource:
    return {"Id": "failed", "Expression": expression, "Label": "failed"}
