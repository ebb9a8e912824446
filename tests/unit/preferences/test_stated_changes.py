"""A change of stated preferences: what is written where, in which order, and how often it is tried."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from session import keys
from session.preferences import Preference, StoredPreferences, encode
from session.redis.keyvalue import Command, Evaluation, Step
from session.resilience.deadline import Deadline
from session.stated_preferences import StatedPreferences
from tests.support.cases import cases

NOW = datetime(2026, 11, 23, 9, 30, tzinfo=UTC)
OLD, NEW = Preference("no gore", "2026-11-01"), Preference("no ghosts", "2026-11-23")
OVER = Preference("no romance", "2025-11-22")
SOON = Deadline.after(60)


class Contested:
    """A store where somebody else's change wins so many times, and a Redis that answers as told."""

    def __init__(self, lost: int = 0, answers: Sequence[bool] = (True, True), *kept: Preference) -> None:
        self._lost, self._answers = lost, list(answers)
        self._kept = StoredPreferences(kept, "r1" if kept else None)
        self.done: list[Any] = []

    async def stated(self, user: str, deadline: Deadline) -> StoredPreferences:
        self.done.append("read")
        return self._kept

    async def keep(self, user: str, kept: StoredPreferences, in_place_of: str | None, deadline: Deadline) -> bool:
        self.done.append((kept.preferences, kept.revision is not None, in_place_of))
        self._lost -= 1
        return self._lost < 0

    async def end(self, steps: Sequence[Step]) -> bool:
        (step,) = steps
        self.done.append(step)
        return self._answers.pop(0)


def changing(own: Contested) -> StatedPreferences:
    return StatedPreferences(own, own, lambda: NOW)  # type: ignore[arg-type]


async def to_new(before: tuple[Preference, ...]) -> tuple[Preference, ...]:
    return (*before, NEW)


async def to_none(before: tuple[Preference, ...]) -> tuple[Preference, ...]:
    return ()


@cases(("taken", "applies"), [((True, True), True), ((True, False), True), ((False, True), True), ((False, False), False)])
async def test_change_is_announced_stored_and_copied(taken: Sequence[bool], applies: bool) -> None:
    """It applies at once if Redis took the announcement, which replaces the old copy, or the new copy."""
    own = Contested(0, taken, OVER, OLD)
    changed = await changing(own).change("u", to_new, SOON)
    assert changed is not None
    assert (changed.before, changed.after, changed.no_stale_copy) == ((OLD,), (OLD, NEW), applies)
    announced, *stored, copied = own.done
    assert isinstance(announced, Command)
    assert isinstance(copied, Evaluation)
    mark = announced[2]
    assert announced == Command(("SET", keys.preferences("u"), mark, "EX", 15))
    assert stored == ["read", ((OLD, NEW), True, "r1")]
    assert (copied.keys, copied.arguments) == ((keys.preferences("u"),), (mark, encode((OLD, NEW)), 1800, 15))
    copy = changing(own).copy("u", ())
    assert isinstance(copy, Evaluation)
    assert (copy.keys, copy.arguments) == ((keys.preferences("u"),), (b"[]", 1800))
    assert await changing(own).read("u", SOON) == (OLD,)


@cases(("lost", "reads", "changes"), [(0, 1, True), (2, 3, True), (3, 3, False)])
async def test_change_is_tried_three_times_while_others_win(lost: int, reads: int, changes: bool) -> None:
    own = Contested(lost)
    assert (await changing(own).change("u", to_new, SOON) is not None) is changes
    assert own.done.count("read") == reads
    assert isinstance(own.done[-1], Evaluation) is changes


async def test_what_changes_nothing_is_not_stored_and_no_preferences_have_no_revision() -> None:
    own = Contested()
    assert await changing(own).change("u", to_none, SOON) is not None
    assert [type(each) for each in own.done] == [Command, str, Evaluation]
    own = Contested(0, (True, True), OLD)
    assert await changing(own).change("u", to_none, SOON) is not None
    assert own.done[2] == ((), False, "r1")
