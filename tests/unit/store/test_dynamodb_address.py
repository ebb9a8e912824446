"""Addresses of a DynamoDB."""

from __future__ import annotations

import subprocess
import sys

from tests.support.addresses import refused
from tests.support.cases import cases
from tools.store.backends.dynamodb.tables import DEFAULT_PREFIX, DynamoAddress


def test_region_alone_means_aws_with_the_default_tables() -> None:
    address = DynamoAddress.parse("dynamodb://ap-northeast-1")
    assert address == DynamoAddress("ap-northeast-1", None, DEFAULT_PREFIX)
    assert not address.is_emulated


def test_endpoint_and_table_prefix_are_parsed() -> None:
    address = DynamoAddress.parse("dynamodb://us-gov-west-1?endpoint=http://localhost:8000/&table_prefix=test.")
    assert address == DynamoAddress("us-gov-west-1", "http://localhost:8000", "test.")
    assert address.is_emulated


def test_private_endpoint_with_tls_is_no_emulator() -> None:
    assert not DynamoAddress.parse("dynamodb://ap-northeast-1?endpoint=https://vpce-1.example.com").is_emulated


@cases(
    ("url", "says"),
    [
        ("redis://ap-northeast-1", "scheme"),
        ("dynamodb://", "region"),
        ("dynamodb://localhost:8000", "region"),
        ("dynamodb://AP-NORTHEAST-1", "region"),
        ("dynamodb://key:secret@ap-northeast-1", "region"),
        ("dynamodb://ap-northeast-1/table", "may follow the region"),
        ("dynamodb://ap-northeast-1?table=x", "unknown parameter 'table'"),
        ("dynamodb://ap-northeast-1?endpoint=localhost:8000", "endpoint"),
        ("dynamodb://ap-northeast-1?endpoint=", "endpoint"),
        ("dynamodb://ap-northeast-1?endpoint=http://h:99999", "endpoint"),
        ("dynamodb://ap-northeast-1?endpoint=http://user:secret@h", "plain URL"),
        ("dynamodb://ap-northeast-1?endpoint=http://h&endpoint=http://i", "more than once"),
        ("dynamodb://ap-northeast-1?table_prefix=a/b", "table_prefix"),
    ],
)
def test_wrong_dynamodb_address_is_refused_by_its_part_and_without_secrets(url: str, says: str) -> None:
    refused(DynamoAddress.parse, url, says)


def test_importing_tables_and_addresses_loads_no_aws_driver() -> None:
    """Deployment and settings run without the driver, and servers with other backends do not load it."""
    names = ("items", "tables")
    imports = "\n".join(f"import tools.store.backends.dynamodb.{name}" for name in names)
    check = f"{imports}\nimport sys\nsys.exit(any(m.startswith(('boto', 'aioboto', 'aiohttp')) for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", check], check=False, timeout=60).returncode == 0
