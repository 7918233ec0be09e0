#!/usr/bin/env python3
"""The Python blocks of docs/guide/python.md run, one after the other, against a real server."""

import contextlib
import io
import os
import re
import unittest

import support


class Guide(unittest.TestCase):
    def test_blocks(self):
        server = support.Server()
        self.addCleanup(server.stop)
        os.environ.update(TINKER_BASE_URL=server.url, TINKER_API_KEY="tml-test")
        text = (support.ROOT / "docs/guide/python.md").read_text()
        blocks = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
        self.assertGreater(len(blocks), 8)
        names, said = {}, io.StringIO()
        with contextlib.redirect_stdout(said):
            for block in blocks:
                exec(compile(block, block.splitlines()[0], "exec"), names)
        self.assertEqual(len(names["texts"]), 100)
        self.assertIn("E_NOT_FOUND 404 None False", said.getvalue())
        self.assertIn(names["path"], said.getvalue())


if __name__ == "__main__":
    support.main()
