"""Builds both images from the Dockerfiles as they are: `python -m tests.pod.images` prints how long it took and how large they are."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from tests.pod import base_image
from tests.pod.engine import Engine

ROOT = Path(__file__).resolve().parents[2]
BUILD_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Image:
    """`dockerfile` is built in the project's folder, as Compose does."""

    tag: str
    dockerfile: str

    def build(self, engine: Engine) -> None:
        """Layers that are there already are taken again. Raises `EngineError`."""
        ignored = ROOT / f"{self.dockerfile}.dockerignore"
        stated = ["--ignorefile", str(ignored)] if ignored.is_file() else []
        named = ["--file", str(ROOT / self.dockerfile), "--tag", self.tag]
        # In the format of Docker, the only one with a HEALTHCHECK; over the machine's network, which pip needs.
        how = ["--quiet", "--format", "docker", "--pull-never", "--layers", "--network", "host"]
        engine.run("buildah", "bud", *how, *stated, *named, str(ROOT), seconds=BUILD_SECONDS)

    def megabytes(self, engine: Engine) -> int:
        return round(int(engine.podman("image", "inspect", "--format", "{{.Size}}", self.tag)) / 1e6)


SIDECAR = Image("localhost/manga-tools:pod", "Dockerfile")
AGENT = Image("localhost/manga-tools-agent:pod", "infra/agent/Dockerfile")


def build_both(engine: Engine) -> list[str]:
    """What was done, a line each."""
    began = time.monotonic()
    said = [f"{base_image.NAME}: {base_image.ensure(engine)}, {time.monotonic() - began:.0f} s"]
    for image in (SIDECAR, AGENT):
        began = time.monotonic()
        image.build(engine)
        said.append(f"{image.tag}: {image.megabytes(engine)} MB, {time.monotonic() - began:.0f} s")
    return said


if __name__ == "__main__":
    for line in build_both(Engine.opened()):
        print(line)
