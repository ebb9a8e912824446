"""Several workers on one port, as a client sees them, and one that dies."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.support.clients import Connections, params
from tests.support.flags import FlagsServer, serving_flags
from tests.support.ops import watching
from tests.support.process import Process, alive, command_of, descendants, run, serving, until
from tests.support.raw import Connection, Json, ask, call, in_2026, message, post_2026
from tests.support.serving import Serving

PATIENCE = 30.0
WELL_AGAIN_SECONDS = 3.0
"""The promise, after a worker was killed; it is there again within one."""
STOP_SECONDS = 5.0
STARTED_AGAIN = re.compile(r"worker (\d) has ended .*; it is started again in (\S+) s")
USER = "com.mangaassist/userId"


class Running(Protocol):
    """A server, however it was started."""

    @property
    def pid(self) -> int: ...
    @property
    def port(self) -> int: ...
    @property
    def log(self) -> str: ...


@pytest.fixture(scope="module")
def flags() -> Iterator[FlagsServer]:
    with serving_flags() as own:
        yield own


@pytest.fixture(scope="module")
def shared(serve: Callable[..., Serving], flags: FlagsServer) -> Serving:
    return serve(MANGA_WORKERS="2", MANGA_FLAGS_URL=flags.url)


@pytest.fixture
async def two(shared: Serving) -> Serving:
    """Both serve, and the supervisor knows it."""
    await until(lambda: spread_evenly(shared), PATIENCE, "each worker has half of the connections")
    return shared


@asynccontextmanager
async def own(cache: Path, **settings: object) -> AsyncIterator[Process]:
    """For a test that ends it."""
    async with serving(workers=2, data_dir=cache, rate_limit="off", **settings) as process:
        await until(lambda: spread_evenly(process), PATIENCE, "each worker has half of the connections")
        yield process
        if process.process.returncode is None:
            process.signal(signal.SIGTERM)
        await process.ended(PATIENCE)


async def spread_evenly(process: Running) -> bool:
    async with AsyncExitStack() as stack:
        mine = [await stack.enter_async_context(Connection.to(process.port)) for _ in range(12)]
        answers = await asyncio.gather(*(each.request("GET", "/healthz") for each in mine))
        assert [each.status for each in answers] == [200] * 12
        held = [connections_of(pid, process.port) for pid in workers_of(process)]
    return len(held) == 2 and min(held) >= 5


async def all_serve(process: Running) -> bool:
    return bool((await readiness(process))["status"] == "ready")


async def readiness(process: Running) -> Json:
    return dict(json.loads((await ask(process.port, "GET", "/readyz")).body))


async def value_of(process: Running, metric: str) -> float:
    """The sum of what /metrics says of it."""
    text = (await ask(process.port, "GET", "/metrics")).body.decode()
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if re.match(rf"{metric}[{{ ]", line))


def workers_of(process: Running) -> list[int]:
    """Their pids, without Valkey's."""
    return [pid for pid in descendants(process.pid) if "-m server" in command_of(pid)]


def connections_of(pid: int, port: int) -> int:
    """How many TCP connections to the port a process holds."""
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    established = {row[9] for row in rows if int(row[1].rpartition(":")[2], 16) == port and row[3] == "01"}
    links = [str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir() if each.is_symlink()]
    return sum(link.removeprefix("socket:[").removesuffix("]") in established for link in links)


def search(number: int = 1, query: str = "One Piece", **meta: Any) -> tuple[Json, dict[str, str]]:
    return in_2026(call("search_manga_catalog", {"query": query}, meta or None, number))


async def answered(connection: Connection, number: int = 1) -> bool:
    body, headers = search(number)
    answer = await connection.request("POST", "/mcp", body, headers)
    return answer.status == 200 and "structuredContent" in answer.json()["result"]


async def test_connections_are_spread_over_the_workers_and_answered(two: Serving) -> None:
    """The fixture checks that they are spread evenly; long streams stay with their worker."""
    async with AsyncExitStack() as stack:
        mine = [await stack.enter_async_context(Connection.to(two.port)) for _ in range(12)]
        assert all(await asyncio.gather(*(answered(each, number) for number, each in enumerate(mine))))


async def test_metrics_and_readiness_cover_both_workers(two: Serving) -> None:
    before = await value_of(two, "manga_calls_total")
    async with AsyncExitStack() as stack:
        mine = [await stack.enter_async_context(Connection.to(two.port)) for _ in range(6)]
        assert all(await asyncio.gather(*(answered(each, number) for number, each in enumerate(mine))))
    assert await value_of(two, "manga_calls_total") == before + 6
    assert await value_of(two, "manga_call_seconds_count") == before + 6
    assert await value_of(two, "manga_ready") == 1
    assert (await readiness(two))["dependencies"]["workers"]["detail"] == "2 of 2 serve"
    assert two.log.count("listening on") == 1
    assert two.log.count("titles ready") == 1


async def test_each_worker_names_itself_and_the_others_on_the_ops_page(two: Serving) -> None:
    seen: dict[int, Json] = {}
    async with asyncio.timeout(PATIENCE):
        while len(seen) < 2:
            async with watching(two.port) as page:
                server = (await page.next("hello"))["server"]
                while len((both := await page.next("state"))["replicas"]) != 2:
                    pass
                seen[server["worker"]] = {**both, "replica": server["replica"]}
    assert seen.keys() == {1, 2}
    names = {state["replica"] for state in seen.values()}
    assert len(names) == 2
    for state in seen.values():
        assert {each["name"] for each in state["replicas"]} == names
        assert [each["name"] for each in state["replicas"] if each["self"]] == [state["replica"]]


async def test_killed_worker_is_restarted_and_no_count_is_lost(two: Serving) -> None:
    """Connections to the other worker stay open."""
    async with AsyncExitStack() as stack:
        mine: list[Connection] = []
        killed, kept = workers_of(two)
        while (
            min(connections_of(pid, two.port) for pid in (killed, kept)) < 3
        ):  # a busy supervisor may still count closed ones
            assert len(mine) < 50
            mine.append(await stack.enter_async_context(Connection.to(two.port)))
            assert await answered(mine[-1])
        counted = await value_of(two, "manga_calls_total")
        held = connections_of(kept, two.port)
        os.kill(killed, signal.SIGKILL)
        alive_still = [each for each in mine if await _answers(each)]
        # The supervisor may still count one that a probe has closed.
        assert held - 1 <= len(alive_still) <= held
    assert (await post_2026(two.port, search()[0]))["result"]["structuredContent"]["results"]
    await until(lambda: all_serve(two), WELL_AGAIN_SECONDS, "both workers serve again")
    assert kept in workers_of(two)
    assert len(workers_of(two)) == 2
    assert float(STARTED_AGAIN.findall(two.log)[-1][1]) <= 1.0
    assert await value_of(two, "manga_calls_total") == counted + len(alive_still) + 1


async def _answers(connection: Connection) -> bool:
    try:
        return await answered(connection)
    except (OSError, asyncio.IncompleteReadError):
        return False


@pytest.mark.slow  # waits for pauses
async def test_worker_that_keeps_dying_is_restarted_with_pauses_and_ends_with_its_supervisor(cache: Path) -> None:
    """The other worker answers meanwhile, and readiness states the reason."""
    async with own(cache) as two:
        kept, mortal = workers_of(two)
        for deaths in (1, 2, 3):
            os.kill(mortal, signal.SIGKILL)
            await until(lambda deaths=deaths: len(STARTED_AGAIN.findall(two.log)) == deaths, PATIENCE, "its death is told")
            assert (await post_2026(two.port, search()[0]))["result"]["structuredContent"]["results"]
            await until(lambda: all_serve(two), PATIENCE, "both workers serve again")
            (mortal,) = set(workers_of(two)) - {kept}
        assert [float(pause) for _, pause in STARTED_AGAIN.findall(two.log)] == [0.0, 0.5, 1.0]
        pids = descendants(two.pid)
        assert len(pids) == 3, "two workers and Valkey"
        two.signal(signal.SIGKILL)
        await until(lambda: not any(map(alive, pids)), PATIENCE, "workers and Valkey are gone")


async def test_sigterm_answers_calls_under_way_and_leaves_no_process(cache: Path) -> None:
    """SIGTERM comes during searches at both workers, whose catalogue never answers."""

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    hanging = await asyncio.start_server(hang, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{hanging.sockets[0].getsockname()[1]}"
    async with hanging, own(cache, catalog_url=address) as process:
        pids = [*workers_of(process), process.valkey()]
        async with AsyncExitStack() as stack:
            mine = [await stack.enter_async_context(Connection.to(process.port)) for _ in range(4)]
            asked = [asyncio.create_task(answered(each, number)) for number, each in enumerate(mine)]
            await until(lambda: under_way(process, 4), PATIENCE, "all four are under way")
            process.signal(signal.SIGTERM)
            assert await asyncio.gather(*asked) == [True] * 4
        assert await process.ended(PATIENCE) == 0
    assert not [pid for pid in pids if alive(pid)]
    assert "Traceback" not in process.log


async def under_way(process: Running, calls: int) -> bool:
    return await value_of(process, "manga_calls_under_way") == calls


@pytest.mark.slow  # ten seconds alone
@pytest.mark.alone
async def test_shutdown_takes_at_most_five_seconds(cache: Path) -> None:
    """A turn is unfinished, and a worker ignores signals."""
    meta = {"com.mangaassist/turnId": "t", "com.mangaassist/sessionId": "s"}
    async with own(cache) as two:
        assert (await post_2026(two.port, search(**meta)[0]))["result"]
        os.kill(workers_of(two)[0], signal.SIGSTOP)
        two.signal(signal.SIGTERM)
        assert await two.ended(STOP_SECONDS) == 0


@pytest.mark.slow  # ten seconds alone
async def test_wrong_setting_ends_the_start_with_one_line(tmp_path: Path) -> None:
    wrong = tmp_path / "flags.json"
    wrong.write_text("no JSON")
    for settings, says in (
        ({"workers": 0}, "MANGA_WORKERS: has to be a whole number from 1 to 64"),
        ({"workers": 2, "catalog_file": wrong}, "MANGA_CATALOG_FILE: line 1"),
        ({"workers": 2, "embedder": "bedrock:m"}, "MANGA_EMBEDDER: Bedrock needs AWS_DEFAULT_REGION"),
    ):
        async with run("serve", **settings) as process:
            assert await process.ended(PATIENCE) == 2
            errors = [line for line in process.lines if line.startswith("manga-tools:")]
            assert len(errors) == 1, process.log
            assert says in errors[0]
            assert "Traceback" not in process.log


async def test_session_and_preferences_are_shared_between_workers(two: Serving) -> None:
    """A preference stated at one worker is withdrawn at the other."""
    meta = {USER: "demo-user-1", "com.mangaassist/sessionId": "shared"}
    async with AsyncExitStack() as stack:
        mine = [await stack.enter_async_context(Connection.to(two.port)) for _ in range(4)]

        async def told(number: int, tool: str, arguments: Json) -> Json:
            body, headers = in_2026(call(tool, arguments, meta))
            return dict((await mine[number].request("POST", "/mcp", body, headers)).json()["result"])

        shown = (await told(0, "search_manga_catalog", {"query": "One Piece"}))["structuredContent"]["results"]
        for number in range(4):
            stock = (await told(number, "check_inventory", {}))["structuredContent"]
            assert [row["title_id"] for row in stock["items"]] == [each["title_id"] for each in shown]
        for number in range(4):
            assert not (await told(number, "remember_preference", {"preference": "I don't like gore"})).get("isError")
            gone = await told(3 - number, "forget_preference", {"preference": "I don't like gore"})
            assert gone["structuredContent"]["removed"] == ["I don't like gore"], gone


async def test_flag_change_reaches_both_workers(two: Serving, flags: FlagsServer) -> None:
    async with AsyncExitStack() as stack:
        mine = [await stack.enter_async_context(Connection.to(two.port)) for _ in range(4)]
        assert all([await offered(each) for each in mine])
        flags.set(lookup_order=False)

        async def nobody() -> bool:
            return not any([await offered(each) for each in mine])

        await until(nobody, PATIENCE, "the tool is off at both")
        flags.set()


async def offered(connection: Connection) -> bool:
    body, headers = in_2026(message("tools/list"))
    answer = (await connection.request("POST", "/mcp", body, headers)).json()
    return "lookup_order" in [tool["name"] for tool in answer["result"]["tools"]]


@pytest.mark.parametrize("kind", params(["sse-2025", "http-2025", "strands-sse", "strands-http"]))
async def test_session_is_served_by_whichever_worker_gets_its_request(kind: str, fresh: Connections, two: Serving) -> None:
    """The worker with the fewest connections gets the next, so a stream and its POSTs meet different workers."""
    clients = [fresh.open(kind, two.url) for _ in range(4)]
    for number in range(6):
        answers = await asyncio.gather(
            *(
                client.call("search_manga_catalog", {"query": "One Piece", "max_results": 1 + number % 3})
                for client in clients
            )
        )
        assert [answer.value["results"][0]["title_id"] for answer in answers] == ["manga-001001"] * len(clients)
