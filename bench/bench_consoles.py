#!/usr/bin/python3
"""Training at `tinkc serve` with 50 open consoles and with none: CPU time of the server for a step, the same work at two
servers in turn. Every console must have got every step.

The bar is 0.95. What a console costs does not depend on the model: five batches of events in a second at most, each one
wake and one send, some 20 us. 50 consoles are 250 of them, under 1 % of a core. Steps of the embedded model are short, so
that a batch has many; the rest of the 5 % is what a busy machine adds to many small wakes.
"""
import json
import selectors
import socket
import sys
import tempfile
import threading
import time

from bench_recording import STEPS, WRITTEN_S, Server

CONSOLES, ROUNDS, BAR = 50, 7, 0.95


class Consoles:
    """Readers of the stream of events; `steps` is how many each has got."""

    def __init__(self, url):
        host, port = url.split("/")[-1].split(":")
        self.steps, self.bodies, self.bytes = [0] * CONSOLES, [False] * CONSOLES, 0
        self.rest, self.events = [b""] * CONSOLES, [b""] * CONSOLES
        self.selector = selectors.DefaultSelector()
        for i in range(CONSOLES):
            one = socket.create_connection((host, int(port)))
            one.sendall(f"GET /tinkc/v1/console/events HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/event-stream\r\n\r\n".encode())
            self.selector.register(one, selectors.EVENT_READ, i)
        self.ended = False
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        while not self.ended:
            for key, _ in self.selector.select(0.1):
                data = key.fileobj.recv(1 << 20)
                if not data:
                    self.selector.unregister(key.fileobj)
                self.bytes += len(data)
                self.take(key.data, self.rest[key.data] + data)

    def take(self, i, text):
        """Counts the steps in whole events, without the head and the marks of the chunks."""
        if not self.bodies[i]:
            _, found, text = text.partition(b"\r\n\r\n")
            self.bodies[i] = bool(found)
        while True:
            size, found, body = text.partition(b"\r\n")
            n = int(size, 16) if found else 0
            if not found or len(body) < n + 2:
                break
            self.events[i] += body[:n]
            text = body[n + 2:]
        self.rest[i] = text
        whole, _, self.events[i] = self.events[i].rpartition(b"\n\n")
        self.steps[i] += whole.count(b"event: step\n")

    def close(self):
        self.ended = True
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()


def main():
    with tempfile.TemporaryDirectory(prefix="bench-consoles-") as folder:
        servers, consoles = [], None
        try:
            servers += [Server(folder, "none"), Server(folder, "fifty")]
            for server in servers:
                server.connect()
            consoles = Consoles(servers[1].url)
            spent = [], []
            for i in range(ROUNDS + 1):
                for k in (0, 1) if i % 2 == 0 else (1, 0):
                    before = servers[k].cpu()
                    servers[k].train()
                    time.sleep(WRITTEN_S)
                    if i > 0:  # the first one reads the weights
                        spent[k].append(servers[k].cpu() - before)
            wanted = (ROUNDS + 1) * STEPS
            until = time.monotonic() + 30
            while min(consoles.steps) < wanted and time.monotonic() < until:
                time.sleep(0.05)
            if set(consoles.steps) != {wanted}:
                sys.exit(f"bench_consoles: of {wanted} steps the consoles got {sorted(set(consoles.steps))}")
            ratio = min(spent[0]) / min(spent[1])
            print(json.dumps({"name": "training with 50 open consoles against none", "ratio": ratio, "bar": BAR, "ok": ratio >= BAR,
                              "detail": f"{min(spent[0]) / STEPS * 1e3:.2f} ms of CPU per step without, {min(spent[1]) / STEPS * 1e3:.2f} "
                                        f"with, best of {ROUNDS}; {consoles.bytes / CONSOLES / wanted:.0f} bytes to each per step"}), flush=True)
        finally:
            if consoles:
                consoles.close()
            for server in servers:
                server.end()


if __name__ == "__main__":
    main()
