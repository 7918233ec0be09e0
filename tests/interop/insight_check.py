"""Whether Perfetto and Prometheus read what interop_insight wrote, and found all of it.

usage: insight_check.py DIRECTORY    with perfetto, trace.json, text and json in it
"""
import json
import sys

from prometheus_client.parser import text_string_to_metric_families

failed = False


def expect(what, ok, seen=None):
    global failed
    if not ok:
        failed = True
        print(f"insight: {what}", seen if seen is not None else "")


def check_trace(directory):
    slices, problems, counters = (json.loads(line) for line in open(f"{directory}/perfetto"))
    events = json.load(open(f"{directory}/trace.json"))
    starts = [e for e in events if e["ph"] == "b"]
    expect("Perfetto has problems", problems == [], problems)
    expect("Perfetto found other slices", sorted(s["name"] for s in slices if s["dur"] != 0) ==
           sorted(e["name"] for e in starts), slices)
    expect("a slice has no end", all(s["dur"] >= 0 for s in slices), slices)
    for name in ("forward_backward", "optim_step", "create_training", "sample"):
        found = [s for s in slices if s["name"] == name and s["category"] == "operation"]
        expect(f"{name} is not there once", len(found) == 1, found)
    polls = [s for s in slices if s["name"] == "retrieve_future"]
    expect("too few polls", len(polls) >= 4 and all(s["category"] == "http" for s in polls))
    tags = {s["name"] for s in slices if s["tag"] == 'a "quoted" \\ tag'}
    expect("tags", {"forward_backward", "optim_step", "retrieve_future"} <= tags, tags)
    tokens = {c["name"]: c["value"] for c in counters}
    expect("tokens", tokens.get("tokens training") == 12 and tokens.get("tokens sampled") > 0,
           tokens)
    return len(slices)


def check_metrics(directory):
    families = {f.name: f for f in text_string_to_metric_families(open(f"{directory}/text").read())}
    rows = json.load(open(f"{directory}/json"))["metrics"]
    samples = {(s.name, *sorted(s.labels.items())): s.value
               for f in families.values() for s in f.samples}
    for row in rows:
        labels = sorted(row["labels"].items())
        name = row["name"]
        family = families.get(name.removesuffix("_total"))
        expect(f"{name} has another type", family and family.type == row["type"], family)
        if row["type"] != "histogram":
            expect(name, samples.get((name, *labels)) == row["value"], row)
            continue
        expect(name, samples.get((name + "_count", *labels)) == row["count"], row)
        expect(name, abs(samples.get((name + "_sum", *labels)) - row["sum"]) < 1e-9, row)
        last = 0
        buckets = [s for s in family.samples if s.name == name + "_bucket" and
                   [(k, v) for k, v in s.labels.items() if k != "le"] == labels]
        for bucket in buckets:
            expect(f"buckets of {name} shrink", bucket.value >= last, buckets)
            last = bucket.value
        expect(f"buckets of {name}", buckets and buckets[-1].labels["le"] == "+Inf" and
               last == row["count"], buckets)
    tokens = {s.labels["kind"]: s.value for s in families["tinkc_tokens"].samples}
    expect("tokens", tokens["training"] == 12 and
           tokens["prefill"] + tokens["cached_prefill"] == 3, tokens)
    return len(families)


slices = check_trace(sys.argv[1])
families = check_metrics(sys.argv[1])
if not failed:
    print(f"Perfetto read {slices} slices, Prometheus {families} metrics")
sys.exit(failed)
