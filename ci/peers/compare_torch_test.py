# SPDX-License-Identifier: Apache-2.0
"""Tests compare_torch with stand-ins for regatta, step_bench, parabola_bench and PyTorch, which
record their calls and print invented speeds.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from speeds import Case, Sample, range_table, speed_table, split_table

COMPARE = Path(__file__).resolve().parent / "compare_torch"

NOTE = """#!/usr/bin/python3
import json, os, sys
ROOT = {root!r}
def option(name): return sys.argv[sys.argv.index(name) + 1]
def note(*words):
    with open(ROOT + "/calls", "a") as file: print(*words, file=file)
def turn(name, numbers):  # the next of them, at each call
    with open(ROOT + "/" + name, "a") as file:
        file.write("x")
        return numbers[file.tell() - 1]
"""
STEP_BENCH = NOTE + """
if option("--dtype") == "bf16": sys.exit("step_bench: bf16 wants AVX-512")
note("ours", *(option(name) for name in ("--workload", "--batch", "--threads", "--steps")))
speed = 1 if option("--steps") == "1" else turn("ours", [1000, 4000, 2000])
print(json.dumps({{"batch": 64, "threads": 2,
                   "step": {{"ms": 64e3 / speed, "images_per_s": speed, "ops_ms": {{}},
                            "outside_kernels_ms": 0.1}}}}))
"""
PYTHON = NOTE + """
if sys.argv[1] == "-c":
    print(json.dumps([["2.15.0", "0.2.0", "2.4.6"], ROOT]))
    sys.exit()
if os.path.exists(ROOT + "/broken"):
    sys.exit("Traceback\\nRuntimeError: no more\\n\\nSet TORCH_LOGS for more\\n")
way = "compiled" if "--compile" in sys.argv else "eager"
note("start", way, os.path.basename(sys.argv[1]))
facts = {{"torch": "2.15.0+cu132", "onednn": "3.13.3", "compiled": way == "compiled", "tokens": 1}}
if "parabola" not in sys.argv[1]:
    note(way, *(option(name) for name in ("--width", "--batch", "--threads", "--steps")))
print(json.dumps(facts), flush=True)
speeds = {{"eager": [500, 700, 600], "compiled": [900, 700, 800]}}[way]
for _ in sys.stdin:
    note(way)
    print(json.dumps({{"step_ms": 0.05, "examples_per_s": turn(way, speeds)}}), flush=True)
"""
PARABOLA_BENCH = NOTE + """
note("ours")
print(json.dumps({{"benchmarks": [{{"name": "engine/single/real_time", "real_time": 1.6e6}}]}}))
"""


class Comparison(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.program("bin/regatta", "#!/bin/sh\necho 'regatta 0, oneDNN 2.6.3'\n")
        self.program("bin/step_bench", STEP_BENCH)
        self.program("bin/parabola_bench", PARABOLA_BENCH)
        self.program("regatta/torch-2.15.0/bin/python", PYTHON)
        (self.root / "Python.h").touch()

    def program(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(root=str(self.root)) if text.startswith(NOTE) else text)
        file.chmod(0o755)

    def compare(self, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(COMPARE), "--build", str(self.root), *options],
            env=os.environ | {"XDG_CACHE_HOME": str(self.root), "CXX": "true"},
            capture_output=True, text=True, timeout=60)

    def calls(self) -> list[str]:
        return (self.root / "calls").read_text().splitlines()

    def refused(self, words: str, *options: str) -> None:
        done = self.compare(*options)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertIn(words, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_sides_run_in_turn_with_the_same_options_once_both_are_warm(self) -> None:
        done = self.compare("--workload", "resnet9_thin", "--dtype", "f32", "--threads", "3",
                            "--batch", "32", "--steps", "7")
        self.assertEqual(done.returncode, 0, done.stderr)
        ours = "ours resnet9_thin 32 3 7"
        self.assertEqual(self.calls(), [
            "ours resnet9_thin 32 3 1", "start eager torch_resnet9.py", "eager 16 32 3 7",
            "start compiled torch_resnet9.py", "compiled 16 32 3 7",
            *[ours, "eager", "compiled"] * 3])

    def test_medians_are_held_against_the_fastest_of_pytorch(self) -> None:
        done = self.compare("--workload", "resnet9_thin", "--dtype", "f32")
        lines = [line.split() for line in done.stdout.splitlines()]
        self.assertIn("PyTorch 2.15.0+cu132, oneDNN 3.13.3, memory that it frees is kept",
                      done.stdout)
        self.assertIn("regatta 0, oneDNN 2.6.3", done.stdout)
        self.assertIn("resnet9_thin f32 64 2000 600 800 2.50".split(), lines)
        self.assertIn("resnet9_thin f32 1000 to 4000 500 to 700 700 to 900".split(), lines)

    def test_the_parabola_is_told_in_microseconds(self) -> None:
        done = self.compare("--workload", "parabola")
        self.assertEqual(self.calls(), ["start eager torch_parabola.py",
                                        "start compiled torch_parabola.py",
                                        *["ours", "eager", "compiled"] * 3])
        self.assertRegex(done.stdout, r"engine/single +0\.80 us")
        self.assertRegex(done.stdout, r"PyTorch compiled 2\.15\.0 +50\.00 us")

    def test_what_regatta_refuses_is_told_before_anything_is_measured(self) -> None:
        self.refused("step_bench: bf16 wants AVX-512", "--workload", "resnet9_thin", "--dtype",
                     "f32", "bf16")
        self.assertEqual(self.calls(), ["ours resnet9_thin 64 2 1"])

    def test_pytorch_that_dies_ends_it_with_its_error(self) -> None:
        (self.root / "broken").touch()
        self.refused("torch_process: exit code 1: RuntimeError: no more: ", "--dtype", "f32")

    def test_programs_that_are_missing_are_told_with_the_command_to_build_them(self) -> None:
        (self.root / "bin/parabola_bench").unlink()
        self.assertEqual(self.compare("--workload", "resnet9_thin", "--dtype", "f32").returncode, 0)
        self.refused(f"cmake --build {self.root} --target parabola_bench", "--workload", "parabola")


def report(step_ms: float, ops: dict[str, float]) -> dict:
    return {"batch": 100,
            "step": {"ms": step_ms, "images_per_s": 1e5 / step_ms, "ops_ms": ops,
                     "outside_kernels_ms": 0.0}}


class Tables(unittest.TestCase):
    def test_have_a_column_for_each_side(self) -> None:
        sample = Sample([report(100, {})], {"eager 1.13.0": [1250.0], "eager 2.15.0": [500.0]})
        heads, row = speed_table({Case("resnet9", "bf16"): sample})
        self.assertEqual(heads.split(), "workload dtype batch regatta eager 1.13.0 eager 2.15.0 "
                                        "/ fastest".split())
        self.assertEqual(row.split(), "resnet9 bf16 100 1000 1250 500 0.80".split())
        self.assertEqual(range_table({Case("resnet9", "bf16"): sample})[1].split(),
                         "resnet9 bf16 1000 to 1000 1250 to 1250 500 to 500".split())

    def test_tell_the_speed_of_a_language_model_in_tokens_as_well(self) -> None:
        sample = Sample([report(100, {})], {"eager 2.15.0": [500.0]}, tokens=64)
        rows = [row.split() for row in speed_table({Case("gpt_thin", "f32"): sample})]
        self.assertEqual(rows[1:], ["gpt_thin f32 100 1000 500 2.00".split(),
                                    "gpt_thin (tokens) f32 6400 64000 32000 2.00".split()])

    def test_split_a_step_by_its_slowest_ops_first(self) -> None:
        reports = [report(ms, {"add": 1.0, "convolution": ms - 1, "cast": 0.01})
                   for ms in (90.0, 100.0, 500.0)]
        lines = [line.split() for line in split_table(Case("resnet9", "f32"), Sample(reports, {}))]
        self.assertEqual([line[0] for line in lines[1:]], ["convolution", "add", "in", "step"])
        self.assertEqual(lines[1][1:], ["99.00", "ms", "99.0", "%"])
        self.assertEqual(lines[-1][1:], ["100.00", "ms", "100.0", "%"])


if __name__ == "__main__":
    unittest.main()
