#!/usr/bin/env python3
"""Pushes the same checkpoints with our program and with the official one, each into a
separate hub (hub_stand_in.py), and compares the repositories that come of it, byte for byte, and what the
programs say.

usage: push_hf.py --ours PATH --official PATH --server URL --path TINKER_PATH --work DIR

The official program neither makes a branch nor completes a name without a namespace, which the
hub wants: it gets a lenient hub, ours never does (docs/cli-differences.md).
"""
import argparse
import http.client
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import cli_compare
import hub_stand_in
from cli_compare import check, fail, table
from hub_stand_in import TOKEN, USER, Hub
from official import exit_code

REPO = f"{USER}/thing"
OTHER = "tinker://other/sampler_weights/x"
MESSAGES = ("Upload checkpoint using tinkc", "Upload folder using huggingface_hub")


# ---- checkpoints that our server would not write ----

def archive(files, link=None):
    """{name: bytes} as a tar."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
        if link:
            entry = tarfile.TarInfo(link)
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/hostname"
            tar.addfile(entry)
    return out.getvalue()


def adapter(config=None, files=None):
    """The least that is a checkpoint, and more."""
    config = {"base_model_name_or_path": "a/b", "r": 8} if config is None else config
    text = config if isinstance(config, bytes) else json.dumps(config).encode()
    return {"adapter_config.json": text, "adapter_model.safetensors": bytes(range(256)) * 9,
            "checkpoint_complete": b"", **(files or {})}


class Tinker:
    """In front of the server: hands out `tar` as every archive when there is one, and `info` as
    what is known about the weights (b"": nothing is)."""

    def __init__(self, server):
        self.upstream = urllib.parse.urlsplit(server)
        self.tar, self.info = None, None
        self.listener = ThreadingHTTPServer(("127.0.0.1", 0), TinkerHandler)
        self.listener.tinker, self.listener.daemon_threads = self, True
        self.url = f"http://127.0.0.1:{self.listener.server_port}"
        threading.Thread(target=self.listener.serve_forever, args=(0.05,), daemon=True).start()


class TinkerHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, headers, body):
        self.send_response(status)
        for key, value in headers:
            if key.lower() not in ("transfer-encoding", "connection", "content-length", "date"):
                self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_one(self):
        tinker = self.server.tinker
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/archive.tar":
            self.answer(200, [("Content-Type", "application/x-tar")], tinker.tar)
        elif tinker.tar is not None and self.path.endswith("/archive"):
            self.answer(302, [("Location", f"{tinker.url}/archive.tar")], b"")
        elif tinker.info is not None and self.path.endswith("/weights_info"):
            self.answer(200 if tinker.info else 404, [("Content-Type", "application/json")],
                        tinker.info or b'{"detail": "no"}')
        else:
            up = http.client.HTTPConnection(tinker.upstream.hostname, tinker.upstream.port)
            up.request(self.command, self.path, body, dict(self.headers))
            answer = up.getresponse()
            self.answer(answer.status, answer.getheaders(), answer.read())
            up.close()

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_one


# ---- running both ----

class Result:
    def __init__(self, done, hub):
        self.code, self.out, self.err = exit_code(done), done.stdout, done.stderr
        self.repos, self.problems, self.log = hub.dump(), hub.problems, hub.requests()
        self.texts = {name: [files.get(name, b"").decode() for repo in hub.repos.values()
                             for _, files in sorted(repo.branches.items())]
                      for name in ("README.md", "adapter_config.json")}


class Pair:
    def __init__(self, options):
        self.programs = {"ours": options.ours, "official": options.official}
        self.tinker, self.path = Tinker(options.server), options.path
        self.work = Path(options.work)
        self.count = 0

    def run(self, who, words, hub, env):
        self.count += 1
        home = self.work / f"home{self.count}"
        home.mkdir()
        full = {key: value for key, value in os.environ.items()
                if not key.startswith(("HF_", "HUGGING_FACE_"))}
        full |= {"HOME": str(home), "HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": "1",
                 "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1",
                 "TINKER_BASE_URL": self.tinker.url, "TINKER_API_KEY": "tml-interop",
                 "HF_TOKEN": TOKEN}
        full |= {key: value.replace("HOME", str(home)) for key, value in env.items()}
        if (token := env.get("TOKEN_FILE")) is not None:
            (home / "token").write_text(token)
        words = [self.path if word == "PATH" else word for word in words]
        done = subprocess.run([self.programs[who], *words], capture_output=True, text=True,
                              timeout=300, check=False, env=full, cwd=home)
        return Result(done, hub)

    def both(self, words, tar=None, info=None, seed=None, env=None, times=1, **hub):
        """Each with a fresh hub, `seed`ed, `times` in a row."""
        self.tinker.tar, self.tinker.info = tar, info
        results = []
        for who in self.programs:
            # what `failures` holds is used up
            own = {key: {k: list(v) for k, v in value.items()} if key == "failures" else value
                   for key, value in hub.items()}
            with Hub(lenient=self.programs[who] == self.programs["official"], **own) as here:
                if seed:
                    seed(here)
                for _ in range(times):
                    result = self.run(who, words, here, env or {})
                results.append(result)
        return results

    def pushed(self, *options, how="json", **more):
        """Both succeed and leave the same."""
        what = f"push-hf {' '.join(options)} {sorted(more) or ''}".strip()
        words = ["--format", how, "checkpoint", "push-hf", "PATH", *options]
        ours, official = self.both(words, **more)
        check(f"{what}: exit code", ours.code, official.code)
        check(f"{what}: rules of the hub", (ours.problems, official.problems), ([], []))
        if official.code != 0 or ours.code != 0:
            fail(what, ours.err, official.err)
            return ours
        check(f"{what}: repositories", settled(ours.repos), settled(official.repos))
        for name, text in ours.texts.items():
            check(f"{what}: {name}", bare(text), bare(official.texts[name]))
        if how == "json":
            check(f"{what}: JSON", bare(ours.out), bare(official.out))
        else:
            check(f"{what}: table", bare(table(ours.out, False)),
                  bare(table(official.out, True)))
        return ours

    def refused(self, *options, code=1, says=None, path="PATH", **more):
        """Both fail, ours with `code` and the words `says`, and leave the same."""
        what = f"refused: push-hf {path} {' '.join(options)} {sorted(more) or ''}".strip()
        ours, official = self.both(["checkpoint", "push-hf", path, *options], **more)
        check(f"{what}: exit codes", (ours.code, official.code), (code, 1))
        check(f"{what}: output", (ours.out, official.out), ("", ""))
        check(f"{what}: repositories", settled(ours.repos), settled(official.repos))
        if says:
            for name, result in (("ours", ours), ("official", official)):
                missing = [text for text in says if text.lower() not in result.err.lower()]
                check(f"{what}: {name} says {missing}, not {result.err!r}", missing, [])
        return ours


def bare(value):
    """The official program has the name alone where the user gave no namespace."""
    return json.loads(re.sub(f"{USER}/(tinker-|bare)", r"\1", json.dumps(value)))


def settled(repos):
    """Without the sums of model cards that name the repository, which `bare` compares, and
    with one message where the user gave none."""
    def branch(name, files):
        derived = re.search("/(tinker-|bare)", name)
        return {path: "" if derived and path == "README.md" else total
                for path, total in files.items()}
    text = json.dumps({name: {**repo, "branches": {key: branch(name, files) for key, files
                                                   in repo["branches"].items()}}
                       for name, repo in repos.items()})
    return json.loads(text.replace(*MESSAGES))


# ---- what is compared ----

def options(pair):
    pair.pushed("--repo", REPO)
    pair.pushed("-r", REPO, "--public", how="table")
    pair.pushed("--repo", REPO, "--public")
    pair.pushed("--repo", REPO, "--revision", "v1.0")
    pair.pushed("--repo", REPO, "--revision", "v1.0", how="table")
    pair.pushed("--repo", REPO, "--revision", "feature/a#b%20+c")
    pair.pushed("--repo", REPO, "--revision", "h\u00e9")
    pair.pushed("--repo", REPO, "--revision", "main")
    pair.pushed("--repo", REPO, "--create-pr")
    pair.pushed("--repo", REPO, "--create-pr", "--revision", "main")
    pair.pushed("--repo", REPO, "--no-model-card")
    pair.pushed("--repo", REPO, "--commit-message", "h\u00e9 \"b\" \\ \U0001f600")
    pair.pushed("--repo", REPO, "--commit-message", "two\nlines\n")
    pair.pushed("--repo", REPO, "--commit-message", "")
    pair.pushed()
    pair.pushed(how="table")
    pair.pushed("--revision", "r1")
    pair.pushed("--repo", "bare", "--public")


def patterns(pair):
    tar = archive(adapter(files={"sub/x.json": b"1", "x.json": b"2", ".hidden": b"3",
                                 "sub/deep/y.txt": b"4", "[a].txt": b"5", "sub.d/z": b"",
                                 "sub/\u00e9.txt": b"8",
                                 ".git/config": b"6", ".cache/huggingface/q": b"7"}))
    for chosen in (["--allow-pattern", "*"], ["--allow-pattern", "*.json"],
                   ["--allow-pattern", "x.json", "--allow-pattern", "README*"],
                   ["--allow-pattern", "sub/"], ["--allow-pattern", "?.json"],
                   ["--allow-pattern", "[[]a].txt"], ["--allow-pattern", "[!a-r]*"],
                   ["--allow-pattern", "sub\\deep\\*"],
                   ["--allow-pattern", "sub/?.txt"], ["--allow-pattern", "sub/[\u00e0-\u00ff]*"],
                   ["--ignore-pattern", "*.json"], ["--ignore-pattern", "x.json"],
                   ["--ignore-pattern", "sub/", "--ignore-pattern", ".*"],
                   ["--allow-pattern", "*.json", "--ignore-pattern", "sub/*"],
                   ["--allow-pattern", "checkpoint_complete"],
                   ["--ignore-pattern", "checkpoint_complete"]):
        pair.pushed("--repo", REPO, *chosen, tar=tar)


def contents(pair):
    odd = {"z": [1.0, 1e-05, 1e22, -0.0, 12345678901234567890, True, None, "\u00e9\U0001f600\x7f"],
           "r": 16, "a": {"y": {}, "b": []}, "\u00e9": 0.1, "B": 1e16, "base_model_name_or_path": None}
    for config in ({"r": 8}, {"base_model_name_or_path": ""}, odd, b"not JSON", b"[1]",
                   {"base_model_name_or_path": 5}):
        pair.pushed("--repo", REPO, tar=archive(adapter(config)))
    only_bin = adapter()
    only_bin["adapter_model.bin"] = only_bin.pop("adapter_model.safetensors")
    pair.pushed("--repo", REPO, tar=archive(only_bin))
    card = {"README.md": b"---\nlicense: mit\n---\nhello\n"}
    pair.pushed("--repo", REPO, tar=archive(adapter(files=card)))
    pair.pushed("--repo", REPO, "--no-model-card", tar=archive(adapter(files=card)))
    pair.pushed("--repo", REPO, tar=archive({f"./{name}": data for name, data
                                             in adapter().items()}))
    for info in ({"base_model": "Org/My.Model_1.5--x-", "lora_rank": 4, "train_mlp": False,
                  "train_attn": None, "train_unembed": True},
                 {"base_model": "plain", "train_attn": False}, {"base_model": "a/b/c"}, None):
        text = json.dumps({"is_lora": True, **info}).encode() if info else b""
        pair.pushed("--repo", REPO, tar=archive(adapter({"r": 8})), info=text)
        pair.pushed(tar=archive(adapter({"r": 8})), info=text)


def transfers(pair):
    for part in (100, 256, 2304, 5000, 1 << 20):
        pair.pushed("--repo", REPO, tar=archive(adapter()), part=part)
    pair.pushed("--repo", REPO, part=64 * 1024)
    data = adapter()["adapter_model.safetensors"]
    oid = hub_stand_in.hashlib.sha256(data).hexdigest()
    ours = pair.pushed("--repo", REPO, tar=archive(adapter()),
                       seed=lambda hub: hub.objects.update({oid: data}))
    check("an object that is there is not sent", [r for r in ours.log if r.startswith("PUT")], [])
    for again in ([], ["--revision", "v1"]):
        ours = pair.pushed("--repo", REPO, *again, times=2)
        check("the second time changes nothing",
              sum("/commit/" in request for request in ours.log), 1)
    ours = pair.pushed("--repo", REPO, ignored=["adapter_model.safetensors"])
    check("a file that is not wanted is not sent", [r for r in ours.log if r.startswith("PUT")],
          [])
    pair.pushed("--repo", REPO, ignored=["README.md"])
    pair.pushed("--repo", REPO, failures={("PUT", "/object"): [503]})
    pair.pushed("--repo", REPO, failures={("POST", f"/api/models/{REPO}/preupload"): [502]})


def logins(pair):
    pair.pushed("--repo", REPO, env={"HF_TOKEN": f" {TOKEN}\n"})
    pair.pushed("--repo", REPO, env={"HF_TOKEN": "", "HUGGING_FACE_HUB_TOKEN": TOKEN})
    pair.pushed("--repo", REPO, env={"HF_TOKEN": TOKEN, "HUGGING_FACE_HUB_TOKEN": "no"})
    for where in ({"HF_HOME": "HOME"}, {"HF_TOKEN_PATH": "HOME/token"}):
        pair.pushed("--repo", REPO, env={"HF_TOKEN": "", "TOKEN_FILE": f"{TOKEN}\n", **where})
    for env in ({"HF_TOKEN": ""}, {"HF_TOKEN": "hf_wrong"}):
        pair.refused("--repo", REPO, env=env, says=["Not logged in", "hf auth login"])


def existing(pair):
    def seeded(text="", private=False, branch="main"):
        files = {"README.md": text.encode()} if text else {}
        return lambda hub: hub.seed(REPO, files | {"old": b"1"}, branch, private)
    pair.pushed("--repo", REPO, seed=seeded())
    pair.pushed("--repo", REPO, "--public", seed=seeded(private=True))
    pair.pushed("--repo", REPO, "--revision", "v1", seed=seeded(branch="v1"))
    pair.pushed("--repo", REPO, seed=seeded(), foreign=[USER])
    pair.pushed("--repo", REPO, seed=seeded("no path at all"))
    pair.pushed("--repo", REPO, seed=seeded(f"---\ntinker_path: {pair.path}\n---\n{OTHER}"))
    pair.pushed("--repo", REPO, "--revision", "v1", seed=seeded(f"`{pair.path}`", branch="v1"))
    says = ["Repo ID appears to contain a different Tinker checkpoint",
            f"Found {OTHER}, expected {pair.path}"]
    pair.refused("--repo", REPO, seed=seeded(f"({pair.path})"))
    for options, branch in (([], "main"), (["--revision", "v1"], "v1"), (["--create-pr"], "main")):
        pair.refused("--repo", REPO, *options, seed=seeded(f"see `{OTHER}`", branch=branch),
                     says=says)


def errors(pair):
    pair.refused("--repo", REPO, path="no-path", code=2, says=["no-path"])
    pair.refused("--repo", REPO, path="tinker://a/b", code=2, says=["tinker://a/b"])
    pair.refused("--repo", REPO, path=pair.path + "-not-there")
    lost = adapter()
    for name in ("checkpoint_complete", "adapter_config.json", "adapter_model.safetensors"):
        files = {key: data for key, data in lost.items() if key != name}
        says = ["checkpoint_complete"] if name == "checkpoint_complete" else [
            "Checkpoint archive does not contain a PEFT adapter"]
        pair.refused("--repo", REPO, tar=archive(files), says=says)
    pair.refused("--repo", REPO, tar=archive(lost, link="link"))
    pair.refused("--repo", REPO, tar=b"not a tar at all")
    pair.refused("--repo", "acme/thing", foreign=["acme"])
    for name in ("a/b/c", "a--b", "a..b", ".a", "a/", "a b", "x.git"):
        pair.refused("--repo", name, code=2, says=[name])
    pair.refused("--repo", REPO, failures={("POST", f"/api/models/{REPO}/commit"): [500]})
    pair.refused("--repo", REPO, failures={("PUT", "/object"): [403]})
    pair.refused("--repo", REPO, full=True)
    pair.refused("--repo", REPO, failures={("GET", "/api/whoami-v2"): [500] * 9})
    pair.refused("--repo", REPO, failures={("POST", "/api/repos/create"): [500] * 9})


def documented(pair):
    """What docs/cli-differences.md says of either."""
    def both(*words):
        return pair.both(["checkpoint", "push-hf", "PATH", *words],
                         seed=lambda hub: hub.seed(REPO, branch="v1"))
    ours, official = both("--repo", REPO, "--create-pr", "--revision", "v1")
    check("pull request to a branch", (ours.code, official.code), (0, 1))
    check("pull request to a branch: where it is",
          [(c["branch"], c["pull_request"]) for c in ours.repos[REPO]["commits"]], [("v1", True)])
    ours, official = both("--create-pr")
    check("pull request, derived name", (ours.code, official.code), (0, 1))
    ours, official = both("--repo", REPO, "--allow-pattern", "X.JSON")
    check("nothing to send", (ours.code, official.code), (1, 0))
    check("nothing to send: repositories", ours.repos, official.repos)
    ours, official = pair.both(["checkpoint", "push-hf", "PATH", "--repo", REPO], failures={
        (method, f"/{REPO}/resolve"): [500] * 9 for method in ("HEAD", "GET")})
    check("README that cannot be read", (ours.code, official.code), (1, 0))
    check("README that cannot be read: no commit", ours.repos[REPO]["commits"], [])
    for words in ([], ["--repo", "bare"], ["--repo", REPO, "--revision", "v1"]):
        with Hub() as hub:
            done = pair.run("official", ["checkpoint", "push-hf", "PATH", *words], hub, {})
            check(f"the official program, {words} at a strict hub", (done.code, "404" in done.err),
                  (1, True))


def main():
    parser = argparse.ArgumentParser()
    for option in ("--ours", "--official", "--server", "--path", "--work"):
        parser.add_argument(option, required=True)
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    pair = Pair(chosen)
    for suite in (options, patterns, contents, transfers, logins, existing, errors, documented):
        if chosen.only in suite.__name__:
            suite(pair)
    if cli_compare.failures == 0:
        print(f"tinkc and the official CLI push the same: {cli_compare.checks} comparisons")
    return 1 if cli_compare.failures else 0


if __name__ == "__main__":
    sys.exit(main())
