# SPDX-License-Identifier: Apache-2.0
"""The part of an adapter that knows no framework: workers, the dump folder, proof, training.

An adapter calls start() before it imports its framework, and then race() with a Contender, whose
methods a framework fills in. A worker owns `threads` of the run's cores. Every worker takes a
contiguous share of each global batch, dealt in whole normalisation groups, and of each evaluation
batch. Worker 0 reports to Regatta (regatta_contender.py).
"""

import argparse
import hashlib
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import regatta_contender

PROVEN = 20  # steps
REPORT_S = 0.1  # from one message of progress to the next
TESTED = 256  # examples evaluated together by all workers
ELEMENTS = {"F32": np.float32, "I32": np.int32, "I64": np.int64}
Arrays = dict[str, np.ndarray]


class Worker(NamedTuple):
    rank: int
    count: int
    threads: int

    @property
    def serves(self) -> bool:
        """Whether it is a server, which has no share of the batch."""
        return self.rank >= self.count


def options(description: str, strategies: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strategy", choices=strategies, default=strategies[0])
    parser.add_argument("--compile", action="store_true", help="by the framework's compiler")
    parser.add_argument("--schedule", default="1f1b", help="of a pipeline")
    parser.add_argument("--microbatches", type=int, default=4, help="of a pipeline")
    parser.add_argument("--sync-every", type=int, default=4, help="steps; of local_sgd and diloco")
    parser.add_argument("--plant", default="", help=argparse.SUPPRESS)  # a fault, for tests
    return parser.parse_args()


def cores_of(rank: int, threads: int) -> list[int]:
    cores = sorted(os.sched_getaffinity(0))
    return [cores[(rank * threads + i) % len(cores)] for i in range(threads)]


def spawn(rank: int, threads: int, more: dict[str, str]) -> subprocess.Popen[bytes]:
    cores = cores_of(rank, threads)
    places = ",".join(f"{{{core}}}" for core in cores)
    return subprocess.Popen(
        [sys.executable, *sys.argv], env=os.environ | more | {
            "RANK": str(rank), "OMP_NUM_THREADS": str(threads), "OMP_PLACES": places},
        preexec_fn=lambda: os.sched_setaffinity(0, cores))


def free_ports(count: int) -> list[int]:
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in listeners]
    for each in listeners:
        each.close()
    return ports


def start(processes: int | None = None, servers: int = 0) -> Worker:
    """Starts this script once for each worker and server, with pinned cores; returns in these
    processes only. `processes=1`: one process holds all workers and has all their cores."""
    workers, threads = (int(os.environ.get(f"REGATTA_{name}", "1"))
                        for name in ("WORKERS", "THREADS"))
    if "RANK" in os.environ:
        return Worker(int(os.environ["RANK"]), processes or workers, threads)
    each = workers * threads // processes if processes else threads
    size = (processes or workers) + servers
    ports = [str(port) for port in free_ports(size)]
    more = {"WORLD_SIZE": str(size), "PORTS": ",".join(ports), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": ports[0], "GLOO_SOCKET_IFNAME": "lo"}
    children = [spawn(rank, each, more) for rank in range(size)]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        while children[0].poll() is None:
            if failed := [child.returncode for child in children if child.poll()]:
                sys.exit(abs(failed[0]))
            time.sleep(0.02)
        sys.exit(abs(children[0].returncode))
    finally:
        for child in children:
            child.kill()
            child.wait()


def read_safetensors(path: Path) -> Arrays:
    """The tensors of a file, as views of its pages."""
    data = np.memmap(path, np.uint8, "r")
    size = int(data[:8].view("<u8")[0])
    header = json.loads(bytes(data[8:8 + size]))
    header.pop("__metadata__", None)
    return {name: data[8 + size + each["data_offsets"][0]:8 + size + each["data_offsets"][1]]
            .view(ELEMENTS[each["dtype"]]).reshape(each["shape"])
            for name, each in header.items()}


def share_of(array: np.ndarray, worker: Worker, group: int = 1) -> np.ndarray:
    """The worker's share of the second dimension, in whole groups of examples."""
    groups = array.shape[1] // group
    begin, end = (groups * rank // worker.count * group for rank in (worker.rank, worker.rank + 1))
    return array[:, begin:end]


class Work:
    """A dump folder, and the worker's share of its examples, in memory. `whole`: every worker reads
    all examples. Shapes: inputs and targets [steps, share, ...]; tests: pairs of [share, ...]."""

    def __init__(self, worker: Worker, plant: str = "", whole: bool = False) -> None:
        folder = Path(os.environ["REGATTA_WORK"])
        self.worker = worker
        self.manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
        self.weights = {name: np.array(value) for name, value
                        in read_safetensors(folder / "weights.safetensors").items()}
        self.rate = read_safetensors(folder / "schedule.safetensors")["rate"]
        self.batch: int = self.manifest["global_batch"]
        self.steps: int = self.manifest["steps"]
        group = self.group = self.manifest.get("normalization_group") or 1
        examples = {name: array.reshape(self.steps, self.batch, *array.shape[1:]) for name, array
                    in read_safetensors(folder / "inputs.safetensors").items()}
        if plant == "order":
            examples = {name: np.roll(array, 1, 1) for name, array in examples.items()}
        if plant == "group":
            self.manifest["normalization_group"] *= 2
        if plant == "weight_decay":
            self.manifest["optimizer"]["weight_decay"] = 0.3
            for parameter in self.manifest["parameters"]:
                parameter["weight_decay"] = 0.3
        self.copies = worker.count if whole else 1  # of each example
        reader = Worker(0, 1, 0) if whole else worker
        order = examples.pop("example")
        self.order = hashlib.sha256(np.concatenate(
            [share_of(order, reader._replace(rank=rank), group) for rank in range(reader.count)],
            1).tobytes()).hexdigest()
        self.names = list(examples)
        self.inputs, self.targets = (np.array(share_of(examples[name], reader, group))
                                     for name in self.names)
        tests = read_safetensors(folder / "test.safetensors")
        self.tested = len(tests[self.names[0]])
        self.tests = [[np.array(share_of(tests[name][None, at:at + TESTED], reader)[0])
                       for name in self.names] for at in range(0, self.tested, TESTED)]
        self.share = self.inputs.shape[1] / self.batch / self.copies

    def digest(self, weights: Arrays) -> str:
        """The digest of weights, in the manifest's order."""
        return hashlib.sha256(b"".join(np.ascontiguousarray(weights[each["name"]], "<f4").tobytes()
                                       for each in self.manifest["parameters"])).hexdigest()


class Contender:
    """The part of a framework. Every worker calls the same methods at the same time."""

    work: Work
    framework: str
    versions: dict[str, str]
    notes: dict[str, str]
    synchronous = True  # whether its losses follow those of `single`
    gradient_norm = math.nan  # of the mean gradient before clipping; step(..., proves=True) sets it

    def step(self, index: int, proves: bool = False) -> Any:
        """Trains one step; returns its loss: the sum over the worker's examples, divided by the
        global batch."""
        raise NotImplementedError

    def total(self, value: Any) -> float:
        """The sum of a number over workers."""
        raise NotImplementedError

    def weights(self) -> Arrays:
        """All parameters of the whole model, with the manifest's names and shapes."""
        raise NotImplementedError

    def restore(self) -> None:
        """Sets weights, slots of the optimizer and running statistics as they were at first."""
        raise NotImplementedError

    def evaluate(self) -> float:
        """The metric: the mean over the test's examples."""
        raise NotImplementedError

    def wait(self) -> None:
        """Returns when the work of this step is done."""

    def close(self) -> None:
        """Leaves the other workers."""


def next_evaluation(manifest: dict[str, Any], metrics: dict[int, float], examples: int) -> int:
    """The number of examples at which Regatta evaluates its own runs, too: every period, and
    oftener while the target is near. `metrics`: the evaluations so far, by examples.
    harness/plan/evaluation_points.cpp describes the rule."""
    period, total = manifest["evaluation_period"], manifest["evaluate_after"][-1]
    upwards = manifest["metric"] != "loss"
    reached = [value >= manifest["target"] if upwards else value <= manifest["target"]
               for value in metrics.values()]
    began, due = examples // period * period, [(examples // period + 1) * period, total]
    marks = [next((metrics[at] for at in metrics if at >= began - ago * period), None)
             for ago in range(min(3, began // period) + 1)]
    if marks[0] is not None and not any(reached):
        ahead = [marks[0] + 2 * (later - earlier) for later, earlier in zip(marks, marks[1:])]
        if any(value >= manifest["target"] if upwards else value <= manifest["target"]
               for value in ahead):
            due.append(next((at for at in manifest["evaluate_after"] if at > examples), total))
    return min(due)


def prove(contender: Contender) -> dict[str, Any]:
    """Trains the first steps; returns the proof and leaves the contender as it was."""
    work = contender.work
    proof: dict[str, Any] = {"weights": work.digest(contender.weights()), "order": work.order}
    losses = [contender.total(contender.step(index, proves=True))
              for index in range(min(PROVEN, work.steps))]
    if contender.synchronous:
        proof["losses"] = losses
        proof["parameter_norm"] = math.sqrt(sum(
            float(np.square(each, dtype=np.float64).sum())
            for each in contender.weights().values()))
    proof["gradient_norm"] = contender.gradient_norm
    return proof


def race(contender: Contender) -> None:
    """Proves, warms up, trains and evaluates."""
    work, reports = contender.work, contender.work.worker.rank == 0
    began = time.monotonic()
    proof = prove(contender)
    contender.evaluate()
    contender.restore()
    contender.notes["warm_up"] = f"{time.monotonic() - began:.1f} s, of the proof's steps"
    if reports:
        regatta_contender.proof(**proof)
        regatta_contender.ready(framework=contender.framework, notes=contender.notes,
                                **contender.versions)
    contender.total(0)  # no worker begins before the clock
    reported, metrics = time.monotonic(), {}
    due = next_evaluation(work.manifest, metrics, 0)
    for index in range(work.steps):
        contender.step(index)
        examples = (index + 1) * work.batch
        if examples >= due:
            contender.wait()
            contender.total(0)  # all workers stand at this step
            metrics[examples] = evaluate(contender, examples)
            due = next_evaluation(work.manifest, metrics, examples)
        elif reports and time.monotonic() - reported > REPORT_S:
            regatta_contender.step(examples)
            reported = time.monotonic()
    if reports:
        regatta_contender.done()
    contender.close()
    if not reports:
        signal.pause()  # a peer may still receive from this one; worker 0's end is all workers' end
    sys.stdout.flush()
    os._exit(0)  # threads of frameworks may not survive the interpreter's end


def evaluate(contender: Contender, examples: int) -> float:
    if contender.work.worker.rank > 0:
        return contender.evaluate()
    regatta_contender.step(examples)
    with regatta_contender.evaluation() as evaluation:
        evaluation.metric = contender.evaluate()
    return evaluation.metric
