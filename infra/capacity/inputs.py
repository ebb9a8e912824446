"""What is counted with: measured and assumed inputs, and prices."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
KINDS = ("search", "stock", "details", "recommend", "order")
LIVE, CACHED = "live", "cached"


@dataclass(frozen=True, slots=True)
class Consumed:
    """What one call takes: DynamoDB's read and write units, requests to OpenSearch and their KB, steps to Valkey, their KB
    and the microseconds of its scripts."""

    rru: float = 0.0
    wru: float = 0.0
    searches: float = 0.0
    search_kb: float = 0.0
    commands: float = 0.0
    script_us: float = 0.0
    cache_kb: float = 0.0


@dataclass(frozen=True, slots=True)
class Stage:
    """What stands however little is asked, and the most tasks that it may have. A task has so many processors and GB for
    agent and server together, of which `server_vcpu` are promised to the server; a shared one serves alone. `bedrock` is
    whether Bedrock embeds queries."""

    name: str
    zones: int
    least_tasks: int
    most_tasks: int
    vcpu: float
    memory_gb: float
    server_vcpu: float
    shared_vcpu: float
    shared_memory_gb: float
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
    """Dollars for one of its unit by region, where that was read, and the regions for which it was confirmed."""

    dollars: Mapping[str, float]
    source: str
    confirmed: Sequence[str]


@dataclass(frozen=True, slots=True)
class Prices:
    """Of one region, as read on a day."""

    region: str
    read: str
    hours_a_month: float
    days_a_month: float
    of: Mapping[str, Price]

    def __getitem__(self, price: str) -> float:
        """Dollars for one."""
        return self.of[price].dollars[self.region]


@dataclass(frozen=True, slots=True)
class Inputs:
    """The tables of inputs.toml by name; `consumed` by how a call was answered and its kind."""

    tables: Mapping[str, Mapping[str, Any]]
    consumed: Mapping[tuple[str, str], Consumed]
    stages: Mapping[str, Stage]

    def __getitem__(self, table: str) -> Mapping[str, Any]:
        return self.tables[table]


def read_inputs(file: Path = FOLDER / "inputs.toml") -> Inputs:
    """Raises what tomllib and a missing or unknown name raise."""
    told = tomllib.loads(file.read_text("utf-8"))
    consumed = told["consumed"]
    each = {(how, kind): Consumed(**consumed[how][kind]) for how in (LIVE, CACHED) for kind in consumed[how]}
    stages = {name: Stage(name, **stage) for name, stage in told["stage"].items()}
    return Inputs({name: table for name, table in told.items() if name != "stage"}, each, stages)


def read_prices(region: str, file: Path = FOLDER / "prices.toml") -> Prices:
    """Raises what tomllib and a missing or unknown name raise."""
    told = tomllib.loads(file.read_text("utf-8"))
    of = {name: Price(**price) for name, price in told.items() if isinstance(price, dict)}
    return Prices(region, str(told["read"]), told["hours_a_month"], told["days_a_month"], of)
