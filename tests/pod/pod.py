"""The task as Fargate runs it: the sidecar, then the agent once that is healthy, with one loopback and no other network; and the
door before it, by which alone customers come in."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra.door.gateway import AUDIENCE, ISSUER
from tests.pod.engine import HOME, Engine, EngineError
from tests.pod.images import AGENT, SIDECAR, Image
from tests.pod.netns import ConnectionInto

READY_SECONDS = 180
"""A machine that does other things as well needs some times as long as the ten seconds of an idle one."""
POLL_SECONDS = 0.3
STOP_SECONDS = 30
"""ECS's own default for `stopTimeout`; after it comes SIGKILL."""
CHAT_SECONDS = 10
PORT = 8081
DOOR_PORT, INNER_PORT = 8090, 8091
SECRET = "known-to-door-and-agent"
DOOR = {"GATEWAY_AGENT": f"http://127.0.0.1:{PORT}", "GATEWAY_SECRET": SECRET}
BEHIND = {
    "AGENT_JWT_ISSUER": ISSUER,
    "AGENT_JWT_AUDIENCE": AUDIENCE,
    "AGENT_JWT_JWKS_URL": f"http://127.0.0.1:{INNER_PORT}/jwks.json",
    "AGENT_DOOR_SECRET": SECRET,
    "AGENT_CALLBACK_URL": f"http://127.0.0.1:{INNER_PORT}",
}
SAID = {
    "store_away": "I cannot look at our shelves",
    "late": "That took me too long",
    "cut": "That is as far as I got",
    "model_away": "I cannot think clearly",
    "failed": "I could not look that up",
}
"""What a customer hears where a turn came to something else than an answer."""
# What a task definition of 1 vCPU says. No restart after an exit that was asked for; on ECS one that comes within the first
# minute of a container is not granted either.
HARDENED = (
    "--restart", "on-failure", "--read-only", "--read-only-tmpfs=false", "--cap-drop", "ALL",
    "--security-opt", "no-new-privileges", "--pids-limit", "200", "--health-interval", "disable",
)  # fmt: skip
SIDECAR_MEMORY = "896m"
AGENT_MEMORY = "512m"
DOOR_MEMORY = "192m"
SIDECAR_HEALTH = ("python", "-m", "server.commands.healthcheck")
AGENT_HEALTH = ("python", "-m", "infra.agent.healthcheck")


@dataclass(frozen=True, slots=True)
class Pod:
    """`pid` is the process that holds the network; `tokens` are those of customers who were here before."""

    engine: Engine
    name: str
    pid: int
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def sidecar(self) -> str:
        return f"{self.name}-sidecar"

    @property
    def agent(self) -> str:
        return f"{self.name}-agent"

    @property
    def door(self) -> str:
        return f"{self.name}-door"

    def chat(self, conversation: str, message: str, user: str = "demo-user-1") -> dict[str, Any]:
        """One turn, through the door: the words, and what they come to. Raises `OSError` or `HTTPException` when no answer
        comes."""
        if (token := self.tokens.get(user)) is None:
            token = self.tokens[user] = json.loads(self.at_the_door("/token", {"user": user})[1])["token"]
        bearer = {"Authorization": f"Bearer {token}", "X-Session-ID": conversation}
        status, told = self.at_the_door("/turns", {"text": message}, bearer)
        assert status == 200, told
        events = [each.partition("\ndata: ") for each in told.split("\n\n") if each.startswith("event: ")]
        assert events[-1][0] == "event: done", told
        words = "".join(json.loads(data)["text"] for kind, _, data in events if kind == "event: words")
        return {"answer": words, "outcome": next((name for name, said in SAID.items() if said in words), "answered")}

    def at_the_door(self, path: str, body: Any, headers: dict[str, str] | None = None) -> tuple[int, str]:
        with closing(ConnectionInto(self.pid, DOOR_PORT, CHAT_SECONDS)) as connection:
            connection.request("POST", path, json.dumps(body), {"Connection": "close", **(headers or {})})
            response = connection.getresponse()
            return response.status, response.read().decode()

    def health(self) -> dict[str, Any]:
        """What the agent says of itself."""
        with closing(ConnectionInto(self.pid, PORT, CHAT_SECONDS)) as connection:
            connection.request("GET", "/healthz")
            return dict(json.loads(connection.getresponse().read()))

    def inside(self, container: str, *command: str) -> str:
        return self.engine.podman("exec", container, *command)

    def state(self, container: str) -> dict[str, Any]:
        return dict(self.engine.inspect(container)["State"])

    def restarts(self, container: str) -> int:
        return int(self.engine.inspect(container)["RestartCount"])

    def kill(self, container: str) -> None:
        """As a crash or the kernel's OOM killer would: nobody asked podman for it."""
        os.kill(int(self.state(container)["Pid"]), signal.SIGKILL)

    def stop(self, container: str) -> int:
        """SIGTERM, and SIGKILL when the time is up; the exit status."""
        self.engine.podman("stop", "--time", str(STOP_SECONDS), container, seconds=STOP_SECONDS + 20)
        return int(self.state(container)["ExitCode"])

    def stop_in_order(self) -> tuple[int, int]:
        """As ECS does where the agent depends on the sidecar: the agent, and when it has ended the sidecar. Their statuses."""
        return self.stop(self.agent), self.stop(self.sidecar)

    def wait(self, what: str, until: Callable[[], bool]) -> None:
        """Raises `EngineError`, with the end of both logs, when it takes longer than three minutes."""
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            with suppress(EngineError, OSError, ValueError):
                if until():
                    return
            time.sleep(POLL_SECONDS)  # podman has no way to be told
        raise EngineError(
            f"not {what} after {READY_SECONDS} s\n{self.engine.log(self.sidecar)}\n{self.engine.log(self.agent)}"
        )

    def healthy(self, container: str, check: tuple[str, ...]) -> bool:
        self.in_span(container, *check)
        return True

    def connected(self) -> bool:
        return bool(self.health()["store"] == "connected")

    def open(self) -> bool:
        """Whether health is told through the door."""
        with closing(ConnectionInto(self.pid, DOOR_PORT, CHAT_SECONDS)) as connection:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200


def _tmp(engine: Engine, image: Image, container: str) -> str:
    """The task's volume at /tmp. On Fargate it belongs to root with mode 0755, unless the image declares the folder as a
    VOLUME: then it begins as the image has it. podman would copy it in any case."""
    declared = json.loads(engine.podman("image", "inspect", "--format", "{{json .Config.Volumes}}", image.tag)) or {}
    if "/tmp" in declared:
        return f"{container}-tmp:/tmp"
    folder = HOME / "volumes" / container
    folder.mkdir(parents=True, exist_ok=True)
    Path(folder).chmod(0o755)
    return f"{folder}:/tmp"


def _run(engine: Engine, pod: str, container: str, image: Image, *words: str) -> None:
    volume = ("--volume", _tmp(engine, image, container))
    engine.podman("run", "--detach", "--pod", pod, "--name", container, *HARDENED, *volume, *words)


@contextmanager
def running(engine: Engine, name: str, *agent_words: str) -> Iterator[Pod]:
    """A pod whose agent has the store. Nothing of it is left afterwards."""
    with suppress(EngineError):
        engine.podman("pod", "rm", "--force", "--time", "0", name)
    engine.podman("pod", "create", "--name", name, "--network", "none", "--share", "net")
    try:
        yield _started(engine, name, agent_words)
    finally:
        engine.podman("pod", "rm", "--force", "--time", "0", name)
        for image in ("sidecar", "agent", "door"):
            with suppress(EngineError):
                engine.podman("volume", "rm", "--force", f"{name}-{image}-tmp")


def _started(engine: Engine, name: str, agent_words: tuple[str, ...]) -> Pod:
    _run(engine, name, f"{name}-sidecar", SIDECAR, "--memory", SIDECAR_MEMORY, SIDECAR.tag)
    infra = engine.podman("pod", "inspect", "--format", "{{.InfraContainerID}}", name)
    pod = Pod(engine, name, int(engine.inspect(infra)["State"]["Pid"]))
    pod.wait("healthy", lambda: pod.healthy(pod.sidecar, SIDECAR_HEALTH))
    entry = ("--entrypoint", json.dumps(["python", "-m", "infra.door"]))
    _run(engine, name, pod.door, SIDECAR, "--memory", DOOR_MEMORY, *stated(DOOR), *entry, SIDECAR.tag)
    told = ("--serve", "--host", "0.0.0.0", *agent_words)
    _run(engine, name, pod.agent, AGENT, "--memory", AGENT_MEMORY, *stated(BEHIND), AGENT.tag, *told)
    pod.wait("healthy", lambda: pod.healthy(pod.agent, AGENT_HEALTH))
    pod.wait("connected", pod.connected)
    pod.wait("open", pod.open)
    return pod


def stated(environment: dict[str, str]) -> list[str]:
    return [word for name, value in environment.items() for word in ("--env", f"{name}={value}")]
