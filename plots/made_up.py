# SPDX-License-Identifier: Apache-2.0
"""Invented records for tests, with plausible curves; they are not measurements."""

import contextlib
import io
import json
import math
import random
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from judgement import Run, runs_of
from program import judge


def made_up_record(workload: str, strategy: str, seed: int, **change: Any) -> dict[str, Any]:
    """A record with the fields that figures read. `pace`: seconds per epoch; `threads`: per
    worker."""
    chance = random.Random(f"{workload} {strategy} {seed}")
    pace = change.pop("pace", 1.0) * chance.uniform(0.95, 1.05)
    loss_based = workload == "parabola"
    target = 0.05 if loss_based else 85.0
    evaluations = []
    for epoch in range(13):
        jitter = chance.uniform(0.97, 1.03)
        metric = (2.5 * math.exp(-0.55 * epoch) * jitter + 0.004 if loss_based
                  else 10 + 82 * (1 - math.exp(-0.33 * epoch)) * (jitter if epoch else 1))
        evaluations.append({"examples": 5_000 * epoch, "epoch": float(epoch), "metric": metric,
                            "training_time_ns": round(epoch * pace * 1e9), "loss": 1.0,
                            "full_time_ns": round(epoch * pace * 1.2e9)})
    crossing = [one for one in evaluations
                if (one["metric"] <= target if loss_based else one["metric"] >= target)]
    workers = 1 if strategy == "single" else 2
    batch = 50 if loss_based else 512
    threads = change.pop("threads", 1)
    alone = "async" in strategy
    each = workers if alone else 1  # updates for one batch
    record = {
        "schema": 2,
        "timestamp": "2025-01-31T12:00:00Z",
        "cell": {"workload": workload, "recipe": 2 if workload == "resnet9_thin" else 1,
                 "dataset": "curve" if loss_based else "shapes",
                 "strategy": strategy, "workers": workers, "seed": seed, "straggler": [],
                 "global_batch": batch, "threads_per_worker": threads,
                 "device": "cpu", "dtype": "f32"},
        "status": "reached" if crossing else "missed",
        "failure": None,
        "target": {"metric": "loss" if loss_based else "accuracy", "value": target},
        "run_id": f"{workload} {strategy} {seed}",
        "training_time_to_target_ns": crossing[0]["training_time_ns"] if crossing else None,
        "examples_to_target": crossing[0]["examples"] if crossing else None,
        "evaluations": evaluations,
        "examples_per_s": 5_000 / pace,
        "workers": [{"compute_ns": 800, "exposed_communication_ns": 90, "wait_ns": 80,
                     "input_ns": 10, "update_ns": 20, "place": f"replica{worker}", "steps": 10,
                     "bytes_sent": 10 * 640, "staleness_histogram": [30, 70] if alone else []}
                    for worker in range(workers)],
        "step_time_ns": {"count": 60_000 // batch * each},
        "losses": [{"examples": at * batch // each, "loss": 2 + chance.uniform(-0.2, 0.2)}
                   for at in range(60_000 // batch * each)],
        "graph": {"nodes": 50, "nodes_per_process": [50 * workers], "build_ns": 1000,
                  "bytes_per_step_computed": 640 * workers,
                  "bytes_per_step_counted": 640 * workers},
        "machine": {"cpu": "Intel(R) Xeon(R) Processor", "cores_used": 2, "gpus": []},
        "software": {"git_commit": "0123456789abcdef0123456789abcdef01234567", "dirty": False},
    }
    return {**record, **change}


def made_up_failure(workload: str, strategy: str, seed: int, evaluated: int) -> dict[str, Any]:
    """A run that diverged after `evaluated` evaluations."""
    whole = made_up_record(workload, strategy, seed)
    return {**whole, "status": "failed", "training_time_to_target_ns": None,
            "examples_to_target": None,
            "failure": {"kind": "diverged", "text": "step 70: the loss is not finite"},
            "evaluations": whole["evaluations"][:evaluated]}


def made_up_simulated(strategy: str, workers: int, speed: float, **change: Any) -> dict[str, Any]:
    """A record of a run in virtual time; `hardware` replaces links of 10 Gbit/s and 25 µs."""
    record = made_up_record("resnet9_thin", strategy, 1, examples_per_s=speed)
    hardware = {"link_bytes_per_s": 1.25e9, "core_bytes_per_s": None, "latency_ns": 25e3,
                "server_cores": 1, "compute_times": "samples", "spread": 0, "cpu": "A CPU",
                "queue_bytes": 0, "machine_cores": 0,
                **change.pop("hardware", {})}
    record["cell"].update(workers=workers, processes=workers, global_batch=32 * workers)
    record.update(schema=11, status="missed", training_time_to_target_ns=None,
                  examples_to_target=None, evaluations=[], losses=[],
                  step_time_ns={"count": 60, "p50": 20_000_000},
                  command=f"regatta run --strategy {strategy} --workers {workers}",
                  simulated={"mode": "time", "cluster": "0123456789abcdef", "hosts": 66,
                             "calibration": "fedcba9876543210", "source": "regatta calibrate",
                             "events": 1000, "hardware": hardware})
    return {**record, **change}


def made_up_judgement(records: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The program's judgement of these records. Each gets its position as its run id."""
    lines = [json.dumps({**record, "run_id": str(at)}) for at, record in enumerate(records)]
    with tempfile.TemporaryDirectory() as folder:
        for line in lines:
            name = "simulated.jsonl" if '"simulated":' in line else "records.jsonl"
            with (Path(folder) / name).open("a") as file:
                file.write(line + "\n")
        with contextlib.redirect_stderr(io.StringIO()) as said:
            judgement = judge([folder])
    if "warning" in said.getvalue():
        raise ValueError(said.getvalue())  # a record is invalid
    return judgement


def race_for_a_decision(judged: dict[str, Any], decided: bool = True,
                        **left_out: tuple[int, str, float | None]) -> None:
    """Makes a judged workload one whose matrix raced for a decision: intervals of 10 % to either
    side, and cells of the strategies `left_out` left out: round, reason, least ratio."""
    judged["decision"] = {"rounds": 7, "decided": decided, "precision": 0.05}
    seconds = {cell["cell"]["strategy"]: cell["typical_seconds"] for cell in judged["cells"]}
    for cell in judged["cells"]:
        strategy = cell["cell"]["strategy"]
        ratio = (seconds[strategy] or math.nan) / seconds["single"]
        around = 1.0 if strategy == "single" else 1.1
        cell["against_single"] = None if math.isnan(ratio) else {
            "time": ratio, "low": ratio / around, "high": ratio * around}
        out = left_out.get(strategy)
        cell["left_out"] = out and dict(zip(("round", "why", "at_least"), out))


def made_up_runs(records: Iterable[dict[str, Any]]) -> list[Run]:
    """The judged runs of these records, in the order of the records."""
    records = list(records)
    if not records:
        return []
    workloads = made_up_judgement(records)["workloads"]
    order = [int(run["run_id"]) for workload in workloads for cell in workload["cells"]
             for run in cell["runs"]]
    runs = dict(zip(order, runs_of(workloads), strict=True))
    return [runs[at] for at in sorted(runs)]
