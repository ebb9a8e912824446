"""The real servers, for the checks that they are what the rest of the tests take them for."""

from tests.stack.examined import doctor  # noqa: F401
from tests.stack.fixtures import (  # noqa: F401
    dynamodb_endpoint,
    opensearch_url,
    redis_cluster_url,
    redis_tls_url,
    redis_url,
    trace_viewer,
)
from tests.stack.seeding import target  # noqa: F401
