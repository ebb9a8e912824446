"""Conversation files: an error is reported with the file, the conversation and the allowed form."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.conversations.script import load, load_all
from tests.conversations.shelf import Shelf
from tests.conversations.vocabulary import Slip, Vocabulary
from tests.support.cases import cases

WORDS = Vocabulary(Shelf.of_the_demo())
GOOD = """
topic = "moods"
[[conversation]]
title = "A quiet evening"
language = "en"
[[conversation.turn]]
says = "something quiet"
must = ["at least 1 result"]
[[conversation.turn]]
says = "the second one, please"
tool = "get_manga_details"
with = { title_id = "{second}" }
must = ["synopsis is known"]
[[conversation.turn.then]]
tool = "check_inventory"
must = ["exactly 5 items"]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "moods.toml"
    path.write_text(text, "utf-8")
    return path


def test_customer_words_are_the_query_of_a_call_without_arguments(tmp_path: Path) -> None:
    (found,) = load(written(tmp_path, GOOD), WORDS)
    first, second = found.turns
    assert (first.calls[0].name, first.calls[0].arguments) == ("search_manga_catalog", {"query": "{words}"})
    assert [call.name for call in second.calls] == ["get_manga_details", "check_inventory"]
    assert second.calls[1].arguments == {}


@cases(
    ("wrong", "right", "says"),
    [
        ("must = [", "musst = [", r"turn 1 has no 'musst'; did you mean 'must'"),
        ('says = "something quiet"', 'say = "something quiet"', "turn 1 has no 'say'; did you mean 'says'"),
        ('title = "A quiet evening"', 'titel = "A quiet evening"', "a conversation has no 'titel'; did you mean 'title'"),
        ('language = "en"', 'language = "english"', "it is one of en, ja, mixed"),
        ('tool = "get_manga_details"', 'tool = "get_details"', "no tool 'get_details'; did you mean 'get_manga_details'"),
        ("{second}", "{secnd}", "nothing is meant by {secnd}; did you mean 'second'"),
        ("{second}", "{second of turn 2}", "refer to an earlier turn"),
        ('must = ["at least 1 result"]', "", "turn 1 expects nothing"),
        ('must = ["at least 1 result"]', 'must = "at least 1 result"', "must of turn 1 has to be a list"),
        ("at least 1 result", "at least 1 resutl", "did you mean 'result'"),
        ("{second}", "{id of Monsterr}", "did you mean"),
    ],
)
def test_mistake_in_a_script_is_told_with_its_file_and_conversation(
    tmp_path: Path, wrong: str, right: str, says: str
) -> None:
    assert wrong in GOOD
    with pytest.raises(Slip, match=says) as slip:
        list(load(written(tmp_path, GOOD.replace(wrong, right)), WORDS))
    assert f"{tmp_path.name}/moods.toml" in str(slip.value)
    assert "quiet evening" in str(slip.value) or "without a title" in str(slip.value)


def test_the_set_of_conversations_is_large_bilingual_and_a_third_locked() -> None:
    """Few of the conversations are known to fail."""
    there = load_all()
    assert len(there) >= 60
    assert not [name for name, count in Counter(each.name for each in there).items() if count > 1]
    assert sum(each.locked for each in there) >= len(there) / 3
    assert sum(each.known is not None for each in there) <= 5
    languages = Counter(each.language for each in there)
    assert min(languages["en"], languages["ja"]) >= 0.4 * len(there)
    assert all(len(each.turns) <= 5 for each in there)
    assert all(each.locked == each.file.startswith("locked/") for each in there)
