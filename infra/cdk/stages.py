"""Settings of the stages dev and prod. Account, domains, certificates and addresses are examples: replace them.

`aws bedrock list-inference-profiles --region ap-northeast-1` lists the ids for `model`. `jp.` keeps a call in Japan and
costs a tenth more than `global.`."""

from __future__ import annotations

from dataclasses import replace

from infra.cdk.config import AlertAddresses, Bounds, Cache, Door, Network, Scaling, Search, Shared, Stage, TaskSize
from server.config.settings import Settings

REGION = "ap-northeast-1"
_DEFAULTS = Settings.from_environment({})

DEV = Stage(
    name="dev",
    region=REGION,
    network=Network("10.40.0.0/16", (f"{REGION}a", f"{REGION}c"), "pl-61a54008", "pl-78a54011"),
    size=TaskSize(cpu=512, memory=2048, server_cpu=256, server_memory=896, agent_cpu=192, agent_memory=704),
    shared_size=TaskSize(cpu=512, memory=1024, server_cpu=448, server_memory=576, agent_cpu=0, agent_memory=0),
    agents_size=TaskSize(cpu=512, memory=1024, server_cpu=0, server_memory=0, agent_cpu=448, agent_memory=704),
    agents_scaling=Scaling(least=1, most=2, calls_under_way=None),
    scaling=Scaling(least=1, most=2),
    search=Search(replicas=False, least_search=1, most_search=2, most_indexing=2),
    cache=Cache(most_gb=1, most_ecpu_thousands=5, snapshot_days=0),
    shared=Shared(
        "manga-tools.dev.example.com",
        "arn:aws:acm:ap-northeast-1:111122223333:certificate/00000000-0000-4000-8000-000000000001",
    ),
    door=Door(
        "chat.dev.example.com",
        "arn:aws:acm:ap-northeast-1:111122223333:certificate/00000000-0000-4000-8000-000000000003",
        issuer=f"https://cognito-idp.{REGION}.amazonaws.com/{REGION}_EXAMPLE",
        jwks_url=f"https://cognito-idp.{REGION}.amazonaws.com/{REGION}_EXAMPLE/.well-known/jwks.json",
        audiences=("0example1shop2client3id4",),
        messages_a_second=20,
    ),
    bounds=Bounds(most_read_units=200, most_write_units=100, dollars_a_month=800),
    told=AlertAddresses(page="oncall@example.com", ticket="tickets@example.com"),
    model="jp.anthropic.claude-haiku-4-5-20251001-v1:0",
    embedder="local",
    standby="off",
    shop_name=_DEFAULTS.shop_name,
    policies_file=None,
    publishers=(),
    walled=False,
    keep=False,
    log_days=14,
    turn_budget_ms=_DEFAULTS.turn_budget_ms,
    flags_bake_minutes=0,
    temperature=0.2,
    max_tokens=800,
    traces=1.0,
)

PROD = replace(
    DEV,
    name="prod",
    network=replace(DEV.network, cidr="10.41.0.0/16", zones=(f"{REGION}a", f"{REGION}c", f"{REGION}d")),
    size=TaskSize(cpu=1024, memory=4096, server_cpu=512, server_memory=1792, agent_cpu=448, agent_memory=1664),
    shared_size=TaskSize(cpu=1024, memory=2048, server_cpu=960, server_memory=1600, agent_cpu=0, agent_memory=0),
    agents_size=TaskSize(cpu=1024, memory=2048, server_cpu=0, server_memory=0, agent_cpu=960, agent_memory=1728),
    agents_scaling=Scaling(least=3, most=60, calls_under_way=None),
    scaling=Scaling(least=3, most=60),
    search=Search(replicas=True, least_search=2, most_search=8, most_indexing=4),
    cache=Cache(most_gb=20, most_ecpu_thousands=100, snapshot_days=1),
    shared=Shared(
        "manga-tools.example.com",
        "arn:aws:acm:ap-northeast-1:111122223333:certificate/00000000-0000-4000-8000-000000000002",
    ),
    door=replace(
        DEV.door,
        domain="chat.example.com",
        certificate_arn="arn:aws:acm:ap-northeast-1:111122223333:certificate/00000000-0000-4000-8000-000000000004",
        messages_a_second=200,
    ),
    bounds=Bounds(most_read_units=10_000, most_write_units=2_000, dollars_a_month=3_000),
    embedder="bedrock:amazon.titan-embed-text-v2:0",
    standby="names",
    publishers=("arn:aws:iam::111122223333:role/manga-publisher",),
    walled=True,
    keep=True,
    log_days=365,
    flags_bake_minutes=10,
    traces=0.05,
)

STAGES = {stage.name: stage for stage in (DEV, PROD)}
