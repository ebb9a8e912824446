"""Cost of alternatives: each function returns the dollars a month that its alternative adds, negative if it saves."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from infra.capacity import tasks
from infra.capacity.needs import GB, KB_A_GB, MILLION, Month, Need, dollars
from infra.capacity.traffic import HOUR

Alternative = Callable[[Month], float]
MILLISECONDS_AN_HOUR = HOUR * 1000


def agent_otherwise(way: str, month: Month) -> float:
    """Returns the cost of the agent's model by another `way` of inputs.toml."""
    other = replace(month, stage=replace(month.stage, way=way))
    return dollars(list(other.agent_model()), month.prices) - dollars(list(month.agent_model()), month.prices)


def nothing_cached(month: Month) -> float:
    """Returns the cost of MANGA_CACHE=off: every call reads the backends."""
    live = replace(month, traffic=replace(month.traffic, cached=False))
    return dollars(live(), month.prices) - dollars(month(), month.prices)


def standby_in_each_task(month: Month) -> float:
    """Returns the cost of MANGA_STANDBY=full: memory for 18,804 titles in each task."""
    gigabytes = month.task_hours * month.traffic.inputs["task"]["standby_gb"]
    return float(gigabytes * month.prices["fargate_gb_hour"])


def two_workers(month: Month) -> float:
    """Returns the saving, as a negative cost, of half as many tasks, each with two workers and two vCPUs: the memory that
    second workers share."""
    task = month.traffic.inputs["task"]
    saved = month.task_hours / 2 * (task["whole_process_gb"] - task["second_worker_gb"])
    return float(-saved * month.prices["fargate_gb_hour"])


def encoder_in_the_task(month: Month) -> float:
    """Returns the cost of MANGA_EMBEDDER=local: CPU time in place of Bedrock and its endpoint's traffic."""
    inputs, prices = month.traffic.inputs, month.prices
    texts = month.embeddings * month.days
    work = texts * inputs["task"]["local_encoder_ms"] / MILLISECONDS_AN_HOUR / inputs["search"]["busy_share"]
    gigabytes = texts * inputs["embedding"]["kb_a_text"] / KB_A_GB
    saved = dollars(list(month.model()), prices) + gigabytes * prices["endpoint_gb"]
    return float(work * prices["fargate_vcpu_hour"] - saved)


def nat_gateways(month: Month) -> float:
    """Returns the cost of a NAT gateway in each zone in place of interface endpoints."""
    prices, hours = month.prices, month.stage.zones * month.prices.hours_a_month

    def endpoint(need: Need) -> bool:
        return need.price.startswith("endpoint_")

    network = list(month.network())
    gigabytes = sum(need.quantity for need in network if need.price == "endpoint_gb")
    nat = hours * prices["nat_hour"] + gigabytes * prices["nat_gb"]
    return nat - dollars(network, prices, endpoint)


def flags_in_a_table(month: Month) -> float:
    """Returns the cost of MANGA_FLAGS_URL=dynamodb://…: each task polls the table, with strongly consistent reads."""
    looks = month.task_hours * HOUR / month.traffic.inputs["flags"]["table_poll_seconds"]
    return float(looks / MILLION * month.prices["rru_million"])


def a_line_for_each_call(month: Month) -> float:
    gigabytes = month.traffic.calls * month.days * month.traffic.inputs["logs"]["call_bytes"] / GB
    kept = gigabytes * month.stage.log_days / month.days
    return float(gigabytes * month.prices["log_gb"] + kept * month.prices["log_storage_gb_month"])


def cache_without_limit(month: Month) -> float:
    """Returns the cost of a cache that keeps every search for a day, without a memory limit."""
    free = replace(month, stage=replace(month.stage, most_cache_gb=math.inf))
    return (free.cache_gb - month.cache_gb) * month.prices.hours_a_month * month.prices["cache_gb_hour"]


def busiest_hour_all_day(month: Month) -> float:
    """Returns the cost of no scaling: as many tasks all day as in the busiest hour."""
    most = max(tasks.by_hour(month.traffic, month.stage)) * month.prices.hours_a_month
    a_task = dollars(list(month.compute()), month.prices) / month.task_hours
    return (most - month.task_hours) * a_task


ALTERNATIVES: Mapping[str, Alternative] = MappingProxyType(
    {
        "`AGENT_PROMPT_CACHE=off`": partial(agent_otherwise, "cache_off"),
        "`MANGA_TOOLS=core`": partial(agent_otherwise, "five_tools"),
        "`MANGA_CACHE=off`, every call live": nothing_cached,
        "no scaling, the busiest hour's tasks all day": busiest_hour_all_day,
        "`MANGA_STANDBY=full` in every task": standby_in_each_task,
        "`MANGA_WORKERS=2` in half as many tasks of two vCPU": two_workers,
        "`MANGA_EMBEDDER=local` in place of Bedrock": encoder_in_the_task,
        "NAT gateways in place of interface endpoints": nat_gateways,
        "flags in a DynamoDB table in place of AppConfig": flags_in_a_table,
        "`MANGA_LOG_TOOL_CALLS=all`": a_line_for_each_call,
        "no limit to the cache's data": cache_without_limit,
    }
)
