"""Records one SDK version: run inside that version's environment.

    drive.py OUT_DIR [PATTERN]      cases whose name contains PATTERN; a failure ends the run
    drive.py OUT_DIR --tolerant     every part; OUT_DIR/failures.json lists those that failed,
                                    for a version that the cases were not written for
"""

import json
import sys
import threading
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
warnings.simplefilter("ignore")

import cases_service, cases_training, cases_sampling, cases_rest  # noqa: E401,F401 registered
import answers_errors, answers_json, answers_proto, facts, goldens  # noqa: E401
from stage import CASES, Stage

DEADLINE = 180  # seconds that a tolerated part may take


def parts(stage, out):
    """(name, what to run) of everything that is recorded."""
    for group, name, function in CASES:
        yield f"requests/{group}/{name}", lambda f=function, g=group, n=name: stage.run(g, n, f)
    yield "responses of protobuf", lambda: answers_proto.main(out / "responses")
    yield "responses in JSON", lambda: answers_json.main(out / "responses" / "json")
    yield "responses that are errors", lambda: answers_errors.main(stage, out / "responses")
    for name, make in goldens.PARTS.items():
        yield f"goldens/{name}", lambda n=name, f=make: goldens.write_part(out / "goldens", n, f)
    yield "goldens/facts", lambda: facts.main(stage, out / "goldens")


def tolerate(run):
    """Returns what went wrong, or None."""
    wrong = []

    def body():
        try:
            run()
            wrong.append(None)
        except BaseException as error:  # noqa: BLE001 every failure is a finding
            where = traceback.extract_tb(error.__traceback__)[-1]
            wrong.append(f"{type(error).__name__}: {error} ({Path(where.filename).name})")

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join(DEADLINE)
    return wrong[0] if wrong else f"no end after {DEADLINE} seconds"


def main(out, pattern, tolerant):
    out = Path(out)
    stage = Stage(out / "requests")
    failures = {}
    for name, run in parts(stage, out):
        if pattern not in name:
            continue
        print(f"  {name}", flush=True)
        if tolerant:
            wrong = tolerate(run)
            if wrong is not None:
                failures[name] = wrong
                stage.reset()
        else:
            run()
    if tolerant:
        (out / "failures.json").write_text(json.dumps(failures, indent=1) + "\n")


if __name__ == "__main__":
    words = sys.argv[2:]
    main(sys.argv[1], next((w for w in words if w[0] != "-"), ""), "--tolerant" in words)
