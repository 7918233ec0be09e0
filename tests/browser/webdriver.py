"""A browser over the WebDriver protocol: chromedriver as a process, and a session of it.

Standard library only. Waits are conditions that the page itself evaluates once per frame; they
end with a failure after WAIT_S seconds. Thread: one.
"""
import base64
import http.client
import json
import os
import re
import shutil
import subprocess

WAIT_S = 30
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"

# Reports of the policy, kept where a test can read them.
VIOLATIONS = """
window.__violations = [];
addEventListener('securitypolicyviolation', e =>
  window.__violations.push(e.violatedDirective + ' ' + e.blockedURI));
"""

UNTIL = """
const [code, args, done] = [arguments[0], arguments[1], arguments[2]];
const test = new Function('...a', code);
const look = () => {
  let value = null;
  try { value = test(...args); } catch (error) { value = null; }
  if (value) done(value); else requestAnimationFrame(look);
};
look();
"""


class Failure(Exception):
    """Something is not as it must be."""


class Driver:
    """chromedriver; `session` opens a browser with a profile of its own."""

    def __init__(self, log):
        name = shutil.which("chromedriver")
        if not name:
            raise Failure("there is no chromedriver: scripts/deps.sh browser")
        self.process = subprocess.Popen([name, "--port=0", f"--log-path={log}"],
                                        stdout=subprocess.PIPE, text=True)
        self.port = 0
        for line in self.process.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                self.port = int(found.group(1))
                break
        if not self.port:
            raise Failure("chromedriver does not start")

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S + 30)
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(answer, dict) and "error" in answer and "message" in answer:
            raise Failure(answer["message"].split("\n")[0])
        return answer

    def session(self, width=1280, height=900):
        args = ["--headless=new", f"--window-size={width},{height}", "--disable-gpu",
                "--disable-dev-shm-usage", "--disable-background-networking",
                "--disable-component-update", "--no-first-run", "--disable-search-engine-choice-screen",
                "--lang=en-US", "--hide-scrollbars", "--force-color-profile=srgb"]
        if os.geteuid() == 0:
            args.append("--no-sandbox")  # the sandbox refuses to run as root
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "timeouts": {"script": WAIT_S * 1000, "pageLoad": WAIT_S * 1000},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "goog:chromeOptions": {"args": args, "perfLoggingPrefs": {"enableNetwork": True}},
        }}})
        return Browser(self, answer["sessionId"], answer["capabilities"]["browserVersion"])

    def close(self):
        self.process.terminate()
        self.process.wait(WAIT_S)


class Browser:
    """One window. Elements are named by CSS selectors."""

    def __init__(self, driver, session, version):
        self.driver, self.base, self.version = driver, "/session/" + session, version
        self.seen, self.said = [], []
        self.cdp("Page.addScriptToEvaluateOnNewDocument", source=VIOLATIONS)

    def call(self, method, path, body=None):
        return self.driver.call(method, self.base + path, body)

    def cdp(self, command, **params):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def close(self):
        self.call("DELETE", "")

    # ---- what it shows ----

    def go(self, url):
        self.call("POST", "/url", {"url": url})

    def reload(self):
        self.call("POST", "/refresh", {})

    def js(self, code, *args):
        return self.call("POST", "/execute/sync", {"script": code, "args": list(args)})

    def ajs(self, code, *args):
        """Calls the last argument with the value, as the WebDriver protocol has it."""
        return self.call("POST", "/execute/async", {"script": code, "args": list(args)})

    def until(self, what, code, *args):
        """Waits until the page's `code` returns something true, and returns it."""
        try:
            return self.call("POST", "/execute/async", {"script": UNTIL, "args": [code, list(args)]})
        except (Failure, TimeoutError) as error:
            raise Failure(f"waited in vain for {what}: {error}") from None

    def see(self, selector, text=None):
        """Waits for a visible element, with a text that matches a regular expression."""
        what = selector + (f" with /{text}/" if text else "")
        return self.until(what, """
            for (const e of document.querySelectorAll(a[0]))
              if (e.getClientRects().length && (!a[1] || new RegExp(a[1], 's').test(e.textContent))) return true;
            """, selector, text)

    def gone(self, selector):
        return self.until(selector + " to go", "return ![...document.querySelectorAll(a[0])].some(e => e.getClientRects().length)", selector)

    def text(self, selector):
        return self.js("return document.querySelector(arguments[0])?.textContent ?? null", selector)

    def texts(self, selector):
        return self.js("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)

    def count(self, selector):
        return self.js("return document.querySelectorAll(arguments[0]).length", selector)

    # ---- hands ----

    def find(self, selector, text=None):
        """The element of WebDriver; waits for it."""
        self.see(selector, text)
        return self.js("""return [...document.querySelectorAll(arguments[0])].find(e =>
            e.getClientRects().length && (!arguments[1] || new RegExp(arguments[1], 's').test(e.textContent)))""", selector, text)

    def click(self, selector, text=None):
        for again in (True, True, False):  # a list may be drawn again meanwhile
            try:
                element = self.find(selector, text)
                self.js("arguments[0].scrollIntoView({block: 'center'})", element)
                self.call("POST", f"/element/{element[ELEMENT]}/click", {})
                return
            except Failure as error:
                if not again or "stale element" not in str(error):
                    raise

    def type(self, selector, text):
        element = self.find(selector)
        self.call("POST", f"/element/{element[ELEMENT]}/value", {"text": text})

    def keys(self, *keys):
        """Presses keys one after the other, where the focus is."""
        actions = []
        for key in keys:
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def pointer(self, selector, *steps, nth=0):
        """Moves over an element: steps are ("move", x, y) in pixels of it, "down", "up"."""
        element = self.js("""const e = document.querySelectorAll(arguments[0])[arguments[1]];
            e.scrollIntoView({block: 'center'}); return e""", selector, nth)
        box = self.js("const r = arguments[0].getBoundingClientRect(); return [r.left, r.top]", element)
        actions = []
        for step in steps:
            if isinstance(step, tuple):
                actions.append({"type": "pointerMove", "duration": 0, "origin": "viewport",
                                "x": round(box[0] + step[1]), "y": round(box[1] + step[2])})
            else:
                actions.append({"type": {"down": "pointerDown", "up": "pointerUp"}[step], "button": 0})
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse",
                                                    "parameters": {"pointerType": "mouse"}, "actions": actions}]})

    # ---- how it looks ----

    def size(self, width, height=900):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.until("the width", "return innerWidth === a[0]", width)

    def scheme(self, name):
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def shot(self, path, whole=True):
        """The page as a picture: all of it, or what is in the window."""
        self.ajs("const done = arguments[0]; document.fonts.ready.then(() => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        width, height = self.js("return [innerWidth, Math.min(6000, Math.max(innerHeight, document.documentElement.scrollHeight))]")
        clip = {"clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}} if whole else {}
        data = self.cdp("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    # ---- what it did ----

    def log(self):
        """Lines of the console so far, [(level, text)]; each is returned once."""
        return [(e["level"], e["message"]) for e in self.call("POST", "/se/log", {"type": "browser"})]

    def requests(self):
        """Addresses that were asked for so far, each returned once."""
        urls = []
        for entry in self.call("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                urls.append(message["params"]["request"]["url"])
            elif message["method"] == "Network.webSocketCreated":
                urls.append(message["params"]["url"])
        return urls

    def violations(self):
        return self.js("return window.__violations || []")
