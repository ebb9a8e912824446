"""The doctor's report on servers that are missing, hang or are of another kind, and on embedded backends."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from server.commands.cli import _parser
from server.commands.doctor import MOST_SECONDS, checks, examine
from server.config.settings import DEMO, ROOT, Settings
from tests.support import s3
from tests.support.cases import cases
from tests.support.flags import FAILING, serving_flags
from tests.support.tool_packages import Site, saying
from tools.registry import TOOLS

BOUND_SECONDS = 10
PATIENT_SECONDS = 60.0
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("MANGA_", "AWS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


class Seen:
    """One examination: its exit status, and each dependency's finding by name."""

    def __init__(self, status: int, text: str) -> None:
        self.status, self.text = status, text
        report = json.loads(text)
        self.well: bool = report["well"]
        self.of: dict[str, dict[str, Any]] = {each["name"]: each for each in report["dependencies"]}


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Callable[..., Awaitable[Seen]]:
    async def run(most_seconds: float = MOST_SECONDS, **settings: Any) -> Seen:
        async with asyncio.timeout(BOUND_SECONDS + most_seconds):
            status = await examine(Settings(**{"embedder": "none", **settings}), as_json=True, most_seconds=most_seconds)
        return Seen(status, capsys.readouterr().out)

    return run


@asynccontextmanager
async def listening(answer: Answer) -> AsyncIterator[int]:
    """The port of a server that does with a connection whatever `answer` does."""
    held: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)
        await answer(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in held:
            writer.transport.abort()


async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Takes everything and says nothing."""


async def hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


def says(text: str) -> Answer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65_536):
            writer.write(text.encode())
            await writer.drain()

    return answer


def http_says(status: str, body: dict[str, Any]) -> Answer:
    text = json.dumps(body)
    return says(f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}")


def refused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def everywhere(host: str, port: int) -> dict[str, str]:
    return {
        "catalog_url": f"http://{host}:{port}",
        "store_url": f"dynamodb://eu-west-1?endpoint=http://{host}:{port}",
        "redis_url": f"redis://{host}:{port}",
    }


async def test_doctor_reports_embedded_backends_as_ok_with_their_contents(doctor: Any) -> None:
    """The exit status is 0. Loading an encoder takes seconds, and more on a busy machine."""
    seen = await doctor(PATIENT_SECONDS, embedder="local")
    assert (seen.status, seen.well) == (0, True), seen.text
    names = ["catalog", "titles", "stock", "releases", "orders", "profile", "pages", "redis", "policies", "data", "embedder"]
    assert list(seen.of) == names
    assert {each["state"] for each in seen.of.values()} == {"ok"}
    assert seen.of["catalog"]["detail"] == "261 titles in this process"
    assert seen.of["redis"]["version"].startswith("Valkey 9")
    assert "512 dimensions" in seen.of["embedder"]["detail"]


async def test_doctor_table_has_a_row_per_dependency_remedies_and_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    """A row each, the remedies below, and the verdict at the end."""
    settings = Settings(embedder="none", redis_url=f"redis://127.0.0.1:{refused_port()}")
    assert await examine(settings) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["dependency", "where", "state", "ms", "version", "what", "to", "know"]
    assert [line.split()[0] for line in lines[1:13]] == [
        "catalog", "titles", "stock", "releases", "orders", "profile", "pages", "redis", "relay", "policies", "data",
        "embedder",
    ]  # fmt: skip
    assert "  redis: start it, or correct MANGA_REDIS_URL" in lines
    assert lines[-1].startswith("not well, in ")


def test_doctor_accepts_json_option() -> None:
    """`doctor --json` is for programs."""
    assert _parser().parse_args(["doctor", "--json"]).as_json
    assert not _parser().parse_args(["doctor"]).as_json


async def test_refused_connection_is_reported_for_each_dependency_with_its_setting(doctor: Any) -> None:
    """The report names the setting to look at."""
    seen = await doctor(**everywhere("127.0.0.1", refused_port()))
    assert (seen.status, seen.well) == (1, False)
    for name, setting in (
        ("catalog", "MANGA_CATALOG_URL"),
        ("titles", "MANGA_STORE_URL"),
        ("stock", "MANGA_STORE_URL"),
        ("releases", "MANGA_STORE_URL"),
        ("orders", "MANGA_STORE_URL"),
        ("profile", "MANGA_STORE_URL"),
        ("redis", "MANGA_REDIS_URL"),
    ):
        assert seen.of[name]["state"] == "down"
        assert seen.of[name]["detail"] == "connection refused: nothing listens there", name
        assert setting in seen.of[name]["remedy"]


async def test_refusal_on_ipv4_and_ipv6_loopback_is_reported_once(doctor: Any) -> None:
    """`localhost` is tried as ::1 and as 127.0.0.1, and the driver's error is then a list."""
    seen = await doctor(**everywhere("localhost", refused_port()))
    assert {seen.of[name]["detail"] for name in ("catalog", "stock", "redis")} == {
        "connection refused: nothing listens there"
    }


async def test_unknown_host_is_reported_for_each_dependency(doctor: Any) -> None:
    """`.invalid` never resolves (RFC 2606). A machine without a name server may take its time."""
    seen = await doctor(**everywhere("search.invalid", 9200))
    for name in ("catalog", "titles", "stock", "releases", "orders", "profile", "redis"):
        assert seen.of[name]["detail"] in ("no such host: its name is not known", "it does not answer"), name


async def test_silent_server_is_reported_for_each_dependency_without_hanging(doctor: Any) -> None:
    """The doctor ends by itself, and tells a hung server from an absent one."""
    async with listening(never) as port:
        seen = await doctor(**everywhere("127.0.0.1", port))
    for name in ("catalog", "titles", "stock", "releases", "orders", "profile", "redis"):
        assert seen.of[name]["detail"] == "it takes the connection and does not answer", name


@pytest.mark.slow  # waits for a name server
def test_hanging_name_server_does_not_hold_up_the_doctor() -> None:
    """Resolving cannot be cancelled, yet the process ends a minute before the resolver would."""
    program = (
        "import socket, sys, time\n"
        "socket.getaddrinfo = lambda *arguments, **named: time.sleep(60)\n"
        "from server.commands.cli import main\n"
        "sys.exit(main(['doctor', '--json']))"
    )
    urls = everywhere("search.example.com", 9200)
    environment = os.environ | {"MANGA_EMBEDDER": "none"} | {f"MANGA_{key.upper()}": url for key, url in urls.items()}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=2 * BOUND_SECONDS
    )
    assert done.returncode == 1, done.stderr
    seen = Seen(1, done.stdout)
    assert {seen.of[name]["state"] for name in ("catalog", "titles", "stock", "releases", "orders", "profile", "redis")} == {
        "down"
    }
    assert done.stderr == ""


async def test_server_that_closes_the_connection_is_reported(doctor: Any) -> None:
    """Usually the server expects TLS, or is a proxy without a backend."""
    async with listening(hangs_up) as port:
        seen = await doctor(**everywhere("127.0.0.1", port))
    for name in ("catalog", "titles", "stock", "releases", "orders", "profile", "redis"):
        assert seen.of[name]["detail"] == "it closes the connection without an answer", name


async def test_tls_to_a_server_without_tls_is_reported(doctor: Any) -> None:
    """The report does not blame the certificate."""
    async with listening(says("HTTP/1.1 400 Bad Request\r\n\r\n")) as port:
        seen = await doctor(
            catalog_url=f"https://127.0.0.1:{port}",
            store_url=f"dynamodb://eu-west-1?endpoint=https://127.0.0.1:{port}",
            redis_url=f"rediss://127.0.0.1:{port}",
        )
    assert seen.of["catalog"]["detail"] == "no TLS comes about: it may speak none"
    assert seen.of["redis"]["detail"] == "no TLS comes about: it may speak none"


# OpenSearch with its security plugin is no Maven artefact, so its refusals are played; so is AWS.
@cases(
    ("status", "said"),
    [
        ("401 Unauthorized", "it refuses user and password (401)"),
        ("403 Forbidden", "its user may not do this (403)"),
        ("429 Too Many Requests", "it is too busy (429)"),
    ],
)
async def test_opensearch_error_status_is_reported_by_kind_without_credentials(status: str, said: str, doctor: Any) -> None:
    """The report shows neither the user nor the refused password."""
    async with listening(http_says(status, {"error": "refused", "status": int(status[:3])})) as port:
        seen = await doctor(catalog_url=f"http://editor:hunter2@127.0.0.1:{port}")
    assert seen.of["catalog"]["detail"] == said
    assert "hunter2" not in seen.text
    assert "editor" not in seen.text


@cases("body", ["{}", '{"version": {"number": "8.1.0"}}', '{"version": "3.6.0"}', "[]", "<html>It works</html>"])
async def test_server_that_is_no_opensearch_is_reported(body: str, doctor: Any) -> None:
    """Neither a web server that answers 200 nor an Elasticsearch gets the advice to seed an index."""
    answer = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    async with listening(says(answer)) as port:
        found = (await doctor(catalog_url=f"http://127.0.0.1:{port}")).of["catalog"]
    assert found["state"] == "down"
    assert "another server than OpenSearch" in found["detail"]
    assert "MANGA_CATALOG_URL" in found["remedy"]


@cases(
    ("code", "said", "remedy"),
    [
        ("UnrecognizedClientException", "AWS does not know these credentials", "AWS_ACCESS_KEY_ID"),
        ("ExpiredTokenException", "the AWS credentials have expired", "sign in again"),
        ("AccessDeniedException", "the AWS credentials do not allow it", "dynamodb:GetItem on manga-stock"),
        ("ResourceNotFoundException", "the table manga-stock is not there", "python -m infra.seed"),
    ],
)
async def test_dynamodb_error_code_is_reported_with_the_missing_permission(
    code: str, said: str, remedy: str, doctor: Any
) -> None:
    """The report names the missing permission, or another remedy."""
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no"}
    async with listening(http_says("400 Bad Request", body)) as port:
        seen = await doctor(store_url=f"dynamodb://eu-west-1?endpoint=http://127.0.0.1:{port}")
    assert seen.of["stock"]["detail"] == said
    assert remedy in seen.of["stock"]["remedy"]


async def test_missing_aws_credentials_are_reported(doctor: Any) -> None:
    """Without credentials AWS itself is never reached."""
    seen = await doctor(store_url="dynamodb://eu-west-1")
    assert seen.of["orders"]["detail"] == "there are no AWS credentials"


async def test_redis_that_is_loading_is_reported(doctor: Any) -> None:
    """Loading only takes time, which depends on gigabytes that no test has."""
    async with listening(says("-LOADING Redis is loading the dataset in memory\r\n")) as port:
        seen = await doctor(redis_url=f"redis://127.0.0.1:{port}")
    assert seen.of["redis"]["detail"] == "it is loading its data"
    assert seen.of["redis"]["remedy"].startswith("wait")


async def test_server_that_is_no_redis_is_reported(doctor: Any) -> None:
    """A web server listens on the port."""
    async with listening(says("HTTP/1.1 400 Bad Request\r\n\r\n")) as port:
        seen = await doctor(redis_url=f"redis://127.0.0.1:{port}")
    assert seen.of["redis"]["detail"] == "it answers with something else than Redis"


async def test_missing_unix_socket_is_reported(doctor: Any, tmp_path: Path) -> None:
    """unix:// has neither host nor port."""
    seen = await doctor(redis_url=f"unix://{tmp_path}/redis.sock")
    assert seen.of["redis"]["detail"] == "there is no such socket or file"


async def test_malformed_catalogue_file_is_reported_with_its_line(doctor: Any, tmp_path: Path) -> None:
    """The store is reported too, because it is filled from the same file."""
    broken = tmp_path / "catalog.jsonl"
    broken.write_text((DEMO / "catalog.jsonl").read_text("utf-8").splitlines()[0] + "\n{", "utf-8")
    seen = await doctor(catalog_file=broken)
    for name in ("catalog", "stock", "orders"):
        assert "line 2: not JSON" in seen.of[name]["detail"], name
        assert "MANGA_CATALOG_FILE" in seen.of[name]["remedy"]


async def test_odd_values_of_volumes_and_orders_are_counted(doctor: Any, tmp_path: Path) -> None:
    for name, field, value in (("volumes", "format", "paperback"), ("orders", "status", "gone")):
        record = json.loads((DEMO / f"{name}.jsonl").read_text("utf-8").splitlines()[0])
        (tmp_path / name).write_text(json.dumps({**record, field: value}), "utf-8")
    seen = await doctor(volumes_file=tmp_path / "volumes", orders_file=tmp_path / "orders")
    assert seen.of["stock"]["detail"].startswith("in this process, from files; 2 oddities, the first: volume ")
    assert "format 'paperback' is none of" in seen.of["orders"]["detail"]


async def test_remedy_common_to_several_dependencies_is_printed_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broken = tmp_path / "catalog.jsonl"
    broken.write_text("{", "utf-8")
    assert await examine(Settings(embedder="none", catalog_file=broken)) == 1
    assert capsys.readouterr().out.count("correct the file, or MANGA_CATALOG_FILE") == 1


async def test_malformed_policies_file_is_reported_with_its_line(doctor: Any, tmp_path: Path) -> None:
    """The message is that of the server's start."""
    broken = tmp_path / "policies.md"
    broken.write_text("# Shipping fees\n", "utf-8")
    seen = (await doctor(policies_file=broken)).of["policies"]
    assert seen["state"] == "down"
    assert "line 1: 'shipping fees' is no topic and one of en, ja" in seen["detail"]
    assert "MANGA_POLICIES_FILE" in seen["remedy"]


async def test_pages_directory_is_reported_as_missing_empty_or_ok(doctor: Any, tmp_path: Path) -> None:
    """An empty directory may be the wrong one."""
    pages = f"file://{tmp_path}/pages"
    gone = (await doctor(pages_url=pages)).of["pages"]
    assert (gone["state"], gone["detail"]) == ("down", "it cannot be read: No such file or directory")
    (tmp_path / "pages").mkdir()
    empty = (await doctor(pages_url=pages)).of["pages"]
    assert (empty["state"], empty["detail"]) == ("degraded", "it has no folder of a title")
    (tmp_path / "pages" / "manga-000001").mkdir()
    assert (await doctor(pages_url=pages)).of["pages"]["state"] == "ok"


@cases(
    ("answer", "state", "said", "remedy"),
    [
        (s3.refuses("AccessDenied"), "down", "the AWS credentials do not allow it", "s3:ListBucket and s3:GetObject"),
        (s3.refuses("NoSuchBucket", 404), "down", "there is no bucket manga-pages", "MANGA_PAGES_URL"),
        (s3.refuses("SignatureDoesNotMatch"), "down", "AWS does not know these credentials", "AWS_ACCESS_KEY_ID"),
        (s3.talks_nonsense, "down", "it answers with something that cannot be read", "MANGA_PAGES_URL"),
        (s3.hangs, "down", "it does not answer", "MANGA_PAGES_URL"),
        (None, "degraded", "there is nothing under this prefix", "TITLE_ID/VOLUME/1.webp"),
    ],
)
async def test_s3_error_of_the_pages_bucket_is_reported_by_kind(
    doctor: Any, answer: s3.Answer | None, state: str, said: str, remedy: str
) -> None:
    async with s3.serving(s3.Bucket(answer=answer)) as bucket:
        found = (await doctor(pages_url=bucket.url())).of["pages"]
    assert (found["state"], found["detail"]) == (state, said)
    assert remedy in found["remedy"]


async def test_bedrock_without_a_region_is_reported_for_the_embedder(doctor: Any) -> None:
    """The other dependencies are examined all the same."""
    seen = await doctor(embedder="bedrock:amazon.titan-embed-text-v2:0")
    assert "AWS_DEFAULT_REGION" in seen.of["embedder"]["remedy"]
    assert seen.of["catalog"]["state"] == "ok"


@pytest.mark.parametrize(
    ("code", "remedy"), [("AccessDeniedException", "bedrock:InvokeModel"), ("ValidationException", "MANGA_EMBEDDER")]
)
async def test_bedrock_error_code_is_reported_with_a_remedy(
    code: str, remedy: str, doctor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The remedy is about the model, the permission or the region."""
    body = {"__type": code, "message": "no"}
    async with listening(http_says("400 Bad Request", body)) as port:
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", f"http://127.0.0.1:{port}")
        seen = await doctor(embedder="bedrock:amazon.titan-embed-text-v2:0")
    assert seen.of["embedder"]["state"] == "down"
    assert remedy in seen.of["embedder"]["remedy"]


async def test_flags_file_is_reported_with_its_switches_or_its_error(doctor: Any, tmp_path: Path) -> None:
    """The report names the file, its switches and its errors."""
    file = tmp_path / "flags.json"
    file.write_text(json.dumps({TOOLS[0].name: False, TOOLS[1].name: {"percent": 20}, TOOLS[2].name: True}))
    found = (await doctor(flags_url=file.as_uri())).of["flags"]
    assert (found["state"], found["where"]) == ("ok", str(file))
    assert found["detail"] == f"{TOOLS[0].name} off, {TOOLS[1].name} 20 %"
    file.write_text("{")
    seen = await doctor(flags_url=file.as_uri())
    assert (seen.status, seen.of["flags"]["state"]) == (1, "down")
    assert seen.of["flags"]["detail"] == "the flags are not JSON (line 1, column 2)"
    file.unlink()
    found = (await doctor(flags_url=file.as_uri())).of["flags"]
    assert found["detail"] == f"{file} cannot be read: No such file or directory"
    assert "MANGA_FLAGS_URL" in found["remedy"]


async def test_flag_of_an_unknown_tool_is_reported_and_still_ok(doctor: Any, tmp_path: Path) -> None:
    file = tmp_path / "flags.json"
    file.write_text('{"sell_house": true}')
    seen = await doctor(flags_url=file.as_uri())
    assert (seen.of["flags"]["state"], seen.status) == ("ok", 0)
    assert "no tool of this version: sell_house" in seen.of["flags"]["detail"]


async def test_flags_over_http_are_fetched_and_reported_without_the_query(doctor: Any) -> None:
    """The query may hold a key. A failure is reported with its reason."""
    with serving_flags(b'{"lookup_order": {"segments": [{"name": "all"}]}}') as flags:
        found = (await doctor(flags_url=f"{flags.url}?key=hunter2")).of["flags"]
        assert (found["state"], found["where"], found["detail"]) == ("ok", flags.url, "lookup_order in 1 segments")
        flags.mood = FAILING
        found = (await doctor(flags_url=flags.url)).of["flags"]
        assert (found["state"], found["detail"]) == ("down", "it answers with status 500")
    found = (await doctor(flags_url=f"http://127.0.0.1:{refused_port()}/flags")).of["flags"]
    assert found["detail"] == "connection refused: nothing listens there"
    assert "MANGA_FLAGS_URL" in found["remedy"]


async def test_unreachable_flags_table_is_reported(doctor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    url = f"dynamodb://eu-west-1/manga-flags/production?endpoint=http://127.0.0.1:{refused_port()}"
    found = (await doctor(flags_url=url)).of["flags"]
    assert found["where"] == "dynamodb://eu-west-1/manga-flags/production"
    assert (found["state"], found["detail"]) == ("down", "connection refused: nothing listens there")


async def test_audit_file_is_tested_for_writing_and_not_created(doctor: Any, tmp_path: Path) -> None:
    """An existing file has to be appendable, and a missing one creatable."""
    file = tmp_path / "audit.jsonl"
    found = (await doctor(audit_log=file)).of["audit"]
    assert (found["state"], file.exists()) == ("ok", False)
    file.write_text("line\n")
    assert (await doctor(audit_log=file)).of["audit"]["state"] == "ok"
    assert file.read_text() == "line\n"
    for wrong in (tmp_path, tmp_path / "none" / "audit.jsonl"):
        found = (await doctor(audit_log=wrong)).of["audit"]
        assert found["state"] == "down"
        assert found["detail"].startswith("it cannot be written: ")
        assert "MANGA_AUDIT_LOG" in found["remedy"]


async def test_data_folder_is_tested_for_writing_and_not_created(doctor: Any, tmp_path: Path) -> None:
    folder = tmp_path / "not" / "yet"
    found = (await doctor(data_dir=folder)).of["data"]
    assert (found["state"], found["where"], folder.exists()) == ("ok", str(folder), False)
    assert found["detail"].endswith(" GB free")
    (tmp_path / "not").write_text("a file")
    found = (await doctor(data_dir=folder)).of["data"]
    assert found["state"] == "degraded"
    assert "XDG_CACHE_HOME" in found["remedy"]


async def test_full_disk_is_reported_as_degraded(doctor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "LEAST_FREE_BYTES", 2**80)
    seen = await doctor(data_dir=tmp_path, audit_log=tmp_path / "audit.jsonl")
    assert {seen.of[name]["state"] for name in ("audit", "data")} == {"degraded"}
    assert seen.status == 1


async def test_files_that_are_not_configured_are_not_examined(doctor: Any) -> None:
    """With a remote catalogue the data folder is not used either."""
    assert {"flags", "audit", "data"}.isdisjoint((await doctor(catalog_url=f"http://127.0.0.1:{refused_port()}")).of)


async def test_tool_packages_are_loaded_and_a_refused_one_is_reported(doctor: Any, site: Site, tmp_path: Path) -> None:
    """The report lists their tools, or the reason of the refusal with a remedy; flags know their tools."""
    file = tmp_path / "flags.json"
    file.write_text('{"say_word": false}')
    site.install("1.0", saying("one", "say_word"))
    seen = await doctor(flags_url=file.as_uri())
    assert (seen.status, seen.of["packages"]["state"]) == (0, "ok")
    assert seen.of["packages"]["detail"] == "manga-words 1.0: say_word"
    assert seen.of["flags"]["detail"] == "say_word off"
    site.install("2.0", {"__init__.py": "import no_such_thing\n"}, name="a-broken", module="a_broken")
    site.forget_modules()
    seen = await doctor()
    assert (seen.status, seen.of["packages"]["state"]) == (1, "down")
    assert "a-broken 2.0: refused: the import of a_broken:TOOLS fails" in seen.of["packages"]["detail"]
    assert "tools reload" in seen.of["packages"]["remedy"]
