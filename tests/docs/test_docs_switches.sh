#!/usr/bin/env bash
# A-135, M-170: heavy parts are switches. Every combination configures and holds the parts that are on and
# no others; the gate `switches`, which builds them all, builds each one and fails when one fails.
. "$(dirname "$0")/lib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

configure() { # text server cli
    cmake -G Ninja -S . -B "$work/$1-$2-$3" -DTINKC_TESTS=OFF -DTINKC_TEXT="$1" \
        -DTINKC_SERVER="$2" -DTINKC_CLI="$3" >"$work/log" 2>&1 || { tail "$work/log"; return 1; }
}
holds() { # combination module switch: the build compiles the module exactly when it is on
    local n
    n=$(grep -c "^build .*/src/$2/" "$work/$1/build.ninja")
    [ "$3" = ON ] && [ "$n" -gt 0 ] || { [ "$3" = OFF ] && [ "$n" -eq 0 ]; }
}
for text in ON OFF; do
    for server in ON OFF; do
        for cli in ON OFF; do
            it=$text-$server-$cli
            expect "$it configures" configure $text $server $cli
            expect "$it: text is $text" holds $it text $text
            expect "$it: server is $server" holds $it server $server
            expect "$it: engine is $server" holds $it engine $server
            expect "$it: cli is $cli" holds $it cli $cli
            expect "$it: the client is there" holds $it client ON
        done
    done
done
names=$(sed -n 's/.*TINKC_API.* \(tinkc_[a-z0-9_]*\)(.*/\1/p' include/tinkc/tokenizer.h include/tinkc/chat.h)
expect "names were found" test "$(wc -l <<<"$names")" -gt 10
for name in $names; do
    file=$(grep -rlE "^(tinkc|[a-z0-9_ ]+\**) *\*?$name\(" src/client | head -n 1)
    expect "$name ($file) is built with text" grep -q "^build .*/${file:-nowhere} \|^build .*/${file:-nowhere}\$" \
        "$work/ON-ON-ON/build.ninja"
    expect "$name ($file) is not built without" bash -c "! grep -q '^build .*/${file:-nowhere}' '$work/OFF-ON-ON/build.ninja'"
done

# The gate, with a cmake that only writes down what it is asked for, and fails on demand.
mkdir -p "$work/bin" "$work/tree/scripts"
cp scripts/check-switches.sh "$work/tree/scripts/"
cat >"$work/bin/cmake" <<'EOF'
#!/usr/bin/env bash
grep -o -- '-DTINKC_\(TEXT\|SERVER\|CLI\|TELEMETRY\)=[A-Z]*' <<<"$*" | cut -d= -f2 | paste -sd' ' >>"$ASKED"
echo "asked for $*"
[[ $* != --build*"${BREAK:-nothing}"* ]]
EOF
chmod +x "$work/bin/cmake"
gate() { PATH=$work/bin:$PATH ASKED=$work/asked "$work/tree/scripts/check-switches.sh" >/dev/null 2>&1; }
expect "the gate passes when all build" gate
for it in ON\ {ON,OFF}\ {ON,OFF}\ ON OFF\ {ON,OFF}\ {ON,OFF}\ ON "ON ON ON OFF" "OFF OFF OFF OFF"; do
    expect "the gate builds $it" grep -qx "$it" "$work/asked"
done
export BREAK=text-OFF.server-ON.cli-ON
expect "the gate fails when one does not build" bash -c "! PATH=$work/bin:\$PATH ASKED=$work/asked '$work/tree/scripts/check-switches.sh' >/dev/null 2>&1"
unset BREAK
expect "the gate is one of check.sh" grep -qE "^switches +\| scripts/check-switches.sh\$" scripts/check.sh
finish
