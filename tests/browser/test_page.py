#!/usr/bin/env python3
"""The page in a browser, against the stand-in: every view, every control, hostile texts, widths.

  tests/browser/test_page.py [WORD...]   only cases with one of the words in their name
"""
import sys
import threading

import hostile
from frame import OUT, PAGE, Suite, allows, need, same
from stand_in import CONSOLE, LONG, MODEL, Data, StandIn

ARROW_LEFT, ARROW_RIGHT, ENTER, ESCAPE, TAB = "\ue012", "\ue014", "\ue007", "\ue00c", "\ue004"
RUN = "/#/runs/"


def address(run):
    return RUN + run.id.replace(":", "%3A")


def open_run(b, s, run):
    b.go(s.url + address(run))
    b.see("#by")
    b.see(".plot path[stroke-width]")


# ---- runs ----

def runs_are_listed(b, s):
    b.go(s.url)
    b.see("table.runs")
    same(b.count("table.runs tbody tr"), 50, "rows of the first page")
    b.see("tr th a", "^demo$")
    b.see(".state.training")
    same(b.js("return document.title"), "Runs · tinkc", "title")
    b.see("#live[data-state=live]")
    need(b.count(".spark-line") > 40, "sparklines are missing")
    b.click("button", "^Show more")
    b.until("all runs", "return document.querySelectorAll('table.runs tbody tr').length === a[0]", len(s.data.runs))


def runs_are_searched(b, s):
    b.go(s.url)
    b.see("table.runs")
    b.keys("/")
    b.until("the search to have the focus", "return document.activeElement.type === 'search'")
    b.keys(*"sweep 1")
    b.until("the search", "return document.querySelectorAll('table.runs tbody tr').length === 11")
    b.keys(*" nothing like it")
    b.see("p", "No run matches")


def a_step_changes_the_list(b, s):
    run = s.data.runs[0]
    b.go(s.url)
    b.see("#live[data-state=live]")
    b.see(f"tr[data-run='{run.id}']")
    s.data.step(run, 0.4321)
    b.see(f"tr[data-run='{run.id}'] [data-cell=loss]", "0.432")
    b.see(f"tr[data-run='{run.id}'] [data-cell=step]", f"^{run.steps}$")


def runs_are_compared(b, s):
    b.go(s.url)
    for run in s.data.runs[:2]:
        b.click(f"tr[data-run='{run.id}'] input[type=checkbox]")
    b.until("two curves", "return document.querySelectorAll('.view .card .plot svg g path[stroke-width]').length === 2")
    b.see(".legend", "demo.*demo, twice the rate")
    need("compare=" in b.js("return location.hash"), "the comparison is not in the address")
    b.reload()
    b.until("two curves again", "return document.querySelectorAll('.view .card .plot svg g path[stroke-width]').length === 2")
    b.js("const s = document.querySelector('.controls select'); s.value = 'lr'; s.dispatchEvent(new Event('change'))")
    b.see("figure.chart", None)
    b.until("the other metric", "return document.querySelector('.controls select').value === 'lr'")
    b.click(".card button", "^Clear$")
    b.gone(".plot svg")


# ---- one run ----

def a_run_is_shown(b, s):
    run = s.data.runs[0]
    open_run(b, s, run)
    same(b.text("h1"), "demo", "heading")
    b.see("[data-fact=Model] dd", MODEL)
    b.see("[data-fact=data] dd", "chats.jsonl")
    b.until("curve and held-out points", "return document.querySelectorAll('.plot path[stroke-width]').length === 1 && document.querySelectorAll('.plot circle').length >= 5")
    same(b.count(".tile"), len(run.metrics), "tiles")
    b.see("section[aria-label=Throughput]", "Tokens per second")
    same(b.count("section[aria-label=Checkpoints] tbody tr"), 3, "checkpoints")
    b.see("section[aria-label='Going on'] pre", "tinkc train --base-url")
    for name, words in (("Python", "create_training_client_from_state_with_optimizer"), ("C", "tinkc_service_create_training_from_state_wait")):
        b.click("section[aria-label='Going on'] button", f"^{name}$")
        b.see("section[aria-label='Going on'] pre", words)


def a_step_moves_the_curve(b, s):
    run = s.data.runs[0]
    open_run(b, s, run)
    b.see("#live[data-state=live]")
    before = b.js("return document.querySelector('.plot path[stroke-width]').getAttribute('d')")
    s.data.step(run, 0.777)
    b.until("the step", "return document.querySelector('.view').dataset.step === String(a[0])", run.steps)
    b.see("[data-fact=Step] dd", str(run.steps))
    b.see("[data-fact=Loss] dd", "0.777")
    b.until("the curve to move", "return document.querySelector('.plot path[stroke-width]').getAttribute('d') !== a[0]", before)


def a_break_of_the_stream_loses_nothing(b, s):
    run = s.data.runs[0]
    open_run(b, s, run)
    b.see("#live[data-state=live]")
    s.data.step(run, 0.75)
    b.see("[data-fact=Step] dd", f"^{run.steps}$")
    s.data.drop_readers()
    s.data.step(run, 0.712)
    b.see("[data-fact=Loss] dd", "0.712")
    b.see("#live[data-state=live]")


def a_curve_is_zoomed(b, s):
    open_run(b, s, s.data.runs[0])
    whole = b.texts(".plot svg text")
    b.pointer(".plot", ("move", 300, 100), "down", ("move", 380, 120), ("move", 500, 120), "up")
    b.see("#whole")
    b.until("other ticks", "return JSON.stringify([...document.querySelectorAll('.plot svg text')].map(e => e.textContent)) !== a[0]",
            b.js("return JSON.stringify(arguments[0])", whole))
    b.click("#whole")
    b.gone("#whole")
    b.until("the whole range", "return [...document.querySelectorAll('.plot svg text')].map(e => e.textContent)[0] === a[0]", whole[0])


def values_are_read_with_keys_and_pointer(b, s):
    open_run(b, s, s.data.runs[0])
    b.pointer(".plot", ("move", 300, 100))
    b.see(".tip", "step")
    b.pointer("h1", ("move", 5, 5))
    b.gone(".tip")
    b.js("document.querySelector('.chart').focus()")
    b.keys(ARROW_LEFT)
    b.see(".tip .tip-x", "^step \\d+$")
    first = b.text(".tip .tip-x")
    b.keys(ARROW_LEFT)
    b.until("the value before", "return document.querySelector('.tip .tip-x').textContent !== a[0]", first)
    b.keys("+")
    b.see("#whole")
    b.keys(ESCAPE)
    b.gone("#whole")
    need("loss:" in b.js("return document.querySelector('.chart').getAttribute('aria-label')"), "the chart has no words")


def a_curve_has_its_controls(b, s):
    open_run(b, s, s.data.runs[0])
    b.js("const e = document.querySelector('#smooth'); e.value = 0.9; e.dispatchEvent(new Event('input'))")
    b.until("the raw line beside the smooth one", "return document.querySelector('.plot path[stroke-opacity=\"0.25\"]')")
    b.click("#log")
    b.until("ticks of a log scale", "return [...document.querySelectorAll('.plot svg text')].some(e => ['1', '2', '5'].includes(e.textContent))")
    for by in ("tokens", "time"):
        b.js("const e = document.querySelector('#by'); e.value = arguments[0]; e.dispatchEvent(new Event('change'))", by)
        b.until("the other axis", "return [...document.querySelectorAll('.plot svg text')].at(-1).textContent === a[0]", by)
    b.js("const e = document.querySelector('#metric'); e.value = 'lr'; e.dispatchEvent(new Event('change'))")
    b.see("section[aria-label=Curves] .legend li", "^lr$")
    b.js("const e = document.querySelector('#metric-more'); e.value = 'grad_norm'; e.dispatchEvent(new Event('change'))")
    b.until("two names", "return document.querySelectorAll('section[aria-label=Curves] .legend li').length === 2")
    b.click(".tile", "epoch")
    b.see(".tile[aria-pressed=true]", "epoch")


def a_time_axis_is_zoomed(b, s):
    open_run(b, s, s.data.runs[0])
    b.js("const e = document.querySelector('#by'); e.value = 'time'; e.dispatchEvent(new Event('change'))")
    b.until("the time axis", "return [...document.querySelectorAll('.plot svg text')].at(-1).textContent === 'time'")
    b.pointer(".plot", ("move", 300, 100), "down", ("move", 380, 120), ("move", 500, 120), "up")
    b.see("#whole")
    b.until("a curve within", "const p = document.querySelector('.plot path[stroke-width]'); return p && p.getAttribute('d').length > 40")


def curves_are_saved(b, s):
    open_run(b, s, s.data.runs[0])
    b.js("""window.__saved = []; const make = URL.createObjectURL;
        URL.createObjectURL = blob => { blob.text().then(t => window.__saved.push([blob.type, t])); return make(blob); }""")
    b.click("#csv")
    b.until("the CSV", "return window.__saved.find(([type, t]) => type === 'text/csv' && t.startsWith('metric,step,tokens,time_ms,mean,min,max,n\\nloss,1,'))")
    b.click("#svg")
    text = b.until("the SVG", "return window.__saved.find(([type]) => type === 'image/svg+xml')?.[1]")
    need(text.startswith("<svg") and ">demo<" in text and ">loss<" in text, "the SVG has no names")


def checkpoints_are_managed(b, s):
    run = s.data.runs[0]
    open_run(b, s, run)
    row = "tr[data-checkpoint='weights/final'] "
    b.click(row + "button", "^Publish$")
    b.see(row + "button", "^Unpublish$")
    b.click(row + "button", "^Unpublish$")
    b.see(row + "button", "^Publish$")
    b.click(row + "button", "^Expiry$")
    b.see("dialog h2", "Keep weights/final")
    b.click("dialog button", "^Set$")
    b.see(row + "time", "in (23 h|1 d|24 h)")
    b.click(row + "button", "^Expiry$")
    b.click("dialog button", "^Keep forever$")
    b.see(row + "td", "^never$")
    need(b.js("return document.querySelector(arguments[0]).getAttribute('href')", row + "a[download]").endswith("/weights/final/archive"), "no archive")
    b.click(row + "button", "^Delete$")
    b.see("dialog", "cannot be undone")
    b.click("dialog button", "^Cancel$")
    b.gone("dialog")
    need(b.count(row), "deleted without a confirmation")
    b.click(row + "button", "^Delete$")
    b.keys(ESCAPE)
    b.gone("dialog")
    need(b.count(row), "deleted by Escape")
    b.click(row + "button", "^Delete$")
    b.click("dialog button.danger")
    b.until("the row to go", "return !document.querySelector(a[0])", row)
    same([d for d in s.data.deeds if d[1] == "weights/final"], [("POST/publish", "weights/final"), ("DELETE/publish", "weights/final"),
         ("PUT/ttl", "weights/final"), ("PUT/ttl", "weights/final"), ("DELETE", "weights/final")], "requests")


def a_long_run_is_shown_soon(b, s):
    """Prints the time from the click to the curve; asserts only that it comes."""
    b.go(s.url)
    b.see("tr th a", "^a long one$")
    took = b.ajs("""const done = arguments[0], began = performance.now();
        [...document.querySelectorAll('tr th a')].find(e => e.textContent === 'a long one').click();
        const look = () => document.querySelector('.plot path[stroke-width]') ? requestAnimationFrame(() => done(performance.now() - began)) : requestAnimationFrame(look);
        look();""")
    print(f"      {LONG:,} steps: the curve is there {took:.0f} ms after the click (the stand-in decimates)")


@allows("404")
def what_is_not_there_is_said(b, s):
    b.go(s.url + "/#/runs/none")
    b.see("[role=alert] h1", "^Not found$")
    b.go(s.url + "/#/runs/50%")
    b.see("[role=alert] h1", "^Not found$")
    b.click("[role=alert] a", "All runs")
    b.see("table.runs")


def a_run_without_steps_says_so(b, s):
    b.go(s.url + address(s.data.runs[5]))
    b.see("h2", "No steps yet")
    b.see("section[aria-label=Checkpoints]", "None yet")


# ---- rollouts ----

def samples_are_shown(b, s):
    b.go(s.url + "/#/rollouts/samples/899")
    b.see(".detail h2", "^Sample 899$")
    b.see(".items a[aria-current]")
    b.see(".tokens .lp2, .tokens .lp3, .tokens .lp4")
    b.pointer(".tokens[aria-label=Output] .tok", ("move", 3, 6), nth=2)
    b.see(".token-info", "id \\d+.*%")
    b.js("document.querySelector('.tokens[aria-label=Output]').focus()")
    before = b.text(".detail .token-view:last-of-type .token-info")
    b.keys(ARROW_RIGHT)
    b.until("the next token", "return document.querySelector('.detail .token-view:last-of-type .token-info').textContent !== a[0]", before)
    b.js("const e = document.querySelector('.coloring'); e.value = 'mask'; e.dispatchEvent(new Event('change'))")
    b.see(".tokens .m1")
    b.js("const e = document.querySelector('.coloring'); e.value = 'gap'; e.dispatchEvent(new Event('change'))")
    b.see(".gap select")
    b.js("const e = document.querySelector('.gap select'); e.value = [...e.options].at(-1).value; e.dispatchEvent(new Event('change'))")
    b.see(".tokens .gn1, .tokens .gn2, .tokens .gn3, .tokens .gn4, .tokens .gp1, .tokens .gp2, .tokens .gp3, .tokens .gp4")
    b.js("const e = document.querySelector('.coloring'); e.value = 'logprob'; e.dispatchEvent(new Event('change'))")
    b.click("button", "Its group side by side")
    b.see(".detail h2", "^Group of 4$")
    same(b.count(".side article"), 4, "members of the group")


def a_sample_without_texts_is_shown(b, s):
    """The model is not served any more."""
    for part in ("prompt", "output"):
        s.data.samples[781][part]["text"] = None
    b.go(s.url + "/#/rollouts/samples/781")
    b.see(".detail h2", "^Sample 781$")
    b.see(".tokens[aria-label=Prompt]", "⟨2⟩⟨3⟩")
    b.see(".tokens[aria-label=Output]", "⟨100⟩⟨101⟩")


def samples_arrive_and_are_searched(b, s):
    b.go(s.url + "/#/rollouts")
    b.see(".items a")
    b.see("#live[data-state=live]")
    s.data.sample(990, pieces=["a needle", " in hay"])
    b.click("button", "^1 new$")
    b.see(".items a[data-key=s990]", "a needle")
    b.type("input[type=search]", "needle in")
    b.until("one row", "return document.querySelectorAll('.items a').length === 1")
    b.type("input[type=search]", " straw")
    b.see("p", "No sample matches")


def the_first_sample_has_a_place(b, s):
    """Prompts in the address are kept with the rollout."""
    b.go(s.url + "/#/rollouts")
    b.see(".items a")
    b.click(".items a[data-key=s898]")
    b.see(".detail h2", "^Sample 898$")
    need(b.js("return location.hash").endswith("/samples/898"), "no address")
    b.click(".items a[data-key=s896]")
    b.see(".detail h2", "^Sample 896$")
    b.call("POST", "/back", {})
    b.see(".detail h2", "^Sample 898$")


def samples_are_deleted(b, s):
    b.go(s.url + "/#/rollouts/samples/897")
    b.see(".detail h2", "^Sample 897$")
    b.click(".detail button.danger")
    b.click("dialog button", "^Cancel$")
    b.gone("dialog")
    need(897 in s.data.samples, "deleted without a confirmation")
    b.click(".detail button.danger")
    b.click("dialog button.danger")
    b.until("the sample to go", "return !document.querySelector('[data-key=s897]')")
    need(897 not in s.data.samples, "not deleted")


def episodes_are_shown(b, s):
    b.go(s.url + "/#/rollouts/episodes")
    b.see(".histogram .bin")
    b.until("all of them", "return document.querySelectorAll('.items a').length === a[0]", len(s.data.episodes))
    b.click(".items a[data-key=etask-05]")
    b.see(".detail h2", "^task-05$")
    b.see(".turn .tag", "branch")
    b.see(".turn .soft", "the agent changed its first message")
    b.see(".detail .tokens .tok", "t10")
    b.click(".items a[data-key=etask-03]")
    b.see(".turn .call", "read_file.*numbers.txt")
    b.see(".turn details summary", "Reasoning")
    total = b.count(".items a")
    b.js("[...document.querySelectorAll('.bin')].find(e => !e.disabled).click()")
    b.see(".bin[aria-pressed=true]")
    b.until("fewer episodes", "return document.querySelectorAll('.items a').length < a[0]", total)
    b.js("document.querySelector('.bin[aria-pressed=true]').click()")
    b.until("all again", "return document.querySelectorAll('.items a').length === a[0]", total)
    b.type("input[type=search]", "task-1")
    b.until("the search", "return document.querySelectorAll('.items a').length === 10")


def an_episode_is_deleted(b, s):
    b.go(s.url + "/#/rollouts/episodes/task-07")
    b.see(".detail h2", "^task-07$")
    b.click(".detail button.danger")
    b.see("dialog", "Delete task-07")
    b.click("dialog button.danger")
    b.until("it to go", "return !document.querySelector('[data-key=etask-07]')")
    need("task-07" not in s.data.episodes, "not deleted")


# ---- playground ----

def open_playground(b, s):
    b.go(s.url + "/#/playground")
    b.see(".pane select")


def the_playground_streams(b, s):
    s.data.hold = threading.Event()
    try:
        open_playground(b, s)
        b.type("#say", "Hello there")
        b.keys(ENTER)
        b.see(".said", "^Hello there$")
        b.until("two tokens while the rest is waited for", "return document.querySelectorAll('.talk .tok').length === 2")
        b.see("#stop")
        need(b.js("return document.querySelector('#send').disabled"), "Send is not off")
        s.data.hold.set()
        b.see(".talk article.model[data-done]", "tokens in .* · stop$")
        b.gone("#stop")
    finally:
        s.data.hold.set()
        s.data.hold = None
    b.type("#say", "And then?")
    b.click("#send")
    b.until("the second answer", "return document.querySelectorAll('.talk article.model[data-done]').length === 2")
    body = [d for d in s.data.deeds if d[0] == "chat"][-1][1]
    same([m["role"] for m in body["messages"]], ["user", "assistant", "user"], "roles of the conversation")


def an_answer_is_stopped(b, s):
    s.data.hold = threading.Event()
    try:
        open_playground(b, s)
        b.type("#say", "Stop me")
        b.keys(ENTER)
        b.until("two tokens", "return document.querySelectorAll('.talk .tok').length === 2")
        b.click("#stop")
        b.see(".talk article.model[data-done]", "2 tokens .* · stopped")
    finally:
        s.data.hold.set()
        s.data.hold = None


def alternatives_are_offered(b, s):
    open_playground(b, s)
    b.type("#say", "Say something")
    b.keys(ENTER)
    b.see(".talk article.model[data-done]")
    b.pointer(".talk .tokens .tok", ("move", 4, 8), nth=3)
    b.see(".others", "lamp.*door")
    b.click(".talk .tokens .tok:nth-child(4)")
    b.see("dialog h2", "Go on from token 4")
    b.click("dialog .choices button", "door")
    b.until("the new end", "return document.querySelector('.talk .tokens').textContent.startsWith('The lamp in doorThe lamp')")
    b.see(".talk article.model[data-done]", "stop")
    body = [d for d in s.data.deeds if d[0] == "text"][-1][1]
    same(body["prompt"][-4:], [100, 101, 102, 5001], "ids that were continued")
    b.click(".talk .tokens .tok:nth-child(2)")
    b.js("const e = document.querySelector('dialog input'); e.value = ' my own'; e.dispatchEvent(new Event('input'))")
    b.click("dialog button", "^Continue$")
    b.until("the text that was put there", "return document.querySelector('.talk .tokens').textContent.startsWith('The t')")


def two_models_answer_side_by_side(b, s):
    open_playground(b, s)
    b.click("#two")
    b.until("two columns", "return document.querySelectorAll('.pane').length === 2")
    b.type("#say", "Both")
    b.keys(ENTER)
    b.until("two answers", "return document.querySelectorAll('.talk article.model[data-done]').length === 2")
    b.click("#clear")
    same(b.count(".talk article"), 0, "answers after Clear")
    b.click("#two")
    same(b.count(".pane"), 1, "columns")


def plain_text_is_continued(b, s):
    open_playground(b, s)
    b.js("const e = document.querySelector('#mode'); e.value = 'text'; e.dispatchEvent(new Event('change'))")
    b.type("#say", "Once upon a time")
    b.click("#send")
    b.see(".talk article.model[data-done]", "stop")
    b.js("const e = document.querySelector('#mode'); e.value = 'chat'; e.dispatchEvent(new Event('change'))")


def a_checkpoint_is_tried(b, s):
    open_run(b, s, s.data.runs[0])
    b.click("tr a", "^Try$")
    b.see(".pane select")
    need(b.js("return document.querySelector('.pane select').value").endswith("/sampler_weights/final"), "other weights are chosen")


# ---- server, frame ----

def the_server_is_shown(b, s):
    b.go(s.url + "/#/server")
    for name in ("Engine", "Memory", "Requests", "Recording", "Queue", "Sessions", "Warnings and errors"):
        b.see(f"section[aria-label='{name}']")
    same(b.count("section[aria-label=Queue] tbody tr"), 3, "what waits")
    b.see("section[aria-label=Queue]", "waits for requests with smaller seq_ids")
    asked = s.data.asked.count(("GET", CONSOLE + "server"))
    s.data.tell("server", {})
    b.until("live", "return document.querySelector('#live').dataset.state === 'live'")
    while s.data.asked.count(("GET", CONSOLE + "server")) <= asked:
        b.js("return 1")


def keys_lead_everywhere(b, s):
    b.go(s.url)
    b.see("table.runs")
    for key, text in (("2", "Rollouts"), ("3", "Playground"), ("4", "Server"), ("1", "Runs")):
        b.js("document.activeElement.blur()")
        b.keys(key)
        b.see("h1", f"^{text}$")
    b.keys("?")
    b.see("dialog h2", "^Keys$")
    b.keys(ESCAPE)
    b.gone("dialog")
    b.keys("t")
    b.until("the dark theme", "return document.documentElement.dataset.theme === 'dark'")
    b.reload()
    b.see("table.runs")
    same(b.js("return document.documentElement.dataset.theme"), "dark", "theme after a reload")
    b.keys("t")
    b.until("the light theme", "return document.documentElement.dataset.theme === 'light'")
    b.js("localStorage.clear(); delete document.documentElement.dataset.theme")
    b.reload()
    b.see("table.runs")
    b.keys(TAB)
    same(b.js("return document.activeElement.textContent"), "Skip to the content", "what the first Tab reaches")
    b.keys(ENTER)
    same(b.js("return document.activeElement.id"), "main", "where the skip link leads")
    need(b.count("table.runs"), "the skip link left the page")
    b.js("location.hash = '#/runs'")


def the_focus_stays_while_it_trains(b, s):
    """What is drawn again because something happened does not take the focus away."""
    run = s.data.runs[0]
    b.go(s.url)
    b.see("#live[data-state=live]")
    box = f"tr[data-run='{run.id}'] input"
    b.see(box)
    b.js("document.querySelector(arguments[0]).focus(); document.querySelector(arguments[0]).closest('tr').dataset.old = 1", box)
    s.data.tell("run", {"run": run.id, "state": "training"})
    b.until("another list", "return !document.querySelector('tr[data-old]')")
    b.until("the focus", "return document.activeElement === document.querySelector(a[0])", box)
    open_run(b, s, run)
    b.see("tr[data-checkpoint] button")
    b.js("const x = document.querySelectorAll('tr[data-checkpoint] button.danger')[1]; x.focus(); x.closest('tr').dataset.old = 1")
    name = b.js("return document.activeElement.closest('tr').dataset.checkpoint")
    s.data.step(run, 0.7)
    b.until("other rows", "return !document.querySelector('tr[data-old]')")
    b.until("the focus", "return document.activeElement.textContent === 'Delete' && document.activeElement.closest('tr').dataset.checkpoint === a[0]", name)


def links_work_without_a_pointer(b, s):
    b.go(s.url)
    b.see("table.runs")
    b.js("document.querySelector('tr th a').focus()")
    b.keys(ENTER)
    b.see("h1", "^demo$")
    b.js("document.querySelector('tr[data-checkpoint] button.danger').focus()")
    b.keys(ENTER)
    b.see("dialog")
    same(b.js("return document.activeElement.textContent"), "Cancel", "the button that a dialog begins with")
    b.keys(ENTER)
    b.gone("dialog")


SIZES = ((400, "narrow"), (1600, "wide"))
PLACES = (("runs", "/#/runs", "table.runs"), ("run", None, "section[aria-label=Checkpoints] table"), ("compare", "compare", ".plot path[stroke-width]"),
          ("samples", "/#/rollouts/samples/899", ".tokens .tok"), ("episodes", "/#/rollouts/episodes/task-15", ".tokens .tok"),
          ("playground", "/#/playground", ".pane select"), ("server", "/#/server", "section[aria-label=Queue] table"))


def place_of(s, place):
    if place is None:
        return address(s.data.runs[0])
    if place == "compare":
        return "/#/runs?compare=" + ",".join(r.id.replace(":", "%3A") for r in s.data.runs[:2])
    return place


def every_view_fits_every_width(b, s):
    """Nothing sticks out at 400 and 1600 pixels, light and dark; pictures of all of it."""
    for name, place, ready in PLACES:
        for width, size in (*SIZES, (1280, "desk")):
            b.size(width, 900)
            for scheme in ("light", "dark"):
                b.scheme(scheme)
                b.go("about:blank")
                b.go(s.url + place_of(s, place))
                b.see(ready)
                if name == "playground":
                    b.type("#say", "Tell me about the lamp")
                    b.keys(ENTER)
                    b.see(".talk article.model[data-done]")
                wide = b.js("return [document.documentElement.scrollWidth, innerWidth]")
                need(wide[0] <= wide[1], f"{name} at {width} px is {wide[0]} px wide")
                b.shot(OUT / f"{name}-{size}-{scheme}.png")


def dark_is_dark(b, s):
    b.scheme("dark")
    b.go(s.url)
    b.see("table.runs")
    color = b.js("return getComputedStyle(document.documentElement).backgroundColor")
    need(color == "rgb(20, 22, 24)", f"the paper is {color}")
    b.scheme("light")
    b.until("the light paper", "return getComputedStyle(document.documentElement).backgroundColor === 'rgb(250, 249, 246)'")


# ---- hostile texts ----

def hostile_runs_are_text(b, s):
    bad = s.data.runs[4]
    b.go(s.url)
    b.see("tr th a", "^<script>window.__hacked=1</script>")
    b.go(s.url + address(bad))
    b.see("h1", "^<script>")
    b.see(".facts", "<script>")
    need(hostile.SEEN_TERMINAL in b.text(".facts"), "escapes of terminals are not shown")
    need(hostile.SEEN_RTL in b.text(".facts"), "marks of direction are not shown")
    b.see(".tiles")
    b.go(s.url + "/#/server")
    b.see(".log", "<script>")
    clean(b)


def hostile_samples_are_text(b, s):
    for number, words in ((902, "<script>window.__hacked=1</script>"), (903, hostile.SEEN_RTL), (904, hostile.BROKEN)):
        b.go(s.url + f"/#/rollouts/samples/{number}")
        b.see(".detail h2", f"^Sample {number}$")
        need(words in b.text(".tokens[aria-label=Output]"), f"sample {number}: {b.text('.tokens[aria-label=Output]')!r}")
        clean(b)
    need("\u2400" in b.text(".tokens[aria-label=Output]"), "NUL is not shown")


def long_texts_are_text(b, s):
    b.go(s.url + "/#/rollouts/samples/905")
    b.see(".detail h2", "^Sample 905$")
    same(b.js("return document.querySelector('.tokens[aria-label=Output]').textContent.length"), len(hostile.LINE), "characters of the line")
    need(b.js("return document.documentElement.scrollWidth <= innerWidth"), "a line of 1 MB makes the page wider")
    b.js("location.hash = '#/rollouts/samples/906'")
    b.see(".detail h2", "^Sample 906$")
    first = b.count(".tokens[aria-label=Output] .tok")
    need(first < 20_000, "all tokens are drawn at once")
    b.click(".token-view button", "more tokens")
    b.until("the rest", "return document.querySelectorAll('.tokens[aria-label=Output] .tok').length === 20000")


def hostile_answers_are_text(b, s):
    s.data.say = [hostile.SCRIPT, hostile.TERMINAL, hostile.RTL, "x" * 200_000]
    try:
        open_playground(b, s)
        b.type("#say", hostile.SCRIPT)
        b.keys(ENTER)
        b.see(".talk article.model[data-done]")
        text = b.text(".talk .tokens")
        need(hostile.SCRIPT in text and hostile.SEEN_TERMINAL in text and hostile.SEEN_RTL in text, "the answer is not shown as text")
        b.pointer(".talk .tokens .tok", ("move", 4, 8))
        b.see(".others", "<script>")
        need(b.js("return document.documentElement.scrollWidth <= innerWidth"), "the answer makes the page wider")
    finally:
        s.data.say = None
    clean(b)


def clean(b):
    same(b.js("return [window.__hacked ?? null, document.querySelectorAll('main script, main img').length]"), [None, 0], "what hostile texts did")


# ---- nothing yet; login ----

def empty_pages_say_what_to_type(b, s):
    for place, words in (("/#/runs", "tinkc train --base-url"), ("/#/rollouts", "tinkc sample --base-url"), ("/#/rollouts/episodes", "OPENAI_BASE_URL=.*/e/")):
        b.go(s.url + place)
        b.see(".empty pre", words)
        b.shot(OUT / f"empty-{place.split('/')[-1]}.png")
    b.go(s.url + "/#/server")
    b.see("section[aria-label=Sessions]", "Nobody is connected")
    b.see("section[aria-label=Queue]", "Nothing waits")
    b.see("section[aria-label='Warnings and errors']", "None since the start")


def samples_that_are_off_say_so(b, s):
    s.data.recording = False
    b.go(s.url + "/#/rollouts")
    b.see("h2", "Samples are not recorded")


@allows("status of 401")
def the_key_logs_in(b, s):
    s.data.key = "tml-secret"
    b.go(s.url)
    b.see("form.login input[type=password]")
    b.shot(OUT / "login.png")
    b.type("form.login input", "tml-wrong")
    b.keys(ENTER)
    b.see("form.login [role=alert]", "does not know this key")
    b.js("document.querySelector('form.login input').value = ''")
    b.type("form.login input", "tml-secret")
    b.keys(ENTER)
    b.see("h2", "No runs yet")
    b.see("#logout")
    b.see("#live[data-state=live]")
    same(b.js("return document.cookie"), "", "what scripts see of the cookie")
    b.click("#logout")
    b.see("form.login")
    same(b.texts("form.login [role=alert]"), [""], "what the login says after a logout")


@allows("status of 401")
def a_code_logs_in_once(b, s):
    s.data.key, s.data.cookie = "tml-secret", ""
    s.data.codes = {"once"}
    b.go(s.url + "/#login=once&to=/server")
    b.see("h1", "^Server$")
    same(b.js("return location.hash"), "#/server", "the address after the login")
    s.data.cookie = ""
    b.go("about:blank")
    b.go(s.url + "/#login=once&to=/server")
    b.see("form.login [role=alert]", "was used or is too old")


@allows("status of 401")
def an_expired_login_asks_again(b, s):
    s.data.key, s.data.cookie = "tml-secret", ""
    s.data.codes = {"again"}
    b.go(s.url + "/#login=again")
    b.see("h2", "No runs yet")
    s.data.cookie = "other"
    b.click("nav a", "Rollouts")
    b.see("form.login")
    b.type("form.login input", "tml-secret")
    b.keys(ENTER)
    b.see("h1", "^Rollouts$")


CASES = (runs_are_listed, runs_are_searched, a_step_changes_the_list, runs_are_compared, a_run_is_shown, a_step_moves_the_curve,
         a_break_of_the_stream_loses_nothing, a_curve_is_zoomed, values_are_read_with_keys_and_pointer, a_curve_has_its_controls, a_time_axis_is_zoomed,
         curves_are_saved, a_long_run_is_shown_soon, what_is_not_there_is_said, a_run_without_steps_says_so, samples_are_shown, the_first_sample_has_a_place,
         a_sample_without_texts_is_shown,
         samples_are_deleted, episodes_are_shown, an_episode_is_deleted, the_playground_streams, an_answer_is_stopped, alternatives_are_offered,
         two_models_answer_side_by_side, plain_text_is_continued, a_checkpoint_is_tried, the_server_is_shown, keys_lead_everywhere, the_focus_stays_while_it_trains,
         links_work_without_a_pointer, dark_is_dark, every_view_fits_every_width, checkpoints_are_managed, hostile_runs_are_text, hostile_samples_are_text,
         long_texts_are_text, hostile_answers_are_text, samples_arrive_and_are_searched)
EMPTY_CASES = (empty_pages_say_what_to_type, samples_that_are_off_say_so, the_key_logs_in, a_code_logs_in_once, an_expired_login_asks_again)


def main():
    suite = Suite("page")
    full, bare = StandIn(PAGE), StandIn(PAGE, Data().empty())
    for case in CASES:
        suite.run(case, full)
    for case in EMPTY_CASES:
        suite.run(case, bare)
    full.close()
    bare.close()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
