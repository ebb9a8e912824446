"""Why a model on Bedrock does not do what it is asked to."""

from __future__ import annotations

from dataclasses import dataclass

from session.resilience.diagnosis import Problem
from tools.store.backends.aws_problems import aws_problem, code_of
from tools.store.failures import BackendFailure, QuestionRefused


@dataclass(frozen=True, slots=True)
class Purpose:
    """The setting that names the model, and what the model does not do where it is the wrong one."""

    setting: str
    fails: str


EMBEDDER = Purpose("MANGA_EMBEDDER", "it makes no embeddings")
CLASSIFIER = Purpose("MANGA_CLASSIFIER", "it does not call tools")


def problem_of(error: BackendFailure, purpose: Purpose = EMBEDDER) -> Problem:
    """Of a failure to embed, or to label."""
    code = code_of(error)
    if code in ("ValidationException", "ResourceNotFoundException") or isinstance(error, QuestionRefused):
        what = f"Bedrock has no such model here, or {purpose.fails}"
        return Problem(what, f"correct {purpose.setting}, or AWS_DEFAULT_REGION")
    problem = aws_problem(error, "AWS_DEFAULT_REGION and AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "bedrock:InvokeModel")
    if code.startswith("AccessDenied"):
        return Problem(problem.what, f"{problem.remedy}, and ask for access to the model in the Bedrock console")
    return problem
