"""Splits a normalised text into tokens in one pass, by the longest known phrase at each position, and then joins amounts."""

from __future__ import annotations

import re
from copy import copy
from dataclasses import replace
from functools import lru_cache

from rapidfuzz.distance import OSA

from tools.store.currency import YEN, Currency
from tools.store.models import Conditions
from tools.store.search.query.themes import is_word
from tools.store.search.reading.amounts import with_amounts
from tools.store.search.reading.magazine_names import MagazineNames
from tools.store.search.reading.spellings import Spellings
from tools.store.search.reading.tables import Lexicon, fold_japanese, left_out, words_of
from tools.store.search.reading.tokens import MOST_DIGITS, NUMBERS_JA, Entry, Fact, Is, Sense, Token, number_of, spans
from tools.store.search.text.characters import CJK, has_cjk
from tools.store.search.text.readings import Dictionary
from tools.store.search.text.tokens import stem

_SHORTEST_SLIP = 5
_SIGNS = frozenset(".!?;。！？\n")
_COMMAS = frozenset(',、;:()[]「」『』"…')
_QUOTES = frozenset('"“「『')
_NOT = Entry(Is.OPERATOR, sense=Sense.NOT, side="before", name="weak")
_MINUS = Entry(Is.OPERATOR, sense=Sense.NOT, side="before", name="sign")
_CLIPPED = Entry(Is.OPERATOR, sense=Sense.NOT, side="after", name="after", japanese=True)
_STORY, _VERBAL = ("のはなし", "はなし"), "いうたなる"
"""A story (話) or "none" (は無し). Behind the last kana of a verb or an adjective the first is "none", the second a story:
家族のはなし, 長いのはなし, 猫が出るはなし, ホラーはなし."""
_CLIPS, _BEFORE_CLIPS = words_of("clips"), frozenset(words_of("before_clips"))
_STOP, _COMMA = Entry(Is.BREAK, name="stop"), Entry(Is.BREAK, name="comma")
_CONTRACTED = words_of("contracted")
_LONGEST_MAGAZINE, _LONGEST_NAME = 5, 24
"""Most words of a magazine's name, and most characters of one in katakana."""
_KATAKANA = re.compile("[\u30a1-\u30fa]")
_JAPANESE = re.compile(f"[{CJK}+・]{{1,16}}")
_RUN = re.compile("[\u30a1-\u30fa\u30fc]{2,}|[\u3400-\u9fff]{2,}")
_OPEN = re.compile("[\u30a1-\u30fc]{2}|[のでにはがをも以]")
_OKURIGANA = re.compile("[\u3400-\u9fff][\u3041-\u309f]")
_DASH = re.compile("(?<=[\u30a1-\u30fa])-(?=[\u30a1-\u30fa])")
"""`_JAPANESE`: characters of a magazine's name. `_RUN`: katakana or kanji. `_OPEN`: matches where no magazine's name ends.
`_OKURIGANA`: kana that may end the word of a kanji. `_DASH`: a dash typed for a long-vowel mark."""
_DOUBLED, _DRAWN = re.compile(r"(.)\1"), re.compile(r"(.)\1{2,}")
_KEPT = 4_096
"""Most words whose stems and meanings are cached."""


class Scanner:
    """Splits texts into tokens by a `lexicon` and the catalogue's `magazines`. Words in `known` are never taken for
    misspellings. In a text with a word in `romaji`, "no" is a Japanese particle."""

    def __init__(
        self,
        lexicon: Lexicon,
        magazines: MagazineNames,
        known: frozenset[str],
        romaji: frozenset[str],
        currency: Currency = YEN,
    ) -> None:
        self.lexicon, self.magazines, self.known, self.romaji, self.currency = lexicon, magazines, known, romaji, currency
        self.spellings, self.runs = Spellings.learn(lexicon), dict[int, str]()
        self._stem, self._meant = lru_cache(_KEPT)(self._find_stem), lru_cache(_KEPT)(self._find_meant)

    def scan(self, text: str) -> list[Token]:
        """Returns the tokens of a normalised text, in order. Takes time linear in its length."""
        own = copy(self)
        own.magazines = self.magazines.of_text(len(text))
        text = _DASH.sub("ー", text)
        own.runs = {run.start(): run[0] for run in _RUN.finditer(text)}
        return own._scan(text)

    def _scan(self, text: str) -> list[Token]:
        words = spans(text)
        folded = fold_japanese(text)
        romaji = any(word in self.romaji for _, word in words)
        tokens: list[Token] = []
        i, position = 0, 0
        while i < len(words):
            start, word = words[i]
            if start < position:
                i += 1
                continue
            token, used = self._japanese(text, folded, start), 0
            if token is not None and token.kind is Is.WORD and tokens and tokens[-1].kind is Is.NUMBER:
                token = self._misspelled_unit(token) or token
            if token is None:
                token, used = self._latin(text, words, i)
            if token is None:
                i += 1
                continue
            gap = text[position:start] if position <= start else ""
            token.space = not tokens or (bool(gap) and not gap.strip() and start > position)
            position = token.end
            i += max(1, used)
            plain = token.text == word and token.kind in (Is.GLUE, Is.WORD)
            if plain and (word.endswith("n't") or word in _CONTRACTED):
                token.kind, token.entries = Is.OPERATOR, (_NOT,)
            if token.text in _CLIPS and not token.space and _is_negated_by_clip(tokens):
                token.kind, token.entries = Is.OPERATOR, (_CLIPPED,)
            if token.text in _STORY and tokens and not token.space:
                none = (tokens[-1].text[-1] in _VERBAL) == (token.text == _STORY[0])
                token.kind, token.entries = (Is.OPERATOR, (_CLIPPED,)) if none else (Is.GLUE, ())
            if romaji and token.text == "no":
                token.kind, token.entries = Is.GLUE, ()
            if token.entries == (tokens[-1].entries if tokens else ()) == (_STOP,):
                tokens[-1].end, tokens[-1].text = token.end, text[tokens[-1].start : token.end]  # "...", "?!"
                continue
            tokens.append(token)
        return with_amounts(_joined(tokens, text), self._number_words, self.currency)

    # Japanese

    def _japanese(self, text: str, folded: str, start: int) -> Token | None:
        """Returns the longest known phrase or number at `start`, else an unknown word; None if no Japanese is there."""
        if text[start] in _MAGAZINE_STARTS and (magazine := self._magazine_kanji(text, start)):
            return magazine
        if folded[start] in _KANA_STARTS and (amount := _kana_number(folded, start)) is not None:
            return amount
        starts, begin = self.lexicon.japanese_starts, folded[start : start + 2]
        if longest := starts.get(begin) or starts.get(begin[0]):
            for size in range(min(longest, len(folded) - start), 0, -1):
                key = folded[start : start + size]
                entries = self.lexicon.japanese.get(key)
                if entries is None and folded.startswith(("すぎ", "過ぎ"), start + size):
                    entries = self.lexicon.stems.get(key)
                if entries and self._stands(text, key, start, start + size) and not self._cuts(entries, folded, start, size):
                    found = Token(start, start + size, text[start : start + size], entries[0].kind, entries, cjk=True)
                    return self._misspelled(start, size) or found
        if slipped := self._misspelled(start, 1):
            return slipped
        character = text[start]
        if character in NUMBERS_JA:
            end = start
            while end < min(len(text), start + MOST_DIGITS) and text[end] in NUMBERS_JA:
                end += 1
            value = number_of(text[start:end])
            if value is not None:
                return Token(start, end, text[start:end], Is.NUMBER, number=value, cjk=True)
        if has_cjk(character) and character != "・":
            return self._magazine_ja(text, start) or Token(start, start + 1, character, Is.WORD, cjk=True)
        return None

    def _misspelled(self, start: int, least: int) -> Token | None:
        """Returns the phrase that the run of kanji or katakana at `start` may misspell; None if there is none, or if the run
        is not longer than `least`."""
        run = self.runs.get(start, "")
        if len(run) <= least:
            return None
        kanji = _script(run[0]) == "kanji"
        meant = self.spellings.find_homophone(run, least) if kanji else self.spellings.find_katakana(run)
        if meant is None:
            return None
        entries, end = self.lexicon.japanese[fold_japanese(meant)], start + (len(meant) if kanji else len(run))
        return Token(start, end, meant, entries[0].kind, entries, cjk=True)

    def _misspelled_unit(self, token: Token) -> Token | None:
        """Returns the unit that sounds like the kanji behind a number: 10感 for 10巻; None if there is none."""
        for kana, _ in Dictionary.load().readings(token.text)[:2] if len(token.text) == 1 else ():
            entries = self.lexicon.japanese.get(kana, ())
            if any(each.kind is Is.UNIT for each in entries):
                return replace(token, kind=Is.UNIT, entries=entries)
        return None

    def _stands(self, text: str, key: str, start: int, end: int) -> bool:
        """Returns True if the phrase is a whole word, not part of a longer katakana word or one kanji of a compound."""
        written = text[start:end]
        if (
            _KATAKANA.match(written[-1])
            and not _KATAKANA.match(written[0])
            and _script(text[end : end + 1] or " ") == "katakana"
        ):
            return False
        in_katakana = key not in self.lexicon.katakana and _KATAKANA.search(written)
        okurigana = start and _OKURIGANA.match(text, start - 1)  # わる漫画 in 終わる漫画
        if (in_katakana or okurigana) and written not in self.lexicon.written:
            return False
        if key in self.lexicon.katakana and not ("\u3041" <= written[0] <= "\u309f"):
            return is_word(text.replace("・", " "), start, end)
        if (
            end - start == 1
            and "\u3400" <= written <= "\u9fff"
            and written not in "巻冊円年歳才点星台内超全約紙可的系作風式中"
        ):
            return is_word(text, start, end)
        return True

    def _cuts(self, entries: tuple[Entry, ...], folded: str, start: int, size: int) -> bool:
        """Returns True if a phrase that states no fact would split a longer one that does: で連載 in 漫画で連載中 splits
        連載中."""
        if size < 2 or any(entry.kind in (Is.FACT, Is.UNIT, Is.BOUND) or entry.sense is Sense.REFUSE for entry in entries):
            return False
        known = self.lexicon.japanese
        for at in range(1, size):
            if folded[start : start + at] not in known:
                continue
            longest = self.lexicon.japanese_starts.get(folded[start + at : start + at + 2], 0)
            for end in range(size + 1, at + longest + 1):
                if any(entry.kind is Is.FACT for entry in known.get(folded[start + at : start + end], ())):
                    return True
        return False

    def _magazine_kanji(self, text: str, start: int) -> Token | None:
        """Returns the magazine in kanji or hiragana at `start`; None if there is none. A hiragana name counts only
        between spaces or before a word such as 連載 (serialised)."""
        if not text.startswith(_MAGAZINE_BEGINS, start):
            return None
        run = _JAPANESE.match(text, start)
        for last in range(run.end() if run else start, start + 2, -1):
            if _OPEN.match(text, last - 1) is None and (found := self.magazines.named(text[start:last])):
                alone = text[start - 1 : start] in ("", " ") and text[last : last + 1] in ("", " ")
                if "\u3041" <= text[start] <= "\u309f" and not (alone or text.startswith(_MAGAZINE_ENDS, last)):
                    continue
                if self._ends_in_operator(text, start, last):
                    continue  # 週刊少年ジャンプ以外
                return Token(start, last, text[start:last], Is.FACT, (self._entry(text[start:last], found),), cjk=True)
        return None

    def _ends_in_operator(self, text: str, start: int, end: int) -> bool:
        """Returns True if an operator begins within the end of the name: 週刊少年ジャンプ以外, ヤングジャンプ除く."""
        begin, known = max(start, end - 4), self.lexicon.japanese
        folded, last = fold_japanese(text[begin : end + 5]), end - begin
        ends = (known.get(folded[at : at + size], ()) for at in range(last) for size in range(last - at, 6))
        return any(each.kind is Is.OPERATOR for entries in ends for each in entries)

    def _entry(self, name: str, found: tuple[str, ...], *, cue: bool = False) -> Entry:
        return magazine_entry(name, found, cue=cue, refused=self.magazines.sharing(name, found))

    def _magazine_ja(self, text: str, start: int) -> Token | None:
        """Returns the run of katakana at `start` as a magazine, or as an unknown word if no magazine has the name; None for
        a run of fewer than three characters."""
        end = start
        while end < min(len(text), start + _LONGEST_NAME) and ("\u30a1" <= text[end] <= "\u30fc" or text[end] in "+・"):
            end += 1
        if end - start < 3:
            return None
        word = text[start:end]
        found = self.magazines.named(word)
        if not found:
            end = start + len(word.split("・")[0]) if not word.startswith("・") else end
            word = text[start:end]
            return Token(start, end, word, Is.WORD, cjk=True)
        return Token(start, end, word, Is.FACT, (self._entry(word, found),), cjk=True)

    # Latin

    def _latin(self, text: str, words: list[tuple[int, str]], i: int) -> tuple[Token | None, int]:
        start, word = words[i]
        end = start + len(word)
        if _is_number(word) and not self.lexicon.starts.get(word):
            return Token(start, end, word, Is.NUMBER, number=number_of(word)), 1
        leads = word == "-" and (start == 0 or text[start - 1] in " ,([#")
        if leads and end < len(text) and (text[end].isalpha() or text[end] in _QUOTES):
            return Token(start, end, word, Is.OPERATOR, (_MINUS,)), 1
        found = self._phrase(text, words, i)
        if found is not None:
            return found
        if _is_number(word):
            return Token(start, end, word, Is.NUMBER, number=number_of(word)), 1
        if word in _SIGNS:
            return Token(start, end, word, Is.BREAK, (_STOP,)), 1
        if word in _COMMAS:
            return Token(start, end, word, Is.BREAK, (_COMMA,)), 1
        if not word[0].isalpha():
            return Token(start, end, word, Is.GLUE), 1
        return Token(start, end, word, Is.WORD), 1

    def _phrase(self, text: str, words: list[tuple[int, str]], i: int) -> tuple[Token, int] | None:
        start, word = words[i]
        magazine = self._magazine(text, words, i)
        short = 2 < len(word) < _SHORTEST_SLIP  # "undr 12", "les than 12"
        meant = self._meant(word, short and any(_is_number(said) for _, said in words[max(0, i - 2) : i + 3]))
        found = max((self._entries(words, i, each) for each in meant), key=lambda each: each[1], default=((), 0))
        entries, size = found
        if entries and not (magazine and magazine[1] > size):
            last, said = words[i + size - 1]
            end = last + len(said)
            if _is_compound(text, end, entries):
                return Token(start, end, text[start:end], Is.WORD), size
            return Token(start, end, text[start:end], entries[0].kind, entries), size
        return magazine or self._one(word, start)

    def _entries(self, words: list[tuple[int, str]], i: int, first: str) -> tuple[tuple[Entry, ...], int]:
        lexicon = self.lexicon
        made = stem(first) if first[0].isalpha() else first
        if not (most := max(lexicon.starts.get(made, 0), lexicon.starts.get(first, 0))):
            return (), 0
        exact = [first, *(other for _, other in words[i + 1 : i + most + 1])]
        stems = [made, *map(self._stem, exact[1:most])]
        for size in range(min(most, len(stems)), 0, -1):
            entries = (*lexicon.exact.get(" ".join(exact[:size]), ()), *lexicon.latin.get(" ".join(stems[:size]), ()))
            if entries and not (exact[size : size + 1] == ["than"] and all(each.kind is Is.BOUND for each in entries)):
                return entries, size
        return (), 0

    def _find_meant(self, word: str, measured: bool) -> tuple[str, ...]:
        """Returns the word and the known words that it may be. A word is `measured` beside a number, if it is short."""
        if measured:
            return (word, *self._near(word, stem(word), within=True))
        if not word[0].isalpha() or len(word) <= 3:
            return (word,)
        if (short := _DRAWN.sub(r"\1", word)) != word:  # "sooooo", "nooo"
            return (word, short)
        return (word, *self._near(word, stem(word)))

    def _one(self, word: str, start: int) -> tuple[Token, int] | None:
        """Reads one word as a phrase without its spaces ("martialarts"), a magazine, a number, or a fact with a negation
        ("unfunny", "goreless")."""
        if not word[0].isalpha():
            return None
        lexicon, first, end = self.lexicon, stem(word), start + len(word)
        for prefix in _BEGINNINGS:
            if word.startswith(prefix) and (found := self.magazines.named(f"{prefix} {word[len(prefix) :]}")):
                return Token(start, end, word, Is.FACT, (magazine_entry(word, found),)), 1
        if joined := lexicon.joined.get(first):
            entries = lexicon.latin[joined]
            return Token(start, end, word, entries[0].kind, entries), 1
        if (value := self._number_words(word)) is not None:
            return Token(start, end, word, Is.NUMBER, number=value), 1
        for prefix, suffix in (("un", ""), ("non", ""), ("anti", ""), ("", "less")):
            if word.startswith(prefix) and word.endswith(suffix) and len(word) > len(prefix + suffix) + 2:
                inner = word[len(prefix) : len(word) - len(suffix) or None]
                entries = lexicon.latin.get(stem(inner), ())
                fact = next((each.fact for each in entries if each.fact), None)
                if fact is not None:
                    entry = Entry(Is.FACT, fact=replace(fact, alone=True), name="negated")
                    return Token(start, end, word, Is.FACT, (entry,)), 1
        return None

    def _find_stem(self, word: str) -> str:
        made = stem(word) if word[0].isalpha() else word
        if made in self.known or len(word) < 4 or not word[0].isalpha():
            return made
        return next((stem(each) for each in self._near(word, made, within=True)), made)

    def _near(self, word: str, made: str, *, within: bool = False) -> list[str]:
        """Returns the known words that `word` or its stem `made` may misspell, likeliest first: one letter is added,
        missing, changed, or swapped with the next. Returns none for a known or ordinary word. Unless `within` is given, a
        short word matches only by a doubled letter or a swap."""
        if made in self.known or not word.isalpha() or word in _ordinary() or made in _ordinary():
            return []
        near = dict.fromkeys(
            each for said in (made, word) for left in left_out(said) for each in self.lexicon.slips.get(left, ())
        )
        best = [each for each in near if any(self._may_misspell(said, each) for said in (made, word))]
        if len(word) < _SHORTEST_SLIP and not within:
            best = [each for each in best if _is_doubled(each, word) or sorted(each) in (sorted(made), sorted(word))]
        return sorted(best, key=lambda each: (each[0] != word[0], abs(len(each) - len(word)), each))

    def _may_misspell(self, said: str, meant: str) -> bool:
        """Returns True if the words differ by one letter. A refusal is not meant if one letter is replaced, or if the first
        letters differ: "despite" is not "despise"."""
        changed = len(said) == len(meant) and sorted(said) != sorted(meant)
        other = meant in self.lexicon.refusing and (changed or said[0] != meant[0])
        return not other and OSA.distance(said, meant) == 1

    def _magazine(self, text: str, words: list[tuple[int, str]], i: int) -> tuple[Token, int] | None:
        start, word = words[i]
        if not word[0].isalpha() or not self.magazines.begin_with(word):
            return None
        if i and words[i - 1][1] == word:
            return None
        most = 1
        while most < min(_LONGEST_MAGAZINE, len(words) - i) and self.magazines.may_hold(words[i + most][1]):
            most += 1
        for size in range(most, 0, -1):
            last, said = words[i + size - 1]
            if not said.isascii() or said in _SIGNS or said in _COMMAS:
                continue
            end = last + len(said)
            name = text[start:end]
            if not name.isascii():
                continue
            if found := self.magazines.named(name):
                cue = size == 1 and word not in _PLAIN_MAGAZINES
                entry = self._entry(name, found, cue=cue)
                return Token(start, end, name, Is.FACT, (entry, *((Entry(Is.WORD),) if cue else ()))), size
        return None

    def _number_words(self, word: str) -> float | None:
        return self.lexicon.numbers.value(word)


def _is_doubled(one: str, other: str) -> bool:
    return _DOUBLED.sub(r"\1", one) == _DOUBLED.sub(r"\1", other)


def _is_compound(text: str, end: int, entries: tuple[Entry, ...]) -> bool:
    fact = entries[0].fact
    return fact is not None and fact.loose and text[end : end + 1] == "-" and text[end + 1 : end + 2].isalpha()


_BEGINNINGS = ("shonen", "shounen", "weekly", "young", "shojo", "big")
_PLAIN_MAGAZINES = frozenset(
    {"jump", "corocoro", "nakayoshi", "ribon", "ciao", "lala", "margaret", "gangan", "betsucomi", "hanayume"}
)


def magazine_entry(name: str, found: tuple[str, ...], *, cue: bool = False, refused: tuple[str, ...] = ()) -> Entry:
    """Makes the entry of the magazines `found`. If a shopper refuses the name, those in `refused` are excluded as well. With
    `cue`, the name counts only beside a word such as "from"."""
    against = Conditions(without_magazines=tuple(dict.fromkeys((*found, *refused))))
    fact = Fact("magazines", f"from {name}", Conditions(magazines=found), against, bare=cue)
    return Entry(Is.FACT, fact=fact, name="magazine")


_MAGAZINE_BEGINS = (
    "週刊", "月刊", "別冊", "増刊", "少年", "少女", "花とゆめ", "りぼん", "なかよし", "ちゃお",
    "ヤング", "ビッグ", "ジャンプ", "ウルトラ",
)  # fmt: skip
_MAGAZINE_STARTS = frozenset(each[0] for each in _MAGAZINE_BEGINS)
_MAGAZINE_ENDS = ("の漫画", "の作品", "で連載", "に連載", "に載", "連載", "掲載", "のまんが", "のマンガ", "以外")
_KANA_DIGITS = {
    "いっ": 1, "いち": 1, "に": 2, "さん": 3, "よん": 4, "ご": 5, "ろく": 6, "ろっ": 6, "なな": 7, "しち": 7,
    "はち": 8, "はっ": 8,
    "きゅう": 9,
}  # fmt: skip
_KANA_STARTS = frozenset(("じ", *(each[0] for each in _KANA_DIGITS)))
_KANA_UNITS = ("かん", "さつ", "えん", "さい", "巻", "冊", "円", "歳")


def _is_negated_by_clip(tokens: list[Token]) -> bool:
    """Returns True if the last token is the stem of a Japanese verb that a clipped negation follows: 買え in 買えへん."""
    verb = next((token for token in reversed(tokens[-2:]) if token.kind is not Is.GLUE), None)
    stems = verb is not None and verb.cjk and verb.operator(Sense.WANT, Sense.REFUSE, Sense.LIMIT) is not None
    return stems and fold_japanese(tokens[-1].text[-1]) in _BEFORE_CLIPS


def _is_number(word: str) -> bool:
    return word[0].isdigit() and not any(letter.isalpha() for letter in word)


def _kana_number(folded: str, start: int) -> Token | None:
    """Returns a number in kana before its unit, such as じゅっかん or さんじゅっさつ; None if there is none."""
    at, value = start, 0
    for kana, digit in _KANA_DIGITS.items():
        if folded.startswith(kana, at):
            at, value = at + len(kana), digit
            break
    for ten in ("じゅう", "じゅっ", "じっ"):
        if folded.startswith(ten, at):
            at, value = at + len(ten), (value or 1) * 10
            break
    if at == start or not folded.startswith(_KANA_UNITS, at):
        return None
    return Token(start, at, folded[start:at], Is.NUMBER, number=float(value), cjk=True)


def _ordinary() -> frozenset[str]:
    return Dictionary.load().english_words()


def _joined(tokens: list[Token], text: str) -> list[Token]:
    made: list[Token] = []
    for token in tokens:
        last = made[-1] if made else None
        if (
            last is not None
            and token.kind is last.kind is Is.WORD
            and token.cjk
            and last.cjk
            and last.end == token.start
            and _script(last.text[-1]) == _script(token.text[0])
        ):
            last.end, last.text = token.end, text[last.start : token.end]
        else:
            made.append(token)
    return made


def _script(character: str) -> str:
    if "\u30a1" <= character <= "\u30fc":
        return "katakana"
    return "hiragana" if "\u3041" <= character <= "\u309f" else "kanji"
