"""Reads the themes, the mood or the search words of a customer's request, beside its conditions."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from itertools import chain

from tools.conditions.wanted import Want
from tools.store.audience import tags_for_older_readers
from tools.store.search.query.parsed import Tone, ToneTable
from tools.store.search.query.themes import Theme, ThemeTable
from tools.store.search.text.characters import normalise

_EN = (
    r"\b(?:somethings?|anything|everything|stuff|one|i|i'd|i'll|i'm|im|i've|we|you|your|he|she|they|it|its|this|that|these|who|what|which|"
    r"would|will|should|could|can|may|might|do|does|did|have|has|had|be|is|are|am|was|been|feel|feels|feeling|feelin|get|gets|"
    r"like|likes|liked|love|loves|enjoy|enjoys|want|wants|wanna|need|needs|into|fan|read|reads|reading|reader|next|now|today|tonight|"
    r"a|an|the|of|for|to|and|or|in|on|at|with|me|my|mine|our|his|her|their|some|any|all|more|new|else|so|really|very|"
    r"good|great|nice|best|cool|fun|decent|interesting|favou?rites?|popular|top|random|surprise|surprises|recommend|recommended|recommends|"
    r"recommendations?|suggest|suggestions?|please|pick|picks|choose|choice|show|find|give|tell|bring|buy|help|looking|look|"
    r"mangas?|comics?|books?|series|titles?|story|stories|volumes?|taste|based|history|purchases|know|think|never|mood|just|about|"
    r"gifts?|presents?|birthday|christmas|someone|somebody|person|people|ever|before|after|had|day|night|makes?|made|up)\b"
)
_JA = (
    r"おすすめ|お勧め|お薦め|オススメ|教えて|おしえて|ください|下さい|くれる|ほしい|欲しい|何か|なにか|なんか|何|面白い|おもしろい|面白そう|いい|良い|よい"
    r"|好きそう|好き|気に入り|気に入る|読みたい|読める|読む|読もう|選んで|探して|お任せ|おまかせ|任せる|びっくりさせて|驚かせて|ありますか|ある|適当に"
    r"|なんでも|何でも|合う|合いそう|私|わたし|僕|ぼく|俺|自分|次|今|今日|夜|話|物語|もの|やつ|作品|漫画|マンガ|まんが|コミック|本|人気|最高|気分|したい|なりたい|たい"
    r"|プレゼント|贈り物|誕生日|です|ます|する|して|した|ない|そうな|ような|みたい|よう|に|の|を|が|は|で|な|と|も|へ|か|だ|よ|ね|から|まで"
)
_SAYS_NOTHING = re.compile(rf"{_EN}|{_JA}")
_POSSESSIVE = re.compile(r"(?<=\w)'s?\b")
_BETWEEN = re.compile(r"[\W_]+|\b\d{1,2}\b")


def content(text: str) -> str:
    """Returns the text without filler words; "" if the customer names no subject. Takes linear time."""
    said = _POSSESSIVE.sub("", text)
    return _BETWEEN.sub(" ", _SAYS_NOTHING.sub(" ", said)).strip()


@dataclass(frozen=True, slots=True)
class Wish:
    """A request for recommendations: a search request, with its themes and moods as tags. `search`: words to search by;
    "" if the request names liked titles, or no subject, or if themes and moods cover most of the text. `wanted`, `mood`
    and `unwanted`: tags, as in `ReaderQuery`."""

    want: Want
    search: str
    wanted: tuple[tuple[str, ...], ...]
    mood: tuple[str, ...]
    unwanted: tuple[str, ...]

    @property
    def asks(self) -> bool:
        """True if the request has words, themes or liked titles that a result can fit."""
        return bool(self.search or self.themes or self.want.like)

    @property
    def like_one(self) -> bool:
        """True if the customer asks for titles like a single one, and for no theme."""
        return len(self.want.like) == 1 and not self.themes

    @property
    def themes(self) -> frozenset[str]:
        """All tags of the requested themes and moods."""
        return frozenset((*chain.from_iterable(self.wanted), *self.mood))


def wish_of(want: Want, tags: Container[str]) -> Wish:
    """Reads the themes and moods of a search request. `tags`: the catalogue's tags; a theme with none of these tags is
    searched for by its words."""
    text = normalise(want.beside if want.like else want.text)
    tones, rest = ToneTable.load().read(text)
    said = content(rest)
    themes = [each for each in ThemeTable.load().themes(rest) if any(tag in tags for tag in each.tags)]
    wanted = dict.fromkeys(tuple(tag for tag in each.tags if tag in tags) for each in themes)
    mood = dict.fromkeys(tag for tone in tones for tag in tone.wanted if tag in tags)
    # Words that are mostly themes would match names: only the tags are searched for.
    searched = "" if want.like or not said or _share(themes, said) >= 0.7 else rest
    return Wish(
        want=want,
        search=" ".join(searched.split()),
        wanted=tuple(wanted),
        mood=tuple(mood),
        unwanted=_list_unwanted_tags(tones, {*chain.from_iterable(wanted), *mood}, another=want.another),
    )


def _share(themes: list[Theme], said: str) -> float:
    named = sum(len(each.phrase.replace(" ", "")) for each in themes)
    return named / len(said.replace(" ", ""))


def _list_unwanted_tags(tones: tuple[Tone, ...], asked: Container[str], *, another: bool) -> tuple[str, ...]:
    """Returns the tags that contradict a mood that is asked for and, if somebody other than the customer will read the
    manga (`another`), those of titles for older teens and adults. Omits the tags in `asked`."""
    wrong = [*chain.from_iterable(tone.unwanted for tone in tones), *(sorted(tags_for_older_readers()) if another else ())]
    return tuple(dict.fromkeys(tag for tag in wrong if tag not in asked))
