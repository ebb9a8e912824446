"""Joins numbers with their units and bounds: "under ten volumes", "5巻以内", "¥600 or less", "vols<=5", "the 90s",
小学三年生."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

from tools.store.currency import YEN, Currency
from tools.store.search.reading.tables import together, words_of
from tools.store.search.reading.tokens import CORRECTS, Amount, Bound, Is, Sense, Token

_FIRST_YEAR, _LAST_YEAR = 1900, 2099
_OLDEST = 19
_STEPS = {"stars": 0.01}
_TO = frozenset(("to", "-", "..", "...", "~", "〜", "～", "から", "and", "an", "through", "、", "or", ","))
_COMPARES = frozenset(("<", ">", "<=", ">=", "=", ":"))
_SMALL_GLUE, _LENGTHS = words_of("measured"), words_of("lengths")
_EACH = ("for", "per", "a", "each", "every")
_SCHOOLS = {"小": 5, "小学": 5, "小学校": 5, "中": 11, "中学": 11, "中学校": 11, "高": 14, "高校": 14}
_AGE_FOLLOWS = (*words_of("persons"), "(", ",")
"""Ends of words that an age follows."""
_POINTERS = words_of("pointers")
_MEASURES = {
    "volumes": ("shorter than", "longer than", "fewer than", "more than", "より短い", "より長い", "より少ない", "より多い"),
    "money": ("cheaper than", "dearer than", "more expensive than", "less than", "more than", "より安い", "より高い"),
    "year": ("older than", "newer than", "earlier than", "later than", "より古い", "より新しい", "より前", "より後"),
}
"""Bounds by which a word that points back compares with an amount of each unit."""
_AGO, _CHILDREN = words_of("ago"), words_of("children")
Words = Callable[[str], float | None]


def with_amounts(tokens: list[Token], words: Words, currency: Currency = YEN) -> list[Token]:
    """Returns the tokens, with each number, its unit and its bounds joined to one. `words` parses number words."""
    return _Amounts(_numbered(tokens, words), currency).put_together()


def _numbered(tokens: list[Token], words: Words) -> list[Token]:
    made: list[Token] = []
    i = 0
    while i < len(tokens):
        values: list[float] = []
        j = i
        while (
            j < len(tokens)
            and not tokens[j].cjk
            and tokens[j].text.isalpha()
            and (value := words(tokens[j].text)) is not None
        ):
            values.append(value)
            j += 1
        if values and not (
            len(values) == 1 and tokens[i].kind is not Is.WORD and tokens[i].text == "one" and not _unit_at(tokens, j)
        ):
            token = tokens[i]
            made.append(
                Token(
                    token.start,
                    tokens[j - 1].end,
                    " ".join(t.text for t in tokens[i:j]),
                    Is.NUMBER,
                    number=together(values),
                    space=token.space,
                )
            )
            i = j
            continue
        token = tokens[i]
        if token.kind is Is.NUMBER and made and made[-1].kind is Is.NUMBER and token.start == made[-1].end and token.cjk:
            last = made[-1]  # 1万, 5千
            scale = {"万": 10_000.0, "千": 1_000.0, "百": 100.0}.get(token.text)
            if scale is not None and last.number is not None:
                last.number, last.end, last.text = last.number * scale, token.end, last.text + token.text
                i += 1
                if len(made) > 1 and made[-2].end == last.start and (made[-2].number or 0) > last.number:  # 1万5千
                    made[-2].number, made[-2].end = (made[-2].number or 0) + last.number, last.end
                    made[-2].text += made.pop().text
                continue
        if (
            token.kind is Is.WORD
            and token.text in ("k", "thousand", "hundred")
            and made
            and made[-1].kind is Is.NUMBER
            and made[-1].number
        ):
            made[-1].number *= 100 if token.text == "hundred" else 1_000
            made[-1].end = token.end
            i += 1
            continue
        made.append(token)
        i += 1
    return made


def _unit_at(tokens: Sequence[Token], i: int) -> bool:
    return i < len(tokens) and any(each.kind is Is.UNIT and each.side == "after" for each in tokens[i].entries)


class _Amounts:
    def __init__(self, tokens: list[Token], currency: Currency) -> None:
        self._tokens = tokens
        self._currency = currency
        self._made: list[Token] = []

    def put_together(self) -> list[Token]:
        i = 0
        while i < len(self._tokens):
            token = self._tokens[i]
            if token.kind is Is.NUMBER and token.number is not None:
                i = self._amount(i)
            else:
                self._made.append(token)
                i += 1
        for i, token in enumerate(self._made):
            if token.kind not in (Is.UNIT, Is.BOUND, Is.NUMBER, Is.OPERATOR):
                continue
            self._compare_with_pointed(i, token)
            if token.kind in (Is.UNIT, Is.BOUND, Is.NUMBER):
                other = Is.WORD if token.entry(Is.UNIT) and token.entries[0].name == "foreign" else Is.GLUE
                token.kind = next((each.kind for each in token.entries if each.kind not in (Is.UNIT, Is.BOUND)), other)
        self._scope()
        return self._made

    def _at(self, i: int) -> Token | None:
        return self._tokens[i] if 0 <= i < len(self._tokens) else None

    def _unit(self, i: int, side: str = "after") -> str | None:
        token = self._at(i)
        if token is None:
            return None
        return next((each.name for each in token.entries if each.kind is Is.UNIT and each.side == side), None)

    def _bound_after(self, i: int) -> tuple[Bound | None, int]:
        token = self._at(i)
        if token is None:
            return None, i
        if token.text in ("and", "or") and (next_ := self._at(i + 1)) is not None and not self._is_number(i + 2):
            for each in next_.entries:
                if each.kind is Is.BOUND and each.bound in (Bound.MOST, Bound.UNDER, Bound.LEAST, Bound.OVER):
                    return {Bound.UNDER: Bound.MOST, Bound.OVER: Bound.LEAST}.get(each.bound, each.bound), i + 2
        for each in token.entries:
            if each.kind is Is.BOUND and each.side == "after" and each.bound:
                return each.bound, i + 1
        return None, i

    def _is_sign(self, i: int) -> bool:
        token = self._at(i)
        return token is not None and token.text in _COMPARES

    def _is_number(self, i: int) -> bool:
        token = self._at(i)
        return token is not None and token.kind is Is.NUMBER

    def _amount(self, i: int) -> int:
        """Reads the amount that the number at `i` belongs to. Returns the index of the first token after the amount."""
        first = self._tokens[i]
        halved = [token.text for token in self._made[-2:]] == ["half", "a"]  # half a dozen
        del self._made[-2 if halved else len(self._made) :]
        start, before, unit_before = self._before()
        value, other, j = (first.number or 0.0) / (2 if halved else 1), None, i + 1
        bound, j = self._bound_after(j) if (t := self._at(j)) is not None and t.text == "+" else (None, j)
        unit = self._unit(j)
        sign = self._at(j)
        if sign is not None and not unit and sign.start == first.end and sign.text in ("s", "'s"):
            unit, bound, j = "year", Bound.DECADE, j + 1
            if before is Bound.UNDER and value <= _OLDEST:  # "for under-10s"
                unit, bound, value = "age", None, value - 1
        elif unit and unit_before and self._is_sign(j + 1):  # "vols<5 year>2015"
            unit = None
        elif unit:
            j += 1
        # A second number: "between 5 and 10 volumes", "$7 to $8", 5巻から10巻.
        k = j + 1 + (unit_before is not None and self._unit(j + 1, "before") == unit_before)
        to, second = self._at(j), self._at(k)
        if to is not None and second is not None and second.kind is Is.NUMBER and to.text in _TO and bound is None:
            ranged = to.text not in ("and", "an", "or", ",", "、") or before is Bound.BETWEEN
            other_unit = self._unit(k + 1)
            if (
                ranged
                and (unit or unit_before or other_unit or _is_year(second.number))
                and (unit is None or other_unit in (None, unit))
            ):
                other, unit, j = second.number, unit or other_unit, k + (2 if other_unit else 1)
        if bound is None:
            bound, j = self._bound_after(j)
        school = (
            self._made[-1]
            if self._made and self._made[-1].end == first.start and first.cjk | (first.text[0].isdigit())
            else None
        )
        if school is not None and school.text in _SCHOOLS and value <= 6:
            del self._made[-1]
            while (year := self._at(j)) is not None and (year.text in ("年", "生", "年生") or unit == "year"):
                unit, j = None, j + (year.text in ("年", "生", "年生"))
                if year.text not in ("年", "生", "年生"):
                    break
            token = Token(
                school.start,
                self._tokens[j - 1].end,
                "age",
                Is.AMOUNT,
                amount=Amount("age", None, value + _SCHOOLS[school.text]),
                cjk=True,
            )
            self._made.append(token)
            return j
        unit = self._unit_of(unit, unit_before, value, other, bound or before, first, j)
        if unit == "grade":
            unit, value = "age", value + 5
        said = next((token for token in reversed(self._made) if token.text not in ",、"), None)
        if unit is None and said and any(each.name in CORRECTS for each in said.entries):
            corrected = next((token.amount for token in reversed(self._made) if token.amount is not None), None)
            if corrected is not None:  # "under 600 yen, no, make that 800"
                unit, before = corrected.unit, before or corrected.bound
        if unit is None:
            return self._not_an_amount(i)
        if bound is None and other is None:
            bound, j = self._bound_after(j + 1) if self._glue_at(j) and self._bound_after(j + 1)[0] else (None, j)
        if unit == "year" and bound == Bound.DECADE:
            value = _decade(value)
            last = value + 9
            if before is None:  # "the nineties or earlier", 90年代以前
                before, j = self._bound_after(j)
            made = Amount(unit, None, value, last)
            within = self._made_bound_text().endswith(("from", "in"))  # "started in the 90s"
            if not within and before in (Bound.UNDER, Bound.LEAST, Bound.OVER, Bound.MOST):
                made = {
                    Bound.UNDER: Amount(unit, Bound.UNDER, value),
                    Bound.LEAST: Amount(unit, Bound.LEAST, value),
                    Bound.OVER: Amount(unit, Bound.OVER, last),
                    Bound.MOST: Amount(unit, Bound.MOST, last),
                }[before]
        else:
            stated = bound or (before if before is not Bound.BETWEEN else None)
            if unit in ("years_ago", "decades_ago") or (unit == "year" and value < 100):
                ago = [k for k in range(max(0, len(self._made) - 4), len(self._made)) if self._made[k].text in _AGO]
                if not ago:
                    return self._not_an_amount(i)
                start, self._begin = ago[0], self._made[ago[0]]
                unit, stated, value = "ago", Bound.LEAST, value * (10 if unit == "decades_ago" else 1)
            made = Amount(unit, None if other is not None else stated, value, other, step=_STEPS.get(unit, 1.0))
        if start is not None:
            del self._made[start:]
        begin = self._begin if start is not None else first
        end = self._tokens[j - 1]
        token = Token(begin.start, end.end, "", Is.AMOUNT, amount=made, cjk=end.cjk or first.cjk, space=begin.space)
        token.text = f"{made.unit}"
        self._made.append(token)
        return j

    def _made_bound_text(self) -> str:
        return next((token.text for token in reversed(self._made[-3:]) if token.entry(Is.BOUND)), "")

    def _not_an_amount(self, i: int) -> int:
        token = self._tokens[i]
        token.kind = Is.WORD
        self._made.append(token)
        return i + 1

    def _glue_at(self, i: int) -> bool:
        token = self._at(i)
        return token is not None and token.kind is Is.GLUE

    def _before(self) -> tuple[int | None, Bound | None, str | None]:
        """Finds the bound and the unit in front of a number. Returns the index of their first token in `_made`, the bound
        and the unit; None for any that is missing."""
        start, bound, unit = None, None, None
        k = len(self._made) - 1
        looked = 0
        while k >= 0 and looked < 4:
            token = self._made[k]
            bound_here = next(
                (each.bound for each in token.entries if each.kind is Is.BOUND and each.side == "before"), None
            )
            unit_here = next((each.name for each in token.entries if each.kind is Is.UNIT and each.side == "before"), None)
            if bound_here and bound is None:
                start, bound = k, bound_here
            elif unit_here and unit is None:
                start, unit = k, unit_here
            elif token.text not in _SMALL_GLUE:
                break
            k -= 1
            looked += 1
        if start is not None:
            self._begin = self._made[start]
        return start, bound, unit

    def _unit_of(
        self,
        unit: str | None,
        before: str | None,
        value: float,
        other: float | None,
        bound: Bound | None,
        token: Token,
        j: int,
    ) -> str | None:
        if bound is Bound.DECADE:
            return "year"
        if unit == "stars" and value > 5:
            unit = None
        if unit:
            if unit == "volumes" and not token.cjk and before == "volumes" and bound is None:
                return None
            return unit
        if token.cjk is False and self._made and self._made[-1].text in _SCHOOLS and self._made[-1].end == token.start:
            return None
        if before == "grade" or before == "age":
            return "grade" if before == "grade" else "age"
        if _is_year(value) and before not in ("money", "foreign") and (token.text[:2] in ("19", "20") or " " in token.text):
            return "year"
        if before == "foreign":
            return before
        if self._currency.least_bare_amount == inf and (before == "money" or self._is_limited(j)):
            return "money"
        if before == "volumes":
            return "volumes" if bound else None
        if before == "year":
            return "year" if _is_year(value) else None
        if before == "stars" or (value <= 5 and "." in token.text):
            return "stars" if value <= 5 else None
        if before == "money":
            return "money" if value >= self._currency.least_bare_amount else "foreign"
        following = self._at(j)
        if value >= self._currency.least_bare_amount and (
            (following is not None and following.entry(Is.SCOPE))
            or any(t.operator(Sense.LIMIT) for t in self._made[-5:])
            or (bound and value >= 2 * self._currency.least_bare_amount)
        ):
            return "money"
        if value <= _OLDEST and bound is None and self._tells_of_somebody():
            return "age"
        return "volumes" if bound and value < 1_000 and self._is_of_length(j) else None

    def _is_of_length(self, j: int) -> bool:
        """Returns True if words beside a number show that it counts volumes: "under 20 volumes and over 3"."""
        last = next((token.amount for token in reversed(self._made) if token.amount is not None), None)
        if last is not None and last.unit == "volumes":
            return True
        following = self._at(j)
        bounds = [token.text for token in (*self._made[-3:], *self._tokens[j - 1 : j]) if token.entry(Is.BOUND)]
        said = any(word in text for text in bounds for word in _LENGTHS)
        return said and (following is None or following.kind is not Is.WORD)

    def _is_limited(self, j: int) -> bool:
        """Returns True if a number without a unit is the most to be spent: "budget 15", not "spend 2 hours"."""
        following = self._at(j)
        beside = any(token.operator(Sense.LIMIT) for token in self._made[-2:])
        return beside and (following is None or following.kind is not Is.WORD)

    def _tells_of_somebody(self) -> bool:
        """Returns True if the number is somebody's age: "my niece is 9", "hes 9", "a girl of 9"."""
        if not self._made or not self._made[-1].text.endswith(_AGE_FOLLOWS):
            return False
        if self._made[-1].text == "of":  # "a girl of ten"
            return any(t.text.split(" ")[-1] in _CHILDREN for t in self._made[-2:-1])
        somebody = any(t.fact is not None and t.fact.matter in ("audience", "person") for t in self._made)
        somebody = somebody or any(t.amount is not None and t.amount.unit == "age" for t in self._made)
        said = [token.text for token in self._made[-3:] if token.text != "now"]
        return somebody or said[-2:] in (["he", "is"], ["she", "is"]) or self._made[-1].text in (
            "hes", "shes", "he's", "she's", "turned", "aged", "just",
        )  # fmt: skip

    def _compare_with_pointed(self, i: int, token: Token) -> None:
        """Lets the bound at `i` replace an earlier amount that a word beside it points back to: "15 volumes is too many,
        something shorter than that"."""
        k = i - 1 if token.cjk else i + 1
        beside = self._made[k] if 0 <= k < len(self._made) else None
        if beside is None or beside.text not in _POINTERS:
            return
        unit = next((unit for unit, words in _MEASURES.items() if token.text.endswith(words)), None)
        bound = next((each.bound for each in token.entries if each.kind is Is.BOUND), None)
        if unit is None or bound is None:
            return
        before = next((each for each in reversed(self._made[:i]) if each.amount and each.amount.unit == unit), None)
        if before is not None and before.amount is not None:
            number = before.amount.least if before.amount.most is None else before.amount.most
            token.amount = replace(before.amount, bound=bound, least=number, most=None)
            token.kind, token.entries, before.kind, before.amount = Is.AMOUNT, (), Is.GLUE, None

    def _scope(self) -> None:
        whole = [
            i for i, t in enumerate(self._made) if any(e.kind is Is.SCOPE and e.name == "whole_series" for e in t.entries)
        ]
        each = [i for i, t in enumerate(self._made) if any(e.kind is Is.SCOPE and e.name == "per_volume" for e in t.entries)]
        money = [i for i, t in enumerate(self._made) if t.amount and t.amount.unit == "money"]
        for i in money:
            amount = self._made[i].amount
            if amount is None:
                continue
            nearest = min((abs(i - k) for k in each), default=99)
            # 一冊 700円: "one volume" before an amount says what the price is for.
            last = self._made[i - 1] if i else None
            if (
                last is not None
                and last.amount
                and last.amount.unit == "volumes"
                and last.amount.least == 1
                and last.amount.bound is None
            ):
                last.kind, last.amount, nearest = Is.GLUE, None, 1
            dear = nearest > 8 and amount.least >= self._currency.above_any_volume
            series = (bool(whole) and min(abs(i - k) for k in whole) < nearest) or dear
            self._made[i].amount = Amount("money", amount.bound, amount.least, amount.most, series)
            if series and whole:
                for k in whole:
                    self._made[k].kind = Is.GLUE
        for k in [i + 2 for i in money if i + 2 in each and self._made[i + 1].text in _EACH]:  # "700 yen for one volume"
            self._made[k].kind, self._made[k].entries = Is.GLUE, ()
        for token in self._made:
            if token.kind is Is.SCOPE:
                token.kind = Is.FACT if token.fact is not None else Is.GLUE


def _is_year(value: float | None) -> bool:
    return value is not None and _FIRST_YEAR <= value <= _LAST_YEAR and value == int(value)


def _decade(value: float) -> float:
    if value >= 1_000:
        return value // 10 * 10
    return (1900 if value >= 30 else 2000) + value // 10 * 10
