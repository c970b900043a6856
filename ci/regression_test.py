# SPDX-License-Identifier: Apache-2.0
"""ci/regression, ci/baseline and ci/history: what they refuse, what they say of builds whose
records are made up, how they end.

usage: ci/regression_test.py REGATTA

The builds are folders with a program `regatta` that writes a record at once, as told, and leaves
`compare` to the real one; where the test is about ending, both sides are the real one.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

CI = Path(__file__).resolve().parent
REGATTA = Path(sys.argv[1]).resolve()
SCRATCH = tempfile.TemporaryDirectory(prefix="regatta-regression-test-")
LIMIT_S = 60
END_LIMIT_S = 25

GATE = """
seeds = 8
[[race]]
flags = "--workload parabola --steps 100"
[[race]]
flags = "--workload parabola --strategy all_reduce --workers 2 --steps 100"
"""
# FAULT: what the side does wrong: `slow` (all_reduce, by a fifth), `slow_once` (in the first round
# only), `wrong` (all_reduce, too), `crash`, `usage`, or nothing.
FAKE = """#!/usr/bin/python3
import json, os, pathlib, sys
fault = "FAULT"
if sys.argv[1] == "compare":
    os.execv("REGATTA", sys.argv)
flags = dict(zip(sys.argv[2::2], sys.argv[3::2]))
seed, strategy = int(flags["--seed"]), flags.get("--strategy", "single")
out = pathlib.Path(flags["--out"])
with open(out.parent.parent / "order", "a") as order:
    print(out.name, strategy, seed, file=order)
if fault == "crash":
    os.abort()
if fault == "usage" and strategy == "all_reduce":
    sys.exit("regatta: no such strategy")
faulty = strategy == "all_reduce" and (fault != "slow_once" or seed <= 8)
slower = 1.2 if faulty and fault.startswith("slow") else 1
rate = 0.05 if faulty and fault == "wrong" else 0.02
record = {
    "command": "regatta " + " ".join(sys.argv[1:]), "status": "missed",
    "cell": {"workload": "parabola", "strategy": strategy, "dtype": "f32", "global_batch": 50,
             "dataset": "curve", "fusion": "on", "workers": int(flags.get("--workers", 1)),
             "seed": seed},
    "checksums": {"initial_weights": "a", "data_order": "b"},
    "machine": {"cpu": "made up", "isa": ["none"], "cores_used": 2},
    "software": {"git_commit": pathlib.Path(__file__).parent.name, "dirty": False},
    "examples_per_s": 1000, "target": {"metric": "loss", "value": 0.05},
    "step_time_ns": {"count": 10, "p50": round(1e6 * slower * (1 + seed % 8 / 400))},
    "losses": [{"examples": 50 * step, "loss": (1 - rate) ** step} for step in range(10)],
    "evaluations": [{"examples": 500, "training_time_ns": 1, "loss": (1 - rate) ** 10,
                     "metric": 1}]}
with open(out / "records.jsonl", "a") as records:
    print(json.dumps(record), file=records)
"""
LONG = """
seeds = 2
[[race]]
flags = "--workload parabola --strategy parameter_server --workers 2 --steps 5000000"
"""


def fresh_folder() -> Path:
    return Path(tempfile.mkdtemp(dir=SCRATCH.name))


def programs(fault: str = "") -> Path:
    folder = fresh_folder()
    program = folder / "regatta"
    program.write_text(FAKE.replace("FAULT", fault).replace("REGATTA", str(REGATTA)))
    program.chmod(0o755)
    return folder


def command(base: Path, head: Path, out: Path, gate: str, *flags: str) -> list[str]:
    file = fresh_folder() / "gate.toml"
    file.write_text(gate)
    return [str(CI / "regression"), "--programs", str(base), str(head), "--out", str(out),
            "--gate", str(file), *flags]


def judged(fault: str, *flags: str, gate: str = GATE) -> tuple[Any, Path]:
    """A faultless base against a head with the fault."""
    out = fresh_folder()
    done = subprocess.run(command(programs(), programs(fault), out, gate, *flags),
                          capture_output=True, text=True, timeout=LIMIT_S, check=False)
    return done, out


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


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
        self.assertEqual(first, "## Regression gate: regressed: parabola all_reduce x2 steps=100 "
                                "(speed)")
        again = [line for line in lines_of(out / "order") if int(line.split()[2]) > 8]
        self.assertEqual(len(again), 16)
        self.assertTrue(all("all_reduce" in line for line in again))

    def test_an_alarm_that_the_second_round_does_not_raise_is_none(self) -> None:
        done, _ = judged("slow_once")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("does not confirm", done.stderr)
        self.assertTrue(done.stdout.endswith("nothing regressed\n"))

    def test_wrong_maths_is_convergence_and_not_speed(self) -> None:
        done, _ = judged("wrong")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(lines_of_text(done.stdout)[-1],
                         "regressed: parabola all_reduce x2 steps=100 (convergence)")
        self.assertIn("computes something else in 8 of 8 runs: seed 1, step 1", done.stdout)
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


def gate_file(text: str) -> Path:
    file = fresh_folder() / "gate.toml"
    file.write_text(text)
    return file


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
        for fault, code, last in (("slow", 0, "nothing regressed"),
                                  ("wrong", 3, "regressed: parabola all_reduce x2 steps=100 "
                                               "(convergence)")):
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


def run(words: list[Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)


def commit(root: Path, message: str) -> str:
    """All there is; returns its hash."""
    for git in (("add", "."), ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit",
                               "--quiet", "--message", message)):
        subprocess.run(["git", "-C", str(root), *git], check=True)
    return run(["git", "-C", root, "rev-parse", "HEAD"]).stdout.strip()


def repository(folders: dict[str, Path]) -> Path:
    """With nothing in it but these, so that a build fails at once."""
    root = fresh_folder()
    for name, folder in folders.items():
        shutil.copytree(folder, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / ".gitignore").write_text("__pycache__/\nbuild/\nout/\n")
    subprocess.run(["git", "init", "--quiet", root], check=True)
    commit(root, "all there is")
    return root


def buildable(root: Path, fault: str) -> None:
    """A build of it is the made-up program with this fault."""
    shutil.copy2(programs(fault) / "regatta", root / "regatta")
    (root / "CMakePresets.json").write_text(json.dumps({"version": 6, "configurePresets": [
        {"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}]}))
    (root / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(made_up NONE)\n"
        "add_custom_target(regatta COMMAND ${CMAKE_COMMAND} -E make_directory bin COMMAND "
        "${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/regatta bin/regatta)\n")


def lines_of_text(text: str) -> list[str]:
    return text.strip().splitlines()


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

    def test_a_commit_that_cannot_be_built(self) -> None:
        root = repository({"ci": CI})
        said = self.refused("HEAD", script=root / "ci/regression")
        self.assertIn("Could not read presets", said)  # the end of the log

    def test_wrong_arguments_and_gates(self) -> None:
        self.assertIn("give BASE_COMMIT", self.refused())
        self.assertIn("--seeds", self.refused("HEAD", "--seeds", "0"))
        here = programs()
        for gate, complaint in (("seeds = 2\n[[race]]\nflag = 'x'", "flag"),
                                ("seeds = 2", "neither"), ("[[race]]\nflags = 'x'", "seeds"),
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


def soon(condition: Any, limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def runs_in(out: Path) -> list[str]:
    """Processes, less ci/regression itself, that were told to write there."""
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
    unittest.main(argv=sys.argv[:1])
