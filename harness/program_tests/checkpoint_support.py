# SPDX-License-Identifier: Apache-2.0
"""Races that leave checkpoints, the counts in a checkpoint, and the fields in which two records of
a run must agree.
"""

import functools
import subprocess
from pathlib import Path
from typing import Any

from test_support import REGATTA, fresh_folder, records_in, regatta, soon

BATCH = 32
STEPS = 20
THIN = ("--workload", "resnet9_thin", "--width", "8", "--dataset", "shapes", "--global-batch",
        str(BATCH), "--steps", str(STEPS))  # half the width: half the time
THIN_TO_THE_END = (*THIN, "--evaluate", "end", "--cores", "1")  # spinning takes half the time
EVERY = 2
POINTS = 50
PARABOLA_STEPS = 20_000
PARABOLA = ("--workload", "parabola", "--steps", str(PARABOLA_STEPS))
PARABOLA_EVERY = ("--checkpoint-every", "50")


def record_of(*arguments: str, folder: Path) -> dict[str, Any]:
    """The last record of a run that finishes."""
    done = regatta("run", *arguments, "--out", str(folder))
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: exit code {done.returncode}: {done.stderr}")
    return records_in(folder)[-1]


@functools.cache
def in_one_piece(*arguments: str) -> dict[str, Any]:
    return record_of(*arguments, folder=fresh_folder())


def counts_in(file: Path) -> dict[str, int]:
    """The counts at the head of a checkpoint; its lengths must match the file's."""
    data = file.read_bytes()
    magic, version, header, payload = (data[i:i + 8] for i in range(0, 32, 8))
    if magic != b"RGTCKPT\n" or int.from_bytes(version, "little") != 8:
        raise AssertionError(f"{file} begins with {data[:16]!r}")
    sizes = [int.from_bytes(word, "little") for word in (header, payload)]
    if len(data) != 32 + sum(sizes) + 8:
        raise AssertionError(f"{file} has {len(data)} bytes, not 40 and {sizes}")
    counts: dict[str, int] = {}
    at = 32
    while "time_ns" not in counts:
        begin, end = at + 8, at + 8 + int.from_bytes(data[at:at + 8], "little")
        name, at = data[begin:end].decode(), end
        if name != "checkpoints":  # the fields of that one follow
            counts[name], at = int.from_bytes(data[end:end + 8], "little"), end + 8
    return counts


class Run:
    """A race that leaves checkpoints."""

    def __init__(self, *arguments: str, folder: Path | None = None) -> None:
        self.folder = folder or fresh_folder()
        self.process = subprocess.Popen([REGATTA, "run", *arguments, "--out", str(self.folder)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def checkpoint(self) -> Path | None:
        found = list((self.folder / "checkpoints").glob("*/checkpoint"))
        return found[0] if found else None

    def examples(self) -> int:
        """Examples in the checkpoint; -1 if there is none yet, or none any more."""
        file = self.checkpoint()
        try:
            return -1 if file is None else counts_in(file)["examples"]
        except FileNotFoundError:
            return -1

    def await_examples(self, examples: int) -> Path:
        if not soon(lambda: self.examples() >= examples or self.process.poll() is not None, 300):
            self.process.kill()
        file = self.checkpoint()
        if self.process.poll() is not None or file is None:
            raise AssertionError(f"no checkpoint: {self.process.communicate()}")
        return file

    def end(self, number: int) -> str:
        """Ends the run by a signal. Returns its stderr."""
        self.process.send_signal(number)
        errors: str = self.process.communicate(timeout=60)[1]
        if self.process.returncode != -number:
            raise AssertionError(f"exit code {self.process.returncode}: {errors}")
        return errors


def results_of(record: dict[str, Any]) -> dict[str, Any]:
    """The results that do not depend on time."""
    evaluations = [{key: value for key, value in evaluation.items() if not key.endswith("_ns")}
                   for evaluation in record["evaluations"]]
    steps = {worker["place"]: worker["steps"] for worker in record["workers"]}
    arrivals = {worker["place"]: worker["late_ns"] and worker["late_ns"]["count"]
                for worker in record["workers"]}
    return {"evaluations": evaluations, "losses": record["losses"], "steps": steps,
            "arrivals": arrivals,
            "checksums": record["checksums"], "status": record["status"],
            "bytes": record["graph"]["bytes_per_step_counted"],
            "step_count": record["step_time_ns"]["count"],
            "examples_to_target": record["examples_to_target"]}
