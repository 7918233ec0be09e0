"""Records one SDK version: run by record-fixtures.py inside that version's environment."""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
warnings.simplefilter("ignore")

import cases_service, cases_training, cases_sampling, cases_rest  # noqa: E401,F401 registered
import answers_errors, answers_json, answers_proto, goldens  # noqa: E401
from stage import CASES, Stage


def main(out, pattern):
    out = Path(out)
    stage = Stage(out / "requests")
    for group, name, function in CASES:
        if pattern in f"{group}/{name}":
            print(f"  {group}/{name}", flush=True)
            stage.run(group, name, function)
    if not pattern:
        answers_proto.main(out / "responses")
        answers_json.main(out / "responses" / "json")
        answers_errors.main(stage, out / "responses")
        goldens.main(out / "goldens")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
