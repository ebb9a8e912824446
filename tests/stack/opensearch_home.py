"""OpenSearch as it is installed here: unpacked from Maven Central, with the plugins that the catalogue needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tests.stack import artefacts
from tests.stack.artefacts import Artefact, StackError
from tests.stack.children import temporary
from tests.stack.java import java_home

VERSION = "3.6.0"
SET = f"opensearch-{VERSION}"
JAVA = 21
COMPILE_SECONDS = 60
SOURCE = Path(__file__).parent / "kuromoji" / "Kuromoji.java"
NOT_NEEDED = ("modules/ingest-geoip/", "lib/tools/fips-demo-installer-cli/")
DESCRIPTOR = f"""\
name=analysis-kuromoji
description=Lucene's Japanese analysis, for tests
version={VERSION}
opensearch.version={VERSION}
java.version={JAVA}
classname=manga.stack.Kuromoji
"""


def ensure() -> Path:
    """Fetches, unpacks and compiles what is not here yet. Raises `StackError`."""
    fetched = artefacts.fetch(SET)
    with artefacts.only_one("opensearch"):
        if not installed().exists():
            unfinished = installed().with_suffix(".part")
            shutil.rmtree(unfinished, ignore_errors=True)
            _unpack({each.name: each for each in fetched}, unfinished)
            unfinished.rename(installed())
    return installed()


def installed() -> Path:
    """Unpacked where nobody can read it too: a cache below a private folder is no place for it."""
    recipe = f"{SET}-{artefacts.digest(SET, SOURCE)}"
    place = artefacts.cache()
    private = any(not parent.stat().st_mode & 0o001 for parent in place.parents if parent.exists())
    return (Path("/var/tmp/manga-stack") if private and os.geteuid() == 0 else place) / recipe


def _unpack(parts: Mapping[str, Artefact], home: Path) -> None:
    with zipfile.ZipFile(parts["opensearch"].path) as archive:
        top = f"opensearch-{VERSION}/"
        for info in archive.infolist():
            name = info.filename.removeprefix(top)
            if name and not name.startswith(NOT_NEEDED):
                archive.extract(_renamed(info, name), home)
    for plugin in ("opensearch-knn", "neural-search"):
        with zipfile.ZipFile(parts[plugin].path) as archive:
            archive.extractall(home / "plugins" / plugin)
    _build_kuromoji(home, parts["lucene-analysis-kuromoji"].path)


def _renamed(info: zipfile.ZipInfo, name: str) -> zipfile.ZipInfo:
    info.filename = name
    return info


def _build_kuromoji(home: Path, lucene: Path) -> None:
    """OpenSearch's own Japanese plugin is in no Maven repository; Lucene's analysis, which it wraps, is."""
    plugin = made_folder(home / "plugins" / "analysis-kuromoji")
    shutil.copy(lucene, plugin)
    (plugin / "plugin-descriptor.properties").write_text(DESCRIPTOR, encoding="utf-8")
    with temporary("kuromoji") as classes:
        compiler = java_home(JAVA, compiler=True) / "bin" / "javac"
        path = f"{home / 'lib'}/*:{lucene}"
        command = [compiler, "-proc:none", "-nowarn", "--release", str(JAVA), "-cp", path, "-d", classes, SOURCE]
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS, check=False)
        if done.returncode:
            raise StackError(f"the Japanese plugin did not compile:\n{done.stdout}{done.stderr}")
        with zipfile.ZipFile(plugin / "kuromoji.jar", "w") as jar:
            for each in sorted(classes.rglob("*.class")):
                jar.write(each, each.relative_to(classes))


def made_folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path
