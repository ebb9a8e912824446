"""buildah and podman with settings and storage of their own: no engine, no systemd, and nothing of the machine's own containers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOME = Path("/var/tmp/manga-pod")
"""Outside of the project: several copies of it share the layers. Short, because podman's sockets are below it."""
PROGRAMS = ("buildah", "podman", "runc", "mmdebstrap")
PACKAGES = ("buildah", "podman", "runc", "uidmap", "catatonit", "mmdebstrap")
COMMAND_SECONDS = 60

CONTAINERS = """\
[containers]
default_ulimits = ["nofile=8192:8192", "nproc=8192:8192"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
STORAGE = """\
[storage]
driver = "{driver}"
runroot = "{home}/run"
graphroot = "{home}/{driver}"
"""


class EngineError(Exception):
    """A command that failed, with the end of what it said."""


def problem() -> str | None:
    """Why no container can run here, and what to do; None when one can."""
    if os.geteuid():
        return "containers with limits and a network of their own need root"
    absent = [each for each in PROGRAMS if shutil.which(each) is None]
    return f"{', '.join(absent)} not installed; on Debian: python3 -m tests.pod.ensure" if absent else None


@dataclass(frozen=True, slots=True)
class Engine:
    """Commands of podman and buildah under one set of settings."""

    environment: Mapping[str, str]

    @classmethod
    def opened(cls, home: Path = HOME) -> Engine:
        """Writes the settings. Raises `EngineError` where not even plain directories can hold layers."""
        home.mkdir(parents=True, exist_ok=True)
        (home / "containers.conf").write_text(CONTAINERS, "utf-8")
        problems = []
        for driver in ("overlay", "vfs"):  # the second where the machine's own root is an overlay already
            storage = home / f"{driver}.conf"
            storage.write_text(STORAGE.format(home=home, driver=driver), "utf-8")
            own = {"CONTAINERS_CONF": str(home / "containers.conf"), "CONTAINERS_STORAGE_CONF": str(storage)}
            engine = cls({**os.environ, **own, "BUILDAH_ISOLATION": "oci"})
            try:
                engine.run("podman", "info", "--format", "{{.Store.GraphDriverName}}")
            except EngineError as error:
                problems.append(str(error))
            else:
                return engine
        raise EngineError("; ".join(problems))

    def run(self, *command: str, seconds: float = COMMAND_SECONDS) -> str:
        """What it prints. Raises `EngineError`."""
        environment = dict(self.environment)
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            raise EngineError(f"{' '.join(command[:3])} took longer than {seconds:.0f} s") from None
        if done.returncode:
            raise EngineError(f"{' '.join(command[:3])} ended with {done.returncode}: {done.stderr[-1500:]}")
        return done.stdout.strip()

    def podman(self, *words: str, seconds: float = COMMAND_SECONDS) -> str:
        return self.run("podman", *words, seconds=seconds)

    def log(self, container: str) -> str:
        """The end of what it said."""
        command = ("podman", "logs", "--tail", "10", container)
        done = subprocess.run(command, env=dict(self.environment), capture_output=True, text=True, timeout=60, check=False)
        return done.stdout + done.stderr

    def inspect(self, container: str) -> dict[str, Any]:
        """A container as podman describes it."""
        return dict(json.loads(self.podman("inspect", "--type", "container", container))[0])

    def has(self, *words: str) -> bool:
        """Whether `podman … exists` says so."""
        try:
            self.podman(*words)
        except EngineError:
            return False
        return True
