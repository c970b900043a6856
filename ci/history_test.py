# SPDX-License-Identifier: Apache-2.0
"""Tests ci/history.

usage: ci/history_test.py REGATTA
"""

import json
import sys
import unittest

from regression_support import CI, GATE, buildable, commit, gate_file, lines_of, repository, run


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
