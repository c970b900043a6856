# SPDX-License-Identifier: Apache-2.0
"""Shared code of the tests of ci/regression and ci/history: fake builds, which are
folders with a program `regatta` that immediately writes a given record and passes `compare` to the
real program (the test's argument), and repositories that build such a program.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from gate_builds import forget_repository

CI = Path(__file__).resolve().parent
REGATTA = Path(sys.argv[1]).resolve()
SCRATCH = tempfile.TemporaryDirectory(prefix="regatta-regression-test-")
LIMIT_S = 60

forget_repository()

GATE = """
seeds = 8
[[race]]
flags = "--workload parabola --steps 100"
[[race]]
flags = "--workload parabola --strategy all_reduce --workers 2 --steps 100"
"""
# FAULT: the fault of the program: `slow` (all_reduce, by a fifth), `slow_once` (the same, only in
# the first round), `noisy` (all_reduce, by a fifth in every third run), `wrong` (losses of
# all_reduce), `crash`, `usage` (all_reduce), or empty.
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
slower = 1.2 if faulty and (fault.startswith("slow") or fault == "noisy" and seed % 3 == 1) else 1
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
def fresh_folder() -> Path:
    return Path(tempfile.mkdtemp(dir=SCRATCH.name))


def programs(fault: str = "") -> Path:
    folder = fresh_folder()
    program = folder / "regatta"
    program.write_text(FAKE.replace("FAULT", fault).replace("REGATTA", str(REGATTA)))
    program.chmod(0o755)
    return folder


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


def gate_file(text: str) -> Path:
    file = fresh_folder() / "gate.toml"
    file.write_text(text)
    return file


def run(words: list[Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)


def commit(root: Path, message: str) -> str:
    """Commits all changes; returns the hash."""
    for git in (("add", "."), ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit",
                               "--quiet", "--message", message)):
        subprocess.run(["git", "-C", str(root), *git], check=True)
    return run(["git", "-C", root, "rev-parse", "HEAD"]).stdout.strip()


def repository(folders: dict[str, Path]) -> Path:
    """Makes a repository with these folders only; its build fails at once."""
    root = fresh_folder()
    for name, folder in folders.items():
        shutil.copytree(folder, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / ".gitignore").write_text("__pycache__/\nbuild/\nout/\n")
    subprocess.run(["git", "init", "--quiet", root], check=True)
    commit(root, "all there is")
    return root


def buildable(root: Path, fault: str) -> None:
    """Adds files to a repository, so that it builds the fake program with this fault."""
    shutil.copy2(programs(fault) / "regatta", root / "regatta")
    (root / "CMakePresets.json").write_text(json.dumps({"version": 6, "configurePresets": [
        {"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}]}))
    (root / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(made_up NONE)\n"
        "add_custom_target(regatta COMMAND ${CMAKE_COMMAND} -E make_directory bin COMMAND "
        "${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/regatta bin/regatta)\n")


def lines_of_text(text: str) -> list[str]:
    return text.strip().splitlines()
