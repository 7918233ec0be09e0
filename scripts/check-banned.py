#!/usr/bin/env python3
"""Calls and words that are not allowed, by place. Comments and strings do not count.

The rules are rows of RULES: where it applies, the file or folder that is excepted, what is
looked for, and why. A call is a name followed by "(" that is not a member (`x->free(`) and
not a declaration of one (`(*free)(`).
"""
import re
import sys

import gatelib

LIBRARY = ("src/base/", "src/wire/", "src/http/", "src/client/", "src/text/")
NO_PRINT = LIBRARY + ("src/engine/",)
SRC = ("src/",)
ALL_C = ("src/", "include/", "tests/", "fuzz/", "bench/", "examples/", "tools/")

RULES = [  # (folders, excepted prefixes, names, why)
    (ALL_C, (), "strcpy strcat sprintf vsprintf strtok gets alloca stpcpy tmpnam mktemp",
     "unsafe"),
    (SRC, ("src/base/",), "atoi atol atoll atof strtol strtoul strtoll strtoull strtoimax "
     "strtoumax strtod strtof strtold", "parse numbers with base/str.h"),
    (ALL_C, ("src/base/", "tests/"), "atoi atol atoll atof", "cannot report an error"),
    (SRC, ("src/base/mem.c",),
     "malloc calloc realloc reallocarray free aligned_alloc posix_memalign memalign valloc "
     "strdup strndup asprintf vasprintf getline getdelim open_memstream",
     "allocate through base/mem.h"),
    (NO_PRINT, (), "printf fprintf vprintf vfprintf dprintf vdprintf puts fputs putchar putc "
     "fputc perror psignal", "the library never prints"),
    (("src/cli/",), ("src/cli/frame/cmd_print.c",), "printf fprintf vprintf vfprintf dprintf "
     "vdprintf puts fputs putchar putc fputc perror psignal putw fputws wprintf fwprintf",
     "print through cli/frame/cmd_print.h, which terminals cannot be steered with"),
    (("src/cli/",), ("src/cli/frame/cmd_print.c", "src/cli/train/train_metrics.c"),
     "fwrite fwrite_unlocked", "print through cli/frame/cmd_print.h, write files with "
     "base/file.h"),
    (("src/server/", "src/httpd/"), (), "printf fprintf vprintf vfprintf dprintf vdprintf puts fputs putchar "
     "putc fputc perror psignal", "the server writes to its log"),
    (NO_PRINT, (), "exit _exit _Exit quick_exit abort atexit raise",
     "the library never ends its host"),
    (NO_PRINT, ("src/client/core/command.c",), "kill",
     "only the credential command, a child of ours, is ever signalled"),
    (SRC, (), "assert", "return an error, or use a static assertion"),
    (NO_PRINT, (), "signal sigaction sigset siginterrupt sigprocmask",
     "the library installs no signal handlers"),
    (SRC, ("src/base/env.c",), "getenv secure_getenv", "read the environment in base/env.c"),
    (SRC, ("src/cli/frame/cmd_out.c",), "setenv unsetenv putenv clearenv setlocale localeconv",
     "process-wide state that is not ours"),
    (NO_PRINT, (), "setrlimit prlimit umask chdir fork vfork system popen daemon",
     "process-wide state that is not ours"),
    (SRC, ("src/base/clock.c",), "time gettimeofday clock_gettime clock ftime",
     "read the time in base/clock.c"),
    (SRC, ("src/base/rand.c",), "rand random srand srandom rand_r drand48 lrand48 getrandom "
     "getentropy arc4random", "take randomness from base/rand.c"),
    (NO_PRINT, (), "sleep usleep", "waits have a deadline and a wake-up"),
    (SRC, (), "strerror localtime gmtime ctime asctime", "not safe among threads"),
]
PATTERNS = [  # (folders, excepted prefixes, regular expression, why)
    (NO_PRINT, (), r"\b(stdout|stderr)\b", "the library never prints"),
    (ALL_C, (), r"\bgoto\s+(?!out\s*;)\w+", "goto only to out"),
    (SRC + ("include/",), (), r"\btypedef\b[^;{}]*\b(\w+_t)\s*;|^\}\s*\w+_t\s*;",
     "type names do not end in _t"),
    (SRC, ("src/httpd/", "src/server/run/srv_msg.c", "src/server/run/srv_poll.c"), r"\bhd_reply_fail\s*\(\s*\w+\s*,\s*500\b",
     "hd_reply_no_memory says 429 when the budget is full, hd_reply_error knows the rest"),
    (SRC, ("src/base/mem.c",), r"[(,]\s*(free|malloc|realloc)\s*[,)]",
     "allocate through base/mem.h"),
]


def call_pattern(names):
    choice = "|".join(names.split())
    return re.compile(rf"(?<![\w.])(?<!->)({choice})\s*\(")


PAGE = "src/console/page/"
PAGE_PATTERNS = [  # (regular expression, why), for HTML and scripts of the console
    (re.compile(r"\b(innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|setHTMLUnsafe|parseFromString|"
                r"document\.write(?:ln)?|srcdoc)\b"), "texts of models and users are text: textContent only"),
    (re.compile(r"\b(eval|Function)\s*\(|\bset(?:Timeout|Interval)\s*\(\s*['\"`]"), "no code from texts"),
    (re.compile(r"\sstyle\s*=\s*[\"']|setAttribute\(\s*['\"]style|<script(?![^>]*\bsrc=)|\son\w+\s*=\s*[\"']"),
     "the policy of the page refuses inline styles and scripts"),
    (re.compile(r"https?://(?!www\.w3\.org/)"), "the page uses nothing from elsewhere"),
]

COMPILED = [(f, e, call_pattern(n), w) for f, e, n, w in RULES]
COMPILED += [(f, e, re.compile(p, re.M), w) for f, e, p, w in PATTERNS]
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b(?!\s*\(#\d+\))")


def check_file(path, text):
    code = gatelib.code_only(text)
    for folders, excepted, pattern, why in COMPILED:
        if not path.startswith(folders) or (excepted and path.startswith(excepted)):
            continue
        for match in pattern.finditer(code):
            what = " ".join(match.group(0).rstrip("( \n").split())
            yield f"{path}:{gatelib.line_of(code, match.start())}: {what}: {why}"
    for match in UNFINISHED.finditer(gatelib.comments_only(text)):
        line = gatelib.line_of(text, match.start())
        yield f"{path}:{line}: {match.group(1)} without an issue number (#123)"


def check_page(path, text):
    for pattern, why in PAGE_PATTERNS:
        for match in pattern.finditer(text):
            yield f"{path}:{gatelib.line_of(text, match.start())}: {match.group(0).strip()}: {why}"


def main():
    root = gatelib.root_of(sys.argv)
    problems, checked = [], 0
    for path in gatelib.files(root, ".c", ".h"):
        checked += 1
        problems += check_file(path, (root / path).read_text())
    gatelib.need(checked, "sources")
    for path in gatelib.files(root, ".js", ".html", ".css", ".svg"):
        if path.startswith(PAGE):
            checked += 1
            problems += check_page(path, (root / path).read_text())
    return gatelib.finish(problems, f"{checked} files against {len(COMPILED) + len(PAGE_PATTERNS) + 1} rules")


if __name__ == "__main__":
    sys.exit(main())
