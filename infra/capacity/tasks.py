"""Number of ECS tasks at each hour of the day; with a task in every zone, enough to survive the loss of a zone."""

from __future__ import annotations

import math
from dataclasses import replace

from infra.capacity.inputs import Inputs, Stage
from infra.capacity.traffic import HOURS, Traffic


def capacity_per_task(stage: Stage, inputs: Inputs, *, live: bool = False, vcpu: float | None = None) -> float:
    """Returns the calls per second that one task serves: the rate measured on a whole vCPU, times the vCPUs reserved for the
    server (or `vcpu`). `live`: use the rate measured without a cache."""
    measured = inputs["fleet"]["calls_a_second_live" if live else "calls_a_second"]
    return float(measured * (stage.server_vcpu if vcpu is None else vcpu))


def tasks_at(calls_a_second: float, stage: Stage, a_task: float) -> int:
    """Returns the number of tasks for `calls_a_second` if one task serves `a_task`. If the stage has a task in every zone,
    the number is a multiple of the zones and suffices when one zone is lost."""
    everywhere = stage.least_tasks >= stage.zones
    calls = calls_a_second * stage.zones / (stage.zones - 1) if everywhere else calls_a_second
    at_once = stage.zones if everywhere else 1
    return max(stage.least_tasks, at_once * math.ceil(calls / a_task / at_once))


def by_hour(traffic: Traffic, stage: Stage, vcpu: float | None = None) -> list[int]:
    a_task = capacity_per_task(stage, traffic.inputs, live=not traffic.cached, vcpu=vcpu)
    return [tasks_at(traffic.calls_a_second(hour), stage, a_task) for hour in HOURS]


def turns_of_an_agent(stage: Stage, inputs: Inputs) -> float:
    """Returns the turns per second of one task of agents, with its processor as busy as scaling lets it be."""
    return float(stage.agents_busy_vcpu * 1000 / inputs["agent"]["cpu_ms_a_turn"])


def agents_by_hour(traffic: Traffic, stage: Stage) -> list[int]:
    """Returns the number of tasks of agents alone at each hour; 0 if agents run in the server's tasks."""
    a_task, agents = turns_of_an_agent(stage, traffic.inputs), replace(stage, least_tasks=stage.agents)
    turns = (traffic.calls_a_second(hour) / traffic.calls_a_message for hour in HOURS)
    return [tasks_at(each, agents, a_task) if stage.agents else 0 for each in turns]
