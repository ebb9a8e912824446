"""The measure of workers still runs: both servers answer, and every process is weighed. Untimed."""

from __future__ import annotations

import pytest

from tests.load.workers import CACHED, UNSEEN, WORKERS, Figures, Sample, measure, table

pytestmark = pytest.mark.alone


async def test_both_servers_answer_and_every_process_is_weighed() -> None:
    figures = await measure(1, 0.3, 4, embedder="none")
    for what in (CACHED, UNSEEN):
        for workers in WORKERS:
            assert [sample.calls > 0 for sample in figures.samples[what, workers]] == [True]
    assert [len(figures.memory[workers]) for workers in WORKERS] == [1, 3], "a supervisor and two workers"
    assert 0 < figures.second_worker_mb < figures.memory[1][0][0], "it shares what a process by itself has alone"
    assert "two workers serve" in table(figures)


def test_what_two_serve_is_compared_within_a_round() -> None:
    def samples(*calls: int) -> list[Sample]:
        return [Sample(each, 1.0, each * 0.01, 0.0) for each in calls]

    figures = Figures({(UNSEEN, 1): samples(100, 50, 80), (UNSEEN, 2): samples(180, 90, 150)})
    assert figures.gain(UNSEEN) == 1.8
    assert figures.gain_by_cpu(UNSEEN) == 2.0
