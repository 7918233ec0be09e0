"""What tests/interop/skyrl.sh prints and compares.

    skyrl_check.py data TINKC MODEL JSONL N     N conversations as interop_peer.c reads them
    skyrl_check.py resume WHOLE PARTS           metrics of two runs of `tinkc train`
    skyrl_check.py curves OWN PEER OURS skyrl|any   losses by interop_peer: of an adapter of our
                                                server, and of one adapter on both servers
    skyrl_check.py cpu OURS SDK                 CPU times, several lines for each kind of work
    skyrl_check.py deep JSON skyrl|any          what `tinkc doctor --deep` found

Ends with 1 on a difference.
"""
import json
import subprocess
import sys

# What SkyRL 0.3.0 lacks or does otherwise; everything else must be ok.
SKYRL = {
    "train_unembed": "off",
    "dro": "not_offered",
    "repeated request": "off",
    "top-k logprobs": "not_offered",
    "no max_tokens": "not_offered",
    "stream": "not_offered",
    "end of text": "off",
    "checkpoint list": "not_offered",
    "session list": "not_offered",
    "delete": "not_offered",
    "clean up": "not_offered",
}


def data(tinkc, model, path, n):
    for line in open(path).readlines()[:int(n)]:
        rendered = json.loads(subprocess.run(
            [tinkc, "render", "--tokens", "-m", model, "--format", "json"],
            input=line, capture_output=True, text=True, check=True).stdout)
        print(rendered["weights"].index(1), *rendered["tokens"])
    return True


def resume(*paths):
    runs = [[json.loads(line) for line in open(path)] for path in paths]
    runs = [[row for row in rows if "loss" in row] for rows in runs]
    whole, parts = [{row["step"]: row["loss"] for row in rows} for rows in runs]
    steps = sorted(whole)
    apart = max(abs(whole[step] - parts[step]) for step in steps)
    print("    loss %.3f at the start, %.3f at the end; stopped and resumed: %.1e apart"
          % (whole[steps[0]], whole[steps[-1]], apart))
    once = len(runs[1]) == len(steps)  # no step was taken twice
    return once and apart <= 1e-4 and whole[steps[-1]] < whole[steps[0]]


def losses(path):
    rows = [line.split() for line in open(path) if line.startswith("loss ")]
    return [float(row[2]) for row in rows]


def curves(own, peer, ours, who):
    own, peer, ours = map(losses, (own, peer, ours))
    shown = [i for i in range(len(peer)) if i in (0, 1, 2, 5, 10, 20, 50, 100, 150, len(peer) - 1)]
    print("    step   the peer  tinkc serve  difference   another adapter, tinkc serve")
    for i in shown:
        print("    %4d  %9.6f    %9.6f   %+.1e   %9.6f" % (i, peer[i], ours[i], ours[i] - peer[i], own[i]))
    apart = max(abs(a - b) for a, b in zip(peer, ours))
    print("    %d steps, largest difference %.1e" % (len(peer), apart))
    # SkyRL runs here in float32, as ours: a larger gap is a step that was lost or taken twice. B is zero at step 0, so
    # that all are the base model's.
    return ((who != "skyrl" or apart <= 1e-3) and len(peer) == len(ours) == len(own) and max(abs(peer[0] - ours[0]), abs(peer[0] - own[0])) <= 1e-4
            and peer[-1] < peer[0] and ours[-1] < ours[0])


def times(path):
    best = {}
    for line in open(path):
        what, work, whole = line.split()
        best[what] = min(best.get(what, (9e9, 9e9)), (float(work), float(whole)))
    return best


def cpu(*paths):
    ours, sdk = map(times, paths)
    for both in (ours, sdk):
        both["both"] = tuple(map(sum, zip(*both.values())))
    for what in ours:
        print("    %-8s %.3f s against %.3f s: %.1f times less; with imports %.3f s against %.3f s: %.1f times"
              % (what, ours[what][0], sdk[what][0], sdk[what][0] / ours[what][0],
                 ours[what][1], sdk[what][1], sdk[what][1] / ours[what][1]))
    return sdk["both"][0] >= 10 * ours["both"][0]


def deep(path, who):
    report = json.load(open(path))
    good = True
    for row in report["checks"]:
        wanted = SKYRL.get(row["check"], "ok") if who == "skyrl" else None
        is_good = row["verdict"] == wanted if wanted else row["verdict"] not in ("failed", "not_tried")
        good = good and is_good
        print("    %-24s %-11s %s%s" % (row["check"], row["verdict"], row["seen"],
                                        "" if is_good else "   EXPECTED " + (wanted or "an answer")))
    print("    %s; %.0f s" % (", ".join("%d %s" % (n, word) for word, n in report["counts"].items()),
                              report["seconds"]))
    return good


if __name__ == "__main__":
    verbs = {f.__name__: f for f in (data, resume, curves, cpu, deep)}
    sys.exit(0 if verbs[sys.argv[1]](*sys.argv[2:]) else 1)
