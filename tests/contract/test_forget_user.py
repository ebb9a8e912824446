"""`python -m server forget --user ID` removes a customer's profile."""

from __future__ import annotations

import asyncio
import json
import socket
from datetime import UTC, datetime, timedelta

from session.keys import preferences
from session.preferences import Preference, StoredPreferences, encode
from session.profile import RECALLED, Event, EventKind, Profile
from session.resilience.deadline import Deadline
from tests.stack.dynamodb import REGION
from tests.support.cases import cases
from tests.support.process import run
from tests.support.valkey import ask, connected, private_valkey
from tools.store.backends.dynamodb.items import owner_key
from tools.store.backends.dynamodb.store import DynamoStore
from tools.store.backends.dynamodb.tables import PROFILE, DynamoAddress

BOUND_SECONDS = 60.0
USER = "読者 1@例え.example"


async def forget(user: str, **settings: object) -> tuple[int, str, str]:
    """Exit status, stdout and stderr."""
    async with run("forget", "--user", user, stdout=asyncio.subprocess.PIPE, **settings) as process:
        assert process.process.stdout is not None
        said = (await asyncio.wait_for(process.process.stdout.read(), BOUND_SECONDS)).decode()
        return await process.ended(BOUND_SECONDS), said, process.log


async def test_forget_removes_the_whole_profile_of_one_customer_only(dynamodb_address: DynamoAddress) -> None:
    """It has more events than a recall or a batch holds; a second run finds nothing and succeeds."""
    url = f"dynamodb://{REGION}?endpoint={dynamodb_address.endpoint}&table_prefix={dynamodb_address.prefix}"
    soon, now = Deadline.after(BOUND_SECONDS), datetime.now(UTC)
    events = [Event.make_event(EventKind.VIEWED, f"manga-{n:06}", now - timedelta(hours=n)) for n in range(RECALLED + 10)]
    stated = StoredPreferences((Preference.from_text("I don't like gore", now),), "a")
    async with DynamoStore.open(dynamodb_address) as store:
        await store.profiles.remember([*((USER, each) for each in events), ("another", events[0])], soon)
        for user in (USER, "another"):
            await store.profiles.keep(user, stated, None, soon)
        first, second = await forget(USER, store_url=url), await forget(USER, store_url=url)
        left = await store.profiles.recall(USER, soon), await store.profiles.stated(USER, soon)
        others = await store.profiles.recall("another", soon), await store.profiles.stated("another", soon)
        scanned = json.dumps(await store.connection.call("scan", TableName=PROFILE.full_name(dynamodb_address.prefix)))
    assert first[0] == second[0] == 0, first[2] + second[2]
    assert left == (Profile(), StoredPreferences())
    assert others == (Profile((events[0],)), stated)
    assert owner_key("another") in scanned
    assert owner_key(USER) not in scanned
    assert first[1].startswith("removed: the long-term profile and the preferences\n")
    assert second[1].startswith("there was no long-term profile")
    for told in ("Redis", "idempotency", "orders", "audit", "logs", "180 days"):
        assert told in first[1], "what it does not reach is said"
    assert USER not in first[1] + first[2]


async def test_forget_removes_the_copy_in_redis_and_fails_when_redis_is_away(dynamodb_address: DynamoAddress) -> None:
    """And is told to say nothing for a minute, so that no call under way puts it back. Where Redis does not answer, that is
    said and is no success."""
    url = f"dynamodb://{REGION}?endpoint={dynamodb_address.endpoint}&table_prefix={dynamodb_address.prefix}"
    key = preferences(USER)
    with private_valkey() as valkey:
        async with connected(valkey.address) as redis:
            await ask(redis, "SET", key, encode((Preference.from_text("I don't like gore", datetime.now(UTC)),)))
            status, said, why = await forget(USER, store_url=url, redis_url=f"redis://127.0.0.1:{valkey.port}")
            assert (status, await ask(redis, "GET", key)) == (0, b"[]"), why
            assert 0 < await ask(redis, "TTL", key) <= 60
    assert "the copy of the preferences in Redis" in said
    away = await forget(USER, store_url=url, redis_url=f"redis://127.0.0.1:{valkey.port}")
    assert away[0] == 1
    assert "Redis did not answer" in away[2]
    assert "gore" not in said + why + away[1] + away[2]


async def test_forget_fails_when_the_store_is_away_or_embedded() -> None:
    """Embedded profiles exist in the server's own process only."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        gone = f"dynamodb://{REGION}?endpoint=http://127.0.0.1:{taken.getsockname()[1]}"
        (away, said, why), (embedded, _, where) = await asyncio.gather(
            forget(USER, store_url=gone), forget(USER, store_url="embedded:")
        )
    assert (away, said) == (1, "")
    assert "could not be removed" in why
    assert "run it again" in why
    assert embedded == 1
    assert "nothing was removed" in where
    assert USER not in why + where


@cases("user", ["", "x" * 256])
async def test_forget_refuses_an_empty_or_impossible_user(user: str) -> None:
    status, said, why = await forget(user, store_url="embedded:")
    assert (status, said) == (2, "")
    assert "--user" in why
