"""Words beside a compared title become conditions."""

from __future__ import annotations

from tests.support.cases import cases
from tools.conditions.wanted import conditions_beside

KNOWN = ("Romance", "Comedy", "School", "Gore", "Horror")


@cases(
    ("text", "groups", "without"),
    [
        ("romantic", (("Romance",),), ()),
        ("set at school", (("School",),), ()),
        ("romantic comedy at school", (("Romance",), ("Comedy",), ("School",)), ()),
        ("happy", (("Comedy",),), ("Gore", "Horror")),
        ("明るいやつ", (("Comedy",),), ("Gore", "Horror")),
        ("happy horror", (("Horror",), ("Comedy",)), ("Gore",)),
        ("more modern art", (), ()),
        ("with vampires", (), ()),
        ("", (), ()),
    ],
)
def test_themes_and_moods_beside_a_compared_title_become_tag_conditions(
    text: str, groups: tuple[tuple[str, ...], ...], without: tuple[str, ...]
) -> None:
    beside = conditions_beside(text, KNOWN)

    assert sorted(beside.tags) == sorted(groups)
    assert beside.without_tags == without
