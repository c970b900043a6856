# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of matrices: a small matrix, and a folder for its output."""

import collections
import subprocess

from test_support import REGATTA, fresh_folder, records_in

SMALL = """
seeds = 3
[[race]]
workload = "parabola"
strategy = ["single", "in_graph", "all_reduce", "async_shared"]
workers = [1, 2]
steps = 2000
[[exclude]]
strategy = ["in_graph", "all_reduce", "async_shared"]
workers = 1
"""
CELLS, RUNS = 4, 12


class Folder:
    """A folder with a matrix file and the output of a matrix."""

    def __init__(self, matrix: str = SMALL) -> None:
        self.path = fresh_folder()
        self.file = self.path / "small.toml"
        self.file.write_text(matrix)
        self.out = self.path / "out"

    def command(self, *flags: str) -> list[str]:
        return [REGATTA, "matrix", str(self.file), "--out", str(self.out), *flags]

    def run(self, *flags: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*flags), capture_output=True, text=True, timeout=120,
                              check=False)

    def runs(self) -> collections.Counter[str]:
        if not (self.out / "records.jsonl").exists():
            return collections.Counter()
        return collections.Counter(record["command"] for record in records_in(self.out))
