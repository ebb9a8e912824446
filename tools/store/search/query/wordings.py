"""The wordings of a query that are not about a title: what asks, what points to an author or a title, what names a genre."""

from __future__ import annotations

import re

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
"""The occasion of reading, which no story tells of."""
FILLER_EN = re.compile(
    rf"\b(?:please|{_OCCASION}|pls|plz|thx|(?:manga|comics?) by|^by|(?:can|could) you"
    r"|^(?:show|find|give|get|recommend|suggest)(?: me)?"
    r"|i(?:'m| am)? (?:want|need|like|looking for|would like)(?: to read)?|looking for|do you have"
    r"|any|some|of all time|in stock"
    r"|(?:an? )?(?:mangas? )?for (?:an? )?(?:beginners?|newcomers?)|(?:mangas? )?to (?:read|start with)"
    r"|(?:good|great|best|popular|famous|top)(?= \w*\s?(?:manga|comic|series|book|title))"
    r"|mangas?|manhwa|comics?|series|titles?|(?:a )?(?:story|stories|one) (?:about|where|with|of)|books?)\b"
)
FILLER_JA = re.compile(
    rf"(?:の|な)?{_JA_WORK}(?:{_JA_ASKING}|を|は|が)?$"
    r"|(?:おすすめ|オススメ|お勧め|人気|面白い|おもしろい|名作)(?:の|な)?"
    r"|初心者(?:向け|におすすめ)?の?|(?:の話|の物語|もの|やつ|物|系|ジャンル)$"
    rf"|{_JA_ASKING}[。?？]?$"
)
VOLUME = re.compile(
    r"\b(?:vol(?:ume)?s?\.? ?#?\d+(?: of\b)?|#\d+|box ?set"
    r"|(?:the )?(?:final|last|latest|next) volumes?(?: of\b)?)\b"
    r"|(?<=\w )vol(?:ume)?s?\b\.?$|第?\d+巻|全巻(?:セット)?|単行本|の(?:最終|最新)巻"
)

REASON_JA = re.compile(
    r"^(?P<why>[^。]{1,40}?(?:[たるいだな]|です|ます)(?<!好きな|好きだ|くらい|ぐらい)(?:ので|から))[、, ]*(?P<wish>.{2,})$"
)
"""The reason for the wish that follows: 仕事で疲れたので、癒し系. A liking is no reason, but the wish itself."""

BY = re.compile(
    rf"^(?:.*\b)?{_EN_WORK} (?:written |drawn |created |made )?(?:by|from) (?P<a>.+)$"
    r"|^(?:written |drawn |created )?by (?P<b>.+)$"
    rf"|^(?P<c>.+?)(?:'s|s'|') (?:other |latest |new )?{_EN_WORK}$"
    r"|^(?:author|mangaka|artist):? (?P<d>.+)$"
)
BY_JA = re.compile(
    rf"^(?P<a>.{{2,14}}?)(?:先生|さん|氏)?(?:の|が(?:描|書)いた)(?:他の|ほかの|新しい)?{_JA_WORK}$"
    r"|^作[者家] ?[:はが]? ?(?P<b>.+)$|^(?P<c>.{2,14})先生$"
)
SAME_AUTHOR = re.compile(
    r"^(?P<a>.+?)(?:の|を描いた|を書いた)(?:作者|作家|著者|漫画家)(?:さん|先生)?(?:の.*|が.*)?$"
    r"|(?:by|from) the (?:same )?(?:author|creator|artist|mangaka|writer) (?:of|as|who (?:wrote|drew|made)) (?P<b>.+)$"
    rf"|^(?:author|creator|mangaka) of (?P<c>.+)$|^other {_EN_WORK} by the (?:author|creator|mangaka) of (?P<d>.+)$"
)
SIMILAR = re.compile(
    rf"^(?:.*\b)?(?:similar to|(?:{_EN_WORK}|more) like) (?P<a>.+)$"
    rf"|^(?P<b>.+?)(?:みたいな|のような|に似た|に似ている|っぽい)(?:{_JA_WORK}|話|もの|の|やつ)?.*$"
)
GENRE_WORDINGS = {
    "shonen": re.compile(r"\bsh[oō]u?nen\b(?! ai)|少年(?:漫画|マンガ|誌|向け)"),
    "seinen": re.compile(r"\bseinen\b|青年(?:漫画|マンガ|誌|向け)"),
    "shojo": re.compile(r"\bsh[oō]u?jo\b(?! ai)|少女(?:漫画|マンガ|誌|向け)"),
    "josei": re.compile(r"\bjosei\b|女性(?:漫画|マンガ|誌|向け)"),
    "kodomo": re.compile(r"\bkodomo\b|\bfor kids\b|児童(?:漫画|マンガ|書)|(?:子供|子ども)向け"),
}
