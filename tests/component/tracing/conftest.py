"""Real servers for what backends are told of a trace."""

from __future__ import annotations

from tests.stack.fixtures import dynamodb_endpoint, opensearch_url

__all__ = ["dynamodb_endpoint", "opensearch_url"]
