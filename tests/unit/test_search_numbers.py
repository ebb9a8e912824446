"""The numbers of the ranking as they were tuned, and terms, sounds and themes at their edges: whoever changes one sees it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tools.store.models import Author, Filters, Ordering, Title
from tools.store.search.document import headline, passages, prior, prose_terms
from tools.store.search.evidence import Evidence
from tools.store.search.filters import satisfies
from tools.store.search.fusion import Weights, fuse, with_kin
from tools.store.search.guessing import is_guess, near_names, ordering_of
from tools.store.search.loans import consonants, is_loan
from tools.store.search.name_table import NameTable
from tools.store.search.names import NameKeys, begun_likeness, loan_likeness, name_keys, names_of, one_likeness
from tools.store.search.naming import AskedAuthor
from tools.store.search.people import AskedName, AuthorKeys, author_keys
from tools.store.search.query import QueryReader
from tools.store.search.romaji import sound, to_romaji
from tools.store.search.themes import ThemeTable
from tools.store.search.tokens import bigrams, grams, stem, words

READER = QueryReader.load()
NOTHING = replace(READER.read("zxqv flurble"), theme_share=0.0)


def floats(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)


def evidence(**legs: float | None) -> Evidence:
    """Of one title."""
    names = ("names", "people", "words", "tags", "prior")
    own = {name: floats(legs.get(name) or 0.0) for name in names}
    seen = {name: None if legs.get(name) is None else floats(legs[name] or 0.0) for name in ("meaning", "headline")}
    return Evidence(**own, **seen, known=legs.get("known"))


def score(theme_share: float = 0.0, **legs: float | None) -> float:
    (found,) = fuse(replace(NOTHING, theme_share=theme_share), evidence(**legs))
    return round(float(found), 3)


# -- fusion


@pytest.mark.parametrize(
    ("legs", "expected"),
    [
        ({"names": 0.66}, 0.66),
        ({"names": 0.65}, 0.0),  # by chance
        ({"names": 0.8, "prior": 0.5}, 0.83),
        ({"names": 1.0, "prior": 1.0}, 1.06),
        ({"people": 1.0}, 0.92),
        ({"people": 0.5, "prior": 0.5}, 0.678),  # the less sure, the more fame counts
        ({"people": 0.5, "prior": 0.5, "names": 0.97}, 1.0),
        ({"words": 1.0}, 0.56),
        ({"words": 2.0}, 0.56),
        ({"words": 0.5}, 0.0),  # below the floor
        ({"words": 0.5, "prior": 1.0}, 0.46),
        ({"words": 0.5, "meaning": 0.5, "headline": 0.25}, 0.497),
        ({"words": 0.5, "meaning": 0.5}, 0.0),
        ({"words": 1.0, "meaning": -0.5, "headline": -0.5}, 0.56),
        ({"words": 1.0, "tags": 0.5}, 0.608),
    ],
)
def test_a_title_has_the_score_that_was_tuned(legs: dict[str, float], expected: float) -> None:
    assert score(**legs) == expected


@pytest.mark.parametrize(
    ("share", "tags", "expected"), [(0.5, 1.0, 0.696), (1.0, 1.0, 0.816), (1.0, 0.5, 0.0), (0.5, 0.0, 0.434)]
)
def test_the_more_of_a_query_is_a_theme_the_more_its_tags_count(share: float, tags: float, expected: float) -> None:
    assert score(share, words=1.0, tags=tags) == expected


@pytest.mark.parametrize(
    ("legs", "answered"),
    [
        ({"known": 0.54}, False),
        ({"known": 0.55}, True),
        ({"known": 0.54, "meaning": 0.4, "headline": 0.0}, True),
        ({"known": 0.54, "meaning": 0.39, "headline": 0.0}, False),
        ({"known": 0.0, "names": 0.66}, True),
        ({"known": 0.0, "people": 0.55}, True),
        ({"known": 0.0, "people": 0.5}, False),
    ],
)
def test_what_a_catalogue_does_not_know_the_words_of_is_not_answered(legs: dict[str, float], answered: bool) -> None:
    assert (score(words=1.0, **legs) > 0) is answered


def test_beside_a_title_that_is_called_so_names_merely_alike_are_none() -> None:
    both = {name: floats(0, 0) for name in ("people", "words", "tags", "prior")}
    for exact, alike, left in ((0.97, 0.69, 1), (0.97, 0.7, 2), (0.96, 0.69, 2)):
        found = fuse(NOTHING, Evidence(names=floats(exact, alike), meaning=None, headline=None, **both))
        assert np.count_nonzero(found) == left


def test_what_has_less_than_three_fifths_of_the_best_is_no_answer() -> None:
    both = {name: floats(0, 0) for name in ("people", "names", "tags", "prior")}
    for second, left in ((0.59, 1), (0.61, 2)):
        found = fuse(NOTHING, Evidence(words=floats(1.0, second), meaning=None, headline=None, **both))
        assert np.count_nonzero(found) == left


def kin(scores: NDArray[np.float32], **legs: NDArray[np.float32]) -> list[float]:
    empty = {name: np.zeros(len(scores), np.float32) for name in ("names", "people", "words", "tags", "prior")}
    found = Evidence(**{**empty, **legs}, meaning=None, headline=None)
    return [round(float(each), 3) for each in with_kin(scores, found, lambda: floats(*[1.0] * len(scores)))]


def test_kin_follow_at_nine_tenths_and_by_fame_and_never_overtake() -> None:
    assert kin(floats(0.5, 0.0, 0.47), prior=floats(0, 1, 0)) == [0.5, 0.46, 0.47]
    assert kin(floats(0.4, 0.0)) == [0.4, 0.36]
    assert kin(floats(0.39, 0.0)) == [0.39, 0.0], "not sure enough"
    assert kin(floats(0.5, 0.0), names=floats(0.66, 0)) == [0.5, 0.0], "a name needs no help"
    assert kin(floats(0.5, 0.0), people=floats(0.01, 0)) == [0.5, 0.0], "nor does an author"


@pytest.mark.parametrize(("many", "followed"), [(2, True), (50, True), (51, False)])
def test_where_more_than_fifty_carry_all_the_themes_nobody_leads(many: int, followed: bool) -> None:
    scores = floats(0.5, *[0.45] * (many - 1), 0.0)
    assert (kin(scores, tags=floats(*[1.0] * many, 0.0))[-1] > 0) is followed


def test_the_weights_are_the_tuned_ones() -> None:
    """A snapshot: a change has to be judged anew (`make quality`)."""
    assert Weights() == Weights(
        0.66, 0.7, 0.12, 0.65, 0.5, 0.8, 0.75, 0.12, 0.06, 0.92, 0.75, 0.9, 0.4, 50, 0.3, 0.6, 0.97, 0.7, 0.55, 0.4
    )


# -- a title


def test_fame_is_a_logarithm_of_ratings_or_of_rank() -> None:
    known = {"ratings": Title("t", rating_count=632), "rank": Title("t", popularity_rank=316)}
    assert {name: round(prior(title), 3) for name, title in known.items()} == {"ratings": 0.5, "rank": 0.5}
    assert prior(Title("t", rating_count=4_000_000)) == 1.0
    assert prior(Title("t", popularity_rank=100_000)) == 0.0
    assert prior(Title("t", popularity_rank=1_000_000)) == 0.0
    assert prior(Title("t", rating_count=1)) == pytest.approx(math.log(2) / math.log(400_001))
    assert prior(Title("t", rating_count=0, popularity_rank=1)) == 1.0


def test_terms_weigh_by_where_they_stand() -> None:
    title = Title("t", en="Blue", romaji="Blue", tags=("Sea",), synopsis_en="Blue sea waves.", synopsis_ja="青い海")
    assert prose_terms(title) == {"sea": 3.0, "blu": 4.0, "wav": 1.0, "青い": 1.0, "い海": 1.0}


def test_a_headline_is_a_name_and_the_tags() -> None:
    assert headline(Title("t", en="Blue", tags=("Sea", "Drama"))) == "Blue. Sea, Drama"


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("At 3.5 km.h it ends.", ["At 3.5 km.h it ends."]),
        ("One.\nTwo\nThree", ["One.", "Two", "Three"]),
        ("一つ。二つ！三つ", ["一つ。", "二つ！", "三つ"]),
        (" . ", ["."]),
    ],
)
def test_a_passage_is_made_of_sentences(text: str, sentences: list[str]) -> None:
    assert " ".join(passages(Title("t", synopsis_en=text))) == " ".join(sentences)
    stretched = text
    for sentence in sentences:  # over half a passage each, so that no two of them share one
        stretched = stretched.replace(sentence, "x" * 170 + sentence, 1)
    assert [piece.removeprefix("x" * 170) for piece in passages(Title("t", synopsis_en=stretched))] == sentences


@pytest.mark.parametrize(("first", "second", "pieces"), [(165, 165, 1), (165, 166, 2), (330, 1, 2)])
def test_a_passage_holds_330_characters(first: int, second: int, pieces: int) -> None:
    assert len(passages(Title("t", synopsis_en=f"{'x' * (first - 1)}!{'x' * second}"))) == pieces


def test_japanese_counts_threefold() -> None:
    assert len(passages(Title("t", synopsis_ja="海" * 54 + "。" + "海" * 55))) == 1
    assert len(passages(Title("t", synopsis_ja="海" * 54 + "。" + "海" * 56))) == 2


# -- names


def test_a_name_that_is_begun_counts_by_its_share_from_two_letters_on() -> None:
    shares = [round(begun_likeness("narutoshippuden"[:n], "narutoshippuden"), 3) for n in (1, 2, 3, 14, 15)]
    assert shares == [0.067, 0.8, 0.81, 0.933, 1.0]


def test_a_typo_is_an_edit_over_the_longer_name() -> None:
    assert one_likeness("narutp", "naruto") == pytest.approx(5 / 6)
    assert one_likeness("nartuo", "naruto") == pytest.approx(5 / 6), "two letters that changed places"
    assert one_likeness("naruto", "naruto") == 1.0


def test_a_loan_is_as_near_as_its_sound_from_a_third_on() -> None:
    assert [round(loan_likeness(near), 3) for near in (0.34, 0.35, 0.5, 1.0)] == [0.0, 0.82, 0.85, 0.95]


def test_names_are_those_of_all_scripts_once_and_readings_that_are_kana() -> None:
    title = Title("t", en="Naruto", romaji="Naruto", ja="NARUTO", kana="ＮＡＲＵＴＯナルト", alt_titles=("N", ""))
    assert names_of(title) == ("Naruto", "NARUTO", "N")
    assert names_of(replace(title, kana="なると")) == ("Naruto", "NARUTO", "なると", "N")


@pytest.mark.parametrize(
    ("name", "main"), [("Abc: Winter", ("abc",)), ("Ab: Winter", ()), ("Abc Part 2 x", ("abc",)), ("Abc", ())]
)
def test_what_stands_before_a_subtitle_is_a_name_of_three_letters_or_more(name: str, main: tuple[str, ...]) -> None:
    assert name_keys(Title("t", en=name)).main == main


def test_a_nickname_counts_by_its_factor_and_a_main_name_a_little_less() -> None:
    table = NameTable([NameKeys(("abcdef",), ()), NameKeys(("uvwxyz",), ("abcdef",)), NameKeys(("zzzzzz",), ())])
    for asked, found in (
        ([("abcdef", 1.0)], [1.0, 0.95, 0.0]),
        ([("abcdef", 0.98)], [0.98, 0.931, 0.0]),
        ([("abcdef", 0.5), ("abcdeg", 1.0)], [0.833, 0.792, 0.0]),
        ([("abc", 0.98)], [0.838, 0.796, 0.0]),
    ):
        assert [round(float(each), 3) for each in table.likeness(asked)] == found
    assert [round(float(each), 3) for each in table.beginning_with(("ab", "abc"))] == [0.855, 0.812, 0.0]


# -- authors

MIURA = author_keys(Author("Miura, Kentarou", "三浦建太郎", "みうらけんたろう"))


@pytest.mark.parametrize(
    ("asked", "sure"),
    [
        ("Miura Kentarou", 1.0),
        ("Kentaro Miura", 1.0),
        ("三浦建太郎", 1.0),
        ("みうらけんたろう", 1.0),
        ("dark fantasy Kentaro Miura", 0.97),
        ("三浦建太郎の漫画", 1.0),
        ("三浦建太郎剣", 0.95),
        ("三浦", 0.85),
        ("太郎", 0.85),
        ("三", 0.0),
        ("Miura", 0.85),
        ("Miura sword", 0.0),
        ("Kentaro Miuta", 0.871),
        ("sword", 0.0),
    ],
)
def test_how_surely_a_query_names_an_author(asked: str, sure: float) -> None:
    assert round(AskedAuthor(READER.read(asked)).sureness(MIURA), 3) == sure


def test_a_name_of_one_word_may_be_anybodys_family() -> None:
    assert AskedAuthor(READER.read("CLAMP")).sureness(author_keys(Author("CLAMP"))) == 0.95
    assert AskedAuthor(READER.read("io")).sureness(author_keys(Author("Io, Sakisaka"))) == 0.0, "too short"
    assert AskedAuthor(READER.read("oda")).sureness(author_keys(Author("Oda, Eiichiro"))) == 0.85


@pytest.mark.parametrize(("letters", "sure"), [(8, True), (40, True), (41, False)])
def test_a_typo_is_looked_for_in_names_of_up_to_forty_letters(letters: int, sure: bool) -> None:
    name = ("kasamerona" * 5)[:letters]
    keys = AuthorKeys(frozenset(), (AskedName(name).key,))
    assert (AskedAuthor(READER.read(name[:-1] + "p")).sureness(keys) > 0.8) is sure


@pytest.mark.parametrize(
    ("likeness", "scored", "fame", "guess"),
    [
        (0.7, 0.7, 0.0, True),
        (0.7, 0.72, 0.5, True),  # fame adds a little
        (0.7, 0.74, 0.5, False),  # the story was stronger than the name
        (0.7, 0.9, 0.0, False),
        (0.66, 0.66, 0.0, True),
        (0.65, 0.65, 0.0, False),
        (0.79, 0.79, 0.0, True),
        (0.8, 0.8, 0.0, False),  # that name with a slip
        (0.7, 0.0, 0.0, False),
    ],
)
def test_a_guess_is_a_name_that_is_only_somewhat_like_the_query(
    likeness: float, scored: float, fame: float, guess: bool
) -> None:
    assert is_guess(floats(scored), evidence(names=likeness, prior=fame)) is guess


def test_near_names_are_the_three_nearest_from_a_half_on() -> None:
    empty = floats(0, 0, 0, 0, 0)
    found = Evidence(floats(0.5, 0.49, 0.7, 0.6, 0.55), empty, empty, empty, None, None, empty)
    assert near_names(found) == [2, 3, 4]
    assert near_names(Evidence(floats(0.5, 0.49), *[floats(0, 0)] * 3, None, None, floats(0, 0))) == [0]


def test_an_ordering_is_kept_unless_a_title_is_called_so() -> None:
    reading = READER.read("most popular zxqv")
    for likeness, ordering in ((0.65, Ordering.POPULARITY), (0.66, None)):
        assert ordering_of(reading, floats(0.5), evidence(names=likeness)) is ordering


@pytest.mark.parametrize(
    ("filters", "met"),
    [
        (Filters(), True),
        (Filters(genre="josei"), True),
        (Filters(genre="seinen"), False),
        (Filters(min_rating=4.0), True),
        (Filters(min_rating=4.1), False),
        (Filters(author="Sato"), True),
        (Filters(author="Mori"), False),
        (Filters(genre="josei", min_rating=3.0, author="Mori"), False),
    ],
)
def test_a_title_meets_every_filter_or_is_left_out(filters: Filters, met: bool) -> None:
    title = Title("t", genre="josei", rating=4.0, authors=(Author("Kai, Jo"), Author("Sato, Rin")))
    assert satisfies(title, filters) is met


def test_a_title_without_a_rating_is_above_no_least() -> None:
    title = Title("t")
    assert [satisfies(title, Filters(min_rating=least)) for least in (None, 0.0, -1.0, 0.1)] == [True, True, True, False]


# -- terms and sounds


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
def test_a_word_loses_its_inflection(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


def test_a_run_of_characters_becomes_pairs_of_which_one_says_something() -> None:
    assert list(bigrams("海")) == ["海"]
    assert list(bigrams("海と空")) == ["海と", "と空"]
    assert list(bigrams("からの")) == []
    assert words("Of the dragon's 3rd 海") == ["dragon", "3rd", "海"]


def test_a_key_becomes_pieces_of_two_and_three_with_its_ends() -> None:
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
def test_kana_is_read_syllable_by_syllable(kana: str, latin: str) -> None:
    assert to_romaji(kana) == latin


@pytest.mark.parametrize(
    ("text", "sounds"),
    [
        ("Koi wo shita", "koi o shita"), ("Sinzi", "shinji"), ("Tutuji", "tsutsuji"), ("Huji", "fuji"), ("Tyan", "chan"),
        ("Zyo dyo jyo", "jo jo jo"), ("Sensei", "sense"), ("Kenshuu", "kenshu"), ("Oh, Ohara", "o ohara"), ("Tombo", "tonbo"),
        ("Shi_no-Ko", "shi no ko"), ("Itchy", "ichy"), ("Chu Shu", "chu shu"), ("O'Neil", "onel"),
    ],
)  # fmt: skip
def test_spellings_are_folded_to_one_sound(text: str, sounds: str) -> None:
    assert sound(text) == sounds


@pytest.mark.parametrize(
    ("text", "skeleton"),
    [
        ("chess", "chs"), ("cheese", "chs"), ("phantom", "fntm"), ("thunder", "snd"), ("quick rock", "kkrk"), ("city cat", "stkt"),
        ("box", "bks"), ("shark", "sk"), ("level", "rbr"), ("number", "nnb"), ("tsunami", "tnm"), ("ghost", "gst"), ("hero", "hr"),
    ],
)  # fmt: skip
def test_a_foreign_word_is_its_consonants(text: str, skeleton: str) -> None:
    assert consonants(text) == skeleton


@pytest.mark.parametrize(
    ("text", "loan"),
    [("モンスター", True), ("アー", False), ("アイス", True), ("アイス 3", True), ("アイスは", False), ("ice", False)],
)
def test_a_loan_is_katakana_of_three_letters_or_more(text: str, loan: bool) -> None:
    assert is_loan(text) is loan


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
def test_a_theme_is_a_word_of_its_own(text: str, tags: list[tuple[str, ...]]) -> None:
    assert [theme.tags for theme in TABLE.themes(text)] == tags


def test_of_two_known_words_at_one_place_the_longer_counts() -> None:
    assert TABLE.english("恋愛と恋と虫") == ("romance", "love", "insect")
