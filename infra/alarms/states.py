"""Alarms on the state of the service: a process, backend, log or replica is down, loses data, or lags."""

from __future__ import annotations

from infra.alarms.alarm import Alarm, Formula, Part, Watch
from infra.alarms.slos import PAGE, TICKET
from server.backends.guarded_store import POLICIES

NOTICED = ("catalog", "stock", "orders")
"""Backends whose failure customers notice, since results differ. Without the others answers only have less detail."""
OTHERS = tuple(name for name in POLICIES if name not in NOTICED)
MOST_LAG_SECONDS = 600
MOST_FLAGS_LAG_SECONDS = 60

STATES = (
    Alarm(
        "MangaDown",
        PAGE,
        "{{ $labels.instance }} does not answer Prometheus.",
        "See whether the process runs, and the end of its log.",
        'up{job="manga-tools"} == 0',
        1,
        Watch("CallsUnderWay", "SampleCount", 1, 3, 3, below=True, missing="breaching"),
    ),
    Alarm(
        "MangaNotReady",
        PAGE,
        "{{ $labels.instance }} takes no calls: it starts or drains for two minutes.",
        "GET /readyz says which of the two; python -m server doctor says what it waits for.",
        "manga_ready == 0",
        2,
        Watch("Ready", "Maximum", 1, 2, 2, below=True),
    ),
    Alarm(
        "MangaBackendLost",
        PAGE,
        "The {{ $labels.backend }} backend has been left alone for a minute; answers come from the ladder.",
        "The log has the reason in the line that says it is lost; python -m server doctor asks it again.",
        f'manga_breaker_state{{backend=~"{"|".join(NOTICED)}"}} > 0',
        1,
        Watch("BackendLost", "Maximum", 0, 2, 3, dimension="Backend", values=NOTICED),
    ),
    Alarm(
        "MangaBackendImpaired",
        TICKET,
        "The {{ $labels.backend }} backend has been left alone for five minutes; answers are plainer without it.",
        "The log has the reason in the line that says it is lost; python -m server doctor asks it again.",
        f'manga_breaker_state{{backend!~"{"|".join((*NOTICED, "redis"))}"}} > 0',
        5,
        Watch("BackendLost", "Maximum", 0, 5, 6, dimension="Backend", values=OTHERS),
    ),
    Alarm(
        "MangaRedisAway",
        PAGE,
        "Redis has been left alone for a minute; nothing is remembered from call to call.",
        "See whether Redis answers and whether it is full; python -m server doctor asks it.",
        'manga_breaker_state{backend="redis"} > 0',
        1,
        Watch("RedisAway", "Maximum", 0, 2, 3),
    ),
    Alarm(
        "MangaAuditLost",
        PAGE,
        "Lines of the audit were not written.",
        "The log says why: a full disk, a pipe that nobody reads. MANGA_AUDIT=required shows no order without its line.",
        "increase(manga_audit_lines_dropped_total[5m]) > 0",
        0,
        Watch("AuditLinesLost", "Sum", 0, 1, 1),
    ),
    Alarm(
        "MangaLogLost",
        TICKET,
        "Nobody reads stderr as quickly as lines come, so some are missing.",
        "See what reads it: the log driver, or a paused terminal.",
        "increase(manga_log_lines_dropped_total[5m]) > 0",
        0,
        Watch("LogLinesLost", "Sum", 0, 1, 1),
    ),
    Alarm(
        "MangaFlagsLag",
        PAGE,
        "For a minute {{ $labels.instance }} has not had the flags as their source is: nobody can switch a tool off now.",
        "GET /readyz says why at flags: mend the document, or its source.",
        f'manga_replica_lag_seconds{{replica="flags"}} > {MOST_FLAGS_LAG_SECONDS}',
        1,
        Watch("ReplicaLag", "Maximum", MOST_FLAGS_LAG_SECONDS, 2, 3, dimension="Replica", values=("flags",)),
    ),
    Alarm(
        "MangaReplicaLags",
        TICKET,
        "The copy of {{ $labels.replica }} has not been as its source is for ten minutes.",
        "GET /readyz says what is wrong with it; the log has it once.",
        f'manga_replica_lag_seconds{{replica!="flags"}} > {MOST_LAG_SECONDS}',
        1,
        Watch("ReplicaLag", "Maximum", MOST_LAG_SECONDS, 2, 3, dimension="Replica", values=("standby",)),
    ),
    Alarm(
        "MangaBackgroundTaskDies",
        TICKET,
        "The background task {{ $labels.task }} dies again and again.",
        "The log has a traceback at ERROR each time.",
        "increase(manga_background_deaths_total[15m]) > 2",
        0,
        Formula("FILL(deaths, 0)", (Part("deaths", "manga_background_deaths_total"),), 2, 15),
        "Background tasks die again and again.",
    ),
    Alarm(
        "MangaOutOfFiles",
        TICKET,
        "{{ $labels.instance }} can take hardly any more connections.",
        "Raise the limit on open files (ulimit -n), or see who keeps so many streams.",
        "manga_connections_held / manga_connections_most > 0.9",
        5,
        Formula(
            "held / most",
            (
                Part("held", "manga_connections_held", statistic="Maximum"),
                Part("most", "manga_connections_most", statistic="Maximum"),
            ),
            0.9,
            1,
            5,
        ),
        "A task can take hardly any more connections.",
    ),
)
