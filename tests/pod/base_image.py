"""The image that both Dockerfiles begin with: from its registry, or made here where no registry can be reached.

What is made here stands in for `python:3.11-slim`: the same Debian (bookworm, minbase) from the machine's own mirror, with the
CPython that runs this. It is no copy: its Python was built by somebody else, and packages differ by some.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.pod.engine import HOME, Engine, EngineError

NAME = "docker.io/library/python:3.11-slim"
PULL_SECONDS = 120
DEBIAN_SECONDS = 300
DEBIAN = "bookworm"
# What CPython's own extensions are linked with, and what the official image has for certificates, time zones and protocols.
PACKAGES = (
    "ca-certificates", "netbase", "tzdata", "libbz2-1.0", "libexpat1", "libffi8", "liblzma5", "libncursesw6", "libreadline8",
    "libsqlite3-0", "libssl3", "libuuid1", "zlib1g",
)  # fmt: skip
LEFT_OUT = ("site-packages/*", "test", "*__pycache__*", "config-3.*", "lib2to3", "idlelib")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
ENVIRONMENT = ("PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8")


def ensure(engine: Engine) -> str:
    """Where the image is from: `here already`, `its registry` or `made here`. Raises `EngineError`."""
    if engine.has("image", "exists", NAME):
        return "here already"
    try:
        engine.podman("pull", "--quiet", NAME, seconds=PULL_SECONDS)
    except EngineError:
        _make(engine)
        return "made here"
    return "its registry"


def _make(engine: Engine) -> None:
    root = HOME / "rootfs"
    shutil.rmtree(root, ignore_errors=True)
    _debian(engine, root)
    _python(engine, root)
    _trust(root)
    _commit(engine, root)
    shutil.rmtree(root)


def _debian(engine: Engine, root: Path) -> None:
    chosen = (
        "--variant=minbase",
        f"--include={','.join(PACKAGES)}",
        "--dpkgopt=force-unsafe-io",
    )  # nothing of it has to last
    engine.run("mmdebstrap", "--mode=root", *chosen, DEBIAN, str(root), seconds=DEBIAN_SECONDS)


def _python(engine: Engine, root: Path) -> None:
    """This machine's CPython, without what it has installed."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if version != "python3.11":
        raise EngineError(f"{NAME} cannot be made of {version}")
    ours, theirs = Path(sys.base_prefix), root / "usr/local"
    shutil.copy2(ours / "bin" / version, theirs / "bin")
    for library in (ours / "lib").glob(f"lib{version}.so*"):
        shutil.copy2(library, theirs / "lib", follow_symlinks=False)
    left_out = [f"--exclude={version}/{each}" for each in LEFT_OUT]
    packed = subprocess.Popen(["tar", "-C", str(ours / "lib"), *left_out, "-cf", "-", version], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-C", str(theirs / "lib"), "-xf", "-"], stdin=packed.stdout, check=True)
    if packed.wait():
        raise EngineError(f"{ours} cannot be packed")
    for name in ("python3", "python"):
        (theirs / "bin" / name).symlink_to(version)
    engine.run("chroot", str(root), "ldconfig")
    engine.run("chroot", str(root), "/usr/local/bin/python3", "-m", "ensurepip", "--default-pip")


def _trust(root: Path) -> None:
    """An install inside reaches what an install outside reaches: whom this machine trusts, the image that is made here does."""
    if CERTIFICATES.is_file():
        shutil.copy(CERTIFICATES, root / "etc/ssl/certs")
    (root / "etc/pip.conf").write_text(f"[global]\ncert = {CERTIFICATES}\n", "utf-8")


def _commit(engine: Engine, root: Path) -> None:
    container = engine.run("buildah", "from", "scratch")
    mounted = engine.run("buildah", "mount", container)
    engine.run("cp", "-a", f"{root}/.", mounted)
    engine.run("buildah", "umount", container)
    stated = [word for each in ENVIRONMENT for word in ("--env", each)]
    engine.run("buildah", "config", *stated, "--cmd", "python3", container)
    engine.run("buildah", "commit", "--quiet", "--rm", container, NAME, seconds=DEBIAN_SECONDS)
