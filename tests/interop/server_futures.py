"""Futures of samples with the official SDK 0.36, unmodified, against `tinkc serve`: one poll for
a whole sampling session, cancelled samples, and a sampler that several clients share.

    server_futures.py URL

Prints one line, or what is wrong and exits with 1.
"""
import re
import sys
import time
import urllib.request

import tinker
from tinker import types

MODEL = "tinkc/pebble-llama-2m"
KEY = "tml-interop"


def metric(url, name):
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        text = answer.read().decode()
    return int(re.search(rf"^tinkc_{name} (\d+)$", text, re.M).group(1))


def need(ok, what):
    if not ok:
        sys.exit(f"server_futures: {what}")


def ask(client, n):
    prompt = types.ModelInput.from_ints([5, 7, 11])
    params = types.SamplingParams(max_tokens=n, stop=[])
    return client.sample(prompt=prompt, num_samples=1, sampling_params=params)


def check_shared_poll(client):
    futures = [ask(client, 4) for _ in range(60)]
    need(all(len(f.result(timeout=60).sequences[0].tokens) == 4 for f in futures), "tokens")
    poller = client._futures_poller
    need(poller is not None and poller._cursor >= 60, "retrieve_futures was not used")
    need(poller._failure is None, f"the poll failed: {poller._failure}")


def check_failure(client):
    prompt = types.ModelInput.from_ints([99999999])
    future = client.sample(prompt=prompt, num_samples=1,
                           sampling_params=types.SamplingParams(max_tokens=1))
    try:
        future.result(timeout=60)
    except Exception:
        return
    need(False, "a sample of an unknown token succeeds")


def wait_until(condition, what):
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    need(False, what)


def check_cancel(client, url):
    before = metric(url, "samples_cancelled_total")
    futures = [ask(client, 400) for _ in range(40)]
    wait_until(lambda: metric(url, "samples_waiting") >= 30, "the samples do not run")
    for future in futures:
        future.cancel()
    wait_until(lambda: metric(url, "samples_waiting") == 0, "cancelled samples run on")
    cancelled = metric(url, "samples_cancelled_total") - before
    need(cancelled > 0, "cancel_future was not sent")
    return cancelled


def check_handle(client):
    others = [tinker.SamplingClient.from_sampler_handle(client.get_sampler_handle(), api_key=KEY)
              for _ in range(2)]
    futures = [ask(c, 3) for c in others + [client] for _ in range(10)]
    need(all(len(f.result(timeout=60).sequences[0].tokens) == 3 for f in futures), "shared")
    ids = {c._cloned_sampler_id for c in others}
    need(len(ids) == 2 and all(0 < i < 1000 for i in ids), f"join gave {ids}")


def main():
    url = sys.argv[1]
    service = tinker.ServiceClient(base_url=url, api_key=KEY)
    client = service.create_sampling_client(base_model=MODEL)
    check_shared_poll(client)
    check_failure(client)
    cancelled = check_cancel(client, url)
    check_shared_poll(client)
    check_handle(client)
    print(f"tinker {tinker.__version__}: one poll for a session, {cancelled} samples cancelled, "
          "3 clients of one sampler")


main()
