"""Runs every probe on one SDK version; prints one JSON line for each row.

    drive.py URL WORK_DIR [ROW...]

A row that this version does not have is not run. A call, parameter, field, command or option
that it has and that no probe covers is an outcome of its own: "no probe".
"""

import json
import os
import re
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent.parent / "scripts" / "recorder")]
warnings.simplefilter("ignore")

import surface  # noqa: E402
from stage import COVERED, LOCAL, PROBES, Stage, refusal  # noqa: E402
import probes_train, probes_sample, probes_rest, probes_cli  # noqa: E401,E402,F401 registered

DEADLINE = 120  # seconds for one call; the SDK repeats a 5xx for 300
INPUTS = ("SamplingParams", "AdamParams", "DimuonParams", "SessionSearchRequest", "Datum")
# What fails inside the SDK before it makes a request: row -> its text.
DEFECTS = {"RestClient.get_audit_log_async": "called from incorrect event loop",
           "AdminClient.get_audit_log_async": "called from incorrect event loop"}
# The command "list" hides Python's list() from the other commands of its file.
DEFECTS.update(dict.fromkeys(("tinker checkpoint delete", "tinker checkpoint push-hf"),
                             "Got unexpected extra argument"))
DEFECTS.update({f"ServiceClient.{call}(weights_access_token)":
                "multiple values for keyword argument '_strict_response_validation'" for call in (
                    "create_training_client_from_state",
                    "create_training_client_from_state_with_optimizer")})
CONFIG_ROWS = ("loss_fn_config: an unknown key", "loss_fn_config: text")


def rows_of(about):
    """Every row of a version -> the row whose probe may cover it."""
    rows = {}
    for name, call in about["calls"].items():
        if name.endswith("_async") and name.removesuffix("_async") in about["calls"]:
            continue
        if name.endswith("Client") and name not in about["exports"]:
            continue  # only other calls make one
        rows[name] = None
        for parameter, value in call.get("parameters", {}).items():
            if "default" in value or value.get("rest"):
                rows[f"{name}({parameter})"] = name
    for name in INPUTS:
        for field in about["types"].get(name, {}).get("fields", {}):
            rows[f"{name}.{field}"] = None
    for value in about["types"]["LossFnType"]["values"]:
        rows[f"LossFnType.{value}"] = None
    kinds = re.search(r"Union\[([^]]*)\]", about["types"]["ModelInputChunk"]["alias"]).group(1)
    for kind in kinds.split(", "):
        rows[f"ModelInputChunk.{kind}"] = None
    for name, options in about["commands"].items():
        row = "tinker" if name == "tinker" else f"tinker {name}"
        rows[row] = None
        for option, value in options.items():
            if not value.get("required"):
                rows[f"{row} {option}"] = row
    config = about["calls"]["TrainingClient.forward_backward"]["parameters"]["loss_fn_config"]
    for row in CONFIG_ROWS[:2 if "float | str" in config["type"] else 1]:
        rows[row] = None
    return rows


def covered(row, parent):
    """Whether the probe of the call itself checks a parameter or option."""
    last = row.rsplit(" ", 1)[-1] if row.startswith("tinker") else row.rsplit("(")[-1].rstrip(")")
    words = {last} | set(row.split(" ")) if row.startswith("tinker") else {last}
    return bool(COVERED.get(parent, set()) & words)


def missing(rows):
    return [row for row, parent in rows.items() if row not in PROBES and row not in LOCAL
            and not (parent and covered(row, parent))]


def attempt(stage, row, asynchronous):
    """Runs one probe under a deadline; returns (outcome, text)."""
    result = []

    def run():
        try:
            stage.asynchronous = asynchronous
            PROBES[row](stage)
            result.append(("works", ""))
        except BaseException as error:  # noqa: BLE001 every outcome is a row
            sentence = refusal(error)
            if sentence is not None:
                result.append(("refused", sentence))
            else:
                where = "".join(traceback.format_exception(error)[-6:])
                result.append(("failed", f"{type(error).__name__}: {error}\n{where}"))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(DEADLINE)
    return result[0] if result else ("failed", f"no end after {DEADLINE} seconds")


def report(**row):
    print(json.dumps(row), flush=True)


def main(url, work, wanted):
    about = surface.surface()
    rows = rows_of(about)
    for row in missing(rows):
        report(row=row, outcome="no probe", text="")
    stage = Stage(url, rows, work)
    for row in PROBES:
        if row not in rows or wanted and row not in wanted:
            continue
        began = time.monotonic()
        outcome, text = attempt(stage, row, False)
        if outcome == "failed" and DEFECTS.get(row, "\0") in text:
            outcome = "broken"
        if f"{row}_async" in about["calls"] and outcome != "failed":
            second, text2 = attempt(stage, row, True)
            if DEFECTS.get(f"{row}_async", "\0") in text2:
                pass
            elif second != outcome:
                outcome, text = "failed", f"{row}_async: {second}, not {outcome}: {text2}"
            elif second == "works" and row not in stage.used:
                outcome, text = "failed", f"the probe does not call {row}_async"
        report(row=row, outcome=outcome, text=text, seconds=round(time.monotonic() - began, 2))
    sys.stdout.flush()
    os._exit(0)  # clients of failed probes may still wait


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
