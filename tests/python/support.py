"""Shared by the tests of the Python package: a runner that prints what scripts/test-report.py
counts, a real server, and a model's name. Not a test itself."""

import ctypes
import faulthandler
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("TINKC", str(ROOT / "build/tinkc"))
MODEL = "tinkc/pebble-llama-2m"
sys.path.insert(0, str(ROOT / "bindings/python"))
os.environ.setdefault("TINKC_LIBRARY", str(pathlib.Path(PROGRAM).parent / "libtinkc.so"))
for name in [name for name in os.environ if name.startswith(("TINKER_", "HF_"))]:
    del os.environ[name]
os.environ["NO_PROXY"] = "127.0.0.1"


class _Result(unittest.TestResult):
    def startTest(self, test):
        super().startTest(test)
        self.bad = len(self.errors) + len(self.failures)
        print(f"[ RUN      ] {test._testMethodName}", flush=True)

    def stopTest(self, test):
        super().stopTest(test)
        bad = self.errors + self.failures
        for _, text in bad[self.bad :]:
            print(text)
        word = "[  FAILED  ]" if len(bad) > self.bad else "[       OK ]"
        print(f"{word} {test._testMethodName}", flush=True)


def _unraisable(event):
    """An exception that Python would only print is a failure."""
    if len(unraised) < 3:
        traceback.print_exception(event.exc_type, event.exc_value, event.exc_traceback)
    unraised.append(event.exc_value)


unraised = []


def main():
    """Runs the tests of the calling program. One that hangs is shown and ends it."""
    faulthandler.dump_traceback_later(int(os.environ.get("TINKC_TEST_SECONDS", 240)), exit=True)
    sys.unraisablehook = _unraisable
    wanted = sys.argv[1:]
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    if wanted:
        suite = unittest.defaultTestLoader.loadTestsFromNames(wanted, sys.modules["__main__"])
    result = _Result()
    suite.run(result)
    if result.testsRun == 0 or unraised:
        print(
            "nothing was run"
            if result.testsRun == 0
            else f"{len(unraised)} exceptions that nobody could catch"
        )
        sys.exit(1)
    sys.exit(0 if result.wasSuccessful() else 1)


def _end_with_parent():
    """A test that crashes leaves no server behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Server:
    """`tinkc serve` with its data in a new directory."""

    def __init__(self):
        self.home = tempfile.mkdtemp()
        command = [PROGRAM, "serve", "--port", "0", "--data", os.path.join(self.home, "data")]
        log = open(os.path.join(self.home, "log"), "w")
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=_end_with_parent
        )
        log.close()
        for line in self.process.stdout:
            if line.startswith("listening on "):
                self.url = line.split()[-1]
                break
        else:
            raise RuntimeError("the server does not start")

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.home, ignore_errors=True)


class ServerCase(unittest.TestCase):
    """Tests with one server, one service and one sampling client."""

    @classmethod
    def setUpClass(cls):
        import tinkc

        cls.server = Server()
        cls.service = tinkc.Service(cls.server.url, "tml-test")
        cls.sampling = cls.service.create_sampling(MODEL).result()
        cls.tokenizer = cls.sampling.tokenizer()
        cls.prompt = cls.tokenizer.encode("Once upon a time")

    @classmethod
    def tearDownClass(cls):
        cls.sampling.close()
        cls.service.close()
        cls.server.stop()

    def training(self):
        training = self.service.create_training(MODEL, rank=2, seed=1).result()
        self.addCleanup(training.close)
        self.addCleanup(lambda: training.unload().result())
        return training
