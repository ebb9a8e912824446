"""Titles like a given title, by the rule of both catalogues."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.store.search.columns import Columns, Floats
from tools.store.search.taste import like_title, likest, tag_shares
from tools.store.search.text import tokens as prefixes
from tools.store.search.text.tokens import SortedKeys


def floats(*values: float) -> Floats:
    return np.array(values, np.float32)


def test_rare_tag_has_a_larger_share_than_a_common_one() -> None:
    shares = tag_shares(["Action", "Shogi"], {"Action": 500, "Shogi": 5}, 1000)
    assert shares["Shogi"] > 3 * shares["Action"]
    assert sum(shares.values()) == pytest.approx(1.0)


def test_tag_that_no_title_carries_has_no_share() -> None:
    assert tag_shares(["Gone", "Forgotten"], {"Other": 5, "Forgotten": 0}, 1000) == {}


def alike(sharing: list[int], of_genre: list[int], *prior: float) -> Floats:
    """Returns the likeness of three titles, of which those `sharing` share a tag with the title that they are compared with."""
    having = {"tags": {"Shogi": np.array(sharing, np.int32)}, "genre": {"seinen": np.array(of_genre, np.int32)}}
    columns = Columns({}, floats(*prior), np.zeros(3), having, [(), (), ()])
    return like_title(columns, {"Shogi": 0.5}, "seinen", "itself", None, np.ones(3, np.bool_))


def test_popularity_and_genre_alone_give_no_likeness() -> None:
    assert not alike([], [0, 1, 2], 1, 1, 1).any()


def test_genre_and_popularity_order_titles_that_share_equally_many_tags() -> None:
    scores = alike([0, 1, 2], [1], 0, 0, 0.3)
    assert scores[1] > scores[2] > scores[0]


def test_titles_below_half_of_the_best_likeness_are_dropped() -> None:
    assert likest(floats(0.8, 0.41, 0.39), None, np.ones(3, np.bool_)).tolist() == floats(0.8, 0.41, 0).tolist()


def test_vectors_order_titles_with_shared_tags_and_add_no_others() -> None:
    found = likest(floats(0.5, 0.5, 0.0), floats(-0.9, 0.4, 1.0), np.ones(3, np.bool_))
    assert found.tolist() == pytest.approx([0.5, 0.7, 0.0])


def test_empty_catalogue_has_no_like_titles() -> None:
    assert likest(floats(), None, np.ones(0, np.bool_)).shape == (0,)


@given(st.lists(st.text("ab漢", max_size=4), max_size=12), st.text("ab漢", max_size=3))
def test_rows_are_found_by_any_prefix_in_the_order_of_their_keys(keys: list[str], prefix: str) -> None:
    wanted = sorted((key, row) for row, key in enumerate(keys) if key.startswith(prefix))
    assert SortedKeys((key, row) for row, key in enumerate(keys)).beginning_with(prefix) == [row for _, row in wanted]


def test_prefix_search_returns_a_bounded_number_of_rows() -> None:
    assert len(SortedKeys((f"a{n:04}", n) for n in range(prefixes.MOST + 50)).beginning_with("a")) == prefixes.MOST
