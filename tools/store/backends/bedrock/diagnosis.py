"""Why texts cannot be embedded on Bedrock."""

from __future__ import annotations

from session.resilience.diagnosis import Problem
from tools.store.backends.aws_problems import aws_problem, code_of
from tools.store.failures import BackendFailure

SETTING = "MANGA_EMBEDDER"


def problem_of(error: BackendFailure) -> Problem:
    """Of a failure to embed."""
    code = code_of(error)
    if code in ("ValidationException", "ResourceNotFoundException"):
        return Problem(
            "Bedrock has no such model here, or it makes no embeddings", f"correct {SETTING}, or AWS_DEFAULT_REGION"
        )
    problem = aws_problem(error, "AWS_DEFAULT_REGION and AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "bedrock:InvokeModel")
    if code.startswith("AccessDenied"):
        return Problem(problem.what, f"{problem.remedy}, and ask for access to the model in the Bedrock console")
    return problem
