"""Environment of the server's container: its MANGA_* settings, and its region."""

from __future__ import annotations

from infra.cdk.config import Stage
from infra.cdk.constructs.roles import Data
from infra.cdk.constructs.shop_files import stated_files

AUDIT = "audit"
"""Volume of the audit's pipe, and its folder in the containers."""
PIPE = f"/{AUDIT}/orders"


def settings(stage: Stage, data: Data) -> dict[str, str]:
    """Returns the MANGA_* settings that are the same whether or not agent and server share a task."""
    standby = {"MANGA_STANDBY_URL": data.files.standby_url} if stage.standby != "off" else {}
    patterns = {"MANGA_ORDER_PATTERN": stage.order_pattern, "MANGA_TITLE_PATTERN": stage.title_pattern}
    return {
        "MANGA_CATALOG_URL": data.search.url,
        "MANGA_STORE_URL": f"dynamodb://{stage.region}?table_prefix={stage.table_prefix}",
        "MANGA_REDIS_URL": data.cache.url,
        "MANGA_FLAGS_URL": data.flags.url,
        "MANGA_PAGES_URL": data.files.pages_url,
        "MANGA_EMBEDDER": stage.embedder,
        **({"MANGA_CLASSIFIER": stage.classifier} if stage.classifier != "local" else {}),
        "MANGA_STANDBY": stage.standby,
        **standby,
        **stated_files(stage),
        "MANGA_SHOP_NAME": stage.shop_name,
        **{name: pattern for name, pattern in patterns.items() if pattern},
        **({"MANGA_TURN_CLOCK": stage.turn_clock} if stage.turn_clock != "wall" else {}),
        "MANGA_AUDIT_LOG": PIPE,
        "MANGA_AUDIT": "required",
        "MANGA_TURN_BUDGET_MS": str(stage.turn_budget_ms),
        "MANGA_EMF": stage.namespace,
        **dict(stage.settings),
    }


def region(stage: Stage) -> dict[str, str]:
    """Returns region settings for botocore, which does not read the AWS_REGION that ECS sets. Without them, botocore would
    call STS at an address outside the network."""
    return {"AWS_DEFAULT_REGION": stage.region, "AWS_STS_REGIONAL_ENDPOINTS": "regional"}
