"""Differences between two SDK versions: of their recordings and of their public interfaces.

A change has an owner (a request, an answer, a class, a type, a command), a text, and terms: words
that a row of docs/sdk-versions.md must contain to explain it. Pure functions of dictionaries;
sdk-drift.py reads the files and prints the rows, tests/docs/test_docs_drift.sh runs this module
on made-up recordings.
"""

import json
import re
from collections import namedtuple
from pathlib import Path

Change = namedtuple("Change", "area owner text terms")

SESSION = re.compile(r"00000000-0000-4000-8000-[0-9a-f]{12}(?::train:\d+|:sample:\d+)?")
CHECKPOINT = re.compile(r"(?:sampler_|external_)?weights/[^/]+")
RUN_TIME = ("x-stainless-", "user-agent", "host", "content-length", "accept-encoding", "connection",
            "x-tinker-create-promise")
# Objects whose keys are the caller's, not the protocol's.
MAPS = {"loss_fn_config", "loss_fn_config_v2", "loss_fn_inputs", "user_metadata", "metrics"}
MISSING = object()


def brief(value, limit=60):
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else text[:limit - 3] + "..."


def folded(value):
    """A list of objects as one object with the keys of all of them."""
    if isinstance(value, dict):
        return {k: folded(v) for k, v in value.items()}
    if isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
        out = {}
        for item in value:
            out = merged(out, folded(item))
        return [out]
    return value


# ---- requests ----

def endpoint(request):
    path = SESSION.sub("{id}", request["path"].removeprefix("/api/v1/"))
    return f"{request['method']} {CHECKPOINT.sub('{checkpoint}', path)}"


def word_of(name):
    """The part of an endpoint that a row names: its path, without the method."""
    return name.split(" ", 1)[1]


def payload(request):
    """Body, protobuf and query in one object."""
    out = {}
    for key in ("body", "protobuf"):
        if isinstance(request.get(key), dict):
            out.update(request[key])
    out.update({f"?{k}": v for k, v in request.get("params", {}).items()})
    return out


def merged(first, second):
    """The union of two folded objects, key by key."""
    if isinstance(first, list) and isinstance(second, list):
        return folded([*first, *second]) if first and second else first or second
    if not isinstance(first, dict) or not isinstance(second, dict):
        return first
    return {k: merged(first[k], second[k]) if k in first and k in second
            else first.get(k, second.get(k)) for k in [*first, *(k for k in second if k not in first)]}


def seen_by_endpoint(cases):
    """{endpoint: (payload, header names)} over all requests of all cases."""
    out = {}
    for recorded in cases.values():
        for request in recorded["requests"]:
            name = endpoint(request)
            body, headers = out.get(name, ({}, set()))
            names = {h.lower() for h in request["headers"]
                     if not h.lower().startswith(RUN_TIME)}
            out[name] = merged(body, folded(payload(request))), headers | names
    return out


def new_keys(old, new, path=()):
    """The topmost keys that only `new` has: (path, value)."""
    if isinstance(old, list) and isinstance(new, list) and old and new:
        yield from new_keys(old[0], new[0], path)
    if not isinstance(old, dict) or not isinstance(new, dict):
        return
    for key, value in new.items():
        if key not in old:
            yield (*path, key), value
        elif key not in MAPS:
            yield from new_keys(old[key], value, (*path, key))


def changed_values(old, new, path=()):
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old:
            if key in new:
                yield from changed_values(old[key], new[key], (*path, str(key)))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, pair in enumerate(zip(old, new)):
            yield from changed_values(*pair, (*path, str(index)))
    elif old != new:
        yield path, old, new


def requests(old, new):
    """Changes between the requests of two recordings: {case: file}."""
    before, after = seen_by_endpoint(old), seen_by_endpoint(new)
    for name in after.keys() - before.keys():
        keys = ", ".join(f"`{k}`" for k in after[name][0]) or "no body"
        terms = (k.lstrip("?") for k in after[name][0])
        yield Change("request", name, f"new: {keys}", (word_of(name), *terms))
    for name in before.keys() - after.keys():
        yield Change("request", name, "no longer sent", (word_of(name),))
    headers = {}
    for name in before.keys() & after.keys():
        (old_body, old_headers), (new_body, new_headers) = before[name], after[name]
        for path, value in new_keys(old_body, new_body):
            yield Change("request", name, f"`{'.'.join(path)}`: {brief(value)}",
                         (word_of(name), path[-1].lstrip("?")))
        for path, _ in new_keys(new_body, old_body):
            yield Change("request", name, f"`{'.'.join(path)}` is no longer sent",
                         (word_of(name), path[-1].lstrip("?")))
        for header in old_headers ^ new_headers:
            headers.setdefault((header, header in new_headers), []).append(name)
    for (header, added), names in headers.items():
        yield Change("header", header, f"{'new' if added else 'no longer sent'}: "
                     f"{', '.join(sorted(names))}", (header,))
    yield from same_cases(old, new)


def same_cases(old, new):
    """Order of requests and values, in cases that both versions ran."""
    for case in sorted(old.keys() & new.keys()):
        before = [endpoint(r) for r in old[case]["requests"]]
        after = [endpoint(r) for r in new[case]["requests"]]
        if before != after:
            yield Change("order", case, f"{', '.join(map(word_of, before))} became "
                         f"{', '.join(map(word_of, after))}", (case,))
            continue
        for one, two in zip(old[case]["requests"], new[case]["requests"]):
            for path, was, now in changed_values(payload(one), payload(two)):
                yield Change("value", endpoint(two), f"`{'.'.join(path)}`: {brief(was)} became "
                             f"{brief(now)}", (word_of(endpoint(two)), path[-1]))


# ---- answers ----

def bodies(answers):
    return {json.dumps(a.get("body", a.get("protobuf_base64", a.get("name"))), sort_keys=True): a
            for a in answers}


def answers(name, old, new):
    """Changes in how one type is read; `old` and `new` are lists of answers."""
    before, after = bodies(old), bodies(new)
    found = {}
    for key in before.keys() & after.keys():
        one, two = before[key], after[key]
        what = brief(one.get("name", one.get("body", key)))
        if "error" in one and "decoded" in two:
            found[f"accepts {what}"] = ("accepts",)
        elif "decoded" in one and "error" in two:
            found[f"refuses {what}"] = ("refuses",)
        elif "decoded" in one:
            for path, _ in new_keys(folded(one["decoded"]), folded(two["decoded"])):
                found[f"`{'.'.join(path)}`"] = (path[-1],)
            for path, _ in new_keys(folded(two["decoded"]), folded(one["decoded"])):
                found[f"no longer `{'.'.join(path)}`"] = (path[-1],)
            for path, was, now in changed_values(one["decoded"], two["decoded"]):
                found[f"`{'.'.join(path)}` of {what}: {brief(was)} became {brief(now)}"] = (path[-1],)
    for text, terms in found.items():
        yield Change("answer", name, text, (name, *terms))


def outcomes(name, old, new):
    """Changes in scripted failures: entries with a name and what was seen."""
    before = {e["name"]: e["seen"] for e in old}
    for entry in new:
        was = before.get(entry["name"], entry["seen"])
        if was != entry["seen"]:
            words = sorted(set(re.findall(r"\w+Error", json.dumps(entry["seen"])))
                           - set(re.findall(r"\w+Error", json.dumps(was))))
            owner = f"{name} {entry['name'].split('_')[0] if name == 'status' else entry['name']}"
            yield Change("answer", owner, f"{brief(was, 90)} became {brief(entry['seen'], 90)}",
                         (owner.split(" ")[1], *words))


# ---- values ----

RESULTS = ("result", "error", "shape", "length", "bytes", "chunks", "query")


def entries(value):
    """{input: result} of a file of goldens, whatever its lists are called."""
    out = {}
    lists = [v for v in value.values() if isinstance(v, list)] if isinstance(value, dict) else []
    for items in lists:
        for item in items:
            if isinstance(item, dict):
                key = {k: v for k, v in item.items() if k not in RESULTS}
                out[json.dumps(key, sort_keys=True)] = {k: item[k] for k in RESULTS if k in item}
    return out


def facts(old, new):
    """Changes of the named facts of recorder/facts.py; a row that explains one has its name."""
    before, after = ({f["name"]: f.get("result", f.get("error")) for f in v["facts"]}
                     for v in (old, new))
    for name, was, now in two_maps(before, after):
        if was is MISSING or now is MISSING:
            text = f"new: {brief(now, 90)}" if was is MISSING else "gone"
            yield Change("fact", name, text, (name,))
        elif isinstance(was, dict) and isinstance(now, dict):
            for path, value in new_keys(was, now):
                yield Change("fact", name, f"`{'.'.join(path)}`: {brief(value)}", (name, path[-1]))
            for path, one, two in changed_values(was, now):
                yield Change("fact", name, f"`{'.'.join(path)}`: {brief(one)} became {brief(two)}",
                             (name, path[-1]))
        elif was != now:
            yield Change("fact", name, f"{brief(was)} became {brief(now)}", (name,))


def goldens(name, old, new):
    for key in old.keys() & new.keys():
        one, two = old[key], new[key]
        if isinstance(one, list) and all(isinstance(v, str) for v in [*one, *two]):
            for word in sorted(set(one) ^ set(two)):
                yield Change("value", name, f"`{word}` is {'new' if word in two else 'gone'}", (word,))
    before, after = entries(old), entries(new)
    for key in before.keys() & after.keys():
        if before[key] != after[key]:
            words = re.findall(r"[a-z]+[_0-9][a-z_0-9]*", key)
            yield Change("value", name, f"{brief(key, 90)}: {brief(before[key])} became "
                         f"{brief(after[key])}", tuple(words[:1]) or (name,))


# ---- whole recordings ----

def load(directory):
    """The files of a recording; the version's number, which always changes, is replaced."""
    directory = Path(directory)
    out = {}
    for path in sorted(directory.rglob("*.json")):
        if path.parent != directory:
            text = path.read_text(encoding="utf-8").replace(directory.name, "<version>")
            out[str(path.relative_to(directory))[:-5]] = json.loads(text)
    return out


def part(files, prefix):
    return {k.removeprefix(prefix): v for k, v in files.items() if k.startswith(prefix)}


def recordings(old, new):
    """Every change between two recordings: {relative path without .json: contents}."""
    yield from requests(part(old, "requests/"), part(new, "requests/"))
    for name in sorted(old.keys() & new.keys()):
        if name.startswith("responses/json/"):
            yield from answers(new[name]["type"], old[name]["answers"], new[name]["answers"])
        elif name.startswith("responses/"):
            one, two = old[name], new[name]
            if "message" in two:
                yield from answers(two["message"], one["answers"], two["answers"])
            elif "outcomes" in two:
                yield from outcomes("future", one["outcomes"], two["outcomes"])
            else:
                yield from outcomes("status", one["answers"], two["answers"])
        elif name == "goldens/facts":
            yield from facts(old[name], new[name])
        elif name.startswith("goldens/"):
            yield from goldens(name.split("/")[1], old[name], new[name])


# ---- public interfaces ----

def fold(calls):
    """Without the asynchronous twin of a call, which has its parameters."""
    return {n: c for n, c in calls.items() if not (n.endswith("_async") and n[:-6] in calls)}


def spelled(name, parameter):
    default = parameter.get("default")
    return f"{name}={default}" if default is not None else name


def two_maps(old, new):
    """(name, was, now) of every key of two objects; MISSING where there is none."""
    for name in sorted(old.keys() | new.keys()):
        yield name, old.get(name, MISSING), new.get(name, MISSING)


def members(area, owner, old, new, spell):
    """Changes of the members of one thing."""
    for name, was, now in two_maps(old, new):
        if was is MISSING:
            text = f"`{spell(name, now)}` is new"
        elif now is MISSING:
            text = f"`{name}` is gone"
        elif was != now:
            text = f"`{name}`: {brief(flat(was), 120)} became {brief(flat(now), 120)}"
        else:
            continue
        yield Change(area, owner, text, (owner, name))


def flat(value):
    if isinstance(value, dict):
        return ", ".join(f"{k} {flat(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


def calls(old, new):
    old, new = fold(old), fold(new)
    for name, was, now in two_maps(old, new):
        head, _, tail = name.partition(".")
        terms = (head, tail) if tail else (head,)
        if was is MISSING:
            given = ", ".join(spelled(n, p) for n, p in now.get("parameters", {}).items())
            yield Change("call", head, f"`{tail or head}({given})` is new", terms)
        elif now is MISSING:
            yield Change("call", head, f"`{tail or head}` is gone", terms)
        else:
            yield from members("call", name, was.get("parameters", {}), now.get("parameters", {}),
                               spelled)
            if "deprecated" in now and "deprecated" not in was:
                yield Change("call", name, "deprecated", (name, "deprecated"))


def types(old, new):
    for name, was, now in two_maps(old, new):
        if was is MISSING or now is MISSING:
            value = now if was is MISSING else {}
            inside = value.get("fields") or value.get("values") or []
            given = f": {', '.join(f'`{f}`' for f in inside)}" if inside else ""
            yield Change("type", name, f"new{given}" if was is MISSING else "gone", (name,))
            continue
        yield from members("type", name, was.get("fields", {}), now.get("fields", {}), spelled)
        for word in sorted(set(was.get("values", [])) ^ set(now.get("values", []))):
            there = word in now.get("values", [])
            yield Change("type", name, f"value `{word}` is {'new' if there else 'gone'}", (name, word))
        if was.get("alias") != now.get("alias"):
            yield Change("type", name, f"{brief(was.get('alias'), 120)} became "
                         f"{brief(now.get('alias'), 120)}", (name, "became"))


def things(area, old, new, spell=lambda name, _: name):
    """Messages and commands: things with members."""
    for name, was, now in two_maps(old, new):
        if was is MISSING:
            inside = ", ".join(f"`{v if isinstance(v, str) else k}`" for k, v in now.items())
            yield Change(area, name, f"new{': ' + inside if inside else ''}", (name,))
        elif now is MISSING:
            yield Change(area, name, "gone", (name,))
        else:
            yield from members(area, name, was, now, spell)


def names(area, owner, old, new):
    for name in sorted(set(old) ^ set(new)):
        yield Change(area, owner, f"`{name}` is {'new' if name in new else 'gone'}", (name,))


def surfaces(old, new):
    """Every change between two outputs of recorder/surface.py."""
    yield from calls(old["calls"], new["calls"])
    yield from types(old["types"], new["types"])
    yield from things("message", old["messages"], new["messages"],
                      lambda number, field: f"{number} {field}")
    yield from things("command", old["commands"], new["commands"])
    yield from names("error", "exceptions", old["errors"], new["errors"])
    known = old["calls"].keys() ^ new["calls"].keys() | old["types"].keys() ^ new["types"].keys() \
        | old["errors"].keys() ^ new["errors"].keys()
    yield from names("export", "exports of `tinker`", set(old["exports"]) - known,
                     set(new["exports"]) - known)
    yield from names("variable", "environment", old["variables"], new["variables"])
    yield from names("package", "requirements", old["requires"], new["requires"])


# ---- rows ----

def rows(changes, version):
    """One row for all changes of an owner, as docs/sdk-versions.md has them."""
    grouped = {}
    for change in changes:
        grouped.setdefault((change.area, change.owner), []).append(change)
    out = []
    for (area, owner), items in grouped.items():
        text = "; ".join(dict.fromkeys(i.text for i in items)).replace("|", "\\|")
        shown = owner if "`" in owner else f"`{owner}`"
        out.append((f"| {version} | {area} | {shown} | {text} |", items))
    return out


def table_rows(text):
    return [line for line in text.splitlines() if line.startswith("| ")]


def contains(row, term):
    return re.search(rf"(?<![\w-]){re.escape(term)}(?![\w-])", row) is not None


def explained(change, table):
    """The rows that explain a change: each has all of its terms."""
    return [row for row in table if all(contains(row, t) for t in change.terms)]
