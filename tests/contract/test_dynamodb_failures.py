"""The DynamoDB store with a slow, busy, broken or lying DynamoDB, which a server on a real socket plays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from infra.seed.store import write_all
from session.profile import Event, EventKind
from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tests.support.wrong_dynamodb import Answer, Behaviour, HangUp, Request, WrongDynamo, never, wrong_dynamodb
from tools.store.backends.dynamodb.items import event_item, order_item, owner_key, stock_item
from tools.store.backends.dynamodb.store import DynamoStore
from tools.store.backends.dynamodb.tables import STOCK, DynamoAddress
from tools.store.failures import BackendFailure, DependencyFailure, RequestRejected, Throttled, TimedOut
from tools.store.models import Offer, Order, OrderLine, VolumeStock

TABLE = "manga-stock"
BATCHES = (TABLE, "manga-titles")
PROFILES = "manga-profile"
EVENT = Event(EventKind.VIEWED, "manga-000001", "2026-11-02T09:30:00.000Z")
ORDER = Order(
    "MNG-AAAA0001",
    "paid",
    "2026-10-01T00:00:00Z",
    (OrderLine("m-1", "T", 1, None, "physical", 1, 500),),
    500,
    0,
    500,
    "Tokyo",
)
SECRET = "arn:aws:dynamodb:ap-northeast-1:123456789012:table/hidden"
WRITTEN = Answer.json({"UnprocessedItems": {}})
NOT_THERE = Answer.json({"ConsumedCapacity": {"TableName": "manga-orders", "CapacityUnits": 0.5}})

Call = Callable[[DynamoStore, Deadline], Any]
CALLS: dict[str, Call] = {
    "titles": lambda store, deadline: store.titles.get(["m-1", "m-2"], deadline),
    "stock": lambda store, deadline: store.stock.availability(["m-1", "m-2"], deadline),
    "order": lambda store, deadline: store.orders.order("reader", "MNG-AAAA0001", deadline),
    "latest": lambda store, deadline: store.orders.latest("reader", 10, deadline),
    "purchased": lambda store, deadline: store.orders.purchased("reader", deadline),
    "bought": lambda store, deadline: store.orders.bought("reader", "m-1", deadline),
    "releases": lambda store, deadline: store.releases.of_month("2026-11", deadline),
    "remember": lambda store, deadline: store.profiles.remember([("reader", EVENT)], deadline),
    "recall": lambda store, deadline: store.profiles.recall("reader", deadline),
    "forget": lambda store, deadline: store.profiles.forget("reader", deadline),
}
DEPENDENCIES = {
    "titles": "titles",
    "stock": "stock",
    "order": "orders",
    "latest": "orders",
    "purchased": "orders",
    "bought": "orders",
    "releases": "releases",
}
READS = ["stock", "order", "latest", "purchased", "bought", "releases", "recall", "forget"]

each_call = cases("call", CALLS)


@asynccontextmanager
async def playing(behaviour: Behaviour, *, in_bulk: bool = False) -> AsyncIterator[tuple[DynamoStore, WrongDynamo]]:
    async with wrong_dynamodb(behaviour) as server, _opened(server, in_bulk) as store:
        yield store, server


def _opened(server: WrongDynamo, in_bulk: bool) -> AbstractAsyncContextManager[DynamoStore]:
    return DynamoStore.open(DynamoAddress.parse(server.url), in_bulk=in_bulk)


def item(title_id: str, stock: int = 1) -> dict[str, Any]:
    return stock_item(title_id, [Offer("physical", 500, stock)], [])


def batch(*items: object, left: tuple[str, ...] = (), table: str = TABLE) -> Answer:
    unprocessed = {table: {"Keys": [{"title_id": {"S": title_id}} for title_id in left]}} if left else {}
    return Answer.json({"Responses": {table: list(items)}, "UnprocessedKeys": unprocessed})


def asked_ids(request: Request) -> list[str]:
    return [key["title_id"]["S"] for key in request["RequestItems"][TABLE]["Keys"]]


async def failing(store: DynamoStore, call: str, deadline: Deadline) -> BackendFailure:
    """The failure of a call, which names its dependency and gives nothing away."""
    with pytest.raises(BackendFailure) as caught:
        await CALLS[call](store, deadline)
    failure = caught.value
    assert failure.dependency == DEPENDENCIES.get(call, "profile")
    for word in ("arn:", "127.0.0.1", "http", "Exception", "manga-stock", "hidden"):
        assert word not in f"{failure.message} {failure.details}"
    return failure


@each_call
@cases("code", ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"])
async def test_throttling_error_is_raised_as_throttled_without_a_retry(call: str, code: str) -> None:
    """The product's own retries have a budget, and those of the driver have none."""
    async with playing(lambda _: Answer.error(code, message=f"slow down {SECRET}")) as (store, server):
        failure = await failing(store, call, Deadline.after(5))
        assert isinstance(failure, Throttled)
        assert failure.retry_after_ms
        assert len(server.requests) == 1


@each_call
@cases(
    ("code", "status", "says"),
    [
        ("ResourceNotFoundException", 400, "is not there"),
        ("AccessDeniedException", 400, "not allowed"),
        ("ExpiredTokenException", 400, "not allowed"),
        ("UnrecognizedClientException", 400, "not allowed"),
        ("ValidationException", 400, "failed to answer"),
        ("InternalServerError", 500, "failed to answer"),
        ("ServiceUnavailable", 503, "failed to answer"),
    ],
)
async def test_other_error_codes_are_reported_in_own_words_without_secrets(
    call: str, code: str, status: int, says: str
) -> None:
    async with playing(lambda _: Answer.error(code, status, f"text with {SECRET}")) as (store, server):
        failure = await failing(store, call, Deadline.after(5))
        assert type(failure) is (RequestRejected if code == "ValidationException" else DependencyFailure)
        assert says in failure.message
        assert len(server.requests) == 1


async def test_empty_object_is_a_failure_and_not_a_missing_order() -> None:
    """A true miss states its cost; a proxy or a sick DynamoDB may send an empty object for any request."""
    async with playing(lambda _: Answer.json({})) as (store, _):
        assert isinstance(await failing(store, "order", Deadline.after(5)), DependencyFailure)
        assert not (await store.orders.health(Deadline.after(5))).ok
        assert isinstance(await failing(store, "remember", Deadline.after(5)), DependencyFailure), "nothing says it is kept"
    async with playing(lambda _: NOT_THERE) as (store, _):
        assert await store.orders.order("reader", "MNG-AAAA0001", Deadline.after(5)) is None


@each_call
@cases("answer", [None, Answer(b"{" + b" " * 100_000 + b"}", drip=0.01)], ids=["never", "in drips"])
async def test_missing_or_slow_answer_raises_timed_out_at_the_deadline(call: str, answer: Answer | None) -> None:
    """The driver alone would wait 20 s, and for ever where single bytes arrive now and then."""
    async with playing(lambda _: answer or never(), in_bulk=True) as (store, _), asyncio.timeout(10):
        assert isinstance(await failing(store, call, Deadline.after(0.15)), TimedOut)


@each_call
@cases(
    "answer",
    [
        Answer(b"<html>proxy</html>"),
        Answer(b""),
        Answer(b'{"Responses": '),
        Answer(b"\xff\xfe\x00"),
        Answer(b"[]"),
        Answer(b"null"),
        Answer(b"[" * 100_000),
        Answer(b"<html>bad gateway</html>", 502),
        Answer(b"", 500),
        Answer(b"[]", 400),
        Answer(b'{"Item": {}}', cut=4),
        Answer(b"moved", 301),
        Answer.json({"Item": 7, "Responses": 7, "Items": 7}),
        Answer.json({"Item": {"owner": 7}, "Responses": dict.fromkeys(BATCHES, 7), "Items": [7]}),
        Answer.json({"Item": {"owner": {"S": 7}}, "Responses": dict.fromkeys(BATCHES, [7]), "Items": [{"owner": {"S": 7}}]}),
        Answer.json({"Item": {}, "Responses": dict.fromkeys(BATCHES, [{}]), "Items": [{}]}),
        Answer.json({"Responses": {}, "UnprocessedKeys": dict.fromkeys(BATCHES, {"Keys": [{}]}), "Item": [], "Items": {}}),
        Answer.json({"Responses": None, "Item": None, "Items": None}),
    ],
    ids=lambda answer: f"{answer.status} {answer.body[:40]!r}",
)
async def test_malformed_answer_is_a_dependency_failure(call: str, answer: Answer) -> None:
    async with playing(lambda _: answer) as (store, _):
        assert type(await failing(store, call, Deadline.after(5))) is DependencyFailure


@each_call
async def test_closed_connection_is_a_dependency_failure(call: str) -> None:
    def hang_up(_: Request) -> Answer:
        raise HangUp

    async with playing(hang_up) as (store, _):
        assert type(await failing(store, call, Deadline.after(5))) is DependencyFailure


@each_call
async def test_refused_connection_is_a_dependency_failure(call: str) -> None:
    async with wrong_dynamodb(lambda _: Answer()) as server:
        address = DynamoAddress.parse(server.url)
    async with DynamoStore.open(address) as store:
        assert type(await failing(store, call, Deadline.after(5))) is DependencyFailure
        health = await store.stock.health(Deadline.after(5))
        assert not health.ok
        assert "cannot be reached" in health.detail


@each_call
async def test_cancelled_call_closes_its_connection_and_leaves_no_task(call: str) -> None:
    async with playing(lambda _: never()) as (store, server):
        before = asyncio.all_tasks()
        asked = asyncio.create_task(CALLS[call](store, Deadline.after(30)))
        await asyncio.wait_for(server.arrived.wait(), 30)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await asyncio.wait_for(server.left.wait(), 30)
        assert server.gone == 1
        server_side = {task for task in asyncio.all_tasks() if "WrongDynamo" in repr(task.get_coro())}
        assert asyncio.all_tasks() - server_side <= before


async def test_fifty_timed_out_calls_leave_no_task_and_the_store_goes_on() -> None:
    hanging = True

    def behaviour(request: Request) -> Any:
        return never() if hanging else batch(*map(item, asked_ids(request)))

    async with playing(behaviour) as (store, server):
        calls = [store.stock.availability([f"m-{n}"], Deadline.after(0.2)) for n in range(50)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(result) for result in results} == {TimedOut}
        hanging = False
        page = await store.stock.availability(["m-1"], Deadline.after(5))
        assert set(page.rows) == {"m-1"}
        assert not [task for task in asyncio.all_tasks() if "availability" in repr(task.get_coro())]


async def test_orders_are_read_consistently_and_stock_eventually() -> None:
    """An order placed a second ago must be found; stock is cached for seconds anyway."""

    def behaviour(request: Request) -> Answer:
        return batch() if "RequestItems" in request else NOT_THERE

    async with playing(behaviour) as (store, server):
        assert await store.orders.order("reader", "MNG-AAAA0001", Deadline.after(5)) is None
        assert (await store.stock.availability(["m-1"], Deadline.after(5))).unanswered == ()
    order, stock = server.requests
    assert order["ConsistentRead"] is True
    assert stock["RequestItems"][TABLE]["ConsistentRead"] is False


async def test_unprocessed_keys_are_asked_for_again_alone() -> None:
    def behaviour(request: Request) -> Answer:
        ids = asked_ids(request)
        return batch(*map(item, ids[:2]), left=tuple(ids[2:]))

    async with playing(behaviour) as (store, server):
        page = await store.stock.availability(["a", "b", "c", "d", "e"], Deadline.after(5))
        assert set(page.rows) == set("abcde")
        assert page.unanswered == ()
        assert [asked_ids(request) for request in server.requests] == [list("abcde"), list("cde"), list("e")]


async def test_keys_unprocessed_at_the_deadline_are_listed_as_unanswered() -> None:
    def behaviour(request: Request) -> Answer:
        ids = asked_ids(request)
        return batch(*(item(i) for i in ids if i == "a"), left=tuple(i for i in ids if i in ("b", "c")))

    async with playing(behaviour) as (store, server):
        page = await store.stock.availability(["a", "b", "c", "d"], Deadline.after(0.8))
        assert (set(page.rows), set(page.unanswered)) == ({"a"}, {"b", "c"})
        assert len(server.requests) > 1


async def test_hanging_second_round_keeps_what_the_first_answered() -> None:
    def behaviour(request: Request) -> Any:
        return batch(item("a"), left=("b",)) if "a" in asked_ids(request) else never()

    async with playing(behaviour) as (store, _):
        page = await store.stock.availability(["a", "b"], Deadline.after(0.8))
        assert (set(page.rows), page.unanswered) == ({"a"}, ("b",))


async def test_failed_one_of_two_batches_is_listed_as_unanswered() -> None:
    def behaviour(request: Request) -> Answer:
        ids = asked_ids(request)
        return batch(*map(item, ids)) if "m-0" in ids else Answer.error("InternalServerError", 500)

    async with playing(behaviour) as (store, _):
        wanted = [f"m-{n}" for n in range(150)]
        page = await store.stock.availability(wanted, Deadline.after(5))
        assert (set(page.rows), set(page.unanswered)) == (set(wanted[:100]), set(wanted[100:]))


async def test_table_that_processes_no_key_is_reported_as_throttled() -> None:
    """DynamoDB refuses load by returning all keys as unprocessed again and again."""
    async with playing(lambda request: batch(left=tuple(asked_ids(request)))) as (store, server):
        failure = await failing(store, "stock", Deadline.after(1))
        assert isinstance(failure, Throttled)
        assert 1 < len(server.requests) < 100


@cases(
    "answer",
    [
        lambda _: batch(item("m-1"), item("m-9")),
        lambda _: batch(item("m-1"), item("m-1")),
        lambda _: batch(item("m-1"), left=("m-9",)),
        lambda _: batch(item("m-1"), {"title_id": {"N": "1"}}),
    ],
    ids=["not asked for", "twice", "left what nobody asked for", "without an id"],
)
async def test_answer_about_other_keys_is_a_dependency_failure(answer: Behaviour) -> None:
    async with playing(answer) as (store, _):
        assert type(await failing(store, "stock", Deadline.after(5))) is DependencyFailure


WRONG_STOCK = {
    "no offers": {"offers": None},
    "offers are a list": {"offers": {"L": []}},
    "price in text": {"offers": {"M": {"physical": {"M": {"price_jpy": {"S": "500"}}}}}},
    "price of nothing": {"offers": {"M": {"physical": {"M": {"price_jpy": {"N": "0"}}}}}},
    "price with a fraction": {"offers": {"M": {"physical": {"M": {"price_jpy": {"N": "499.5"}}}}}},
    "price not in text": {"offers": {"M": {"physical": {"M": {"price_jpy": {"N": 500}}}}}},
    "stock below zero": {"offers": {"M": {"physical": {"M": {"price_jpy": {"N": "5"}, "stock": {"N": "-1"}}}}}},
    "volume of no number": {"volumes": {"M": {"physical": {"M": {"one": {"M": {}}}}}}},
    "volume without stock": {"volumes": {"M": {"physical": {"M": {"1": {"M": {"price_jpy": {"N": "5"}}}}}}}},
    "volume that is text": {"volumes": {"M": {"physical": {"M": {"1": {"S": ""}}}}}},
    "no such day": {
        "volumes": {
            "M": {
                "physical": {
                    "M": {"1": {"M": {"price_jpy": {"N": "5"}, "stock": {"N": "0"}, "restock_date": {"S": "2026-13-01"}}}}
                }
            }
        }
    },
}


@cases("wrong", WRONG_STOCK.values(), ids=WRONG_STOCK)
async def test_malformed_item_makes_only_its_own_title_unanswered(wrong: dict[str, Any]) -> None:
    changed = {name: value for name, value in (item("m-1") | wrong).items() if value is not None}
    async with playing(lambda _: batch(changed, item("m-2"))) as (store, _):
        page = await store.stock.availability(["m-1", "m-2"], Deadline.after(5))
        assert (set(page.rows), page.unanswered) == ({"m-2"}, ("m-1",))
        with pytest.raises(DependencyFailure):
            await store.stock.availability(["m-1"], Deadline.after(5))


WRONG_ORDERS: dict[str, dict[str, Any]] = {
    "somebody else's": {"owner": {"S": owner_key("another")}},
    "the owner in plain": {"owner": {"S": "reader"}},
    "another order": {"order_id": {"S": "MNG-AAAA0002"}},
    "sum does not add up": {"total_jpy": {"N": "1"}},
    "quantity in text": {"lines": {"L": [{"M": {"title_id": {"S": "m"}, "quantity": {"S": "1"}}}]}},
    "no lines": {"lines": {"L": []}},
    "no status": {"status": None},
    "time without a zone": {"ordered_at": {"S": "2026-10-01T00:00:00"}},
    "binary": {"note": {"B": "AAAA"}},
    "two kinds at once": {"note": {"S": "x", "N": "1"}},
}


@cases("wrong", WRONG_ORDERS.values(), ids=WRONG_ORDERS)
async def test_malformed_order_is_a_dependency_failure(wrong: dict[str, Any]) -> None:
    changed = {name: value for name, value in (order_item("reader", ORDER) | wrong).items() if value is not None}
    async with playing(lambda _: Answer.json({"Item": changed})) as (store, _):
        assert type(await failing(store, "order", Deadline.after(5))) is DependencyFailure


async def test_order_with_unknown_attributes_is_read() -> None:
    """A newer writer and an older server run side by side during every deployment."""
    newer = order_item("reader", ORDER)
    newer["gift"] = {"BOOL": True}
    newer["lines"]["L"][0]["M"]["wrapping"] = {"M": {"colour": {"S": "red"}}}
    async with playing(lambda _: Answer.json({"Item": newer})) as (store, _):
        assert await store.orders.order("reader", "MNG-AAAA0001", Deadline.after(5)) == ORDER


@cases(
    "wrong",
    [
        {"owner": {"S": owner_key("another")}},
        {"title_ids": {"L": [{"N": "1"}]}},
        {"title_ids": {"SS": ["m-1"]}},
        {"status": None},
        {"ordered_at": None},
    ],
    ids=str,
)
async def test_malformed_purchases_are_a_dependency_failure(wrong: dict[str, Any]) -> None:
    changed = {name: value for name, value in (order_item("reader", ORDER) | wrong).items() if value is not None}
    async with playing(lambda _: Answer.json({"Items": [changed]})) as (store, _):
        assert type(await failing(store, "purchased", Deadline.after(5))) is DependencyFailure


@cases(
    "wrong",
    [{"owner": {"S": owner_key("another")}}, {"kind": {"S": "sold"}}, {"at": {"S": "now"}}, {"subject": None}],
    ids=str,
)
async def test_malformed_events_are_a_dependency_failure(wrong: dict[str, Any]) -> None:
    changed = {name: value for name, value in (event_item("reader", EVENT) | wrong).items() if value is not None}
    async with playing(lambda _: Answer.json({"Items": [changed]})) as (store, _):
        assert type(await failing(store, "recall", Deadline.after(5))) is DependencyFailure


@cases("call", ["purchased", "recall", "forget"])
async def test_endless_pagination_is_a_dependency_failure(call: str) -> None:
    page = Answer.json({"Items": [], "LastEvaluatedKey": {"owner": {"S": "x"}}})
    async with playing(lambda _: page) as (store, server):
        assert type(await failing(store, call, Deadline.after(5))) is DependencyFailure
        assert len(server.requests) == 2


async def test_purchases_are_read_from_at_most_three_pages() -> None:
    async def page(request: Request) -> Answer:
        number = int(request.get("ExclusiveStartKey", {}).get("order_id", {}).get("S", "0"))
        items = [order_item("reader", ORDER) for _ in range(400)]
        return Answer.json({"Items": items, "LastEvaluatedKey": {"order_id": {"S": str(number + 1)}}})

    async with playing(page) as (store, server):
        assert await store.orders.purchased("reader", Deadline.after(20)) == ("m-1",)
        assert len(server.requests) == 3


@each_call
async def test_expired_deadline_sends_no_request(call: str) -> None:
    async with playing(lambda _: Answer()) as (store, server):
        assert isinstance(await failing(store, call, Deadline.after(-1)), TimedOut)
        assert server.requests == []


async def test_missing_credentials_fail_the_calls_and_not_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """No environment key, file, task role or instance role exists: the calls say what is missing."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    address = DynamoAddress.parse("dynamodb://ap-northeast-1?endpoint=https://127.0.0.1:1")
    async with DynamoStore.open(address) as store:
        for call in CALLS:
            assert "no credentials" in (await failing(store, call, Deadline.after(5))).message
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "late")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "late")
        for call in CALLS:
            assert "cannot be reached" in (await failing(store, call, Deadline.after(5))).message


async def test_late_credentials_time_out_calls_and_are_used_once_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The task role's endpoint hangs: calls end at their deadline and share one attempt to get credentials."""
    there = asyncio.Event()
    keys = {"AccessKeyId": "A", "SecretAccessKey": "S", "Token": "T", "Expiration": "2099-01-01T00:00:00Z"}

    async def role(_: Request) -> Answer:
        await there.wait()
        return Answer.json(keys)

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    async with wrong_dynamodb(role) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"http://127.0.0.1:{server.port}/role")
        address = DynamoAddress.parse("dynamodb://ap-northeast-1?endpoint=https://127.0.0.1:1")
        async with DynamoStore.open(address) as store:
            late = await asyncio.gather(*(failing(store, "order", Deadline.after(0.1)) for _ in range(3)))
            assert {type(failure) for failure in late} == {TimedOut}
            there.set()
            assert "cannot be reached" in (await failing(store, "order", Deadline.after(5))).message
            assert len(server.requests) == 1


async def test_emulator_gets_no_real_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain http without keys in the environment signs as `local` and looks for no role."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/role")
    async with playing(lambda request: batch(*map(item, asked_ids(request)))) as (store, _):
        assert set((await store.stock.availability(["m-1"], Deadline.after(5))).rows) == {"m-1"}


async def test_events_are_written_once_each_and_unprocessed_ones_again_alone() -> None:
    """The same event of another user is another event."""

    def behaviour(request: Request) -> Answer:
        puts = request["RequestItems"][PROFILES]
        return Answer.json({"UnprocessedItems": {PROFILES: puts[2:]} if puts[2:] else {}})

    events = [Event.make_event(EventKind.VIEWED, f"m-{n}", datetime(2026, 11, 2, tzinfo=UTC)) for n in range(3)]
    entries = [("reader", events[0]), ("another", events[0]), ("reader", events[1]), ("reader", events[0])]
    async with playing(behaviour) as (store, server):
        await store.profiles.remember(entries, Deadline.after(5))
    assert server.operations == ["batchwriteitem"] * 2
    assert [[put["PutRequest"]["Item"] for put in request["RequestItems"][PROFILES]] for request in server.requests] == [
        [event_item(*each) for each in entries[:3]],
        [event_item(*entries[2])],
    ]


async def test_events_never_processed_time_out_at_the_deadline() -> None:
    async with playing(lambda request: Answer.json({"UnprocessedItems": request["RequestItems"]})) as (store, server):
        assert isinstance(await failing(store, "remember", Deadline.after(0.8)), TimedOut)
        assert 1 < len(server.requests) < 50


async def test_events_are_written_in_batches_of_at_most_25() -> None:
    events = [Event.make_event(EventKind.VIEWED, f"m-{n}", datetime(2026, 11, 2, tzinfo=UTC)) for n in range(60)]
    async with playing(lambda _: WRITTEN) as (store, server):
        await store.profiles.remember([("reader", each) for each in events], Deadline.after(5))
    assert sorted(len(request["RequestItems"][PROFILES]) for request in server.requests) == [10, 25, 25]


async def test_bulk_write_retries_refusals_until_all_items_are_written() -> None:
    written: set[str] = set()
    calls = 0

    def behaviour(request: Request) -> Answer:
        nonlocal calls
        calls += 1
        puts = request["RequestItems"][TABLE]
        if calls % 3 == 1:
            return Answer.error("ProvisionedThroughputExceededException")
        if calls % 3 == 2:
            return Answer.error("InternalServerError", 500)
        written.update(put["PutRequest"]["Item"]["title_id"]["S"] for put in puts[:10])
        return Answer.json({"UnprocessedItems": {TABLE: puts[10:]} if puts[10:] else {}})

    told: list[int] = []
    async with playing(behaviour) as (store, _):
        items = [item(f"m-{n}") for n in range(60)]
        assert await write_all(store.connection, STOCK, items, progress=told.append) == 60
    assert written == {f"m-{n}" for n in range(60)}
    assert told == [60]


async def test_bulk_write_without_permission_stops_at_once() -> None:
    async with playing(lambda _: Answer.error("AccessDeniedException", message=SECRET)) as (store, server):
        with pytest.raises(DependencyFailure, match="not allowed"):
            await write_all(store.connection, STOCK, [item("m-1")])
        assert len(server.requests) == 1


async def test_bulk_write_keeps_the_last_of_two_items_with_one_key() -> None:
    """DynamoDB refuses a batch that has one key twice."""
    async with playing(lambda _: WRITTEN) as (store, server):
        await write_all(store.connection, STOCK, [item("m-1", 1), item("m-2", 2), item("m-1", 3)])
    (request,) = server.requests
    stocks = [
        put["PutRequest"]["Item"]["offers"]["M"]["physical"]["M"]["stock"]["N"] for put in request["RequestItems"][TABLE]
    ]
    assert sorted(stocks) == ["2", "3"]


async def test_offer_of_volumes_has_their_lowest_price_and_total_stock() -> None:
    volumes = [VolumeStock(2, None, "physical", 600, 3), VolumeStock(10, None, "physical", 500, 4)]
    one = stock_item("m-1", [Offer("physical", 1, 999), Offer("digital", 400, None)], volumes)
    async with playing(lambda _: batch(one)) as (store, _):
        row = (await store.stock.availability(["m-1"], Deadline.after(5))).rows["m-1"]
        assert row.offers == (Offer("physical", 500, 7), Offer("digital", 400, None))
        assert row.volumes == tuple(volumes)
