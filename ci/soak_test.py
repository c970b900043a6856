# SPDX-License-Identifier: Apache-2.0
"""ci/soak finds each fault of a made-up regatta."""

import os
import signal
import tempfile
import unittest
from importlib import machinery, util
from pathlib import Path

loader = machinery.SourceFileLoader("soak", str(Path(__file__).with_name("soak")))
soak = util.module_from_spec(util.spec_from_loader("soak", loader))
loader.exec_module(soak)
FAKE = """#!/usr/bin/python3
import json, os, pathlib, signal, subprocess, sys, time
words, fault = sys.argv[1:], os.environ["FAULT"]
out = pathlib.Path(words[words.index("--out") + 1])
(out / "checkpoints/a").mkdir(parents=True, exist_ok=True)
def end(number=0, _=None):
    if fault == "left":
        open(os.environ["TMPDIR"] + "/file", "w").close(), subprocess.Popen(["sleep", "20"])
    if fault == "code": sys.exit("an error of Regatta itself")
    text = {"torn": "{", "lost": ""}.get(fault, json.dumps({"status": "missed"}) + "\\n")
    with open(out / "records.jsonl", "a") as file: file.write(text)
    sys.exit()
if "--resume" in words: sys.exit(1) if fault == "resume" else end()
signal.signal(signal.SIGTERM, signal.SIG_IGN if fault == "hang" else end)
print(": step 0 of 4", flush=True), time.sleep(99)
"""


class Trials(unittest.TestCase):
    def test_find_each_fault(self) -> None:
        with tempfile.TemporaryDirectory(prefix="regatta-soak-test-") as scratch:
            program = Path(scratch) / "regatta"
            program.write_text(FAKE)
            program.chmod(0o755)
            schema = soak.argparse.Namespace(iter_errors=lambda _: [])
            for fault, finding in (
                    ("none", "^$"), ("hang", "^hang"), ("left", "^left: .*process.*/file"),
                    ("torn", "torn: '{'.*lost"), ("lost", "lost: exit code 0, records \\[]"),
                    ("code", "^exit code 1.*itself; an error"), ("resume", "^not resumed")):
                os.environ["FAULT"] = fault
                trial = soak.Trial([], ": step 0 of", 0, "program", signal.SIGTERM)
                found = soak.play(trial, program, Path(scratch) / fault, schema, hang_s=0.5)
                self.assertRegex("; ".join(found), f"(?s){finding}")


if __name__ == "__main__":
    unittest.main()
