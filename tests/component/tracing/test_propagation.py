"""Trace headers sent to real backends, recorded by a proxy."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from session.resilience.deadline import Deadline, Timeline
from tests.support.dynamodb import made_in
from tests.support.hearing_proxy import HearingProxy
from tools.store.backends.dynamodb.store import DynamoStore
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.client import Client
from tools.store.guarded import Backend, BackendPolicy

PATIENT = 30.0


def watched(*, sampled: bool) -> tuple[Timeline, Deadline]:
    deadline = Deadline.after(PATIENT)
    timeline = Timeline(deadline.clock, "a_tool", deadline.clock(), sampled=sampled)
    return timeline, deadline.in_span(timeline.call)


def backend() -> Backend:
    return Backend("catalog", BackendPolicy(slow_seconds=PATIENT, attempt_seconds=PATIENT))


async def test_opensearch_request_carries_traceparent_and_trace_id(opensearch_url: str) -> None:
    async with HearingProxy.before(urlsplit(opensearch_url).port or 0) as proxy:
        client = Client(replace(OpenSearchAddress.parse(proxy.url), alias="_all"))
        try:
            timeline, deadline = watched(sampled=True)
            search = {"query": {"match_none": {}}}
            await backend().call(lambda attempt: client.searches([search], attempt), deadline, "search")
            await backend().call(lambda attempt: client.call("GET", "/", deadline=attempt), deadline, "call")
        finally:
            await client.aclose()
    assert [each.outcome for each in timeline.spans] == ["ok", "ok"]
    expected = [f"00-{timeline.trace_id:032x}-{each.span_id:016x}-01" for each in timeline.spans]
    assert proxy.values("traceparent") == expected
    assert proxy.values("x-opaque-id") == [f"{timeline.trace_id:032x}"] * 2


async def test_dynamodb_request_carries_an_unsigned_traceparent(
    dynamodb_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy may replace `traceparent`; if it were signed, the changed request would be refused."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nobody")
    made = made_in(dynamodb_endpoint)
    port = urlsplit(dynamodb_endpoint).port or 0
    async with HearingProxy.before(port) as proxy, DynamoStore.open(replace(made, endpoint=proxy.url)) as store:
        timeline, deadline = watched(sampled=True)
        await backend().call(lambda attempt: store.stock.availability(["manga-000001"], attempt), deadline, "availability")
        await backend().call(lambda attempt: store.orders.order("u", "MNG-DEMO1001", attempt), deadline, "order")
        await backend().call(lambda attempt: store.orders.latest("u", 1, attempt), deadline, "latest")
    assert [each.outcome for each in timeline.spans] == ["ok", "ok", "ok"], "DynamoDB takes it"
    assert proxy.values("traceparent") == [f"00-{timeline.trace_id:032x}-{each.span_id:016x}-01" for each in timeline.spans]
    signed = [value for value in proxy.values("authorization") if "SignedHeaders=" in value]
    assert len(signed) == 3
    assert not [value for value in signed if "traceparent" in value]


async def test_untraced_calls_send_no_traceparent(opensearch_url: str) -> None:
    """An unobserved call and one observed for the operators' page are tried."""
    async with HearingProxy.before(urlsplit(opensearch_url).port or 0) as proxy:
        client = Client(OpenSearchAddress.parse(proxy.url))
        try:
            _, looked_at = watched(sampled=False)
            for deadline in (Deadline.after(PATIENT), looked_at):
                await backend().call(lambda attempt: client.call("GET", "/", deadline=attempt), deadline)
        finally:
            await client.aclose()
    assert proxy.values("host"), "it was asked"
    assert proxy.values("traceparent") == proxy.values("x-opaque-id") == []
