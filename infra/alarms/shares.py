"""Alarms on shares of calls: failures, slow, late or degraded answers, empty searches, refusals. All have the severity
"ticket"; if customers suffer, the burn-rate alarm of a service level pages."""

from __future__ import annotations

from infra.alarms.alarm import Alarm, Formula, Part, Share
from infra.alarms.slos import TICKET

FAILED = "INTERNAL_ERROR|DEPENDENCY_FAILURE|TIMEOUT|CIRCUIT_OPEN|BUDGET_EXHAUSTED|SERVER_BUSY"

SHARES = (
    Alarm(
        "MangaCallsFail",
        TICKET,
        "More than 5 % of the calls of {{ $labels.tool }} fail through no fault of their callers.",
        "The Outcomes panel says how; calls that failed are in the log, by call id.",
        f'sum by (tool) (rate(manga_calls_total{{outcome=~"{FAILED}"}}[5m]))'
        " / sum by (tool) (rate(manga_calls_total[5m])) > 0.05",
        5,
        # Over all tools, and counting unusable answers too: CloudWatch gets no tool names.
        Share("AnswersUnusable", "AnswersUsable", 0.05, 5),
    ),
    Alarm(
        "MangaInternalErrors",
        TICKET,
        "{{ $labels.tool }} met something that nobody foresaw.",
        "The log has a traceback under the call's id.",
        'sum by (tool) (increase(manga_calls_total{outcome="INTERNAL_ERROR"}[10m])) > 0',
        0,
        Formula("FILL(errors, 0)", (Part("errors", "manga_calls_total", ("outcome", "INTERNAL_ERROR")),), 0, 10),
        "A tool met something that nobody foresaw.",
    ),
    Alarm(
        "MangaSlow",
        TICKET,
        "One answer in a hundred takes more than two of a turn's three seconds.",
        "Compare the tools, then the backends' breakers and the process's CPU.",
        "histogram_quantile(0.99, sum by (le) (rate(manga_answer_seconds_bucket[5m]))) > 2",
        5,
        # The p99 is above two seconds if more than one answer in a hundred takes longer.
        Formula(
            "1 - quick / sent", (Part("quick", "AnswersInTwoSeconds", None), Part("sent", "AnswersSent", None)), 0.01, 5, 2
        ),
    ),
    Alarm(
        "MangaAnswersLate",
        TICKET,
        "More than 1 % of the answers of {{ $labels.tool }} leave after their deadline.",
        "The process is short of CPU, or something blocks its event loop.",
        "sum by (tool) (rate(manga_answers_late_total[5m])) / sum by (tool) (rate(manga_calls_total[5m])) > 0.01",
        5,
        Share("AnswersLate", "AnswersInTime", 0.01, 5),
    ),
    Alarm(
        "MangaDegraded",
        TICKET,
        "A fifth of the answers has had to do without {{ $labels.what }} for a quarter of an hour.",
        "GET /readyz names the dependency that is not well.",
        "sum by (what) (rate(manga_calls_degraded_total[15m]))"
        " / ignoring (what) group_left sum(rate(manga_calls_total[15m])) > 0.2",
        15,
        Formula(
            "FILL(degraded, 0) / (timely + late)",
            (
                Part("degraded", "manga_calls_degraded_total"),
                Part("timely", "AnswersInTime", None),
                Part("late", "AnswersLate", None),
            ),
            0.2,
            15,
            2,
        ),
        "A fifth of the answers has had to do without something for a quarter of an hour.",
    ),
    Alarm(
        "MangaSearchesFindNothing",
        TICKET,
        "Half of the searches find nothing.",
        "An index that is empty or half filled looks like this: python -m server doctor counts its titles.",
        "sum(rate(manga_empty_searches_total[30m]))"
        ' / sum(rate(manga_calls_total{tool="search_manga_catalog",outcome="ok"}[30m])) > 0.5',
        30,
        Formula(
            "FILL(empty, 0) / searches",
            (Part("empty", "manga_empty_searches_total"), Part("searches", "manga_calls_total", ("outcome", "ok"))),
            0.5,
            30,
            2,
        ),
    ),
    Alarm(
        "MangaRefusesMany",
        TICKET,
        "More than ten requests a second are answered {{ $labels.kind }}.",
        "401: a token was rotated. 403, 421: a Host or Origin is missing in MANGA_ALLOWED_HOSTS. 503: there is no room.",
        "sum by (kind) (rate(manga_refusals_total[5m])) > 10",
        5,
        Formula("FILL(refused, 0) / 300", (Part("refused", "manga_refusals_total"),), 10, 5, 2),
        "More than ten requests a second are refused.",
    ),
)
