#!/usr/bin/env python3
"""bindings/python/examples/rl.py does what examples/03_rl.c does: with the same seed every step
has the same reward. It has less than 90 lines."""

import os
import subprocess
import sys
import unittest

import support

EXAMPLE = support.ROOT / "bindings/python/examples/rl.py"


class ReinforcementLearning(unittest.TestCase):
    def test_same_rewards(self):
        server = support.Server()
        self.addCleanup(server.stop)
        environment = dict(os.environ, TINKER_BASE_URL=server.url, TINKER_API_KEY="tml-test")
        environment["PYTHONPATH"] = str(support.ROOT / "bindings/python")
        program = os.path.join(os.environ["EXAMPLES_DIR"], "03_rl")
        said = [
            subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
            for command in ([sys.executable, str(EXAMPLE), "3"], [program, "3"])
        ]
        self.assertEqual(len(said[0].splitlines()), 15)
        self.assertEqual(said[0], said[1])

    def test_length(self):
        self.assertLess(len(EXAMPLE.read_text().splitlines()), 90)


if __name__ == "__main__":
    support.main()
