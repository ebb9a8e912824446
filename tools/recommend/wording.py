"""The words of a wish that say nothing of a title: what asks, and for whom."""

from __future__ import annotations

import re

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
    """A normalised text without the words that only ask or say for whom. Empty where it leaves the choice to the shop.
    Linear in the text."""
    said = _POSSESSIVE.sub("", text)
    return _BETWEEN.sub(" ", _SAYS_NOTHING.sub(" ", said)).strip()
