"""A config that cannot work is refused with one line that names the field."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from typing import Any

import pytest

from infra.cdk.config import AlertAddresses, Bounds, Cache, Door, Network, Scaling, Search, Shared, Stage, TaskSize
from infra.cdk.rules import FREE, ConfigError, fargate_memory
from infra.cdk.stages import DEV, PROD, STAGES
from server.config.settings import Settings
from tests.support.cases import cases

SIZE = {"cpu": 512, "memory": 2048, "server_cpu": 256, "server_memory": 896, "agent_cpu": 160, "agent_memory": 832}
NETWORK = {"cidr": "10.0.0.0/16", "zones": ("a", "b"), "s3_prefixes": "pl-61a54008", "dynamodb_prefixes": "pl-78a54011"}
ARN = DEV.shared.certificate_arn
DOOR = asdict(DEV.door)


@cases(
    ("make", "arguments", "told"),
    [
        (Network, NETWORK | {"cidr": "10.0.0.0/8"}, "network.cidr has to be a /16"),
        (Network, NETWORK | {"cidr": "10.0.0.0/20"}, "network.cidr has to be a /16"),
        (Network, NETWORK | {"cidr": "10.0.0.1/16"}, "network.cidr is no network"),
        (Network, NETWORK | {"zones": ("a",)}, "network.zones"),
        (Network, NETWORK | {"zones": ("a", "a")}, "network.zones"),
        (Network, NETWORK | {"s3_prefixes": "0.0.0.0/0"}, "network.s3_prefixes"),
        (Bounds, {"most_read_units": 1, "most_write_units": 0, "dollars_a_month": 1}, "bounds.most_write_units"),
        (AlertAddresses, {"page": "", "ticket": "tickets@shop.example"}, "told.page"),
        (AlertAddresses, {"page": "oncall@shop.example", "ticket": "nobody"}, "told.ticket"),
        (TaskSize, SIZE | {"cpu": 500}, "size.cpu"),
        (TaskSize, SIZE | {"memory": 8192}, "size.memory"),
        (TaskSize, SIZE | {"server_cpu": 300}, "size has to leave 64 units"),
        (TaskSize, SIZE | {"agent_memory": 896}, "size has to leave 320 MiB"),
        (Scaling, {"least": 0, "most": 2}, "scaling"),
        (Scaling, {"least": 3, "most": 2}, "scaling"),
        (Scaling, {"least": 1, "most": 2, "cpu_percent": 95}, "scaling.cpu_percent"),
        (Scaling, {"least": 1, "most": 2, "calls_under_way": 50}, "scaling.calls_under_way"),
        (Search, {"replicas": True, "least_search": 0, "most_search": 2, "most_indexing": 2}, "search.least_search"),
        (Search, {"replicas": True, "least_search": 3, "most_search": 2, "most_indexing": 2}, "search.most_search"),
        (Search, {"replicas": True, "least_search": 1, "most_search": 2, "most_indexing": 0}, "search.most_indexing"),
        (Cache, {"most_gb": 0, "most_ecpu_thousands": 1, "snapshot_days": 0}, "cache.most_gb"),
        (Cache, {"most_gb": 1, "most_ecpu_thousands": 0, "snapshot_days": 0}, "cache.most_ecpu_thousands"),
        (Cache, {"most_gb": 1, "most_ecpu_thousands": 1, "snapshot_days": 36}, "cache.snapshot_days"),
        (Shared, {"domain": "localhost", "certificate_arn": ARN}, "shared.domain"),
        (Shared, {"domain": "tools.example.com", "certificate_arn": "arn:aws:iam::1:role/x"}, "shared.certificate_arn"),
        (Door, DOOR | {"domain": "localhost"}, "door.domain"),
        (Door, DOOR | {"socket_domain": "wss://x"}, "door.domain"),
        (Door, DOOR | {"certificate_arn": "x"}, "door.certificate_arn"),
        (Door, DOOR | {"issuer": "http://issuer.example"}, "door.issuer"),
        (Door, DOOR | {"jwks_url": "file:///keys"}, "door.jwks_url"),
        (Door, DOOR | {"audiences": ()}, "door.audiences"),
        (Door, DOOR | {"audiences": ("a,b",)}, "door.audiences"),
        (Door, DOOR | {"messages_a_second": 0}, "door.messages_a_second"),
        (Door, DOOR | {"reserved_concurrency": 0}, "door.reserved_concurrency"),
        (Door, DOOR | {"requests_an_address": 10}, "door.requests_an_address"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named(make: Any, arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match="^" + told):
        make(**arguments)


@cases(
    ("change", "told"),
    [
        ({"name": "Production"}, "name"),
        ({"region": "Tokyo"}, "region"),
        ({"region": "eu-west-1"}, "network.zones have to be in eu-west-1"),
        ({"release": "latest"}, "release"),
        ({"release": "a b"}, "release"),
        ({"turn_budget_ms": 90_000}, "turn_budget_ms"),
        ({"turn_clock": "sun"}, "turn_clock has to be wall or tools"),
        ({"order_pattern": "(a+)+"}, "order_pattern"),
        ({"title_pattern": ".*"}, "title_pattern"),
        ({"log_days": 20}, "log_days"),
        ({"temperature": 1.5}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"turn_calls": 21}, "turn_calls"),
        ({"tools": "search, stock"}, "tools"),
        ({"traces": 2.0}, "traces"),
        ({"policies_file": "s3:../x.md"}, "policies_file"),
        ({"policies_file": "s3:x.md", "size": TaskSize(**SIZE)}, "size has to leave 448 MiB"),
        ({"tags_file": "s3:a/b.toml"}, "tags_file"),
        ({"catalog_file": "s3:catalog"}, "catalog_file"),
        ({"orders_file": "s3:orders.jsonl.gz"}, "catalog_file has to be stated"),
        ({"settings": (("MANGA_ADULT", "maybe"),)}, "settings"),
        ({"settings": (("MANGA_AUTH", "none"),)}, "settings.MANGA_AUTH is none that a stage has here"),
        ({"settings": (("MANGA_ADULTS", "off"),)}, "settings.MANGA_ADULTS"),
        ({"keep": True}, "walled"),
    ],
)
def test_a_stage_that_cannot_be_is_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match="^" + told):
        replace(DEV, **change)


def test_the_longest_turn_is_still_below_what_ecs_takes() -> None:
    longest = replace(PROD, turn_budget_ms=60_000)
    assert 62 < longest.stop_seconds < 120


def test_only_production_keeps_its_data() -> None:
    assert {name: each.keep for name, each in STAGES.items()} == {"dev": False, "prod": True}


def test_fargate_sells_no_other_size() -> None:
    assert fargate_memory(256) == (512, 1024, 2048)
    assert fargate_memory(300) == ()


OF_THE_DEPLOYMENT = {
    "host", "port", "allowed_hosts", "catalog_url", "store_url", "pages_url", "redis_url", "relay", "fleet_key",
    "flags_url", "standby_url", "data_dir", "auth", "auth_tokens", "auth_tokens_file",
    "jwt_jwks_url", "jwt_issuer", "jwt_audience", "user", "trusted_proxies", "allow_insecure", "emf", "audit_log", "audit",
}  # fmt: skip
"""What follows from what is deployed, or is of a shape that is not."""


def test_every_setting_of_the_server_is_a_stage_s_to_choose_or_follows_from_what_is_deployed() -> None:
    own = {each.name for each in fields(Stage)}
    every = {each.name for each in fields(Settings)}
    assert every == OF_THE_DEPLOYMENT | set(FREE) | (own & every)
    assert not OF_THE_DEPLOYMENT & set(FREE)
    chosen = replace(DEV, settings=(("MANGA_ADULT", "off"), ("MANGA_LOG_TOOL_CALLS", "all")))
    assert dict(chosen.settings)["MANGA_ADULT"] == "off"


@cases(
    ("page", "example"),
    [
        ("oncall@example.com", True),
        ("oncall@mail.example.org", True),
        ("oncall@shop.example", True),
        ("https://pager.example.com/x", True),
        ("oncall@shop.test", False),
        ("https://events.pager.test/example.json", False),
    ],
)
def test_an_address_is_known_as_an_example(page: str, example: bool) -> None:
    assert AlertAddresses(page, "tickets@shop.test").is_example is example
