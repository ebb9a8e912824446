"""What the deployment needs of the server's image."""

from __future__ import annotations

import re

from tests.support.environments import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")


def test_it_speaks_to_every_service_that_the_code_asks() -> None:
    """It keeps descriptions of few services; one that is not kept is unknown to the driver when it is first called."""
    kept = set(re.findall(r"! -name ([a-z0-9-]+)", DOCKERFILE))
    code = [path.read_text("utf-8") for folder in ("server", "tools", "session") for path in (ROOT / folder).rglob("*.py")]
    asked = {name for text in code for name in re.findall(r'(?:AwsClient|super\(\).__init__)\("([a-z0-9-]+)"', text)}
    assert asked == {"bedrock-runtime", "dynamodb", "s3"}
    assert asked | {"sts"} <= kept


def test_its_user_can_write_to_a_volume_of_fargate() -> None:
    """Which has the rights of the VOLUME at its path, and else root's."""
    assert 'VOLUME ["/tmp", "/audit"]' in DOCKERFILE
    assert DOCKERFILE.index("VOLUME") < DOCKERFILE.index("USER 10001")
    assert "USER 10001" in DOCKERFILE
