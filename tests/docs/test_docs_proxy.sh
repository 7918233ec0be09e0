#!/usr/bin/env bash
# docs/guide/proxy.md: every option that it names is taken, and its program passes, drops and
# logs as the page says.
. "$(dirname "$0")/lib.sh"
page=docs/guide/proxy.md
proxy=${TINKC_BUILD_DIR:-build}/tools/proxy
work=$(mktemp -d)
trap 'kill $server $through 2>/dev/null; rm -rf "$work"' EXIT
server='' through=''
mkfifo "$work/port" "$work/url"
python3 tests/docs/tiny_server.py >"$work/port" 2>/dev/null &
server=$!
read -r port <"$work/port"

# through OPTIONS...: starts the proxy; its URL is in $url, what else it prints in $work/log
start() {
    "$proxy" --to "$port" "$@" >"$work/url" &
    through=$!
    exec 3<"$work/url"
    read -r url <&3
}
end() {
    kill "$through" && wait "$through"
    cat <&3 >"$work/log"
    exec 3<&-
}
ask() { curl -sS --noproxy '*' --max-time 60 "$url$1" 2>/dev/null; }

start --log
expect "a request passes" test "$(ask /x)" = "{}"
end
expect "its line is logged" grep -q '^connection 1 exchange 1: pass .*GET /x HTTP/1.1$' "$work/log"
expect "it is counted" grep -qx 'pass 1' "$work/log"
start --drop 1000 --only optim
expect "other requests pass" test "$(ask /x)" = "{}"
expect "this one does not" test -z "$(ask /optim_step)"
end
for option in $(grep -o '^| `--[a-z-]*' "$page" | tr -d '|` '); do
    value=1
    case $option in --log) value='' ;; --port) value=0 ;; --to) continue ;; esac
    start "$option" $value
    expect "$option is taken" kill -0 "$through"
    end
done
expect "a rate above 1,000 is refused" bash -c '! "$1" --to 1 --drop 1001 2>/dev/null' - "$proxy"
expect "an unknown option is refused" bash -c '! "$1" --to 1 --nonsense 1 2>/dev/null' - "$proxy"
finish
