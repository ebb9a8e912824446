"""The probes are what they say, on any catalogue."""

from __future__ import annotations

from tests.quality.probes.authors import author_probes
from tests.quality.probes.folds import is_locked, sample
from tests.quality.probes.names import name_probes
from tests.quality.probes.records import is_hidden, read, without_hidden
from tests.quality.probes.themes import plot_probes
from tests.quality.sets import demo_set
from tools.store.search.text.characters import has_cjk

RECORDS = read(demo_set().catalog)
PROBES = [*author_probes(RECORDS), *name_probes(RECORDS), *plot_probes(RECORDS)]


def test_every_probe_has_an_answer_in_the_catalogue_and_a_fold() -> None:
    known = {record["title_id"] for record in RECORDS}
    assert PROBES
    assert all(probe.grades and set(probe.grades) <= known for probe in PROBES)
    assert {probe.qid.split("-")[0] for probe in PROBES} == {"open", "locked"}


def test_the_same_probes_are_made_each_time() -> None:
    assert [*author_probes(RECORDS)] == [*author_probes(RECORDS)]
    assert sample(["b", "a", "c"], 2) == sample(["c", "b", "a"], 2)


def test_about_a_third_is_locked() -> None:
    assert 250 < sum(is_locked(str(i)) for i in range(900)) < 350


def test_a_hidden_name_is_in_no_other_field() -> None:
    hidden = [record for record in RECORDS if is_hidden(record["title"]["romaji"])]
    assert hidden
    for record in map(without_hidden, hidden):
        names = [record["title"]["ja"], record["title"]["kana"], *record.get("alt_titles", ())]
        assert not any(has_cjk(name) for name in names if name)
