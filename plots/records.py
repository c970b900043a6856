# SPDX-License-Identifier: Apache-2.0
"""The one reader of records (results/schema.json), for every figure and table.

Tolerant where the writer is strict: a line that is not a whole record (the last one, when a writer
was killed) is skipped with a warning, a missing field takes a default. A schema version this reader
does not know is an error: numbers of another meaning must not reach a figure.

Times here are in seconds.
"""

import json
import math
import re
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strategies import PlotsError, claims_time, is_asynchronous

SCHEMA = 1
SPLIT = ("compute", "exposed_communication", "wait", "input", "update")
OLD_OPTIONS = ("all_reduce", "bucket_bytes", "sharing", "servers", "backup_workers",
               "staleness_bound")
NONE_OF_THEM = frozenset({("servers", 0), ("backup_workers", 0)})


class RecordsError(PlotsError):
    """The records cannot be used; the text is one line that says why and what to do."""


@dataclass(frozen=True)
class Evaluation:
    examples: int
    epoch: float
    training_time: float
    loss: float
    metric: float


@dataclass(frozen=True)
class Variant:
    """The settings that distinguish two lines of a figure; the seed is not one of them."""

    strategy: str
    workers: int = 1
    options: tuple[tuple[str, int | str], ...] = ()  # of the strategy, by name
    dataset: str = ""
    global_batch: int = 0
    device: str = "cpu"
    cuda_graph: str = ""
    cudnn_engine: str = ""
    dtype: str = "f32"
    fusion: str = "off"
    winograd: str = "off"
    straggler: str = ""
    processes: int = 1
    stages: int = 1
    normalization_group: int | None = None  # None: the workload's
    rate_scale: float = 1.0
    oversubscribed: bool = False
    shared_gpu: bool = False  # several workers on one: no scaling result
    shared_gpus: int | None = None  # how many, where they are shared
    length: str = ""  # as the command gives it, such as "steps 200"; empty: the workload's

    def option(self, name: str) -> int | str | None:
        """None where the strategy has no such option, or the option no value."""
        return dict(self.options).get(name)

    @property
    def asynchronous(self) -> bool:
        return is_asynchronous(self.strategy)


@dataclass(frozen=True)
class Worker:
    """One place of a run: a worker, a server, the host."""

    place: str
    steps: int
    bytes_sent: int  # over all steps
    staleness: tuple[int, ...]  # updates by the versions they missed


@dataclass(frozen=True)
class Run:
    workload: str
    variant: Variant
    seed: int
    status: str
    failure: str
    target_metric: str
    target: float
    time_to_target: float  # inf unless reached
    examples_to_target: float  # inf unless reached
    evaluations: tuple[Evaluation, ...]
    examples_per_s: float
    split: dict[str, float] = field(default_factory=dict)  # seconds, summed over those that compute
    cpu: str = "unknown"
    cores: int = 0
    gpus: tuple[str, ...] = ()
    commit: str = "unknown"
    dirty: bool = False
    date: str = "unknown"
    began: str = ""  # date and time, as text that sorts
    run_id: str = ""
    worker_steps: int = 0
    workers: tuple[Worker, ...] = ()
    losses: tuple[tuple[int, float], ...] = ()  # examples and loss, of training
    updates: int = 0  # steps of all loops: a loss each, of which long runs keep some
    nodes_per_process: tuple[int, ...] = ()
    bytes_computed: float = math.nan  # in a step, over all places
    bytes_counted: float = math.nan

    @property
    def busiest_bytes(self) -> float:
        """What the busiest place sends in a step."""
        return max((worker.bytes_sent / worker.steps for worker in self.workers if worker.steps),
                   default=math.nan)

    @property
    def lower_is_better(self) -> bool:
        return self.target_metric == "loss"

    @property
    def claims_time(self) -> bool:
        return claims_time(self.variant.strategy)


def _straggler(cell: dict[str, Any]) -> str:
    return ",".join(f"{one['worker']}:{one['factor']:g}" for one in cell.get("straggler") or [])


def length_of(cell: dict[str, Any], command: str) -> str:
    """The run length, if it is not the workload's; older records say it in their command only."""
    if "steps" in cell:
        return next((f"{unit} {cell[unit]:g}" for unit in ("steps", "epochs")
                     if cell.get(unit) is not None), "")
    found = re.search(r" --(steps|epochs)[ =](\S+)", command)
    return f"{found[1]} {found[2]}" if found else ""


def options_of(cell: dict[str, Any]) -> dict[str, int | str]:
    """What the strategy declares; older records have it as fields of the cell."""
    options = cell.get("options")
    if options is None:
        options = {name: cell.get(name) for name in OLD_OPTIONS}
    return {name: value for name, value in options.items()
            if value is not None and (name, value) not in NONE_OF_THEM}


def variant_of(cell: dict[str, Any], command: str) -> Variant:
    return Variant(
        strategy=str(cell["strategy"]),
        workers=int(cell.get("workers", 1)),
        options=tuple(sorted(options_of(cell).items())),
        dataset=str(cell.get("dataset", "")),
        global_batch=int(cell.get("global_batch", 0)),
        device=str(cell.get("device", "cpu")),
        cuda_graph=str(cell.get("cuda_graph") or ""),
        cudnn_engine=str(cell.get("cudnn_engine") or ""),
        dtype=str(cell.get("dtype", "f32")),
        fusion=str(cell.get("fusion", "off")),
        winograd=str(cell.get("winograd", "off")),
        straggler=_straggler(cell),
        processes=int(cell.get("processes", 1)),
        stages=int(cell.get("stages", 1)),
        normalization_group=cell.get("normalization_group"),
        rate_scale=float(cell.get("rate_scale", 1.0)),
        oversubscribed=bool(cell.get("oversubscribed", False)),
        shared_gpu=bool(cell.get("shared_gpu", False)),
        shared_gpus=cell.get("gpus") if cell.get("shared_gpu") else None,
        length=length_of(cell, command),
    )


def _evaluation(one: dict[str, Any]) -> Evaluation:
    return Evaluation(
        examples=int(one["examples"]),
        epoch=float(one.get("epoch", math.nan)),
        training_time=one["training_time_ns"] / 1e9,
        loss=float(one.get("loss", math.nan)),
        metric=float(one["metric"]),
    )


def _split(workers: list[dict[str, Any]]) -> dict[str, float]:
    return {part: sum(one.get(f"{part}_ns", 0) for one in workers) / 1e9 for part in SPLIT}


def _computes(one: dict[str, Any]) -> bool:
    """Servers and the host of central_storage have no step of their own: they wait for workers."""
    return not re.match(r"server|host", str(one.get("place", "")))


def _worker(one: dict[str, Any]) -> Worker:
    return Worker(str(one.get("place", "")), int(one.get("steps", 0)),
                  int(one.get("bytes_sent", 0)), tuple(one.get("staleness_histogram", [])))


def parse_run(record: dict[str, Any]) -> Run:
    """Raises KeyError, TypeError, ValueError or AttributeError for what is not a record."""
    target = record.get("target") or {}
    reached = None
    if record["status"] == "reached":
        reached = record.get("training_time_to_target_ns")
    examples = record.get("examples_to_target")
    machine = record.get("machine") or {}
    software = record.get("software") or {}
    graph = record.get("graph") or {}
    workers = [one for one in record.get("workers", []) if _computes(one)]
    return Run(
        workload=str(record["cell"]["workload"]),
        variant=variant_of(record["cell"], str(record.get("command", ""))),
        seed=int(record["cell"].get("seed", 0)),
        status=str(record["status"]),
        failure=str((record.get("failure") or {}).get("text", "")),
        target_metric=str(target.get("metric", "loss")),
        target=float(target.get("value", math.nan)),
        time_to_target=math.inf if reached is None else reached / 1e9,
        examples_to_target=math.inf if examples is None else float(examples),
        evaluations=tuple(_evaluation(one) for one in record.get("evaluations", [])),
        examples_per_s=float(record.get("examples_per_s", math.nan)),
        split=_split(workers),
        cpu=str(machine.get("cpu", "unknown")),
        cores=int(machine.get("cores_used", 0)),
        gpus=tuple(machine.get("gpus", [])),
        commit=str(software.get("git_commit", "unknown")),
        dirty=bool(software.get("dirty", False)),
        date=str(record.get("timestamp", "unknown"))[:10],
        began=str(record.get("timestamp", "")),
        run_id=str(record.get("run_id", "")),
        worker_steps=sum(one.get("steps", 0) for one in workers),
        workers=tuple(_worker(one) for one in record.get("workers", [])),
        losses=tuple((int(one["examples"]), float(one["loss"]))
                     for one in record.get("losses", [])),
        updates=int((record.get("step_time_ns") or {}).get("count", 0)),
        nodes_per_process=tuple(graph.get("nodes_per_process", [])),
        bytes_computed=float(graph.get("bytes_per_step_computed", math.nan)),
        bytes_counted=float(graph.get("bytes_per_step_counted", math.nan)),
    )


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def read_records(path: Path, warn: Callable[[str], None]) -> list[Run]:
    """The runs in `path`, a folder with a records.jsonl, in the order they were written.

    Throws: RecordsError when there is no record at all, or one of an unknown schema.
    """
    file = path / "records.jsonl"
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as error:
        raise RecordsError(f"cannot read {file}: {error.strerror}; name a folder that "
                           "regatta run --out wrote to") from error
    runs: list[Run] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, parse_constant=_refuse_constant)
            if record.get("schema", SCHEMA) != SCHEMA:
                raise RecordsError(
                    f"{file}:{number}: schema {record['schema']}, but this reader knows {SCHEMA}; "
                    "use the plots of the commit that wrote it, named in its software.git_commit")
            runs.append(parse_run(record))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            last = number == len(lines)
            what = "a record cut short" if last else f"not a record ({error!r})"
            warn(f"{file}:{number}: {what}, skipped")
    if not runs:
        raise RecordsError(f"{file} holds no whole record; run regatta run --out {path} first")
    return runs


def group_runs(runs: Iterable[Run]) -> dict[Variant, list[Run]]:
    """Groups runs by variant, in order of first appearance."""
    groups: dict[Variant, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.variant, []).append(run)
    return groups


def median_time(runs: list[Run]) -> float:
    """Median time to target, in which a run that missed or failed counts as infinite."""
    if not all(run.claims_time for run in runs):
        return math.inf
    return statistics.median(run.time_to_target for run in runs)


def ranked(groups: dict[Variant, list[Run]]) -> list[tuple[Variant, list[Run]]]:
    """First to the target first; then those that missed it; then those that make no claim.

    Equal ones stay in the order of their first runs.
    """
    return sorted(groups.items(),
                  key=lambda item: (not item[1][0].claims_time, median_time(item[1])))


def format_time(seconds: float) -> str:
    """Three digits and the unit that suits; `-` for a target never reached."""
    if not math.isfinite(seconds):
        return "-"
    for limit, scale, unit in ((1e-3, 1e6, "us"), (1.0, 1e3, "ms"), (math.inf, 1.0, "s")):
        if seconds < limit:
            value = seconds * scale
            digits = 2 if value < 10 else 1 if value < 100 else 0
            return f"{value:.{digits}f} {unit}"
    raise AssertionError("no unit fits")
