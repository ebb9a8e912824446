"""The words of negation of English, and the ones that look like it and negate nothing."""

from __future__ import annotations

import re

MOST = 32
"""Words of negation that are looked at: nobody says more."""

_NOT = (
    r"(?:do not|does not|did not|don't|dont|doesn't|doesnt|didn't|cannot|can not|can't|cant|could not|couldn't|won't"
    r"|would not|wouldn't|never)"
)
_IS_NOT = r"(?:is not|isn't|isnt|are not|aren't|arent|was not|wasn't|not|it's not|that's not)"
_DEGREE = r"(?:too|so|very|that|overly|as|really|all that|particularly|especially|extremely|super|excessively)"

FALSE = (
    r"\b(?:nothing wrong with|nothing against|no objections? (?:to|against)|not only|not just|not merely"
    r"|not necessarily|no matter"
    r"|no problems?|no idea|no one(?! (?:ever )?(?:gets|is|has|does))|no doubt|no rush|no pressure|no preference"
    r"|no need|no worries|no wonder|no end of"
    r"|no \d"
    r"|not sure|not bad|there(?:'s| is) no [a-z]+ like|not picky|not against|not opposed|not afraid of|not averse"
    r"|not long|not mind|not yet"
    r"|not your|not the usual"
    rf"|(?:nothing|(?:i )?{_NOT} (?:want|like|need|read|show me|give me)(?: (?:anything|something|one|any|an?))?"
    r"(?: mangas?)?) without"
    r"|nothing like (?:(?:the|your) usual|an? )|never (?:too much|enough)|not enough|no such thing|nothing but"
    r"|nothing beats|nothing better than|nothing less|not half"
    r"|why not|or not|if not|whether or not|(?:does not|doesn't) (?:need|require)|more or less|much less|nonetheless"
    r"|regardless|can't wait|cannot wait"
    r"|couldn't wait"
    rf"|{_NOT} (?:have to|need to|tell|remember|find|mind|care (?:if|whether|how)|matter|worry|hate|dislike"
    rf"|get enough|have enough"
    rf"|have too (?:much"
    rf"|many)|go wrong|say no"
    r"|know|think of|decide|beat|live without|do without|read (?:a|any|much)|tried|been)"
    r"|could care less|never (?:read|tried|heard)|no longer|not (?:hate|dislike)|i'm no|can(?:not|'t) but)\b"
)
WEAK = (
    rf"\b(?:nobody|{_IS_NOT}(?: {_DEGREE})?|no more|no|nothing|never|nor|neither|non|zero|skip|minus|sans|hold|less|fewer"
    rf"|minimal)\b(?!\.)"
)
"""Exclude what is known as a theme and follows at once."""
FIRM = (
    rf"\b(?:{_NOT} (?:really |much |particularly |actually |quite |exactly |usually )?(?:like|enjoy|want|need"
    rf"|care for|love|stand|bear|tolerate|handle"
    r"|deal with|rely on|revolve around|centre on|center on|focus on|recommend|suggest|show|give|stomach|do|take"
    r"|read|have|contain|involve|feature|include|make (?:me|him|her|us|them|you)|go for"
    r"|get into|touch|focus on|be)"
    r"|hates?|hating|detests?|loathes?|dislikes?|disliked|avoid(?:s|ing)?|sick of|tired of|fed up with|bored (?:of"
    r"|with|by)|had enough(?: of)?|had it with|had my fill of|done with|through with|(?:nobody"
    r"|no one(?! (?:ever )?(?:gets|is|has|does))|no-one) (?:ever )?(?:gets|is|has|does)"
    r"|not (?:really |that |so |very |much |at all )?(?:into|interested in|keen on|fond of|big on|in the mood for"
    r"|up for|comfortable with|good with|one for|here for|feeling|crazy about)"
    r"|not (?:a |much of a )?(?:big |huge )?(?:fan|lover) of|no fan of|never (?:really )?(?:liked|enjoyed|cared for)"
    r"|allergic to|averse to"
    r"|leave out|leav(?:e|ing) (?:out )?the|spare me|rather not|prefer not|steer clear of|stay(?:ing)? away from"
    r"|keep away from"
    r"|over with|scared (?:of|by)|afraid of|frightened (?:of|by)|upset by|put off by|free (?:of|from)|lacks?|lacking"
    r"|devoid of|no trace of"
    r"|nothing (?:that|which)|not (?:one|something|anything) (?:that|which|with)|nothing with|nothing about"
    r"|not about|not too much|not (?:so |that )?much|not a lot of|not many"
    r"|(?:very |too )?little to no|little or no|very little|hardly any|barely any|lighter on|light on|low on"
    r"|(?:go )?easy on|tone(?:d|) down)\b"
)
"""Exclude a theme that follows in the same clause."""
NAMED = r"(?:\bbut not|^not(?= [^,.]{1,40}[,.])|(?<=, )not|(?<=\band )not|\bneither|\bnor|\bminus)\b"
"""Exclude a theme that follows at once, or what goes by a name."""
STRONG = (
    r"\b(?:except|excluding|excludes?|without|no) ?:|"
    r"\b(?:without(?: any)?|with out(?! of)|with no|w/o|except(?:ing)?(?: for| from)?|excluding|excludes?|excepted"
    r"|other than"
    r"|apart from|aside from|besides"
    r"|(?:anything|everything|all|any genre) but|instead of|rather than|nothing (?:by|from)|not (?:by|from)"
    r"|no works by|nothing like"
    r"|do(?:n't| not) (?:recommend|suggest|show|give)(?: me)?|i (?:hated?|can't stand|cannot stand|disliked?"
    r"|don't (?:like|want|enjoy)|do not (?:like|want|enjoy)"
    r"|didn't (?:like|enjoy)))\b"
)
"""Exclude besides what goes by a name: titles and authors."""
ENGLISH = re.compile(
    rf"(?P<false>{FALSE})|(?P<strong>{STRONG})|(?P<firm>{FIRM})|(?P<named>{NAMED})|(?P<weak>{WEAK})", re.ASCII
)
NO_NAME = re.compile(r"without|with|w/o")
OF_WORKS = re.compile(r"(?:^|[,.;] ?|\b(?:mangas?|comics?|series|titles?|stories|anything|everything|works|list) )$")
"""Only a list of works goes without a name: "manga without One Piece", and not "a village without children"."""
MILD = re.compile(
    rf"\b(?:{_DEGREE}|less|fewer|lighter|light|easy|low|toned?|much|lots?|many|little|minimal|hardly|barely|heavily)\b",
    re.ASCII,
)

FILLER = re.compile(
    r"(?: ?\b(?:or|nor|any|anything|something|the|a|an|all|of|those|these|that|this|is|are|it|its|it's|too|so|very|really"
    r"|overly|much|many|more|another|yet|some|other|even"
    r"|just|lots? of|kinds? of|sorts? of|types? of|full of|about|with|having|involving|on|as|remotely|extremely"
    r"|super|particularly"
    r"|to|be|being|me|him|her|us|them|too much|in|set|at|when|there's|there|has|have|read|see|watch|heavily|whole"
    r"|usual|big"
    r"|explicit|graphic|heavy on"
    r"|excessive|gratuitous|weird|cheesy|pointless|forced|cheap|silly|stupid|typical|generic|major|overt|overly"
    r"|extreme|actual)\b(?!'))+"
)
NOUNS = re.compile(
    r"(?: (?:mangas?|stor(?:y|ies)|stuff|parts?|scenes?|content|elements?|series|themes?|endings?|subplots?"
    r"|sub-plots?|plots?|bits?|moments?"
    r"|things?|titles?|comics?|ones?|genres?|books?|works?|in it|in them|at all|whatsoever|either|involved|settings?"
    r"|tropes?|vibes?|either)\b)+"
)
JOIN = re.compile(r"(?P<comma>,) ?(?!(?:or|nor|and|no|not|but)\b)|,? ?\b(?P<joined>or|nor|and)\b ?|,? ?(?P<sign>[&/+]) ?")
WORD = re.compile(r" ?[a-z0-9']+")
STOP = re.compile(
    r" ?(?:but|though|although|however|just|only|instead|please|something|anything|i|i'd|i'm|i've|we|give|for"
    r"|because|since|where|who"
    r"|while|unless|although|like|if|my|by|until|thanks|yes|show|find|recommend|and|or|nor)\b"
)
POSTFIX = re.compile(
    r" excluded\b"
    r"|(?:-| )?(?:free|less)\b(?! (?:than|to|of|manga to))| (?:nashi|igai|nuki|iranai|nigate|kirai)\b(?: de\b| no\b)?"
    r"|(?:(?: (?:manga|stuff|stories))? (?:is|are|isn't|aren't|is not|are not))? (?:a )?(?:no[- ]go|not for (?:me|us"
    r"|him|her|them)|off the table|not welcome|not wanted"
    r"|not ok(?:ay)?|my thing|not my (?:thing|cup of tea|jam)|out of the question|unwelcome|excluded|no thanks?)\b"
    r"|(?:(?: (?:manga|stuff|stories))?) (?:bores?|annoys?|scares?|upsets?|puts? me off|disgusts?)\b(?: (?:me|him"
    r"|her|us|them)\b)?(?: off\b)?"
    r"| (?:kept )?to a minimum| (?:upsetting|disturbing|off-?putting|boring|annoying|gross|unpleasant)"
    r"| (?:is|are)(?: not|n't) (?:ok(?:ay)?|fine|alright|all right|acceptable|allowed|appropriate|suitable)\b"
    r"| (?:is|are)(?: not|n't) (?:what|something)(?: i(?:'m| am)?(?: after| want| like| enjoy)?)?|\?? ?no thank(?:s"
    r"| you)\b"
)
NAMED_BEFORE = re.compile(
    r"(?:^|[,.;:] ?|\b(?:but|and|with|manga|series) )(?P<name>[a-z0-9][^,.;:!?]{1,40}?) (?:excluded|not included)\b"
)
BEFORE_A_WORK = frozenset(("no", "non", "zero"))
ASKING_ALONE = re.compile(r"(?:(?:i|i'd|want|need|like|would|please|find|me|show|give|some|a|any|looking|for|got) ?)*")
A_WORK_AT_THE_END = re.compile(
    r" (?:mangas?|comics?|series|stor(?:y|ies)|titles?|books?)(?: (?:please|pls|thanks))?[ .!?]*$"
)
"""What surrounds an exclusion where nothing but the words after it can be what is wanted."""
ASKED = re.compile(r"(?: (?:mangas?|stor(?:y|ies)|one|series))? ?(?:please|instead|only|is fine|are fine|would be)\b")
"""What a shopper asks for after what is not wanted: "no romance, horror please"."""
CHEERFUL = re.compile(
    r"(?:a |an |lots|something|fun|funny|light|happy|cute|co[sz]y|wholesome|relaxing|easy|short|warm|cheerful|sweet"
    r"|gentle)\b"
)
CLOSED = re.compile(r"(?:,[^,.;!?]{1,30}){0,6},? (?:or|nor) ")
LISTED = re.compile(r"-? ?(?:,|and|or|nor|&|/|,? (?:and|or)) ?")
ROMAJI_BEFORE = re.compile(
    r"(?:^|[ -])(?!(?:a|are|be|do|give|go|he|i|is|me|one|or|see|so|some|to|u|we|you|ok|make|have|due|anime|manga|home"
    r"|more|here|there|romance|age|isekai"
    r"|some|anime|game|on|an|no|can|in|please|shonen|shounen|shoujo|shojo|josei|seinen) )"
    r"(?:(?:[kgsztdnhbmyrwf]y?|sh|ch|ts|j|p)?[aiueo]{1,2}|n)+ $"
)
SURELY_NAMED = re.compile(r"[^ ]*+ .*|(?:(?:[kgsztdnhbmyrwf]y?|sh|ch|ts|j|p)?[aiueo]{1,2}|n)++")
"""A name of several words, or in romaji: "not stupid" names no title, even where one is called so."""
OF_AN_AUTHOR = re.compile(r"\b(?:by|from|works of|'s (?:works?|mangas?|books?|series)) [^.;!?]{2,60}$")
"""What is excepted from an author's works is one of them: "anything by Urasawa except Monster"."""
_SOMEBODY = (
    r"(?:boys?|girls?|m[ae]n|wom[ae]n|guys?|teen(?:ager)?s?|kids?|child(?:ren)?|orphans?|students?|teachers?|prince(?:ss)?"
    r"|king|queen|knight|hero(?:ine)?|warrior|swordsm[ae]n|doctor|nurse|detective|thief|assassin|ninja|samurai|robot|android"
    r"|vampire|ghost|demon|god(?:dess)?|witch|wizard|salaryman|worker|chef|cook|baker|artist|painter|idol|singer|pianist"
    r"|player|pilot|soldier|spy|killer|hitman|maid|butler|widow(?:er)?|brothers?|sisters?|twins|friends?|couple|father"
    r"|mother|son|daughter|grandfather|grandmother|alien|monster|dragon|fox|cat|dog|librarian|writer|novelist|editor"
    r"|villain(?:ess)?|character|protagonist|lead|mc)"
)
_WORK = r"(?:manga|stor(?:y|ies)|series|comic|title|book|one|romance|comedy|fantasy|drama|isekai|thriller|ending)\b"
_NO_PLACE = rf"(?!{_WORK})"
CHARACTER = re.compile(
    r"\b(?:hero|heroine|protagonist|characters?|lead|mc|about|story of|tale of|follows|following|starring"
    r"|featuring)\b.*\b(?:who|that|whose|where|with)\b"
    rf"|(?<!for )\b(?:an?|the|two|three|one|young|old) (?:[a-z'-]{{1,14}} ){{0,3}}{_SOMEBODY}\b(?! {_WORK})"
    rf"|(?<!for )\b(?:an?|the|this) (?:[a-z'-]{{1,14}} ){{0,3}}{_NO_PLACE}[a-z'-]{{1,14}} (?:who|whose|where|in which)\b"
    rf"|^(?:an?|the|in an?|in the) (?:[a-z'-]{{1,14}} ){{0,2}}(?:village|town|city|world|kingdom|country|island|school"
    r"|planet|future|house|land|society|forest|empire)\b"
)
"""A clause that tells of somebody, or of some place: what is lacked or hated there is not the shopper's."""
