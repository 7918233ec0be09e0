#!/usr/bin/env python3
"""Counts what a ctest run did, at the level of cmocka test functions.

usage: test-report.py BUILD_DIR CTEST_STATUS

Reads ctest's log, writes BUILD_DIR/tests-run.txt, says which of the engine's kernels ran, and prints `N passed, N failed`. A program
that prints no cmocka lines counts as one test under its own name. A test that started and
never ended (a crash, a time limit) has failed, and so has one that was skipped. The exit status is 0 only when ctest's is and
at least one test passed and none failed.
"""
import re
import sys
from pathlib import Path

RUN = re.compile(r"^\[ RUN      \] (\w+)")
END = re.compile(r"^\[ +(OK|SKIPPED|FAILED|ERROR) *\] (\w+)")


def programs(log, failed):
    """Yields (name, output lines, passed) per program of ctest's log. `failed` are the programs
    that ctest lists as failed: its log says "Test Passed." even of one it could not start."""
    name, lines, passed = None, [], False
    for line in log.splitlines():
        start = re.match(r"^\d+/\d+ Testing: (\S+)", line)
        if start:
            name, lines, passed = start.group(1), [], False
        elif name is not None and line.startswith("Test Passed."):
            passed = True
        elif name is not None and line.startswith(f'"{name}" end time'):
            yield name, lines, passed and name not in failed
            name = None
        elif name is not None:
            lines.append(line)
    if name is not None:
        yield name, lines, False


def functions(name, lines, passed):
    """[(ok, function)] of one program."""
    results, open_test = {}, None
    for line in lines:
        run, end = RUN.match(line), END.match(line)
        if run:
            open_test = run.group(1)
            results[open_test] = False
        elif end and end.group(2) in results:
            # a group teardown can report FAILED after OK: the worse one counts
            before = results[end.group(2)] if end.group(2) != open_test else True
            results[end.group(2)] = before and end.group(1) == "OK"
            open_test = None
    if not results:
        return [(passed, name)]
    if not passed and all(results.values()):
        results[name] = False  # e.g. a leak report or a crash after the last test
    return [(ok, function) for function, ok in results.items()]


def read(file):
    return file.read_text(errors="replace") if file.exists() else ""


def main():
    build, status = Path(sys.argv[1]), int(sys.argv[2])
    log = read(build / "Testing/Temporary/LastTest.log")
    listed = {line.partition(":")[2]
              for line in read(build / "Testing/Temporary/LastTestsFailed.log").splitlines()}
    passed = failed = 0
    failures, report, kernels = [], [], None
    for name, lines, ok_program in programs(log, listed):
        if name == "test_eng_kern":
            kernels = next((line for line in lines if line.startswith("kernels:")), None)
        for ok, function in functions(name, lines, ok_program):
            passed, failed = passed + ok, failed + (not ok)
            report.append(f"{'ok' if ok else 'FAILED'} {name} {function}\n")
            if not ok:
                failures.append(f"{name}: {function}")
    (build / "tests-run.txt").write_text("".join(sorted(report)))
    for failure in failures:
        print(f"failed: {failure}")
    if kernels is not None:  # of the engine; `fma` has the bits of those that are missing
        print(f"engine tested with {kernels}")
    print(f"{passed} passed, {failed} failed")
    return 0 if status == 0 and passed > 0 and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
