"""Finds the items that an operator reaches: the items of a list before it, those it points back to, and those it lacks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tools.store.search.reading.clauses import MOST_BETWEEN, PARTICLES, POINTERS, PREFIXES, PRONOUNS, SUMS, Clauses
from tools.store.search.reading.items import Chain, Item, Stance
from tools.store.search.reading.tables import words_of
from tools.store.search.reading.tokens import Entry, Is, Sense, Token

SILENT = (Is.BREAK, Is.GLUE)
"""Kinds of tokens that say nothing by themselves."""
_AFTER_THEMES = ("statuses", "format", "rating", "stock")
"""Matters of words that, after a refused theme, are a wish of their own: "no isekai finished"."""
_TASTED, _TASTED_IT = words_of("tasted"), Entry(Is.OPERATOR, sense=Sense.TASTE, side="after")
_READ, _DROPPED = Entry(Is.OPERATOR, sense=Sense.KNOWN), Entry(Is.OPERATOR, sense=Sense.REFUSE)
_READ_AS = {"finished": _READ, "completed": _READ, "never finished": _DROPPED, "dropped": _DROPPED}
"""Words of a status that, before a title, tell how far it was read."""
_ASKED_FOR = Entry(Is.OPERATOR, sense=Sense.WANT, side="after", japanese=True)
_BRACKETS = frozenset("()[]「」『』:;")
_VERBS, _LACKING, _FORFEITS = words_of("verbs"), words_of("lacking"), words_of("forfeits")
_JOINS_ALL = words_of("joins")
_POINTED = {each: words_of(f"pointed_{each}") for each in ("themes", "title", "author", "magazines", "genres", "format")}
"""By the matter of an item, the words that point back to it, or that follow a word that does: "him", "that author"."""


class Reach(Clauses):
    """Relates operators to the items before them."""

    def _operator(self, i: int, token: Token) -> Entry | None:
        if token.text in _READ_AS and i + 1 < len(self._tokens) and self._tokens[i + 1].kind is Is.NAMED:
            return _READ_AS[token.text]
        if token.text in _TASTED and self._is_spoken(i):
            return _TASTED_IT
        found = [each for each in token.entries if each.kind is Is.OPERATOR]
        if not found or self._is_correction(i, token):
            return None
        if self._asks_for_one(i, token):
            return _ASKED_FOR
        after = [each for each in found if each.side == "after"]
        before = [each for each in found if each.side != "after"]
        if after and before:
            return (
                after[0]
                if self._ends_clause(i) and not self._leads_on(i) and next(self._tail(), None)
                else self._preferred(i, before)
            )
        return self._preferred(i, found)

    def _accepts(self, scope: Chain, item: Item) -> bool:
        if not scope.objects:
            said = [token.text for token in self._tokens[scope.to + 1 : scope.to + 3]]
            return len(scope.words) <= MOST_BETWEEN and (not scope.comma or said == [",", "ever"])
        last = scope.objects[-1]
        if scope.operators[-1].name == "sign" or self._tokens[scope.to].text in PREFIXES:
            return False  # "-isekai fantasy", "non-isekai fantasy"
        join, comma = scope.join, scope.comma
        same = item.matter == last.matter
        if item.token.kind is Is.NAMED and last.token.kind is Is.NAMED:
            return True
        if join in _JOINS_ALL:
            return same or join in ("or", "nor")
        if join or comma:
            if not same or self._freed_at(item.at):
                return False
            return (
                (item.unpleasant and scope.stance is Stance.REFUSED)
                or scope.lists
                or self._list_closes(scope, item.at)
                or bool(join)
            )
        if item.token.amount is not None:
            return last.token.amount is not None or same
        if same and item.fact and last.fact and item.matter == "themes":
            return item.unpleasant or not last.unpleasant
        return last.matter != "themes" or item.matter not in _AFTER_THEMES or scope.operators[-1].side != "none"

    def _points_back(self, chain: Chain) -> int | None:
        """Returns the index of the word that points back to an item, if it follows the English chain: "without them"."""
        for k in range(chain.to + 1, min(chain.to + MOST_BETWEEN, len(self._tokens))):
            if self._tokens[k].text in POINTERS:
                return k
            if self._tokens[k].kind is not Is.GLUE and self._tokens[k].text not in ("of", "from", "by"):
                return None
        return None

    def _find_pointed(self, chain: Chain) -> list[Item]:
        """Returns the items that a word after the chain points back to: "none of those", "nothing from that author"."""
        at = self._points_back(chain)
        if at is None or chain.stance not in (Stance.REFUSED, Stance.KNOWN):
            return []
        following = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        noun = "" if following is None or following.kind is Is.BREAK else following.text
        meant = next((matter for matter, words in _POINTED.items() if noun in words or self._tokens[at].text in words), "")
        items = [item for item in self._items if item.matter in ((meant,) if meant else _POINTED)]
        if noun and not meant and noun not in PARTICLES and (self._tokens[at].text == "that" or noun in _VERBS):
            return []  # "nothing that drags on"
        last = chain.operators[-1]
        follows = bool(items) and all(token.kind is not Is.BREAK for token in self._tokens[items[-1].at + 1 : chain.at])
        if follows and (last.side == "none" or last.name == "except" or self._is_relative(chain)):
            while items and items.pop().gap in ("", "join"):  # "ghosts scare me. A mystery without them"
                pass
        if items:
            self._roles.pop(at, None)
        return [item for item in items if item.segment == items[-1].segment and item.matter == items[-1].matter]

    def _find_fronted(self, chain: Chain) -> list[Item]:
        """Returns the items before the subject of a chain without objects: "horror I won't have", "Naruto I own"."""
        before = self._tokens[max(0, chain.at - 2) : chain.at]
        told = chain.stance in (Stance.REFUSED, Stance.KNOWN) and len(before) == 2 and before[1].text in PRONOUNS
        item = self._items[-1] if told and self._items else None
        if item is None or item.token is not before[0] or item.chain is not None:
            return []
        return list(self._tail())

    def _forfeits(self, scope: Chain) -> bool:
        """Returns True if a "no" behind "no" and an item says what is lost without the item: "no action, no fun"."""
        item = self._items[-1] if self._items else None
        following = self._tokens[scope.to + 1].text if scope.to + 1 < len(self._tokens) else ""
        lacking = item is not None and item.chain is not None and item.chain.negated and item.at == scope.at - 2
        return following in _FORFEITS and lacking and scope.negated

    def _find_lack(self, i: int) -> Chain | None:
        """Returns the chain of a lack that the refusal at `i` denies: "a story without romance bores me", "no romance? No
        thanks", 魔法のないファンタジーはつまらない."""
        item = self._items[-1] if self._items else None
        if item is None:
            return None
        between = self._tokens[item.at + 1 : i]
        whole = self._items[-2].chain if len(self._items) > 1 and item.chain is None and item.token.cjk else None
        if whole is not None and whole.japanese and whole.negated and whole.to == item.at - 1:
            return whole if all(token.kind is Is.GLUE for token in between) else None
        chain = item.chain
        if chain is None or not chain.negated or len(chain.operators) > 1:
            return None
        asked = [token.text for token in between] == ["?"]
        states = self._tokens[chain.at].text in _LACKING and all(
            token.kind is Is.GLUE or token.text == "," for token in between
        )
        return chain if states or (asked and chain.operators[0].side == "none") else None

    def _tail(self) -> Iterator[Item]:
        """Yields the items that an operator after them applies to, the last item first."""
        nearer: Item | None = None
        for item in reversed(self._items):
            if item.at < self._floor:
                return
            if item.fact is not None and item.fact.matter == "person":
                continue  # a refusal never applies to a person: 残酷なのは妻が嫌がる
            if item.fact is not None and item.fact.matter == "audience" and item.token.text[-1] in "はがもに":
                continue  # 娘は恋愛に興味がない
            if item.chain is not None and item.chain.stance is not Stance.WANTED:
                return
            if nearer is None:
                applies = item.segment == self._segment or self._reaches(item.segment)
            else:
                applies = self._shares_operator(item, nearer)
            if not applies:
                return
            yield item
            nearer = item

    def _shares_operator(self, item: Item, nearer: Item) -> bool:
        """Returns True if a later operator that applies to `nearer` applies to `item`, the item before `nearer`, too."""
        alike = item.matter == nearer.matter
        between = self._tokens[item.at + 1].text if nearer.at == item.at + 2 else ""
        following = self._tokens[nearer.at + 1].text if nearer.at + 1 < len(self._tokens) else ""
        if alike and (between == "でも" == following[:2] or (between.startswith("だけ") and between != "だけど")):
            return True  # ナルトでもブリーチでもない, グロだけじゃなくホラーも無理
        beside = all(token.kind is Is.BREAK for token in self._tokens[item.at + 1 : nearer.at])
        if alike and beside and self._is_alone(item) and self._is_alone(nearer):
            return True  # "Sleuths? Whodunnits? No thanks."
        if nearer.gap == "strong" or item.segment != nearer.segment:
            return False
        if alike and nearer.gap and self._is_listed(item, nearer):
            return True
        if nearer.gap == "soft":  # ホラー、グロは苦手 refuses both, ホラー、恋愛なし the last
            both = alike and item.unpleasant and nearer.unpleasant
            return both and between == "、" and following in ("は", "が", "も", "って")
        if item.token.kind is Is.NAMED and nearer.token.kind is Is.NAMED and nearer.gap in ("comma", "join"):
            return True
        if nearer.gap == "comma":
            return alike and item.unpleasant
        if nearer.gap == "join":
            return nearer.join in _JOINS_ALL or nearer.join == "and"
        return nearer.gap != "" or self._modifies(item, nearer)

    def _is_alone(self, item: Item) -> bool:
        """Returns True if every other token of the item's clause is silent."""
        return self._speaking[item.segment] == int(item.token.kind not in SILENT)

    def _is_listed(self, item: Item, nearer: Item) -> bool:
        """Returns True if an operator after the list that holds both items applies to the whole list: a Japanese list of
        three or more, or a list that a word such as "both" sums up."""
        last = self._items[-1]
        if any(token.text in _BRACKETS for token in self._tokens[item.at + 1 : last.at]):
            return False
        if any(token.text in SUMS for token in self._tokens[last.at + 1 : last.at + 6]):
            return True
        row = [each for each in self._items if each.segment == item.segment and each.matter == item.matter]
        if not nearer.token.cjk or len(row) < 3:
            return False
        between = [self._tokens[before.at + 1 : each.at] for before, each in itertools.pairwise(row)]
        if all([token.text for token in each] == ["、"] for each in between):  # "恋愛、学園、ホラーなし" refuses the last
            return last.at + 1 < len(self._tokens) and self._tokens[last.at + 1].operator() is None
        return all(each.gap in ("comma", "join") for each in row[1:])

    def _reaches(self, segment: int) -> bool:
        """Returns True if an operator in the current clause may refer to the items of clause `segment`: "mecha? No way"."""
        if self._has_items(self._segment) or self._contrast:
            return False
        return self._condition == segment or (segment == self._segment - 1 and not self._spoken)

    def _has_items(self, segment: int) -> bool:
        return any(item.segment == segment for item in self._items)

    def _modifies(self, item: Item, nearer: Item) -> bool:
        """Returns True if two neighbours without a joining word describe one thing: 10巻以上の長編, "sad endings"."""
        if nearer.token.space and (nearer.token.cjk or item.token.cjk or nearer.matter != item.matter):
            return False
        between = [token.text for token in self._tokens[item.at + 1 : nearer.at]]
        return all(text in ("の", "な", "of", "", "系", "もの", "・") for text in between) and (
            item.matter == nearer.matter or not between
        )
