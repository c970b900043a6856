# SPDX-License-Identifier: Apache-2.0
"""Reads judgement.json, the output of `regatta report`, for all figures and tables.

The program reads records, groups runs by cell, and computes medians; this file gives its numbers
names. Times are in seconds; the time to a target that was missed is infinite.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from strategies import PlotsError, cell_fields, is_asynchronous, use_table

Json = dict[str, Any]


class Evaluation(NamedTuple):
    examples: int
    epoch: float
    training_time: float
    loss: float
    metric: float


class CurvePoint(NamedTuple):
    """An evaluation over all runs of a cell: medians."""

    examples: int
    epoch: float
    training_time: float
    metric: float


@dataclass(frozen=True)
class Variant:
    """The settings that distinguish two lines of a figure; the seed is not one of them."""

    strategy: str
    workers: int
    options: tuple[tuple[str, int | str], ...]  # by name: the strategy's and the workload's
    dataset: str
    global_batch: int
    device: str
    cuda_graph: str | None  # None: on CPUs, like the next
    cudnn_engine: str | None
    dtype: str
    fusion: str
    winograd: str
    straggler: str
    processes: int
    stages: int
    normalization_group: int | None  # None: the workload's
    rate_scale: float
    evaluate: str
    oversubscribed: bool
    shared_gpu: bool  # several workers share one, so speeds do not show scaling
    shared_gpus: int | None  # number of GPUs; None if they are not shared
    length: str  # such as "steps 200"; empty: the workload's
    others: tuple[tuple[str, str], ...] = ()  # fields that vary, without a member here

    def option(self, name: str) -> int | str | None:
        """The value of an option; None if the cell lacks the option, or it has no value."""
        return dict(self.options).get(name)

    @property
    def asynchronous(self) -> bool:
        return is_asynchronous(self.strategy)


MEMBERS = {field.name for field in fields(Variant)}


class Machine(NamedTuple):
    cpu: str
    cores: int
    gpus: tuple[str, ...]
    is_virtual: bool

    @property
    def text(self) -> str:
        return ", ".join([self.cpu, f"{self.cores} cores", *self.gpus])


class Ratio(NamedTuple):
    """Time to the target divided by that of the reference: the fastest cell of `single`, or the
    first cell if the workload has none."""

    time: float
    low: float  # ends of the interval by the test that decides; nan: too few runs
    high: float


class LeftOut(NamedTuple):
    """Why a matrix that races for a decision stopped running a cell."""

    round: int
    why: str  # slower, precise or missed
    at_least: float | None  # lower end of the ratio to the first, if slower


@dataclass(frozen=True, eq=False)
class Cell:
    """One cell on one machine: statistics over its runs, which differ in their seeds. They are
    medians, except for times to the target."""

    workload: str
    variant: Variant
    machine: Machine
    target_metric: str
    target: float
    shows: str  # learning or step_cost: the purpose of races on the workload
    threads: int  # per worker
    claims_time: bool
    seconds_to_target: float  # geometric mean, or median if a run missed it; ranks cells
    seconds_per_example: float  # nan if no run has it
    speed_interval: tuple[float, float]  # of the median, examples per second; nan as above
    tokens_per_example: int | None  # None: examples are not sequences
    mfu: float  # model FLOPs utilisation; nan if unknown
    metric: float  # at the end; nan if no run has it
    bits_per_byte: float  # the same; nan unless examples are sequences of bytes
    times_single: float  # time to the target relative to `single`; nan if unknown
    count: int
    reached: int
    failed: int
    curve: tuple[CurvePoint, ...]
    step_seconds: dict[str, float]  # of a worker, by part
    bytes_computed: float  # sent in a step by all places
    bytes_counted: float
    staleness: tuple[int, ...]  # number of updates by missed versions
    ratio: Ratio | None  # None: it missed the target, or claims no time
    is_reference: bool  # of the ratios
    left_out: LeftOut | None

    @property
    def lower_is_better(self) -> bool:
        return self.target_metric == "loss"


@dataclass(frozen=True)
class Run:
    cell: Cell
    seed: int
    status: str
    failure: str
    time_to_target: float  # inf unless reached
    evaluations: tuple[Evaluation, ...]
    examples_per_s: float
    commit: str
    dirty: bool
    began: str  # date and time, as text that sorts
    losses: tuple[tuple[int, float], ...]  # examples and training loss
    updates: int  # steps of all loops; `losses` of long runs has only some of them
    bytes_by_place: dict[str, float]  # sent in a step
    memory: dict[str, float]  # planned bytes of the worker that needs most, by purpose
    nodes_per_process: tuple[int, ...]

    @property
    def workload(self) -> str:
        return self.cell.workload

    @property
    def variant(self) -> Variant:
        return self.cell.variant

    @property
    def claims_time(self) -> bool:
        return self.cell.claims_time

    @property
    def date(self) -> str:
        return self.began[:10]

    @property
    def busiest_bytes(self) -> float:
        """Bytes that the busiest place sends in a step; nan if unknown."""
        return max(self.bytes_by_place.values(), default=math.nan)


def _number(value: float | None, missing: float) -> float:
    return missing if value is None else value


def _median(interval: Json | None, missing: float) -> float:
    return missing if interval is None else _number(interval["median"], missing)


def _speed_interval(seconds: Json | None) -> tuple[float, float]:
    low, high = (None, None) if seconds is None else (seconds["high"], seconds["low"])
    return (1 / low if low else math.nan), (1 / high if high else math.nan)


def _field_text(value: Any) -> str:
    """A value of a cell's field; of another program its digest's first digits."""
    if isinstance(value, dict) and "digest" in value:
        return str(value["digest"])[:6]
    return value if isinstance(value, str) else json.dumps(value)


def variant_of(cell: Json) -> Variant:
    length = next((f"{unit} {cell[unit]:g}" for unit in ("steps", "epochs")
                   if cell[unit] is not None), "")
    converted = {
        "options": tuple(sorted(cell["options"].items())), "length": length,
        "straggler": ",".join(f"{one['worker']}:{one['factor']:g}" for one in cell["straggler"]),
        "shared_gpus": cell["gpus"] if cell["shared_gpu"] else None,
        "others": tuple((name, _field_text(value)) for name, value in cell.items()
                        if name not in MEMBERS and value is not None
                        and (name not in cell_fields() or cell_fields()[name].varies))}
    return Variant(**{name: cell[name] for name in MEMBERS - converted.keys()}, **converted)


def _ratios(workload: Json) -> list[Ratio | None]:
    """The ratio of each cell, in the judgement's order."""
    found = [cell["against_single"] for cell in workload["cells"]]
    if not any(found):
        one = {"time": 1.0, "low": 1.0, "high": 1.0}
        found = [one if cell["against_first"]["standing"] == "first" else cell["against_first"]
                 for cell in workload["cells"]]
    return [Ratio(one["time"], _number(one["low"], math.nan), _number(one["high"], math.nan))
            if one and one.get("time") else None for one in found]


def _cell(workload: Json, cell: Json, ratio: Ratio | None) -> Cell:
    machine, target, left_out = workload["machine"], workload["target"], cell["left_out"]
    return Cell(
        workload=workload["workload"], variant=variant_of(cell["cell"]),
        machine=Machine(machine["cpu"], machine["cores_used"], tuple(machine["gpus"]),
                        workload["virtual_time"]),
        target_metric=target["metric"], target=target["value"],
        shows=workload["shows"], threads=cell["cell"]["threads_per_worker"],
        claims_time=cell["claims_time"],
        seconds_to_target=_number(cell["typical_seconds"], math.inf),
        seconds_per_example=_median(cell["seconds_per_example"], math.nan),
        speed_interval=_speed_interval(cell["seconds_per_example"]),
        tokens_per_example=cell["tokens_per_example"], mfu=_median(cell["mfu"], math.nan),
        metric=_median(cell["metric"], math.nan),
        bits_per_byte=_median(cell["bits_per_byte"], math.nan),
        times_single=(cell["against_single"] or {}).get("time", math.nan),
        count=cell["count"], reached=cell["reached"], failed=cell["failed"],
        curve=tuple(CurvePoint(one["examples"], one["epoch"], one["seconds"], one["metric"])
                    for one in cell["curve"]),
        step_seconds=cell["step_seconds"], bytes_computed=cell["bytes_per_step_computed"],
        bytes_counted=cell["bytes_per_step_counted"],
        staleness=tuple(cell["staleness"]["histogram"]), ratio=ratio,
        is_reference=ratio is not None and ratio.time == 1,
        left_out=left_out and LeftOut(*(left_out[name] for name in LeftOut._fields)))


def _run(cell: Cell, run: Json) -> Run:
    return Run(
        cell=cell, seed=run["seed"], status=run["status"],
        failure=(run["failure"] or {}).get("text", ""),
        time_to_target=_number(run["seconds_to_target"], math.inf),
        evaluations=tuple(Evaluation(one["examples"], one["epoch"], one["seconds"], one["loss"],
                                     one["metric"]) for one in run["evaluations"]),
        examples_per_s=_number(run["examples_per_s"], math.nan),
        commit=run["commit"], dirty=run["dirty"], began=run["timestamp"],
        losses=tuple((examples, loss) for examples, loss in run["losses"]),
        updates=run["updates"], bytes_by_place=run["bytes_per_step_by_place"],
        memory=run["memory_by_purpose"],
        nodes_per_process=tuple(run["nodes_per_process"]))


def runs_of(workloads: Iterable[Json]) -> list[Run]:
    """The runs of judged workloads, in the judgement's order: fastest to the target first."""
    return [_run(cell, run) for workload in workloads
            for judged, ratio in zip(workload["cells"], _ratios(workload))
            for cell in [_cell(workload, judged, ratio)] for run in judged["runs"]]


def read_judgement(file: Path) -> Json:
    """Reads judgement.json and makes its strategies the table(). Throws: OSError, PlotsError."""
    try:
        judgement: Json = json.loads(file.read_text())
        use_table(judgement["strategies"], judgement["cell_fields"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PlotsError(f"{file} is no judgement that regatta report wrote: {error}") from error
    return judgement


def group_runs(runs: Iterable[Run]) -> dict[Cell, list[Run]]:
    """Groups runs by cell, in order of first appearance."""
    groups: dict[Cell, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.cell, []).append(run)
    return groups


def by_rank(cell: Cell) -> tuple[bool, float]:
    """Sort key: cells by time to the target, then cells that missed it, then cells without a
    claim."""
    return not cell.claims_time, cell.seconds_to_target


def ranked(runs: Iterable[Run]) -> list[tuple[Cell, list[Run]]]:
    """Cells with their runs, by rank; cells of equal rank keep the order of their first runs."""
    return sorted(group_runs(runs).items(), key=lambda item: by_rank(item[0]))


def speed(cell: Cell) -> float:
    """Examples per second; nan if no run has a speed."""
    return 1 / cell.seconds_per_example if cell.seconds_per_example else math.nan


def tokens_per_s(cell: Cell) -> float:
    """Tokens per second; nan if no run has a speed, or examples are not sequences."""
    return speed(cell) * (cell.tokens_per_example or math.nan)
