"""Defines items (the facts, amounts and names in a text), chains of operators, and the stance of a chain towards its items.

A chain is evaluated from its innermost operator, the one next to the item. So "not hate", 嫌いじゃない and ないと嫌 need no
rules of their own. Items without an operator are wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from tools.store.search.reading.tokens import Entry, Fact, Is, Sense, Token

_MOST_OPERATORS = 8
"""Most operators of a chain that affect its stance."""


class Stance(Enum):
    WANTED = "wanted"
    REFUSED = "refused"
    REQUIRED = "required"
    FREE = "free"
    LIKED = "liked"
    KNOWN = "known"


@dataclass(slots=True)
class Chain:
    """Adjacent operators, in text order. `at` and `to` are the token indexes of the first and last. The innermost operator,
    next to the items, is the first in Japanese and the last in English."""

    at: int
    to: int
    operators: list[Entry]
    japanese: bool = False
    objects: list[Item] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    comma: bool = False
    join: str = ""
    mild: bool = False
    conditional: bool = False
    lists: bool = False
    weak: bool = False
    stance: Stance = field(init=False)

    def __post_init__(self) -> None:
        self._apply_operators()

    def add(self, operator: Entry, at: int) -> None:
        """Adds the operator at token index `at`. An operator beyond `_MOST_OPERATORS` does not change the stance."""
        if len(self.operators) < _MOST_OPERATORS:
            self.operators.append(operator)
            self._apply_operators()
        self.to = at

    def _apply_operators(self) -> None:
        state: tuple[Stance, str] | None = None
        for each in self.operators if self.japanese else reversed(self.operators):
            state = _outer(each, state)
        self.stance = state[0] if state else Stance.WANTED

    @property
    def negated(self) -> bool:
        """True if the chain refuses by a negation alone."""
        refuses = any(each.sense is Sense.REFUSE for each in self.operators)
        return self.stance is Stance.REFUSED and not refuses

    @property
    def strong(self) -> bool:
        """True if the chain has a word of refusal, or a negation other than that of a verb ("don't")."""
        return any(each.sense is Sense.REFUSE for each in self.operators) or (
            not self.weak and any(each.sense is Sense.NOT and each.name != "weak" for each in self.operators)
        )


def _outer(operator: Entry, inner: tuple[Stance, str] | None) -> tuple[Stance, str]:
    """Applies an operator to the stance inside it. Returns the new stance, and a mark that changes how the next operator
    applies: "bare" (a negation without a word of feeling), "except", "twice", "shown", "unless", "mind" or another name of
    freedom, or ""."""
    stance, negated = inner or (None, "")
    plain = stance is None or (stance is Stance.WANTED and negated != "twice")
    match operator.sense:
        case Sense.REFUSE if stance is not None and negated == "unless":  # じゃないと嫌, 抜きじゃないと無理
            return (stance, "")
        case Sense.NOT | Sense.REFUSE if stance is Stance.REFUSED and negated:  # "nothing except horror" is horror
            return (Stance.WANTED, "twice")
        case Sense.NOT if negated in ("unless", "mind"):  # 紙じゃないと読めない, "does not mind"
            return (stance or Stance.FREE, "")
        case Sense.NOT:
            freed = stance is Stance.REQUIRED and operator.side != "none"  # "need not be", and not "nothing that is"
            if freed or stance is Stance.REFUSED:
                return (Stance.FREE, "")
            return (Stance.REFUSED, "bare" if plain else "")
        case Sense.REFUSE:
            return (Stance.REFUSED, "except" if operator.name == "except" else "")
        case Sense.FREE if operator.name == "need" and negated == "shown":  # "need not be shown" is no freedom
            return (Stance.REFUSED, "")
        case Sense.FREE if stance is Stance.REFUSED and (operator.name == "any" or negated == "except"):
            return (Stance.REFUSED, negated)
        case Sense.FREE:
            return (Stance.WANTED if operator.name == "any" and stance else Stance.FREE, operator.name)
        case Sense.REQUIRE:
            unless = "unless" if operator.name == "unless" else negated
            return (Stance.REQUIRED if stance is None or stance is Stance.WANTED else stance, unless)
        case Sense.TASTE:
            return (Stance.LIKED if stance is None or stance is Stance.WANTED else stance, negated)
        case Sense.KNOWN:
            return (Stance.KNOWN if plain or stance is None else stance, negated)
        case _:
            return (stance or Stance.WANTED, "shown" if operator.name == "show" and stance is None else negated)


@dataclass(slots=True)
class Item:
    """A fact, an amount, or the name of a title or author in a text. `at`: its token index. `segment`: the number of its
    clause. `gap`: the separator before it: "", "comma", "join", "soft" or "strong"."""

    at: int
    token: Token
    fact: Fact | None
    segment: int
    gap: str = ""
    join: str = ""
    stance: Stance = Stance.WANTED
    chain: Chain | None = None
    mild: bool = False
    limited: bool = False
    freed: str = ""
    but: bool = False
    hedged: bool = False
    """True if later words lift the condition before them: "no romance unless it's short"."""
    denied: bool = False
    """True if it is the subject of a negated verb that is not known: "more than three won't fit"."""
    past: bool = False
    """True if the text only says that it was liked once: "I used to love romance"."""

    @property
    def matter(self) -> str:
        if self.token.kind is Is.NAMED:
            return "title" if self.token.title_ids else "author"
        if self.freed:
            return f"matter:{self.freed}"
        return self.fact.matter if self.fact else (self.token.amount.unit if self.token.amount else "")

    @property
    def asked(self) -> bool:
        """True if the item is a fact neither refused nor freed, or a refused fact that is a refusal itself ("goreless")."""
        alone = bool(self.fact and self.fact.alone)
        return self.fact is not None and (self.stance is Stance.REFUSED) == alone and self.stance is not Stance.FREE

    @property
    def unpleasant(self) -> bool:
        return self.fact is not None and self.fact.unpleasant


@dataclass(slots=True)
class Binding:
    """The result of binding. `used`: indexes of tokens that belong to operators. `story`: indexes of tokens that tell a
    plot. `likes`: index and side of each operator that asks for similar titles. `roles`: "sense:name" of operators that
    introduce a name or ask a question, by token index. `segments`: the number of the clause of each token."""

    items: list[Item]
    chains: list[Chain]
    used: set[int]
    story: set[int]
    likes: list[tuple[int, str]]
    again: bool
    roles: dict[int, str]
    segments: list[int]
    too: list[int]
    reasons: set[int] = field(default_factory=set)
    """The numbers of the clauses that give a reason: "because my sister likes school"."""
