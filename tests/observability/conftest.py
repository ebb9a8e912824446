"""The real servers, and one browser."""

from tests.stack.fixtures import dynamodb_endpoint, opensearch_url, trace_viewer  # noqa: F401
from tests.stack.seeding import target  # noqa: F401
