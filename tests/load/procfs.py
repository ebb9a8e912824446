"""What Linux knows of a process: CPU used, memory, children."""

from __future__ import annotations

import os
from pathlib import Path

TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


def cpu_ms(pid: int) -> float:
    """User and system time of all threads so far, without children (proc(5), `stat` fields 14 and 15)."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) * TICK_MS


def rss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    kilobytes = next(line.split()[1] for line in lines if line.startswith("VmRSS"))
    return int(kilobytes) / 1024


def valkey_of(pid: int) -> int | None:
    """The Valkey that a process runs as its child; None when it has none."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _is_valkey_child(int(entry.name), pid):
            return int(entry.name)
    return None


def unix_socket_of(valkey: int) -> str:
    """Where a Valkey listens, by its command line. It rewrites its title to that: `valkey-server unixsocket:/path`."""
    words = Path(f"/proc/{valkey}/cmdline").read_text("utf-8").replace("\0", " ").split()
    return next(word.removeprefix("unixsocket:") for word in words if word.endswith(".sock"))


def _is_valkey_child(pid: int, parent: int) -> bool:
    try:
        return int(_stat(pid)[1]) == parent and "valkey" in Path(f"/proc/{pid}/comm").read_text("utf-8")
    except OSError:  # it ended while we looked
        return False


def _stat(pid: int) -> list[str]:
    """Fields from the third on: the second is the name in brackets, which may hold anything."""
    return Path(f"/proc/{pid}/stat").read_text("utf-8").rsplit(")", 1)[1].split()


def memory_mb(pid: int) -> tuple[float, float]:
    """USS and PSS: what it has alone, and that with its share of what several have (proc(5), `smaps_rollup`)."""
    rows = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()[1:])
    kilobytes = {row[0].rstrip(":"): int(row[1]) for row in rows}
    return (kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]) / 1024, kilobytes["Pss"] / 1024


def is_worker_or_server(pid: int) -> bool:
    """Whether it is a process of `python -m server`, and not one that such a one has started."""
    return "-m\0server" in Path(f"/proc/{pid}/cmdline").read_text("utf-8")
