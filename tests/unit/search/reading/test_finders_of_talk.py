"""What holds of every finder, whatever it is given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.store.search.reading.claim import Find
from tools.store.search.reading.comparison import Comparison
from tools.store.search.reading.readership import find_readership
from tools.store.search.reading.recipients.recipient import find_recipient
from tools.store.search.reading.unwanted.unwanted import Unwanted
from tools.store.search.reading.vocabulary import Vocabulary
from tools.store.search.text.characters import normalise

_FINDERS: list[Find] = [Unwanted(Vocabulary.shipped()), Comparison(Vocabulary.shipped()), find_recipient, find_readership]
_PIECES = (
    *(
        "no ",
        "not ",
        "without ",
        "nothing ",
        "except ",
        "less ",
        "romance",
        "gore",
        "horror, ",
        "or ",
        "and ",
        "but ",
        "something ",
    ),
    *(
        "like ",
        "i've read ",
        "for my ",
        "8 year old ",
        "niece ",
        "who ",
        "about ",
        "too ",
        "don't like ",
        "shonen ",
        "x",
        " ",
    ),
    *(
        "恋愛",
        "グロ",
        "は",
        "も",
        "や",
        "なし",
        "以外",
        "ない",
        "じゃない",
        "苦手",
        "の",
        "で",
        "、",
        "8歳の",
        "姪に",
        "小学生",
    ),
    *("みたいな", "読んだ", "少年漫画", "ワ"),
)
_TALK = st.lists(st.sampled_from(_PIECES), max_size=80).map("".join)


@pytest.mark.parametrize("find", _FINDERS)
@given(text=st.one_of(st.text(max_size=500), _TALK))
def test_claims_lie_within_the_text_and_are_the_same_each_time(find: Find, text: str) -> None:
    whole = normalise(text)
    spans = [(claim.start, claim.end) for claim in find(whole)]
    assert all(0 <= start < end <= len(whole) for start, end in spans)
    assert list(find(whole)) == list(find(whole))


@given(text=_TALK)
def test_exclusions_do_not_overlap(text: str) -> None:
    spans = [(claim.start, claim.end) for claim in _FINDERS[0](normalise(text))]
    assert all(one[1] <= next_[0] for one, next_ in zip(spans, spans[1:], strict=False))
