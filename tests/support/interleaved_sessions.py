"""What several people read back of their conversations at the same moment, and hear of them."""

from __future__ import annotations

import re
from dataclasses import replace

from tests.support.canaries import Person
from tests.support.crowd import PREFIX, Crowd, Got, demand
from tests.support.raw import message

HISTORY = "manga://session/history"
ADDRESS = re.compile(r"manga://session/results/[0-9a-f]{32}")
WHOLE = "the whole of a shortened result"


def stated(person: Person, session: str) -> dict[str, str]:
    return {PREFIX + "sessionId": session} | ({PREFIX + "userId": person.user} if person.user else {})


def session_of(crowd: Crowd, person: Person) -> str:
    """The one that all share, or their own; of two anonymous callers in one session nobody can tell who is who."""
    return crowd.draw.choice([crowd.session, person.session]) if person.user else person.session


async def listen_to_silence(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    """On a stream of one's own to a session in which nobody ever calls: to hear of it is to hear of another's."""
    await _subscribe(crowd, person, crowd.own[crowd.people.index(person)], f"silent-{person.session}")


async def _listen(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    """On the stream that all share, which is told of each, to the sessions in which everybody calls."""
    await _subscribe(crowd, person, crowd.shared, session_of(crowd, person))


async def _subscribe(crowd: Crowd, person: Person, stream: object, session: str) -> None:
    number = f"listen-{next(crowd._number)}"
    body = message("resources/subscribe", {"uri": HISTORY, "_meta": stated(person, session)}, number)
    posted = await stream.post(body)  # type: ignore[attr-defined]
    assert posted.status == 202, posted
    says = await stream.answer_to(number)  # type: ignore[attr-defined]
    crowd.got.append(Got(person, "resources/subscribe", stream.raw[number], says))  # type: ignore[attr-defined]


async def _history(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    session = session_of(crowd, person)
    got = await crowd.request(person, "resources/read", {"uri": HISTORY}, stated(person, session))
    demand("result" in got.answer, f"no history: {got.answer}")


async def _read_back(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    """By the agent's own request, all of it and what bears on something."""
    session = session_of(crowd, person)
    query = crowd.draw.choice(["", "?query=sea+story&calls=3"])
    got = await crowd.by_hand(person, f"/sessions/{session}{query}")
    demand("calls" in got.answer or got.answer.get("error", {}).get("name") == "DEPENDENCY_FAILURE", f"{got.answer}")


async def _reminded(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    words = {"query": person.secret, "max_results": 1}
    await crowd.call(person, "search_manga_catalog", words, sessionId=session_of(crowd, person), turnId=turn, history="20")


async def _whole_result(crowd: Crowd, person: Person, turn: str, key: str) -> None:
    """Of a search that was shortened: one's own is read, and another's is as if it were not there."""
    words, session = {"query": "sea story", "max_results": 20}, session_of(crowd, person)
    got = await crowd.call(person, "search_manga_catalog", words, sessionId=session, turnId=turn, tokenBudget="700")
    if found := ADDRESS.search(str((got.success or {}).get("note"))):
        crowd.kept[found[0]] = person
        own = await crowd.request(person, "resources/read", {"uri": found[0]}, stated(person, session))
        crowd.got.append(replace(own, asked=WHOLE))
    others = sorted(uri for uri, whose in crowd.kept.items() if whose is not person)
    for uri in crowd.draw.sample(others, min(3, len(others))):
        other = await crowd.request(person, "resources/read", {"uri": uri}, stated(person, crowd.session))
        demand("result" not in other.answer, f"another's whole result: {uri}")


ROUNDS_OF_SESSIONS = [_listen, _history, _history, _read_back, _reminded, _whole_result, _whole_result]
