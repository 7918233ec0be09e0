#!/usr/bin/env python3
"""The console of `tinkc serve` in a browser: a training run, an agent's episode and samples of the real server.

  tests/browser/test_serve.py [WORD...]   only cases with one of the words in their name

The program is $TINKC_BUILD_DIR/tinkc, or build/tinkc.
"""
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile

import hostile
from frame import OUT, ROOT, Suite, allows, need, quiet, same
from test_access import AXE, scan
from test_page import SIZES

BUILD = ROOT / os.environ.get("TINKC_BUILD_DIR", "build")
PROGRAM = BUILD / "tinkc"
RECORDER = BUILD / "bench/bench_recorder"  # records a run of LONG steps as the server does
LONG = 100_000
MODEL = "tinkc/pebble-llama-2m"
ENTER = "\ue007"
KEY = "tml-of-the-browser-tests"


class Serve:
    """A server with a directory of its own."""

    def __init__(self, folder, *options, env=None):
        self.folder = folder
        self.env = {"HOME": folder, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TINKER_API_KEY": "tml-local", **(env or {})}
        self.process = subprocess.Popen([PROGRAM, "serve", "--port", "0", "--data", folder + "/data", *options],
                                        stdout=subprocess.PIPE, stderr=open(folder + "/log", "w"), text=True, env=self.env)
        line = self.process.stdout.readline()
        need(line.startswith("listening on "), "the server does not start: " + open(folder + "/log").read()[-500:])
        self.url = line.split()[-1]

    def tinkc(self, *words, wait=True):
        command = [PROGRAM, *words, "--base-url", self.url]
        if not wait:
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=self.env, cwd=self.folder)
        done = subprocess.run(command, capture_output=True, text=True, env=self.env, cwd=self.folder, timeout=300)
        need(done.returncode == 0, f"{words[0]}: {done.stderr[-500:]}")
        return done.stdout

    def ask(self, method, path, body=None, status=200, headers=None):
        connection = http.client.HTTPConnection(self.url.split("/")[-1], timeout=60)
        connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        text = answer.read()
        need(answer.status == status, f"{method} {path}: {answer.status} {text[:300]}")
        return json.loads(text) if text else None

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def write_chats(s):
    with open(s.folder + "/chats.jsonl", "w") as file:
        for i in range(64):
            file.write(json.dumps({"messages": [{"role": "user", "content": f"What is lamp {i}?"}, {"role": "assistant", "content": "A lamp in the window."}]}) + "\n")


def fill(s):
    """Two training runs, two episodes, a few samples."""
    write_chats(s)
    s.tinkc("train", "chats.jsonl", "-m", MODEL, "--steps", "12", "-b", "8", "--save", "lamps", "--eval", "chats.jsonl", "--save-every", "6")
    s.tinkc("train", "chats.jsonl", "-m", MODEL, "--steps", "6", "-b", "8", "--lr", "0.001", "--save", "faster", "--state", "two.json")
    talk = [{"role": "user", "content": "Say hello"}]
    for task in ("task-1", "task-2"):
        answer = s.ask("POST", f"/e/{task}/v1/chat/completions", {"model": MODEL, "messages": talk, "max_tokens": 12, "seed": 1})
        more = [*talk, answer["choices"][0]["message"], {"role": "user", "content": "And again"}]
        s.ask("POST", f"/e/{task}/v1/chat/completions", {"model": MODEL, "messages": more, "max_tokens": 8, "seed": 2})
        s.ask("POST", f"/tinkc/v1/episodes/{task}/reward", {"reward": 0.5 if task == "task-1" else 1.0})
    s.ask("POST", "/v1/chat/completions", {"model": MODEL, "messages": talk, "n": 4, "max_tokens": 10, "seed": 3, "logprobs": True})
    for text in (hostile.SCRIPT, hostile.RTL, hostile.TERMINAL, "y" * 600):
        s.ask("POST", "/v1/completions", {"model": MODEL, "prompt": text, "max_tokens": 3, "seed": 4})


HOSTILE = "hostile"  # a model whose tokens are hostile texts


def fill_hostile(s):
    """What a hostile model and a hostile client leave behind, through the routes that every client uses."""
    wanted = {hostile.SCRIPT, hostile.TERMINAL, hostile.RTL, hostile.LINE, "\ufffd"}
    for seed in range(1, 20):
        answer = s.ask("POST", "/v1/completions", {"model": HOSTILE, "prompt": "Hello", "n": 8, "max_tokens": 900, "temperature": 100, "seed": seed, "ignore_eos": True})
        wanted -= {w for w in wanted if any(w in c["text"] for c in answer["choices"])}
        if not wanted:
            break
    need(not wanted, f"the model never said {[w[:20] for w in wanted]}")
    s.ask("POST", "/e/hostile/v1/chat/completions", {"model": HOSTILE, "messages": [{"role": "user", "content": hostile.SCRIPT + hostile.TERMINAL + hostile.RTL}],
                                                     "max_tokens": 700, "temperature": 100, "seed": 2, "ignore_eos": True})
    s.ask("POST", "/tinkc/v1/episodes/hostile/reward", {"reward": 0.5, "metadata": {hostile.SCRIPT: hostile.RTL}})
    session = s.ask("POST", "/api/v1/create_session", {"type": "create_session", "tags": [], "sdk_version": "0.36.0", "display_name": hostile.NAME})["session_id"]
    s.ask("POST", "/api/v1/create_model", {"type": "create_model", "session_id": session, "model_seq_id": 0, "base_model": MODEL, "lora_config": {"rank": 8},
                                           "user_metadata": {"name": hostile.NAME, hostile.SCRIPT: hostile.TERMINAL, "rtl": hostile.RTL}})


def clean(b, what):
    same(b.js("return [window.__hacked ?? null, document.querySelectorAll('main script, main img').length]"), [None, 0], f"what {what} did")
    need(b.js("return document.documentElement.scrollWidth <= innerWidth"), f"{what}: the page is wider than the window")


def outputs_of_a_hostile_model_are_text(b, s):
    rows, seen = s.ask("GET", "/tinkc/v1/console/samples?limit=200")["samples"], ""
    b.go(s.url + "/#/rollouts")
    b.see(".items a")
    clean(b, "the list")
    wanted = {"script": hostile.SCRIPT, "terminal": hostile.SEEN_TERMINAL, "direction": hostile.SEEN_RTL, "line": hostile.LINE, "broken": "\ufffd"}
    for row in rows:
        b.go(s.url + f"/#/rollouts/samples/{row['id']}")
        b.see(".detail h2", f"^Sample {row['id']}$")
        b.see(".tokens[aria-label=Output] .tok")
        seen = b.text(".tokens[aria-label=Output]")
        clean(b, f"sample {row['id']}")
        wanted = {k: w for k, w in wanted.items() if w not in seen}
        if not wanted:
            break
    need(not wanted, f"not seen: {list(wanted)}")


def a_hostile_name_of_a_run_is_text(b, s):
    b.go(s.url)
    b.see("tr th a", "^<script>window.__hacked=1</script>")
    clean(b, "the name of a run")
    b.click("tr th a", "^<script>")
    b.see("h1", "^<script>")
    b.see(".facts", "<script>")
    for words in (hostile.SEEN_TERMINAL, hostile.SEEN_RTL):
        need(words in b.text(".facts"), f"not seen: {words!r}")
    clean(b, "a run")
    b.go(s.url + "/#/server")
    b.see("section[aria-label=Sessions] td", "^<script>")
    clean(b, "a session")


def a_hostile_episode_is_text(b, s):
    b.go(s.url + "/#/rollouts/episodes/hostile")
    b.see(".detail h2", "^hostile$")
    b.see(".facts", "<script>")
    b.see(".turn .said", "\ufffd")
    b.until("the tokens", "return [...document.querySelectorAll('.detail .tok')].some(e => e.textContent.includes('<|user|>'))")
    for words in (hostile.SCRIPT[:9], hostile.SEEN_TERMINAL[:4], hostile.SEEN_RTL[:12]):
        need(words in b.text(".detail .tokens"), f"not seen: {words!r}")
    clean(b, "an episode")


def the_stream_of_a_hostile_model_is_text(b, s):
    b.go(s.url + "/#/playground?model=" + HOSTILE)
    b.see(".pane select")
    b.click("summary", "Parameters")
    for field, value in (("Temperature", "100"), ("Tokens at most", "800"), ("Seed", "3")):
        b.js("""const e = [...document.querySelectorAll('.params label')].find(l => l.textContent.startsWith(arguments[0])).querySelector('input');
            e.value = arguments[1]; e.dispatchEvent(new Event('input'))""", field, value)
    b.type("#say", hostile.SCRIPT)
    b.keys(ENTER)
    b.see(".talk article.model[data-done]", "tokens? in")
    b.see(".talk .said", "^<script>")
    b.see(".talk .tokens", "\ufffd")
    clean(b, "an answer")


def runs_of(s):
    return s.ask("GET", "/tinkc/v1/console/runs")["runs"]


def run_named(s, name):
    found = [r for r in runs_of(s) if r["name"] == name]
    need(found, f"there is no run {name}: {[r['name'] for r in runs_of(s)]}")
    return found[0]


def open_run(b, s, name):
    run = run_named(s, name)
    b.go(s.url + "/#/runs/" + run["id"].replace(":", "%3A"))
    b.see("#by")
    b.see(".plot path[stroke-width]")
    return run


def runs_of_the_server_are_listed(b, s):
    b.go(s.url)
    for name in ("lamps", "faster"):
        b.see("tr th a", f"^{name}$")
    b.see("#live[data-state=live]")
    b.shot(OUT / "serve-runs.png")
    b.keys("/")
    b.keys(*"faster")
    b.until("one row", "return document.querySelectorAll('table.runs tbody tr').length === 1")


def a_run_of_the_server_is_shown(b, s):
    run = open_run(b, s, "lamps")
    same(run["step"], 12, "steps")
    b.see("[data-fact=Step] dd", "^12$")
    b.see(".tile", "grad_norm")
    b.see("section[aria-label=Throughput]", "Tokens per second")
    b.see("section[aria-label=Checkpoints] tr", "sampler_weights/")
    b.shot(OUT / "serve-run.png")
    b.pointer(".plot", ("move", 300, 100), "down", ("move", 380, 120), ("move", 700, 120), "up")
    b.see("#whole")
    b.click("#whole")
    b.gone("#whole")


def runs_of_the_server_are_compared(b, s):
    ids = [run_named(s, n)["id"].replace(":", "%3A") for n in ("lamps", "faster")]
    b.go(s.url + "/#/runs?compare=" + ",".join(ids))
    b.until("two curves", "return document.querySelectorAll('.plot path[stroke-width]').length === 2")


def a_training_is_followed(b, s):
    """The page shows steps as they happen."""
    b.go(s.url)
    b.see("#live[data-state=live]")
    training = s.tinkc("train", "chats.jsonl", "-m", MODEL, "--steps", "400", "-b", "8", "--save", "live", "--state", "live.json", wait=False)
    try:
        b.see("tr th a", "^(live|chats)")
        b.see(".state.training")
        b.click("tr th a", "^(live|chats)")
        b.see("#by")
        first = b.until("a step", "return Number(document.querySelector('.view').dataset.step) || 0")
        b.until("more steps", "return Number(document.querySelector('.view').dataset.step) > a[0] + 3", first)
        line = b.js("return document.querySelector('.plot path[stroke-width]').getAttribute('d')")
        b.until("the curve to grow", "return document.querySelector('.plot path[stroke-width]').getAttribute('d') !== a[0]", line)
    finally:
        training.send_signal(signal.SIGINT)
        training.communicate(timeout=120)


def a_checkpoint_of_the_server_is_deleted(b, s):
    open_run(b, s, "faster")
    row = "tr[data-checkpoint^='weights/'] "
    name = b.js("return document.querySelector(arguments[0]).dataset.checkpoint", "tr[data-checkpoint^='weights/']")
    b.click(row + "button", "^Publish$")
    b.see(row + "button", "^Unpublish$")
    b.click(row + "button", "^Expiry$")
    b.click("dialog button", "^Set$")
    b.see(row + "time", "in ")
    b.click(row + "button", "^Delete$")
    b.click("dialog button", "^Cancel$")
    b.gone("dialog")
    need(b.count(f"tr[data-checkpoint='{name}']"), "deleted without a confirmation")
    b.click(row + "button", "^Delete$")
    b.click("dialog button.danger")
    b.until("the row to go", "return !document.querySelector(a[0])", f"tr[data-checkpoint='{name}']")


def samples_of_the_server_are_shown(b, s):
    b.go(s.url + "/#/rollouts")
    b.see(".items a")
    b.until("a sample", "return document.querySelector('.detail .tokens[aria-label=Output]')")
    before = b.count(".items a")
    s.ask("POST", "/v1/chat/completions", {"model": MODEL, "messages": [{"role": "user", "content": "One more"}], "max_tokens": 5})
    b.click("button", "^\\d+ new$")
    b.until("one more", "return document.querySelectorAll('.items a').length > a[0]", before)
    group = [x for x in s.ask("GET", "/tinkc/v1/console/samples?limit=200")["samples"]]
    several = [x for x in group if sum(y["group"] == x["group"] for y in group) == 4]
    need(several, "there is no group of 4")
    b.go(s.url + f"/#/rollouts/samples/{several[0]['id']}")
    b.see(".detail h2", "^Sample")
    b.see(".tokens[aria-label=Output] .tok")
    b.shot(OUT / "serve-sample.png")
    b.click("button", "Its group side by side")
    b.see(".detail h2", "^Group of 4$")


def hostile_prompts_of_the_server_are_text(b, s):
    rows = s.ask("GET", "/tinkc/v1/console/samples?limit=200")["samples"]
    seen = ""
    for row in rows:
        detail = s.ask("GET", f"/tinkc/v1/console/samples/{row['id']}")
        text = "".join(detail["prompt"]["text"])
        if not any(h in text for h in ("<script>", "gnp.exe", "[31mred")):
            continue
        b.go(s.url + f"/#/rollouts/samples/{row['id']}")
        b.see(".detail h2", f"^Sample {row['id']}$")
        seen += b.text(".tokens[aria-label=Prompt]")
        same(b.js("return [window.__hacked ?? null, document.querySelectorAll('main script, main img').length]"), [None, 0], "what a hostile prompt did")
    for words in (hostile.SCRIPT, hostile.SEEN_RTL, hostile.SEEN_TERMINAL):
        need(words in seen, f"not seen: {words!r} in {seen[:200]!r}")


def episodes_of_the_server_are_shown(b, s):
    b.go(s.url + "/#/rollouts/episodes/task-1")
    b.see(".histogram .bin")
    b.see(".detail h2", "^task-1$")
    b.see(".items a[data-key=etask-1] small", "^2 turns ")
    b.until("two turns", "return document.querySelectorAll('.turn').length === 2")
    b.until("the tokens", "return [...document.querySelectorAll('.detail .tok')].some(e => e.textContent.includes('<|user|>'))")
    b.shot(OUT / "serve-episode.png")
    b.click(".detail button.danger")
    b.click("dialog button.danger")
    b.until("it to go", "return !document.querySelector('[data-key=etask-1]')")


def the_playground_of_the_server_works(b, s):
    b.go(s.url + "/#/playground")
    b.see(".pane select")
    b.type("#say", "Hello, who are you?")
    b.keys(ENTER)
    b.see(".talk article.model[data-done]", "tokens? in")
    need(b.count(".talk .tok") > 1, "there is no answer")
    b.pointer(".talk .tokens .tok", ("move", 4, 8))
    b.see(".others code")
    b.shot(OUT / "serve-playground.png")
    before = b.text(".talk .tokens")
    b.click(".talk .tokens .tok:nth-child(2)")
    b.see("dialog .choices button")
    b.js("const e = document.querySelector('dialog input'); e.value = ' lamp'; e.dispatchEvent(new Event('input'))")
    b.click("dialog button", "^Continue$")
    b.until("another answer", "return document.querySelector('.talk .tokens').textContent !== a[0] && document.querySelector('.talk .tokens').textContent.includes(' lamp')", before)
    b.js("const e = document.querySelector('#mode'); e.value = 'text'; e.dispatchEvent(new Event('change'))")
    b.type("#say", "Once upon")
    b.click("#send")
    b.see(".talk article.model[data-done]", "tokens? in")


def probabilities_can_be_compared(b, s):
    """The sampled token and what else was likely have one temperature, which is named; another one gives other numbers."""
    seen = {}
    for temperature in ("0.5", "1", "0"):
        b.go("about:blank")
        b.go(s.url + "/#/playground")
        b.see(".pane select")
        b.click("summary", "Parameters")
        for field, value in (("Temperature", temperature), ("Tokens at most", "1"), ("Seed", "7")):
            b.js("""const e = [...document.querySelectorAll('.params label')].find(l => l.textContent.startsWith(arguments[0])).querySelector('input');
                e.value = arguments[1]; e.dispatchEvent(new Event('input'))""", field, value)
        b.type("#say", "Hello")
        b.keys(ENTER)
        b.see(".talk article.model[data-done]")
        b.pointer(".talk .tokens .tok", ("move", 4, 8))
        b.see(".others .own")
        at = temperature if temperature != "0" else "1"
        b.see(".token-info", f"at temperature {at}.*at temperature {at}: ")
        own = b.text(".others .own").split()[-2]
        drawn = next(t for t in b.texts(".token-info > span") if "(" in t)
        need(drawn.startswith(f"{own} % (") and drawn.endswith(f"at temperature {at}"), f"drawn with {drawn}, shown as {own} %")
        total = b.js("return [...document.querySelectorAll('.others > span')].reduce((n, e) => n + parseFloat(e.textContent.match(/([\\d.e−]+) %/)[1].replace('−', '-')), 0)")
        need(total <= 100.2, f"the alternatives add up to {total} %")
        seen[temperature] = b.texts(".others > span")
    need(seen["0.5"] != seen["1"], "the temperature changes nothing")


def two_checkpoints_answer(b, s):
    open_run(b, s, "lamps")
    b.click("tr a", "^Try$")
    b.see(".pane select")
    b.click("#two")
    b.until("two columns", "return document.querySelectorAll('.pane').length === 2")
    b.type("#say", "What is lamp 3?")
    b.keys(ENTER)
    b.until("two answers", "return document.querySelectorAll('.talk article.model[data-done]').length === 2")


def every_page_of_the_server_fits_and_is_accessible(b, s):
    """Real data at 400 and 1600 pixels, light and dark."""
    sample = s.ask("GET", "/tinkc/v1/console/samples?limit=1")["samples"][0]["id"]
    run, both = (run_named(s, "lamps")["id"].replace(":", "%3A"), ",".join(r["id"].replace(":", "%3A") for r in runs_of(s)[:2]))
    for name, place, ready in (("runs", "/#/runs", "table.runs"), ("run", "/#/runs/" + run, "section[aria-label=Checkpoints] table"),
                               ("compare", "/#/runs?compare=" + both, ".plot path[stroke-width]"), ("sample", f"/#/rollouts/samples/{sample}", ".detail .tok"),
                               ("episode", "/#/rollouts/episodes/task-2", ".detail .tok"), ("playground", "/#/playground", ".pane select"),
                               ("server", "/#/server", "section[aria-label=Queue]")):
        for width, size in SIZES:
            b.size(width, 900)
            for scheme in ("light", "dark"):
                b.scheme(scheme)
                b.go("about:blank")
                b.go(s.url + place)
                b.see(ready)
                if name in ("sample", "episode"):
                    b.until("a title that the header does not cover", "return document.querySelector('.detail h2').getBoundingClientRect().top >= document.querySelector('.top').getBoundingClientRect().bottom")
                wide = b.js("return [document.documentElement.scrollWidth, innerWidth]")
                need(wide[0] <= wide[1], f"{name} at {width} px is {wide[0]} px wide")
                if AXE.is_file():
                    scan(b, f"{name}, {size}, {scheme}")
                b.shot(OUT / f"serve-{name}-{size}-{scheme}.png")


def the_server_shows_itself(b, s):
    b.go(s.url + "/#/server")
    for name in ("Engine", "Memory", "Requests", "Recording", "Queue", "Sessions"):
        b.see(f"section[aria-label='{name}']")
    b.shot(OUT / "serve-server.png")


@allows("status of 401")
def the_key_of_the_server_logs_in(b, s):
    b.go(s.url)
    b.type("form.login input", "tml-wrong")
    b.keys(ENTER)
    b.see("form.login [role=alert]", "does not know this key")
    b.js("document.querySelector('form.login input').value = ''")
    b.type("form.login input", KEY)
    b.keys(ENTER)
    b.see("h2", "No runs yet")
    b.see("#live[data-state=live]")
    same(b.js("return document.cookie"), "", "what scripts see of the cookie")
    # the cookie counts like the key, but not without the mark that no form can send
    same(b.ajs("fetch('/tinkc/v1/console/samples', {method: 'DELETE'}).then(r => arguments[0](r.status))"), 403, "status without X-Tinkc-Console")
    same(b.ajs("fetch('/api/v1/get_server_capabilities').then(r => arguments[0](r.status))"), 200, "status with the cookie")
    b.click("#logout")
    b.see("form.login")


the_key_of_the_server_logs_in.allowed += ("status of 403",)


def the_server_opens_the_page(b, s):
    """serve --open with a key: xdg-open is a script that writes the address down."""
    with tempfile.TemporaryDirectory(prefix="tinkc-browser-") as folder:
        os.mkfifo(folder + "/address")
        with open(folder + "/xdg-open", "w") as file:
            file.write(f"#!/bin/sh\necho \"$1\" >{folder}/address\n")
        os.chmod(folder + "/xdg-open", 0o700)
        other = Serve(folder, "--api-key", KEY, "--open", env={"PATH": folder + ":" + os.environ["PATH"]})
        try:
            url = open(folder + "/address").read().strip()
            need(url.startswith(other.url + "/#login="), "the address is " + url.split("=")[0])
            b.go(url)
            b.see("h2", "No runs yet")
            need("login" not in b.js("return location.href"), "the code stays in the address")
            b.see("#live[data-state=live]")
            b.log()
            quiet(b, other.url)
        finally:
            b.go("about:blank")
            other.close()


@allows("status of 401")
def a_code_of_the_server_logs_in_once(b, s):
    code = s.ask("POST", "/tinkc/v1/console/code", {}, headers={"X-API-Key": KEY})["code"]
    b.go(s.url + f"/#login={code}&to=/server")
    b.see("h1", "^Server$")
    need("login" not in b.js("return location.href"), "the code stays in the address")
    b.click("#logout")
    b.see("form.login")
    b.go("about:blank")
    b.go(s.url + f"/#login={code}&to=/server")
    b.see("form.login [role=alert]", "was used or is too old")


def resident(s):
    """The server's resident memory in MB."""
    with open(f"/proc/{s.process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) / 1024


def a_long_run_of_the_server_is_shown_soon(b, s):
    """Prints the time from a click to the curve, and what the server needs for it; asserts only that the curve comes, and that
    it is that of all steps."""
    size = sum(os.path.getsize(f"{s.folder}/data/{name}") for name in ("console.db", "console.db-wal") if os.path.exists(f"{s.folder}/data/{name}"))
    before = resident(s)
    times = []
    for _ in range(5):
        b.go(s.url)
        b.see("tr th a", "^a long run$")
        times.append(b.ajs("""const done = arguments[0], began = performance.now();
            [...document.querySelectorAll('tr th a')].find(e => e.textContent === 'a long run').click();
            const look = () => document.querySelector('.plot path[stroke-width]') ? requestAnimationFrame(() => done(performance.now() - began)) : requestAnimationFrame(look);
            look();"""))
        b.see("[data-fact=Step] dd", "^100.?000$")
    after = resident(s)
    b.shot(OUT / "serve-long-run.png")
    need("100 k" in b.texts(".plot text"), "the axis does not end at 100 k: " + ", ".join(b.texts(".plot text")))
    series = s.ask("GET", "/tinkc/v1/console/runs/a-long-run%3Atrain%3A0/series?metric=loss")["series"][0]
    same([series["total"], series["decimated"], sum(series["n"]), series["step"][-1]], [LONG, True, LONG, LONG], "what the curve stands for")
    need(len(series["step"]) <= 1000, "the series is not decimated")
    print(f"      {LONG:,} steps of tinkc serve: the curve is there {', '.join(f'{t:.0f}' for t in times)} ms after the click; "
          f"database {size / 1e6:.1f} MB; resident {before:.1f} MB, {after:.1f} MB after five views")


CASES = (runs_of_the_server_are_listed, a_run_of_the_server_is_shown, runs_of_the_server_are_compared, a_training_is_followed, samples_of_the_server_are_shown,
         hostile_prompts_of_the_server_are_text, episodes_of_the_server_are_shown, the_playground_of_the_server_works, probabilities_can_be_compared, two_checkpoints_answer,
         every_page_of_the_server_fits_and_is_accessible, a_checkpoint_of_the_server_is_deleted, the_server_shows_itself)
HOSTILE_CASES = (outputs_of_a_hostile_model_are_text, a_hostile_name_of_a_run_is_text, a_hostile_episode_is_text, the_stream_of_a_hostile_model_is_text)
LONG_CASES = (a_long_run_of_the_server_is_shown_soon,)
LOCKED_CASES = (the_key_of_the_server_logs_in, a_code_of_the_server_logs_in_once, the_server_opens_the_page)


def main():
    for program in (PROGRAM, RECORDER):
        if not program.is_file():
            print(f"serve: {program} is missing: type make")
            return 1
    with contextlib.ExitStack() as stack:
        folders = [stack.enter_context(tempfile.TemporaryDirectory(prefix="tinkc-browser-")) for _ in range(4)]
        hostile.model(ROOT / "models/pebble-llama-2m", folders[2] + "/" + HOSTILE)
        os.mkdir(folders[3] + "/data", 0o700)
        subprocess.run([RECORDER, folders[3] + "/data"], check=True)
        open_server, locked, bad, long_server = (Serve(folders[0]), Serve(folders[1], "--api-key", KEY),
                                                 Serve(folders[2], folders[2] + "/" + HOSTILE), Serve(folders[3]))
        try:
            fill(open_server)
            fill_hostile(bad)
            suite = Suite("serve")
            for cases, server in ((CASES, open_server), (HOSTILE_CASES, bad), (LONG_CASES, long_server), (LOCKED_CASES, locked)):
                for case in cases:
                    suite.run(case, server)
            result = suite.finish()
        finally:
            open_server.close()
            locked.close()
            bad.close()
            long_server.close()
    return result


if __name__ == "__main__":
    sys.exit(main())
