"""Words of themes that are titles' names as well: both go, and of an exception by several words the title."""

from __future__ import annotations

import pytest

from tests.support.reading import a_reader, read
from tools.store.models import Title

TITLES = (
    Title("t-1", en="Monster", ja="モンスター", tags=("Mystery",)),
    Title("t-2", en="Food Wars!: Shokugeki no Soma", tags=("Comedy",)),
    Title("t-3", en="Romance Sports", tags=("Horror",)),
)


@pytest.mark.parametrize(
    "text",
    [
        "anything by naoki urasawa except Monster",
        "other than Monster by Naoki Urasawa",
        "浦沢直樹 モンスター以外",
        "no monster",
    ],
)
def test_what_is_called_by_the_word_is_not_wanted_either(text: str) -> None:
    assert read(text, a_reader(TITLES)).conditions.without_titles == ("t-1",)


def test_an_exception_by_two_themes_is_the_title_that_they_name() -> None:
    conditions = read("cooking manga besides Food Wars", a_reader(TITLES)).conditions
    assert (conditions.without_titles, conditions.without_tags) == (("t-2",), ())


def test_themes_that_are_not_excepted_stay_themes() -> None:
    conditions = read("no romance, no romance sports", a_reader(TITLES)).conditions
    assert "Romance" in conditions.without_tags


def test_two_themes_that_name_nothing_are_excepted_as_themes() -> None:
    conditions = read("sports, besides mystery romance", a_reader(TITLES)).conditions
    assert {"Mystery", "Romance"} <= set(conditions.without_tags)
