"""What the customer had before is no subject, and is said to be what is asked for."""

from __future__ import annotations

import pytest

from tests.support.reading import a_reader, read
from tools.store.models import Range, Title


@pytest.mark.parametrize(
    "text",
    [
        "something like before",
        "something like last time",
        "the same as what I bought last time",
        "something similar to my last order",
        "the usual",
        "前みたいなの",
        "前回と同じようなやつ",
        "この前買ったやつみたいなの",
        "いつもの",
    ],
)
def test_it_is_heard(text: str) -> None:
    found = read(text)

    assert found.again
    assert found.subject == ""
    assert not found.conditions.stated


def test_conditions_beside_it_are_read() -> None:
    found = read("something like last time but under 5 volumes")

    assert found.again
    assert found.conditions.volumes == Range(None, 4)


@pytest.mark.parametrize(
    "text", ["something like before dawn", "the usual suspects", "名前みたいなの", "romance, nothing before 2000"]
)
def test_other_words_are_left(text: str) -> None:
    assert not read(text).again


def test_a_title_so_called_is_a_title() -> None:
    assert not read("the usual", a_reader((Title("t-1", en="The Usual"),))).again
