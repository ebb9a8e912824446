"""The words for people, groups and ages that something is wanted for."""

from __future__ import annotations

import re

from tools.store.search.reading.recipients.ages import NUMBER, NUMBER_JA
from tools.store.search.reading.recipients.places import PLACE, PLACE_JA

_KIN = (
    r"(?:nieces?|ne(?:ph|f|v)ews?|sons?|daughters?|brothers?|sisters?|kids?|child(?:ren)?|grand(?:sons?|daughters?"
    r"|child(?:ren)?|kids?)|god(?:sons?|daughters?|child)"
    r"|cousins?|twins|triplets|girls?|boys?|students?|pupils?|class|readers?|friends?|little ones?)"
)
_FOR = (
    r"(?:(?:(?:birthday |christmas |xmas )?(?:present|gift)s? )?(?:for|4) (?:(?:my|our|his|her|their|a|an|the|your|some"
    r"|young|little|small|two|three|both|moody|clever|shy|sporty|bookish|curious) ){0,3}|\b(?:my|our|his|her) )"
)
_YEARS = r"(?:[- ]?(?:years?|yrs?)[- ]?olds?\b|[- ]?(?:yo|y/o|y\.o\.)(?![a-z]))"
_ORDINAL = r"(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth)"
_AGE = (
    rf"(?:\b{_FOR})?\b(?P<age>{NUMBER}){_YEARS}(?:'s birthday\b| {_KIN}\b)?"
    rf"|\b{_FOR}{_KIN} ?[,(] ?(?P<beside>{NUMBER})\b\)?(?! (?:vol|chap|book))(?:,? (?:and|&|or) {NUMBER}\b)?"
    rf"|\b(?:{_FOR})?(?:(?!girl|boy|reader|student){_KIN} (?:is|are|turns)|{_KIN} of) (?P<kin>{NUMBER})\b(?! (?:vol"
    rf"|chap|book|in|who))(?: years old\b)?"
    rf"|(?:\b{_FOR}(?:{_KIN}) ?,? ?)?(?:\b(?:who|she|he|they)(?:'?s| is| are|'re)(?: only| just| turning| about"
    rf"| almost)?|\b(?:is|are) turning|(?:\b(?:just|has|have) ){{0,2}}\bturn(?:s|ed|ing)"
    rf"|\baged?|\bages) (?P<aged>{NUMBER})\b(?! (?:vol|chap|book|euro"
    rf"|dollar|yen|star))(?: ?(?:-|to|and) ?{NUMBER}\b)?(?: years? old\b)?"
    rf"|(?:\b{_FOR})?(?:\b{_KIN}(?:'s|') )?\b(?P<birthday>{_ORDINAL}) birthday\b"
    rf"|(?:\bfor )?(?:\b(?:kids|children|boys|girls|readers) )?\bunder[- ](?P<under>{NUMBER})(?:s\b|(?: years? old)\b)"
    rf"|(?:\b(?:(?:suitable|fit|good|safe) )?{_FOR})?\b(?:kids|children|readers|boys"
    rf"|girls) under (?:the age of )?(?P<below>{NUMBER})\b"
    rf"|(?:\b{_FOR})?\b(?:(?P<grade>{_ORDINAL})[- ]?(?:graders?|grade)|(?:grade"
    rf"|year) (?P<year>[1-9]|1[0-3]))\b(?: (?:class|students?|pupils?))?"
)
_SMALL = (
    r"\b(?:(?:fit |suitable |good |safe |ok(?:ay)? |appropriate )?for (?:(?:my|our|the|a|his|her|their|some|little"
    r"|young|small|very|two|three|primary|elementary|school|grade) ){0,3}"
    r"(?:kids?|child(?:ren)?|toddlers?|preschoolers?|kindergart(?:e?ners?|en)|little (?:ones?|girls?|boys?)"
    r"|youngsters|tweens?|grand(?:kids?|child(?:ren)?|sons?|daughters?)"
    r"|(?:primary|elementary)[- ]school (?:pupils?|students?)|primary schoolers?|elementary schoolers?|schoolers"
    r"|young readers?|(?:the )?(?:whole |entire )?family|all ages"
    r"|everyone of any age)"
    r"|(?:kid|child|family)[- ]?(?:friendly|safe|appropriate|oriented)|kids'? (?:mangas?|comics?|books?)"
    rf"|{PLACE}"
    r"|(?:read(?:ing)?|shar(?:e|ing)|enjoy) (?:together )?with (?:(?:a|my|our|the) )?(?:little |young |small )?"
    r"(?:kindergart(?:e?ners?)|toddlers?|preschoolers?|kids|children)"
    r"|children's (?:mangas?|comics?|books?)|all[- ]ages|(?:the|my|our) (?:whole|entire) family|bedtime"
    r"|my (?:little |small |young )?(?:kids?|child(?:ren)?|toddlers?|grand(?:sons?|daughters?|child(?:ren)?"
    r"|kids?))\b)\b(?! (?:are|is) (?:grown|adult))"
)
_TEEN = (
    r"\b(?:for (?:(?:my|our|the|a|his|her|their|some|young) ){0,3}(?:(?:pre-?|young )?teen(?:s|ager|agers"
    r"|aged?)?(?: (?:son|daughter|boys?|girls?|niece|nephew|readers?))?"
    r"|middle schoolers?|junior high(?: school)?(?:ers?| students?)|nieces?|nephews?|god(?:son|daughter|child)"
    r"|little (?:brother|sister|cousin))"
    r"|teen(?:age|aged)? (?:son|daughter|niece|nephew|brother|sister|kid)s?|my (?:teen(?:age|aged|ager)?(?: (?:son"
    r"|daughter|boy|girl|niece|nephew))?|nieces?|nephews?|little (?:brother"
    r"|sister|cousin))"
    r"|teen[- ](?:friendly|appropriate|safe)|safe for work|sfw|clean(?= (?:manga|romance|comics?|stories))"
    r"|work[- ]safe)\b(?! who is| aged| age|,? \d)"
)
_OLDER = (
    r"\b(?:for (?:(?:my|our|the|a|his|her|their|older|an) ){0,3}(?:high schoolers?|high school students?"
    r"|older teens?|mums?|moms?|mother(?:[- ]in[- ]law)?|dads?|father(?:[- ]in[- ]law)?"
    r"|parents|grand(?:ma|mother|pa|father|parents|dad|mum)|grannys?|gran|nana(?! )|aunt(?:ie)?|uncle|boss|teacher"
    r"|colleagues?|coworkers?|in-laws))\b"
)
_ADULT = (
    r"\b(?:for (?:(?:my|a|an|real|us|older) )?(?:grown[- ]?ups?|adults?(?! only)|mature (?:readers?|audiences?)"
    r"|older readers)|aimed at (?:adults|grown[- ]?ups)|(?:adult|mature|grown-up) (?:readers?|audience))\b"
)
EXPLICIT = (
    r"\b(?:18\+|r-?18\+?|adults?[- ]only|hentai|erotica?|smut|porn(?:ographic)?|x[- ]rated|nsfw|for adults only)(?![a-z])"
)
EXPLICIT_JA = (
    "(?:成人(?:向け|指定)|18禁|r-?18|官能|エロ(?:漫画|マンガ|本|同人)"
    "|アダルト(?:漫画|マンガ|コミック|向け|(?=なし|抜き|以外)))"
)
ENGLISH = re.compile(
    rf"(?P<explicit>{EXPLICIT})|(?P<years>{_AGE})|(?P<all_ages>{_SMALL})|(?P<older_teen>{_OLDER})|(?P<teen>{_TEEN})"
    rf"|(?P<adult>{_ADULT})",
    re.ASCII,
)
CHARACTER = re.compile(
    r"\b(?:about|starring|featuring|protagonist|heroine|hero|mc|lead|story of|tale of)\b(?!.*\b(?:for|my|gift|present)\b)"
)
"""A clause that tells of somebody: the age is a character's."""
PREFIXED = re.compile(rf"{_FOR}|\b(?:aged?|ages|under|grade|year|turn|kids|children)\b|(?:who|she|he|they)\b")
ENDED = re.compile(
    r" ?(?:'s\b|$|[,.;!?)]|(?:or|and|but|please|would|likes?|loves?|can|could|to|something|who (?:likes?|loves?))\b)"
)

_TO = (
    r"(?:さん|ちゃん|くん|君|たち|達|の?誕生日)?(?:に(?!戻|転生|な[るっり]|恋(?!愛)|捨|育て|会[っい]|憧|囲|巻き|起[きこ]"
    r"|振り|襲|殺|救|見え|して)|へ(?:の)?|向け(?:の)?|でも|用(?:の)?"
    r"|[がもと](?:読[むめみんま]?(?:る|だり|で)?|喜[ぶびん]?(?:で)?|楽し[いめむみ]?る?|好き?|安心"
    r"|一緒に?(?:読[むめ]る?)?)|のため(?:の|に)?|なんです|です|にも"
    r"|に(?:ぴったり|人気|おすすめ)|の?(?:お?(?:誕生日|クリスマス|入学|卒業|進級|お年玉)(?:祝い)?の?)?(?:プレゼント|贈り物|ギフト|お祝い)"
    r"|[がはも、](?=.{1,14}(?:好き|夢中|[はハ]ま|[はハ]マ|欲しが|興味))|[がは]初めて)"
)
_KIN_JA = (
    "(?:祖父|祖母|父親?|母親?|夫|妻|お(?:じい|ばあ)ちゃん|姪っ子|甥っ子|姪|甥|娘|息子|子供|子ども|こども|お子さん|子"
    "|孫娘|孫|弟|妹|男の子|女の子|いとこ|従兄弟|生徒"
    "|女子|男子|男児|女児|児童|園児|友達|親戚)"
)
_SELF = "(?:の(?:うちの|私の)?|に?なる|になった|くらいの|ぐらいの|前後の|の女の|の男の)?"
_CHILD_JA = (
    "(?:小学校?(?:低|中|高)?(?:学年|生)|低学年|高学年|年長(?:さん)?|年中さん|年少(?:さん)?|幼稚園児?|保育園児?|園児"
    "|幼児|未就学児|赤ちゃん|子供|子ども"
    "|こども|キッズ|ちびっ[こ子]|お?孫(?:さん)?|小さ[いな]子|幼い(?:娘|息子|子)|児童)"
)
JAPANESE = re.compile(
    rf"(?P<years>(?:{_KIN_JA}(?:さん|ちゃん|くん|君)?[(はが、]?)?(?P<age>{NUMBER_JA})[歳才]?(?:(?:と|や|、|・|から|~|〜|-){NUMBER_JA})?[歳才](?:児|未満|以下)?\)?"
    rf"{_SELF}{_KIN_JA}?{_TO}|(?:小学"
    rf"|小(?=[1-6一二三四五六]))(?P<small>[1-6一二三四五六])(?:年生?)?{_SELF}{_KIN_JA}?{_TO}"
    rf"|(?:中学|中(?=[1-3一二三]))(?P<middle>[1-3一二三])(?:年生?)?{_SELF}{_KIN_JA}?{_TO}|(?:高校"
    rf"|高(?=[1-3一二三]))(?P<high>[1-3一二三])(?:年生?)?{_SELF}{_KIN_JA}?{_TO})"
    rf"|(?P<all_ages>{PLACE_JA}|{_CHILD_JA}(?!の頃|の時|のころ){_SELF}{_KIN_JA}?{_TO}|(?:家族|親子)(?:みんな|全員|一緒)?(?:で"
    rf"|に)(?:読|楽し)[めみむんいるでもせ]*|全年齢(?:向け)?(?:の)?|ファミリー向け(?:の)?)"
    rf"|(?P<teen>(?:中学生|中高生|十代|10代|ティーン(?:エイジャー)?|姪っ子|甥っ子|姪|甥){_SELF}{_KIN_JA}?{_TO}|健全な)"
    rf"|(?P<older_teen>(?:高校生|お?母(?:さん|親)?|お?父(?:さん|親)?|祖母|祖父|お(?:ばあ|じい)(?:ちゃん|さん)|両親"
    rf"|親|上司|義[母父]|叔[母父]){_SELF}{_KIN_JA}?{_TO})"
    rf"|(?P<explicit>{EXPLICIT_JA})"
    r"|(?P<adult>大人(?:向け(?:の)?|が(?:読|楽し)[めみむんいるでも]*|のための|の(?=漫画|マンガ|作品)|も楽しめる"
    r"|の鑑賞に堪える)|社会人向け(?:の)?)"
)
CHARACTER_JA = re.compile(r".{0,6}(?:主人公|ヒロイン|が(?:戦|活躍|探偵|異世界|恋|転生|出て|登場)|の(?:探偵|冒険|恋|日常))")
