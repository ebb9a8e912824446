"""Free text to a `Reading`: what is asked for, without the words that only ask."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tools.search.aliases import AliasTable
from tools.search.romaji import sound, sound_key
from tools.search.text import has_cjk, normalise
from tools.search.themes import Theme, ThemeTable
from tools.search.tokens import words

_FILLER_EN = re.compile(
    r"\b(?:please|(?:manga|comics?) by|^by|(?:can|could) you|^(?:show|find|give|get|recommend|suggest)(?: me)?|i(?:'m| am)? (?:want|need|like|looking for|would like)(?: to read)?|"
    r"looking for|do you have|any|some|(?:good|great|best|popular|famous|top)(?= \w*\s?(?:manga|comic|series|book|title))|"
    r"mangas?|manhwa|comics?|series|titles?|(?:a )?(?:story|stories|one) (?:about|where|with|of)|books?)\b"
)
_FILLER_JA = re.compile(
    r"(?:の|な)?(?:漫画|マンガ|まんが|コミックス?|作品|本)(?:が読みたい|を探して(?:います|いる)?|を教えて(?:ください)?|はありますか|ありますか|ください|を|は|が)?$|"
    r"(?:おすすめ|オススメ|お勧め|人気|面白い|おもしろい|名作)(?:の|な)?|(?:の話|の物語|もの|物|系|ジャンル)$|"
    r"(?:が読みたい(?:です)?|を探して(?:います|いる)?|を教えて(?:ください)?|はありますか|ありますか|ください|下さい)[。?？]?$"
)
_VOLUME = re.compile(r"\b(?:vol(?:ume)?s?\.? ?#?\d+|#\d+|box ?set)\b|第?\d+巻|全巻(?:セット)?|単行本")
_BY = re.compile(
    r"^(?:.*\b)?(?:manga|comics?|works?|series|titles?|books?|stuff|something|anything|everything|stories) (?:written |drawn |created |made )?(?:by|from) (?P<a>.+)$"
    r"|^(?:written |drawn |created )?by (?P<b>.+)$"
    r"|^(?P<c>.+?)(?:'s|s'|') (?:other |latest |new )?(?:manga|comics?|works?|series|titles|books)$"
    r"|^(?:author|mangaka|artist):? (?P<d>.+)$"
)
_BY_JA = re.compile(
    r"^(?P<a>[^のが]{2,12}?)(?:先生|さん|氏)?(?:の|が(?:描|書)いた)(?:他の|ほかの|新しい)?(?:漫画|マンガ|まんが|コミック|作品|本)$"
    r"|^作[者家] ?[:はが]? ?(?P<b>.+)$|^(?P<c>[^の]{2,12})先生$"
)
_SAME_AUTHOR = re.compile(
    r"^(?P<a>.+?)(?:の|を描いた|を書いた)(?:作者|作家|著者|漫画家)(?:さん|先生)?(?:の.*|が.*)?$"
    r"|(?:by|from) the (?:same )?(?:author|creator|artist|mangaka|writer) (?:of|as|who (?:wrote|drew|made|created)) (?P<b>.+)$"
    r"|^(?:author|creator|mangaka) of (?P<c>.+)$|^other (?:manga|works?) by the (?:author|creator|mangaka) of (?P<d>.+)$"
)
_SIMILAR = re.compile(
    r"^(?:.*\b)?(?:similar to|(?:manga|something|anything|series|stories|more) like) (?P<a>.+)$"
    r"|^(?P<b>.+?)(?:みたいな|のような|に似た|に似ている|っぽい)(?:漫画|マンガ|作品|話|もの|の|やつ)?.*$"
)
_GENRES = {
    "shonen": r"\bsh[oō]u?nen\b(?! ai)|少年(?:漫画|マンガ|誌|向け)",
    "seinen": r"\bseinen\b|青年(?:漫画|マンガ|誌|向け)",
    "shojo": r"\bsh[oō]u?jo\b(?! ai)|少女(?:漫画|マンガ|誌|向け)",
    "josei": r"\bjosei\b|女性(?:漫画|マンガ|誌|向け)",
    "kodomo": r"\bkodomo\b|for kids|児童|子供向け|子ども向け",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What a query asks for. Keys are sound keys (tools.search.romaji); `terms` are index terms (tools.search.tokens).

    `names`: the query as a name, with and without filler. `aliases`: names it is a nickname of. `author`: a name that the wording
    says is an author's. `same_author_as` / `similar_to`: a title the wording points from. `themes`: for each theme named, the tags
    that satisfy it; `theme_share`: how much of the query they are. `length`: content words, about 1–4 for names and 5 and more for descriptions (CJK: characters / 3).
    """

    text: str
    core: str
    names: tuple[str, ...]
    aliases: tuple[str, ...]
    author: str | None
    same_author_as: str | None
    similar_to: str | None
    themes: tuple[tuple[str, ...], ...]
    theme_share: float
    genre: str | None
    terms: tuple[str, ...]
    translated: tuple[str, ...]
    length: float

    @property
    def empty(self) -> bool:
        """Nothing is left after the filler: any title will do, the popular ones first."""
        return not self.names


class QueryReader:
    """Reads queries with the shipped tables. Holds no state of its own; safe to share between threads."""

    def __init__(self, aliases: AliasTable, themes: ThemeTable) -> None:
        self._aliases = aliases
        self._themes = themes

    @classmethod
    def load(cls) -> QueryReader:
        """With the shipped tables. Reads two files: call it once, at start."""
        return cls(AliasTable.load(), ThemeTable.load())

    def read(self, query: str) -> Reading:
        text = normalise(query)
        core = without_filler(text)
        pointed = _first(_SAME_AUTHOR, text), _first(_SIMILAR, text)
        themes = self._themes.themes(text)
        return Reading(
            text=text,
            core=core,
            names=_keys(text, core) if core else (),
            aliases=self._aliases.expand(core),
            author=None if pointed[0] else _asked_author(text),
            same_author_as=pointed[0],
            similar_to=None if pointed[0] else pointed[1],
            themes=tuple(dict.fromkeys(theme.tags for theme in themes)),
            theme_share=_share(themes, core),
            genre=next((g for g, pattern in _GENRES.items() if re.search(pattern, text)), None),
            terms=tuple(dict.fromkeys(words(core))),
            translated=tuple(dict.fromkeys(w for phrase in self._themes.english(core) for w in words(phrase))),
            length=_length(core),
        )


def without_filler(text: str) -> str:
    """`text` (normalised) without the words that ask, without volume numbers; possibly empty."""
    core = _VOLUME.sub(" ", text)
    core = _FILLER_JA.sub(" ", _FILLER_EN.sub(" ", core))
    return " ".join(core.split()).strip(' ,.:;!?。、！？「」『』"')


def _share(themes: tuple[Theme, ...], core: str) -> float:
    content = "".join(words(core)) if not has_cjk(core) else core.replace(" ", "")
    named = sum(len(theme.phrase.replace(" ", "")) for theme in themes)
    return min(1.0, named / len(content)) if content else 0.0


def _keys(text: str, core: str) -> tuple[str, ...]:
    """Keys of the core and of the whole, by sound; a Latin one as it is typed too, since folding moves the letters of a typo."""
    asked = (core, _VOLUME.sub(" ", text))
    plain = "".join(c for c in core if c.isalnum()) if core.isascii() else ""
    keys = (*(sound_key(a) for a in asked), plain)
    return tuple(dict.fromkeys(k for k in keys if len(k) > 1 or len(core) <= len(k)))


def _asked_author(text: str) -> str | None:
    return _first(_BY, text) or _first(_BY_JA, text)


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    found = next((g for g in match.groups() if g), None) if match else None
    return found.strip(' 「」『』"?!。') if found else None


def _length(core: str) -> float:
    return sum(len(w) / 3 if has_cjk(w) else 1.0 for w in sound(core).split()) if not has_cjk(core) else len(core) / 3
