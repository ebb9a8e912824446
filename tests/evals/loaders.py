"""Reads data sets with the loaders of those who evaluate, and says what they found: run by a Python that has both."""

from __future__ import annotations

import sys
from pathlib import Path

from bedrock_agentcore.evaluation.runner.dataset_providers import FileDatasetProvider
from bedrock_agentcore.evaluation.runner.dataset_types import PredefinedScenario
from strands_evals import Experiment


def read_strands(path: str) -> str:
    cases = Experiment.from_file(path).cases
    steps = sum(len(each.expected_trajectory or ()) for each in cases)
    asserted = sum(len((each.expected_assertion or "").splitlines()) for each in cases)
    return f"Strands Evals: {len(cases)} cases, {steps} steps, {asserted} assertions"


def read_agentcore(path: str) -> str:
    scenarios = FileDatasetProvider(path).get_dataset().scenarios
    whole = [each for each in scenarios if isinstance(each, PredefinedScenario)]
    steps = sum(len(each.expected_trajectory or ()) for each in whole)
    asserted = sum(len(each.assertions or ()) for each in whole)
    return f"AgentCore Evaluations: {len(whole)} scenarios, {steps} steps, {asserted} assertions"


if __name__ == "__main__":
    for file in sys.argv[1:]:
        read = read_strands if Path(file).name.startswith("strands") else read_agentcore
        print(f"{Path(file).name}: {read(file)}")
