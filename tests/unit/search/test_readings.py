"""Readings of names in Japanese script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.store.models import Author
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking.names import AskedAuthor
from tools.store.search.text.readings import Dictionary, readings
from tools.store.search.text.romaji import sound_key
from tools.store.search.titles.document import AuthorKeys, is_author

PARSER = QueryParser()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("山田花子", "Yamada Hanako"),
        ("佐々木一郎", "Sasaki Ichirou"),
        ("鈴木さくら", "Suzuki Sakura"),
        ("春の海", "Haru no Umi"),
    ],
)
def test_kanji_name_has_its_common_reading_among_the_first_twelve(written: str, read: str) -> None:
    assert sound_key(read) in readings(written)[:12]


def test_kana_name_is_read_with_one_typo_corrected() -> None:
    assert sound_key("Yamada Hanako") in readings("やまだはなこ"[:4] + "こな")
    assert sound_key("Yamada Hanako") in readings("ヤマタハナコ")


@pytest.mark.parametrize("text", ["", "Yamada Hanako", "한국", "かな", "山" * 25])
def test_text_that_is_no_japanese_name_has_no_readings(text: str) -> None:
    assert readings(text) == ()


@given(st.text(alphabet=st.sampled_from("山田生上下一々のハ日本人。 x"), max_size=500))
def test_readings_of_a_name_are_at_most_64(text: str) -> None:
    assert len(readings(text)) <= 64


def test_author_matching_the_likeliest_reading_has_the_highest_sureness() -> None:
    asked = AskedAuthor(PARSER.parse("山田花子の漫画"))
    sure = [
        asked.sureness(AuthorKeys.from_author(Author(name))) for name in ("Yamada, Hanako", "Santa, Hanako", "Tanaka, Jirou")
    ]
    assert sure[0] > 0.9
    assert sure[0] >= sure[1]
    assert sure[2] == 0.0


def test_author_asked_for_by_family_name_in_kanji_is_found_by_its_reading() -> None:
    family = AuthorKeys.from_author(Author("Yamada, Hanako"))
    assert AskedAuthor(PARSER.parse("山田先生の漫画")).sureness(family) > 0.8
    assert AskedAuthor(PARSER.parse("山田")).sureness(family) == 0.0


def test_author_name_that_contains_particles_is_recognised() -> None:
    assert PARSER.parse("ののがはらのんが描いた漫画").author == "ののがはらのん"


def test_author_whose_recorded_reading_contradicts_the_name_is_another_one() -> None:
    assert is_author("山田花子", Author("Yamada, Hanako", "山田花子", "ヤマダハナコ"))
    assert is_author("山田花子", Author("Yamada, Hanako", "山田花子"))
    assert not is_author("山田花子", Author("Tanaka, Jirou", "山田花子", "ヤマダハナコ"))
    assert is_author("スミス", Author("Smith", "スミス", "スミス"))


def test_dictionary_translates_nouns_and_verb_stems_and_no_unknown_word() -> None:
    dictionary = Dictionary.load()
    assert "hat" in dictionary.english("帽子")
    assert "kill" in dictionary.english("殺")
    assert dictionary.english("ぬぬぬ") == ()
    assert dictionary.readings("ぬぬぬ") == ()


def test_dictionary_word_with_several_translations_is_one_group() -> None:
    groups = PARSER.parse("帽子").translated
    assert len(groups) == 1
    assert {"hat", "cap"} <= set(groups[0])
