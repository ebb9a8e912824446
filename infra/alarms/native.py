"""Alarms on metrics that AWS services publish themselves and Prometheus does not collect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from infra.alarms.cloudwatch import MINUTE, Deployed, Resource, compared, describe, told
from infra.alarms.slos import PAGE, TICKET
from tools.store.backends.dynamodb.tables import Table

NAMES = (
    "MangaTasksMissing",
    "MangaTargetsUnhealthy",
    "MangaTableThrottled",
    "MangaCacheFull",
    "MangaCacheThrottled",
    "MangaSearchAtItsMost",
)
FULL = 0.8
"""Share of the cache's limit above which the oldest entries will soon be evicted."""


@dataclass(frozen=True, slots=True)
class AwsResources:
    """Names of the watched AWS resources in CloudWatch's dimensions; template references are allowed. `table_prefix`: start
    of the tables' names. `balancer`: dimensions of the load balancer's target group, None without a load balancer."""

    cluster: str
    service: str
    least_tasks: int
    tables: tuple[Table, ...]
    table_prefix: str
    cache: str
    cache_bytes: int
    account: Any
    search_group: str
    search_group_id: Any
    search_units: int
    indexing_units: int
    balancer: dict[str, Any] | None = None


def natives(where: Deployed, of: AwsResources) -> dict[str, Resource]:
    return {
        name.replace("-", ""): alarm(where, name, severity, words, watched)
        for name, severity, words, watched in _listed(of)
        if watched
    }


def _listed(of: AwsResources) -> Iterator[tuple[str, str, str, Resource]]:
    running = {"ClusterName": of.cluster, "ServiceName": of.service}
    yield (
        "MangaTasksMissing",
        PAGE,
        f"Fewer than {of.least_tasks} tasks run. See why the last one stopped.",
        metric("ECS/ContainerInsights", "RunningTaskCount", running, "Minimum")
        | compared(of.least_tasks, 5, 5, below=True, missing="breaching"),
    )
    yield (
        "MangaTargetsUnhealthy",
        TICKET,
        "A task has not been ready for the balancer for ten minutes. See the end of its log.",
        metric("AWS/ApplicationELB", "UnHealthyHostCount", of.balancer, "Maximum") | compared(0, 10, 10)
        if of.balancer
        else {},
    )
    for table in of.tables:
        indexes = tuple(index.name for index in table.indexes if index.partition_key)
        yield throttled(table.name, table.full_name(of.table_prefix), indexes)
    cache = {"clusterId": of.cache}
    yield (
        "MangaCacheFull",
        TICKET,
        f"The cache has taken {FULL:.0%} of what it may. Raise its bound, or the oldest go.",
        metric("AWS/ElastiCache", "BytesUsedForCache", cache, "Maximum") | compared(FULL * of.cache_bytes, 15, 15),
    )
    yield (
        "MangaCacheThrottled",
        TICKET,
        "The cache refuses commands. See whether it is at its bound of processing units.",
        metric("AWS/ElastiCache", "ThrottledCmds", cache, "Sum") | compared(0, 2, 5),
    )
    group = {"ClientId": of.account, "CollectionGroupId": of.search_group_id, "CollectionGroupName": of.search_group}
    for name, number, units, words in (
        ("MangaSearchAtItsMost", "SearchOCU", of.search_units, "Raise the bound before it is slow."),
        ("MangaSearchAtItsMost-indexing", "IndexingOCU", of.indexing_units, "A load of the catalogue takes longer."),
    ):
        yield (
            name,
            TICKET,
            f"Search has taken all of its {units} compute units ({number}). {words}",
            metric("AWS/AOSS", number, group, "Maximum") | compared(units - 0.5, 15, 15),
        )


def throttled(name: str, table: Any, indexes: tuple[str, ...] = ()) -> tuple[str, str, str, Resource]:
    """Returns name, severity, description and properties of the alarm on refused requests to a table and its global indexes,
    which count by themselves. A local index counts as its table."""
    named = [{"TableName": table}, *({"TableName": table, "GlobalSecondaryIndexName": index} for index in indexes)]
    sums = [
        part(f"{kind}{at or ''}", "AWS/DynamoDB", f"{kind.title()}ThrottleEvents", dimensions)
        for at, dimensions in enumerate(named)
        for kind in ("read", "write")
    ]
    added = " + ".join(f"FILL({each['Id']}, 0)" for each in sums)
    total = {"Id": "refused", "Expression": added, "Label": "refused"}
    what = " or ".join((f"the table {name}", *(f"the index {each}" for each in indexes)))
    words = f"DynamoDB refuses requests to {what}. See whether it is at its bound."
    return f"MangaTableThrottled-{name}", TICKET, words, {"Metrics": [*sums, total]} | compared(0, 2, 5)


def alarm(where: Deployed, name: str, severity: str, words: str, watched: Resource) -> Resource:
    section = name.partition("-")[0]
    properties = {
        "AlarmName": f"{where.prefix}-{name}",
        "AlarmDescription": describe(words, "", section, where),
        **watched,
        **told(where, severity),
    }
    return {"Type": "AWS::CloudWatch::Alarm", "Properties": properties}


def _dimensions(of: dict[str, Any]) -> list[Resource]:
    return [{"Name": name, "Value": value} for name, value in of.items()]


def metric(namespace: str, metric: str, of: dict[str, Any], statistic: str) -> Resource:
    return {
        "Namespace": namespace,
        "MetricName": metric,
        "Dimensions": _dimensions(of),
        "Statistic": statistic,
        "Period": MINUTE,
    }


def part(name: str, namespace: str, metric: str, of: dict[str, Any]) -> Resource:
    measured = {"Namespace": namespace, "MetricName": metric, "Dimensions": _dimensions(of)}
    return {"Id": name, "MetricStat": {"Metric": measured, "Period": MINUTE, "Stat": "Sum"}, "ReturnData": False}
