"""Parses free text to a `ParsedQuery`. Nicknames of well-known manga are in aliases.json, a table written for this project.
It maps nicknames to names of titles, not to ids, so that it works with any catalogue."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tools.store.models import Ordering
from tools.store.search.query.parsed import GENRE_WORDINGS, ParsedQuery, ToneTable
from tools.store.search.query.themes import Theme, ThemeTable
from tools.store.search.text.characters import has_cjk, normalise
from tools.store.search.text.readings import Dictionary, readings
from tools.store.search.text.romaji import sound, sound_key
from tools.store.search.text.tokens import stem, words
from tools.store.search.titles.document import AskedName
from tools.store.tags import Vocabulary, shipped

MOST_NAMES = 16
"""Most names that the nicknames among a query's words are expanded to. The search looks for each of these names."""


@dataclass(frozen=True, slots=True)
class AliasTable:
    """Maps the sound key of a nickname to the sound keys of the names that it stands for. Titles may share a nickname."""

    names: Mapping[str, tuple[str, ...]]

    @classmethod
    @cache
    def load(cls) -> AliasTable:
        entries = json.loads(files("tools.store.search.query").joinpath("aliases.json").read_text(encoding="utf-8"))
        table: dict[str, tuple[str, ...]] = {}
        for entry in entries:
            keys = tuple(dict.fromkeys(sound_key(t) for t in entry["titles"]))
            for nickname in (*entry["nicknames"], *filter(has_cjk, entry["titles"])):
                key = sound_key(nickname)
                table[key] = tuple(dict.fromkeys((*table.get(key, ()), *keys)))
        return cls(table)

    def expand(self, text: str) -> tuple[str, ...]:
        """Returns sound keys of the names that the whole text is a nickname of. If there are none, returns the names for the
        text's longer words, at most `MOST_NAMES`."""
        whole = self.names.get(sound_key(text))
        if whole is not None:
            return whole
        keys = [key for key in map(sound_key, sound(text).split()) if len(key) >= (3 if has_cjk(key) else 4)]
        found = [self.names[key] for key in keys if key in self.names]
        return tuple(dict.fromkeys(name for names in found for name in names))[:MOST_NAMES]


_ADJECTIVE = r"(?:the |your |a )?"
WORDINGS = {
    Ordering.POPULARITY: re.compile(
        rf"\b{_ADJECTIVE}(?:most|more) (?:popular|read|famous|loved)\b|\b{_ADJECTIVE}best[- ]?sell(?:ing|ers?)\b"
        r"|\b(?:sorted |ordered )?by popularity\b|\bpopular(?= (?:sh[oō]u?(?:nen|jo)|seinen|josei|kodomo)\b)"
        r"|(?:一番|最も|いちばん)?人気の?(?:順|ランキング|が(?:ある|高い)|の高い|no\.?1|ナンバーワン)(?:の|に|で)?|(?:一番|最も|いちばん)人気の?"
        r"|人気の?(?=(?:少年|少女|青年|女性|児童|子供)(?:漫画|マンガ|コミック))|売れ筋の?|売れている|ベストセラーの?"
    ),
    Ordering.RATING: re.compile(
        rf"\b{_ADJECTIVE}(?:best|highest|top)[- ](?:rated|reviewed|scor(?:ed|ing)|ranked)\b"
        r"|\b(?:sorted |ordered )?by rating\b"
        r"|(?:一番|最も|いちばん)?(?:高評価|評価の高い|評価が高い|高得点)の?|評価順(?:の|に|で)?"
    ),
    Ordering.NEWEST: re.compile(
        rf"\b{_ADJECTIVE}(?:newest|latest|most recent)\b|\bnew releases?\b|\bnewest first\b"
        r"|新しい順(?:の|に|で)?|最新(?:作|刊)?の?|新着の?|新[作刊]の?"
    ),
}


def read_ordering(text: str) -> tuple[Ordering | None, str]:
    """Returns the first ordering that a normalised text asks for, and the text without the words for this ordering. If the
    text asks for none, returns None and the whole text."""
    named = {ordering: match for ordering, wording in WORDINGS.items() if (match := wording.search(text))}
    if not named:
        return None, text
    first = min(named, key=lambda ordering: named[ordering].start())
    return first, " ".join(WORDINGS[first].sub(" ", text).split())


_JA_WORK = "(?:漫画|マンガ|まんが|コミックス?|作品|本)"
_JA_ASKING = (
    "(?:が読みたい(?:です)?|を探して(?:います|いる)?|を教えて(?:ください)?|(?:って|は)?(?:あり|置いてい?)ますか?(?=[。?]|$)"
    "|(?:って|は)?(?:ある|置いてい?る)(?=[?])|ください|下さい)"
)
_EN_WORK = "(?:mangas?|comics?|works?|series|titles?|books?|stuff|something|anything|everything|stories)"

_OCCASION = (
    r"(?<!wait )(?<!waits )(?<!waiting )(?<!search )(?<!searching )for (?:an?|the|my|our|this|these)(?: [a-z]+)?"
    r" (?:train|plane|flight|bus|trip|ride|journey|commute|weekend|holidays?|vacation|beach|night|evening|afternoon|day)"
    r"(?: ride| trip| home)?(?=$|[,.;:!?])"
)
"""The occasion of reading ("for a train ride"), which is no part of a story."""
_FILLER_EN = re.compile(
    rf"\b(?:please|{_OCCASION}|pls|plz|thx|(?:manga|comics?) by|^by|(?:can|could) you"
    r"|^(?:show|find|give|get|recommend|suggest)(?: me)?"
    r"|i(?:'m| am)? (?:want|need|like|looking for|would like)(?: to read)?|looking for|do you have"
    r"|any|some|of all time|in stock"
    r"|(?:an? )?(?:mangas? )?for (?:an? )?(?:beginners?|newcomers?)|(?:mangas? )?to (?:read|start with)"
    r"|(?:good|great|best|popular|famous|top)(?= \w*\s?(?:manga|comic|series|book|title))"
    r"|mangas?|manhwa|comics?|series|titles?|(?:a )?(?:story|stories|one) (?:about|where|with|of)|books?)\b"
)
_FILLER_JA = re.compile(
    rf"(?:の|な)?{_JA_WORK}(?:{_JA_ASKING}|を|は|が)?$"
    r"|(?:おすすめ|オススメ|お勧め|人気|面白い|おもしろい|名作)(?:の|な)?"
    r"|初心者(?:向け|におすすめ)?の?|(?:の話|の物語|もの|やつ|物|系|ジャンル)$"
    rf"|{_JA_ASKING}[。?？]?$"
)
_VOLUME = re.compile(
    r"\b(?:vol(?:ume)?s?\.? ?#?\d+(?: of\b)?|#\d+|box ?set"
    r"|(?:the )?(?:final|last|latest|next) volumes?(?: of\b)?)\b"
    r"|(?<=\w )vol(?:ume)?s?\b\.?$|第?\d+巻|全巻(?:セット)?|単行本|の(?:最終|最新)巻"
)

_REASON_JA = re.compile(
    r"^(?P<why>[^。]{1,40}?(?:[たるいだな]|です|ます)(?<!好きな|好きだ|くらい|ぐらい)(?:ので|から))[、, ]*(?P<wish>.{2,})$"
)
"""The reason for the wish that follows: 仕事で疲れたので、癒し系. A liking is not a reason but the wish itself."""

_BY = re.compile(
    rf"^(?:.*\b)?{_EN_WORK} (?:written |drawn |created |made )?(?:by|from) (?P<a>.+)$"
    r"|^(?:written |drawn |created )?by (?P<b>.+)$"
    rf"|^(?P<c>.+?)(?:'s|s'|') (?:other |latest |new )?{_EN_WORK}$"
    r"|^(?:author|mangaka|artist):? (?P<d>.+)$"
)
_BY_JA = re.compile(
    rf"^(?P<a>.{{2,14}}?)(?:先生|さん|氏)?(?:の|が(?:描|書)いた)(?:他の|ほかの|新しい)?{_JA_WORK}$"
    r"|^作[者家] ?[:はが]? ?(?P<b>.+)$|^(?P<c>.{2,14})先生$"
)
_SAME_AUTHOR = re.compile(
    r"^(?P<a>.+?)(?:の|を描いた|を書いた)(?:作者|作家|著者|漫画家)(?:さん|先生)?(?:の.*|が.*)?$"
    r"|(?:by|from) the (?:same )?(?:author|creator|artist|mangaka|writer) (?:of|as|who (?:wrote|drew|made)) (?P<b>.+)$"
    rf"|^(?:author|creator|mangaka) of (?P<c>.+)$|^other {_EN_WORK} by the (?:author|creator|mangaka) of (?P<d>.+)$"
)
_SIMILAR = re.compile(
    rf"^(?:.*\b)?(?:similar to|(?:{_EN_WORK}|more) like) (?P<a>.+)$"
    rf"|^(?P<b>.+?)(?:みたいな|のような|に似た|に似ている|っぽい)(?:{_JA_WORK}|話|もの|の|やつ)?.*$"
)
_LONGEST = 400
_STORY = frozenset(map(stem, ("story", "stories", "tale", "tales")))
_BESIDE_ITS_AUTHOR = re.compile(r"^(?P<name>.{4,60}) by (?:[a-z.'-]+ ?){1,3}$")
_LAST_NUMBER = re.compile(r"(?<=\w) \d{1,3}$")


class QueryParser:
    """Parses queries by tables of nicknames, themes and moods. Stateless, so safe to share between threads."""

    def __init__(self, vocabulary: Vocabulary | None = None) -> None:
        """Uses the shipped tables, and the shop's own words for tags if `vocabulary` has any. The first call reads the
        files, so that no query waits for them."""
        Dictionary.load()
        own = (vocabulary or shipped()).own
        self._aliases, self._tones = AliasTable.load(), ToneTable.load()
        self._themes = ThemeTable.load().with_phrases({tag: (tag, *rule.synonyms) for tag, rule in own.items()})

    def parse(self, query: str, author: str | None = None, groups: Sequence[tuple[str, ...]] = ()) -> ParsedQuery:
        """Parses a query. `author` is the author that the conditions require: a subject that only repeats this name is
        dropped. The conditions require one tag of each of `groups`: themes within one group count as one theme."""
        whole = normalise(query[:_LONGEST])
        ordering, text = read_ordering(whole)
        text = self._wish(text)
        subject = without_filler(text)
        if author is not None and _says_again(_asked_author(text) or subject, author):
            subject = ""
        same_author_as, similar_to = _first(_SAME_AUTHOR, text), _first(_SIMILAR, text)
        moods, beside = self._tones.read(text)
        themes = self._themes.themes(beside)
        genre = next((genre for genre, wording in GENRE_WORDINGS.items() if wording.search(text)), None)
        return ParsedQuery(
            text=text,
            subject=subject,
            names=_keys(whole, subject) if subject else (),
            aliases=self._aliases.expand(subject),
            author=None if same_author_as else _asked_author(text),
            same_author_as=same_author_as,
            similar_to=None if same_author_as else similar_to,
            themes=tuple(dict.fromkeys(_join(theme.tags, groups) for theme in themes)),
            moods=moods,
            theme_share=_share(themes, subject, without_filler(beside) if moods else subject, genre),
            genre=genre,
            terms=tuple(dict.fromkeys(words(subject))),
            translated=self._themes.english(subject),
            readings=readings(subject),
            ordering=ordering,
        )

    def _wish(self, text: str) -> str:
        """Drops a reason that describes a mood if the wish after it names a mood or a theme: 仕事で疲れたので癒し系 ("tired
        from work, so something soothing") asks for nothing about work. Other reasons stay, since they may be the subject."""
        found = _REASON_JA.search(text)
        if found is None or not self._tones.read(found["why"])[0]:
            return text
        moods, beside = self._tones.read(found["wish"])
        return found["wish"] if moods or self._themes.themes(beside) else text


def whole_names(text: str) -> list[str]:
    """Returns the normalised text, with and without filler words, to be looked up as a name."""
    said = normalise(text)
    return list(dict.fromkeys(filter(None, (said, without_filler(said)))))


def without_filler(text: str) -> str:
    """Returns `text`, which must be normalised, without filler words, volume numbers, and punctuation at its ends; may be
    empty."""
    subject = _VOLUME.sub(" ", text)
    subject = _FILLER_JA.sub(" ", _FILLER_EN.sub(" ", subject))
    return " ".join(subject.split()).strip(' ,.:;!?。、！？「」『』"')


def _join(tags: tuple[str, ...], groups: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return next((group for group in groups if set(tags) <= set(group)), tags)


def _share(themes: tuple[Theme, ...], subject: str, unfelt: str, genre: str | None) -> float:
    """Returns the share of the subject's letters that name themes or moods, 0 to 1. Words for the genre do not count; a
    subject of such words alone has share 1. `unfelt` is the subject without words for moods."""
    content, beside = _content(subject, genre), _content(unfelt, genre)
    named = len(content) - len(beside) + sum(len(theme.phrase.replace(" ", "")) for theme in themes)
    return min(1.0, named / len(content)) if content else float(bool(themes or genre))


def _content(subject: str, genre: str | None) -> str:
    rest = GENRE_WORDINGS[genre].sub(" ", subject) if genre else subject
    return rest.replace(" ", "") if has_cjk(rest) else "".join(word for word in words(rest) if word not in _STORY)


def _keys(text: str, subject: str) -> tuple[str, ...]:
    """Returns sound keys by which to look for a title with this name: those of the subject, of the text without volume
    numbers, of the subject without a number at its end ("One Piece 112"), and of the subject without an author ("berzerk
    by kentaro mura"). Adds the letters of a Latin subject as they are, since sound keys change the letters of a typo."""
    beside = _BESIDE_ITS_AUTHOR.match(subject)
    asked = (subject, _VOLUME.sub(" ", text), _LAST_NUMBER.sub("", subject), *((beside["name"],) if beside else ()))
    plain = "".join(c for c in subject if c.isalnum()) if subject.isascii() else ""
    keys = (*(sound_key(a) for a in asked), plain)
    return tuple(dict.fromkeys(k for k in keys if len(k) > 1 or len(subject) <= len(k)))


def _says_again(asked: str, author: str) -> bool:
    said, name = AskedName(asked), AskedName(author)
    if not said.words:
        return False
    return set(said.words) <= set(name.words) or name.key.startswith(said.key)


def _asked_author(text: str) -> str | None:
    return _first(_BY, text) or _first(_BY_JA, text)


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    found = next((g for g in match.groups() if g), None) if match else None
    return found.strip(' 「」『』"?!。') if found else None
