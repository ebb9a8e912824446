"""Classifies the shopper's stance (wanted, refused, known, …) towards a fact or a name by the words around it.

The classifier is a linear model. Its weights (stances.txt.gz) are trained by `python -m tests.quality.strangers.training`.
"""

from __future__ import annotations

import gzip
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tools.store.search.reading.items import Item, Stance
from tools.store.search.reading.tokens import Is, Sense, Token
from tools.store.search.text.tokens import stem

STANCES = ("refused", "wanted", "free", "known", "aside", "liked")
"""In this order: refused or disliked; wanted or required; not required; read or owned; only mentioned; liked."""
SCALE, _TEMPERATURE = 16.0, 11 / 16
"""A weight is stored as a whole number, the weight times `SCALE`. Scores are divided by `_TEMPERATURE`: below 1, the answers
are surer than the training made them."""
_LEFT, _RIGHT, _CLASSES = 12, 14, 6
"""Most tokens looked at to the left and to the right of an item, and most of their classes on each side."""
_SIGNS_LEFT, _SIGNS_RIGHT = 14, 22
"""Most characters looked at to the left and to the right of an item in Japanese."""
_STOPS = ".!?;。！？\n|"
_BITS, _ZERO = 20, 2_048
"""Bits of each weight in the number that packs a feature's weights, and an offset that keeps each weight positive."""
_MASK = (1 << _BITS) - 1
_BATCH = 4_096

TIMES = 3
"""Times that a feature of the operators counts, since such a feature tells as much as a few features of words."""
_REFUSED, _WANTED, _BARE = 2.0, 1.0, 0.5
"""Changes of the model's log-odds of a refusal: added for a refusing operator, subtracted for another or for no operator."""
_HELD, _HELD_REFUSED, _HELD_TWICE = 1.5, 3.0, 3.0
"""Log-odds against the operators from which the stance is in doubt: for one operator, one that refuses, and several."""
_SURE, _WISHED, _SUPPOSED, _ALONE, _TOLD, _CERTAIN = 0.3, 1.0, 2.5, 0.5, 0.7, 0.9
"""Log-odds from which a refusal, a wish, and a wish in an if-clause are sure. Least shares of a stance in the model's answer
for the model to refuse alone, to decide where operators say little, and for a wish to override an operator."""


@dataclass(frozen=True, slots=True)
class Judged:
    stance: str
    shares: Mapping[str, float]


class Stances:
    """The linear model: the weights of each feature, packed by `pack_weights`."""

    def __init__(self, packed: Mapping[str, int]) -> None:
        self._weights = packed

    @classmethod
    @cache
    def load(cls) -> Stances:
        """Returns the shipped model. The first half of the lines of its file are features, the second half their weights."""
        read = files("tools.store.search.reading").joinpath("stances.txt.gz").read_bytes()
        lines = gzip.decompress(read).decode().split("\n")
        half, packed = len(lines) // 2, dict[str, int]()
        for at in range(0, half, _BATCH):  # a single call would block the event loop for 25 ms
            end = min(at + _BATCH, half)
            packed.update(zip(lines[at:end], map(int, lines[half + at : half + end], itertools.repeat(16)), strict=True))
        return cls(packed)

    def judge(self, around: Surroundings, at: int, kind: str) -> Judged:
        return self.of(*around.features(at, kind))

    def of(self, features: Sequence[str], operators: Sequence[str] = ()) -> Judged:
        """Classifies by features. Each of `operators` counts `TIMES` as much as each of `features`."""
        found, held = (list(filter(None, map(self._weights.get, each))) for each in (features, operators))
        total, nothing = sum(found) + TIMES * sum(held), _ZERO * (len(found) + TIMES * len(held))
        length = SCALE * _TEMPERATURE * math.sqrt(len(features) + TIMES * len(operators))
        parts = [math.exp(((total >> _BITS * k & _MASK) - nothing) / length) for k in range(len(STANCES))]
        whole = sum(parts)
        shares = {stance: part / whole for stance, part in zip(STANCES, parts, strict=True)}
        return Judged(max(shares, key=shares.__getitem__), shares)


def pack_weights(weights: Iterable[int]) -> int:
    """Packs the weights of one feature for all `STANCES` into an integer. Sums of such integers add each weight."""
    return sum(weight + _ZERO << _BITS * k for k, weight in enumerate(weights))


class Surroundings:
    """Derives the model's features from the tokens of a text, and from its `items` and their operators."""

    def __init__(self, tokens: Sequence[Token], items: Sequence[Item]) -> None:
        self._tokens, self._items = tokens, items
        self._numbers = {item.at: i for i, item in enumerate(items)}
        self._japanese = [token.cjk for token in tokens]
        self._words = [_words_of(token) for token in tokens]
        self._classes = [_class_of(token) for token in tokens]

    def features(self, at: int, kind: str) -> tuple[list[str], list[str]]:
        """Returns two lists of features: n-grams and classes of the words or characters around the token at index `at`, and
        those of its operators."""
        before, after = slice(max(0, at - _LEFT), at), slice(at + 1, at + 1 + _RIGHT)
        left, right = self._words[before][::-1], self._words[after]
        found: list[str]
        if any(self._japanese[max(0, at - 6) : at + 8]):
            found, mark = [f"JK {kind}"], "J"
            _add_characters(found, "JL", "".join(["".join(each) for each in reversed(left)])[: -_SIGNS_LEFT - 1 : -1], 3)
            _add_characters(found, "JR", "".join(["".join(each) for each in right])[:_SIGNS_RIGHT], 4)
        else:
            found, mark = [f"EK {kind}"], ""
            _add_words(found, "L", [word for each in left for word in reversed(each)][:_LEFT])
            _add_words(found, "R", [word for each in right for word in each][:_RIGHT])
        _add_classes(found, f"{mark}L", list(filter(None, reversed(self._classes[before])))[:_CLASSES])
        _add_classes(found, f"{mark}R", list(filter(None, self._classes[after]))[:_CLASSES])
        if (amount := self._tokens[at].amount) is not None:
            bound = amount.bound.value if amount.bound else ""
            found += [f"U {amount.unit}", f"U {amount.unit} {bound}", f"U {amount.unit} {bound} {mark}"]
        return found, [mark + each for each in self._of_operators(at, kind)]

    def _of_operators(self, at: int, kind: str) -> list[str]:
        if (i := self._numbers.get(at)) is None:
            return ["B none"]
        item, last = self._items[i], len(self._items) - 1
        said, chain = item.stance.value, item.chain
        found = [
            f"B {said} {0 if chain is None else min(2, len(chain.operators))}",
            f"Bk {kind} {said} {chain is not None}",
            f"P {min(i, 2)} {min(last - i, 2)}",
        ]
        if chain is not None:
            refuses = any(each.sense is Sense.REFUSE for each in chain.operators)
            senses = " ".join(each.sense.value if each.sense else "" for each in chain.operators[:3])
            found += (
                f"Bs {said} {refuses} {chain.japanese}",
                f"Bo {senses} {chain.operators[-1].side}",
                f"Bd {said} {min(abs(chain.at - at), 6)}",
                f"Bn {said} {min(len(chain.objects), 3)}",
            )
        for place, k in (("p", i - 1), ("n", i + 1)):
            if 0 <= k <= last:
                other = self._items[k]
                gap = (other if place == "n" else item).gap
                found += (
                    f"O{place} {other.stance.value} {other.chain is not None}",
                    f"Og{place} {gap} {other.stance.value}",
                    f"Om{place} {other.matter == item.matter} {other.stance.value}",
                )
        return found


def _add_words(found: list[str], side: str, words: list[str]) -> None:
    if not words:
        found.append(f"{side}$")
        return
    found.append(f"{side}a {words[0]}")
    found.append(f"{side}b {' '.join(words[:2])}")
    place, words = side, [*words, "$"]
    for i, word in enumerate(words[:-1]):
        pair = f"{word} {words[i + 1]}"
        found += (f"{place}1 {word}", f"{place}2 {pair}")
        if i + 2 < len(words) - 1:
            found.append(f"{place}3 {pair} {words[i + 2]}")
        if word in _STOPS:
            place = f"{side}~"
        elif word == "," and place == side:
            place = f"{side},"


def _add_characters(found: list[str], side: str, text: str, longest: int) -> None:
    place = f"{side} "
    for i, character in enumerate(text):
        said = text[i : i + longest]
        found += [place + said[:size] for size in range(1, len(said) + 1)]
        if character in _STOPS:
            place = f"{side}~ "
    ended = f"{text}$"
    found += [f"{side}a {ended[:size]}" for size in range(1, longest + 2)]


def _add_classes(found: list[str], side: str, classes: list[str]) -> None:
    found += [f"{side}c {each}" for each in classes]
    found += [f"{side}cc {one} {other}" for one, other in itertools.pairwise(classes)]
    found += [f"{side}c0 {each}" for each in classes[:1]]


def _class_of(token: Token) -> str:
    if token.kind in (Is.NAMED, Is.AMOUNT):
        return "F"
    if senses := sorted({f"{each.sense}{each.side == 'after' or ''}" for each in token.entries if each.sense}):
        return "/".join(senses)
    return "F" if _masked(token) else "|" if token.kind is Is.BREAK else ""


def _masked(token: Token) -> str:
    if token.kind in (Is.NAMED, Is.AMOUNT):
        return "N" if token.kind is Is.NAMED else "A"
    fact = token.fact if token.kind is Is.FACT and token.operator() is None else None
    return "" if fact is None or fact.mood or fact.alone else "F"


def _words_of(token: Token) -> list[str]:
    masked = _masked(token)
    if masked or token.cjk:
        made = [masked or token.text.replace(" ", "")]
    else:
        made = [stem(word) if len(word) > 3 and word.isalpha() else word for word in token.text.split()]
    entry = token.entry(Is.BREAK)
    parts = not masked and entry is not None and entry.name in ("strong", "reason") and made[-1] not in _STOPS
    return [*made, "|"] if parts else made


def settled(item: Item, judged: Judged, *, supposed: bool) -> Stance | None:
    """Returns the stance towards a fact or an amount, by its operators and the model. Returns None if the two leave a doubt,
    or if the text only mentions the item. A `supposed` item, of an if-clause, needs more evidence to be wanted."""
    shares, stance, chain = judged.shares, item.stance, item.chain
    if item.past and (chain is None or (stance is Stance.REFUSED and (chain.japanese or chain.at < item.at))):
        return None
    if stance is Stance.FREE:
        return Stance.WANTED if share_of_wish(shares) >= _CERTAIN else stance if shares["refused"] < _TOLD else None
    if stance is Stance.KNOWN:  # having read much of a kind says little about what is wanted next
        return Stance.WANTED if share_of_wish(shares) >= _TOLD else Stance.REFUSED if shares["refused"] >= _TOLD else None
    if chain is None and shares["free"] >= _TOLD:
        return Stance.FREE
    if chain is None and shares["aside"] + shares["known"] >= _TOLD:
        return None
    odds = _odds(shares)
    if chain is not None and not chain.japanese and chain.operators[-1].side == "none" and chain.to == item.at - 1:
        return stance  # "no horror", whatever is around it
    if chain is not None:
        # Never the opposite of an operator: where the model is sure of the opposite, the stance is in doubt.
        against, most = (-odds, _HELD_REFUSED) if stance is Stance.REFUSED else (odds, _HELD)
        if not chain.japanese and all(each.sense is Sense.WANT for each in chain.operators):  # "get" and "have" say little
            most = -_SUPPOSED if supposed else _SURE
        return stance if against < (_HELD_TWICE if len(chain.operators) > 1 else most) else None
    odds -= 0 if stance is Stance.REFUSED else _BARE
    bounded = item.token.amount is not None and item.token.amount.bound is not None
    if bounded and not supposed and odds < 0:
        return Stance.WANTED  # "at most ten" needs no word that asks for it
    if stance is Stance.REFUSED and odds > -_WISHED:
        return stance  # by "too" or "so"
    if -(_SUPPOSED if supposed else _WISHED) < odds < (_WISHED if bounded and chain is None else _SURE):
        return None
    if odds > 0:
        return Stance.REFUSED if shares["refused"] >= _ALONE else None
    return Stance.WANTED if stance is Stance.REFUSED else stance


def of_name(item: Item, judged: Judged) -> Stance:
    """Returns the stance towards a name, by its operators and the model. A name only mentioned counts as known."""
    shares, stance = judged.shares, item.stance
    held = item.chain is not None or stance is Stance.LIKED
    if stance is Stance.KNOWN and share_of_wish(shares) >= _CERTAIN:
        return Stance.WANTED
    if not held and shares["known"] + shares["aside"] >= _TOLD:
        return Stance.KNOWN
    odds = _odds(shares) + ((_REFUSED if stance is Stance.REFUSED else -_WANTED) if held else -_BARE)
    if odds > _SURE:
        return Stance.REFUSED if stance is not Stance.KNOWN else stance
    return stance if stance is not Stance.REFUSED or odds > -_REFUSED else Stance.LIKED


def share_of_wish(shares: Mapping[str, float]) -> float:
    return shares["wanted"] + shares["liked"]


def _odds(shares: Mapping[str, float]) -> float:
    return math.log((shares["refused"] + 1e-6) / (share_of_wish(shares) + 1e-6))
