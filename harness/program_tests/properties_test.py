# SPDX-License-Identifier: Apache-2.0
"""Properties of drawn command lines: a sound one is accepted, another is refused or runs as asked.
The oracle finds each fault of made-up programs.

usage: properties_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where python3-hypothesis is not installed.
"""

import re
import shlex
import unittest

from properties_support import (RECORDED, RECORDS, RUN_FAILED, SIMULATED, VERDICTS, Done, Property,
                                broken, checked, lost, run)
from properties_words import (read, sound_lines, spoilt_lines, why_to_refuse, wrong_records,
                              wrong_work)
from test_support import fresh_folder, run_tests

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


class Oracle(unittest.TestCase):
    def done(self, script: str) -> Done:
        program = fresh_folder() / "regatta"
        program.write_text(f"#!/usr/bin/python3\nimport os, sys, time\n{script}\n")
        program.chmod(0o755)
        return run([], program.parent, program=str(program), limit_s=3)

    def test_of_the_end_of_a_program(self) -> None:
        for script, finding in (
                ("os.kill(os.getpid(), 11)", "exit code -11"), ("sys.exit(139)", "exit code 139"),
                ("sys.exit(77)", "exit code 77"), ("time.sleep(60)", "still running"),
                ("sys.exit(1)", "a refusal that begins with b''"),
                ("sys.exit('regatta: ' + 'x' * 5000)", "a refusal of 5009 bytes"),
                ("sys.exit('==1==ERROR: AddressSanitizer: x')", "a sanitizer's report"),
                ("if os.fork() == 0: time.sleep(60)", "left 1 processes")):
            with self.subTest(script=script):
                self.assertIn(finding, "; ".join(broken(self.done(script))))
        self.assertEqual([], broken(self.done("sys.exit('regatta: no')")))
        self.assertEqual(["took 2048 MB"], broken(Done(0, memory_bytes=2 << 30)))

    def test_of_files(self) -> None:
        before = {"a": (0o100000, b"x"), RECORDS: (0o100000, b"x\n")}
        for after, finding in (({RECORDS: (0o100000, b"x\ny\n")}, "^$"),
                               ({RECORDS: (0o100000, b"y\n")}, "the records of .* are lost"),
                               ({"a": (0o100000, b"y")}, "a is changed"),
                               ({"a": (0o040000, b"")}, "a is of another type")):
            self.assertRegex("; ".join(lost(before, before | after)), finding)
        self.assertEqual(["a is gone"], lost(before, {RECORDS: before[RECORDS]}))

    def test_of_lines_that_have_to_be_refused(self) -> None:
        for line, why in (("run --steps 010 --seed +1 --target -.5e3", "^$"), ("run x", "1 words"),
                          ("run --steps 1 --steps=1", "there twice"), ("run --steps", "no value"),
                          ("run --out --seed", "a flag"), ("run --step=1", "an unknown flag"),
                          ("rum", "no such"), ("run --workers 1e1", "no whole decimal"),
                          ("run --target 1e999", "no finite"), ("run -- --steps 1", "2 words"),
                          ("compare --alpha 0 a b", "not greater than 0")):
            self.assertRegex(why_to_refuse(read(line.split())), why, line)

    def test_of_other_work(self) -> None:
        line = re.sub(rb'"command":"[^"]*"', b'"command":"regatta run --out g --steps 60"',
                      RECORDED.splitlines()[0])
        for words, lines, finding in (
                ("run --out g --steps 60", [line], "^$"),
                ("run --out g --steps 61", [line], "the record has 60; the record's command is an"),
                ("run --out g --steps 60 --seeds 2", [line, line], "'2', but the record has 1"),
                ("run --out g --steps 60", [], "0 lines for 1 seeds")):
            self.assertRegex("; ".join(wrong_records(words.split(), lines)), finding)
        self.assertIn("though", wrong_work(["run", "x"], Done(0), "")[0])
        self.assertIn("nothing was printed", wrong_work(["list"], Done(0), FULL)[0])
        self.assertIn("a verdict", wrong_work(["list"], Done(3, stdout=b"x"), "")[0])


if __name__ == "__main__":
    run_tests()
