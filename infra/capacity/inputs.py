"""Inputs of the capacity computation: measured and assumed quantities, the deployed stages, and prices."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.alarms.alarm import Formula, Watch
from infra.alarms.cloudwatch import Deployed as At
from infra.alarms.cloudwatch import alarms, silent_rollback_alarms
from infra.alarms.door import DoorParts, door_alarms
from infra.alarms.native import AwsResources, natives
from infra.alarms.rules import ALARMS
from infra.alarms.states import STATES
from infra.cdk.config import Stage as Deployed
from infra.cdk.stages import STAGES
from server.backends.guarded_store import POLICIES
from server.telemetry.service_levels import NUMBERS
from tools.store.backends.dynamodb.tables import TABLES

FOLDER = Path(__file__).parent
KINDS = ("search", "stock", "details", "recommend", "order")
LIVE, CACHED = "live", "cached"
UNITS, MIB = 1024, 1024
COMPOSITE = 5
"""Price of a composite alarm, in multiples of an alarm on one metric."""
INTERFACE_ENDPOINTS = 10
"""Endpoints of infra/cdk/constructs/network.py, and OpenSearch's; one fewer without traces."""
KEYS, SECRETS = 3, 2
DOOR_BALANCERS = 2
FIREWALL_RULES = 5
"""Number of rules in infra/cdk/constructs/firewall.py."""


@dataclass(frozen=True, slots=True)
class Consumed:
    """Resources that calls consume: DynamoDB read and write units, OpenSearch requests and their KB, Valkey commands,
    microseconds in Valkey scripts, and KB to and from Valkey."""

    rru: float = 0.0
    wru: float = 0.0
    searches: float = 0.0
    search_kb: float = 0.0
    commands: float = 0.0
    script_us: float = 0.0
    cache_kb: float = 0.0


@dataclass(frozen=True, slots=True)
class Stage:
    """Resources of a deployment stage that its cost depends on. `server_vcpu`: part of a task's `vcpu` reserved for the
    server; the rest is for sidecars and, if it runs in the same task, the agent. `agents`: least tasks of agents alone, each
    of `agents_vcpu`, of which scaling lets `agents_busy_vcpu` be used; 0 if agents run in the server's tasks. `way`: key of
    the agent's tokens a message in inputs.toml. `balancers`: load balancers of the customers' entry points and of the shared
    service. `bedrock`: whether Bedrock embeds queries."""

    name: str
    zones: int
    least_tasks: int
    most_tasks: int
    vcpu: float
    memory_gb: float
    server_vcpu: float
    agents: int
    agents_vcpu: float
    agents_memory_gb: float
    agents_busy_vcpu: float
    most_agents: int
    way: str
    balancers: int
    search_ocus: float
    indexing_ocus: float
    most_cache_gb: float
    bedrock: bool
    interface_endpoints: int
    alarms: int
    metrics: int
    dashboards: int
    keys: int
    secrets: int
    log_days: int


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per unit by region, the page where the price was read, and the regions for which another page confirmed it."""

    dollars: Mapping[str, float]
    source: str
    confirmed: Sequence[str]


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices in one region, as read on the date `read`. `prices[NAME]` is the price NAME in dollars per unit."""

    region: str
    read: str
    hours_a_month: float
    days_a_month: float
    of: Mapping[str, Price]

    def __getitem__(self, price: str) -> float:
        return self.of[price].dollars[self.region]


@dataclass(frozen=True, slots=True)
class Inputs:
    """Tables of inputs.toml by name; consumption by ("live" or "cached", kind of call); deployed stages by name."""

    tables: Mapping[str, Mapping[str, Any]]
    consumed: Mapping[tuple[str, str], Consumed]
    stages: Mapping[str, Stage]

    def __getitem__(self, table: str) -> Mapping[str, Any]:
        return self.tables[table]


def read_inputs(file: Path = FOLDER / "inputs.toml") -> Inputs:
    """Reads inputs.toml. Raises tomllib's errors, KeyError for missing names, and TypeError for unknown names."""
    told = tomllib.loads(file.read_text("utf-8"))
    consumed = told["consumed"]
    each = {(how, kind): Consumed(**consumed[how][kind]) for how in (LIVE, CACHED) for kind in consumed[how]}
    return Inputs(told, each, {name: _standing(stage) for name, stage in STAGES.items()})


def _standing(stage: Deployed) -> Stage:
    size = stage.shared_size if stage.walled else stage.size
    return Stage(
        name=stage.name,
        zones=len(stage.network.zones),
        least_tasks=stage.scaling.least,
        most_tasks=stage.scaling.most,
        vcpu=size.cpu / UNITS,
        memory_gb=size.memory / MIB,
        server_vcpu=size.server_cpu / UNITS,
        agents=stage.agents_scaling.least if stage.walled else 0,
        agents_vcpu=stage.agents_size.cpu / UNITS,
        agents_memory_gb=stage.agents_size.memory / MIB,
        agents_busy_vcpu=stage.agents_size.agent_cpu / UNITS * stage.agents_scaling.cpu_percent / 100,
        most_agents=stage.agents_scaling.most,
        way="five_tools" if stage.tools == "core" else "as_deployed" if stage.prompt_cache else "cache_off",
        balancers=DOOR_BALANCERS + stage.walled,
        search_ocus=stage.search.least_search,
        indexing_ocus=1,
        most_cache_gb=stage.cache.most_gb,
        bedrock=stage.embedder.startswith("bedrock:"),
        interface_endpoints=INTERFACE_ENDPOINTS - (not stage.traces),
        alarms=alarms_of(stage),
        metrics=sum(number.dimension is None for number in NUMBERS)
        + len((*POLICIES, "redis"))
        + len(_replicas())
        + len(_scraped()),
        dashboards=1,
        keys=KEYS,
        secrets=SECRETS,
        log_days=stage.log_days,
    )


def _replicas() -> set[str]:
    states = (alarm.watch for alarm in STATES if isinstance(alarm.watch, Watch))
    watched = (watch for watch in states if watch.dimension == "Replica")
    return {value for watch in watched for value in watch.values}


def _scraped() -> set[tuple[str, tuple[str, str]]]:
    formulas = (alarm.watch for alarm in ALARMS if isinstance(alarm.watch, Formula))
    return {(part.metric, part.dimension) for each in formulas for part in each.parts if part.dimension}


def alarms_of(stage: Deployed) -> int:
    """Counts a stage's alarms as AWS bills them: one for each metric watched, and five for a composite alarm."""
    where = At(stage.service, stage.namespace, page="", ticket="")
    target = {"TargetGroup": "", "LoadBalancer": ""} if stage.walled else None
    own = AwsResources(
        cluster="", service="", least_tasks=0, tables=TABLES, table_prefix="", cache="", cache_bytes=0,
        account="", search_group="", search_group_id="", search_units=0, indexing_units=0, balancer=target,
    )  # fmt: skip
    agents = "x" * stage.walled
    door = DoorParts({"LoadBalancer": ""}, sockets={}, link={}, open_sockets="", cluster="", service=agents, least_tasks=0)
    made = (alarms(where), natives(where, own), silent_rollback_alarms(where), door_alarms(where, door))
    every = [each for some in made for each in some.values()]
    return sum(COMPOSITE if "AlarmRule" in each["Properties"] else max(1, _numbers(each["Properties"])) for each in every)


def _numbers(alarm: Mapping[str, Any]) -> int:
    return sum("MetricStat" in each for each in alarm.get("Metrics", ()))


def read_prices(region: str, file: Path = FOLDER / "prices.toml") -> Prices:
    """Reads a region's prices. Raises tomllib's errors, and KeyError or TypeError for missing or unknown names."""
    told = tomllib.loads(file.read_text("utf-8"))
    of = {name: Price(**price) for name, price in told.items() if isinstance(price, dict)}
    return Prices(region, str(told["read"]), told["hours_a_month"], told["days_a_month"], of)
