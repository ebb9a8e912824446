"""What of a result are the asker's own words, kept in the cache as places in what was asked and never as words.

A cached result is shared by all who ask the same, and outlives sessions: so nothing that somebody typed stands in it.
Whoever finds it has asked in the same words, and gets them back from these.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

from server.call import Call
from session import keys
from session.begin import digest
from tools.conditions.remembered import LONGEST_QUOTE
from tools.contract import Json
from tools.store.search.text.characters import normalise


def cache_key(call: Call) -> str | None:
    """Names a result, the same for everybody unless the tool's results depend on the user. None where nothing is cached."""
    policy = call.tool.tool.cache
    if policy is None:
        return None
    owner = keys.user_hash(call.customer) if policy.per_user else ""
    return keys.cached_result(call.name, call.tool.form, digest(call.arguments, owner, *obeyed(call)))


def flight_key(call: Call) -> str:
    """Names equal calls whose answers are equal. Whoever's session or orders could change the answer flies alone or
    apart, and so do two versions of a tool, and what depends on what the client says meanwhile."""
    tool, begun = call.tool.tool, call.begun
    shared = tool.cache is not None and not tool.cache.per_user
    owner = "" if shared else json.dumps([call.customer, call.session])
    refers: tuple[object, ...] = (call.call_id,) if tool.asks else ()
    if begun and not shared:
        last = (begun.last.by, begun.last.query, begun.last_ids) if begun.last else ()
        refers += (last, begun.result_set or (), dict(begun.shared))
    return digest(call.name, call.tool.form, call.arguments, owner, refers, *obeyed(call))


def obeyed(call: Call) -> tuple[str, ...]:
    """What is remembered of its customer is a part of what was asked, where there is any."""
    return (call.obeys,) if call.obeys else ()


SHORTEST = 2
"""Characters that count as words of somebody's."""
PIECES = "pieces"


def words(call: Call) -> tuple[str, ...]:
    """What was not said in this call and stands in its answer, word for word: what is remembered of the customer, as far as
    it is told."""
    return tuple(each.text[:LONGEST_QUOTE] for each in call.preferences)


def sealed(result: Json, names: tuple[str, ...], asked: Json, words: Sequence[str] = ()) -> Json:
    """The result, with the texts under these names as pieces: a text of ours, or where theirs begins and ends, in what was
    asked or in `words`."""
    there = [name for name in names if name in result]
    if not there:
        return result
    said = _said(asked, words)
    pairs = {said[i : i + SHORTEST] for i in range(len(said) - 1)}
    return result | {name: _each(result[name], lambda text: {PIECES: list(_pieces(text, said, pairs))}) for name in there}


def opened(result: Json, names: tuple[str, ...], asked: Json, words: Sequence[str] = ()) -> Json | None:
    """The result as it was; None where it is none of ours."""
    there = [name for name in names if name in result]
    if not there:
        return result
    try:
        return result | {name: _joined(result[name], _said(asked, words)) for name in there}
    except (TypeError, ValueError, KeyError):
        return None


def _said(asked: Json, words: Sequence[str]) -> str:
    """All texts among the arguments, as words are read from them, and the words as they are."""
    return "\n".join([*(normalise(text) for text in _texts(asked)), *words])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from _texts(each)


def _each(value: Any, sealing: Callable[[str], Any]) -> Any:
    if isinstance(value, str):
        return sealing(value)
    if isinstance(value, list):
        return [_each(item, sealing) for item in value]
    return {name: _each(item, sealing) for name, item in value.items()} if isinstance(value, dict) else value


def _pieces(text: str, said: str, pairs: Container[str]) -> Iterator[str | list[int]]:
    """The longest run that was said, at each place. `pairs` of what was said tell quickly where none begins."""
    at = plain = 0
    while at < len(text):
        size = _run(text, at, said) if text[at : at + SHORTEST] in pairs else 0
        if size < SHORTEST:
            at += 1
            continue
        if plain < at:
            yield text[plain:at]
        start = said.find(text[at : at + size])
        yield [start, start + size]
        at = plain = at + size
    if plain < len(text):
        yield text[plain:]


def _run(text: str, at: int, said: str) -> int:
    """How many characters from here on stand together in what was said, by doubling and halving."""
    size, step = 0, 1
    while at + size + step <= len(text) and text[at : at + size + step] in said:
        size, step = size + step, 2 * step
    while step > 1:
        step //= 2
        if at + size + step <= len(text) and text[at : at + size + step] in said:
            size += step
    return size


def _joined(value: Any, said: str) -> Any:
    if isinstance(value, list):
        return [_joined(item, said) for item in value]
    if isinstance(value, dict) and set(value) == {PIECES}:
        return "".join(piece if isinstance(piece, str) else said[slice(*piece)] for piece in value[PIECES])
    if isinstance(value, dict):
        return {name: _joined(item, said) for name, item in value.items()}
    if isinstance(value, str):
        raise ValueError("a text that was not sealed")
    return value
