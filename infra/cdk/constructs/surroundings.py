"""The environment of the server's container: its settings, as Settings reads them, and where it is."""

from __future__ import annotations

from infra.cdk.config import Stage
from infra.cdk.constructs.roles import Data

NAMESPACE = "MangaTools"


def settings(stage: Stage, data: Data, namespace: str) -> dict[str, str]:
    """MANGA_* of both shapes; `namespace` is that of the shape's metrics."""
    standby = {"MANGA_STANDBY_URL": data.files.standby_url} if stage.standby != "off" else {}
    return {
        "MANGA_CATALOG_URL": data.search.url,
        "MANGA_STORE_URL": f"dynamodb://{stage.region}?table_prefix={stage.table_prefix}",
        "MANGA_REDIS_URL": data.cache.url,
        "MANGA_FLAGS_URL": data.flags.url,
        "MANGA_PAGES_URL": data.files.pages_url,
        "MANGA_EMBEDDER": stage.embedder,
        "MANGA_STANDBY": stage.standby,
        **standby,
        "MANGA_TURN_BUDGET_MS": str(stage.turn_budget_ms),
        "MANGA_EMF": namespace,
    }


def region(stage: Stage) -> dict[str, str]:
    """ECS sets AWS_REGION alone, and botocore reads the other: without it the role would be asked for at an address that
    is outside of the network."""
    return {"AWS_DEFAULT_REGION": stage.region, "AWS_STS_REGIONAL_ENDPOINTS": "regional"}
