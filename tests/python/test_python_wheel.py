#!/usr/bin/env python3
"""The wheel: built, installed into a fresh virtual environment and used there, without anything
of the source tree. No installer is needed for that: a wheel is an archive of what lies in
site-packages (tests/interop/python.sh installs it with pip)."""

import base64
import csv
import hashlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

import support

BUILD = pathlib.Path(os.environ["TINKC_LIBRARY"]).parent
PROGRAM = """
import sys, tinkc
assert tinkc.__file__.startswith(sys.prefix), tinkc.__file__
from tinkc import _load
assert _load.PATH.startswith(sys.prefix), _load.PATH
with tinkc.Service(sys.argv[1], "tml-test") as service:
    sampling = service.create_sampling(sys.argv[2]).result()
    prompt = sampling.tokenizer().encode("Once upon")
    print(len(sampling.sample(prompt, max_tokens=1, temperature=0.0).result()[0].tokens))
"""


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.TemporaryDirectory()
        cls.wheel = cls.build("one")

    @classmethod
    def tearDownClass(cls):
        cls.home.cleanup()

    @classmethod
    def build(cls, name):
        target = pathlib.Path(cls.home.name) / name
        script = str(support.ROOT / "scripts/wheel.py")
        subprocess.run(
            [sys.executable, script, str(BUILD), str(target)], check=True, stdout=subprocess.DEVNULL
        )
        return next(target.glob("tinkc-*.whl"))

    def test_record(self):
        """Every file is listed with its digest, and nothing but the package is inside."""
        self.assertRegex(self.wheel.name, r"^tinkc-[\d.]+-py3-none-linux_\w+\.whl$")
        with zipfile.ZipFile(self.wheel) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        listed = next(name for name in files if name.endswith("/RECORD"))
        rows = {row[0]: row[1] for row in csv.reader(io.StringIO(files[listed].decode()))}
        self.assertEqual(set(rows), set(files))
        for name, data in files.items():
            if name != listed:
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                self.assertEqual(rows[name], f"sha256={digest}")
        for name in ("tinkc/py.typed", "tinkc/libtinkc.so", "tinkc/__init__.py", "tinkc/_c.py"):
            self.assertIn(name, files)

    def test_same_bytes(self):
        self.assertEqual(self.build("two").read_bytes(), self.wheel.read_bytes())

    def test_fresh_environment(self):
        place = os.path.join(self.home.name, "venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
        python = os.path.join(place, "bin", "python")
        where = "import sysconfig; print(sysconfig.get_path('platlib'))"
        site = subprocess.run(
            [python, "-c", where], capture_output=True, text=True, check=True
        ).stdout.strip()
        with zipfile.ZipFile(self.wheel) as archive:
            archive.extractall(site)
        environment = {k: v for k, v in os.environ.items() if k not in ("TINKC_LIBRARY", "PYTHONPATH")}
        server = support.Server()
        self.addCleanup(server.stop)
        done = subprocess.run(
            [python, "-c", PROGRAM, server.url, support.MODEL],
            env=environment,
            cwd=self.home.name,
            capture_output=True,
            text=True,
        )
        self.assertEqual((done.returncode, done.stderr, done.stdout), (0, "", "1\n"))


if __name__ == "__main__":
    support.main()
