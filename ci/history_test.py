# SPDX-License-Identifier: Apache-2.0
"""Tests ci/baseline, which makes records that replace a build, and ci/history.

usage: ci/history_test.py REGATTA
"""

import json
import shutil
import sys
import unittest
from pathlib import Path

from regression_support import (CI, GATE, buildable, commit, fresh_folder, gate_file, lines_of,
                                lines_of_text, programs, repository, run)


class Baselines(unittest.TestCase):
    def baseline(self) -> Path:
        folder = fresh_folder() / "made_up/gate"
        done = run([CI / "baseline", folder, "--programs", programs(), "--gate", gate_file(GATE)])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(lines_of(folder / "records.jsonl")), 16)
        self.assertEqual(lines_of(folder / "same.txt")[-1], "nothing regressed")
        return folder

    def test_stand_in_for_a_base_and_judge_what_is_learnt_but_speed_by_far_only(self) -> None:
        baseline = self.baseline()
        gate = gate_file('baseline = "--speed-effect 1.2"\n' + GATE)
        regressed = "regressed: parabola all_reduce (2 workers, steps=100) (convergence)"
        for fault, code, last in (("slow", 0, "nothing regressed"), ("wrong", 3, regressed)):
            with self.subTest(fault=fault):
                done = run([CI / "regression", "--baseline", baseline, "--gate", gate,
                            "--programs", programs(fault), "--out", fresh_folder()])
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual(lines_of_text(done.stdout)[-1], last)

    def test_are_made_of_machines_that_repeat_themselves_only(self) -> None:
        folder = fresh_folder() / "gate"
        done = run([CI / "baseline", folder, "--programs", programs("crash"),
                    "--gate", gate_file(GATE)])
        self.assertEqual(done.returncode, 2)
        self.assertFalse(folder.exists())

    def test_take_the_place_of_a_base_that_cannot_be_built(self) -> None:
        root = repository({"ci": CI})
        shutil.copytree(self.baseline(), root / "results/made_up/gate")
        buildable(root, "")
        commit(root, "can be built")
        done = run([root / "ci/regression", "HEAD~1", "--gate", gate_file(GATE)])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("base cannot be built: a baseline takes its place", done.stderr)
        self.assertIn("results/made_up/gate", done.stderr)
        self.assertEqual(lines_of_text(done.stdout)[-1], "nothing regressed")
        other = root / "results/made_up/gate/records.jsonl"
        other.write_text(other.read_text().replace("made up", "of another make"))
        commit(root, "another machine's baseline")
        done = run([root / "ci/regression", "HEAD~2", "--gate", gate_file(GATE)])
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no baseline under results/*/gate is of this machine", done.stderr)


class History(unittest.TestCase):
    def test_races_commits_in_turn_and_appends_their_records(self) -> None:
        root = repository({"ci": CI, "plots": CI.parent / "plots"})
        commits = []
        for fault in ("", "slow", ""):
            buildable(root, fault)
            commits.append(commit(root, f"a commit that is {fault or 'good'}")[:10])
        (root / "CMakeLists.txt").write_text("no CMake\n")
        broken = commit(root, "cannot be built")[:10]
        gate, out = gate_file(GATE), root / "out/history"
        words = [root / "ci/history", "HEAD~3", "HEAD~3..HEAD", "--gate", gate, "--seeds", "2"]
        done = run(words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("left out", done.stderr)
        self.assertIn(broken[:7], done.stderr)
        self.assertEqual(lines_of(root / "build/regression/order"),
                         [f"{commit} {strategy} {seed}" for seed, order in ((1, 1), (2, -1))
                          for strategy in ("single", "all_reduce") for commit in commits[::order]])
        records = [json.loads(line) for line in lines_of(out / "records.jsonl")]
        self.assertEqual([one["software"]["git_commit"] for one in records],
                         [commit for commit in commits for _ in range(4)])
        drawn = run([root / "plots/trend.py", out])
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        again = run([*words, "--most", "2"])  # the ends: one of them cannot be built
        self.assertEqual((again.returncode, again.stdout), (1, ""))
        self.assertIn("fewer than two of the commits could be built", again.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
