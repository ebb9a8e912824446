"""Names in Japanese script as they may be meant."""

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

PARSER = QueryParser.load()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("山田花子", "Yamada Hanako"),
        ("佐々木一郎", "Sasaki Ichirou"),
        ("鈴木さくら", "Suzuki Sakura"),
        ("春の海", "Haru no Umi"),
    ],
)
def test_kanji_are_read_as_names_are(written: str, read: str) -> None:
    assert sound_key(read) in readings(written)[:12]


def test_kana_are_read_with_one_slip_undone() -> None:
    assert sound_key("Yamada Hanako") in readings("やまだはなこ"[:4] + "こな")
    assert sound_key("Yamada Hanako") in readings("ヤマタハナコ")


@pytest.mark.parametrize("text", ["", "Yamada Hanako", "한국", "かな", "山" * 25])
def test_what_is_no_name_in_japanese_script_has_no_readings(text: str) -> None:
    assert readings(text) == ()


@given(st.text(alphabet=st.sampled_from("山田生上下一々のハ日本人。 x"), max_size=500))
def test_readings_are_few_however_many_there_could_be(text: str) -> None:
    assert len(readings(text)) <= 64


def test_the_likeliest_reading_is_the_surest_author() -> None:
    asked = AskedAuthor(PARSER.parse("山田花子の漫画"))
    sure = [
        asked.sureness(AuthorKeys.from_author(Author(name))) for name in ("Yamada, Hanako", "Santa, Hanako", "Tanaka, Jirou")
    ]
    assert sure[0] > 0.9
    assert sure[0] >= sure[1]
    assert sure[2] == 0.0


def test_an_author_asked_for_by_family_name_alone_is_found_by_its_reading() -> None:
    family = AuthorKeys.from_author(Author("Yamada, Hanako"))
    assert AskedAuthor(PARSER.parse("山田先生の漫画")).sureness(family) > 0.8
    assert AskedAuthor(PARSER.parse("山田")).sureness(family) == 0.0


def test_a_name_with_particles_in_it_is_still_an_authors() -> None:
    assert PARSER.parse("ののがはらのんが描いた漫画").author == "ののがはらのん"


def test_a_name_that_its_own_reading_contradicts_is_somebody_elses() -> None:
    assert is_author("山田花子", Author("Yamada, Hanako", "山田花子", "ヤマダハナコ"))
    assert is_author("山田花子", Author("Yamada, Hanako", "山田花子"))
    assert not is_author("山田花子", Author("Tanaka, Jirou", "山田花子", "ヤマダハナコ"))
    assert is_author("スミス", Author("Smith", "スミス", "スミス"))


def test_words_are_known_in_english_and_verbs_without_their_ending() -> None:
    dictionary = Dictionary.load()
    assert "hat" in dictionary.english("帽子")
    assert "kill" in dictionary.english("殺")
    assert dictionary.english("ぬぬぬ") == ()
    assert dictionary.readings("ぬぬぬ") == ()


def test_a_word_in_the_dictionary_is_one_word_however_many_it_is_in_english() -> None:
    groups = PARSER.parse("帽子").translated
    assert len(groups) == 1
    assert {"hat", "cap"} <= set(groups[0])
