# Shared by the tests of the three lines with which `make demo` ends. `demo_run BUILD` runs the
# demo, shortened, into $work/demo.out; `demo_serve` starts the server by the first line, on a free
# port; `demo_line PATTERN` prints the line that begins so, for that port.
work=$(mktemp -d "${TMPDIR:-/tmp}/tinkc-demo.XXXXXX")
server=
demo_end() {
    [ -z "$server" ] || kill "$server"
    rm -rf "$work"
}
trap demo_end EXIT
unset TINKER_API_KEY TINKER_BASE_URL TINKER_TAGS TINKER_PROJECT_ID TINKER_CREDENTIAL_CMD
export XDG_DATA_HOME=$work/share XDG_CACHE_HOME=$work/cache NO_PROXY=127.0.0.1
url=http://127.0.0.1:8000

demo_run() {
    scripts/demo.sh "$1" 8 >"$work/demo.out" 2>&1 || { cat "$work/demo.out"; return 1; }
    tail -n 3 "$work/demo.out" >"$work/lines"
}
demo_line() {
    grep "^$1" "$work/lines" | sed "s|http://127.0.0.1:8000|$url|g"
}
demo_serve() {
    local line
    line=$(demo_line '[^ ]*tinkc serve$') || { echo "no line starts a server"; return 1; }
    : >"$work/served"
    bash -c "exec $line --port 0" >"$work/served" 2>"$work/log" &
    server=$!
    until url=$(sed -n 's/^listening on //p' "$work/served") && [ -n "$url" ]; do
        kill -0 "$server" 2>/dev/null || { cat "$work/log"; server=; return 1; }
        sleep 0.05
    done
}
