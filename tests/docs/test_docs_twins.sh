#!/usr/bin/env bash
# A-031: every operation of the public headers has a form that returns a future and a blocking
# twin called ..._wait; what blocks without one is listed in <tinkc/future.h>, and every other
# function that takes a handle of a service, model, sampler, stream or iterator is local. A-036: results of chunks are combined in one place, which every kind of
# batch uses.
. "$(dirname "$0")/lib.sh"
headers=$(cat include/tinkc/*.h | tr '\n' ' ')
futures=$(grep -o 'tinkc_future \* *tinkc_[a-z0-9_]*(' <<<"$headers" | grep -o 'tinkc_[a-z0-9_]*(' |
    tr -d '(' | grep -v '^tinkc_future_' | sort -u)
twins=$(grep -o 'tinkc_code *tinkc_[a-z0-9_]*_wait(' <<<"$headers" | grep -o 'tinkc_[a-z0-9_]*_wait' |
    grep -v '^tinkc_future_' | sed 's/_wait$//' | sort -u)
expect "there are operations" test "$(wc -l <<<"$futures")" -gt 15
expect "each has its twin, each twin its operation" diff <(echo "$futures") <(echo "$twins")

# Functions that take a handle and neither return a future nor end in _wait.
plain=$(python3 - <<'EOF'
import glob, re
for path in sorted(glob.glob("include/tinkc/*.h")):
    text = re.sub(r"/\*.*?\*/", " ", open(path).read(), flags=re.S)
    for returned, name, rest in re.findall(r"TINKC_API\s([^;(]*?)\b(tinkc_\w+)\s*\(([^;]*);", text):
        takes = re.search(r"\btinkc_(service|training|sampling|pager|stream|raw_stream) \*", rest)
        if takes and "tinkc_future" not in returned and not name.endswith("_wait"):
            print(name)
EOF
)
# What they do is in this process: they make, read, change or close handles, or hand over bytes.
local="tinkc_(service|training|sampling)_with_context tinkc_sampling_with_retry tinkc_service_add_hook
    tinkc_service_set_(budget|finish) tinkc_service_read_ledger tinkc_(meter|trace)_attach
    tinkc_raw_stream_(head|close) tinkc_pager_(runs|checkpoints|sessions|close|total)
    tinkc_(service|training|sampling|stream)_close tinkc_(sampling|service)_session_id
    tinkc_sampling_export
    tinkc_service_(open|fd|deadline_ms|process|waits|on_queue_state)
    tinkc_future_(take|await)_(sampling|training) tinkc_stream_open
    tinkc_telemetry_(event|error|exception|count) tinkc_training_model_id"
blocking=$(sed -n '/^ \* These functions block/,/^ \*$/p' include/tinkc/future.h |
    grep -o 'tinkc_[a-z0-9_*]*' | sed 's/\*/[a-z_]*/')
expect "there are plain functions" test "$(wc -l <<<"$plain")" -gt 40
expect "each is local, or listed as blocking" bash -c '
    left=$(grep -vxE "$(tr -s " \n" "|" <<<"$2 $3")" <<<"$1"); [ -z "$left" ] || { echo "$left"; false; }
    ' - "$plain" "$local" "$blocking"
expect "nothing is listed in vain" bash -c '
    for pattern in $2 $3; do
        grep -qxE "$pattern" <<<"$1" || { echo "there is no $pattern"; exit 1; }
    done' - "$plain" "$local" "$blocking"
expect "nothing is both" bash -c '
    ! grep -xE "$(tr -s " \n" "|" <<<"$2")" <<<"$1" | grep -xE "$(tr -s " \n" "|" <<<"$3")"
    ' - "$plain" "$local" "$blocking"

expect "one definition of the combiner" test \
    "$(grep -rlE --include='*.c' '^tinkc_code tk_metrics_combine\(' src | wc -l)" -eq 1
expect "one place in the client that combines" test \
    "$(grep -rl --include='*.c' 'tk_metrics_combine(' src/client | wc -l)" -eq 1
finish
