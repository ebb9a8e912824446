"""What the simulation is fed with, from `inputs.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "inputs.toml"


@dataclass(frozen=True, slots=True)
class Own:
    """What a backend takes for a question, in ms: two points of its distribution."""

    p50: float
    p99: float


@dataclass(frozen=True, slots=True)
class Kind:
    """One way a call goes: ms of the event loop, ms of a worker thread, and the backends that it asks, one after another.
    `spread` is the standard deviation of the logarithm of its work."""

    loop_ms: float
    spread: float
    thread_ms: float = 0.0
    asks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mode:
    """How tasks are run. `outside_ms` is what a client waits for beside all that: kernel, network, its own work. `patience_ms`
    is how long a search waits for a thread before it does without. `background_ms` is work a second that no call asks for."""

    kinds: Mapping[str, Kind]
    backends: Mapping[str, Own]
    outside_ms: float
    patience_ms: float
    background_ms: float


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """Which call comes first, second and last, how often each is answered live, and how long an agent thinks (s)."""

    steps: Sequence[Mapping[str, float]]
    live: Mapping[str, float]
    think_seconds: float
    longest_think_seconds: float


@dataclass(frozen=True, slots=True)
class Inputs:
    """`modes` by name, the rest as the file has it."""

    modes: Mapping[str, Mode]
    turn: TurnPlan
    day: Mapping[str, Any]
    rules: Mapping[str, Any]
    plan: Mapping[str, Any]
    measured: Mapping[str, Any]
    sources: Mapping[str, str]


def read_inputs(file: Path = FILE) -> Inputs:
    """Raises what tomllib and a missing name raise."""
    told = tomllib.loads(file.read_text("utf-8"))
    turn = told["turn"]
    plan = TurnPlan(
        (turn["first"], turn["second"], turn["last"]), turn["live"], turn["think_seconds"], turn["longest_think_seconds"]
    )
    return Inputs(
        modes={name: _mode(_whole(each, told["mode"])) for name, each in told["mode"].items()},
        turn=plan,
        day=told["day"],
        rules=told["rules"],
        plan=told["plan"],
        measured=told["measured"],
        sources={name: f"{where['source']} ({where['date']})" for name, where in _described(told)},
    )


def _whole(told: Mapping[str, Any], modes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Fills in what a mode takes from another."""
    if "as" not in told:
        return told
    base = modes[told["as"]]
    return {**base, "backends": {**base["backends"], **told["backends"]}}


def _mode(told: Mapping[str, Any]) -> Mode:
    kinds = {name: Kind(**{**each, "asks": tuple(each.get("asks", ()))}) for name, each in told["kinds"].items()}
    backends = {name: Own(*each) for name, each in told["backends"].items()}
    return Mode(kinds, backends, told["outside_ms"], told["patience_ms"], told["background_ms"])


def _described(told: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(name, each) for name, each in told.items() if "source" in each] + [
        (f"mode {name}", each) for name, each in told["mode"].items()
    ]
