#!/usr/bin/env bash
# libtinkc never prints, ends its host, handles signals or changes process-wide state: the
# shared library refers to none of the functions that could.
#   scripts/check-quiet.sh [library]
set -eu
cd "$(dirname "$0")/.."
library=${1:-build/libtinkc.so}
banned='printf|vprintf|fprintf|vfprintf|dprintf|vdprintf|puts|fputs|putchar|putc|fputc|fwrite'
banned="$banned|perror|stdout|stderr|exit|_exit|_Exit|quick_exit|abort|atexit|raise"
banned="$banned|signal|sigaction|__sysv_signal|setrlimit|setrlimit64|prlimit|prlimit64"
banned="$banned|setlocale|setenv|unsetenv|putenv|clearenv|umask|chdir|fork|vfork|system|popen"
banned="$banned|getenv|secure_getenv|srand|srandom|__assert_fail"
# glibc's checked forms are the same functions
pattern="^(__)?($banned)(_chk)?(_unlocked)?(@.*)?$"
used=$(nm -D --undefined-only --format=posix "$library" | awk '{ print $1 }')
[ -n "$used" ] || { echo "nothing to check: $library refers to nothing"; exit 1; }
allowed='^(getenv|secure_getenv)(@.*)?$' # read in base/env.c only: the banned gate sees to it
bad=$(grep -E "$pattern" <<<"$used" | grep -v -E "$allowed" || true)
if [ -n "$bad" ]; then
    echo "$library refers to:" $bad
    exit 1
fi
echo "$(wc -l <<<"$used") undefined symbols, none of them banned"
