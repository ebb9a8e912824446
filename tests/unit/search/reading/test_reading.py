"""The query reader handles every operator, fact and language by one rule, and never inverts the meaning."""

from __future__ import annotations

from collections.abc import Iterator
from cProfile import Profile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.cases import cases
from tests.support.named_catalog import NamedCatalog
from tests.support.reading import a_reader, read
from tools.store.models import Audience, Author, Conditions, Ordering, Range, Status, Title
from tools.store.search.reading.reader import LONGEST, Reader
from tools.store.search.reading.reading import Reading
from tools.store.search.reading.stances import Stances, pack_weights
from tools.store.search.reading.tables import data_of, phrases
from tools.store.tags import load_vocabulary, shipped

READER = a_reader()
ENGLISH = ("horror", "shonen", "digital", "ongoing", "sold out", "over 700 yen", "from before 2000", "more than 10 volumes")
JAPANESE = ("ホラー", "少年漫画", "電子書籍", "連載中", "在庫切れ", "700円以上", "2000年以前", "10巻以上")
HELD_BY = {"less", "free", "no", "=no", "without"}


def refusals() -> Iterator[tuple[str, str]]:
    """Each refusing word of the tables around each fact."""
    english, japanese = data_of("en")["refuse"], data_of("ja")["refuse"]
    for said in phrases(f"{english['before']}, {english['before_except']}"):
        yield from ((f"{said.removeprefix('=')} {fact}", fact) for fact in ENGLISH)
    for said in phrases(english["after"]):
        yield from ((f"{fact} {said.removeprefix('=')}", fact) for fact in ENGLISH)
    for said in phrases(f"{japanese['after']}, {japanese['after_except']}"):
        yield from ((f"{fact}は{said}", fact) for fact in JAPANESE if said[0] >= "\u3041")


def asks_for(found: Reading, fact: str) -> bool:
    """Whether the reading makes of a refused fact what is asked for."""
    conditions = found.conditions
    wanted = {
        "horror": ("Horror",) in conditions.tags, "ホラー": ("Horror",) in conditions.tags,
        "shonen": "shonen" in conditions.genres, "少年漫画": "shonen" in conditions.genres,
        "digital": conditions.format == "digital", "電子書籍": conditions.format == "digital",
        "ongoing": Status.PUBLISHING in conditions.statuses, "連載中": Status.PUBLISHING in conditions.statuses,
        "over 700 yen": (conditions.price.least or 0) > 0, "700円以上": (conditions.price.least or 0) > 0,
        "from before 2000": (conditions.years.most or 9999) < 2000, "2000年以前": (conditions.years.most or 9999) < 2001,
        "more than 10 volumes": (conditions.volumes.least or 0) > 1, "10巻以上": (conditions.volumes.least or 0) > 1,
    }  # fmt: skip
    return wanted.get(fact, False)


def test_no_refusing_word_of_the_tables_asks_for_the_fact_it_refuses() -> None:
    turned = [said for said, fact in refusals() if asks_for(read(said, READER), fact)]
    assert not turned


@pytest.mark.parametrize(
    ("said", "conditions"),
    [
        ("won't pay more than 700 yen", Conditions(price=Range(None, 700))),
        ("nothing over 10 volumes", Conditions(volumes=Range(None, 10))),
        ("I never read anything from before 2000", Conditions(years=Range(2000, None))),
        ("700円以上は出せない", Conditions(price=Range(None, 699))),
        ("nothing over 20 volumes and nothing under 3", Conditions(volumes=Range(3, 20))),
        ("nothing longer than 10", Conditions(volumes=Range(None, 10))),
        ("make it longer than 8", Conditions(volumes=Range(9))),
        ("10より短いもの", Conditions(volumes=Range(None, 9))),
        ("a film longer than 2 hours", Conditions()),
        ("finished and less than 15 volumes", Conditions(statuses=(Status.FINISHED,), volumes=Range(None, 14))),
        ("half a dozen volumes at most", Conditions(volumes=Range(None, 6))),
        ("never mind, shonen instead", Conditions(genres=("shonen",))),
        ("6..12 volumes", Conditions(volumes=Range(6, 12))),
        ("manga from the 80's", Conditions(years=Range(1980, 1989))),
        ("no e-books, I look at screens at work", Conditions(format="physical")),
        ("nothing that's going to be horror", Conditions(without_tags=read("no horror", READER).conditions.without_tags)),
        ("no romance unless it's short", Conditions(without_tags=read("no romance", READER).conditions.without_tags)),
        ("完結済みの漫画で、巻数は10巻まで", Conditions(statuses=(Status.FINISHED,), volumes=Range(None, 10))),
        ("10巻以上は読まない", Conditions(volumes=Range(None, 9))),
        ("unfinished is a no-go", Conditions(statuses=(Status.FINISHED,))),
        ("連載中はNG", Conditions(statuses=(Status.FINISHED,))),
        ("電子書籍は買わない", Conditions(format="physical")),
        ("not for children", Conditions(without_genres=("kodomo",))),
        ("budget around 3,000 in total", Conditions(series_price=Range(None, 3000))),
        ("a series I can buy whole for under 5000 yen", Conditions(series_price=Range(None, 4999))),
        ("少年完結8巻以内", Conditions(genres=("shonen",), statuses=(Status.FINISHED,), volumes=Range(None, 8))),
        ("vols<=5 -digital", Conditions(volumes=Range(None, 5), format="physical")),
        ("for my niece who is 8", Conditions(audience=Audience.ALL_AGES)),
        ("小5の娘に", Conditions(audience=Audience.ALL_AGES)),
    ],
)
def test_negated_bound_or_fact_is_inverted(said: str, conditions: Conditions) -> None:
    assert read(said, READER).conditions == conditions


@pytest.mark.parametrize(
    "said", ["not unfinished", "終わってない漫画は買わない", "nothing unfinished", "完結してないのは嫌"]
)
def test_two_negations_cancel(said: str) -> None:
    assert read(said, READER).conditions.statuses == (Status.FINISHED,)


@cases(
    ("said", "meant"),
    [
        ("完結してるやつじゃないと嫌", Conditions(statuses=(Status.FINISHED,))),
        ("紙じゃないと無理", Conditions(format="physical")),
        ("2010年以降じゃないとだめ", Conditions(years=Range(2010))),
        ("10巻以下じゃないと嫌", Conditions(volumes=Range(None, 10))),
        ("ホラー抜きじゃないと無理", Conditions(without_tags=("Horror",))),
    ],
)
def test_refusing_everything_but_one_thing_requires_it(said: str, meant: Conditions) -> None:
    assert read(said, READER).conditions == meant


@cases(
    "said",
    [
        "I love romance. My wife hates it.",
        "Mystery please. Without any plot holes.",
        "ミステリーは読みたいけど、ネタバレは嫌",
    ],
)
def test_refusal_of_something_else_leaves_the_theme_of_an_earlier_clause(said: str) -> None:
    assert not read(said, READER).conditions.without_tags


@cases(
    ("said", "statuses"),
    [("nothing cancelled", 3), ("dropped series", 1), ("discontined series", 1), ("cancel that", 0), ("abandon romance", 0)],
)
def test_bare_verb_of_a_participle_states_no_status(said: str, statuses: int) -> None:
    assert len(read(said, READER).conditions.statuses) == statuses


@cases(
    "said",
    [
        "likes: romance. doesn't like: horror",
        "want: romance; do not want: horror",
        "好き:恋愛 苦手:ホラー",
        "好きなジャンル:恋愛、嫌いなジャンル:ホラー",
        "❌ horror ✅ romance",
        "✅romance, ❌horror",
        "恋愛◎ ホラー×",
        "×ホラー ◎恋愛",
        "less horror more romance",
        "romance exept horror",
        "ホラー、グロは苦手。恋愛",
        "ホラーでもグロでもない恋愛",
        "👍 romance 👎 horror",
        "without horror, plus romance",
    ],
)
def test_horror_is_refused_and_romance_is_not(said: str) -> None:
    found = read(said, READER).conditions
    assert "Horror" in found.without_tags
    assert "Romance" not in found.without_tags


@cases(
    "said",
    [
        "new or old",
        "before 1999 or recent",
        "1999年以前か2015年以降",
        "older than 2000 or newer than 2015",
        "before 2000 or after 2010",
        "3 to 5 volumes or 20 to 25 volumes",
        "under 5 volumes or over 20",
        "5巻以内か20巻以上",
    ],
)
def test_either_of_two_ranges_that_no_range_holds_is_not_obeyed(said: str) -> None:
    found = read(said, READER)
    assert not found.conditions.years
    assert not found.conditions.volumes
    assert any(not each.obeyed for each in found.understood)


@cases("said", ["無しでお願いします、ホラーは", "嫌だなあ、ホラー", "leave out: romance & horror"])
def test_refusal_that_opens_a_text_refuses_what_follows(said: str) -> None:
    found = read(said, READER)
    assert "Horror" in found.conditions.without_tags
    assert not found.conditions.tags


@cases(
    "said",
    [
        "don't you have any horror?",
        "is there no horror left?",
        "ホラーありません?",
        "nothing beats horror",
        "いや、ホラーが読みたい",
        "ホラーなら外れなし",
    ],
)
def test_question_or_praise_with_a_negation_asks_for_the_theme(said: str) -> None:
    found = read(said, READER).conditions
    assert "Horror" in {tag for group in found.tags for tag in group}
    assert not found.without_tags


@cases(
    "said",
    [
        "タバコ❌ 恋愛✅",
        "clowns ❌ romance ✅",
        "もういい、恋愛で",
        "パス。恋愛",
        "恋愛でもホラーは嫌",
        "romance despite the war",
        "恋愛、ホラーは苦手",
    ],
)
def test_romance_beside_a_refusal_of_something_else_is_asked_for(said: str) -> None:
    found = read(said, READER).conditions
    assert "Romance" in {tag for group in found.tags for tag in group}
    assert "Romance" not in found.without_tags


def test_bound_without_an_operator_is_not_turned_round() -> None:
    assert read("not older than 2015 and not longer than 10 books", READER).conditions.volumes.least is None


@pytest.mark.parametrize(
    ("said", "most"),
    [
        ("romance under 599 yen, oh wait, make that 800", 799),
        ("under 500 yen. actually no, under 800", 799),
        ("1000円以内、いや500円以内で", 500),
        ("500円以内、やっぱり800円以内で", 800),
    ],
)
def test_later_bound_replaces_an_earlier_one_on_the_same_side(said: str, most: int) -> None:
    assert read(said, READER).conditions.price == Range(None, most)


@pytest.mark.parametrize(
    ("said", "volumes"),
    [
        ("nothing over 10 volumes — sorry, I meant 12", Range(None, 12)),
        ("nothing over 10 volumes, or rather 12", Range(None, 12)),
        ("nothing longer than 10 volumes, I mean 20", Range(None, 20)),
        ("10巻以内、いや15巻", Range(None, 15)),
        ("10巻以上は読まない、いや20巻", Range(None, 19)),
        ("under 10 volumes, hmm, make it 20", Range(None, 19)),
        ("under 10 volumes, sorry, 15", Range(None, 14)),
        ("10巻以内、いや、15", Range(None, 15)),
        ("10巻以内、じゃなくて20巻", Range(None, 20)),
    ],
)
def test_corrected_number_keeps_bound_and_refusal(said: str, volumes: Range) -> None:
    assert read(said, READER).conditions.volumes == volumes


@cases("said", ["I no longer want horror", "horror no longer interests me", "horror, not any more", "horror, actually no"])
def test_refusal_by_time_or_second_thought_refuses(said: str) -> None:
    assert "Horror" in read(said, READER).conditions.without_tags


@pytest.mark.parametrize("said", ["I used to love horror but now I can't stand it", "昔はホラーが好きだったけど今は苦手"])
def test_taste_of_the_past_gives_way_to_a_later_refusal(said: str) -> None:
    assert "Horror" in read(said, READER).conditions.without_tags


@cases("said", ["I used to love horror", "昔はホラーばかり読んでた", "no horror except zombies", "ゾンビ以外のホラーは嫌"])
def test_past_taste_and_an_exception_are_not_obeyed(said: str) -> None:
    found = read(said, READER)
    assert not found.conditions.tags
    assert any(not each.obeyed for each in found.understood)


@cases(
    "said",
    [
        "there is no horror I wouldn't read",
        "I can't imagine a manga without horror",
        "don't you dare show me anything without horror",
        "as a kid I hated horror",
        "昔はホラーが苦手だった",
        "my wife can't stand horror, but I love it",
        "妻はホラーが苦手だけど、私は好き",
    ],
)
def test_refusal_denied_again_or_of_the_past_or_of_somebody_else_is_doubted(said: str) -> None:
    found = read(said, READER)
    assert not found.conditions.tags
    assert not found.conditions.without_tags
    assert any(not each.obeyed for each in found.understood)


@cases("said", ["ホラーはダメ、やっぱり大丈夫", "子供の頃はホラーが怖かったけど今は平気"])
def test_refusal_taken_back_is_left(said: str) -> None:
    found = read(said, READER)
    assert not found.conditions.without_tags
    assert found.freedoms


def test_theme_after_an_unknown_katakana_word_is_read() -> None:
    assert read("アバカンスク・ホラー", READER).conditions.tags[0][0] == "Horror"


def test_past_dislike_gives_way_to_a_taste_of_today() -> None:
    assert read("昔はホラーが苦手だったけど、今は大好きです", READER).conditions.tags[0][0] == "Horror"


@pytest.mark.parametrize(
    "said",
    [
        "連載中でも、完結してなくても気にしない",
        "完結してても、連載中でも構わない",
        "古くても、80年代でも気にしない",
        "ホラーでも、グロでも気にしない",
    ],
)
def test_all_that_a_list_frees_is_freed(said: str) -> None:
    found = read(said, READER)
    assert not found.conditions.stated
    assert len(found.freedoms) == 2


def test_words_that_free_one_theme_leave_the_wish_beside_it() -> None:
    assert read("コメディに少し恋愛が入っててもかまわない", READER).conditions.tags[0][0] == "Comedy"


@pytest.mark.parametrize(
    "said",
    [
        "my boyfriend likes horror but I don't, I want something romantic",
        "My husband loves horror. I hate it. Show me romance.",
        "彼氏はホラーが好きだけど私は興味ない、恋愛ものがいい",
    ],
)
def test_refusal_without_an_item_refuses_the_item_before_it(said: str) -> None:
    found = read(said, READER).conditions
    assert "Horror" in found.without_tags
    assert found.tags == (("Romance",),)


@cases("said", ["I usually avoid horror but I'd like to try one now", "ホラーは避けてきたけど、そろそろ挑戦してみたいです"])
def test_wish_without_an_item_takes_back_a_habit(said: str) -> None:
    assert read(said, READER).conditions.tags == (("Horror",),)


@cases(
    "said",
    [
        "I wanted horror but on second thought let's go with comedy",
        "I was going to ask for horror, but I'll take comedy",
        "ホラーを探してたけど、やっぱりコメディにする",
        "when I was a kid I loved horror, now I like comedy",
    ],
)
def test_wish_that_was_changed_leaves_the_first_one(said: str) -> None:
    assert read(said, READER).conditions.tags == (("Comedy",),)


@pytest.mark.parametrize(
    ("said", "tag"),
    [
        ("a hero worn out by horror", "Horror"),
        ("romance with a mute heroine", "Romance"),
        ("love at first sight romance, then comedy", "Romance"),
        ("he is used to horror, with some romance", "Horror"),
        ("昔はホラー作家だった主人公の漫画", "Horror"),
        ("I used to read a lot of horror and still love it", "Horror"),
    ],
)
def test_words_of_a_plot_refuse_nothing_and_are_no_past_wish(said: str, tag: str) -> None:
    found = read(said, READER).conditions
    assert tag in sum(found.tags, ())
    assert not found.without_tags


def test_exception_within_a_wanted_theme_is_read() -> None:
    assert read("I want comedy. no horror, except slapstick", READER).conditions.tags[0][0] == "Comedy"


def test_words_that_only_end_like_a_fact_state_none() -> None:
    assert not read("10巻以内で終わる漫画", READER).conditions.tags
    assert read("週刊少年ジャンプ以外で", READER).conditions.without_magazines


@pytest.mark.parametrize(
    ("said", "conditions"),
    [
        ("comedy vols<5 year>2015", Conditions(tags=(("Comedy",),), volumes=Range(None, 4), years=Range(2016))),
        ("1990s or earlier", Conditions(years=Range(None, 1999))),
        ("90年代以前", Conditions(years=Range(None, 1999))),
        ("a single-volume romance", Conditions(tags=(("Romance",),), volumes=Range(None, 1))),
        ("青年漫画だけじゃなく女性漫画も読みます", Conditions(genres=("seinen", "josei"))),
    ],
)
def test_measures_are_read_beside_each_other(said: str, conditions: Conditions) -> None:
    assert read(said, READER).conditions == conditions


@cases("said", ["price<10", "nothing over 7 bucks a book", "nothing like GTO", "it must have an anime"])
def test_condition_that_cannot_be_checked_is_not_obeyed(said: str) -> None:
    assert any(not each.obeyed for each in read(said, READER).understood)


@cases("said", ["for a 16 year old, sorry, she is 6", "16歳の子に、いや、6歳の子に"])
def test_corrected_age_is_the_age(said: str) -> None:
    assert read(said, READER).conditions.audience is Audience.ALL_AGES


def test_second_thought_takes_back_what_it_says_anew() -> None:
    assert "Horror" in read("horror manga. Actually no horror", READER).conditions.without_tags
    assert read("完結済み、やっぱり連載中で", READER).conditions.statuses == (Status.PUBLISHING,)
    assert {"Horror", "Comedy"} == {*sum(read("horror, actually comedy too", READER).conditions.tags, ())}


@cases("said", ["ホラーがイヤ。コメディがいい", "ホラーがイヤなのでコメディがいい"])
def test_refusal_before_a_wish_is_no_correction(said: str) -> None:
    found = read(said, READER).conditions
    assert "Horror" in found.without_tags
    assert found.tags == (("Comedy",),)


def test_second_thought_adds_to_refusals_and_replaces_amounts() -> None:
    assert set(read("no shonen, actually no seinen either", READER).conditions.without_genres) == {"shonen", "seinen"}
    assert read("10 volumes. Actually, 15 volumes", READER).conditions.volumes == Range(15, 15)
    assert read("before 2000. Actually, after 2010", READER).conditions.years == Range(2011)


def test_bound_that_is_hedged_or_joined_replaces_none() -> None:
    assert read("at most 5 volumes, unless complete, at most 8 volumes", READER).conditions.volumes.most == 5
    for_both = "under 600 yen for my son and under 1500 yen for my wife"
    assert read(for_both, READER).conditions.price.most == 599


@cases("said", ["never read anything better than romance", "恋愛漫画ほど好きなものはない", "恋愛ほど面白いものはない"])
def test_negated_comparison_refuses_nothing(said: str) -> None:
    found = read(said, READER)
    assert not found.conditions.stated
    assert any(not each.obeyed for each in found.understood)


@cases(
    "said",
    [
        *("who says I don't like horror", "it's not that I dislike horror", "ホラーばかりじゃない漫画"),
        *("who does not love horror", "can not resist horror", "it does not matter if it is horror"),
    ],
)
def test_denied_refusal_refuses_nothing(said: str) -> None:
    """A contraction and its two words are the same."""
    assert not read(said, READER).conditions.without_tags


@pytest.mark.parametrize(
    ("said", "volumes"),
    [
        ("nothing longer than GTO", Range(None, 25)),
        ("not longer than GTO", Range(None, 25)),
        ("longer than GTO", Range(26)),
        ("GTOより長いのは嫌", Range(None, 25)),
        ("something shorter than GTO, which bored me", Range(None, 24)),
        ("GTOほど長くないの", Range(None, 24)),
        ("ホラーGTOほど長くない", Range(None, 24)),
    ],
)
def test_denied_comparison_with_a_title_is_turned_round(said: str, volumes: Range) -> None:
    assert read(said, a_reader((Title("t-1", en="GTO", volumes=25),))).conditions.volumes == volumes


def test_compound_of_a_theme_and_manga_tells_of_no_newcomer() -> None:
    found = read("恋愛漫画を読んだことがない", READER).conditions
    assert found.tags == (("Romance",),)
    assert not found.without_tags


def test_refused_kind_of_a_wanted_theme_leaves_the_theme_wanted() -> None:
    found = read("I like mecha but I'm tired of Gundam", READER)
    assert found.subject == "mecha"
    assert not found.conditions.without_tags
    assert any(not each.obeyed for each in found.understood)


def test_refused_theme_stays_refused_beside_another_word_for_it() -> None:
    assert "Horror" in read("I love spooky stuff but no horror", READER).conditions.without_tags


def test_not_that_long_is_short() -> None:
    assert read("not that long", READER).conditions.volumes.least is None


def test_pleasant_theme_is_never_so_much_that_it_is_refused() -> None:
    assert "Comedy" not in read("something so funny", READER).conditions.without_tags
    assert "Horror" in read("Bleach was so scary", READER).conditions.without_tags


def test_misspelled_theme_is_searched_by_its_name() -> None:
    assert read("a horrer manga", READER).subject == "horror"


def test_item_that_is_freed_ends_a_list_of_refusals() -> None:
    found = read("no romance, horror is fine", READER).conditions
    assert "Romance" in found.without_tags
    assert "Horror" not in found.without_tags


@cases(
    "said",
    [
        "I can't stand horror, mystery, and romance",
        "please leave out horror, mystery and romance",
        "ホラー、ミステリー、恋愛は嫌い",
    ],
)
def test_list_of_three_under_one_refusal_is_refused_whole(said: str) -> None:
    assert {"Horror", "Mystery", "Romance"} <= {*read(said, READER).conditions.without_tags}


@cases(
    "said",
    ["no horror, mystery and romance please", "恋愛、ミステリー、ホラーなし", "no horror, romance and mystery welcome"],
)
def test_wishes_beside_one_refusal_stay_wishes(said: str) -> None:
    without = read(said, READER).conditions.without_tags
    assert "Horror" in without
    assert not {"Mystery", "Romance"} & {*without}


def test_no_between_a_name_and_a_theme_refuses_the_theme() -> None:
    reader = a_reader((Title("t-1", en="Slam Dunk"),))
    assert "Horror" in read("Slam Dunk no horror", reader).conditions.without_tags
    assert not read("slam dunk no manga", reader).conditions.without_tags


def test_operator_between_two_names_parts_them() -> None:
    names = (Title("t-1", en="Monster", authors=(Author("Urasawa, Naoki"),)), Title("t-2", en="Pluto"))
    found = read("by Naoki Urasawa, not Monster", a_reader(names)).conditions
    assert (found.author, found.without_titles, found.without_authors) == ("Urasawa, Naoki", ("t-1",), ())


@cases("said", ["ホラーだけは嫌", "ホラーは今日はいいかな", "嫌いなわけじゃないけど、ホラーは今日はいいかな。SFで"])
def test_only_this_one_refused_is_a_refusal(said: str) -> None:
    """Refused once and for all, or for today."""
    assert "Horror" in read(said, READER).conditions.without_tags


def test_theme_that_cannot_be_done_without_is_wanted() -> None:
    assert read("ホラー抜きでは考えられない", READER).conditions.tags == (("Horror",),)


def test_freedom_of_one_theme_keeps_the_refusal_of_another() -> None:
    assert "Gore" not in read("gore sucks. horror is welcome", READER).freedoms[0].unneeded.without_tags
    assert "Boxing" not in read("I hate boxing. sports are welcome", READER).freedoms[0].unneeded.without_tags


def test_comma_before_a_stressing_word_does_not_end_a_refusal() -> None:
    assert read("never, ever something unfinished", READER).conditions.statuses == (Status.FINISHED,)


@cases(
    "said", ["nothing except horror", "we hate everything other than horror", "ホラー以外いらない", "ホラー以外は読まない"]
)
def test_excluding_all_but_one_tag_asks_for_that_tag(said: str) -> None:
    found = read(said, READER)
    assert found.conditions.tags == (("Horror",),)
    assert not found.conditions.without_tags


@cases("said", ["ホラー以外は何でもいい", "ホラーじゃなければ何でもいい", "ホラー以外はOK", "it must not be horror"])
def test_exclusion_stays_despite_a_statement_about_everything_else(said: str) -> None:
    assert "Horror" in read(said, READER).conditions.without_tags


@cases("said", ["he has read plenty of shonen already, something else", "we already own heaps of shonen"])
def test_readership_somebody_has_had_enough_of_is_not_asked_for(said: str) -> None:
    assert not read(said, READER).conditions.genres


@cases("said", ["もう養蜂ものはいい", "beekeeping is so last year", "養蜂ものは置いといて"])
def test_unknown_refused_word_is_reported_and_not_searched_for(said: str) -> None:
    found = read(said, READER)
    assert "beekeeping" not in found.subject
    assert "養蜂" not in found.subject
    assert any(not each.obeyed for each in found.understood)


@cases("said", ["she isn't allowed to read horror", "horror isn't appealing to me"])
def test_word_of_dislike_excludes_the_tag_behind_it_across_pronouns(said: str) -> None:
    assert "Horror" in read(said, READER).conditions.without_tags


@cases(
    "said",
    ["I take anything over horror", "mystery, but I get bored if it goes past 15 volumes", "no need for it to be horror"],
)
def test_tag_without_a_wishing_word_is_not_asked_for(said: str) -> None:
    conditions = read(said, READER).conditions
    assert ("Horror",) not in conditions.tags
    assert not conditions.volumes


@cases("said", ["for a girl of 8", "my daughter of eight", "something for kids of 7"])
def test_age_of_a_child_sets_the_audience_to_all_ages(said: str) -> None:
    assert read(said, READER).conditions.audience is Audience.ALL_AGES


@pytest.mark.parametrize("said", ["I don't mind horror", "ホラーも嫌いじゃない", "horror is fine by me", "ホラーでも大丈夫"])
def test_tag_not_minded_is_welcome_and_no_condition(said: str) -> None:
    found = read(said, READER)
    assert not found.conditions.stated
    assert "Horror" in found.welcome


def test_list_behind_a_colon_is_excluded_to_its_end() -> None:
    refused = read("comedy, exclude: horror, sports", READER).conditions
    assert {"Horror", "Sports"} <= set(refused.without_tags)
    assert ("Comedy",) in refused.tags


@pytest.mark.parametrize("said", ["no tentacles", "without the usual nonsense", "触手抜き"])
def test_exclusion_in_unknown_words_is_reported_and_not_searched_for(said: str) -> None:
    found = read(said, READER)
    assert [each.obeyed for each in found.understood] == [False]
    assert found.remarks
    assert not found.subject


@cases(
    "said", ["something for my kid not allowed to read horror", "she isn't allowed to read horror, something with romance"]
)
def test_refusal_before_a_verb_refuses_what_follows_the_verb(said: str) -> None:
    meant = read(said)
    assert meant.conditions.without_tags == ("Horror",)
    assert "my kid" not in said or meant.conditions.audience is Audience.ALL_AGES


@cases("said", ["恋愛もの 高校1998", "ホラー 中学2015", "予算 高校1500"])
def test_number_in_the_name_of_a_school_is_neither_a_year_nor_a_price(said: str) -> None:
    conditions = read(said).conditions
    assert (conditions.years, conditions.price) == (Range(), Range())


def test_liked_titles_are_compared_with_and_hated_titles_and_traits_are_excluded() -> None:
    titles = (Title("m", en="Monster"), Title("p", en="Pluto"), Title("c", en="20th Century Boys"), Title("b", en="Berserk"))
    reader: Reader = a_reader(titles)

    loved = read("I loved Monster and Pluto but hated 20th Century Boys", reader)
    assert set(loved.like) == {"m", "p"}
    assert "c" in loved.conditions.without_titles

    gory = read("Berserk was too scary for me, something similar but tamer", reader)
    assert gory.like == ("b",)
    assert "Horror" in gory.conditions.without_tags


def test_common_phrase_names_no_title_and_a_title_states_no_condition() -> None:
    reader = a_reader((Title("h", en="I Am a Hero"), Title("n", en="No Longer Human"), Title("d", en="Horror of the Deep")))
    assert not read("I am a beginner", reader).named
    for said in ("no longer human", "Horror of the Deep", "is horror of the deep ongoing"):
        assert not read(said, reader).conditions.stated


@settings(max_examples=60, deadline=None)
@given(
    st.text(max_size=LONGEST)
    | st.lists(st.sampled_from((*ENGLISH, *JAPANESE, " not ", "、", "以外", " no ")), max_size=60).map("".join)
)
def test_any_text_is_read_into_a_bounded_subject(text: str) -> None:
    found = read(text, READER)
    assert len(found.subject) <= 2 * len(text) + 200


@pytest.mark.parametrize(
    "unit", ["a", "no ", "ホラー", "の", "5巻", "under 5 volumes ", "like ", "x" * 9 + " ", "以外", "compleeted "]
)
def test_reading_a_long_text_takes_a_bounded_number_of_function_calls(unit: str) -> None:
    """Function calls of scanner, binder and meaning are counted, since a time would depend on the machine."""
    text = (unit * LONGEST)[:LONGEST]
    read(text, READER)
    assert _calls(text) < 600 * LONGEST


def _calls(text: str) -> int:
    with Profile() as profile:
        read(text, READER)
    return sum(each.callcount for each in profile.getstats())


def test_fact_in_a_complaint_is_excluded_or_reported_and_never_asked_for() -> None:
    """A clause about the customer in unknown words is no wish, and no search uses its facts."""
    for text in (
        "sports manga are the bane of my existence",
        "if there's a harem i'm closing the tab",
        "戦争シーンは辛くて",
        "ハーレム展開が始まると本を閉じちゃう",
        "連載中だと続きが気になってストレスなので",
        "一冊600円を超えると財布が死ぬ",
    ):
        found = read(text)
        stated = found.conditions
        refused = stated.without_tags or stated.price.most is not None or stated.statuses or found.remarks
        assert refused or any(not each.obeyed for each in found.understood), text
        assert not set(found.subject.split()).intersection(("sports", "harem", "戦争", "ハーレム")), text
    for text in ("i'm looking for a sports manga my nephew would devour", "料理人が主人公の話", "スポーツが読みたい"):
        assert all(each.obeyed for each in read(text).understood), text


def test_amount_called_too_short_or_too_old_becomes_a_lower_bound() -> None:
    assert read("less than five volumes is too short for me").conditions.volumes.least == 5
    assert read("2000年より前のは古すぎる").conditions.years.least == 2000


def test_only_with_a_negated_verb_asks_for_the_fact() -> None:
    assert [fact for fact in JAPANESE[:4] if not asks_for(read(f"{fact}しか読まない", READER), fact)] == []
    assert read("10巻以内しか買いません", READER).conditions == Conditions(volumes=Range(None, 10))


def test_fact_before_a_refusal_of_anything_with_a_tag_is_still_asked_for() -> None:
    for fact in ("shonen", "ongoing", "digital"):
        found = read(f"{fact}, I don't want anything with gore", READER)
        assert asks_for(found, fact)
        assert "without Gore" in [each.condition for each in found.understood if each.obeyed]


@pytest.mark.parametrize("said", ["mystery by a woman", "女性作家のミステリー"])
def test_wish_about_the_author_that_no_record_answers_is_reported_and_not_obeyed(said: str) -> None:
    found = read(said, READER)
    assert found.doubted
    assert any("Mystery" in each for each in found.conditions.tags)


@pytest.mark.parametrize(
    ("said", "asks"), [("a birthday present", True), ("誕生日プレゼント", True), ("horror for a friend", False)]
)
def test_present_for_an_undescribed_person_prompts_a_question(said: str, asks: bool) -> None:
    assert any("somebody else" in each for each in read(said, READER).remarks) == asks


@cases(
    ("said", "asked"),
    [
        ("a present for my niece", ["that", "how old"]),
        ("something for a ten-year-old", ["that"]),
        ("something cosy for a ten-year-old", []),
    ],
)
def test_facts_told_about_the_recipient_are_not_asked_again(said: str, asked: list[str]) -> None:
    remarks = " ".join(read(said, READER).remarks)
    assert [each for each in ("that", "how old") if f"ask {each}" in remarks or f"and {each}" in remarks] == asked


@cases("said", ["do you gift wrap", "gift wrapping", "wraps"])
def test_wrapping_a_present_is_read_as_no_series_status(said: str) -> None:
    assert not read(said, READER).conditions.statuses


def test_mood_that_the_shop_has_as_a_tag_is_a_condition(tmp_path: Path) -> None:
    file = tmp_path / "tags.toml"
    file.write_text('[tags]\n"Cosy" = {}\n', "utf-8")
    titles = NamedCatalog((Title("a-1", en="Qwxz", tags=("Iyashikei",)),))
    conditions = [
        read("something cosy", Reader(titles, vocabulary=each)).conditions for each in (load_vocabulary(file), shipped())
    ]
    assert [each.tags for each in conditions] == [(("Iyashikei",),), ()]


@cases(
    ("said", "conditions"),
    [
        ("I wouldn't touch a saga past thirty volumes", Conditions(volumes=Range(None, 30))),
        ("the set mustn't go beyond 6000 yen", Conditions(series_price=Range(None, 6000))),
        ("全巻で1万5千円以内", Conditions(series_price=Range(None, 15_000))),
        ("全巻で一万二千三百四十五円以内", Conditions(series_price=Range(None, 12_345))),
        ("a five-volume thing is a snack, I want more than five", Conditions(volumes=Range(6))),
        (
            "もう終わったやつだと語れないから嫌だ",
            Conditions(statuses=tuple(each for each in Status if each is not Status.FINISHED)),
        ),
        ("comics for under-10s", Conditions(audience=Audience.ALL_AGES)),
        ("under ten volumes", Conditions(volumes=Range(None, 9))),
    ],
)
def test_amounts_and_facts_apply_within_their_clause(said: str, conditions: Conditions) -> None:
    assert read(said, READER).conditions == conditions


@cases(
    ("said", "wanted", "refused"),
    [
        ("historical, but leave the politics out", "Historical", "Politics"),
        ("harems make me roll my eyes. Got a mystery that doesn't have one?", "Mystery", "Harem"),
        ("cooking makes me hungry, so something with horror w/o the food", "Horror", "Gourmet"),
        ("異世界はうんざり。普通のファンタジーない?", "Fantasy", "Isekai"),
    ],
)
def test_exclusion_is_no_wider_than_its_words(said: str, wanted: str, refused: str) -> None:
    found = read(said, READER)
    assert wanted in found.welcome
    left_out = " ".join(each.condition for each in found.understood if each.condition.startswith("without"))
    assert refused in left_out
    assert wanted not in left_out


def test_back_reference_excludes_the_magazine_named_before() -> None:
    assert read("花とゆめに載ってたのは姉が全部持ってる。それ以外の少女漫画", READER).conditions.without_magazines


@pytest.mark.parametrize("said", ["-romance horror", "-romance, horror, finished", "horror -romance"])
def test_minus_sign_excludes_only_the_word_it_precedes(said: str) -> None:
    found = read(said, READER).conditions
    assert ("Horror",) in found.tags
    assert "Romance" in found.without_tags
    assert "Horror" not in found.without_tags


@pytest.mark.parametrize(
    "said",
    [
        "what should I read after Berserk?", "what can I read next after Berserk", "Berserkの次に読む漫画",
        "I want something like Berserk", "I'd love a series like Berserk",
    ],
)  # fmt: skip
def test_title_to_read_something_after_or_like_is_a_title_to_be_like(said: str) -> None:
    found = read(said, a_reader((Title("b", en="Berserk"),)))
    assert found.like == ("b",)
    assert found.conditions.without_titles == ("b",)


def refuses_horror_alone(said: str) -> None:
    conditions = read(said, READER).conditions
    assert "Horror" in conditions.without_tags
    assert "Sports" not in conditions.without_tags


@cases(
    "said",
    [
        "horror puts me to sleep. Sports without it", "I hate horror. got sports with none of that",
        "my kid hates horror, sports without it please", "sports please, horror, none of that",
        "horror gives me a headache, so sports that hasn't got it", "horror I won't read, sports I will",
        "ホラーはもう読み飽きた。それ抜きのスポーツもの", "ホラーは散々読んだから違うの。スポーツとか",
    ],
)  # fmt: skip
def test_word_that_points_back_refuses_what_it_points_to(said: str) -> None:
    refuses_horror_alone(said)


@cases(
    ("said", "most"),
    [
        ("12 volumes would be too long, something shorter than that", 11),
        ("12巻以上だと読み切れない。それより短いのをください", 11),
        ("a series of more than 12 volumes won't fit", None),
        ("12巻もないのは物足りないからパス", None),
    ],
)
def test_length_that_words_point_back_to_or_deny_is_never_turned_round(said: str, most: int | None) -> None:
    conditions = read(said, READER).conditions
    assert conditions.volumes.most == most
    assert conditions.volumes.least == (12 if "もない" in said else None)


@cases("said", ["スポーツ漫画はないのか", "スポーツ漫画ないすか", "スポーツものはないかの", "スポーツ漫画はございませんか"])
def test_question_whether_there_is_one_asks_for_it(said: str) -> None:
    assert not read(said, READER).conditions.without_tags


def test_price_of_one_volume_is_no_length() -> None:
    conditions = read("700 yen for one volume at most", READER).conditions
    assert conditions.price.most == 700
    assert not conditions.volumes


def test_list_of_refusals_ends_with_its_sentence() -> None:
    assert "Comedy" not in read("no horror, comedy. drama or mystery", READER).conditions.without_tags


def test_status_behind_a_refused_theme_is_a_wish_of_its_own() -> None:
    assert read("sports no horror finished series", READER).conditions.statuses == (Status.FINISHED,)


@cases("said", ["sci-fi that began in the 90s", "sci-fi started in the nineties"])
def test_decade_in_which_a_series_began_ends(said: str) -> None:
    assert read(said, READER).conditions.years == Range(1990, 1999)


@cases("said", ["ホラーが絡まないスポーツもの", "ホラーの混ざらないスポーツ漫画", "ホラーに走らないもの"])
def test_negated_verb_that_qualifies_a_noun_refuses_its_subject(said: str) -> None:
    assert "Horror" in read(said, READER).conditions.without_tags


def test_idiom_that_praises_refuses_nothing() -> None:
    assert not read("ホラーがたまらない漫画", READER).conditions.without_tags


def test_stance_with_the_largest_sum_of_weights_is_taken() -> None:
    """In the order of `STANCES`: refused, wanted and so on. A weight may be negative."""
    weights = {"no": (40, -40, 0, 0, 0, 0), "please": (-50, 30, 0, 0, 0, 9), "loved": (0, 30, 0, 0, 0, 40)}
    model = Stances({word: pack_weights(each) for word, each in weights.items()})
    said = (["no"], ["please"], ["no", "please"], ["no", "please", "loved"], ["unheard", "loved"])
    assert [model.of(words).stance for words in said] == ["refused", "wanted", "liked", "liked", "liked"]
    assert set(model.of(["unheard"]).shares.values()) == {1 / 6}


def test_second_thought_takes_back_what_is_of_its_kind() -> None:
    assert read("I want short horror. Actually make it long", READER).conditions.volumes == Range(20)
    found = read("finished horror, actually ongoing", READER).conditions
    assert (found.statuses, found.tags) == ((Status.PUBLISHING,), (("Horror",),))


@cases(
    "said",
    [
        "ホラーを避けた漫画", "ホラーを除けば何でもいい", "ホラーを省いたスポーツもの", "ホラーは控えようかな", "ホラーは読まれへん",
        "ホラーは読まん", "ホラー好きやない", "ホラーを入れない漫画", "ホラーが混じらないもの",
    ],
)  # fmt: skip
def test_japanese_verb_refuses_in_each_inflection(said: str) -> None:
    assert "Horror" in read(said, READER).conditions.without_tags


def test_clipped_negation_turns_a_bound() -> None:
    assert read("650円より高いのは買えん", READER).conditions.price.most == 650
    assert read("10巻以上は読めへん", READER).conditions.volumes.most == 9


@cases("said", ["a story without horror bores me", "stories lacking horror are boring", "No horror? No thanks"])
def test_refused_lack_is_no_refusal(said: str) -> None:
    assert not read(said, READER).conditions.without_tags


@cases(
    "said",
    [
        "Sports. And no, no horror", "Sports? Bring it on. Horror? No", "sports, and leave the horror out of it",
        "sports, just not horror. my ex played horror", "スポーツ漫画ってある？弟がスポーツ始めたから。ホラーは無理",
    ],
)  # fmt: skip
def test_refusal_reaches_no_wish_beside_it(said: str) -> None:
    conditions = read(said, READER).conditions
    assert ("Horror" in conditions.without_tags, "Sports" in conditions.without_tags) == (True, False)
    assert conditions.tags == (("Sports",),)


def test_both_halves_of_neither_and_nor_are_one_negation() -> None:
    assert "Horror" in read("neither my wife nor I like horror", READER).conditions.without_tags
    assert not read("neither my wife nor I mind horror", READER).conditions.without_tags
    assert "Sports" in read("nobody in my family likes sports", READER).conditions.without_tags


def test_title_that_ended_a_dislike_is_liked() -> None:
    found = read("I hated sports until Berserk", a_reader((Title("b", en="Berserk"),)))
    assert found.like == ("b",)
    assert not found.conditions.without_tags


def test_wanted_group_leaves_out_what_is_asked_for_beside_it() -> None:
    titles = tuple(Title(str(i), en=f"Title {i}", tags=("War", "Military")) for i in range(2))
    assert read("war military", a_reader(titles)).conditions.tags == (("War",), ("Military",))


@cases(
    ("said", "most"),
    [("10感以内", 10), ("12巻まdえ", 12), ("3差つ以内", None), ("10話以内", None)],
)
def test_unit_of_the_same_sound_or_left_in_letters_is_read(said: str, most: int | None) -> None:
    assert read(f"ホラーで{said}", READER).conditions.volumes.most == most


@cases("said", ["少女まnが", "少女まんか゛"])
def test_syllable_left_in_pieces_is_completed(said: str) -> None:
    assert read(said, READER).conditions.genres == ("shojo",)


def test_homophone_of_except_refuses_only_behind_what_it_leaves_out() -> None:
    assert "Horror" in read("ホラーもの意外でスポーツ", READER).conditions.without_tags
    assert not read("結末が意外で面白いホラー", READER).conditions.without_tags


def test_magazine_among_keywords_needs_no_cue() -> None:
    titles = (Title("r", en="R", magazine="Ribon"), Title("n", en="N", magazine="Nakayoshi"))
    assert read("りぼん 完結", a_reader(titles)).conditions.magazines == ("Ribon",)


def test_theme_refused_with_one_qualifier_is_wished_with_another() -> None:
    reader = a_reader((Title("1", en="One", tags=("School", "Romance", "Sports")),))
    conditions = read("no school romance, I'd like a sports romance", reader).conditions
    assert "School" in conditions.without_tags
    assert ("Romance",) in conditions.tags


@cases(
    ("said", "refused"),
    [("ホラーのはなし", False), ("怖いのはなしで", True), ("ホラーはなしで", True), ("ホラーが出てくるはなし", False)],
)
def test_story_in_kana_is_no_refusal(said: str, refused: bool) -> None:
    assert ("Horror" in read(said, READER).conditions.without_tags) == refused


@cases(("said", "bound"), [("horror undr 12 volums", Range(None, 11)), ("horror les than 12 volumes", Range(None, 11))])
def test_short_bound_beside_a_number_is_read_misspelled(said: str, bound: Range) -> None:
    assert read(said, READER).conditions.volumes == bound


@cases("said", ["今いちばん人気のホラー", "ホラーを人気じゅんで"])
def test_fact_partly_in_kana_is_read(said: str) -> None:
    assert read(said, READER).ordering is Ordering.POPULARITY


def test_short_name_within_a_word_is_no_author() -> None:
    titles = (Title("1", en="One", authors=(Author("Adachi, Tachi", name_ja="たち"),), tags=("Horror",)),)
    assert read("ホラーを読む人たちの漫画", a_reader(titles)).conditions.author is None


def test_fitness_for_an_age_frees_nothing() -> None:
    assert read("my son's fifteen and into horror, so something that's ok for his age", READER).conditions.tags


@cases(
    "said",
    [
        "the customer doesn't mind horror", "he does not mind horror", "she isn't bothered by horror",
        "they don't care whether it has horror", "I can take or leave horror",
    ],
)  # fmt: skip
def test_indifference_of_anybody_is_no_refusal(said: str) -> None:
    assert not read(said, READER).conditions.without_tags


@cases(
    "said",
    [
        "non-horror sports", "no horror and plenty of sports", "without horror and with lots of sports",
        "besides horror what sports manga are there", "too old for horror, some sports please", "give horror a rest, sports please",
        "you can keep the horror, sports please", "no horror, no thanks. sports", "ホラーは今日はいいや スポーツのやつ読みたい",
    ],
)  # fmt: skip
def test_refusal_ends_where_a_wish_begins(said: str) -> None:
    refuses_horror_alone(said)


@cases(
    "said",
    [
        "no horror, no fun", "without horror it's boring", "I don't read anything but horror", "ホラーなしでは物足りない",
        "ホラーなしだとつまらない", "ホラーじゃなきゃやだ", "ホラーはどうですか", "母がホラーを読みたいそうです",
    ],
)  # fmt: skip
def test_wish_by_way_of_a_lack_or_a_question_is_a_wish(said: str) -> None:
    conditions = read(said, READER).conditions
    assert (conditions.tags, conditions.without_tags) == ((("Horror",),), ())


@cases(
    ("said", "least", "most"),
    [
        ("10 volumes is too many", None, 9), ("5 volumes is too few", 6, None), ("5 volumes isn't enough", 6, None),
        ("5 volumes is enough", None, 5), ("5巻は短すぎる", 6, None), ("20巻は長い", None, 19), ("10巻ないと嫌", 10, None),
        ("せめて10巻はないと", 10, None), ("10巻で十分", None, 10), ("多くて5巻", None, 5),
    ],
)  # fmt: skip
def test_amount_that_is_judged_becomes_a_bound(said: str, least: int | None, most: int | None) -> None:
    assert read(said, READER).conditions.volumes == Range(least, most)


@cases(("said", "years"), [("平成以降", Range(1989)), ("平成以前", Range(None, 2018)), ("2015年は古い", Range(2016))])
def test_era_or_year_keeps_its_bound(said: str, years: Range) -> None:
    assert read(f"ホラーで{said}", READER).conditions.years == years


def test_title_that_was_never_finished_is_left_out() -> None:
    found = read("I never finished Berserk", a_reader((Title("b", en="Berserk"),)))
    assert found.conditions.without_titles == ("b",)
    assert not found.conditions.statuses


def test_name_of_a_magazine_by_its_first_word_is_that_magazine_alone() -> None:
    titles = (Title("c", en="C", magazine="CoroCoro Comic"), Title("b", en="B", magazine="Big Comic"))
    assert read("コロコロはいらない", a_reader(titles)).conditions.without_magazines == ("CoroCoro Comic",)


@cases(
    "said",
    [
        "ゾンビとかホラーとか出てくるやつ", "スポーツものが読みたい、ホラーとか", "horror, over 20 volumes is fine",
        "horror over sports any day", "more horror than sports", "unless it has horror I'm not interested",
        "I'm scared of horror but want to try it", "ホラー苦手だけど挑戦してみたい", "20巻以上でも大丈夫なホラー",
        "it can be longer than 10 volumes, horror",
    ],
)  # fmt: skip
def test_example_permission_or_preference_is_no_refusal(said: str) -> None:
    conditions = read(said, READER).conditions
    assert "Horror" in {tag for group in conditions.tags for tag in group}
    assert not conditions.without_tags
    assert not conditions.volumes


@cases(
    "said",
    [
        "ホラーが苦手、ゾンビとか", "Not interested in: sports, horror", "除外:スポーツ、ホラー 希望:コメディ",
        "I usually read horror but I'd like something different", "an alternative to horror", "怖いのは…",
    ],
)  # fmt: skip
def test_refusal_by_label_habit_or_example_excludes(said: str) -> None:
    assert "Horror" in read(said, READER).conditions.without_tags


@cases(
    "said",
    ["I don't have time for long series", "長いのは読む時間がない", "長いのは飽きちゃう", "I lose interest in long series"],
)
def test_long_series_that_there_is_no_time_for_are_refused(said: str) -> None:
    assert read(said, READER).conditions.volumes == Range(None, 19)


@cases("said", ["ホラー、難しくないの", "ホラー、下品じゃないの", "ホラー、説教くさくないの"])
def test_negated_unknown_adjective_refuses_no_theme(said: str) -> None:
    assert not read(said, READER).conditions.without_tags


def test_characters_of_an_age_are_no_readers() -> None:
    assert read("高校生の話", READER).conditions.audience is None
    assert read("stories about high schoolers", READER).conditions.audience is None
    assert read("高校生の娘に", READER).conditions.audience is not None


def test_dislike_of_what_was_named_asks_for_nothing_alike() -> None:
    found = read("sports manga, I never liked it", READER)
    assert found.conditions.without_tags == ("Sports",)
    assert not found.again


def test_short_title_in_latin_letters_needs_no_edge_of_words() -> None:
    assert read("wu from 2010", a_reader((Title("w", en="Wu"),))).named == ("w",)


@cases(
    ("said", "tags", "without"),
    [
        ("a sports manga, to read until Berserk is back", (("Sports",),), ()),
        ("hated horror and loved Berserk", (), ("Horror",)),
        ("no horror, something like Berserk", (), ("Horror",)),
    ],
)
def test_title_beside_a_theme_that_it_did_not_turn_leaves_the_theme(
    said: str, tags: tuple[tuple[str, ...], ...], without: tuple[str, ...]
) -> None:
    conditions = read(said, a_reader((Title("b", en="Berserk"),))).conditions
    assert (conditions.tags, conditions.without_tags) == (tags, without)


@cases(
    ("said", "volumes"),
    [
        ("series under 10 volumes. Is that too many?", Range(None, 9)),
        ("at most 8 volumes. I don't have too much room", Range(None, 8)),
        ("one-shots are too short", Range(2)),
    ],
)
def test_judgement_turns_what_it_judges_and_nothing_of_another_sentence(said: str, volumes: Range) -> None:
    assert read(said, READER).conditions.volumes == volumes


@cases("said", ["a story about someone who can't stand ghosts", "幽霊が嫌いな霊媒師のお話", "ホラーが苦手な男の子の話"])
def test_dislike_of_a_character_refuses_nothing(said: str) -> None:
    assert not read(said, READER).conditions.without_tags


@cases("said", ["No sports for Gunther. Now sports!", "no sports, the zorbing kind bores me. Also sports"])
def test_bare_wish_after_a_refusal_is_no_talk_of_what_is_refused(said: str) -> None:
    assert read(said, READER).conditions.tags == (("Sports",),)


def test_title_only_talked_of_after_its_refusal_is_not_named() -> None:
    titles = tuple(Title(name, en=name) for name in ("Berserk", "Naruto"))
    found = read("no Naruto. The lads hum Naruto songs", a_reader(titles))
    assert found.conditions.without_titles == ("Naruto",)
    assert not found.named


@cases("said", ["ナルトみたいに怖いのは嫌", "ナルトみたいな長い漫画は無理"])
def test_title_that_measures_what_is_refused_is_no_model(said: str) -> None:
    found = read(said, a_reader((Title("n", ja="ナルト"),)))
    assert not any(each.condition.startswith("like ") for each in found.understood)


def test_rest_of_a_wanted_group_is_told_in_three_words() -> None:
    found = read("fantasy, and romance or horror or comedy or mystery or fantasy", READER)
    assert [each.condition for each in found.understood] == ["Fantasy", "Romance or Horror or Comedy"]


@cases("said", ["学園の恋愛は嫌、大人の恋愛がいい", "ファンタジーな恋愛は苦手、学校の恋愛が読みたい"])
def test_japanese_theme_refused_with_one_qualifier_is_wished_with_another(said: str) -> None:
    conditions = read(said, READER).conditions
    assert ("Romance",) in conditions.tags
    assert "Romance" not in conditions.without_tags


def test_two_refused_themes_side_by_side_are_both_refused() -> None:
    titles = (Title("1", en="One", tags=("Psychological", "Horror")),)
    conditions = read("seinen w/o the psychological horror", a_reader(titles)).conditions
    assert conditions.without_tags == ("Psychological", "Horror")


@cases("said", ["スポーツでダレたくない", "ゾンビのは棚に並べたくない"])
def test_unknown_verb_in_takunai_refuses_what_precedes_it(said: str) -> None:
    found = read(said, READER)
    assert [each.words for each in found.understood] == [said]
    assert found.conditions.without_tags


@cases("said", ["ongoing Berserk", "unfinished Berserk", "cancelled Berserk"])
def test_status_right_before_a_title_is_no_condition(said: str) -> None:
    assert not read(said, a_reader((Title("b", en="Berserk"),))).conditions.statuses


@cases("said", ["the sports ones with no horror, and no gore", "sports with no horror please, and no gore."])
def test_no_before_an_item_is_never_doubted(said: str) -> None:
    found = read(said, READER)
    assert "Horror" in found.conditions.without_tags
    assert all(each.obeyed for each in found.understood)


@cases(
    ("said", "volumes"),
    [("10巻以内でグロいのは苦手", Range(None, 10)), ("10巻以内、ホラーっぽいのは苦手です", Range(None, 10))],
)
def test_refusal_behind_a_bound_leaves_the_bound(said: str, volumes: Range) -> None:
    assert read(said, READER).conditions.volumes == volumes


@cases("said", ["she is 8, something with sports", "he is 8 now, sports", "she is now 8, sports please"])
def test_age_behind_a_pronoun_is_read(said: str) -> None:
    assert read(said, READER).conditions.audience is Audience.ALL_AGES


def test_author_or_title_that_is_fine_again_is_refused_no_longer() -> None:
    titles = (Title("b", en="Berserk", authors=(Author("Miura, Kentaro"),)),)
    for said in ("not by Kentaro Miura. Actually, Kentaro Miura is fine", "no Berserk. okay, Berserk is fine after all"):
        conditions = read(said, a_reader(titles)).conditions
        assert (conditions.without_authors, conditions.without_titles, conditions.author) == ((), (), None)
