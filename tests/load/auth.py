"""`python -m tests.load.auth`: what it costs to know who is calling. CPU of the server for each cached call over HTTP+SSE,
with MANGA_AUTH=none, token, and jwt in its two forms, in one run, in rounds, in turn and back; ratios are taken within a
round.

    own     each connection has the token of its user
    shared  each connection has the agent's token, and each call brings its user's own in `_meta`: two tokens a call

The limits are off in all of them, because a connection that belongs to one user would soon be over them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.load import report
from tests.load.auth_load import CUSTOMERS, KINDS, NONE, SECRET, TOKEN
from tests.load.calls import CALLS_A_TURN
from tests.load.children import Child, python
from tests.load.procfs import cpu_ms
from tests.load.variants import PRODUCT
from tests.support.issuer import AUDIENCE, Issuer, compact_json
from tests.support.ports import free_port

MOST = 1.10
"""What a call may cost more than with none."""
WARM_CALLS = 3 * CALLS_A_TURN
MOST_WRONG = 0.01
Sample = dict[str, float]


def mint(folder: Path) -> tuple[Issuer, Path]:
    """An issuer whose keys lie in a file, and tokens of an agent and of every customer in another. RS256, as most sign."""
    issuer = Issuer(name="https://issuer.example")
    (folder / "jwks.json").write_bytes(compact_json(issuer.jwks))
    users = [issuer.token(f"bench-user-{number}", exp=2**33) for number in range(CUSTOMERS)]
    tokens = folder / "tokens.json"
    tokens.write_bytes(compact_json({"agent": issuer.agents_token(exp=2**33), "users": users}))
    return issuer, tokens


def settings_of(kind: str, folder: Path, issuer: Issuer) -> dict[str, str]:
    if kind == NONE:
        return {"MANGA_AUTH": "none"}
    if kind == TOKEN:
        return {"MANGA_AUTH": "token", "MANGA_AUTH_TOKENS": f"another-secret,{SECRET}"}
    return {
        "MANGA_AUTH": "jwt",
        "MANGA_JWT_JWKS_URL": (folder / "jwks.json").as_uri(),
        "MANGA_JWT_ISSUER": issuer.name,
        "MANGA_JWT_AUDIENCE": AUDIENCE,
    }


@asynccontextmanager
async def serving(folder: Path, environment: dict[str, str]) -> AsyncIterator[tuple[Child, int]]:
    port = free_port()
    own = PRODUCT | {"MANGA_PORT": str(port), "MANGA_RATE_LIMIT": "off"} | environment
    async with python(folder, "server", "serve", "--with-parent", environment=own) as child:
        await child.serving(port)
        yield child, port


async def measure(seconds: float, rounds: int, clients: int, say: Any = lambda _: None) -> list[Sample]:
    """CPU in ms a call, by kind, for each round."""
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="manga-bench-")))
        issuer, tokens = mint(folder)
        load = await stack.enter_async_context(python(folder, "tests.load.auth_load", worker=True))
        servers = {}
        for number, kind in enumerate(KINDS):
            own = folder / str(number)
            own.mkdir()
            servers[kind] = await stack.enter_async_context(serving(own, settings_of(kind, folder, issuer)))
        samples: list[Sample] = []
        for number in range(rounds):
            samples.append({})
            for kind in KINDS if number % 2 else KINDS[::-1]:
                samples[-1][kind] = await _sample(load, *servers[kind], clients, kind, tokens, seconds)
                say(f"round {number + 1}, {kind:11}: {samples[-1][kind]:.3f} ms CPU a call")
        return samples


async def _sample(load: Child, server: Child, port: int, clients: int, kind: str, tokens: Path, seconds: float) -> float:
    await load.ask("connect", port=port, clients=clients, run=uuid.uuid4().hex[:12], kind=kind, tokens=str(tokens))
    await load.ask("warm", calls=WARM_CALLS)
    before = cpu_ms(server.pid)
    answer = await load.ask("go", seconds=seconds)
    used = cpu_ms(server.pid) - before
    await load.ask("close")
    calls = len(answer["latencies"])
    if answer["wrong"] > MOST_WRONG * calls:
        raise AssertionError(f"{kind}: {answer['wrong']} wrong answers, the first: {answer['first_wrong']}")
    return used / calls


def ratios(samples: Sequence[Sample]) -> Sample:
    """To none: the median over the rounds of what was found within each."""
    return {kind: statistics.median(each[kind] / each[NONE] for each in samples) for kind in KINDS[1:]}


def table(samples: Sequence[Sample], seconds: float, clients: int) -> str:
    found = ratios(samples)
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}, {len(samples)} rounds of {seconds} s for each, {clients} clients, RS256",
        report.machine(),
        "",
        f"{'MANGA_AUTH':12}{'CPU ms a call':>14}{'to none':>9}",
    ]
    for kind in KINDS:
        cpu = statistics.median(each[kind] for each in samples)
        lines.append(f"{kind:12}{cpu:14.3f}{found.get(kind, 1.0):9.2f}")
    lines += [
        "",
        *(
            f"{'met   ' if found[kind] <= MOST else 'MISSED'}  {kind}: {found[kind]:.2f} (bar <= {MOST})"
            for kind in KINDS[1:]
        ),
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.auth", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=1.5, help="for each kind in each round")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--bars", action="store_true", help="exit 1 when a bar is missed")
    asked = parser.parse_args(arguments)
    samples = asyncio.run(measure(asked.seconds, asked.rounds, asked.clients, lambda line: print(line, file=sys.stderr)))
    print(table(samples, asked.seconds, asked.clients))
    return 1 if asked.bars and max(ratios(samples).values()) > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
