# SPDX-License-Identifier: Apache-2.0
"""ci/abuse finds each fault: of a made-up regatta that has one, and of words, lines and files that
were taken otherwise than they are meant.

usage: ci/abuse_test.py
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from abuse_inputs import commands, known, matrices, records, toml
from abuse_inputs.asked import other_work, read, same, why_to_refuse, wrong_records
from abuse_inputs.folder import Treasures, lost
from abuse_inputs.oracle import broken
from abuse_inputs.processes import Done, run
from abuse_inputs.subject import Subject, subcommand_in

CI = Path(__file__).resolve().parent
SCRATCH = tempfile.TemporaryDirectory(prefix="regatta-abuse-test-")
HELP = """run one race
Usage: regatta run [OPTIONS]

Options:
  -h,--help                   Print this help message and exit
  --workload TEXT REQUIRED    what to train
  --strategy TEXT=single      how
  --workers INT=1             replicas
  --steps INT [1]             length
  --seed UINT=1               of weights
  --target FLOAT              to reach
  --speed-effect FLOAT=0.1    of compare, in truth
  --dry-run                   none
  --data-dir TEXT=cifar-10-batches-bin
                              folder of files
  --out TEXT=out              folder
"""
RECORD = {"schema": 2, "run_id": "a", "status": "missed", "command": "", "timestamp": "",
          "cell": {"workload": "parabola", "strategy": "single", "workers": 1, "seed": 1,
                   "steps": 3, "global_batch": 50, "straggler": [], "options": {}},
          "target": {"metric": "loss", "value": 0.05},
          "evaluations": [{"examples": 150, "loss": 1.0}]}
# What it does where an input is tried, by FAULT; before that it behaves.
FAKE = """#!/usr/bin/python3
import json, os, pathlib, shlex, shutil, signal, sys, time
words, fault = sys.argv[1:], os.environ["FAULT"]
flags = dict(zip(words[1::1], words[2::1]))
record = RECORD
record["command"] = shlex.join(["regatta", *words])
def refuse(text):
    sys.stderr.write(text)
    sys.exit(1)
def run(seed):
    out = pathlib.Path(flags.get("--out", "out"))
    out.mkdir(parents=True, exist_ok=True)
    if (out / "records.jsonl").exists() and not (out / "records.jsonl").is_file():
        refuse("regatta: no file\\n")
    record["cell"]["seed"] = seed
    with open(out / "records.jsonl", "a") as file:
        print(json.dumps(record), file=file)
if "--help" in words:
    print(HELP if len(words) > 1 else "Usage\\n\\nSubcommands:\\n  run      one race")
elif words[0] == "list":
    print(json.dumps({"strategies": [{"name": "single", "options": []}],
                      "workloads": [{"name": "parabola", "data_sets": ["curve"]}]}))
elif os.path.basename(os.getcwd()) != "here":
    run(int(flags.get("--seed", "1")))
elif fault == "none": refuse("regatta: no\\n")
elif fault == "signal": os.kill(os.getpid(), signal.SIGSEGV)
elif fault == "hang": time.sleep(60)
elif fault == "silent": sys.exit(1)
elif fault == "page": refuse("regatta: " + "x" * 5000)
elif fault == "code": sys.exit(77)
elif fault == "sanitizer": refuse("==1==ERROR: AddressSanitizer: heap-use-after-free")
elif fault == "delete":
    shutil.rmtree("g", ignore_errors=True)
    refuse("regatta: no\\n")
elif fault == "overwrite":
    open("h/records.jsonl", "w").write("new")
    refuse("regatta: no\\n")
elif fault == "other_work":
    if words[0] == "run" and pathlib.Path(flags.get("--out", "out")).is_dir(): run(99)
    else: refuse("regatta: no\\n")
""".replace("RECORD", repr(RECORD)).replace("HELP if", repr(HELP) + " if")


def made_up(**more: Any) -> Subject:
    run = subcommand_in(HELP)
    subject = Subject(program=Path("/nonesuch"), seed=1, limit_s=1, sanitized=False,
                      subcommands={"run": run, "graph": run, "list": run}, workloads=("parabola",),
                      strategies=("single", "all_reduce"), words=("on", "off"),
                      records=(json.dumps(RECORD, separators=(",", ":")) + "\n").encode())
    return subject._replace(**more)


def made_up_program() -> Path:
    program = Path(SCRATCH.name) / "regatta"
    program.write_text(FAKE)
    program.chmod(0o755)
    return program


def found(fault: str, inputs: int = 5) -> str:
    """What is wrong with command lines that a program with this fault was given."""
    os.environ["FAULT"] = fault
    subject = made_up(program=made_up_program(), limit_s=0.5 if fault == "hang" else 30)
    verdicts = commands.judge(subject, range(inputs), Path(SCRATCH.name))
    return "\n".join(wrong for verdict in verdicts for wrong in verdict.wrong)


class Programs(unittest.TestCase):
    def test_that_refuse_all_are_sound(self) -> None:
        self.assertEqual(found("none"), "")

    def test_that_end_badly_are_found(self) -> None:
        for fault, finding in (("signal", "ended by SIGSEGV"), ("code", "exit code 77"),
                               ("silent", "a refusal that begins with b''"),
                               ("page", "a refusal of 5009 bytes"),
                               ("sanitizer", "says 'ERROR: AddressSanitizer'"),
                               ("hang", "still running after"),
                               ("delete", "here/g/trace.json is gone"),
                               ("overwrite", "the records of here/h/records.jsonl are lost")):
            with self.subTest(fault=fault):
                self.assertIn(finding, found(fault, 2))

    def test_that_a_shell_reports_as_ended_by_a_signal_are_found(self) -> None:
        self.assertEqual(broken(Done(139, False, 0)), ["exit code 139, as after SIGSEGV"])

    def test_that_do_other_work_are_found(self) -> None:
        said = found("other_work", 30)
        self.assertIn("accepted, though", said)
        self.assertIn("but the record says 3", said)

    def test_that_wait_for_a_core_are_not_overdue(self) -> None:
        core = str(min(os.sched_getaffinity(0)))
        on_core = ("taskset", "-c", core, "/bin/bash", "-c")
        work = [*on_core, "for ((i = 0; i < 100000; ++i)); do :; done"]
        alone_s = run(work, Path("/"), 60).seconds
        hogs = [subprocess.Popen([*on_core, "while :; do :; done"], start_new_session=True)
                for _ in range(8)]
        try:
            done = run(work, Path("/"), 2 * alone_s)  # an eighth of a core takes longer
            asleep = run(["sleep", "60"], Path("/"), 0.5)
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait()
        self.assertEqual((done.code, done.overdue), (0, False))
        self.assertTrue(asleep.overdue)

    def test_are_awaited_however_many_connections_are_open(self) -> None:
        with contextlib.ExitStack() as opened:
            for _ in range(1_100):
                opened.enter_context(open(os.devnull, "rb"))
            done = run(["/bin/true"], Path("/"), 10)
        self.assertEqual((done.code, done.overdue), (0, False))

    def test_that_were_tried_are_counted_when_the_others_are_interrupted(self) -> None:
        command = [CI / "abuse", made_up_program(), "--kinds", "commands", "--inputs", "100000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                              env=os.environ | {"FAULT": "signal"}) as abuse:
            assert abuse.stdout is not None
            first = abuse.stdout.readline()  # a finding
            abuse.terminate()
            rest = abuse.communicate(timeout=60)[0]
        self.assertEqual(abuse.returncode, 128 + signal.SIGTERM, rest)
        self.assertIn("ended by SIGSEGV", first)
        self.assertIn("interrupted by SIGTERM; until then:", rest)
        counted = re.search(r"(?m)^all +(\d+) ", rest)
        assert counted, rest
        self.assertIn(int(counted[1]), range(20, 100_000))

    def test_are_reported_with_the_way_to_try_them_again(self) -> None:
        done = subprocess.run([CI / "abuse", made_up_program(), "--only", "commands:1", "--jobs",
                               "1"], capture_output=True, text=True, timeout=60, check=False,
                              env=os.environ | {"FAULT": "signal"})
        shutil.rmtree(done.stdout.split("its folder: ")[1].splitlines()[0])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"ended by SIGSEGV\n  regatta .*\n  again: ci/abuse /.*"
                                      r"/regatta --seed 1 --only commands:1\n")
        self.assertRegex(done.stdout, r"(?m)^commands +1 +0 +1 +1 ")


class Words(unittest.TestCase):
    def reason(self, line: str) -> str:
        return why_to_refuse(read(line.split(" "), made_up()), made_up())

    def test_that_say_what_they_mean_may_be_accepted(self) -> None:
        for line in ("run --workload parabola", "run --workload=parabola --steps 010 --seed +1",
                     "run --target -.5e3 --dry-run", "run --speed-effect 1 --"):
            self.assertEqual(self.reason(line), "", line)

    def test_that_say_nothing_or_too_much_may_not(self) -> None:
        for line, why in (("run --steps 1 --steps 1", "--steps is there twice"),
                          ("run --steps=", "--steps is empty"), ("run --out ", "--out is empty"),
                          ("run --steps", "--steps is empty"), ("run x", "1 words"),
                          ("run -- --steps 1", "2 words"), ("run --out --seed", "has a flag for"),
                          ("run --step=1", "an unknown flag"), ("rum", "no such subcommand"),
                          ("run --workers 0x10", "no whole decimal"),
                          ("run --workers 1e1", "no whole decimal"),
                          ("run --target nan", "no finite decimal"),
                          ("run --target 1e999", "no finite decimal"),
                          ("run --speed-effect -0", "not greater than 0")):
            self.assertIn(why, self.reason(line), line)

    def test_are_held_against_the_record(self) -> None:
        words = ["run", "--workload", "parabola", "--steps", "003", "--target", "5e-2", "--out",
                 "a b"]
        record = json.loads(json.dumps(RECORD)) | {
            "command": "regatta run --workload parabola --steps 003 --target 5e-2 --out 'a b'"}
        asked = read(words, made_up())
        self.assertEqual(other_work(asked, words, record), [])
        record["evaluations"][-1]["examples"] = 149
        self.assertEqual(other_work(asked, words, record), ["fewer steps than asked for"])
        record["evaluations"][-1]["examples"] = 150
        record["cell"]["steps"] = 8
        self.assertIn("--steps '003', but the record says 8", other_work(asked, words, record))
        record["cell"]["steps"] = 3
        self.assertEqual([same(value, None) for value in ("auto", "off", "on")],
                         [True, True, False])
        record["command"] = "regatta " + " ".join(words)
        self.assertIn("command is another", other_work(asked, words, record)[0])

    def test_for_several_seeds_ask_for_a_record_of_each(self) -> None:
        words = ["run", "--seed=7", "--workload", "parabola", "--seeds", "2", "--out", "g"]
        lines = []
        for seed in (7, 8):
            record = json.loads(json.dumps(RECORD))
            record["cell"]["seed"] = seed
            record["command"] = f"regatta run --workload parabola --out g --seed {seed}"
            lines.append(json.dumps(record).encode())
        subject = made_up()
        subject.subcommands["run"].flags["--seeds"] = subject.subcommands["run"].flags["--seed"]
        asked = read(words, subject)
        self.assertEqual(wrong_records(asked, words, lines), [])
        self.assertEqual(wrong_records(asked, words, lines[:1]), ["1 lines were added for 2 seeds"])
        self.assertIn("--seed '8', but the record says 7",
                      wrong_records(asked, words, [lines[0], lines[0]]))

    def test_follow_from_the_seed_and_the_number(self) -> None:
        drawn = [commands.drawn(made_up(), number) for number in range(100)]
        self.assertEqual(drawn, [commands.drawn(made_up(), number) for number in range(100)])
        others = [commands.drawn(made_up(seed=2), number) for number in range(100)]
        self.assertEqual([line == other for line, other in zip(drawn, others)].index(False),
                         len(known.COMMANDS))


class Files(unittest.TestCase):
    def test_may_be_replaced_if_asked_but_records_only_grow(self) -> None:
        before = {"a": ("file", b"x"), "g/records.jsonl": ("file", b"r\n")}
        grown = {"a": ("file", b"x"), "g/records.jsonl": ("file", b"r\ns\n"), "b": ("file", b"")}
        self.assertEqual(lost(before, grown, overwrite=False), [])
        replaced = {"a": ("file", b"y"), "g/records.jsonl": ("file", b"s\n")}
        self.assertEqual(lost(before, replaced, overwrite=True),
                         ["the records of g/records.jsonl are lost"])
        self.assertIn("a is changed", lost(before, replaced, overwrite=False))
        self.assertIn("a, a file, has become a folder",
                      lost(before, {"a": ("folder", b"")}, overwrite=True))

    def test_are_made_anew_when_one_has_changed(self) -> None:
        treasures = Treasures(Path(SCRATCH.name) / "treasures", b"r\n")
        before = treasures.ready()
        (treasures.here / "notes.txt").unlink()
        self.assertEqual(lost(before, treasures.after(), overwrite=False),
                         ["here/notes.txt is gone"])
        self.assertEqual(treasures.ready(), before)


class Matrices(unittest.TestCase):
    FLAGS = {"workload", "strategy", "workers", "steps"}
    TEXT = """seeds = 2
[[race]]
workload = "parabola"
strategy = ["single", "all_reduce"]
workers = [1, 2]
[[exclude]]
strategy = "single"
workers = 2
"""

    def verdict(self, text: str, said: str) -> list[str]:
        known = made_up()
        flags = {f"--{name}": known.subcommands["run"].flags["--out"] for name in self.FLAGS}
        known.subcommands["run"] = known.subcommands["run"]._replace(flags=flags)
        return matrices.wrong_work(text.encode(), Done(0, False, 0, said.encode()), known)

    def test_are_counted(self) -> None:
        self.assertEqual(toml.read(self.TEXT.encode(), self.FLAGS), (3, 2))
        self.assertEqual(self.verdict(self.TEXT, "3 cells x 2 seeds = 6 runs, into x\n"), [])
        said = "2 cells x 2 seeds = 4 runs, into x\n  a\ncannot run, and why:\n  b: no\n4 runs left"
        self.assertEqual(self.verdict(self.TEXT, said), [])
        self.assertEqual(len(self.verdict(self.TEXT, said.replace("  b: no\n", ""))), 1)

    def test_have_a_known_run_of_each_workload(self) -> None:
        lines = matrices.known_records(made_up(workloads=("parabola", "resnet9"))).splitlines()
        runs = [json.loads(line) for line in lines]
        self.assertEqual(len({run["run_id"] for run in runs}), len(runs))
        self.assertEqual({(run["cell"]["workload"], run["cell"]["dtype"]) for run in runs},
                         {(workload, dtype) for workload in ("parabola", "resnet9")
                          for dtype in ("f32", "bf16")})

    def test_that_are_wrong_have_to_be_refused(self) -> None:
        for old, new in (("seeds", "sedes"), ("workers = 2", "worker = 2"), ("2\n", "0\n"),
                         ("[1, 2]", "[]"), ("[1, 2]", "true"), ("single", "a b"),
                         ("workers = 2", "workers = [2, 7]"),
                         ("[[race]]", "[race]"), ("workers = 2", "workers = 7"), ("\n", "\n\0")):
            text = self.TEXT.replace(old, new, 1)
            self.assertRegex(self.verdict(text, "")[0], "has to be refused", text)


class Records(unittest.TestCase):
    LINE = made_up().records.strip()

    def row(self, **changes: str) -> dict[str, str]:
        row = {column: "" for column in records.COLUMNS}
        return row | {"run_id": "a", "status": "missed", "cell.workload": "parabola",
                      "cell.strategy": "single", "cell.seed": "1", "cell.workers": "1",
                      "cell.global_batch": "50", "target.metric": "loss"} | changes

    def test_come_out_as_they_are_written(self) -> None:
        self.assertEqual(records.wrong_row(self.LINE, self.row()), [])
        nameless = re.sub(rb'"run_id": *"a"', b'"run_id":""', self.LINE)
        self.assertEqual(records.wrong_row(nameless, self.row(run_id="26a52ce2742fec8b")), [])
        self.assertEqual(records.wrong_row(self.LINE, self.row(status="reached")),
                         ["status is 'missed', its row has 'reached'"])
        self.assertIn("no JSON", records.wrong_row(self.LINE[:-1], self.row())[0])
        self.assertIn("no JSON", records.wrong_row(self.LINE.replace(b"50", b"NaN"), self.row())[0])

    def test_are_all_accounted_for(self) -> None:
        lines = {7: self.LINE, 8: b"{", 9: b" "}
        header = ",".join(self.row())
        row = ",".join(self.row().values())
        warning = b"regatta: r/records.jsonl:3: no record: cut short; skipped\n"
        done = Done(0, False, 0, f"{header}\r\n{row}\r\n{row}\r\n".encode(), warning)
        self.assertEqual(records.compared(done, lines), ([], {7: []}, {7}))
        wrong = records.compared(done._replace(stderr=b""), lines).wrong
        self.assertEqual(wrong, ["1 rows and 0 warnings of 3 lines"])


if __name__ == "__main__":
    unittest.main()
