#!/usr/bin/env bash
# The file system of the data directory becomes read-only under a running server, as ext4
# does after an error of the disk (errors=remount-ro). Needs root, a loop device and ext4's
# trigger_fs_error; not part of `make soak`. Everything is mounted in a namespace of its own.
# Usage: tests/soak/soak_readonly.sh [path of the program tinkc]
set -eu
program=$(realpath "${1:-build/tinkc}")
if [ "${SOAK_READONLY_INSIDE:-}" = "" ]; then
    [ "$(id -u)" = 0 ] || { echo "soak_readonly: needs root"; exit 2; }
    SOAK_READONLY_INSIDE=1 exec unshare -m "$0" "$program"
fi
work=$(mktemp -d)
data=$work/disk
mkdir "$data"
truncate -s 128M "$work/image"
mkfs.ext4 -q -F "$work/image"
mount -o loop,errors=remount-ro "$work/image" "$data"
device=$(findmnt -no SOURCE "$data")
"$program" serve --port 0 --data "$data/tinkc" >"$work/out" 2>"$work/log" &
server=$!
trap 'kill -9 $server 2>/dev/null || true; wait; umount "$data" || true; rm -rf "$work"' EXIT
for _ in $(seq 600); do
    url=$(sed -n 's/^.*listening on //p' "$work/out")
    [ -n "$url" ] && break
    sleep 0.1
done
[ -n "$url" ] || { echo "soak_readonly: the server does not start"; cat "$work/log"; exit 1; }
failed=0

# ask METHOD PATH [BODY]: the answer is in $body, its status in $status.
ask() {
    body=$(curl -sS -m 60 -w '\n%{http_code}' -X "$1" -H 'Content-Type: application/json' \
        ${3:+-d "$3"} "$url$2")
    status=${body##*$'\n'}
    body=${body%$'\n'*}
}

field() { printf '%s' "$body" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }

# work PATH BODY: submits and polls until there is a result.
work() {
    ask POST "/api/v1/$1" "$2"
    local id
    id=$(field request_id)
    [ -n "$id" ] || return 0
    for _ in $(seq 600); do
        ask POST /api/v1/retrieve_future "{\"request_id\":\"$id\"}"
        [ "$status" = 408 ] || break
    done
}

# expect NAME STATUS TEXT: of the last answer.
expect() {
    local verdict=ok
    if [ "$status" != "$2" ] || ! grep -q -- "$3" <<<"$body"; then
        verdict="WRONG, expected $2 $3"
        failed=1
    fi
    printf '%-44s %s %-70.70s %s\n' "$1" "$status" "$body" "$verdict"
}

ask POST /api/v1/create_session '{"tags":[],"sdk_version":"0.25.0","type":"create_session"}'
session=$(field session_id)
work create_model "{\"session_id\":\"$session\",\"model_seq_id\":0,\"lora_config\":{\"rank\":4},\"base_model\":\"tinkc/pebble-llama-2m\",\"type\":\"create_model\"}"
model="$session:train:0"
list="/api/v1/training_runs/$model/checkpoints"
work save_weights "{\"model_id\":\"$model\",\"seq_id\":1,\"path\":\"one\"}"
expect "a save before" 200 "weights/one"

if mount -o remount,ro "$data" 2>/dev/null; then
    echo "remounted by hand"
else
    echo "mount -o remount,ro is refused while the server runs: it has files open for writing"
fi
echo "soak_readonly" >"/sys/fs/ext4/${device#/dev/}/trigger_fs_error"
touch "$data/x" 2>/dev/null && { echo "soak_readonly: still writable"; exit 1; }

work save_weights "{\"model_id\":\"$model\",\"seq_id\":2,\"path\":\"two\"}"
expect "a save" 200 "Read-only file system"
ask DELETE "$list/weights/one"
expect "a deletion" 500 "detail"
ask POST "$list/weights/one/publish"
expect "publish" 500 "detail"
ask POST /api/v1/create_session '{"tags":[],"sdk_version":"0.25.0","type":"create_session"}'
expect "a new session" 500 "detail"
ask GET "$list"
expect "the list" 200 "weights/one"
ask GET /api/v1/healthz
expect "health" 200 "ok"
ask POST /api/v1/session_heartbeat "{\"session_id\":\"$session\"}"
expect "a heartbeat" 200 ""
work load_weights "{\"model_id\":\"$model\",\"seq_id\":3,\"optimizer\":true,\"path\":\"tinker://$model/weights/one\"}"
expect "a load" 200 "weights/one"
work optim_step "{\"adam_params\":{\"learning_rate\":0.1},\"model_id\":\"$model\",\"seq_id\":4,\"type\":\"optim_step\"}"
expect "a step" 200 "metrics"

kill -TERM $server
wait $server && echo "SIGTERM: stopped" || { echo "SIGTERM: exit $?"; failed=1; }
umount "$data"
e2fsck -fy "$work/image" >/dev/null 2>&1 || true
mount -o loop,errors=remount-ro "$work/image" "$data"
"$program" serve --port 0 --data "$data/tinkc" >"$work/out" 2>>"$work/log" &
server=$!
for _ in $(seq 600); do
    url=$(sed -n 's/^.*listening on //p' "$work/out")
    [ -n "$url" ] && break
    sleep 0.1
done
ask GET "$list"
expect "the list after repair and restart" 200 "weights/one"
grep -q "weights/two" <<<"$body" && { echo "the failed save is there"; failed=1; }
ask DELETE "$list/weights/one"
expect "the deletion now" 204 ""
kill -TERM $server
wait $server || failed=1
[ $failed = 0 ] && echo "soak_readonly: ok" || { echo "soak_readonly: FAILED"; cat "$work/log"; exit 1; }
