"""`python -m server forget --user ID`: removes a customer's long-term profile and preferences for good."""

from __future__ import annotations

from contextlib import AsyncExitStack

from server.backends.opening import EMBEDDED, open_redis
from server.commands.errors import print_error
from server.config.settings import Settings
from server.identity.request_metadata import checked_user
from session.failures import MemoryUnavailable
from session.keys import preferences
from session.preferences import encode
from session.profile import KEPT_DAYS
from session.redis.keyvalue import Command, KeyValue
from session.resilience.deadline import Deadline
from tools.store.failures import Failure

SECONDS = 60.0
"""Timeout, long because a profile may hold half a year of events, of which DynamoDB removes 25 at a time."""
IN_PROCESS = (
    "nothing was removed: with MANGA_STORE_URL=embedded: profiles are in the memory of the server's own process. "
    "Restart it, and they are gone"
)
REMOVED = "removed: the long-term profile and the preferences"
NOTHING_THERE = "there was no long-term profile (is this the id that agents state?)"
COPY = "removed: the copy of the preferences in Redis"
COPY_LEFT = (
    "Redis did not answer, so a copy of the preferences may stay there for half an hour. "
    "Run it again. `python -m server doctor` shows the state of Redis"
)
COPY_SECONDS = 60
"""Seconds for which Redis keeps an empty copy, so that a running call cannot store the preferences that it read before."""
AGAIN = "What was removed stays removed; run it again. `python -m server doctor` shows the state of the store"
NOT_REACHED = f"""\
not reached by this command:
  a Redis of the server's own        (MANGA_REDIS_URL=embedded:) keeps copies for half an hour
  conversations in Redis             go by themselves 30 minutes after their last call; DELETE /sessions/ID ends one at once
  recommendations cached for them    at most 10 minutes; so are answers kept for an idempotency key
  orders                             the shop's own records: this server only reads them
  the audit of what is personal      names customers by a hash, and order numbers, and none of their words; it is a file
                                     of yours, and one that loses lines would be none
  logs                               name customers by a hash only
A server that answers this customer just now may still write down what they look at: if they are to be forgotten for good,
sign them out first. Nobody's profile keeps an event longer than {KEPT_DAYS} days."""


async def forget_user(settings: Settings, user: str) -> int:
    """Removes a customer's profile and preferences, and prints what was removed and what remains. Returns exit status 0 if
    all was removed, 1 if some or all may be left, and 2 for an invalid user."""
    try:
        if not checked_user(user):
            return print_error("--user: give the customer's id as the agent states it")
    except Failure as failure:
        return print_error(f"--user: {failure.message}")
    if settings.store_url == EMBEDDED:
        return print_error(IN_PROCESS, 1)
    from tools.store.backends.dynamodb.store import DynamoStore
    from tools.store.backends.dynamodb.tables import DynamoAddress

    key = preferences(user)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(DynamoStore.open(DynamoAddress.parse(settings.store_url), in_bulk=True))
        redis = None if settings.redis_url == EMBEDDED else await open_redis(settings, stack)
        gone = await _send(redis, Command(("UNLINK", key)))
        try:
            deadline = Deadline.after(SECONDS)
            profile, stated = await store.profiles.recall(user, deadline), await store.profiles.stated(user, deadline)
            await store.profiles.forget(user, deadline)  # also removes the preferences: same partition
        except Failure as failure:
            return print_error(f"the profile could not be removed: {failure.message} {AGAIN}", 1)
        gone = await _send(redis, Command(("SET", key, encode(()), "EX", COPY_SECONDS))) or gone
    print(REMOVED if profile.events or stated.preferences else NOTHING_THERE)
    if redis is not None and gone:
        print(COPY)
    print(NOT_REACHED)
    return 0 if redis is None or gone else print_error(COPY_LEFT, 1)


async def _send(redis: KeyValue | None, step: Command) -> bool:
    if redis is None:
        return False
    try:
        (reply,) = await redis.trip([step], Deadline.after(1.0))
    except MemoryUnavailable:
        return False
    return not isinstance(reply, Exception)
