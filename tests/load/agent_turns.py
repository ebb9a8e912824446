"""Whole turns of the agent's service, from the question to the last word: `python -m tests.load.agent_turns`.

A real server, the agent as a process, and a model behind Bedrock's ConverseStream that takes 300 to 900 ms to the first token
of each step. A turn has one, two or three rounds of tools and then an answer, so two to four steps of the model. Printed are
the quantiles of the first words and of the whole turn, and which part of it each took: the model, the tools, and what is ours
(the agent's service and the way to it).
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.load.results import percentile
from tests.support.agent_service import Json, Service, service
from tests.support.converse import Converse, Step, conversing
from tests.support.serving import served, wait_for_meaning

PROMISED_MS, FIRST_MS = 3000, 1000
LEAST_SECONDS, MOST_SECONDS = 0.3, 0.9
PACE_SECONDS = 0.01
"""Of a word: a hundred a second."""
ROUNDS: tuple[tuple[tuple[str, Json], ...], ...] = (
    (("search_manga_catalog", {"query": "dark fantasy", "max_results": 3}),),
    (("check_inventory", {}),),
    (("get_ratings", {"title_ids": ["manga-002001", "manga-001027"]}),),
)
ANSWER = (
    "You can have Berserk at 693 yen a volume, all but volume 42, which returns in December; Black Clover at 605 yen is "
    "complete on the shelf. Shall I put one of them aside for you?"
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Turns of so many rounds."""

    rounds: int
    turns: list[Json]

    def row(self) -> str:
        first, whole = ([each[name] for each in self.turns] for name in ("first", "took_ms"))
        shares = [sum(each["spent"][part] for each in self.turns) / len(self.turns) for part in ("model", "tools")]
        ours = sum(whole) / len(whole) - sum(shares)
        late = sum(each["outcome"] != "answered" for each in self.turns)
        quantiles = " ".join(f"{percentile(values, at):6.0f}" for values in (first, whole) for at in (0.5, 0.95, 0.99))
        return (
            f"{self.rounds:>6} {len(self.turns):>6}  {quantiles}  {shares[0]:7.0f} {shares[1]:6.0f} {ours:6.0f}  {late:>5}"
        )

    @property
    def kept(self) -> bool:
        """Whether the promise was: at the 95th percentile the first words in one second, and all of them in three."""
        first, whole = ([each[name] for each in self.turns] for name in ("first", "took_ms"))
        return percentile(first, 0.95) < FIRST_MS and percentile(whole, 0.95) < PROMISED_MS


HEADER = (
    "              first words (ms)      whole turn (ms)       of it, mean (ms)\n"
    "rounds  turns     p50    p95    p99    p50    p95    p99    model  tools   ours   late"
)


def thinks(body: Json) -> Step:
    """As many rounds as the question says, and an answer."""
    said = [each for each in body["messages"] if each["role"] == "user" and "text" in each["content"][-1 - _cached(each)]]
    done = sum("toolResult" in each["content"][0] for each in body["messages"])
    rounds = int(said[-1]["content"][-1 - _cached(said[-1])]["text"].split()[0])
    return Step(ANSWER) if done >= rounds else Step(uses=ROUNDS[done])


def _cached(message: Json) -> bool:
    """Whether a point of the cache is its last block."""
    return "cachePoint" in message["content"][-1]


def measure(agent: Service, rounds: int, turns: int, customers: int) -> Measured:
    def ask(number: int) -> Json:
        answer = agent.answer(f"{rounds} rounds, please", f"turn-{rounds}-{number}", user=f"customer-{number}")
        return {**answer, "first": answer["at_ms"][0]}

    with ThreadPoolExecutor(customers) as asking:
        return Measured(rounds, list(asking.map(ask, range(turns))))


def bench(turns: int, customers: int, seed: int = 1) -> list[Measured]:
    chance = random.Random(seed)
    model = Converse(thinks, lambda: chance.uniform(LEAST_SECONDS, MOST_SECONDS), PACE_SECONDS)
    with tempfile.TemporaryDirectory() as folder, conversing(model):
        cache = Path(folder) / "cache"
        with served(Path(folder) / "server", cache, MANGA_EMBEDDER="local") as server:
            wait_for_meaning(server)
            with service(f"{server.url}/sse", "--bedrock", environment=model.environment) as agent:
                agent.connected()
                measure(agent, 1, customers, customers)
                return [measure(agent, rounds, turns, customers) for rounds in (1, 2, 3)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.agent_turns", description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=200, help="of each kind (%(default)s)")
    parser.add_argument("--customers", type=int, default=8, help="who ask at once (%(default)s)")
    asked = parser.parse_args(arguments)
    print(HEADER)
    measured = bench(asked.turns, asked.customers)
    for each in measured:
        print(each.row())
    return 0 if all(each.kept for each in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
