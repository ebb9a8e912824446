"""Where children read: "our children's ward", "for a primary school library", 小児科の待合室に置ける, 学童クラブ用."""

from __future__ import annotations

_ROOMS = (
    r"(?:waiting room (?:of|in|at) (?:an?|the|our) (?:children's|kids'?|paediatric|pediatric) (?:hospital|ward|clinic)"
    r"|(?:children's|kids'?|paediatric|pediatric) (?:ward|hospital|clinic|waiting room|library|corner|cent(?:re|er))"
    r"|(?:paediatrician|pediatrician)'?s?(?: (?:office|waiting room))?"
    r"|(?:primary|elementary|grade|nursery)[- ]?school(?: (?:library|class(?:room)?|kids|children|book club|club))?"
    r"|(?:classroom|kindergarten|preschool|daycare|day care|nursery|after[- ]school (?:club|care|program(?:me)?)|youth club)"
    r"(?: (?:class|group|library))?)"
)
PLACE = (
    r"(?:(?:for (?:(?:an?|the|our|my) )?|(?:in|at) (?:our|my) |(?:my|our) "
    rf"|(?:i|we) (?:run|work (?:in|at)|teach (?:in|at)) (?:(?:an?|the|our) )?){_ROOMS})"
)
"""Not where a story is set: "in an elementary school"."""
PLACE_JA = (
    "(?:小児(?:科|病棟)|学童(?:クラブ|保育)?|保育園|幼稚園|こども園|児童館|小学校|学級文庫|キッズ(?:スペース|コーナー)|子[ど供]も?会)"
    "の?(?:待合(?:室|スペース)?|図書(?:室|館|コーナー)|本棚|教室|病室|クラス|読み聞かせ)?"
    "(?:[にで](?=置|並べ|使|読|貸)|に寄付(?:する|したい)?|(?:の子(?:たち|供|ども)?)?(?:向け|用)[にの]?)"
    "(?:置(?:く|け[るて]?|いて?|きたい)(?:ある)?|並べ(?:る|たい))?"
    "|(?:低学年|高学年|小学生|園児)の?(?:子|生徒)?[がも](?:多い|中心)(?:です)?"
)
