"""What a customer's message costs: `python -m tests.conversations.cost` plays the judged conversations with the agent itself.

The agent's service asks a model behind Bedrock's ConverseStream, which calls the tools that a conversation's script names and
says what was found. Every request that was posted is counted, in the server's own estimate of tokens, by its parts; answers of
tools are judged as ever. What a request would have been when the agent sent all earlier results again, and cached nothing, is
made from the same turns.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from infra.agent.options import CORE
from infra.agent.words import sentence, tell_known
from tests.conversations.agent import judged
from tests.conversations.notebook import Notebook, NotShown, Page
from tests.conversations.script import Call, Conversation, load_all
from tests.conversations.shelf import Json, Shelf
from tests.conversations.shop import SWITCHED_ON
from tests.support.agent_service import Service, service
from tests.support.converse import Converse, Step, conversing
from tests.support.serving import served, wait_for_meaning
from tools.results.shortening import estimate

PRICES = Path(__file__).with_name("prices.toml")
PARTS = ("prompt", "schemas", "history", "question", "results")
MOST_MESSAGES = 40
"""Of a conversation, as many as the agent used to send."""
LEAN = 1.2
"""How far the estimate is above what a tokenizer counts, about (infra/docs/answers.md): a cache goes by the latter."""
READ, WRITE = 0.1, 1.25
"""What a token costs that is read from the model's cache, or written there, in tokens."""
FIVE = {"MANGA_TOOLS": "core"}
"""The server's own setting, by which its rules name no other tool either."""
PATIENCE = ("--patience-ms", "60000")
"""It is about what is said and not about when."""


@dataclass(frozen=True, slots=True)
class Request:
    """To a model, in tokens. `cached` is what an earlier request of the turn has sent of it; `fixed` is the same for all customers."""

    prompt: int
    schemas: int
    history: int
    question: int
    results: int
    cached: int = 0

    @property
    def fixed(self) -> int:
        return self.prompt + self.schemas

    @property
    def whole(self) -> int:
        return sum(getattr(self, part) for part in PARTS)

    def paid(self, least: int | None) -> float:
        """In tokens of input, where a cache keeps no less than `least` and rules and tools are always in it; None is no cache."""
        if least is None or self.whole < least * LEAN:
            return self.whole
        read = self.fixed if self.fixed >= least * LEAN else 0
        if self.cached >= least * LEAN:
            read = self.cached
        # All of it is written for the next step, but what was there.
        return read * READ + (self.whole - read) * WRITE


@dataclass(slots=True)
class Message:
    """One of a customer: a request to the model for each of its steps, now and as it used to be, and the words of the answer."""

    now: list[Request] = field(default_factory=list)
    before: list[Request] = field(default_factory=list)
    answer: int = 0


@dataclass(slots=True)
class Played:
    conversation: Conversation
    problems: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)


@dataclass(slots=True)
class Player:
    """The model's part of one turn: the script's calls, one a step, and then what the last of them found."""

    calls: Sequence[Call]
    notes: Notebook
    question: str
    problems: list[str] = field(default_factory=list)
    lost: NotShown | None = None
    heard: list[Json] = field(default_factory=list)

    def think(self, body: Json) -> Step:
        results = [each["toolResult"] for each in body["messages"][-1]["content"] if "toolResult" in each]
        try:
            for result in results:
                self._hear(json.loads(result["content"][0]["text"]))
            offered = {each["toolSpec"]["name"] for each in body["toolConfig"]["tools"] if "toolSpec" in each}
            self.calls = [
                *self.calls[: len(self.heard)],
                *(each for each in self.calls[len(self.heard) :] if each.name in offered),
            ]
            if len(self.heard) < len(self.calls):
                call = self.calls[len(self.heard)]
                return Step(uses=[(self.notes.filled(call.name), self.notes.filled(call.arguments))])
        except NotShown as lost:
            self.lost = lost
        return Step(tell_known(self.heard[-1:], self.question, "have") or sentence("nothing", self.question))

    def _hear(self, answer: Json) -> None:
        call = self.calls[len(self.heard)]
        self.problems += [f"{call.name}: {problem}" for problem in judged(call, answer, self.notes)]
        self.notes.pages[-1].answers.append(answer)
        self.heard.append(answer)


def play(conversation: Conversation, agent: Service, model: Converse, shelf: Shelf, session: str) -> Played:
    """It ends early where there is nothing left to refer to. What no model does is left out: to read a resource, to get a
    prompt, to call a tool that is off."""
    notes, played, past = Notebook(shelf), Played(conversation), []
    for number, turn in enumerate(conversation.turns, 1):
        notes.pages.append(Page(turn.says))
        player = Player([each for each in turn.calls if each.how == "tool"], notes, turn.says)
        model.asked.clear()
        model.brain = player.think
        answer = agent.answer(turn.says, session, user=turn.customer)
        played.messages.append(_counted(model.asked, past, answer["answer"]))
        played.problems += [f"turn {number}, {each}" for each in player.problems]
        past = [*past, *_kept(model.asked[-1]["messages"], answer["answer"])]
        if player.lost:
            played.problems.append(f"turn {number}: {player.lost}")
            break
    return played


def _counted(bodies: Sequence[Json], past: list[Json], answer: str) -> Message:
    made = Message(answer=estimate(answer))
    for body in bodies:
        at = _question_at(body["messages"])
        own = _plain(body["messages"][at:])
        made.now.append(_request(body, body["messages"][:at], body["messages"][at:], made.now))
        made.before.append(_request(body, _newest(past, len(own)), own, made.before))
    return made


def _request(body: Json, history: Sequence[Json], own: Sequence[Json], earlier: Sequence[Request]) -> Request:
    return Request(
        _tokens(body["system"]),
        _tokens(body["toolConfig"]),
        _tokens(history) if history else 0,
        _tokens(own[:1]),
        _tokens(own[1:]) if own[1:] else 0,
        earlier[-1].whole if earlier else 0,
    )


def _tokens(value: object) -> int:
    return estimate(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _question_at(messages: Sequence[Json]) -> int:
    """Where the customer spoke last."""
    return max(at for at, each in enumerate(messages) if each["role"] == "user" and "toolResult" not in each["content"][0])


def _plain(messages: Sequence[Json]) -> list[Json]:
    """Without what the server remembered, and without points of the cache."""
    kept = [{**each, "content": [block for block in each["content"] if "cachePoint" not in block]} for each in messages]
    return [{**kept[0], "content": kept[0]["content"][-1:]}, *kept[1:]]


def _kept(messages: Sequence[Json], answer: str) -> list[Json]:
    """A turn as it used to be kept: with all its calls and results."""
    return [*_plain(messages[_question_at(messages) :]), {"role": "assistant", "content": [{"text": answer}]}]


def _newest(past: list[Json], own: int) -> list[Json]:
    first = max(0, len(past) + own - MOST_MESSAGES)
    while first < len(past) and (past[first]["role"] != "user" or "toolResult" in past[first]["content"][0]):
        first += 1
    return past[first:]


@contextmanager
def open_shop(folder: Path, model: Converse, settings: dict[str, str]) -> Iterator[Service]:
    flags = folder / "flags.json"
    flags.write_text(json.dumps(SWITCHED_ON), "utf-8")
    options = {"MANGA_EMBEDDER": "local", "MANGA_FLAGS_URL": flags.as_uri(), **settings}
    with served(folder / "server", folder.parent / "cache", **options) as server:
        wait_for_meaning(server)
        environment = {**model.environment, "AGENT_TURN_CALLS": "20", **settings}
        with service(f"{server.url}/sse", "--bedrock", *PATIENCE, environment=environment) as agent:
            agent.connected()
            yield agent


def play_all(conversations: Sequence[Conversation], folder: Path, settings: dict[str, str]) -> list[Played]:
    shelf = Shelf.of_the_demo()
    folder.mkdir()
    with conversing() as model, open_shop(folder, model, settings) as agent:
        return [play(each, agent, model, shelf, f"cost-{number}") for number, each in enumerate(conversations)]


@dataclass(frozen=True, slots=True)
class Way:
    """One way of asking: which conversations, and which of the requests."""

    name: str
    played: Sequence[Played]
    before: bool = False
    cached: bool = True

    def messages(self) -> list[tuple[list[Request], int]]:
        every = [message for each in self.played for message in each.messages]
        return [(each.before if self.before else each.now, each.answer) for each in every]

    def row(self, prices: Json) -> str:
        counted = self.messages()
        requests = [each for steps, _ in counted for each in steps]
        parts = [sum(getattr(each, part) for each in requests) / len(counted) for part in PARTS]
        answers = sum(answer for _, answer in counted) / len(counted)
        cells = [f"{len(requests) / len(counted):.1f}", *(f"{part:,.0f}" for part in (*parts, answers))]
        for price in prices.values():
            paid = self.paid(price)
            cost = (paid * price["input"] + answers * price["output"]) / 1000
            cells += [f"{paid:,.0f}", f"{cost:.2f}"]
        return f"| {self.name} | {' | '.join(cells)} |"

    def paid(self, price: Json) -> float:
        """Tokens of input for a message, a cached one at what it costs."""
        counted = self.messages()
        least = price["least_cached"] if self.cached else None
        return sum(each.paid(least) for steps, _ in counted for each in steps) / len(counted)


def table(ways: Sequence[Way], prices: Json) -> str:
    """Markdown: tokens for a message of a customer, by part, then what is paid for, and dollars for a thousand messages."""
    heads = ["steps", "rules", "schemas", "history", "question", "results", "answer"]
    heads += [head for name in prices for head in (f"{name}: input paid", f"{name}: $ for 1,000")]
    lines = [f"| way | {' | '.join(heads)} |", f"| --- |{' ---: |' * len(heads)}", *(way.row(prices) for way in ways)]
    return "\n".join(lines)


def of_core(played: Sequence[Played]) -> list[Played]:
    """Those that need no tool but the reference's five."""
    return [each for each in played if {call.name for turn in each.conversation.turns for call in turn.calls} <= set(CORE)]


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _options(arguments)
    prices = tomllib.loads(asked.prices.read_text("utf-8"))
    chosen = [each for each in load_all() if asked.only in each.name]
    with tempfile.TemporaryDirectory() as folder:
        full = play_all(chosen, Path(folder) / "full", {"AGENT_TURN_TOKENS": "100000"})
        short = play_all(chosen, Path(folder) / "short", {"AGENT_TURN_TOKENS": str(asked.tokens)})
        of_five = [each.conversation for each in of_core(full)]
        core = play_all(of_five, Path(folder) / "core", {"AGENT_TURN_TOKENS": str(asked.tokens), **FIVE})
    ways = [
        Way("with earlier results", full, before=True, cached=False),
        Way("with earlier results, cached", full, before=True),
        Way("without earlier results", full, cached=False),
        Way("without earlier results, cached", full),
        Way(f"and at most {asked.tokens} of results a turn", short),
        Way("five tools, with earlier results", of_core(full), before=True, cached=False),
        Way("five tools, all of that", core),
    ]
    print(table(ways, prices))
    for what, played in (("full results", full), ("short results", short), ("five tools", core)):
        passed = [each for each in played if not each.problems]
        wrong = [each.conversation.name for each in played if bool(each.problems) != bool(each.conversation.known)]
        print(f"{what}: {len(passed)} of {len(played)} conversations passed", *wrong, sep="\n  ")
    for name, price in prices.items():
        saved = [1 - ways[now].paid(price) / ways[was].paid(price) for was, now in ((0, 4), (5, 6))]
        print(f"{name}: {saved[0]:.0%} fewer tokens of input paid for a message, with five tools {saved[1]:.0%}")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conversations.cost", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="those with this in their name: file::title")
    parser.add_argument("--tokens", type=int, default=2000, help="of results in a turn, where they are short (%(default)s)")
    parser.add_argument("--prices", type=Path, default=PRICES, help="of models, in dollars for a million tokens")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
