#!/usr/bin/env python3
"""Runs the probes of one SDK version against a server and writes their outcomes to a file.

    run.py VERSION URL WORK_DIR OUT.json [ROW...]

The SDK talks to the server through a relay that looks at the status of every answer: the SDK
hides a 5xx from its caller by asking again for minutes, here it fails the run.
"""

import json
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent.parent / "scripts"))
import sdkenv  # noqa: E402

REQUEST = re.compile(rb"(?:^|\r\n)(GET|POST|PUT|PATCH|DELETE) (\S+) HTTP/1\.1\r\n")
FAILURE = re.compile(rb"HTTP/1\.1 (5\d\d) ")


class Relay:
    """Passes bytes on; `failures` lists the requests that were answered with 5xx."""

    def __init__(self, server):
        self.target = urlsplit(server)
        self.failures = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection((self.target.hostname, self.target.port))
            last = []  # the newest request of this connection
            for ends, look in (((client, server), self.see_request), ((server, client), self.see_answer)):
                threading.Thread(target=self.copy, args=(*ends, look, last), daemon=True).start()

    @staticmethod
    def copy(source, target, look, last):
        try:
            while data := source.recv(65536):
                look(data, last)
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    @staticmethod
    def see_request(data, last):
        for method, path in REQUEST.findall(data):
            last[:] = [f"{method.decode()} {path.decode()}"]

    def see_answer(self, data, last):
        # An answer begins with its status line; the bytes of a body may say anything.
        found = FAILURE.match(data)
        if found:
            self.failures.append(f"{last[0] if last else '?'}: {found.group(1).decode()}")


def main(version, url, work, out, wanted):
    python = sdkenv.environment(version, with_torch=True)
    relay = Relay(url)
    done = subprocess.run([str(python), str(HERE / "drive.py"), relay.url, work, *wanted],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not rows:
        rows.append({"row": "the run", "outcome": "failed", "text": done.stderr[-3000:]})
    for failure in dict.fromkeys(relay.failures):
        rows.append({"row": failure, "outcome": "failed", "text": "the server answered with 5xx"})
    Path(out).write_text(json.dumps({"version": version, "rows": rows}))
    bad = [r for r in rows if r["outcome"] not in ("works", "refused", "broken")]
    for row in bad:
        print(f"tinker {version}: {row['row']}: {row['outcome']}: {row['text']}")
    spent = sum(r.get("seconds", 0) for r in rows)
    print(f"tinker {version}: {len(rows)} rows, {len(bad)} failed, {spent:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5], sys.argv[5:]))
