"""`python -m server forget --user ID`: what is remembered of a customer beyond a conversation is removed, for good."""

from __future__ import annotations

from server.backends import EMBEDDED
from server.commands.errors import print_error
from server.config.settings import Settings
from server.identity.request_metadata import checked_user
from session.profile import KEPT_DAYS
from session.resilience.deadline import Deadline
from tools.store.failures import Failure

SECONDS = 60.0
"""A profile may hold half a year of events, and DynamoDB removes 25 at a time."""
IN_PROCESS = (
    "nothing was removed: with MANGA_STORE_URL=embedded: profiles are in the memory of the server's own process. "
    "Restart it, and they are gone"
)
REMOVED = "removed: the long-term profile"
NOTHING_THERE = "there was no long-term profile (is this the id that agents state?)"
AGAIN = "What was removed stays removed; run it again. `python -m server doctor` tells how the store fares"
NOT_REACHED = f"""\
not reached by this command:
  conversations in Redis             go by themselves 30 minutes after their last call; DELETE /sessions/ID ends one at once
  recommendations cached for them    at most 10 minutes; so are answers kept for an idempotency key
  orders                             the shop's own records: this server only reads them
  the audit of order accesses        names customers by a hash, and order numbers; it is a file of yours
  logs                               name customers by a hash only
A server that answers this customer just now may still write down what they look at: if they are to be forgotten for good,
sign them out first. Nobody's profile keeps an event longer than {KEPT_DAYS} days."""


async def forget_user(settings: Settings, user: str) -> int:
    """Says what it did and what it did not. Exit status 0 when the profile is empty, 1 when it may not be, 2 for no user."""
    try:
        if not checked_user(user):
            return print_error("--user: give the customer's id as the agent states it")
    except Failure as failure:
        return print_error(f"--user: {failure.message}")
    if settings.store_url == EMBEDDED:
        return print_error(IN_PROCESS, 1)
    from tools.store.backends.dynamodb.address import DynamoAddress
    from tools.store.backends.dynamodb.store import DynamoStore

    deadline = Deadline.after(SECONDS)
    async with DynamoStore.open(DynamoAddress.parse(settings.store_url), in_bulk=True) as store:
        try:
            known = len((await store.profiles.recall(user, deadline)).events)
            await store.profiles.forget(user, deadline)
        except Failure as failure:
            return print_error(f"the profile could not be removed: {failure.message} {AGAIN}", 1)
    print(REMOVED if known else NOTHING_THERE)
    print(NOT_REACHED)
    return 0
