# SPDX-License-Identifier: Apache-2.0
"""Tests ci/fuzz with stand-ins for libFuzzer's programs, each with a different result: one finds
nothing, one ends with a finding, one ends without output, and one is slow.
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

# Records its command line in $CALLS.
NOTED = '#!/bin/bash\necho "${0##*/} $*" >>"$CALLS"\n'
FOUND_NOTHING = """
echo '#8 pulse  cov: 11 ft: 12 corp: 3/14b lim: 4 exec/s: 0 rss: 31Mb'
echo '#9 NEW    cov: 15 ft: 16 corp: 4/18b lim: 4 exec/s: 0 rss: 31Mb L: 4/4 MS: 1 ChangeBit-'
echo 'Done 2048 runs in 2 second(s)'
echo 'stat::number_of_executed_units: 2048'
echo 'stat::average_exec_per_sec:     1024'
"""
FOUND = """
echo '==9== ERROR: libFuzzer: timeout after 1 seconds'
echo 'SUMMARY: libFuzzer: timeout'
echo "artifact_prefix='x'; Test unit written to $PWD/build/fuzz/findings/late-timeout-1"
echo 'stat::number_of_executed_units: 7'
exit 70
"""
# Names that are digests. The first of the new inputs is added first and leaves no room for the
# second.
OLD, NEW = "0" * 40, ("b" * 40, "a" * 40)
MERGED = f"""
into=("$@")
case $* in *-set_cover_merge=1*)
  for name in {NEW[0]} {NEW[1]}; do
    head -c 60000 /dev/zero >"${{into[-2]}}/$name"
    sleep 0.02
  done ;;
esac
"""
FOUND_SLOW = """
case $* in
  *slow-unit-busy) exit ;;
  *slow-unit-slow) ulimit -t 2; while :; do :; done ;;
esac
touch build/fuzz/findings/slow-slow-unit-{busy,slow}
""" + FOUND_NOTHING
TARGETS = {"sound": FOUND_NOTHING + MERGED, "late": FOUND, "mute": "exit 1\n", "slow": FOUND_SLOW}


class Fuzz(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name).resolve() / "tree"
        self.calls = self.tree / "calls"
        for name, does in TARGETS.items():
            corpus = self.tree / f"harness/{name}/{name}_corpus"
            corpus.mkdir(parents=True)
            (corpus / "seed").touch()
            corpus.with_name(f"{name}_fuzz.cpp").touch()
            self.program(f"build/fuzz/bin/{name}_fuzz", does)
        self.program("ci/packages.sh")
        self.program("bin/cmake")
        shutil.copy(Path(__file__).with_name("fuzz"), self.tree / "ci")

    def program(self, name: str, does: str = "") -> None:
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(NOTED + does)
        path.chmod(0o755)

    def fuzz(self, *arguments: str) -> tuple[int, str]:
        """Runs ci/fuzz; returns its exit code and output."""
        done = subprocess.run(
            [self.tree / "ci/fuzz", *arguments], text=True, capture_output=True, check=False,
            cwd=self.tree, env=os.environ | {"CALLS": str(self.calls),
                                             "PATH": f"{self.tree}/bin:/usr/bin:/bin"})
        return done.returncode, done.stdout + done.stderr

    def called(self) -> list[str]:
        return self.calls.read_text().splitlines()

    def test_builds_and_runs_for_a_minute(self) -> None:
        code, said = self.fuzz("sound")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"sound +2048 +1024 +15 +4  none")
        *built, ran = self.called()
        self.assertEqual(built, ["packages.sh fuzz", "cmake --preset fuzz",
                                 "cmake --build --preset fuzz"])
        self.assertIn("-max_total_time=60 ", ran)
        self.assertTrue(ran.endswith("/build/fuzz/corpus/sound "
                                     f"{self.tree}/harness/sound/sound_corpus"), ran)

    def test_takes_a_length_in_seconds_or_inputs(self) -> None:
        self.assertEqual(self.fuzz("7", "sound")[0], 0)
        self.assertIn("-max_total_time=7 ", self.called()[-1])
        self.assertEqual(self.fuzz("--runs", "10000000", "sound")[0], 0)
        self.assertIn("-runs=10000000 ", self.called()[-1])

    def test_tells_findings_and_how_to_repeat_them(self) -> None:
        code, said = self.fuzz()
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"late +7 +\? +\? +\?  libFuzzer: timeout")
        self.assertRegex(said, r"ASAN_SYMBOLIZER_PATH=/\S+ build/fuzz/bin/late_fuzz .*"
                               r" build/fuzz/findings/late-timeout-1")
        self.assertRegex(said, r"mute .* it ended early")
        self.assertRegex(said, r"sound .* none")

    def test_judges_slow_inputs_by_the_time_of_a_cpu(self) -> None:
        code, said = self.fuzz("slow")
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"slow .* an input takes \d+\.\d s\n")
        self.assertRegex(said, r"slow_fuzz .* build/fuzz/findings/slow-slow-unit-slow\n")
        left = [path.name for path in (self.tree / "build/fuzz/findings").iterdir()]
        self.assertEqual(left, ["slow-slow-unit-slow"])

    def test_refuses_what_it_does_not_know(self) -> None:
        for arguments, words in (
                (("soundd",), "there is no target 'soundd'; there are: late mute slow sound"),
                (("0",), "a second or an input at least"),
                (("5", "--runs", "5"), "give SECONDS, --runs or --minimize")):
            code, said = self.fuzz(*arguments)
            self.assertEqual(code, 2)
            self.assertIn(words, said)
        self.assertFalse(self.calls.exists())
        self.program("bin/cmake", "exit 1\n")
        self.assertEqual(self.fuzz("sound")[0], 2)

    def test_renews_what_it_added_to_a_corpus_and_keeps_the_rest(self) -> None:
        corpus = self.tree / "harness/sound/sound_corpus"
        (corpus / OLD).write_text("found before")
        code, said = self.fuzz("--minimize", "sound")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"sound +2 files +60000 bytes\n")
        self.assertEqual(sorted(path.name for path in corpus.iterdir()), [NEW[0], "seed"])
        working = self.tree / "build/fuzz/corpus/sound"
        self.assertEqual(sorted(path.name for path in working.iterdir()), sorted([OLD, NEW[1]]))


if __name__ == "__main__":
    unittest.main()
