"""What a query asks for is parsed from its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.store.search.query.parser import MOST_NAMES, AliasTable, QueryParser
from tools.store.search.query.themes import ThemeTable
from tools.store.search.text.romaji import sound_key

PARSER = QueryParser()


@pytest.mark.parametrize(
    ("query", "author"),
    [
        ("manga by Naoki Urasawa", "naoki urasawa"),
        ("something written by Ai Yazawa", "ai yazawa"),
        ("Junji Ito's manga", "junji ito"),
        ("浦沢直樹の漫画", "浦沢直樹"),
        ("井上雄彦先生の作品", "井上雄彦"),
        ("作者:高橋留美子", "高橋留美子"),
        ("author: CLAMP", "clamp"),
    ],
)
def test_author_is_read_from_the_wording_of_a_query(query: str, author: str) -> None:
    assert PARSER.parse(query).author == author


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("other manga by the author of Pluto", "pluto"),
        ("manga by the creator of Vagabond", "vagabond"),
        ("寄生獣の作者の別の漫画", "寄生獣"),
    ],
)
def test_same_author_query_points_to_an_author_through_a_title(query: str, title: str) -> None:
    parsed = PARSER.parse(query)
    assert (parsed.same_author_as, parsed.author) == (title, None)


@pytest.mark.parametrize("query", ["manga like Pluto", "something similar to Pluto", "プルートみたいな漫画"])
def test_similarity_query_names_the_title_to_be_like(query: str) -> None:
    assert sound_key(PARSER.parse(query).similar_to or "")[:2] in ("pl", "pu")


@pytest.mark.parametrize(
    "query", ["", "   ", "manga", "おすすめの漫画", "show me some popular series", "!?", "good manga please"]
)
def test_query_of_filler_words_is_empty(query: str) -> None:
    assert PARSER.parse(query).empty


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("Pluto vol. 3", "pluto"),
        ("プルート 第3巻", "puruto"),
        ("Pluto manga", "pluto"),
        ("the last volume of Pluto", "pluto"),
        ("プルートの最終巻", "puruto"),
        ("berserc vol", "berserc"),
        ("berserc vol.", "berserc"),
        ("berserc volumes", "berserc"),
    ],
)
def test_volume_numbers_and_filler_are_removed_from_a_name(query: str, key: str) -> None:
    assert PARSER.parse(query).names[0] == key


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("AoT", "Shingeki no Kyojin"),
        ("ハガレン", "Hagane no Renkinjutsushi"),
        ("tensura manga", "Tensei shitara Slime Datta Ken"),
    ],
)
def test_nickname_is_resolved_to_its_title(query: str, name: str) -> None:
    assert sound_key(name) in PARSER.parse(query).aliases


def test_name_before_a_by_author_phrase_is_tried_alone_too() -> None:
    assert sound_key("berzerk") in PARSER.parse("berzerk by kentaro mura").names
    assert sound_key("death") not in PARSER.parse("death by a thousand small cuts of fate").names


def test_short_nickname_counts_only_as_the_whole_query() -> None:
    assert PARSER.parse("op").aliases
    assert not PARSER.parse("the op theme").aliases


@pytest.mark.parametrize(
    ("query", "tag"),
    [
        ("time travel", "Time Travel"),
        ("料理漫画", "Cooking"),
        ("samurai", "Samurai"),
        ("異世界もの", "Isekai"),
        ("vampires", "Vampire"),
    ],
)
def test_theme_word_that_is_the_whole_query_has_a_theme_share_of_one(query: str, tag: str) -> None:
    parsed = PARSER.parse(query)
    assert any(tag in tags for tags in parsed.themes)
    assert parsed.theme_share == 1.0


@pytest.mark.parametrize(
    ("query", "share"),
    [
        ("samurai romance", 1.0),  # two themes and nothing else
        ("samurai revenge tale", 7 / 13),  # letters of the theme among those of samurai, reveng
        ("samurai seinen", 1.0),  # a demographic is no content
        ("seinen", 1.0),
        ("友情の物語がある", 2 / 8),
        ("pluto", 0.0),
        ("", 0.0),
    ],
)
def test_theme_share_is_the_part_of_the_query_that_themes_cover(query: str, share: float) -> None:
    assert PARSER.parse(query).theme_share == pytest.approx(share)


@pytest.mark.parametrize("query", ["I want to cry", "泣ける漫画", "something heartbreaking"])
def test_feeling_of_the_reader_counts_as_a_theme_of_the_query(query: str) -> None:
    parsed = PARSER.parse(query)
    (tone,) = parsed.moods
    assert "Drama" in tone.wanted
    assert parsed.theme_share > 0.5


@pytest.mark.parametrize("query", ["deep sea", "moving to the countryside", "Fruits Basket", "深海"])
def test_ambiguous_word_is_no_mood(query: str) -> None:
    assert PARSER.parse(query).moods == ()


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("x", ("x",)),
        ("X vol. 3", ("x",)),
        ("碁", ("碁",)),
        ("aa", ("aa",)),  # by sound it is one letter, which anything may begin with: only what was typed is left
        ("a?", ("a",)),
    ],
)
def test_single_letter_is_a_name_only_as_the_whole_query(query: str, names: tuple[str, ...]) -> None:
    assert PARSER.parse(query).names == names


def test_number_of_nicknames_read_from_a_query_is_bounded() -> None:
    """Each nickname is looked for among all names of the candidates."""
    nicknames = [key for key in AliasTable.load().names if len(key) >= 4 and key.isascii()]
    assert len(PARSER.parse(" ".join(nicknames)[:400]).aliases) == MOST_NAMES


@pytest.mark.parametrize(
    ("query", "subject"),
    [
        ("仕事で疲れたので、癒し系が読みたい", "癒し系"),
        ("学校で落ち込んだから料理マンガが読みたい", "料理"),
        ("息子が野球を始めたので楽しいもの", "息子が野球を始めたので楽しい"),
        ("野球が好きなのでスポーツもの", "野球が好きなのでスポーツ"),
        ("1から始める料理", "1から始める料理"),
        ("仕事で疲れたので何か", "仕事で疲れたので何か"),
        ("something unsettling for a rainy night", "something unsettling"),
        ("a girl who waits for the train", "a girl who waits for the train"),
    ],
)
def test_reason_for_a_wish_is_not_part_of_the_search_words(query: str, subject: str) -> None:
    """The reason is the customer's feeling, with a wish after it."""
    assert PARSER.parse(query).subject == subject


def test_word_inside_another_word_is_no_theme() -> None:
    assert "insect" not in PARSER.parse("手塚治虫").translations
    assert not PARSER.parse("アベンジャーズエンドゲーム").themes


def test_demographic_word_sets_the_genre() -> None:
    assert PARSER.parse("shoujo romance").genre == "shojo"
    assert PARSER.parse("少年漫画").genre == "shonen"
    assert PARSER.parse("shounen ai").genre is None


def test_japanese_words_are_also_translated_to_english() -> None:
    assert {"ninja", "fox"} <= set(PARSER.parse("狐と忍者").translations)


@given(st.text(max_size=500))
def test_any_text_can_be_read(text: str) -> None:
    parsed = PARSER.parse(text)
    assert parsed.empty or all(parsed.names)
    assert 0 <= parsed.theme_share <= 1


def test_shipped_alias_and_theme_tables_are_complete() -> None:
    aliases, themes = AliasTable.load(), ThemeTable.load()
    assert len(aliases.names) > 300
    assert all(key and names for key, names in aliases.names.items())
    assert len(themes.tags) > 400
    assert all(themes.glossary.values())
