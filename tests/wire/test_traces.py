"""A call's span is the child of its caller's span, over every transport, and there is one per call."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.cases import cases
from tests.support.clients import TRANSPORTS, Connections, OfSdk
from tests.support.collector import Collector, collecting
from tests.support.serving import Serving
from tests.support.valkey import eventually

WAYS = [name for name, transport in TRANSPORTS.items() if transport.http and not transport.strands]
PARENT = "b7ad6b7169203331"


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as own:
        yield own


FOREIGN = dict.fromkeys(("OTEL_PROPAGATORS", "OTEL_PYTHON_CONTEXT", "OTEL_PYTHON_TRACER_PROVIDER"), "xray,b3")


@pytest.fixture(scope="module")
def traced(serve: Callable[..., Serving], collector: Collector) -> Serving:
    """Told of propagators and providers as well that it does not have, as whoever sets them for a whole cluster does."""
    own = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_BSP_SCHEDULE_DELAY": "50"}
    return serve(**own, **FOREIGN)


@pytest.fixture
def clients(tmp_path: Path, cache: Path) -> Iterator[Connections]:
    opened = Connections(tmp_path, cache)
    yield opened
    opened.close()


@cases("name", WAYS)
async def test_span_of_a_call_is_the_child_of_its_callers_span(
    name: str, traced: Serving, clients: Connections, collector: Collector
) -> None:
    trace = uuid.uuid4().hex
    client = clients.open(name, traced.url)
    assert isinstance(client, OfSdk)
    meta = {"traceparent": f"00-{trace}-{PARENT}-01"}
    result = await client.held.ask(client.sdk.call_tool("check_inventory", {"title_ids": ["manga-001001"]}, meta=meta))
    assert not result.is_error
    await eventually(
        lambda: any(each.name.startswith("tools/call") and each.trace_id.hex() == trace for each in collector.spans)
    )
    own = [each for each in collector.spans if each.trace_id.hex() == trace]
    ids = {each.span_id for each in own}
    (root,) = (each for each in own if each.parent_span_id not in ids)
    assert (root.name, root.parent_span_id.hex()) == ("tools/call check_inventory", PARENT)
    assert [each.kind for each in own].count(root.kind) == 1, "one span of the server's"
