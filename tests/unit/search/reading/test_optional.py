"""What is said to be no requirement states no condition, and takes back what was asked for before."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.reading import a_reader, read
from tools.store.models import Audience, Conditions, Range, Status, Title

FINISHED, RUNNING = Conditions(statuses=(Status.FINISHED,)), Conditions(statuses=(Status.PUBLISHING,))
EITHER = Conditions(statuses=(Status.FINISHED, Status.PUBLISHING))
LEFT_OVER = ("fine", "okay", "doesn't", "don't", "matter", "need", "いい", "問", "構", "大丈夫", "気に", "なく")


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("やっぱり完結していなくてもいい", ""),
        ("完結してなくていいので、料理漫画を教えて", "料理"),
        ("完結済みでなくても構わないので推理もの", "推理"),
        ("完結しているかどうかは問いません。スポーツ漫画", "スポーツ"),
        ("連載中でもいいのでファンタジー", "ファンタジー"),
        ("未完でも大丈夫です、戦国時代の漫画", "戦国"),
        ("完結でも連載中でもどちらでもいい、ラブコメ", "ラブコメ"),
        ("完結済みで、いや完結してなくてもいいや、音楽漫画", "音楽"),
        ("終わってなくてもいいからホラー", "ホラー"),
        ("在庫切れでもいいから猫の漫画", "猫"),
        ("在庫の有無は問わない、将棋の漫画", "将棋"),
        ("すぐ買えるものじゃなくてもいい、医療漫画", "医療"),
        ("短くなくてもいいので歴史もの", "歴史"),
        ("長くてもいいので冒険もの", "冒険"),
        ("長編でも大丈夫、バトル漫画", "バトル"),
        ("巻数は問わないので泣ける漫画", "泣ける"),
        ("5巻以内じゃなくてもいい、ミステリー", "ミステリー"),
        ("読み切りでもいいので怖い話", "怖い"),
        ("高くてもいいので画集みたいに絵が綺麗な漫画", "絵が綺麗"),
        ("値段は気にしない、宇宙の漫画", "宇宙"),
        ("予算は問いません。恋愛もの", "恋愛"),
        ("600円以下じゃなくても構わない、グルメ漫画", "グルメ"),
        ("子供向けじゃなくてもいい、動物の漫画", "動物"),
        ("年齢は気にしなくていい、冒険", "冒険"),
        ("新しくなくてもいいのでロボットもの", "ロボット"),
        ("古くてもいいです、少女が主人公のファンタジー", "ファンタジー"),
        ("電子書籍でもいいので学園もの", "学園"),
        ("評価は高くなくてもいい、ギャグ漫画", "ギャグ"),
        ("高評価じゃなくてもいいからゾンビもの", "ゾンビ"),
        ("休載中でもいい、ダークファンタジー", "ファンタジー"),
        ("打ち切りでも構いません、忍者", "忍者"),
        ("全巻揃ってなくてもいいからバスケ漫画", "バスケ"),
        ("it need not be finished after all", ""),
        ("actually not finished is fine", ""),
        ("mystery, it doesn't have to be finished", "mystery"),
        ("fantasy that doesn't need to be complete", "fantasy"),
        ("sports manga, finished or not, i don't mind", "sports"),
        ("ongoing is ok too, something with cooking", "cooking"),
        ("completed horror. actually it doesn't have to be completed", "horror"),
        ("i don't care whether it's finished, space opera", "space opera"),
        ("i don't care if it's finished or ongoing, space opera", "space opera"),
        ("cooking manga, whether finished or ongoing", "cooking manga"),
        ("i don't mind if it's paper or digital, horror", "horror"),
        ("it doesn't have to be short or finished, horror", "horror"),
        ("it need not be finished or i wait, horror", "i wait, horror"),
        ("no need for it to be finished, samurai manga", "samurai"),
        ("not necessarily finished, vampire romance", "vampire"),
        ("unfinished is okay, pirates", "pirate"),
        ("thriller, even if it is still running", "thriller"),
        ("i don't mind ongoing series, as long as there are dragons", "dragons"),
        ("i'm fine with unfinished series, detective stories", "detective"),
        ("on hiatus is fine, dark fantasy", "dark fantasy"),
        ("it doesn't have to be in stock, basketball manga", "basketball"),
        ("out of stock is fine, medical drama", "medical"),
        ("doesn't need to be available right now, cat manga", "cat"),
        ("length doesn't matter, time travel", "time travel"),
        ("it need not be short, historical", "historical"),
        ("long is fine, adventure", "adventure"),
        ("a long series is fine too, isekai", "isekai"),
        ("doesn't have to be under 10 volumes, music manga", "music"),
        ("one-shots are fine too, ghost stories", "ghost"),
        ("any price, robots", "robots"),
        ("expensive is ok, cyberpunk", "cyberpunk"),
        ("it doesn't have to cost less than 600 yen, food manga", "food"),
        ("it doesn't have to be for kids, animals", "animals"),
        ("old is fine, baseball", "baseball"),
        ("it doesn't have to be recent, spy comedy", "spy"),
        ("digital is fine too, school romance", "school"),
        ("doesn't have to be digital, idols", "idol"),
        ("it doesn't have to be highly rated, zombies", "zombies"),
        ("finished preferred but not required, cooking", "cooking"),
        ("finished isn't necessary, ninja manga", "ninja"),
        ("finished or ongoing, either is fine, tennis", "tennis"),
    ],
)
def test_it_states_no_condition_and_is_no_subject(text: str, subject: str) -> None:
    reading = read(text)
    assert (reading.conditions, reading.ordering) == (Conditions(), None)
    assert subject in reading.subject if subject else reading.vague
    assert not any(word in reading.subject for word in LEFT_OVER)


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("完結済みの野球漫画。やっぱり連載中でもいいです", EITHER),
        ("finished romance. well, ongoing is fine too", EITHER),
        ("i'd prefer finished, but ongoing works too", EITHER),
        ("5巻以内で完結してなくてもいいミステリー", Conditions(volumes=Range(None, 5))),
        ("under 600 yen, but it need not be finished", Conditions(price=Range(None, 599))),
        ("short series. long is fine too", Conditions()),
        ("在庫があるもの、予約でもいい", Conditions()),
        ("at most 5 volumes, well, length doesn't matter", Conditions()),
        ("3巻以内。いや10巻まででもいい", Conditions(volumes=Range(None, 10))),
        ("finished ones. it need not be in stock", FINISHED),
        ("not cancelled. ongoing is fine", Conditions(statuses=(Status.FINISHED, Status.PUBLISHING, Status.HIATUS))),
        ("for my niece who is 8, it doesn't have to be for kids", Conditions(audience=Audience.ALL_AGES)),
        ("family friendly. actually it need not be family friendly", Conditions()),
    ],
)
def test_it_takes_back_what_was_asked_for_of_the_same_matter(text: str, stated: Conditions) -> None:
    assert read(text).conditions == stated


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("finished, ok?", FINISHED),
        ("anything finished is fine, romance", FINISHED),
        ("it has to be finished", FINISHED),
        ("完結していれば何でもいい", FINISHED),
        ("連載中じゃなくて完結したファンタジー", FINISHED),
        ("完結済み、紙か電子はどちらでもいい", FINISHED),
        ("ongoing is fine but i want finished", FINISHED),
        ("up to 10 volumes is fine", Conditions(volumes=Range(None, 10))),
        ("2000円まででいい", Conditions(price=Range(None, 2000))),
        ("i wouldn't mind a short series", Conditions(volumes=Range(None, 5))),
        ("it can be finished in a weekend", Conditions(volumes=Range(None, 5))),
        ("new cool manga", Conditions(years=Range(2021, None))),
        ("it shouldn't be ongoing", Conditions(statuses=(Status.FINISHED, Status.HIATUS, Status.DISCONTINUED))),
    ],
)
def test_what_only_sounds_like_it_is_a_condition(text: str, stated: Conditions) -> None:
    assert read(text).conditions == stated


@pytest.mark.parametrize(
    "text", ["love at any cost", "年齢は関係ない恋", "新しくていい漫画", "long hair is fine", "an old man is fine as a hero"]
)
def test_stories_have_the_words_as_well(text: str) -> None:
    reading = read(text)
    assert (reading.conditions, reading.freedoms, reading.subject) == (Conditions(), (), text)


@pytest.mark.parametrize(
    "names",
    [{"en": "Finished Is Fine"}, {"en": "I Don't Mind Long Nights"}, {"ja": "未完でもいい恋"}, {"ja": "古くてもいいから"}],
)
def test_names_with_such_words_stay_names(names: dict[str, Any]) -> None:
    (name,) = names.values()
    reading = read(name, a_reader((Title("x-1", **names),)))
    assert (reading.freedoms, reading.understood, reading.subject) == ((), (), name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("やっぱり完結していなくてもいい", ["not necessarily finished"]),
        ("finished romance, well, ongoing is fine too", ["finished or still running", "still running is fine"]),
        ("at most 5 volumes, well, up to 10 is fine", ["at most 5 volumes"]),
        ("price doesn't matter, romance", []),
        ("恋愛じゃなくてもいい、スポーツ", ["not necessarily 恋愛"]),
    ],
)
def test_the_answer_says_what_was_understood(text: str, said: list[str]) -> None:
    assert [each.condition for each in read(text).understood] == said
