"""Addresses of a Redis."""

from __future__ import annotations

import pytest

from session.redis.address import RedisAddress
from tests.support.cases import cases


@cases(
    ("url", "expected"),
    [
        ("redis://cache", RedisAddress("cache")),
        ("redis://cache:7000/3", RedisAddress("cache", 7000, database=3)),
        ("redis://u%40x:p%2Fw@cache", RedisAddress("cache", username="u@x", password="p/w")),
        ("redis://:pw@[::1]:6380/", RedisAddress("::1", 6380, password="pw")),
        ("unix:///run/redis.sock", RedisAddress(path="/run/redis.sock")),
        ("unix:///run/redis.sock?db=4", RedisAddress(path="/run/redis.sock", database=4)),
        ("redis+cluster://cache:7000", RedisAddress("cache", 7000, cluster=True)),
    ],
)
def test_redis_address_is_parsed_from_its_url(url: str, expected: RedisAddress) -> None:
    assert RedisAddress.parse(url) == expected


@cases(
    "url",
    [
        "http://x",
        "redis://x:port",
        "redis://x:99999",
        "redis://x:0",
        "redis://",
        "redis://user:pw@",
        "redis://x?db=1",
        "redis://x?ssl_ca_certs=/x",
        "unix://run/redis.sock",
        "redis://x/one",
        "redis://x/²",
        "unix:///x?db=²",
        "redis+cluster://x/1",
        "redis://x?colour=1",
        "redis://u@x?iam=cache&region=r",
        "rediss://x?iam=cache&region=r",
        "rediss://u@x?iam=cache",
    ],
)
def test_wrong_redis_url_is_refused_by_the_part_that_is_wrong(url: str) -> None:
    with pytest.raises(ValueError, match=r"scheme|port|host|path|database|parameter|iam"):
        RedisAddress.parse(url)


def test_tls_checks_the_host_name_and_reads_the_ca_file() -> None:
    tls = RedisAddress.parse("rediss://cache").tls
    assert tls is not None
    assert tls.check_hostname
    with pytest.raises(OSError, match="No such file"):
        RedisAddress.parse("rediss://cache?ssl_ca_certs=/no/such/file")


@cases(
    ("of", "node", "certified"),
    [("cache", "10.0.0.1", "cache"), ("cache", "node", None), ("10.0.0.1", "10.0.0.2", None), ("cache", "::1", "cache")],
)
def test_cluster_node_inherits_credentials_and_the_certified_host_name(of: str, node: str, certified: str | None) -> None:
    """A node given by IP is verified by that host name; a node given by name is verified by its own."""
    cluster = RedisAddress.parse(f"rediss+cluster://user:pw@{of}:7000")
    one = cluster.of_node(node, 7001)
    assert (one.host, one.port, one.cluster, one.certified) == (node, 7001, False, certified)
    assert (one.username, one.password, one.tls) == ("user", "pw", cluster.tls)


def test_text_of_a_redis_address_shows_no_password() -> None:
    address = RedisAddress.parse("redis://user:hunter2@cache:7000")
    assert "hunter2" not in f"{address} {address!r}"
    assert str(address) == "cache:7000"
    assert str(RedisAddress(path="/x")) == "/x"
