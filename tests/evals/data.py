"""The data sets: pairs of questions that differ in their tool, and the judged conversations."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.conversations.script import TOOLS, load_all
from tests.conversations.shelf import Json, Shelf

PAIRS = Path(__file__).with_name("pairs.toml")
CUSTOMER = "demo-user-1"
"""Who asks in the pairs; the sample data has orders of theirs."""
MOST_ASSERTIONS = 100
"""Of one scenario, what AgentCore takes."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """`calls` are the tools of a right course, in order, `never` those that none takes; `customer` is who is signed in, by
    turn."""

    name: str
    says: tuple[str, ...]
    customers: tuple[str | None, ...]
    calls: tuple[str, ...]
    never: tuple[str, ...]
    assertions: tuple[str, ...]
    about: Json = field(default_factory=dict)

    @property
    def metadata(self) -> Json:
        return {**self.about, "customers": list(self.customers), "never": list(self.never)}

    def for_strands(self) -> Json:
        """As a `Case`: one question is a text, several are a list."""
        return {
            "name": self.name,
            "session_id": self.name,
            "input": self.says[0] if len(self.says) == 1 else list(self.says),
            "expected_trajectory": list(self.calls),
            "expected_assertion": "\n".join(self.assertions),
            "metadata": self.metadata,
        }

    def for_agentcore(self) -> Json:
        """As a predefined scenario."""
        return {
            "scenario_id": self.name,
            "turns": [{"input": each} for each in self.says],
            "expected_trajectory": list(self.calls),
            "assertions": list(self.assertions[:MOST_ASSERTIONS]),
            "metadata": self.metadata,
        }


def routing() -> Iterator[Scenario]:
    """Two of each pair. Raises LookupError for a title that is not on the shelf, and ValueError for a tool that is none."""
    shelf = Shelf.of_the_demo()
    for number, pair in enumerate(tomllib.loads(PAIRS.read_text("utf-8"))["pair"], 1):
        if pair["of"]:
            shelf.named(pair["of"])
        for side in ("a", "b"):
            question = pair[side]
            calls, never = tuple(question["calls"]), tuple(question["never"])
            if unknown := {*calls, *never} - {*TOOLS}:
                raise ValueError(f"pair {number} names {', '.join(sorted(unknown))}, which are no tools")
            yield Scenario(
                f"routing-{number:02d}{side}",
                (question["says"],),
                (CUSTOMER,),
                calls,
                never,
                (*_in_order(calls), *(f"Does not call {each}." for each in never)),
                {"about": pair["about"], "of": pair["of"], "language": "en" if question["says"].isascii() else "ja"},
            )


def conversations() -> Iterator[Scenario]:
    """The judged conversations. What no model does is left out: to read a resource, to get a prompt."""
    for number, each in enumerate(load_all(), 1):
        calls = [call for turn in each.turns for call in turn.calls if call.how == "tool"]
        lines = [(call.name, line) for call in calls for line in call.lines]
        yield Scenario(
            f"conversation-{number:03d}",
            tuple(turn.says for turn in each.turns),
            tuple(turn.customer for turn in each.turns),
            tuple(call.name for call in calls),
            (),
            tuple(f"The answer of {name} {'has' if line.wanted else 'has not'}: {line.text}." for name, line in lines),
            {"about": each.topic, "title": each.name, "language": each.language, "locked": each.locked},
        )


def _in_order(calls: Sequence[str]) -> Iterator[str]:
    yield f"Calls {calls[0]}."
    yield from (f"Calls {after} after {before}." for before, after in zip(calls, calls[1:], strict=False))
