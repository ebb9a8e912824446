"""Texts are labelled as their titles are, and confidences mean what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality.genres.bars import missed
from tests.quality.genres.held_out import grouped
from tests.quality.genres.measure import measured
from tests.quality.genres.report import readership_f1, table, tags_f1
from tests.quality.genres.scores import brier, calibration_error, f1
from tests.quality.sets import demo_set
from tools.store.models import Author, Title


async def test_the_demo_catalogues_synopses_are_labelled_well(vectors: Path) -> None:
    judged, baseline = await measured(demo_set().catalog, vectors)
    assert not missed("demo", judged), table("demo", judged, baseline)
    guessed_readership = f1([({baseline.readership}, {each.title.genre or ""}) for each in judged])
    guessed_tags = f1([(baseline.tags, each.right) for each in judged])
    assert readership_f1(judged).macro > 2 * guessed_readership.macro
    assert tags_f1(judged).macro > 4 * guessed_tags.macro


def test_titles_of_one_author_or_one_series_are_held_out_together() -> None:
    one, two = Author("Kuroda, Shuuji"), Author("Hoshino, Mio")
    titles = [
        Title("a", en="Salt", authors=(one,)),
        Title("b", en="Kiln: The Beginning", authors=(one,)),
        Title("c", en="Kiln", authors=(two,)),
        Title("d", en="Tea House", authors=(Author("Ono, Mari"), one)),
    ]
    groups = grouped(titles)
    assert groups.of["a"] == groups.of["b"] == groups.of["c"] != groups.of["d"]
    assert sorted(groups.sizes.values()) == [1, 3]


def test_f1_is_by_label_and_in_all() -> None:
    found = f1([({"a"}, {"a"}), ({"a", "b"}, {"b"}), (set(), {"b"})])
    assert found.macro == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert found.micro == pytest.approx(4 / 6)
    assert f1([({"a": 0.9}, {"a"})]).micro == 1


def test_confidences_that_come_true_as_often_as_they_say_have_no_error() -> None:
    assert calibration_error([(0.75, True)] * 3 + [(0.75, False)]) == pytest.approx(0)
    assert calibration_error([(0.95, False)] * 4) == pytest.approx(0.95)
    assert brier([{"a": 1.0}, {"a": 1.0}], ["a", "b"]) == pytest.approx((0 + 2) / 2)
