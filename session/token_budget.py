"""The token budget of a user's turn: what the results of its calls may come to in all, in tokens as they are estimated."""

from __future__ import annotations

from dataclasses import dataclass, replace

LEAST_TOKENS = 150
"""With fewer left nothing is started: no result says anything in them."""
FLOOR_TOKENS = 200
"""What a call gets at least, however many are still expected, as long as there are as many left."""


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """`spent` is what the turn's calls had given when this one began. Calls in parallel do not see one another:
    together they may go over it by what each of them was allowed."""

    total: int
    spent: int = 0

    @property
    def remaining(self) -> int:
        return max(0, self.total - self.spent)

    @property
    def exhausted(self) -> bool:
        return self.remaining < LEAST_TOKENS

    def allowance(self, most: int, expected_calls: int) -> int:
        """What one call may give: a fair share of what is left, but enough to be of use, and at most so many."""
        share = max(FLOOR_TOKENS, self.remaining // max(1, expected_calls))
        return min(most, share, self.remaining)

    def after(self, tokens: int) -> TokenBudget:
        return replace(self, spent=self.spent + tokens)


def opened(configured: int, stated: int | None, known: TokenBudget | None = None) -> TokenBudget | None:
    """A turn's budget at a call that states how many tokens are left: what is known of it, else what is configured (0 for
    none), which a statement only ever shortens. None where nobody counts."""
    budget = known or (TokenBudget(configured) if configured else None)
    if stated is None:
        return budget
    total = (budget.spent if budget else 0) + stated
    return replace(budget, total=min(budget.total, total)) if budget else TokenBudget(total)


def tighter(one: TokenBudget | None, other: TokenBudget | None) -> TokenBudget | None:
    """What two who have seen a turn agree on: the lesser total and the more that was spent."""
    if one is None or other is None:
        return one or other
    return TokenBudget(min(one.total, other.total), max(one.spent, other.spent))
