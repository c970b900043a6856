# SPDX-License-Identifier: Apache-2.0
"""Programs that race (--program): hostile ones, and two that keep to the protocol."""

import shutil
from pathlib import Path

from test_support import fresh_folder

MODULE = Path(__file__).resolve().parents[2] / "ci/contenders"
SILENCE_S = 5

BEGIN = f"""
import json, os, signal, subprocess, sys, time
sys.path.insert(0, {str(MODULE)!r})
def tell(event, **more):
    os.write(3, (json.dumps({{"event": event, **more}}) + "\\n").encode())
def log(key, value=None, **metadata):
    print(":::MLLOG", json.dumps({{"key": key, "value": value, "metadata": metadata}}))
def evaluate(metric=2.0):
    tell("evaluate_begin")
    tell("evaluate", metric=metric)
def train():
    tell("ready")
    tell("step", examples=32, loss=2.5)
SLEEPER = [sys.executable, "-c", "import signal, time; signal.signal(15, 1); time.sleep(999)"]
"""

# Code, and kind and text of the failure.
HOSTILE = {
    "ends_at_once": ("pass", "peer_lost", "ended before `ready`; it printed nothing"),
    "dies_at_once": ("sys.exit(3)", "peer_lost", "ended with exit code 3 before `ready`"),
    "dies_in_training": ("train(); raise ValueError('boom')", "peer_lost",
                         "exit code 1 after 32 examples; its last lines: .*ValueError: boom"),
    "dies_in_evaluation": ("train(); tell('evaluate_begin'); os.abort()", "peer_lost",
                           r"was killed by signal 6 \(Aborted\) after 32 examples"),
    "dies_when_done": ("train(); evaluate(); tell('done'); sys.exit(4)", "peer_lost",
                       "ended with exit code 4 after `done`"),
    "ends_early": ("train(); evaluate()", "peer_lost", "ended after 32 examples"),
    "hangs_at_once": ("time.sleep(999)", "timeout", "no event for 5 s before `ready`"),
    "hangs_when_done": ("train(); evaluate(); tell('done'); time.sleep(999)", "timeout",
                        "no event for 5 s after `done`"),
    "is_stopped": ("train(); os.kill(os.getpid(), 19)", "timeout", "no event for 5 s after 32"),
    "ignores_sigterm": ("signal.signal(15, signal.SIG_IGN); train(); time.sleep(999)", "timeout",
                        "no event for 5 s after 32 examples"),
    "floods_output": ("while True: print('x' * 9999)", "timeout", "last lines: xxxx"),
    "floods_the_pipe": ("while True: os.write(3, b'x' * 9999)", "program", "no JSON object: xxxx"),
    "floods_in_lines": ("train()\nwhile True: tell('step', examples=33, loss=1)", "program",
                        "`step` with 33 examples after 33"),
    "garbage": ("os.write(3, b'{\"event\": \\n')", "program", "no JSON object"),
    "not_utf_8": ("print(chr(0xdcff)) if 0 else os.write(2, b'\\xff\\xfe\\n'); "
                  "os.write(3, b'\\xff\\xfe\\n')", "program", "no JSON object"),
    "odd_values": ("tell('ready', versions=[1])", "program", "`versions` is no object"),
    "nan": ("train(); evaluate(float('nan'))", "diverged", "not finite"),
    "goes_back": ("train(); tell('step', examples=16)", "program", "16 examples after 32"),
    "fractions": ("train(); tell('step', examples=32.5)", "program", "no whole number"),
    "two_readys": ("train(); tell('ready')", "program", "`ready` after `ready`"),
    "two_run_starts": ("log('run_start'); log('run_start')", "program", "`ready` after `ready`"),
    "log_without_samples": ("log('run_start'); log('eval_accuracy', .5)", "program",
                            "no samples_count"),
    "evaluates_before_ready": ("evaluate()", "program", "`evaluate_begin` before `ready`"),
    "evaluates_twice": ("train(); evaluate(); evaluate()", "program", "twice after 32 examples"),
    "steps_in_evaluation": ("train(); tell('evaluate_begin'); tell('step', examples=64)",
                            "program", "before the end of an evaluation"),
    "no_evaluation": ("train(); tell('done')", "program", "`done` without an evaluation"),
    "goes_on": ("train(); evaluate(); tell('done'); tell('step', examples=64)", "program",
                "`step` after `done`"),
    "closes_the_pipe": ("train(); os.close(3); time.sleep(999)", "timeout",
                        "no event for 5 s after 32 examples"),
    "unclaimed_proof": ("tell('proof')", "program", "no --workload is claimed"),
    "leaves_children": ("subprocess.Popen(SLEEPER); train(); evaluate(); tell('done')",
                        "program", "left 1 of its processes behind"),
    "leaves_a_daemon": ("train()\nif os.fork() == 0:\n  os.setsid()\n"
                        "  subprocess.Popen(SLEEPER, start_new_session=True)\n  os._exit(0)\n"
                        "time.sleep(999)", "timeout", "no event for 5 s after 32 examples"),
    "leaves_files": ("import tempfile; tempfile.mkdtemp(); os.kill(os.getpid(), 9)", "peer_lost",
                     r"was killed by signal 9 \(Killed\) before `ready`"),
}

BY_MODULE = """
import regatta_contender as regatta
regatta.ready(framework="plain", notes={"compile": "0 s"}, python="3")
for step in range(1, 6):
    time.sleep(0.01)
    regatta.step(32 * step, 3 / step)
    with regatta.evaluation() as evaluation:
        time.sleep(0.03)
        evaluation.metric = 3 / step + 0.01 * int(sys.argv[1])
regatta.done()
"""
BY_LOG = """
log("train_samples", 64)
log("run_start")
for epoch in range(1, 4):
    time.sleep(0.02)
    log("eval_start", epoch_num=epoch)
    log("eval_accuracy", 2 / epoch, epoch_num=epoch)
    log("eval_stop", epoch_num=epoch)
log("run_stop", status="success")
"""


def script(code: str, name: str = "train.py") -> Path:
    path = fresh_folder() / name
    path.write_text(BEGIN + code)
    return path


def compiled(code: str) -> Path | None:
    """Compiles a C program that uses the header; None without a compiler."""
    import subprocess
    if shutil.which("cc") is None:
        return None
    folder = fresh_folder()
    (folder / "train.c").write_text(code)
    subprocess.run(["cc", "-Wall", "-Werror", f"-I{MODULE}", "-o", folder / "train",
                    folder / "train.c"], check=True)
    return folder / "train"
