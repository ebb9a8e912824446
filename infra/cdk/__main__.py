"""`python -m infra.cdk`: writes the CloudFormation templates of the stages, as `make synth` does."""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from infra.cdk.app import synthesise
from infra.cdk.config import RELEASE
from infra.cdk.rules import ConfigError
from infra.cdk.stages import STAGES

OUT = Path(".cache/cdk")


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m infra.cdk", description="Writes CloudFormation templates.")
    words.add_argument("stages", nargs="*", metavar="STAGE", help=f"{' or '.join(STAGES)} (all of them)")
    words.add_argument("--out", type=Path, default=OUT, help="where to, a folder for each stage (%(default)s)")
    words.add_argument("--release", default=RELEASE, help="tag of the images (%(default)s)")
    asked = words.parse_args()
    if unknown := sorted(set(asked.stages) - set(STAGES)):
        words.error(f"there is no stage {unknown[0]}")
    try:
        stages = [replace(STAGES[name], release=asked.release) for name in asked.stages or STAGES]
    except ConfigError as error:
        print(f"the config cannot be used: {error}", file=sys.stderr)
        return 2
    for stage in stages:
        if stage.told.is_example:
            print(f"WARNING: {stage.name}: told.page or told.ticket is an example: it cannot be deployed", file=sys.stderr)
        if stage.door.is_example:
            print(f"WARNING: {stage.name}: door.issuer is an example: no customer's token opens the door", file=sys.stderr)
        folder = asked.out / stage.name
        shutil.rmtree(folder, ignore_errors=True)
        synthesise(stage, folder)
        print(f"{stage.name}: {folder}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
