"""A cached result holds no word that was typed; the same arguments put the words back."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from server.stages.cache import seal, unseal
from tests.support.cases import cases

NAMES = ("understood", "relaxed")
ASKED = {"query": "Something for Mizuki, who is Eight", "author": "c67j3stq972n", "without": ["x9k2lp4m8w"], "count": 3}
RESULT = {
    "results": [{"title": "Berserk"}],
    "understood": [
        {"condition": "fit for all ages", "from": "for mizuki, who is eight"},
        {"condition": "by c67j3stq972n", "from": "author"},
        {"condition": "without x9k2lp4m8w (not obeyed)", "from": "without"},
    ],
    "relaxed": ["at most 9 volumes"],
}


def test_sealed_result_contains_no_word_that_was_typed() -> None:
    kept = json.dumps(seal(RESULT, NAMES, ASKED), ensure_ascii=False)
    assert not [word for word in ("mizuki", "c67j3stq972n", "x9k2lp4m8w") if word in kept]
    assert "Berserk" in kept


def test_sealed_result_is_unsealed_by_the_same_arguments() -> None:
    assert unseal(seal(RESULT, NAMES, ASKED), NAMES, ASKED) == RESULT


LETTERS = "".join(map(chr, range(0x4E00, 0x4E00 + 40)))


@cases("size", range(1, 41))
def test_longest_run_of_typed_words_is_sealed_whole(size: int) -> None:
    """A single letter is no word of anybody's."""
    for start in {0, 40 - size}:
        run = LETTERS[start : start + size]
        kept = [[start, start + size]] if size > 1 else [run]
        whole = ["x", *kept, "y"] if size > 1 else [f"x{run}y"]
        for text, pieces in ((run, kept), (f"x{run}y", whole)):
            assert seal({"relaxed": text}, NAMES, {"query": LETTERS}) == {"relaxed": {"pieces": pieces}}
    assert seal({"relaxed": LETTERS[:9] + LETTERS[:9]}, NAMES, {"query": LETTERS})["relaxed"] == {"pieces": [[0, 9], [0, 9]]}


def test_result_that_was_never_sealed_is_not_unsealed() -> None:
    assert unseal(RESULT, NAMES, ASKED) is None
    assert unseal({"understood": [{"pieces": [[1, 2, 3, 4]]}]}, NAMES, ASKED) is None
    assert unseal({"results": []}, NAMES, ASKED) == {"results": []}


@given(st.text(max_size=60), st.text(max_size=60), st.lists(st.text(max_size=20), max_size=3))
@example("no gore", "without Gore, no gore", [])
def test_seal_and_unseal_give_back_any_text(query: str, told: str, without: list[str]) -> None:
    asked, result = {"query": query, "without": without}, {"understood": [{"condition": told, "from": query}]}
    assert unseal(seal(result, NAMES, asked), NAMES, asked) == result
