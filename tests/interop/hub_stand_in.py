#!/usr/bin/env python3
"""A model hub in memory, for push_hf.py: the requests that uploading a folder needs.

Two ports, as in reality: the hub itself, which wants a token, and a storage for large files,
which must never see one. A request that breaks a rule of the protocol (a token at the storage, a
checksum that does not fit, a commit of an object that was not stored) gets an error and is
listed in `problems`; all requests are in `log`.

Strict, like the hub: a name without a namespace is not found and a branch has to be made before
a commit. `lenient` takes the bare name as the user's own and makes branches as they come.
"""
import base64
import hashlib
import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

USER = "someone"
TOKEN = "hf_interop"
LFS_TYPE = "application/vnd.git-lfs+json"


def git_oid(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Refused(Exception):
    """An answer that is an error: status, text, code of the hub."""

    def __init__(self, status, text, code=""):
        super().__init__(text)
        self.status, self.text, self.code = status, text, code


class Repo:
    def __init__(self, private):
        self.private = private
        self.branches = {"main": {".gitattributes": b"*.safetensors filter=lfs\n"}}
        self.large = set()  # (branch, path) of files that are objects of the storage
        self.commits = []


class Hub:
    """lenient: see above; part: size of the parts of a multipart upload, None for basic;
    failures: {(method, start of the path): [status of the first answers]}; foreign: name
    spaces in which nothing may be created; ignored: files that the hub does not want;
    full: no room for large files."""

    def __init__(self, lenient=False, part=None, failures=None, foreign=(), ignored=(),
                 full=False):
        self.lenient, self.part, self.foreign = lenient, part, foreign
        self.ignored, self.full = ignored, full
        self.failures = failures or {}
        self.repos, self.objects, self.parts = {}, {}, {}
        self.expected, self.samples = {}, {}
        self.log, self.problems = [], []
        self.lock = threading.Lock()
        self.servers = [self._listen(HubHandler), self._listen(StorageHandler)]
        self.url, self.storage = (f"http://127.0.0.1:{s.server_port}" for s in self.servers)

    def _listen(self, handler):
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.hub, server.daemon_threads = self, True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def problem(self, text):
        self.problems.append(text)
        raise Refused(400, text)

    def seed(self, name, files=None, branch="main", private=True):
        """A repository that is already there."""
        repo = self.repos.setdefault(name, Repo(private))
        repo.branches.setdefault(branch, dict(repo.branches["main"])).update(files or {})
        return repo

    def dump(self):
        """What came of it: everything that a program can have an influence on."""
        return {name: {"private": repo.private,
                       "branches": {branch: {path: hashlib.sha256(data).hexdigest()
                                             for path, data in sorted(files.items())}
                                    for branch, files in sorted(repo.branches.items())},
                       "large": sorted(repo.large), "commits": repo.commits}
                for name, repo in sorted(self.repos.items())}

    def requests(self):
        return [f"{method} {path}" for method, path in self.log]

    # ---- what the hub answers ----

    def repo(self, name):
        if self.lenient and "/" not in name:
            name = f"{USER}/{name}"
        if name not in self.repos:
            raise Refused(404, "Repository not found", "RepoNotFound")
        return name, self.repos[name]

    def files(self, repo, revision):
        if revision not in repo.branches:
            if not self.lenient:
                raise Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
            return dict(repo.branches["main"])
        return repo.branches[revision]

    def create(self, body):
        if body.get("type", "model") != "model" or not body.get("name"):
            self.problem("repos/create: no model of a name")
        space = body.get("organization") or USER
        name = f"{space}/{body['name']}"
        said = {body[key] for key in ("visibility", "private") if key in body}
        if not said <= {"private", "public", True, False} or not said:
            self.problem(f"repos/create: private or public? {body}")
        private = bool(said & {"private", True})
        if space in self.foreign:
            raise Refused(403, f"You don't have the rights to create a model in {space}")
        answer = {"url": f"{self.url}/{name}", "name": name, "id": "6789"}
        if name in self.repos:
            return 409, {"error": "You already created this model repo", **answer}
        self.repos[name] = Repo(private)
        return 200, answer

    def branch(self, name, revision, body):
        repo = self.repo(name)[1]
        if revision in repo.branches:
            raise Refused(409, f"Reference already exists: {revision}")
        start = body.get("startingPoint", "main")
        repo.branches[revision] = dict(self.files(repo, start))
        repo.large |= {(revision, path) for branch, path in repo.large if branch == start}
        return 201, {"success": True}

    def preupload(self, name, revision, body):
        repo = self.repo(name)[1]
        there = self.files(repo, revision)
        files = []
        for file in body["files"]:
            path, sample = file["path"], base64.b64decode(file["sample"], validate=True)
            if len(sample) != min(file["size"], 512):
                self.problem(f"preupload: sample of {path} has {len(sample)} bytes")
            self.samples[path] = (sample, file["size"])
            large = path.endswith((".safetensors", ".bin"))
            data = there.get(path)
            oid = None if data is None else (
                hashlib.sha256(data).hexdigest() if (revision, path) in repo.large
                else git_oid(data))
            files.append({"path": path, "uploadMode": "lfs" if large else "regular",
                          "shouldIgnore": path in self.ignored, "oid": oid})
        return 200, {"files": files}

    def batch(self, name, body):
        self.repo(name)
        if body["operation"] != "upload" or body.get("hash_algo", "sha256") != "sha256":
            self.problem(f"batch: {body}")
        way = "multipart" if self.part else "basic"
        if way not in body.get("transfers", ["basic"]):
            self.problem(f"batch: {way} is not offered")
        return 200, {"transfer": way, "objects": [self.actions(name, entry)
                                                  for entry in body["objects"]]}

    def actions(self, name, entry):
        oid, size = entry["oid"], entry["size"]
        if oid in self.objects:
            return {"oid": oid, "size": size}
        if self.full:
            return {"oid": oid, "size": size, "error": {"code": 507, "message": "no room left"}}
        self.expected[oid] = size
        upload = {"href": f"{self.storage}/object/{oid}?signature=a%2Fb"}
        if self.part:
            count = -(-size // self.part)
            header = {f"{i:05}": f"{self.storage}/part/{oid}/{i}?signature=a%2Fb"
                      for i in range(count, 0, -1)}  # backwards: the numbers count
            upload = {"href": f"{self.url}/complete/{oid}?signature=a%2Fb",
                      "header": {"chunk_size": str(self.part), **header}}
        return {"oid": oid, "size": size, "authenticated": True,
                "actions": {"upload": upload,
                            "verify": {"href": f"{self.url}/{name}.git/info/lfs/objects/verify"}}}

    def complete(self, oid, body):
        if body["oid"] != oid:
            self.problem("completion of another object")
        parts = self.parts.pop(oid, {})
        numbers = [part["partNumber"] for part in body["parts"]]
        if numbers != list(range(1, len(parts) + 1)):
            self.problem(f"completion: parts {numbers}, {len(parts)} were put")
        for part in body["parts"]:
            data = parts[part["partNumber"]]
            if part["etag"] != f'"{hashlib.md5(data).hexdigest()}"':
                self.problem(f"completion: etag {part['etag']}")
        self.store(oid, b"".join(parts[number] for number in numbers))
        return 200, {"success": True}

    def store(self, oid, data):
        if oid not in self.expected or self.expected[oid] != len(data):
            self.problem(f"storage: {len(data)} bytes of {oid}")
        if hashlib.sha256(data).hexdigest() != oid:
            self.problem("storage: not the content that was announced")
        self.objects[oid] = data

    def verify(self, body):
        if len(self.objects.get(body["oid"], b"")) != body["size"]:
            self.problem("verify: the object is not there")
        return 200, {}

    def commit(self, name, revision, lines, pull_request):
        name, repo = self.repo(name)
        files = dict(self.files(repo, revision))
        if lines[0]["key"] != "header":
            self.problem("commit: no header")
        target = revision
        if pull_request:
            target = f"refs/pr/{1 + sum(c['pull_request'] for c in repo.commits)}"
        changed = []
        for line in lines[1:]:
            changed.append(self.change(repo, files, target, line))
        repo.branches[target] = files
        repo.commits.append({"branch": revision, "pull_request": pull_request, "files": changed,
                             "header": lines[0]["value"]})
        oid = f"{len(repo.commits):040x}"
        answer = {"success": True, "commitOid": oid, "commitUrl": f"{self.url}/{name}/commit/{oid}"}
        if pull_request:
            answer["pullRequestUrl"] = f"{self.url}/{name}/discussions/{target.split('/')[-1]}"
        return 200, answer

    def change(self, repo, files, branch, line):
        value = line["value"]
        path = value["path"]
        if path in self.ignored:
            self.problem(f"commit: {path} is not wanted")
        if line["key"] == "lfsFile":
            data = self.objects.get(value["oid"])
            if data is None or value["algo"] != "sha256" or value.get("size") != len(data):
                self.problem(f"commit: {path} is not in the storage")
            repo.large.add((branch, path))
        elif line["key"] == "file" and value["encoding"] == "base64":
            data = base64.b64decode(value["content"], validate=True)
        else:
            self.problem(f"commit: {line['key']}")
        if self.samples.get(path) != (data[:512], len(data)):
            self.problem(f"commit: {path} is not what preupload was asked about")
        files[path] = data
        return path

    def info(self, name, revision):
        name, repo = self.repo(name)
        self.files(repo, revision)
        return 200, {"id": name, "modelId": name, "private": repo.private, "tags": [],
                     "downloads": 0, "sha": f"{len(repo.commits):040x}", "siblings": []}

    def resolve(self, name, revision, path):
        repo = self.repo(name)[1]
        files = self.files(repo, revision)
        if path not in files:
            raise Refused(404, "Entry not found", "EntryNotFound")
        return files[path], f"{len(repo.commits):040x}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for key, value in headers:
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer_json(self, status, value, headers=()):
        self.answer(status, json.dumps(value).encode(),
                    [("Content-Type", "application/json"), *headers])

    def handle_one(self):
        hub = self.server.hub
        length = self.headers.get("Content-Length")
        body = self.rfile.read(int(length or 0))
        path, _, query = self.path.partition("?")
        with hub.lock:
            hub.log.append((self.command, path))
            try:
                if self.headers.get("Transfer-Encoding"):
                    self.close_connection = True
                    hub.problem(f"{path}: chunked, storages do not take it")
                for (method, start), statuses in hub.failures.items():
                    if method == self.command and path.startswith(start) and statuses:
                        raise Refused(statuses.pop(0), "not now")
                self.route(hub, path, urllib.parse.parse_qs(query), body)
            except Refused as refused:
                self.answer_json(refused.status, {"error": refused.text}, [
                    ("X-Error-Message", refused.text),
                    *([("X-Error-Code", refused.code)] if refused.code else [])])
            except (KeyError, ValueError, TypeError) as broken:
                hub.problems.append(f"{self.command} {path}: {broken!r}")
                self.answer_json(400, {"error": repr(broken)})

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_one


class StorageHandler(Handler):
    def route(self, hub, path, query, body):
        if self.headers.get("Authorization") is not None:
            hub.problem("the storage was sent a token")
        if self.command != "PUT" or query != {"signature": ["a/b"]}:
            hub.problem(f"storage: {self.command} {path} {query}")
        words = path.split("/")
        if words[1] == "object":
            hub.store(words[2], body)
        else:
            hub.parts.setdefault(words[2], {})[int(words[3])] = body
        self.answer(200, b"", [("ETag", f'"{hashlib.md5(body).hexdigest()}"')])


class HubHandler(Handler):
    def login(self, hub):
        said = self.headers.get("Authorization")
        if said != f"Bearer {TOKEN}":
            raise Refused(401, "Invalid username or password." if said is None
                          else "Invalid credentials in Authorization header")

    def route(self, hub, path, query, body):
        words = path.strip("/").split("/")
        if words[0] == "complete":  # the signature in the address is the permission
            self.want_type(hub, LFS_TYPE)
            self.answer_json(*hub.complete(words[1], json.loads(body)))
            return
        if path == "/api/agent-harnesses":
            raise Refused(404, "not here")
        self.login(hub)
        if words[0] != "api":
            self.route_files(hub, path, words, body)
        elif self.command == "GET" and path == "/api/whoami-v2":
            self.answer_json(200, {"type": "user", "id": "1", "name": USER, "orgs": [],
                                   "auth": {"type": "access_token"}})
        elif self.command == "POST" and path == "/api/repos/create":
            self.want_type(hub, "application/json")
            self.answer_json(*hub.create(json.loads(body)))
        elif self.command == "POST" and path == "/api/validate-yaml":
            if not json.loads(body)["content"].startswith("---\n"):
                raise Refused(400, "no metadata")
            self.answer_json(200, {"errors": [], "warnings": []})
        elif words[1] == "models":
            self.route_model(hub, words[2:], query, body)
        else:
            raise Refused(404, f"no such route: {path}")

    def want_type(self, hub, kind):
        said = self.headers.get("Content-Type", "")
        if said.partition(";")[0] != kind:
            hub.problem(f"{self.path}: Content-Type {said}, not {kind}")

    def route_model(self, hub, words, query, body):
        # NAME or SPACE/NAME, then maybe a verb and a revision, which holds no "/"
        verbs = ("branch", "preupload", "commit", "revision")
        at = next((i for i in (1, 2) if i < len(words) and words[i] in verbs), len(words))
        name, rest = "/".join(words[:at]), words[at:]
        verb, revision = (rest + ["", "main"])[:2] if len(rest) < 2 else rest[:2]
        if len(rest) > 2:
            hub.problem(f"revision with a bare slash: {self.path}")
        revision = urllib.parse.unquote(revision)
        pull_request = query.get("create_pr") == ["1"]
        if self.command == "GET" and verb in ("", "revision"):
            self.answer_json(*hub.info(name, revision))
        elif self.command == "POST" and verb == "branch":
            self.answer_json(*hub.branch(name, revision, json.loads(body or b"{}")))
        elif self.command == "POST" and verb == "preupload":
            self.want_type(hub, "application/json")
            self.answer_json(*hub.preupload(name, revision, json.loads(body)))
        elif self.command == "POST" and verb == "commit":
            self.want_type(hub, "application/x-ndjson")
            lines = [json.loads(line) for line in body.splitlines()]
            self.answer_json(*hub.commit(name, revision, lines, pull_request))
        else:
            raise Refused(404, f"no such route: {self.path}")

    def route_files(self, hub, path, words, body):
        for ending in ("batch", "verify"):
            if path.endswith(f".git/info/lfs/objects/{ending}"):
                name = path[1:].removesuffix(f".git/info/lfs/objects/{ending}")
                said = json.loads(body)
                if ending == "batch":
                    self.want_type(hub, LFS_TYPE)
                self.answer_json(*(hub.batch(name, said) if ending == "batch"
                                   else hub.verify(said)))
                return
        if "resolve" not in words or self.command not in ("GET", "HEAD"):
            raise Refused(404, f"no such route: {path}")
        at = words.index("resolve")
        data, commit = hub.resolve("/".join(words[:at]), urllib.parse.unquote(words[at + 1]),
                                   "/".join(words[at + 2:]))
        self.answer(200, data, [("ETag", f'"{git_oid(data)}"'), ("X-Repo-Commit", commit),
                                ("Content-Type", "text/plain; charset=utf-8")])
