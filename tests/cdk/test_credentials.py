"""The drivers take the role that a container is told: from the task's credentials, by the file that the pod writes first."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import botocore.session
import pytest

from session.redis.iam import ElastiCacheIam
from tests.support.cdk import Template, containers, environment
from tools.store.backends.aws_client import AwsClient
from tools.store.backends.opensearch.client import _credentials

TASK, SERVER = "AKIATASK", "AKIASERVER"
GIVEN = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>{key}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>
<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""


class Aws(ThreadingHTTPServer):
    """ECS's endpoint of the task's credentials, and STS; it keeps which roles were asked for, by whose key."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Aws

    def do_GET(self) -> None:
        role = {"AccessKeyId": TASK, "SecretAccessKey": "s", "Token": "t", "Expiration": "2099-01-01T00:00:00Z"}
        self._answer(json.dumps(role), "application/json")

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        signed = self.headers["Authorization"]
        self.server.asked.append((form["RoleArn"][0], form["RoleSessionName"][0], signed))
        self._answer(GIVEN.format(key=SERVER), "text/xml")

    def _answer(self, text: str, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *ignored: Any) -> None:
        pass


@contextmanager
def aws() -> Iterator[Aws]:
    server = Aws()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def written(pod: Template, folder: Path) -> Path:
    """What the container that runs first writes, by its own command, /tmp being a folder here."""
    (first,) = [each for each, _ in containers(pod) if each["Name"] == "profiles"]
    command = [part.replace("/tmp/", f"{folder}/") for part in (*first["EntryPoint"], *first["Command"])]
    subprocess.run(command, env={"PATH": os.environ["PATH"]} | environment(pod, first), check=True)
    return folder / "config"


@pytest.fixture
def endpoint(pod: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """This process is the server's container."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    (container,) = [each for each, _ in containers(pod) if each["Name"] == "manga-tools"]
    own = {name: text for name, text in environment(pod, container).items() if name.startswith("AWS_")}
    with aws() as server:
        own |= {
            "AWS_CONFIG_FILE": str(written(pod, tmp_path)),
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{server.url}/credentials",
            "AWS_ENDPOINT_URL_STS": server.url,
        }
        for name, text in own.items():
            monkeypatch.setenv(name, text)
        yield server


def became_the_server(server: Aws) -> bool:
    (asked,) = server.asked
    role, session, signed = asked
    return "Server" in role and session == "server" and TASK in signed and "/ap-northeast-1/sts/" in signed


async def test_dynamodb_bedrock_and_s3_sign_as_the_server(endpoint: Aws) -> None:
    client = AwsClient("dynamodb", None, None, None)  # type: ignore[arg-type]
    try:
        driver = await client.ready()
        credentials = await driver._request_signer._credentials.get_frozen_credentials()
    finally:
        await client.aclose()
    assert (credentials.access_key, client.region) == (SERVER, "ap-northeast-1")
    assert became_the_server(endpoint)


def test_search_signs_as_the_server(endpoint: Aws) -> None:
    assert _credentials().get_frozen_credentials().access_key == SERVER
    assert became_the_server(endpoint)


def test_the_cache_is_greeted_as_the_server(endpoint: Aws) -> None:
    user, token = ElastiCacheIam("server", "sessions", "ap-northeast-1", serverless=False).get_credentials()
    assert user == "server"
    assert f"X-Amz-Credential={SERVER}" in token
    assert became_the_server(endpoint)


def test_the_agent_has_a_role_of_its_own(endpoint: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "agent")
    assert botocore.session.get_session().get_credentials().get_frozen_credentials().access_key == SERVER
    ((role, session, _),) = endpoint.asked
    assert ("Agent" in role, session) == (True, "agent")
