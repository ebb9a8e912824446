"""All dashboard panels, in display order."""

from __future__ import annotations

from infra.dashboards.panel import Panel, Query, Shown

CALLS = "manga_calls_total"
FAILED_CALLS = (
    'filter @message like "manga.calls" | parse @message /"tool":"(?<tool>[^"]+)","outcome":"(?<outcome>[^"]+)"/'
    ' | filter outcome != "ok" | stats count(*) as calls by tool, outcome, bin(5m) as at | sort at desc'
)
"""Log query for failed calls, which are logged unless MANGA_LOG_TOOL_CALLS is off, at most ten alike a minute."""
OF_THE_SERVICE = '{},ClusterName,ServiceName ServiceName="{{service}}"'
BEHIND = "AWS/ApplicationELB,TargetGroup,LoadBalancer"
SEARCHING = 'AWS/AOSS,ClientId,CollectionGroupId,CollectionGroupName CollectionGroupName="{prefix}-search"'
STATES = (("closed", "green"), ("half open", "yellow"), ("open", "red"))


def rate(metric: str, by: str, minutes: int = 1) -> str:
    return f"sum by ({by}) (rate({metric}[{minutes}m]))"


def quantile(share: float, metric: str, by: str = "", minutes: int = 1) -> str:
    return f"histogram_quantile({share}, {rate(f'{metric}_bucket', ', '.join(filter(None, ('le', by))), minutes)})"


def bad(level: str) -> str:
    of = f'manga_service_level_total{{level="{level}"'
    return f'sum(rate({of},verdict="bad"}}[5m])) / sum(rate({of}}}[5m]))'


PANELS = (
    Panel(
        "Answers that come late",
        "The share, of which 0.001 leaves the promise whole.",
        (Query(bad("in_time"), "late"),),
        "percentunit",
        12,
        (Shown("AnswersLate", "Sum", per=("AnswersLate", "AnswersInTime")),),
    ),
    Panel(
        "Answers of no use",
        "Errors and dead ends: the share, of which 0.001 leaves the promise whole.",
        (Query(bad("usable"), "of no use"),),
        "percentunit",
        12,
        (Shown("AnswersUnusable", "Sum", per=("AnswersUnusable", "AnswersUsable")),),
    ),
    Panel(
        "Calls a second",
        "By tool; in CloudWatch answers of all, as they are counted.",
        (Query(rate(CALLS, "tool"), "{{tool}}"),),
        "ops",
        12,
        tuple(Shown(name, "Sum") for name in ("AnswersInTime", "AnswersLate", "AnswersSent", "AnswersInTwoSeconds")),
    ),
    Panel(
        "Outcomes",
        "Everything but success, by tool and outcome.",
        (Query(rate(f'{CALLS}{{outcome!="ok"}}', "tool, outcome"), "{{tool}}: {{outcome}}"),),
        "ops",
        12,
        logged=FAILED_CALLS,
    ),
    Panel(
        "Time a call takes",
        "From arrival to outcome, over all tools.",
        tuple(
            Query(quantile(share, "manga_call_seconds"), name)
            for share, name in ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"))
        ),
        "s",
        12,
    ),
    Panel(
        "95 of 100 calls are quicker than",
        "By tool.",
        (Query(quantile(0.95, "manga_call_seconds", "tool"), "{{tool}}"),),
        "s",
        12,
    ),
    Panel(
        "Where answers come from",
        "live, cache, stale, fallback; none for a failure.",
        (Query(rate(CALLS, "source"), "{{source}}"),),
        "ops",
        12,
    ),
    Panel(
        "What answers had to do without",
        "The words of `degraded`; in CloudWatch how many an answer.",
        (Query(rate("manga_calls_degraded_total", "what"), "{{what}}"),),
        "ops",
        12,
        alarm="MangaDegraded",
    ),
    Panel(
        "Breakers",
        "A backend that is left alone is open.",
        (Query("max by (backend) (manga_breaker_state)", "{{backend}}"),),
        "short",
        8,
        (Shown("BackendLost", "Maximum", dimension="Backend"), Shown("RedisAway", "Maximum")),
        most=2,
        words=STATES,
    ),
    Panel(
        "Calls being answered",
        "More than MANGA_MAX_CONCURRENT_CALLS are refused.",
        (Query("sum(manga_calls_under_way)", "calls"),),
        "short",
        8,
        (Shown("CallsUnderWay", "Average"), Shown("CallsUnderWay", "Maximum")),
    ),
    Panel("Open SSE streams", "Up to MANGA_MAX_SSE_SESSIONS.", (Query("sum(manga_sse_streams)", "streams"),), "short", 8),
    Panel("Ready", "1 while calls are taken.", (Query("manga_ready", "ready"),), "short", 6, (Shown("Ready", "Minimum"),)),
    Panel(
        "Refused before they were calls",
        "By what they were told; in CloudWatch all of them.",
        (Query(rate("manga_refusals_total", "kind"), "{{kind}}"),),
        "reqps",
        6,
        alarm="MangaRefusesMany",
    ),
    Panel(
        "Searches that found nothing",
        "In CloudWatch the share.",
        (Query(rate("manga_empty_searches_total", "tool", 5), "{{tool}}"),),
        "reqps",
        6,
        alarm="MangaSearchesFindNothing",
    ),
    Panel(
        "Last byte of an answer",
        "95 of 100 are with the socket sooner; in CloudWatch the share that takes two seconds.",
        (Query(quantile(0.95, "manga_answer_seconds", "transport"), "{{transport}}"),),
        "s",
        6,
        alarm="MangaSlow",
    ),
    Panel(
        "Answers past their deadline",
        "In CloudWatch the share.",
        (Query(rate("manga_answers_late_total", "tool", 5), "{{tool}}"),),
        "reqps",
        6,
        alarm="MangaAnswersLate",
    ),
    Panel(
        "Lost lines, background tasks that died",
        "All of them should be none.",
        (
            Query("increase(manga_log_lines_dropped_total[5m])", "log"),
            Query("increase(manga_audit_lines_dropped_total[5m])", "audit"),
            Query("sum by (task) (increase(manga_background_deaths_total[5m]))", "{{task}}"),
        ),
        "short",
        6,
        (Shown("LogLinesLost", "Sum"), Shown("AuditLinesLost", "Sum")),
        alarm="MangaBackgroundTaskDies",
    ),
    Panel(
        "How far copies are behind",
        "Since flags and standby catalogue were last as their source is.",
        (Query("max by (replica) (manga_replica_lag_seconds)", "{{replica}}"),),
        "s",
        6,
        (Shown("ReplicaLag", "Maximum", dimension="Replica"),),
    ),
    Panel(
        "Events for profiles",
        "Events for customers' profiles, by result.",
        (Query(rate("manga_profile_events_total", "result"), "{{result}}"),),
        "reqps",
        6,
    ),
    Panel(
        "What runs",
        "",
        (Query("sum by (version, python, sdk) (manga_build_info)", "{{version}} on {{python}}, SDK {{sdk}}"),),
        "short",
        24,
    ),
    Panel(
        "CPU",
        "Of one core; in CloudWatch percent of what the tasks have.",
        (Query("rate(process_cpu_seconds_total[1m])", "CPU"),),
        "percentunit",
        8,
        (Shown("CPUUtilization", "Average", native=OF_THE_SERVICE.format("AWS/ECS")),),
    ),
    Panel(
        "Memory",
        "Resident; in CloudWatch percent of what the tasks have.",
        (Query("process_resident_memory_bytes", "memory"),),
        "bytes",
        8,
        (Shown("MemoryUtilization", "Maximum", native=OF_THE_SERVICE.format("AWS/ECS")),),
    ),
    Panel(
        "Open files",
        "And of them connections that give their place to no other, of so many that there can be.",
        (
            Query("process_open_fds", "open"),
            Query("manga_connections_held", "connections that are held"),
            Query("manga_connections_most", "connections at most"),
        ),
        "short",
        8,
        alarm="MangaOutOfFiles",
    ),
    Panel(
        "Calls by variant",
        "By tool, segment of its flag (or on, off), and outcome.",
        (Query(rate(CALLS, "tool, variant, outcome", 5), "{{tool}} {{variant}}: {{outcome}}"),),
        "ops",
        12,
    ),
    Panel(
        "95 of 100 calls are quicker than, by variant",
        "By tool and variant.",
        (Query(quantile(0.95, "manga_call_seconds", "tool, variant", 5), "{{tool}} {{variant}}"),),
        "s",
        12,
    ),
    Panel(
        "Tasks that run",
        "",
        (),
        "short",
        8,
        (Shown("RunningTaskCount", "Minimum", native=OF_THE_SERVICE.format("ECS/ContainerInsights")),),
    ),
    Panel(
        "Tasks by the balancer",
        "Those that are ready, and those that are not.",
        (),
        "short",
        8,
        tuple(Shown(each, "Maximum", native=BEHIND) for each in ("HealthyHostCount", "UnHealthyHostCount")),
    ),
    Panel(
        "Refused by DynamoDB",
        "By table and index.",
        (),
        "short",
        8,
        tuple(Shown(each, "Sum", tables=True) for each in ("ReadThrottleEvents", "WriteThrottleEvents")),
    ),
    Panel(
        "Cache",
        "Bytes that are kept, and commands that are refused.",
        (),
        "bytes",
        8,
        (
            Shown("BytesUsedForCache", "Maximum", native='AWS/ElastiCache,clusterId "{prefix}-sessions"'),
            Shown("ThrottledCmds", "Sum", native='AWS/ElastiCache,clusterId "{prefix}-sessions"'),
        ),
    ),
    Panel(
        "Search units",
        "OCUs at work.",
        (),
        "short",
        8,
        tuple(Shown(each, "Maximum", native=SEARCHING) for each in ("SearchOCU", "IndexingOCU")),
    ),
)
