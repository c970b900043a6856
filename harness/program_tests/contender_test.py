# SPDX-License-Identifier: Apache-2.0
"""Other programs in the race (--program): hostile ones, proofs, matrices, and their ends."""

import json
import os
import signal
import subprocess
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import contender_support as programs
from proc_support import is_alive, processes_with
from test_support import (LEFT_LIMIT_S, REGATTA, fresh_folder, output_of, record_validator,
                          records_in, regatta, run_tests, soon)

OWN = ("--workload-name", "mine", "--metric", "loss", "--target", "0.8")
LIMIT_S = 30  # of a run: silence, the time after SIGTERM, and a slow machine
VALIDATOR = record_validator()


def race(path: Path, *flags: str, **environment: str) -> tuple[dict[str, Any], str]:
    """The record of a program; the processes and temporary files that it has left."""
    folder, scratch = fresh_folder(), fresh_folder()
    done = subprocess.run([REGATTA, "run", "--program", f"python3 {path} {{seed}}",
                           *(flags or OWN), "--silence", str(programs.SILENCE_S),
                           "--out", str(folder)],
                          capture_output=True, text=True, timeout=LIMIT_S, errors="replace",
                          env=os.environ | {"TMPDIR": str(scratch)} | environment)
    if not (folder / "records.jsonl").exists():
        raise AssertionError(done.stderr)
    (record,) = records_in(folder)
    VALIDATOR.validate(record)
    left = [f"process {pid}" for pid in processes_with("REGATTA_RUN_ID", record["run_id"])]
    return record, " ".join(left + [str(path) for path in scratch.iterdir()])


class Contenders(unittest.TestCase):
    def test_hostile_programs_become_failed_rows_and_leave_nothing(self) -> None:
        with ThreadPoolExecutor(8) as pool:
            races = {name: pool.submit(race, programs.script(code))
                     for name, (code, _, _) in programs.HOSTILE.items()}
        for name, (_, kind, text) in programs.HOSTILE.items():
            with self.subTest(name):
                record, left = races[name].result()
                self.assertEqual(left, "")
                self.assertEqual(record["status"], "failed")
                self.assertRegex(record["failure"]["text"], text)
                self.assertEqual(record["failure"]["kind"], kind)

    def test_clocks_leave_out_evaluation_and_set_up(self) -> None:
        record, left = race(programs.script("time.sleep(0.2)\n" + programs.BY_MODULE))
        self.assertEqual((record["status"], left), ("reached", ""))
        self.assertEqual(record["cell"]["strategy"], "train")
        self.assertEqual(record["program"], {"framework": "plain", "versions": {"python": "3"},
                                             "notes": {"compile": "0 s"}})
        self.assertGreater(record["setup_ns"], 0.2e9)
        self.assertGreater(record["training_ns"], 5 * 0.01e9)
        self.assertGreater(record["full_ns"] - record["training_ns"], 5 * 0.03e9)
        at = record["evaluations"][3]
        self.assertEqual(record["training_time_to_target_ns"], at["training_time_ns"])
        self.assertEqual((at["examples"], at["loss"], len(record["losses"])), (128, 0.76, 5))
        self.assertGreaterEqual(record["interface_bytes"], 0)

    def test_a_program_of_c_races(self) -> None:
        path = programs.compiled("""#include "regatta_contender.h"
int main(void) {
  regatta_ready("c", "cc", "1");
  regatta_step(64, 0.5);
  regatta_evaluate_begin();
  regatta_evaluate(0.25);
  regatta_done();
}
""")
        if path is None:
            self.skipTest("cc is not installed")
        folder = fresh_folder()
        output_of("run", "--program", str(path), *OWN, "--out", str(folder))
        self.assertEqual([each["status"] for each in records_in(folder)], ["reached"])

    def test_claims_are_proven_before_time_counts(self) -> None:
        work = fresh_folder() / "work"
        claim = ("--workload", "parabola", "--steps", "4")
        output_of("dump", *claim, "--out", str(work))
        reference = json.loads((work / "reference.json").read_text())
        losses = reference["losses"]
        train = """
proof = json.load(open(os.environ["REGATTA_WORK"] + "/reference.json"))
proof["losses"][2] *= FACTOR
batch = json.load(open(os.environ["REGATTA_WORK"] + "/manifest.json"))["global_batch"]
if FACTOR: tell("proof", **proof)
tell("ready")
tell("step", examples=4 * batch)
evaluate(0.0)
tell("done")
"""
        results = {factor: race(programs.script(train.replace("FACTOR", factor)), *claim)
                   for factor in ("1", "1.5", "0")}
        record, left = results["1"]
        self.assertEqual((record["status"], record["failure"], left), ("reached", None, ""))
        self.assertEqual(record["proof"]["loss_difference"], 0)
        self.assertEqual((record["cell"]["workload"], record["cell"]["steps"]), ("parabola", 4))
        record, left = results["1.5"]
        self.assertRegex(record["failure"]["text"], "^computed something else: .*step 2")
        self.assertEqual((record["evaluations"], record["training_ns"], left), ([], 0, ""))
        self.assertAlmostEqual(record["proof"]["loss_difference"], 0.5, places=5)
        self.assertGreater(losses[2], 0)
        self.assertRegex(results["0"][0]["failure"]["text"], "gave no proof before `ready`")
        done = regatta("run", "--program", "true", *claim, "--work", str(work), "--seed", "2")
        self.assertRegex(done.stderr, "--work .* is of another run: its seed is 1, not 2; fix: ")

    def test_matrices_reports_and_exports_hold_programs(self) -> None:
        folder = fresh_folder()
        module, log = programs.script(programs.BY_MODULE), programs.script(programs.BY_LOG)
        (folder / "races.toml").write_text(f"""
seeds = 3
[[race]]
program = ["python3 {module} {{seed}}", "python3 {log}"]
workload_name = "mine"
metric = "loss"
target = 0.8
[[race]]
program = "python3 {module} {{seed}}"
program_name = "other"
strategy = "all_reduce"
workload_name = "mine"
metric = "loss"
target = 0.8
workers = 2
""")
        matrix = ("matrix", str(folder / "races.toml"), "--out", str(folder / "out"))
        said = output_of(*matrix)
        self.assertIn("3 cells x 3 seeds = 9 runs", said)
        records = records_in(folder / "out")
        self.assertEqual([each["failure"] for each in records], [None] * 9)
        self.assertEqual({each["cell"]["strategy"] for each in records},
                         {"train", "other all_reduce"})
        by_log = next(each for each in records if str(log) in each["command"])
        self.assertEqual([each["examples"] for each in by_log["evaluations"]], [64, 128, 192])
        self.assertIn("9 runs are there already", output_of(*matrix, "--resume"))
        self.assertEqual(len(records_in(folder / "out")), 9)
        decided = output_of(*matrix, "--resume", "--decide", "--within", "1s")
        self.assertNotIn("no record", decided)
        judged = json.loads(output_of("report", str(folder / "out"), "--format", "json"))
        cells = judged["workloads"][0]["cells"]
        self.assertEqual(len(cells), 3)
        self.assertEqual({cell["cell"]["program"]["name"] for cell in cells}, {"train", "other"})
        output_of("report", str(folder / "out"), "--out", str(folder / "page"))
        self.assertIn("other all_reduce", (folder / "page/index.html").read_text())
        same = regatta("compare", str(folder / "out"), str(folder / "out"))
        self.assertIn(same.returncode, (0, 4), same.stderr)
        for name in ("csv", "gbench", "bmf", "mllog", "github"):
            out = ("--out", str(folder / name)) if name in ("mllog", "github") else ()
            out += ("--author", "me") if name == "mllog" else ()
            output_of("export", str(folder / "out"), "--format", name, *out)
        self.assertGreaterEqual(len(list((folder / "mllog").rglob("result_*.txt"))), 9)

    def test_nothing_is_left_if_regatta_is_killed(self) -> None:
        scratch = fresh_folder()
        path = programs.script("signal.signal(15, signal.SIG_IGN); train()\n"
                               "subprocess.Popen(SLEEPER, start_new_session=True).wait()")
        started = subprocess.Popen([REGATTA, "run", "--program", f"python3 {path}", *OWN,
                                    "--out", str(fresh_folder())],
                                   env=os.environ | {"TMPDIR": str(scratch)},
                                   stdout=subprocess.DEVNULL)
        mark = ("TMPDIR", str(scratch))

        def inside() -> list[int]:
            return [pid for folder in scratch.iterdir()
                    for pid in processes_with("TMPDIR", str(folder))]
        self.assertTrue(soon(lambda: len(inside()) >= 2, LIMIT_S))
        time.sleep(0.2)
        own = inside()
        started.send_signal(signal.SIGKILL)
        started.wait()
        soon(lambda: not any(map(is_alive, own)) and not processes_with(*mark), LEFT_LIMIT_S)
        self.assertEqual([pid for pid in own if is_alive(pid)], [])
        self.assertEqual((processes_with(*mark), list(scratch.iterdir())), ([], []))

    def test_refuses_flags_that_do_not_go_together(self) -> None:
        program = ("--program", "true")
        for flags, text in {
            program: "--program needs either --workload",
            (*program, "--workload", "parabola", *OWN): "--program needs either",
            (*program, "--workload-name", "mine"): "needs --metric, accuracy or loss",
            (*program, *OWN, "--processes", "2"): "--processes is of Regatta's own runs",
            (*program, *OWN, "--steps", "2"): "--steps is of a --workload that a program claims",
            (*program, "--workload", "parabola", "--metric", "loss"): "--metric is of",
            (*program, *OWN, "--program-name", "all_reduce"): "is a strategy of Regatta",
            (*program, *OWN, "--program-name", "a+b"): "is not a name",
            (*program, "--workload-name", "parabola", *OWN[2:]): "is a workload of Regatta",
            (*program, *OWN[:2], "--metric", "speed", "--target", "1"): "unknown metric 'speed'",
            (*OWN,): "--workload-name is of another program",
            ("--strategy", "single"): "--workload is required",
        }.items():
            with self.subTest(" ".join(flags)):
                done = regatta("run", *flags)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    run_tests()
