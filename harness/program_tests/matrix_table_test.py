#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The table that a matrix draws on a terminal.

usage: harness/program_tests/matrix_table_test.py REGATTA SCHEMA
"""

import re
import statistics
import unittest

from matrix_support import CELLS, SMALL, Folder
from terminal_support import on_terminal
from test_support import records_in, run_tests


HEADS = ("cell", "runs", "reached", "to target", "metric", "examples/s")


def last_table(drawn: str) -> list[str]:
    """The lines of the final table."""
    lines = drawn[drawn.rindex("\x1b[Kcell "):].split("\r\n")[:2 + CELLS]
    return [line.removeprefix("\x1b[K") for line in lines]


def row_of(strategy: str, table: list[str]) -> list[str]:
    """The words of the strategy's row."""
    (row,) = [words for words in map(str.split, table) if words[0] == strategy]
    return row


class Table(unittest.TestCase):
    def drawn_by(self, folder: Folder, columns: int) -> str:
        """All that a matrix draws until it ends."""
        seen = on_terminal(*folder.command()[1:], columns=columns, LC_ALL="C")
        self.assertEqual(seen.code, 0)
        return seen.raw

    def test_on_a_terminal_a_table_fills(self) -> None:
        folder = Folder()
        drawn = self.drawn_by(folder, 250)
        table = last_table(drawn)
        self.assertIn("to target", table[0])
        # options common to all cells are shown once
        self.assertEqual(table[1].strip(), "parabola (2 workers, steps=2000)")
        self.assertEqual(len(table), 2 + CELLS)
        speed = int(row_of("all_reduce", table)[-1])
        speeds = [record["examples_per_s"] for record in records_in(folder.out)
                  if record["cell"]["strategy"] == "all_reduce"]
        self.assertAlmostEqual(speed, statistics.median(speeds), delta=1)
        for record in records_in(folder.out):  # printed below the table
            self.assertTrue(f", {record['examples_per_s']:.0f} examples/s" in drawn)

    def test_on_a_narrow_terminal_names_lose_their_middle_and_numbers_are_whole(self) -> None:
        long = SMALL.replace("async_shared", "parameter_server_async")
        for columns, name in ((80, "  parameter_server_async "), (56, "  paramete..erver_async ")):
            drawn = self.drawn_by(Folder(long), columns)
            table = last_table(drawn)
            self.assertEqual(len([row for row in table if row.startswith(name)]), 1, table)
            (row,) = [row for row in table if row.startswith(name)]
            self.assertRegex(row, r" 3/3 .* [\d.]+$")
            heads = re.split(" {2,}| (?=to |runs|reached|metric|ex)", table[0].strip())
            self.assertEqual([head for head in heads if head][:4],
                             ["cell", "runs", "reached", "to target"])
            self.assertLessEqual(set(heads) - {""}, {*HEADS})  # no heading is cut
            self.assertLess(max(map(len, re.findall(r"\x1b\[K(.*)\r\n", drawn))), columns)

    def test_in_a_pipe_are_plain_lines(self) -> None:
        said = Folder().run().stdout
        self.assertIsNone(re.search("\x1b", said))
        self.assertEqual(len(re.findall(r"^\[\d+/12\] parabola ", said, re.MULTILINE)), 12)


if __name__ == "__main__":
    run_tests()
