#!/bin/sh
# Talks to a running server over SSE as a person would, with curl alone: every tool once that is on by itself, and one call that
# is wrong.
#
#   sh infra/smoke.sh [URL]        URL is http://127.0.0.1:8080 unless given
#
# SMOKE_TOKEN is sent as bearer token when it is set. Exit status 0 when everything was answered as expected.

set -u
URL=${1:-http://127.0.0.1:8080}
URL=${URL%/}
SECONDS_IN_ALL=30
USER_ID=demo-user-1
SESSION=smoke-$$
AUTHORIZATION=${SMOKE_TOKEN:+Authorization: Bearer $SMOKE_TOKEN}

failures=0
number=0
reader=
folder=$(mktemp -d) || exit 1

clean_up() {
    [ -z "$reader" ] || kill "$reader" 2>/dev/null
    rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

give_up() {
    printf '\nsmoke: %s\n' "$1" >&2
    exit 1
}

expect() { # expect WHAT-WAS-ANSWERED TEXT-IN-IT...: counts a failure when one of the texts is not there
    expect_in=$1
    shift
    for text in "$@"; do
        case $expect_in in
        *"$text"*) ;;
        *)
            printf '    NOT AS EXPECTED: no %s in %s\n' "$text" "$(printf %s "$expect_in" | cut -c 1-400)"
            failures=$((failures + 1))
            return
            ;;
        esac
    done
}

# The stream: curl writes it into a pipe, which is read line by line; when its time is up the pipe ends and so does the wait.
next_data() { # the next data line of the stream into $data
    while IFS= read -r data <&3; do
        case $data in
        data:*)
            data=${data#data: }
            data=$(printf %s "$data" | tr -d '\r')
            return 0
            ;;
        esac
    done
    return 1
}

send() { # send MESSAGE [HEADER]...: posts it to the session of the stream
    message=$1
    shift
    status=$(
        for header in "Content-Type: application/json" "$AUTHORIZATION" "$@"; do printf '%s\n' "$header"; done |
            curl -sS --max-time 10 -o /dev/null -w '%{http_code}' -H @- --data-binary "$message" "$URL$endpoint"
    )
    case $status in
    202) ;;
    503) give_up "the server takes no more calls at the moment (503): it is starting, stopping or full; try again" ;;
    401 | 403) give_up "the server does not believe this caller ($status); set SMOKE_TOKEN to one of its tokens" ;;
    *) give_up "POST $endpoint was answered ${status:-nothing} instead of 202" ;;
    esac
}

ask() { # ask METHOD PARAMS [HEADER]...: the answer into $data
    number=$((number + 1))
    method=$1
    params=$2
    shift 2
    send "{\"jsonrpc\":\"2.0\",\"id\":$number,\"method\":\"$method\",\"params\":$params}" "$@"
    while next_data; do
        case $data in *"\"id\":$number,"*) return ;; esac
    done
    give_up "no answer to $method within $SECONDS_IN_ALL s"
}

call() { # call TOOL ARGUMENTS TURN: the answer into $data
    printf '\n%s %s\n' "$1" "$2"
    ask tools/call "{\"name\":\"$1\",\"arguments\":$2}" "X-User-ID: $USER_ID" "X-Session-ID: $SESSION" "X-Turn-ID: $SESSION.$3"
    answer=${data##*\"structuredContent\":}
}

# The fields that tell something. `values KEY` prints every value of a key, `value KEY` the first.
values() {
    printf '%s\n' "$answer" | awk -F "\"$1\":" '{ for (i = 2; i <= NF; i++) {
        v = $i
        if (substr(v, 1, 1) == "\"") { v = substr(v, 2); sub(/".*/, "", v) } else sub(/[],}].*/, "", v)
        print v
    } }'
}
value() { values "$1" | grep -vx null | head -n 1; }
listed() { values "$1" | grep -vx null | awk 'NR > 1 { printf ", " } { printf "%s", $0 }'; }
join() { # join SEPARATOR PART...: the parts that tell something
    separator=$1 joined=
    shift
    for part; do [ -z "$part" ] || joined=$joined${joined:+$separator}$part; done
    printf %s "${joined:-nothing}"
}
price() { printf '%s\n' "$answer" | sed -n 's/.*"price_\([a-z]*\)":\([0-9.]*\).*/\2 \1/p' | head -n 1 | tr '[:lower:]' '[:upper:]'; }
show() { printf '    %s\n' "$1"; }

show_quality() { # where the answer is from, how long it took, and what the turn has left
    whole=$answer
    answer=$data
    without=${data#*\"degraded\":[}
    without=$(printf %s "${without%%]*}" | tr -d '"')
    case $without in *vector*) without="$without (search by meaning is loaded after the start)" ;; esac
    show "$(value source), $(value latencyMs) ms, $(value remainingMs) ms of the turn left${without:+, without $without}"
    answer=$whole
}

mkfifo "$folder/stream" || exit 1
printf '%s\n' "Accept: text/event-stream" "$AUTHORIZATION" >"$folder/headers"
curl -sS -N --fail --max-time "$SECONDS_IN_ALL" -H "@$folder/headers" "$URL/sse" >"$folder/stream" &
reader=$!
exec 3<"$folder/stream"

next_data || give_up "no event stream at $URL/sse; start a server with: make run"
endpoint=$data
case $endpoint in
/messages/*) printf 'stream   %s\n' "$URL$endpoint" ;;
*) give_up "the first event is no endpoint: $endpoint" ;;
esac

ask initialize '{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"smoke","version":"1"}}'
expect "$data" '"protocolVersion":"2025-11-25"' '"name":"manga-tools"'
answer=${data##*\"serverInfo\":}
printf 'server   %s %s\n' "$(value name)" "$(value version)"
send '{"jsonrpc":"2.0","method":"notifications/initialized"}'

ask tools/list '{}'
for tool in search_manga_catalog get_manga_details check_inventory find_volumes get_recommendations \
    classify_genre lookup_order remember_preference forget_preference; do
    expect "$data" "\"name\":\"$tool\""
done
answer=$data
printf 'tools    %s\n' "$(values name | grep -v '{' | tr '\n' ' ')"

# What is asked about is what the server itself names, so that any shop's catalogue will do.
call search_manga_catalog '{"query":"most popular","max_results":3}' 1
expect "$data" '"isError":false' '"title_id":"' '"remainingMs":'
show "$(listed title)"
show_quality
title=$(value title_id)

call check_inventory '{}' 1 # without ids: those of the search
expect "$data" '"isError":false' '"checked":"last_search"' "\"title_id\":\"$title\""
show "$(join ': ' "$(listed title_id)" "$(listed availability)")"
show_quality

call get_manga_details "{\"title_id\":\"$title\"}" 2
expect "$data" '"isError":false' "\"title_id\":\"$title\""
volumes=$(value volumes) price=$(price)
show "$(join ', ' "$(value title)" "$(value ja)" "$(value author)" "${volumes:+$volumes volumes}" "${price:+$price each}")"
show_quality

call find_volumes "{\"title_id\":\"$title\",\"volume\":1}" 3
expect "$data" '"isError":false'
show "$(join ': ' "volume $(value volume)" "$(listed format)")"
show_quality

call get_recommendations '{"criteria":"surprise me","count":2}' 5
expect "$data" '"isError":false' '"reason":"'
show "$(listed title)"
show "$(value reason)"
show_quality

call classify_genre '{"text":"A shy girl and the boy next door fall in love at school."}' 6
expect "$data" '"isError":false' '"tags":['
show "$(join ': ' "$(value readership)" "$(listed tag)")"
show_quality

call lookup_order '{}' 7 # the customer's latest, which may be none
expect "$data" '"isError":false' '"orders":['
show "$(join ': ' "$(listed order_id)" "$(listed status)")"
show_quality

call remember_preference '{"preference":"nothing with vampires"}' 8
expect "$data" '"isError":false' '"preferences":["nothing with vampires"]'
show "kept: nothing with vampires"
show_quality

call forget_preference '{"preference":"nothing with vampires"}' 9 # so that nothing is left behind
expect "$data" '"isError":false' '"removed":["nothing with vampires"]'
show "removed: nothing with vampires"
show_quality

call search_manga_catalog '{"query":"","max_results":100}' 10 # wrong on purpose
expect "$data" '"isError":true' '"name":"VALIDATION_ERROR"' '"code":-32602' '$.query' '$.max_results'
show "refused, as it should be: $(value name) $(value code)"
show "$(value message)"

printf '\nDELETE /sessions/%s\n' "$SESSION"
status=$(
    printf '%s\n' "X-User-ID: $USER_ID" "$AUTHORIZATION" |
        curl -sS --max-time 10 -o /dev/null -w '%{http_code}' -X DELETE -H @- "$URL/sessions/$SESSION"
)
case $status in
204) show "$status, the session is forgotten" ;;
*)
    printf '    NOT AS EXPECTED: the session was to be forgotten (204), and the server answered %s\n' "${status:-nothing}"
    failures=$((failures + 1))
    ;;
esac

if [ "$failures" -gt 0 ]; then
    printf '\nsmoke: %s answers were not as expected\n' "$failures" >&2
    exit 1
fi
printf '\nall well\n'
