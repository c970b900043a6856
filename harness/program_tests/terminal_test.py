#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The output in a terminal of 80 and of 40 columns, and in a pipe.

usage: terminal_test.py REGATTA SCHEMA [unittest arguments]
"""

import re
import unittest
from pathlib import Path

from terminal_support import Seen, examples_in, on_terminal, scratch
from test_support import PARABOLA, fresh_folder, output_of, records_in, regatta, run_tests

# Some seconds with constant evaluations, which take ranks longer than threads.
LONG = ("--workload", "parabola", "--steps", "300000")
LONG_IN_RANKS = ("--workload", "parabola", "--steps", "40000", "--processes", "2")
NAME = r"parabola all_reduce, 2 workers, seed 1"


class Race(unittest.TestCase):
    def seen(self, *arguments: str, columns: int = 80) -> Seen:
        seen = on_terminal("run", *arguments, columns=columns)
        for frame in seen.frames:
            for line in frame.text.split("\n"):
                self.assertLessEqual(len(line), columns)
        return seen

    def test_shows_at_once_that_it_is_being_prepared(self) -> None:
        first = self.seen(*PARABOLA, "--out", str(fresh_folder())).frames[0]
        self.assertEqual(first.text, "parabola single, 1 worker, seed 1\n0:00  preparing")
        self.assertLess(first.at_s, 1)

    def test_shows_what_is_known_while_it_runs(self) -> None:
        for columns in (80, 40):
            with self.subTest(columns=columns):
                seen = self.seen(*LONG, "--strategy", "all_reduce", "--workers", "2", "--out",
                                 str(fresh_folder()), columns=columns)
                running = [" ".join(frame.text.split()) for frame in seen.frames
                           if " of 300000" in frame.text]
                self.assertGreater(len(running), 3)
                for text in running:
                    self.assertRegex(text, rf"^{NAME} \d:\d\d step \d+ of 300000 ")
                    step, *earlier = (int(one) for one in re.findall(r"step (\d+)", text))
                    self.assertLessEqual(max(earlier), step)
                    self.assertRegex(text, r"test loss \S+ at step \d+ target 0\.05( |$)")
                    if step == 0:
                        self.assertNotIn("left", text)
                    self.assertNotRegex(text, r"about 0(\.0)? s left|about -")
                between = [text for text in running if re.search(
                    r"step [1-9]\d* of .* training loss [\d.e-]+ .* \d+ examples/s about .* left",
                    text)]
                self.assertNotEqual(between, [])
                self.assertRegex(running[-1], r"target 0\.05 reached at step \d+")
                self.assertLess(len(running), 20 * seen.frames[-1].at_s)  # it does not flicker

    def test_ends_with_the_verdict_and_the_next_command(self) -> None:
        for columns in (80, 40):
            out = fresh_folder()
            seen = self.seen(*PARABOLA, "--strategy", "all_reduce", "--workers", "2", "--out",
                             str(out), columns=columns)
            text = " ".join(seen.screen.shown().split())
            self.assertRegex(text, rf"^{NAME}: missed; ended at loss \S+ after .* examples/s; "
                                   r"record in ")
            self.assertTrue(text.replace(" ", "").endswith(f"regattareport{out}"), text)
            self.assertEqual(seen.code, 0)

    def test_has_a_coloured_verdict_unless_no_color_is_set(self) -> None:
        arguments = ("run", *PARABOLA, "--out", str(fresh_folder()))
        self.assertEqual(on_terminal(*arguments).screen.colours, ["31", "0"])
        self.assertEqual(on_terminal(*arguments, without=(), NO_COLOR="1").screen.colours, [])

    def test_ends_with_a_way_on_where_it_diverged(self) -> None:
        out = fresh_folder()
        seen = self.seen(*PARABOLA, "--rate-scale", "1e30", "--out", str(out))
        text = " ".join(seen.screen.shown().split())
        self.assertIn("failed: ", text)
        self.assertRegex(text, r"to try a lower learning rate: regatta run --workload parabola .* "
                               r"--rate-scale 5e\+29$")
        self.assertEqual(seen.code, 2)

    def test_leaves_an_error_alone_on_the_screen(self) -> None:
        seen = on_terminal("run", *PARABOLA, "--dataset", "nowhere")
        self.assertTrue(seen.screen.shown().startswith("regatta: "), seen.screen.shown())
        self.assertEqual(seen.code, 1)

    def test_leaves_a_warning_on_the_screen(self) -> None:
        extensions = Path("/proc/cpuinfo").read_text().split()
        if "avx512f" not in extensions or "amx_bf16" in extensions:
            self.skipTest("only processors with AVX-512 but without AMX are warned of bf16")
        seen = self.seen("--workload", "resnet9_thin", "--dtype", "bf16", "--steps", "2", "--out",
                         str(fresh_folder()))
        shown = " ".join(seen.screen.shown().split())
        self.assertRegex(shown, r"warning: .*AMX.* resnet9_thin single, 1 worker, seed 1: missed")

    def test_shows_the_loss_of_ranks_by_their_heartbeats(self) -> None:
        seen = self.seen(*LONG_IN_RANKS, "--strategy", "independent", "--workers", "2", "--out",
                         str(fresh_folder()))
        shown = [float(loss) for frame in seen.frames
                 for loss in re.findall(r"training loss ([\d.e-]+)", frame.text)]
        self.assertNotEqual(shown, [])
        self.assertLess(max(shown), 10)


class Pipe(unittest.TestCase):
    def test_has_plain_lines(self) -> None:
        done = regatta("run", *PARABOLA, "--out", str(fresh_folder()))
        self.assertEqual(done.stderr, "")
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^parabola single, 1 worker, seed 1: step 0 of 200  loss \S+  "
                                   r"0 examples/s$")
        for line in lines[:-1]:
            self.assertRegex(line, r"^parabola single, 1 worker, seed 1: step \d+ of 200  loss \d")
        self.assertRegex(lines[-1],
                         r"^parabola single, 1 worker, seed 1: missed; .*records\.jsonl$")
        self.assertNotRegex(done.stdout, r"[\x1b\r]")

    def test_tells_one_speed_by_the_training_clock(self) -> None:
        """The training clock excludes evaluations, which for the parabola take as long as the
        training."""
        out = fresh_folder()
        said = output_of("run", *PARABOLA, "--out", str(out))
        (record,) = records_in(out)
        spent = {one["examples"]: one["training_time_ns"] for one in record["evaluations"]}
        batch = record["cell"]["global_batch"]
        told = {int(step) * batch: int(speed) for step, speed in re.findall(
            r"seed 1: step (\d+) of 200  loss \S+  (\d+) examples/s", said)}
        self.assertEqual(len(told), 11)  # one per tenth of the run
        self.assertLessEqual(set(told), set(spent))
        self.assertEqual(told.pop(0), 0)
        for examples, speed in told.items():
            self.assertAlmostEqual(speed, examples / spent[examples] * 1e9, delta=1)
        (last,) = re.findall(r"ended at .*, (\d+) examples/s; record in", said)
        self.assertEqual(int(last), told[max(told)])
        self.assertAlmostEqual(int(last), record["examples_per_s"], delta=1)


class FirstCommands(unittest.TestCase):
    def test_of_who_types_no_argument_are_three(self) -> None:
        said = output_of()
        first = examples_in(said)
        self.assertEqual([words[0] for words in first], ["run", "matrix", "report"])
        self.assertLessEqual(max(len(line) for line in said.splitlines()), 80)
        out = fresh_folder()
        self.assertEqual(regatta(*scratch(out, first[0]), "--out", str(out)).returncode, 0)
        self.assertEqual(regatta(*scratch(out, first[1]), "--dry-run").returncode, 0)
        self.assertEqual(regatta(*first[2][:-1], str(out), "--format", "json").returncode, 0)


class Help(unittest.TestCase):
    def test_fits_the_terminal(self) -> None:
        for columns in (80, 40):
            for subcommand in ("run", "matrix", "report", "compare", "export", "list"):
                text = on_terminal(subcommand, "--help", columns=columns).screen.shown()
                entries = text.split("Examples:")[0]
                self.assertNotIn("REQUI\n", entries)
                for line in re.findall(r"(?m)^ {6,}(\S.*)$", entries):
                    self.assertLessEqual(len(line), columns)
                    self.assertFalse(line.endswith("-"), line)

    def test_breaks_no_word_of_lists_and_diagnoses(self) -> None:
        for command in ("list", "doctor"):
            whole = output_of(command)
            self.assertGreater(max(map(len, whole.splitlines())), 80, command)
            for columns in (80, 70):
                shown = on_terminal(command, columns=columns).screen.shown()
                self.assertEqual(shown.split(), whole.split(), (command, columns))

    def test_has_examples_that_work(self) -> None:
        for subcommand, more in (("run", ("--steps", "2")), ("matrix", ("--dry-run",))):
            examples = examples_in(output_of(subcommand, "--help"))
            self.assertEqual(len(examples), 3)
            for words in examples:
                if "races.toml" in words:
                    continue
                folder = fresh_folder()
                done = regatta(*scratch(folder, words), *(() if "--dry-run" in words else more),
                               *(() if "--out" in words else ("--out", str(folder))))
                self.assertEqual((done.returncode, done.stderr), (0, ""), words)


if __name__ == "__main__":
    run_tests()
