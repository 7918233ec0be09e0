#!/usr/bin/python3
"""Start-up of the program: `tinkc --help` and `tinkc version` against the official program,
and against an empty program that is linked with the same libraries, which is the least that
the dynamic loader takes. All sides take turns, in CPU time, and the fastest start of each
counts: other programs only ever slow one down. Wall time and resident memory beside it.

The official program (PyPI) is put into build/sdk-venv; without network there is a note.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("TINKC_BUILD_DIR", ROOT / "build"))
VERSION = "0.36.0"
ROUNDS, OFFICIAL_ROUNDS = 60, 6
COMMANDS = (["--help"], ["version"])


def say(name, ratio, bar, detail):
    ok = bar is None or ratio >= bar
    print(json.dumps({"name": name, "ratio": ratio, "bar": bar, "ok": ok, "detail": detail}),
          flush=True)


def official():
    """Path of the official program, or None."""
    home = ROOT / "build" / "sdk-venv" / f"cli-{VERSION}"
    if not (home / "ready").exists():
        make = [["python3", "-m", "venv", str(home)],
                [str(home / "bin/python"), "-m", "pip", "-q", "--disable-pip-version-check",
                 "install", f"tinker=={VERSION}"]]
        for command in make:
            if subprocess.run(command, stdout=sys.stderr, check=False).returncode != 0:
                return None
        (home / "ready").touch()
    return str(home / "bin/tinker")


STARTER = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* Runs a program and prints wall and CPU milliseconds and resident KiB. A small process of
 * its own, because a child's memory counts from that of who started it. */
int main(int argc, char **argv)
{
    struct timespec a, b;
    struct rusage use;
    int status = 1;
    (void)argc;
    clock_gettime(CLOCK_MONOTONIC, &a);
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 1);
        dup2(null, 2);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    wait4(pid, &status, 0, &use);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%f %f %ld\n",
           1e3 * (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e6,
           1e3 * (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
               (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e3,
           use.ru_maxrss);
    return status != 0;
}
"""


def compile_program(folder, name, text, *flags):
    source = folder / f"{name}.c"
    source.write_text(text)
    subprocess.run(["cc", "-O2", str(source), "-o", str(folder / name), *flags], check=True)
    return str(folder / name)


def empty_program(folder):
    """An empty main, linked with what tinkc is linked with."""
    text = subprocess.run(["readelf", "-d", BUILD / "tinkc"], capture_output=True, text=True,
                          check=True).stdout
    libraries = [f"-l:{name}" for name in re.findall(r"NEEDED.*\[(lib[^\]]+)\]", text)]
    return compile_program(folder, "empty", "int main(void)\n{\n    return 0;\n}\n",
                           "-Wl,--no-as-needed", *libraries)


def fastest(starter, sides):
    """Runs all in turns; {name: [wall ms, CPU ms, KiB]}, the best of each."""
    best = {}
    for number in range(ROUNDS):
        for name, command in sides.items():
            if name == "official" and number >= OFFICIAL_ROUNDS:
                continue
            said = subprocess.run([starter, *command], capture_output=True, text=True,
                                  check=True).stdout
            figures = [float(word) for word in said.split()]
            best[name] = [min(pair) for pair in zip(figures, best.get(name, figures))]
    return best


def detail(ours, name, other):
    return (f"{ours[1]:.2f} ms CPU, {ours[0]:.2f} ms, {ours[2]:.0f} KiB resident; "
            f"{name} {other[1]:.2f} ms CPU, {other[0]:.2f} ms, {other[2]:.0f} KiB")


def main():
    theirs = official()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        starter = compile_program(folder, "starter", "#define _GNU_SOURCE\n" + STARTER)
        empty = empty_program(folder)
        for words in COMMANDS:
            sides = {"ours": [str(BUILD / "tinkc"), *words], "empty": [empty]}
            if theirs:
                sides["official"] = [theirs, *words]
            best = fastest(starter, sides)
            ours, least = best["ours"], best["empty"]
            what = "tinkc " + words[0]
            say(f"{what} against an empty program", least[1] / ours[1], 1 / 1.5,
                detail(ours, "empty", least))
            if theirs:
                say(f"{what} against the official program", best["official"][1] / ours[1], 20,
                    detail(ours, "official", best["official"]))
            else:
                say(f"{what} against the official program", None, None, "not installed")


if __name__ == "__main__":
    main()
