"""With MANGA_TEST_STACK=1 the servers under test use real OpenSearch, DynamoDB and Redis, filled with the demo catalogue."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path

from tests.stack import dynamodb, opensearch, redis_servers
from tests.stack.require import require

ASKED = "MANGA_TEST_STACK"
SEED_SECONDS = 180
ROOT = Path(__file__).resolve().parents[2]


def stack_settings() -> Mapping[str, str]:
    """The MANGA_*_URL of the run's own servers; none unless they were asked for."""
    return _filled() if os.environ.get(ASKED) == "1" else {}


def seeded(settings: Mapping[str, str], *arguments: str, tree: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """`python -m infra.seed` with no MANGA_ setting but these; `tree` is where its code is."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MANGA_")}
    return subprocess.run(
        [sys.executable, "-m", "infra.seed", *arguments],
        cwd=tree,
        env=own | dict(settings),
        capture_output=True,
        text=True,
        timeout=SEED_SECONDS,
    )


@lru_cache(maxsize=1)
def _filled() -> Mapping[str, str]:
    """Started once a run, and stopped with it. In servers that run longer it has names of its own, since what an earlier
    run left there may be of an older version."""
    stack = ExitStack()
    atexit.register(stack.close)
    for name, missing in (
        ("OpenSearch", opensearch.missing()),
        ("DynamoDB", dynamodb.missing()),
        ("Redis", redis_servers.missing()),
    ):
        require(name, missing)
    index = os.environ.get("MANGA_STACK_OPENSEARCH") or stack.enter_context(opensearch.opensearch_node())
    tables = os.environ.get("MANGA_STACK_DYNAMODB") or stack.enter_context(dynamodb.dynamodb_local())
    name = f"wire{uuid.uuid4().hex[:8]}"
    settings = {
        "MANGA_CATALOG_URL": f"{index}/?alias={name}",
        "MANGA_STORE_URL": f"dynamodb://{dynamodb.REGION}?endpoint={tables}&table_prefix={name}-",
        "MANGA_REDIS_URL": stack.enter_context(redis_servers.redis_server()),
    }
    done = seeded(settings)
    assert done.returncode == 0, done.stderr
    return settings
