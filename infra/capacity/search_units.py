"""OpenSearch Compute Units (OCUs) for search at each hour of the day. AWS provides half a unit, or whole units."""

from __future__ import annotations

import math

from infra.capacity.inputs import Stage
from infra.capacity.traffic import HOUR, HOURS, Traffic


def search_ocus_at(requests_a_second: float, stage: Stage, traffic: Traffic) -> float:
    """Returns the OCUs for a rate of requests: their CPU time over the share of a unit that may be busy, rounded up."""
    search = traffic.inputs["search"]
    busy = requests_a_second * search["cpu_ms_a_request"] / 1000 / search["vcpu_an_ocu"]
    wanted = busy / search["busy_share"]
    return max(stage.search_ocus, 0.5 if wanted <= 0.5 else float(math.ceil(wanted)))


def by_hour(traffic: Traffic, stage: Stage) -> list[float]:
    a_day = traffic.consumed().searches
    return [search_ocus_at(a_day * traffic.share(hour) / HOUR, stage, traffic) for hour in HOURS]
