"""CloudWatch EMF lines: their form, their arithmetic, and their bounded number."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from server.call import Call
from server.telemetry.emf import SAMPLES_PER_LINE, EmfPublisher
from server.telemetry.metrics import Metrics
from server.telemetry.service_levels import NUMBERS
from session.resilience.breaker import BreakerState
from tests.support.breakers import breakers
from tests.support.events import an_event

SPACE = "MangaTools/test"
PERSONAL = "hash-of-user"


def measured() -> Metrics:
    metrics = Metrics()
    metrics.watch(under_way=lambda: 3.0, ready=lambda: 1.0)
    metrics.watch_lines(log=lambda: 0.0, audit=lambda: 2.0)
    metrics.lag.labels("stock").set_function(lambda: 4.5)
    metrics.watch_breakers(breakers(catalog=BreakerState.OPEN, redis=BreakerState.HALF_OPEN, stock=BreakerState.CLOSED))
    metrics(an_event(user=PERSONAL))
    metrics(an_event(outcome="TIMEOUT", user=PERSONAL))
    return metrics


def told(teller: EmfPublisher) -> dict[tuple[tuple[str, str], ...], dict[str, Any]]:
    lines = [json.loads(line) for line in teller.lines()]
    return {tuple((by, each[by]) for by in each["_aws"]["CloudWatchMetrics"][0]["Dimensions"][0]): each for each in lines}


def test_emf_line_has_the_form_of_the_specification() -> None:
    """Every metric and dimension that is named is there, as a number or a text, in a line that holds one directive."""
    lines = told(EmfPublisher(SPACE, measured().registry, wall=lambda: 1.5))
    for line in lines.values():
        meta = line.pop("_aws")
        (directive,) = meta["CloudWatchMetrics"]
        named = [each["Name"] for each in directive["Metrics"]]
        assert (meta["Timestamp"], directive["Namespace"]) == (1500, SPACE)
        assert sorted(line) == sorted(named + directive["Dimensions"][0])
        assert all(isinstance(line[each], (int, float, list)) for each in named)
    seen = {each for line in lines.values() for each in line} - {"Backend", "Replica"}
    assert seen == {number.name for number in NUMBERS}


def test_emf_line_has_the_increase_of_counters_and_the_value_of_gauges() -> None:
    """A backend and a replica of one name have a line each."""
    teller = EmfPublisher(SPACE, measured().registry)
    first, second = told(teller), told(teller)
    assert (first[()]["AnswersUsable"], first[()]["AnswersUnusable"], first[()]["AuditLinesLost"]) == (1, 1, 2)
    assert (second[()]["AnswersUsable"], second[()]["AnswersUnusable"], second[()]["AuditLinesLost"]) == (0, 0, 0)
    for lines in (first, second):
        assert (lines[()]["RedisAway"], lines[()]["Ready"], lines[("Replica", "stock"),]["ReplicaLag"]) == (1, 1, 4.5)
        assert [lines[("Backend", backend),]["BackendLost"] for backend in ("catalog", "redis", "stock")] == [1, 1, 0]


def test_emf_samples_that_differ_in_other_labels_are_summed() -> None:
    """Answers by all transports, of which one took longer than two seconds; and there are none until there is one."""
    metrics = measured()
    teller = EmfPublisher(SPACE, metrics.registry)
    names = ("AnswersSent", "AnswersInTwoSeconds")
    lines = told(teller)
    assert [lines[()][name] for name in names] == [0, 0]
    for transport, milliseconds in (("sse", 10.0), ("sse", 2100.0), ("http", 20.0)):
        call = SimpleNamespace(name="t", transport=transport, deadline=None, elapsed_ms=lambda taken=milliseconds: taken)
        metrics.record_answer_sent(cast(Call, cast(Any, call)))
    lines = told(teller)
    assert [lines[()][name] for name in names] == [3, 2]
    lines = told(teller)
    assert [lines[()][name] for name in names] == [0, 0]


def test_emf_lines_contain_no_user_and_no_new_dimension() -> None:
    metrics = measured()
    before = told(EmfPublisher(SPACE, metrics.registry)).keys()
    for number in range(50):
        metrics(an_event(tool="lookup_order", user=f"{PERSONAL}{number}", variant=f"segment {number}"))
    lines = told(EmfPublisher(SPACE, metrics.registry))
    assert lines.keys() == before
    assert PERSONAL not in json.dumps(list(lines.values()))
    assert "segment" not in json.dumps(list(lines.values()))


@pytest.mark.virtual_time
async def test_emf_publishes_calls_under_way_each_second_and_the_rest_at_the_end() -> None:
    """So that their average is one over time, and a task that is stopped takes no verdict along."""
    metrics, texts = measured(), list[str]()
    keeping = asyncio.create_task(EmfPublisher(SPACE, metrics.registry, texts.append).run())
    await asyncio.sleep(SAMPLES_PER_LINE + 0.5)
    assert [json.loads(text.splitlines()[0])["CallsUnderWay"] for text in texts] == [[3.0] * SAMPLES_PER_LINE]
    metrics(an_event())
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    assert json.loads(texts[1].splitlines()[0])["AnswersUsable"] == 1
