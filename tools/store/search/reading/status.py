"""Whether a series goes on: "finished", "still running", "on hiatus", 完結済み, 連載中, 打ち切り."""

from __future__ import annotations

import re

from tools.store.models import Conditions, Status
from tools.store.search.reading.wordings import Wording, finding

_NOT_YET = (Status.PUBLISHING, Status.HIATUS)
_UNFINISHED = (Status.PUBLISHING, Status.HIATUS, Status.DISCONTINUED)
_ENDED = r"(?:finished|completed?|concluded|ended|over)"
_AUX = r"(?:status:? )?(?:(?:has |have |is |are )?(?:already |fully |all |now )?(?:been )?)?"
_READING = r"(?! (?:reading|watching|with|my|all of|it|set|box|collection|edition|works|guide|beginners?|newcomers?)\b)"

find_status = finding(
    Wording(
        re.compile(
            rf"(?<!\bi )(?<!\bi've )(?<!\bhave )(?<!\bjust )\b{_AUX}(?:finished|completed?|concluded|ended)\b{_READING}"
            r"|\b(?:is|are|be|that's|it's) (?:already )?(?:done|over)\b(?! [0-9])(?: already)?"
            r"|\ball (?:the )?(?:books|volumes)(?: are)? out\b"
            r"|\b(?:has |have )?(?:already )?reached (?:its|the|their) (?:end(?:ing)?|conclusion)\b"
            r"|\bwrapped up\b|\bthat (?:has|have) an ending\b|\bwith an ending\b|\bkanketsu\b"
            r"|(?:もう|すでに|既に)?(?<!未)(?:完結|かんけつ(?=し|ずみ))(?:済み?|ずみ|した|してる|している|もの"
            r"|が?決まった)?(?!し?てい?ない|しない|前|編|間近)|(?:もう|すでに|既に)?終わって(?:いる|る)|(?:もう"
            r"|すでに|既に)?(?:最終[巻回話]まで|全[巻部])(?:が)?(?:出て(?:いる|る)|描かれた|出(?:そろ|揃)っ(?:た"
            r"|てる|ている)|刊行済み?)|連載終了(?:した|済み?)?"
        ),
        "finished",
        Conditions(statuses=(Status.FINISHED,)),
    ),
    Wording(
        re.compile(
            r"\b(?:still |currently )?(?:on-?going|in publication|in serialization|being (?:published|released"
            r"|serialized|serialised))\b"
            r"|\b(?:must |should )?(?:still|currently) (?:be )?(?:running|going(?: on)?|publishing|airing|active"
            r"|updating|serializ(?:ed|ing)|coming out|released)\b"
            r"|\bpublishing now\b|\brensai-?chuu?\b|(?:現在|まだ|いま|今も?)?連載(?:中|している|してる)"
            r"|(?:まだ)?続いて(?:いる|る)|続刊中|刊行中"
        ),
        "still running",
        Conditions(statuses=(Status.PUBLISHING,)),
    ),
    Wording(
        re.compile(
            rf"\b(?:(?:has|have|is|are)(?:n't| not)|not)(?: yet)?(?: been)? {_ENDED}\b(?: yet)?"
            r"|(?:まだ)?(?:完結|終わ[っり])し?てい?ない|未完結|終わっていない|完結前"
        ),
        "not finished yet",
        Conditions(statuses=_NOT_YET),
    ),
    Wording(
        re.compile(r"\bunfinished\b(?! business)|\bincomplete\b|\bunconcluded\b|未完(?!成|結)"),
        "unfinished",
        Conditions(statuses=_UNFINISHED),
    ),
    Wording(
        re.compile(
            r"\b(?:currently )?(?:on (?:an? )?(?:indefinite )?hiatus|in hiatus|hiatus|on a break|paused)\b|休載(?:中"
            r"|している)?|連載(?:休止|中断)中?"
        ),
        "on hiatus",
        Conditions(statuses=(Status.HIATUS,)),
    ),
    Wording(
        re.compile(
            r"\b(?:was |were |got |that got )?(?:cancell?ed|discontinued|axed)\b|打ち?切り(?:になった|の?作)?"
            r"|打ち切られた|連載中止"
        ),
        "cancelled",
        Conditions(statuses=(Status.DISCONTINUED,)),
    ),
)
