"""Writes the software bill of materials (CycloneDX) of the shipped packages, and checks their licences.

`python infra/sbom.py PYTHON FILE` writes the packages of requirements.lock as they are installed for PYTHON, and prints each
with its licence. Exits with 1 if a licence is not among `KNOWN`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

LOCK = Path("requirements.lock")
# Licences that are permissive, or weakly reciprocal and of files shipped unchanged (MPL: the certificates of certifi).
KNOWN = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0", "Python-2.0",
    "Zlib", "Apache Software License", "BSD License", "Mozilla Public License 2.0 (MPL 2.0)",
}  # fmt: skip
# Licences of packages whose metadata state none, from the LICENSE files in their wheels.
STATED_ELSEWHERE = {"protobuf": "BSD-3-Clause"}
Json = dict[str, Any]


def shipped() -> set[str]:
    """Returns the package names in the lock, normalised (PEP 503)."""
    return {normal(name) for name in re.findall(r"^([\w.-]+)==", LOCK.read_text("utf-8"), re.MULTILINE)}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def inventory(python: str) -> Json:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "all.json"
        command = [sys.executable, "-m", "cyclonedx_py", "environment", "--of", "JSON", "-o", str(path), python]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        found: Json = json.loads(path.read_text("utf-8"))
        return found


def only(bill: Json, names: set[str]) -> Json:
    kept = [each for each in bill["components"] if normal(each["name"]) in names]
    references = {each["bom-ref"] for each in kept}
    depends = [
        {**each, "dependsOn": [other for other in each.get("dependsOn", ()) if other in references]}
        for each in bill.get("dependencies", ())
        if each["ref"] in references
    ]
    return {**bill, "components": kept, "dependencies": depends}


def licences(component: Json) -> set[str]:
    """Returns a component's licences, split from SPDX expressions and classifiers; {"unknown"} if none is stated
    anywhere."""
    found: set[str] = set()
    for each in component.get("licenses", ()):
        if expression := each.get("expression"):
            found |= {part.strip(" ()") for part in re.split(r" AND | OR ", expression)}
        else:
            found.add((each["license"].get("id") or each["license"].get("name", "")).rpartition(" :: ")[2])
    return found or {STATED_ELSEWHERE.get(normal(component["name"]), "unknown")}


def main() -> int:
    python, target = sys.argv[1], Path(sys.argv[2])
    bill = only(inventory(python), shipped())
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(bill, indent=1, ensure_ascii=False) + "\n", "utf-8")
    unknown = []
    for each in sorted(bill["components"], key=lambda each: normal(each["name"])):
        own = licences(each)
        print(f"{each['name']:32} {each['version']:14} {', '.join(sorted(own))}")
        unknown += [each["name"]] if own - KNOWN else []
    if unknown:
        print(f"licences that nobody has looked at yet: {', '.join(unknown)}", file=sys.stderr)
    return 1 if unknown else 0


if __name__ == "__main__":
    raise SystemExit(main())
