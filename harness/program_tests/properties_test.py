# SPDX-License-Identifier: Apache-2.0
"""Properties of drawn command lines: a sound one is accepted, another is refused or runs as asked.

usage: properties_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where python3-hypothesis is not installed.
"""

import shlex

from properties_support import RECORDS, RUN_FAILED, SIMULATED, VERDICTS, Done, Property, checked
from properties_words import read, sound_lines, spoilt_lines, wrong_records, wrong_work
from test_support import run_tests

from hypothesis import strategies as st  # properties_support skips where it is missing

FULL = "/dev/full"
RUN = "run --workload parabola --steps 3 --out g"
# Each was once taken badly; hostile_test.py has more.
KNOWN = (f"{RUN} --trace= notes.txt", f"{RUN} --processes ''", f"{RUN} --resume loop/x",
         f"{RUN} --strategy async_shared --workers 2 --staleness-bound " + "9" * 40,
         f"{RUN} --strategy pipeline --workers 4294967296",  # gigabytes
         "graph --workload parabola --strategy local_sgd --sync-every 4294967296",  # minutes
         "export h --format mllog --out new --author " + "n" * 100_000,  # told whole
         "export g --format mllog --author me --out loop", "export h -- --help",
         "run --workload parabola --steps 010 --out 'with spaces'", "matrix zero --dry-run",
         "run --workload parabola --steps 3 --out records_is_a_fifo",
         "compare g h --alpha nan", "export g --format csv --format csv", "matrix fifo --dry-run",
         "export fifo --format csv", "compare loop dangling", "export g --format csv --out fifo",
         f"{RUN} --resume zero", f"{RUN} --trace fifo", "report records_is_zero --format json")


class Lines(Property):
    def check(self, words: list[str], stdout: str) -> Done:
        done = self.tried(words, stdout)
        self.assertEqual([], wrong_work(words, done, stdout))
        asked = read(words)
        if asked.subcommand == "run" and not asked.is_help and done.code in (0, RUN_FAILED):
            kept = SIMULATED if asked.has("--cluster") else RECORDS
            added = self.added(f"{asked.value('--out', 'out')}/{kept}")
            self.assertEqual([], wrong_records(words, added))
        return done

    @checked(60, [], sound_lines)
    def test_that_are_sound_are_accepted(self, words: list[str]) -> None:
        done = self.check(words, "")
        self.assertIn(done.code, (0, *VERDICTS), done.stderr[-300:])

    @checked(250, [(shlex.split(words), "") for words in KNOWN],
             spoilt_lines(), st.sampled_from([""] * 15 + [FULL]))
    def test_that_are_odd_are_refused_or_do_as_they_say(self, words: list[str],
                                                       stdout: str) -> None:
        self.check(words, stdout)


if __name__ == "__main__":
    run_tests()
