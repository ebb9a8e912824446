"""Real backends for the trace headers that they are sent."""

from __future__ import annotations

from tests.stack.fixtures import dynamodb_endpoint, opensearch_url

__all__ = ["dynamodb_endpoint", "opensearch_url"]
