"""Prints CloudWatch's dashboard, to be put there by hand or by another tool than the CDK.

    python -m infra.dashboards NAMESPACE REGION [SERVICE] > body.json
    aws cloudwatch put-dashboard --dashboard-name manga-tools --dashboard-body file://body.json

Grafana's is in infra/observability/dashboards; `make snapshots` writes it.
"""

from __future__ import annotations

import json
import sys

from infra.dashboards.cloudwatch import body


def main(arguments: list[str]) -> int:
    if len(arguments) not in (2, 3):
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    print(json.dumps(body(*arguments), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
