"""What can be bought, in which format, and when: "in stock", 全巻揃う, "digital", 紙の本, "can be here by Friday"."""

from __future__ import annotations

import re

from tools.store.models import DIGITAL, PAPER, Conditions
from tools.store.search.reading.wordings import Wording, finding

_EDITION = r"(?:editions?|versions?|copy|copies|formats?|releases?|only|volumes?|books?)"
_DAY = (
    r"(?:(?:next |this )?(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekend|week)|tomorrow|today"
    r"|tonight|christmas|xmas"
    r"|the weekend|(?:the )?end of (?:the |this )?week|[a-z]{3,9} [0-9]{1,2}(?:st|nd|rd|th)?"
    r"|(?:the )?[0-9]{1,2}(?:st|nd|rd|th))"
)
_JA_DAY = r"(?:明後日|明日|今日|本日|今週|来週|週末|[月火水木金土日]曜日?|[0-9]{1,2}日)"
_ARRIVES = r"(?:届く|着く|届けて|到着する|間に合う|欲しい|ほしい|届けてほしい)"

find_format = finding(
    Wording(
        re.compile(
            rf"\b(?:available )?(?:as |in |on |for )?(?:an? )?(?:digital(?:ly)?(?: {_EDITION})(?: only)?|digitally"
            rf"|digital(?= (?:mangas?|comics?|series)\b| ?(?:[,.]|$)| under| below| and )"
            r"|e-?books?|kindle|electronic (?:edition|version|copy))(?![a-z])"
            r"|電子(?=で?(?:$|[、。]))|電子書籍(?:版|で読める|で買える|の)?|電子(?:版|コミック)(?:で読める|の)?|電子で(?:読める|買える)"
            r"|デジタル版の?"
        ),
        "digital",
        Conditions(format=DIGITAL),
    ),
    Wording(
        re.compile(
            rf"\b(?:available )?(?:as |in |on )?(?:an? )?(?:(?:physical|paper|print|printed) {_EDITION}(?: only)?"
            rf"|physical(?= (?:mangas?|comics?)\b| ?(?:[,.]|$))"
            r"|paperbacks?|hard copy|hard copies|(?<=in )print|(?<=on )paper)(?![a-z])"
            r"|紙の(?:本|漫画|コミック|書籍)(?:で|の)?|紙(?:版|媒体|書籍)の?|紙で(?:読める|買える|読みたい)"
        ),
        "on paper",
        Conditions(format=PAPER),
    ),
)

find_availability = finding(
    Wording(
        re.compile(
            r"\b(?:with |where |that has |having )?(?:all|every)(?: of)?(?: the| its)? volumes? (?:are |is "
            r"|being )?(?:currently |still )?(?:available|in stock|obtainable)(?: (?:now|today))?\b"
            r"|\b(?:the )?(?:complete|full|whole) (?:set|series) (?:is )?(?:available|in stock)(?: now)?\b"
            r"|全巻(?:が|を)?(?:揃(?:う|っている|って|い)|そろ(?:う|っている|って|い)|在庫(?:あり|が?ある)|買える"
            r"|購入(?:できる|可能)|手に入る)"
        ),
        "all volumes in stock",
        Conditions(in_stock=True, all_volumes=True),
    ),
    Wording(
        re.compile(
            r"\b(?:currently |still )?(?:in stock|available (?:now|today|right now|immediately|to buy(?: now)?"
            r"|for purchase)|ready to ship)(?: (?:right )?now)?\b"
            r"|\b(?:that )?(?:i|we) can (?:buy|order|get) (?:right )?(?:now|today|away|immediately)\b"
            r"|\bin your (?:store|shop) (?:right )?now\b"
            r"|在庫(?:が)?(?:あり|有り|ある|有る|のある)|(?:今)?すぐに?(?:買える|手に入る|購入できる)"
            r"|今(?:すぐ)?買える|購入可能な?"
        ),
        "in stock",
        Conditions(in_stock=True),
    ),
    Wording(
        re.compile(
            rf"\b(?:that |which )?(?:can |could |will |would |must |should |to )?(?:be |get |come )?(?:here"
            rf"|delivered|delivery|arrives?|arriving|shipped|shipping|there|with me|at my (?:door|place)|i need it"
            rf"|need it)(?: to me)? "
            rf"(?:by|before|on|until|in time for|this|latest) {_DAY}"
            r"|\bdelivered (?:today|tomorrow|tonight)\b|\b(?:same|next)[- ]day (?:delivery|shipping)\b|\b(?:today"
            r"|tomorrow) delivery\b|\barrives? (?:today|tomorrow)\b"
            rf"|{_JA_DAY}(?:中|まで)?に?{_ARRIVES}|(?:翌日|即日|当日)(?:配送|配達|発送)|お急ぎ便"
        ),
        "in stock; days of delivery are not known here",
        Conditions(in_stock=True),
        obeyed=False,
    ),
)
