"""What `doctor` says of the packages that bring tools: what they bring, and why one is refused."""

from __future__ import annotations

from server.packages.reload_socket import PackageReport, Report
from session.resilience.diagnosis import OK, Diagnosis, Problem

IMPORT_SECONDS = 2.0
"""Less than a server gives them: others are still to be examined."""
MEND = "mend or remove the package, then `python -m server tools reload`; until then a server keeps the version that it has"


def diagnosed(report: Report) -> Diagnosis:
    if not report.well:
        told = [report.problem] if report.problem else [str(each) for each in report.packages if each.refused]
        return Diagnosis.of(Problem("; ".join(told), MEND))
    return Diagnosis(OK, "; ".join(map(_brought, report.packages)))


def _brought(package: PackageReport) -> str:
    return f"{package.package} {package.version}: {', '.join(package.loaded) or 'no tools'}"
