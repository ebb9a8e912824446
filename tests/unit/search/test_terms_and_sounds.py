"""Edge cases of terms, sounds and themes."""

from __future__ import annotations

import pytest

from tools.store.search.query.themes import ThemeTable
from tools.store.search.text.romaji import consonants, is_loanword, sound, to_romaji
from tools.store.search.text.tokens import bigrams, grams, stem, words


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        ("landing", "land"), ("running", "run"), ("hidden", "hidden"), ("hugged", "hug"), ("danced", "danc"), ("dance", "danc"),
        ("parties", "party"), ("carried", "carry"), ("glasses", "glass"), ("glass", "glass"), ("virus", "virus"),
        ("crisis", "crisis"), ("boxes", "box"), ("king's", "king"), ("rock'n'roll", "rocknroll"), ("sing", "sing"),
        ("being", "being"), ("does", "doe"), ("cats", "cat"), ("gas", "gas"), ("tree", "tre"), ("toe", "toe"), ("add", "add"),
        ("falling", "fall"), ("egg", "egg"), ("eggs", "egg"), ("stirred", "stir"), ("o", "o"),
    ],
)  # fmt: skip
def test_english_word_is_stemmed(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


def test_japanese_text_becomes_bigrams_and_particle_pairs_are_dropped() -> None:
    assert list(bigrams("海")) == ["海"]
    assert list(bigrams("海と空")) == ["海と", "と空"]
    assert list(bigrams("からの")) == []
    assert words("Of the dragon's 3rd 海") == ["dragon", "3rd", "海"]


def test_key_is_split_into_bigrams_and_trigrams_with_its_ends() -> None:
    assert grams("a") == ["^a", "a$", "^a$"]
    assert grams("abc") == ["^a", "ab", "bc", "c$", "^ab", "abc", "bc$"]
    assert grams("海") == ["海"]
    assert grams("海空山") == ["海", "空", "山", "海空", "空山"]


@pytest.mark.parametrize(
    ("kana", "latin"),
    [
        ("きゃしゅちょ", "kyashucho"), ("じゃぢゅ", "jaju"), ("っか", "kka"), ("あっあ", "aa"), ("らーめん", "ramen"),
        ("ふぁいとてぃー", "faitoti"), ("ゔぁいおりん", "vaiorin"), ("りょくぎょ", "ryokugyo"), ("っ", ""), ("んー", "n"),
        ("漢字かな", "漢字kana"), ("ぴゃびゅみょ", "pyabyumyo"),
    ],
)  # fmt: skip
def test_kana_are_romanised_syllable_by_syllable(kana: str, latin: str) -> None:
    assert to_romaji(kana) == latin


@pytest.mark.parametrize(
    ("text", "sounds"),
    [
        ("Koi wo shita", "koi o shita"), ("Sinzi", "shinji"), ("Tutuji", "tsutsuji"), ("Huji", "fuji"), ("Tyan", "chan"),
        ("Zyo dyo jyo", "jo jo jo"), ("Sensei", "sense"), ("Kenshuu", "kenshu"), ("Oh, Ohara", "o ohara"), ("Tombo", "tonbo"),
        ("Shi_no-Ko", "shi no ko"), ("Itchy", "ichy"), ("Chu Shu", "chu shu"), ("O'Neil", "onel"),
    ],
)  # fmt: skip
def test_romanisations_of_one_sound_are_folded_together(text: str, sounds: str) -> None:
    assert sound(text) == sounds


@pytest.mark.parametrize(
    ("text", "skeleton"),
    [
        ("chess", "chs"), ("cheese", "chs"), ("phantom", "fntm"), ("thunder", "snd"), ("quick rock", "kkrk"), ("city cat", "stkt"),
        ("box", "bks"), ("shark", "sk"), ("level", "rbr"), ("number", "nnb"), ("tsunami", "tnm"), ("ghost", "gst"), ("hero", "hr"),
    ],
)  # fmt: skip
def test_english_word_is_reduced_to_its_consonants(text: str, skeleton: str) -> None:
    assert consonants(text) == skeleton


@pytest.mark.parametrize(
    ("text", "loan"),
    [("モンスター", True), ("アー", False), ("アイス", True), ("アイス 3", True), ("アイスは", False), ("ice", False)],
)
def test_loanword_is_katakana_of_three_letters_or_more(text: str, loan: bool) -> None:
    assert is_loanword(text) is loan


# -- themes

TABLE = ThemeTable(
    {
        "gam": ("Games",),
        "slic of lif": ("Daily",),
        "slic": ("Cut",),
        "げーむ": ("Games",),
        "さむらい": ("Samurai",),
        "虫": ("Insects",),
        "恋愛": ("Love",),
    },
    {"虫": "insect", "恋": "love", "恋愛": "romance"},
)


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("games", [("Games",)]),
        ("slice of life games", [("Daily",), ("Games",)]),
        ("slice of lime", [("Cut",)]),
        ("a slice", [("Cut",)]),
        ("ゲーム", [("Games",)]),
        ("ゲームの", [("Games",)]),
        ("エンドゲーム", []),  # part of another word
        ("ゲームズ", []),
        ("エゲーム", []),
        ("のゲームズ", []),
        ("サムライズ", [("Samurai",)]),  # four letters and more are enough
        ("エサムライ", []),
        ("虫", [("Insects",)]),
        ("虫の恋愛", [("Insects",), ("Love",)]),
        ("手塚治虫", []),
        ("塚虫", []),
        ("虫塚", []),
        ("恋愛虫", [("Love",)]),
        ("の虫は", [("Insects",)]),
    ],
)
def test_theme_is_recognised_as_a_whole_word_only(text: str, tags: list[tuple[str, ...]]) -> None:
    assert [theme.tags for theme in TABLE.themes(text)] == tags


def test_longer_of_two_dictionary_words_at_one_place_counts() -> None:
    assert TABLE.english("恋愛と恋と虫") == (("romanc",), ("lov",), ("insect",))
