# SPDX-License-Identifier: Apache-2.0
"""The bubble rates of zero bubble's schedules (arXiv:2401.10241) from the times of passes.

A stage or chunk is one block of a GPT. Its passes take the published times: the kernels of
attention those of forward and of the gradients of inputs, one of its weights' gradients that of
weights, all others none. Messages take a latency only. Then
  rate = 1 - microbatches (forward + input + weights) / step
where the step is the period of steps that follow each other, which is the longest span of a stage.
"""

from __future__ import annotations

import json
import pathlib
import re
import statistics
import subprocess
import tempfile

from published_rows import WrongTable, read_table

SCHEDULES = ("1f1b", "interleaved", "zero_bubble")
MOST_KERNELS = 200
NS = 1e6  # of a ms


def no_cost() -> dict:
    way = {"message_ns": 0, "bytes_per_ns": None}
    return {"on_host": way, "between_hosts": way, "adding_bytes_per_ns": None,
            "sending_bytes_per_ns": None}


class Stages:
    """Runs schedules of one-block stages, with the costs of kernels by key."""

    def __init__(self, regatta: pathlib.Path, folder: pathlib.Path, seconds: float):
        self.regatta, self.folder, self.seconds = regatta, folder, seconds
        self.keys: set[str] = set()

    def cost(self, key: str, times: dict[str, float]) -> float:
        if key.startswith("attention_backward "):
            return times["input"]
        if key.startswith("attention "):
            return times["forward"]
        # the gradient of the block's weights 4C x C, of which each block has one
        if re.match(r"dense_backward_weights \S+x32f32 \S+x8f32", key):
            return times["weights"]
        return 0

    def step_ms(self, schedule: str, row: dict, times: dict[str, float]) -> float:
        stages, chunks = row["stages"], row["chunks"] if schedule == "interleaved" else 1
        latency = row["message"] * 1e3
        (self.folder / "cluster.toml").write_text(
            f'calibration = "costs.json"\nlatency_us = {latency}\n[compute_times]\n'
            f'kind = "constant"\n[[host]]\ncount = {stages}\n')
        words = ["--workload", "gpt_tiny", "--layers", stages * chunks, "--width", 8, "--heads", 1,
                 "--context", 4, "--optimizer", "sgd", "--strategy", "pipeline", "--schedule",
                 schedule, "--workers", stages, "--processes", stages, "--microbatches",
                 row["microbatches"], "--global-batch", row["microbatches"], "--steps", 6,
                 "--stage-parts", ",".join(self.parts(stages * chunks))]
        words += ["--chunks", chunks] * (chunks > 1)
        command = [str(self.regatta), "run", *map(str, words), "--cluster",
                   str(self.folder / "cluster.toml"), "--virtual", "time", "--out",
                   str(self.folder)]
        for _ in range(MOST_KERNELS):
            self.write_costs(times)
            done = subprocess.run(command, capture_output=True, text=True, timeout=self.seconds)
            if done.returncode == 0:
                record = (self.folder / "simulated.jsonl").read_text().splitlines()[-1]
                return json.loads(record)["step_time_ns"]["p50"] / NS
            missing = re.search(r"kernels of this cell, such as '(.*?)'; fix", done.stderr)
            if not missing:
                raise WrongTable(f"zero_bubble: {done.stderr.strip()}")
            self.keys.add(missing.group(1))
        raise WrongTable("zero_bubble: too many kernels")

    @staticmethod
    def parts(chunks: int) -> list[str]:
        """Parts of each chunk: six of a block, the embedding's first, the head's last."""
        parts = [6] * chunks
        parts[0] += 2
        parts[-1] += 3
        return [str(n) for n in parts]

    def write_costs(self, times: dict[str, float]) -> None:
        kernels = {key: self.cost(key, times) * NS for key in sorted(self.keys)}
        names = ("in_process", "open_mpi", "open_mpi_sums", "grpc")
        (self.folder / "costs.json").write_text(json.dumps({
            "calibration": 1, "source": "times of passes", "cpu": "", "git_commit": "",
            "timestamp": "", "command": "", "transports": {name: no_cost() for name in names},
            "step_ns": [], "kernels": kernels}))


def check(regatta: pathlib.Path, path: pathlib.Path, seconds: float) -> dict:
    """Prints published and predicted rates; returns the medians."""
    table = read_table(path)
    print(f"\n{table.head['title']} ({table.head['source']})")
    for each in table.head["assumed"]:
        print(f"assumed: {each}")
    for each in table.head["missing"]:
        print(f"missing: {each}")
    print(f"  {'row':16}" + "".join(f"{name:>13} {'predicted':>9} {'error':>8}"
                                    for name in SCHEDULES))
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        stages = Stages(regatta, pathlib.Path(folder), seconds)
        for row in table.rows:
            line = f"  {row['model'] + ' ' + str(row['microbatches']):16}"
            for schedule in SCHEDULES:
                chunks = row["chunks"] if schedule == "interleaved" else 1
                times = {key: row[key] / chunks for key in ("forward", "input", "weights")}
                step = stages.step_ms(schedule, row.values, times)
                whole = sum(row[key] for key in ("forward", "input", "weights"))
                rate = 1 - row["microbatches"] * whole / step
                errors.append(rate - row[schedule])
                line += f"{row[schedule]:13.4f} {rate:9.4f} {errors[-1]:+8.4f}"
            print(line, flush=True)
    sizes = [abs(error) for error in errors]
    print(f"{len(sizes)} rates: median error {statistics.median(sizes):.4f}, worst "
          f"{max(sizes):.4f}, {sum(size <= 0.005 for size in sizes)} within 0.005")
    return {"rows": len(sizes), "median": statistics.median(sizes), "worst": max(sizes)}
