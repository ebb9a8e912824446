"""Characters, sounds and terms: which spellings share a key, and which must not."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.store.search.text.characters import has_cjk, is_kana, normalise, to_hiragana
from tools.store.search.text.romaji import consonants, is_loanword, sound, sound_key, to_romaji
from tools.store.search.text.tokens import grams, stem, words


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("しんげきのきょじん", "Shingeki no Kyojin"),
        ("シンゲキノキョジン", "SHINGEKI NO KYOZIN"),
        ("Kentarō", "Kentarou"),
        ("Ōtomo", "Otomo"),
        ("Satoh", "さとう"),
        ("ﾊﾞｶﾞﾎﾞﾝﾄﾞ", "バガボンド"),
        ("Koi wo Suru", "こいをする"),
        ("Shimbun", "しんぶん"),
        ("Matchi", "まっち"),
        ("Zyuzyutu", "じゅじゅつ"),
        ("Syounen", "しょうねん"),
        ("Yuu☆Yuu☆Hakusho", "ゆうゆうはくしょ"),
        ("Shin'ichi", "しんいち"),
        ("Café", "cafe"),
    ],
)
def test_spellings_of_one_name_share_a_key(left: str, right: str) -> None:
    assert sound_key(left) == sound_key(right)


@pytest.mark.parametrize(("left", "right"), [("がく", "かく"), ("はな", "ばな"), ("Naruto", "Boruto"), ("進撃", "新撃")])
def test_different_names_keep_different_keys(left: str, right: str) -> None:
    assert sound_key(left) != sound_key(right)


def test_kanji_stay_in_a_sound_key_and_kana_between_them_are_romanised() -> None:
    assert sound_key("鋼の錬金術師") == "鋼no錬金術師"


def test_kana_is_read_as_hepburn() -> None:
    assert to_romaji("ちゃっかり ファン") == "chakkari fan"


def test_half_width_and_accents_and_case_are_normalised() -> None:
    assert normalise("  ＡＢＣ　Ｄé’s ") == "abc de's"
    assert normalise("ガ") == "ガ"


def test_katakana_becomes_hiragana_and_nothing_else_changes() -> None:
    assert to_hiragana("ナルト―疾風伝") == "なると―疾風伝"


@given(st.text(st.sampled_from("aé’かが\u3099\u0301ΐ가\u11a8\u0345 –ﾊﾞ")))
def test_normalised_text_is_composed(text: str) -> None:
    assert unicodedata.is_normalized("NFC", normalise(text))


@given(st.text(max_size=60))
def test_normalise_and_sound_handle_any_text_and_are_stable(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
    assert sound(text) == sound(text.strip())
    assert " " not in sound_key(text)


@given(st.text(alphabet=st.characters(min_codepoint=0x3041, max_codepoint=0x3096), max_size=20))
def test_hiragana_and_katakana_sound_the_same(kana: str) -> None:
    katakana = "".join(chr(ord(c) + 0x60) for c in kana)
    assert sound_key(kana) == sound_key(katakana)


def test_prose_terms_leave_out_stopwords_and_inflection() -> None:
    assert stem("dancing") == stem("dances") == stem("dance")
    assert stem("parties") == stem("party")
    assert "the" not in words("the dragon")


def test_japanese_prose_becomes_bigrams_without_bare_grammar() -> None:
    assert words("巨人と戦う") == ["巨人", "人と", "と戦", "戦う"]
    assert words("している") == []


def test_grams_mark_the_ends_of_a_latin_key_and_split_kanji() -> None:
    assert grams("ab") == ["^a", "ab", "b$", "^ab", "ab$"]
    assert grams("宝石") == ["宝", "石", "宝石"]


@pytest.mark.parametrize(
    ("katakana", "latin"),
    [
        ("モンスター", "Monster"),
        ("スラムダンク", "Slam Dunk"),
        ("バガボンド", "Vagabond"),
        ("キングダムハーツ", "Kingdom Hearts"),
    ],
)
def test_katakana_and_its_foreign_spelling_have_the_same_consonants(katakana: str, latin: str) -> None:
    assert is_loanword(katakana)
    assert consonants(katakana) == consonants(latin)


def test_kana_kanji_latin_and_loanwords_are_told_apart() -> None:
    assert has_cjk("ナルト")
    assert not has_cjk("Naruto")
    assert is_kana("ゆるキャン!")
    assert not is_kana("NARUTOナルト")
    assert not is_loanword("ゆるキャン")
