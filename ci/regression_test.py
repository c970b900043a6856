# SPDX-License-Identifier: Apache-2.0
"""Tests ci/regression: refusals, verdicts on fake builds with invented records, and interruptions.

usage: ci/regression_test.py REGATTA

In tests of interruptions both sides are the real program.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path
from typing import Any

from regression_support import (CI, GATE, LIMIT_S, REGATTA, buildable, commit, fresh_folder,
                                gate_file, lines_of, lines_of_text, programs, repository, run)

END_LIMIT_S = 25
LONG = """
seeds = 2
[[race]]
flags = "--workload parabola --strategy parameter_server --workers 2 --steps 5000000"
"""


def command(base: Path, head: Path, out: Path, gate: str, *flags: str) -> list[str]:
    file = fresh_folder() / "gate.toml"
    file.write_text(gate)
    return [str(CI / "regression"), "--programs", str(base), str(head), "--out", str(out),
            "--gate", str(file), *flags]


def judged(fault: str, *flags: str, gate: str = GATE) -> tuple[Any, Path]:
    """Compares a faultless base with a head that has the fault."""
    out = fresh_folder()
    done = subprocess.run(command(programs(), programs(fault), out, gate, *flags),
                          capture_output=True, text=True, timeout=LIMIT_S, check=False)
    return done, out


class Verdicts(unittest.TestCase):
    def test_two_equal_sides_have_not_regressed_in_one_round(self) -> None:
        done, out = judged("", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual((result["verdict"], len(result["rounds"])), ("nothing regressed", 1))
        self.assertEqual({row["speed"]["verdict"] for row in result["rounds"][0]}, {"unchanged"})

    def test_sides_take_turns_entry_by_entry(self) -> None:
        _, out = judged("")
        self.assertEqual(lines_of(out / "order")[:8],
                         ["base single 1", "head single 1",
                          "base all_reduce 1", "head all_reduce 1",
                          "head single 2", "base single 2",
                          "head all_reduce 2", "base all_reduce 2"])

    def test_a_slower_cell_has_regressed_when_a_round_of_it_with_other_seeds_says_so(self) -> None:
        done, out = judged("slow", "--format", "markdown")
        self.assertEqual(done.returncode, 3, done.stderr)
        first = done.stdout.splitlines()[0]
        self.assertEqual(first, "## Regression gate: regressed: parabola all_reduce "
                                "(2 workers, steps=100) (speed)")
        again = [line for line in lines_of(out / "order") if int(line.split()[2]) > 8]
        self.assertEqual(len(again), 6)
        self.assertTrue(all("all_reduce" in line for line in again))

    def test_a_round_ends_when_each_row_is_decided(self) -> None:
        done, out = judged("")
        self.assertIn("Round 1: decided after 3 of 8 seeds, 12 of 32 runs, look 1 of 3",
                      done.stdout)
        self.assertEqual(len(lines_of(out / "order")), 12)
        done, out = judged("", "--one-look")
        self.assertIn("Round 1: decided after 8 of 8 seeds, 32 of 32 runs, look 1 of 1",
                      done.stdout)

    def test_only_what_is_not_decided_runs_on(self) -> None:
        done, out = judged("noisy")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("Round 1: not all decided after 8 of 8 seeds, 22 of 32 runs, look 3 of 3",
                      done.stdout)
        later = [line for line in lines_of(out / "order") if int(line.split()[2]) > 3]
        self.assertEqual(len(later), 10)
        self.assertTrue(all("all_reduce" in line for line in later))

    def test_an_alarm_that_the_second_round_does_not_raise_is_none(self) -> None:
        done, _ = judged("slow_once")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("does not confirm", done.stderr)
        self.assertTrue(done.stdout.endswith("nothing regressed\n"))

    def test_wrong_maths_is_convergence_and_not_speed(self) -> None:
        done, _ = judged("wrong")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(lines_of_text(done.stdout)[-1],
                         "regressed: parabola all_reduce (2 workers, steps=100) (convergence)")
        self.assertIn("computes something else in 3 of 3 runs: seed 1, step 1", done.stdout)
        ignored, _ = judged("wrong", "--losses", "ignored")
        self.assertNotIn("computes something else", ignored.stdout)

    def test_what_one_side_cannot_run_is_missing_and_cannot_be_told(self) -> None:
        done, _ = judged("usage")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("only in base", done.stdout)
        self.assertEqual(done.stderr.count("no such strategy"), 1)

    def test_a_crash_is_no_verdict(self) -> None:
        done, _ = judged("crash")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("head: ", done.stderr)


class Refusals(unittest.TestCase):
    def refused(self, *arguments: str, script: Path = CI / "regression") -> str:
        done = subprocess.run([str(script), *arguments], capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr

    def test_an_unknown_commit(self) -> None:
        script = repository({"ci": CI}) / "ci/regression"
        self.assertIn("'nonesuch' is no commit", self.refused("nonesuch", script=script))

    def test_a_checkout_with_changes_that_no_commit_has(self) -> None:
        root = repository({"ci": CI})
        with open(root / "ci/gate.toml", "a") as gate:
            gate.write("# a change\n")
        said = self.refused("HEAD", script=root / "ci/regression")
        self.assertIn("commit or stash them", said)
        self.assertIn("ci/gate.toml", said)

    def test_a_checkout_of_another_user(self) -> None:
        root = repository({"ci": CI})
        done = subprocess.run([root / "ci/regression", "HEAD"], capture_output=True, text=True,
                              timeout=LIMIT_S, check=False,
                              env=os.environ | {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertIn(f"git config --global --add safe.directory {root}", done.stderr)
        self.assertNotIn("is no commit", done.stderr)

    def test_a_commit_that_cannot_be_built(self) -> None:
        root = repository({"ci": CI})
        said = self.refused("HEAD", script=root / "ci/regression")
        self.assertIn("Could not read presets", said)  # the end of the log

    def test_wrong_arguments_and_gates(self) -> None:
        self.assertIn("give BASE_COMMIT", self.refused())
        self.assertIn("--seeds", self.refused("HEAD", "--seeds", "0"))
        here = programs()
        for gate, complaint in (("seeds = 2\n[[race]]\nflag = 'x'", "flag"),
                                ("seeds = 2", "no [[race]]"), ("[[race]]\nflags = 'x'", "seeds"),
                                (GATE.replace("seeds = 8", "seeds = 8\nsedes = 1"), "sedes")):
            said = self.refused(*command(here, here, fresh_folder(), gate)[1:])
            self.assertIn(complaint, said)
        self.assertIn("holds no program", self.refused("--programs", "/nowhere", "/nowhere"))

    def test_a_second_one_beside_the_first(self) -> None:
        out = fresh_folder()
        first = subprocess.Popen(command(REGATTA.parent, REGATTA.parent, out, LONG),
                                 stderr=subprocess.DEVNULL)
        try:
            self.assertTrue(soon(lambda: runs_in(out) != [], LIMIT_S))
            said = self.refused(*command(REGATTA.parent, REGATTA.parent, out, GATE)[1:])
            self.assertIn("another ci/regression or ci/history is at work", said)
        finally:
            first.send_signal(signal.SIGTERM)
            first.wait(timeout=LIMIT_S)


class Hooks(unittest.TestCase):
    def test_leave_the_users_branch_alone(self) -> None:
        root = repository({"ci": CI})
        buildable(root, "")
        commit(root, "can be built")
        linked = fresh_folder() / "linked"
        subprocess.run(["git", "-C", root, "worktree", "add", "--quiet", "-b", "mine", linked],
                       check=True)
        git_folder = run(["git", "-C", linked, "rev-parse", "--absolute-git-dir"]).stdout.strip()
        for _ in range(2):  # the second time, worktrees exist
            done = subprocess.run(
                [linked / "ci/regression", "HEAD~", "--seeds", "1", "--gate", gate_file(GATE)],
                capture_output=True, text=True, timeout=LIMIT_S, check=False,
                env=os.environ | {"GIT_DIR": git_folder})
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("Could not read presets", done.stderr)  # of HEAD~
            head = run(["git", "-C", linked, "symbolic-ref", "--short", "HEAD"])
            self.assertEqual(head.stdout, "mine\n", head.stderr)


def soon(condition: Any, limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def runs_in(out: Path) -> list[str]:
    """Processes with an argument inside `out`; ci/regression itself has none."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if any(word.startswith(f"{out}/") for word in words):
            found.append(f"{path.name} {words[0]}")
    return found


@unittest.skipIf(shutil.which("mpirun") is None, "mpirun is not installed")
class Interruptions(unittest.TestCase):
    def test_leave_nothing_running_and_it_can_be_run_again(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(signal=number.name):
                out = fresh_folder()
                script = subprocess.Popen(command(REGATTA.parent, REGATTA.parent, out, LONG),
                                          stderr=subprocess.PIPE, text=True)
                # the launcher, mpirun, a server and two workers
                self.assertTrue(soon(lambda: len(runs_in(out)) == 5, LIMIT_S), runs_in(out))
                os.kill(script.pid, number)
                _, said = script.communicate(timeout=END_LIMIT_S)
                if number == signal.SIGKILL:
                    self.assertTrue(soon(lambda: not runs_in(out), END_LIMIT_S), runs_in(out))
                else:
                    self.assertEqual(runs_in(out), [])
                    self.assertEqual(script.returncode, 128 + number)
                    self.assertIn(f"interrupted by {number.name}", said)
                again = subprocess.run(command(programs(), programs(), out, GATE), timeout=LIMIT_S,
                                       capture_output=True, check=False)
                self.assertEqual(again.returncode, 0, again.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
