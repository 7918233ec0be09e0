#!/usr/bin/env bash
# libtinkc never prints, ends its host, handles signals or changes process-wide state: the
# libraries, shared and static, refer to none of the functions that could.
#   scripts/check-quiet.sh [library...]
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- build/libtinkc.so build/libtinkc.a
banned='printf|vprintf|fprintf|vfprintf|dprintf|vdprintf|puts|fputs|putchar|putc|fputc|fwrite'
banned="$banned|perror|psignal|psiginfo|stdout|stderr|syslog|vsyslog|err|errx|warn|warnx|error"
banned="$banned|exit|_exit|_Exit|quick_exit|abort|atexit|at_quick_exit|on_exit|raise|killpg"
banned="$banned|signal|bsd_signal|sigaction|__sysv_signal|sigset|sigignore|siginterrupt|sigaltstack"
banned="$banned|sigprocmask|setrlimit|setrlimit64|prlimit|prlimit64|nice|setpriority|prctl|alarm"
banned="$banned|setitimer|setlocale|setenv|unsetenv|putenv|clearenv|umask|chdir|fchdir|chroot"
banned="$banned|fork|vfork|system|popen|daemon|setsid|getenv|secure_getenv|srand|srandom"
banned="$banned|mallopt|__assert_fail"
# glibc's checked forms are the same functions
pattern="^(__)?($banned)(_chk)?(_unlocked)?(@.*)?$"
allowed='^(getenv|secure_getenv)(@.*)?$' # read in base/env.c only: the banned gate sees to it
total=0
for library in "$@"; do
    dynamic=-D
    [ "${library%.a}" = "$library" ] || dynamic=
    used=$(nm $dynamic --undefined-only --format=posix "$library" | awk 'NF > 1 { print $1 }' | sort -u)
    [ -n "$used" ] || { echo "nothing to check: $library refers to nothing"; exit 1; }
    bad=$(grep -E "$pattern" <<<"$used" | grep -v -E "$allowed" || true)
    if [ -n "$bad" ]; then
        echo "$library refers to:" $bad
        exit 1
    fi
    total=$((total + $(wc -l <<<"$used")))
done
echo "$total undefined symbols in $# libraries, none of them banned"
