#!/usr/bin/env bash
# The gates can fail: each is fed a small bad tree and must refuse it with the right message, and
# the same tree without the fault and must accept it. Run by `make check`.
set -u
scripts=$(cd "$(dirname "$0")/../../scripts" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0 failures=0

# A clean tree that every gate accepts.
fresh() {
    rm -rf "$work/t"
    mkdir -p "$work/t"/{src/base,src/wire,src/http,include/tinkc,tests/base,tests/exports,docs,build}
    cat >"$work/t/include/tinkc/thing.h" <<'C'
/* A thing. Thread: any. */
#ifndef TINKC_THING_H
#define TINKC_THING_H
/* Does it. */
__attribute__((visibility("default"))) int tinkc_thing_do(void);
#endif
C
    sed -i 's/^__attr.*default"))) /TINKC_API /; 4i #define TINKC_API __attribute__((visibility("default")))' \
        "$work/t/include/tinkc/thing.h"
    printf '/* All. */\n#include <tinkc/thing.h>\n' >"$work/t/include/tinkc/tinkc.h"
    cat >"$work/t/src/base/mem.c" <<'C'
/* The door. */
#include <stdlib.h>
void *tk_malloc(size_t n);
void *tk_malloc(size_t n)
{
    return malloc(n);
}
C
    cat >"$work/t/src/wire/path.c" <<'C'
/* Says "printf(malloc)" in a comment: malloc(1), printf("x"), exit(1). */
#include "base/mem.h"
#include <string.h>
#include <tinkc/thing.h>
int tinkc_thing_do(void)
{
    const char *text = "strcpy(a, b)";
    return text[0];
}
C
    cat >"$work/t/tests/base/test_mem.c" <<'C'
/* Tests of the door. */
#include "base/mem.h"

/* A-001..A-002: one. */
static void test_mem_one(void **unused)
{
    (void)unused;
}
C
    printf 'Claimed: A-001 to A-002.\n\n| A-001 | x | test_mem_one |\n| A-002 | y | test_mem_one |\n' \
        >"$work/t/docs/conformance.md"
    echo "ok test_mem test_mem_one" >"$work/t/build/tests-run.txt"
}

# refuses GATE WORDS: the gate fails on the tree, and says WORDS
refuses() {
    count=$((count + 1))
    local out
    # shellcheck disable=SC2086 # a gate may have an option
    if out=$("$scripts/"$1 --root "$work/t" 2>&1); then
        echo "$1 accepts a tree it must refuse ($2)"
        failures=$((failures + 1))
    elif ! grep -qF -- "$2" <<<"$out"; then
        printf '%s refuses, but does not say "%s":\n%s\n' "$1" "$2" "$out"
        failures=$((failures + 1))
    fi
}
accepts() {
    count=$((count + 1))
    local out
    # shellcheck disable=SC2086
    if ! out=$("$scripts/"$1 --root "$work/t" 2>&1); then
        printf '%s refuses a clean tree:\n%s\n' "$1" "$out"
        failures=$((failures + 1))
    fi
}
add() { mkdir -p "$work/t/${1%/*}"; printf '%s\n' "$2" >>"$work/t/$1"; }

fresh
for gate in check-layers.py check-lengths.py check-banned.py check-comments.py \
    check-hygiene.py check-headers.sh check-conformance.py; do
    accepts $gate
done

# layers
fresh; add src/base/mem.c '#include "wire/path.h"'; refuses check-layers.py "base may not use wire"
fresh; add src/wire/path.c '#include "http/http.h"'; refuses check-layers.py "wire may not use http"
fresh; add src/wire/path.c '#include <curl/curl.h>'; refuses check-layers.py "is not for wire"
fresh; add src/wire/path.c '#include <jansson.h>'; refuses check-layers.py "is not for wire"
fresh; add src/wire/path.c '#include <novel.h>'; refuses check-layers.py "is in no table"
fresh; add src/wire/path.c '#include "path.h"'; refuses check-layers.py "is not written as"
fresh; add include/tinkc/thing.h '#include <stdio.h>'; refuses check-layers.py "public header"
fresh; add src/client/rest/rest.c '#include "client/training/turn.h"'
refuses check-layers.py "client/rest may not use client/training"
fresh; add src/client/attic/a.c '#include "client/core/core.h"'
refuses check-layers.py "room client/attic is in no table"
fresh; add src/client/rest/rest.c '#include "client/attic/a.h"'
refuses check-layers.py "there is no room for"
fresh; mkdir -p "$work/t/src/httpd" "$work/t/src/server/api"
echo '#include "wire/path.h"' >"$work/t/src/httpd/a.c"
refuses check-layers.py "httpd may not use wire"
echo '#include "server/run/a.h"' >"$work/t/src/httpd/a.c"
refuses check-layers.py "httpd may not use server"
echo '#include <microhttpd.h>' >"$work/t/src/httpd/a.c"
cp "$work/t/src/httpd/a.c" "$work/t/src/server/api/b.c"
refuses check-layers.py "api/b.c:1: <microhttpd.h> is not for server/api"
fresh; mkdir "$work/t/src/new"; echo >"$work/t/src/new/a.c"; refuses check-layers.py "module new"

# lengths
lines() { for ((i = 0; i < $1; i++)); do echo '    (void)0;'; done; }
fresh; { echo 'void f(void)'; echo '{'; lines 98; echo '}'; } >>"$work/t/src/base/mem.c"
refuses check-lengths.py "f has 101 lines"
fresh; { echo 'void f(void)'; echo '{'; lines 97; echo '}'; } >>"$work/t/src/base/mem.c"
accepts check-lengths.py
fresh; yes '' | head -n 1001 >>"$work/t/src/base/mem.c"; refuses check-lengths.py "the limit is 1000"

# banned calls
for call in 'strcpy(a, b)' 'alloca(3)' 'sprintf(a, "x")' 'malloc(3)' 'free(p)' 'strdup(p)' \
    'printf("x")' 'fputs("x", f)' 'exit(1)' 'abort()' 'assert(1)' 'signal(1, f)' 'getenv("x")' \
    'setlocale(1, 0)' 'setrlimit(1, r)' 'strtol(a, 0, 1)' 'atoi(a)' 'rand()' 'time(0)' \
    'usleep(1)' 'strerror(1)' 'system("x")'; do
    fresh; add src/wire/path.c "void g(void) { $call; }"; refuses check-banned.py "${call%%(*}: "
done
for call in 'printf("x")' 'fprintf(stderr, "x")' 'fputs(x, stdout)' 'putchar(c)' 'fwrite(p, 1, n, stdout)'; do
    fresh; add src/cli/frame/cmd.c "void g(void) { $call; }"
    refuses check-banned.py "${call%%(*}: print through cli/frame/cmd_print.h"
    fresh; add src/cli/frame/cmd_print.c "/* The door. */"
    add src/cli/frame/cmd_print.c "void g(void) { $call; }"; accepts check-banned.py
done
fresh; add src/server/srv.c 'void g(void) { puts("x"); }'; refuses check-banned.py "writes to its log"
fresh; add src/wire/path.c 'void g(void) { h(free); }'; refuses check-banned.py "base/mem.h"
fresh; add src/wire/path.c 'void g(struct h *h) { h->free(0); h->realloc(0); }'; accepts check-banned.py
fresh; add src/wire/path.c 'void g(void) { goto again; }'; refuses check-banned.py "goto only to out"
fresh; add src/server/srv.c 'void g(void) { hd_reply_fail(request, 500, "x"); }'; refuses check-banned.py "the budget is full"
fresh; add src/wire/path.c 'typedef int thing_t;'; refuses check-banned.py "do not end in _t"
fresh; add src/wire/path.c "/* TO""DO: later */"; refuses check-banned.py "without an issue number"
fresh; add src/wire/path.c "/* TO""DO (#12): later */"; accepts check-banned.py
fresh; add src/console/page/a.js 'a.textContent = b;'; accepts check-banned.py
fresh; add src/console/page/a.js 'a.innerHTML = b;'; refuses check-banned.py "innerHTML: texts of models"
fresh; add src/console/page/a.js 'eval(b);'; refuses check-banned.py "no code from texts"
fresh; add src/console/page/a.html '<p style="x">'; refuses check-banned.py "inline styles and scripts"
fresh; add src/console/page/a.js "fetch('https://a.example');"; refuses check-banned.py "nothing from elsewhere"

# comments
fresh; sed -i 1d "$work/t/src/base/mem.c"; refuses check-comments.py "does not open with a comment"
fresh; sed -i '/Does it/d' "$work/t/include/tinkc/thing.h"
refuses check-comments.py "tinkc_thing_do has no comment"

# hygiene
fresh; add docs/x.md "see /ro""ot/thing"; refuses check-hygiene.py "machine path"
fresh; add docs/x.md "https:/""/mirror.internal.corp/simple"; refuses check-hygiene.py "is not in the list"
fresh; add docs/x.md "key tml-0123456789abc""defghijklmnop"; refuses check-hygiene.py "API key"
fresh; add docs/x.md "-----BEGIN RSA PRI""VATE KEY-----"; refuses check-hygiene.py "private key"

# declarations of the Python package
fresh; mkdir -p "$work/t/bindings/python/tinkc"; refuses "gen-python.py --check" "_c.py differs from the headers"
accepts gen-python.py # writes them
accepts "gen-python.py --check"
sed -i 's/int tinkc_thing_do(void)/int tinkc_thing_do(int64_t n)/' "$work/t/include/tinkc/thing.h"
refuses "gen-python.py --check" "_c.py differs from the headers"
sed -i 's/int64_t n/off_t n/' "$work/t/include/tinkc/thing.h"
refuses "gen-python.py --check" "what is the type off_t"

# headers
fresh; add include/tinkc/thing.h 'size_t tinkc_thing_size(void);'; refuses check-headers.sh "tinkc/thing.h"
fresh; add include/tinkc/thing.h 'int tinkc_thing_new(int new, int class);'
refuses check-headers.sh "g++ -x c++ -std=c++17"
fresh; echo '/* B. */' >"$work/t/include/tinkc/b.h"; refuses check-headers.sh "does not include tinkc/b.h"
fresh; add include/tinkc/thing.h '#define TINKC_THING_INIT {0}'
refuses check-headers.sh "TINKC_THING_INIT has no function tinkc_thing_init"
fresh; mkdir "$work/t/examples"; echo 'int *f(char *p) { return p; }' >"$work/t/examples/e.c"
refuses check-headers.sh "e.c: gcc -std=c2x"
cpp_fresh() {
    fresh
    mkdir "$work/t/include/tinkc/cpp"
    printf '/* All. */\n#include <tinkc/cpp/thing.hpp>\n' >"$work/t/include/tinkc/tinkc.hpp"
    printf '/* One. */\n#include <tinkc/thing.h>\ninline int thing() { return tinkc_thing_do(); }\n' |
        sed '2i #pragma once' >"$work/t/include/tinkc/cpp/thing.hpp"
    echo '# none' >"$work/t/tests/exports/cpp.exceptions"
}
cpp_fresh; accepts check-headers.sh
add include/tinkc/cpp/thing.hpp 'inline void f() { throw 1; }'
refuses check-headers.sh "tinkc/tinkc.hpp: g++ -std=c++20 -fno-exceptions"
cpp_fresh; echo '/* B. */' >"$work/t/include/tinkc/cpp/b.hpp"
refuses check-headers.sh "does not include tinkc/cpp/b.hpp"

# the C++ API keeps up with the C API
cpp_fresh; accepts check-cpp.py
add include/tinkc/thing.h '/* More. */ TINKC_API int tinkc_thing_more(void);'
refuses check-cpp.py "tinkc_thing_more has no counterpart"
add tests/exports/cpp.exceptions 'tinkc_*_more'; refuses check-cpp.py "tinkc_*_more has no reason"
cpp_fresh; add tests/exports/cpp.exceptions 'tinkc_thing_do it is old'
refuses check-cpp.py "tinkc_thing_do excuses nothing"
cpp_fresh; add include/tinkc/cpp/thing.hpp 'class bare
{
};'
refuses check-cpp.py "no comment above the class"
cpp_fresh; git -C "$work/t" init -q; accepts check-abi.sh

# contracts of public headers
fresh; sed -i 's/ Thread: any.//' "$work/t/include/tinkc/thing.h"
refuses check-comments.py "says nothing about threads"
fresh; sed -i 's|^#endif|/* Makes one. */\nTINKC_API int tinkc_thing_make(tinkc_thing **out);\n#endif|' "$work/t/include/tinkc/thing.h"
refuses check-comments.py "tinkc_thing_make: nobody owns"
fresh; sed -i 's|^#endif|/* The caller owns *out. */\nTINKC_API int tinkc_thing_make(tinkc_thing **out);\n#endif|' "$work/t/include/tinkc/thing.h"
accepts check-comments.py

# exports
library() { # compiles the tree's sources into its build/
    gcc -shared -fPIC -fvisibility=hidden -I"$work/t/include" -I"$work/t/src" -w \
        ${map:+-Wl,--version-script="$map"} -x c "$@" -o "$work/t/build/libtinkc.so"
    gcc -c -fPIC -fvisibility=hidden -I"$work/t/include" -w -x c "$@" -o "$work/t/build/x.o"
    objcopy --localize-hidden "$work/t/build/x.o"
    rm -f "$work/t/build/libtinkc.a"
    ar rc "$work/t/build/libtinkc.a" "$work/t/build/x.o"
}
header='#include <tinkc/thing.h>'
body='int tinkc_thing_do(void) { return 1; }'
try() { printf '%s\n' "$header" "$body" "$1" >"$work/t/x.c"; library "$work/t/x.c"; }
fresh; echo tinkc_thing_do >"$work/t/tests/exports/tinkc.sym"
echo 'TINKC_0.1 { global: *; };' >"$work/map"
map=; try ''; refuses check-exports.sh "exported without a version"
map=$work/map; try ''; accepts check-exports.sh
try 'TINKC_API int tinkc_more(void) { return 1; }'; refuses check-exports.sh "the exported list differs"
try 'TINKC_API int tk_leak(void) { return 1; }'; refuses check-exports.sh "without the prefix"
try 'TINKC_API int tinkc_counter = 1;'; refuses check-exports.sh "exported data"
echo tinkc_gone >>"$work/t/tests/exports/tinkc.sym"
try ''; refuses check-exports.sh "the exported list differs"
fresh; : >"$work/t/tests/exports/tinkc.sym"
printf '%s\n' 'int x;' >"$work/t/x.c"; library "$work/t/x.c"
refuses check-exports.sh "declared but not exported: tinkc_thing_do"

# quiet: what the library may not refer to
for body in 'printf("x\n")' 'exit(1)' 'abort()' 'signal(2, 0)' 'putchar(65)' 'sigaction(2, 0, 0)' \
    'setrlimit(RLIMIT_NOFILE, 0)' 'fprintf(stderr, "%d", 1)' 'chdir("/")' 'setenv("a", "b", 1)'; do
    rm -f "$work"/loud.*
    cat >"$work/loud.c" <<C
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
void f(void) { $body; }
C
    gcc -w -shared -fPIC "$work/loud.c" -o "$work/loud.so"
    gcc -w -c "$work/loud.c" -o "$work/loud.o"
    ar rc "$work/loud.a" "$work/loud.o"
    for library in "$work/loud.so" "$work/loud.a"; do
        count=$((count + 1))
        if "$scripts/check-quiet.sh" "$library" >/dev/null; then
            echo "check-quiet.sh accepts $body in ${library##*.}"
            failures=$((failures + 1))
        fi
    done
done

# manual pages and reference of the library
documented() {
    fresh
    add include/tinkc/version.h '/* The version. Thread: any. */'
    add include/tinkc/version.h $'#ifndef V\n#define V\n#define TINKC_VERSION "1.2.3"\n#endif'
    printf '/* All. */\n#ifndef T\n#define T\n#include <tinkc/thing.h>\n#endif\n' >"$work/t/include/tinkc/tinkc.h"
    add tests/exports/tinkc.sym tinkc_thing_do
}
documented; accepts check-api.py
documented; add tests/exports/tinkc.sym tinkc_thing_hide; refuses check-api.py "tinkc_thing_hide has no manual page"
documented; : >"$work/t/tests/exports/tinkc.sym"; refuses check-api.py "no exported functions"
documented; sed -i 's/ Does it/ Bites \x10 it/' "$work/t/include/tinkc/thing.h"
refuses check-api.py "invalid input character"

# conformance
fresh; add docs/conformance.md '| A-001 | again | test_mem_one |'; refuses check-conformance.py "two rows"
fresh; sed -i 's/| test_mem_one |$/| test_absent |/' "$work/t/docs/conformance.md"
refuses check-conformance.py "there is no test test_absent"
fresh; : >"$work/t/build/tests-run.txt"; refuses check-conformance.py "did not run"
fresh; echo "FAILED test_mem test_mem_one" >"$work/t/build/tests-run.txt"
refuses check-conformance.py "failed in the last run"
fresh; rm "$work/t/build/tests-run.txt"; refuses check-conformance.py "run make test"
fresh; sed -i 's/A-002\./A-003./' "$work/t/docs/conformance.md"; refuses check-conformance.py "claimed, but has no row"
fresh; add docs/conformance.md '| A-009 | z | test_mem_one |'; refuses check-conformance.py "not claimed"
fresh; sed -i 's/A-001..A-002/A-001/' "$work/t/tests/base/test_mem.c"
refuses check-conformance.py "test_mem_one does not name A-002"
# an id of the file, of a comment further above, or of another test is not one of the test
sed -i 's/door\. /door, A-002. /' "$work/t/tests/base/test_mem.c"
refuses check-conformance.py "test_mem_one does not name A-002"
sed -i 's/^static/\n&/' "$work/t/tests/base/test_mem.c"
refuses check-conformance.py "test_mem_one does not name A-001"
add tests/base/test_mem.c $'/* A-001, A-002: two. */\nstatic void test_mem_two(void **unused)\n{\n    return;\n}'
refuses check-conformance.py "test_mem_one does not name A-001"
sed -i 's|(void)unused;|& /* A-001, A-002 */|' "$work/t/tests/base/test_mem.c"; accepts check-conformance.py

not_done='| A-003 | z | not done: nobody needs it in this library |'
fresh; add docs/conformance.md "$not_done"; accepts check-conformance.py
sed -i 's/A-002\./A-003./' "$work/t/docs/conformance.md"
refuses check-conformance.py "A-003: claimed, but not done"
fresh; add docs/conformance.md '| A-003 | z | not done: later |'
refuses check-conformance.py "not done, without a reason"
fresh; add docs/conformance.md "Answered in full: A-001 to A-003."
refuses check-conformance.py "A-003: has no row"
add docs/conformance.md "$not_done"; accepts check-conformance.py
fresh; sed -i 's/| y | test_mem_one/& , gate_tsan/' "$work/t/docs/conformance.md"
refuses check-conformance.py "there is no test gate_tsan"
add scripts/check.sh 'tsan        | scripts/check-preset.sh tsan'; accepts check-conformance.py

# test-report: what ctest's log says, counted. program NAME VERDICT LINES...
# mutate.py finds an entry by the name of the definition, in whichever file it is
fresh
mutation='[A-001]
why   the answer is wrong
test  test_mem: test_mem_one
in    answer
- return 1;
+ return 2;'
add tests/mutations/all.txt "$mutation"
add src/wire/one.c $'/* One. */\n#define LIMIT 1\nstatic const int rows[] = {\n    1,\n};\nint answer(void);
int answer(void)\n{\n    return 1;\n}\nint other(void)\n{\n    return 1;\n}'
accepts "mutate.py --list"
mkdir "$work/t/src/wire/room"
mv "$work/t/src/wire/one.c" "$work/t/src/wire/room/two.c"
accepts "mutate.py --list" # moved
for where in LIMIT rows two:rows; do
    sed "s/^in .*/in    $where/; s/return 1;/1/" <<<"$mutation" >"$work/t/tests/mutations/all.txt"
    accepts "mutate.py --list"
done
echo "$mutation" >"$work/t/tests/mutations/all.txt"
sed -i '/^int answer(void)$/,/^}/s/1/3/' "$work/t/src/wire/room/two.c"
refuses "mutate.py --list" "STALE A-001: the answer is wrong (all.txt:1): answer has the text 0 times"
sed -i '/^int answer(void)$/,/^}/s/return 3;/return 1;\n    return 1;/' "$work/t/src/wire/room/two.c"
refuses "mutate.py --list" "answer has the text 2 times"
sed -i 's/answer/reply/' "$work/t/src/wire/room/two.c"
refuses "mutate.py --list" "answer is nowhere"
sed -i 's/reply/answer/; /return 1;$/{n;/return/d}' "$work/t/src/wire/room/two.c"
accepts "mutate.py --list"
cp "$work/t/src/wire/room/two.c" "$work/t/src/wire/three.c"
refuses "mutate.py --list" "answer is in src/wire/room/two.c, src/wire/three.c"
sed -i 's/^in .*/in    three:answer/' "$work/t/tests/mutations/all.txt"
accepts "mutate.py --list"

fresh
log=$work/t/build/Testing/Temporary
mkdir -p "$log"
program() {
    local name=$1 verdict=$2
    shift 2
    printf '1/9 Testing: %s\nOutput:\n' "$name"
    printf '%s\n' "$@" '<end of output>' "$verdict" "\"$name\" end time: x"
}
run='[ RUN      ]' ok='[       OK ]' bad='[  FAILED  ]' skip='[  SKIPPED ]'
# counts WORDS STATUS CTEST: the closing line and the exit status, given ctest's status
counts() {
    count=$((count + 1))
    local out status=0
    out=$(python3 "$scripts/test-report.py" "$work/t/build" "$3") || status=1
    out=${out##*$'\n'}
    [ "$out" = "$1" ] && [ $status = "$2" ] ||
        { echo "test-report: $out (status $status), expected $1 ($2)"; failures=$((failures + 1)); }
}
program a "Test Passed." "$run test_a" "$ok test_a" "$run test_b" "$ok test_b" >"$log/LastTest.log"
counts "2 passed, 0 failed" 0 0
counts "2 passed, 0 failed" 1 8 # ctest itself failed
program s "Test Passed." "no cmocka here" >>"$log/LastTest.log"
counts "3 passed, 0 failed" 0 0
program b "Test Failed." "$run test_c" "$bad test_c" "$run test_d" "$ok test_d" >>"$log/LastTest.log"
counts "4 passed, 1 failed" 1 8
program c "Test Failed." "$run test_e" "$ok test_e" "$run test_f" >>"$log/LastTest.log" # crash
counts "5 passed, 2 failed" 1 8
program d "Test Passed." "$run test_g" "$skip test_g" >>"$log/LastTest.log"
counts "5 passed, 3 failed" 1 0
program e "Test Failed." "$run test_h" "$ok test_h" "LeakSanitizer" >>"$log/LastTest.log"
counts "6 passed, 4 failed" 1 8
program f "Test Passed." >>"$log/LastTest.log" # ctest says so of a program that is missing
echo "6:f" >"$log/LastTestsFailed.log"
counts "6 passed, 5 failed" 1 8
: >"$log/LastTest.log"
counts "0 passed, 0 failed" 1 0

echo "$((count - failures)) of $count trees judged rightly"
[ "$failures" -eq 0 ]
