# SPDX-License-Identifier: Apache-2.0
"""Computes medians, ratios and text tables from compare_torch's measurements.

Our measurements are step_bench's JSON; PyTorch's are examples/s, one number for each round.
"""

import statistics
from typing import NamedTuple

Json = dict  # from json.loads


class Case(NamedTuple):
    workload: str
    dtype: str


class Sample(NamedTuple):
    """The rounds of a case."""
    ours: list[Json]
    peers: dict[str, list[float]]  # by name: "eager 2.15.0"
    tokens: int = 1  # of an example

    @property
    def batch(self) -> int:
        return self.ours[0]["batch"]

    def speeds(self) -> dict[str, list[float]]:
        """Examples/s of each side, ours first."""
        return {"regatta": [report["step"]["images_per_s"] for report in self.ours]} | self.peers

    def mfu(self) -> float:
        """The median of our model FLOPs utilisation."""
        return statistics.median(report["step"]["mfu"] for report in self.ours)

    def ratio(self) -> float:
        """The ratio of our median to the fastest of the others."""
        return (statistics.median(self.speeds()["regatta"])
                / max(statistics.median(speeds) for speeds in self.peers.values()))


Samples = dict[Case, Sample]


def table(rows: list[list[str]]) -> list[str]:
    """The lines of a table: two columns of words, aligned left, then numbers, aligned right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
            for row in rows]


def speed_table(samples: Samples) -> list[str]:
    """The table of medians. A language model has a second row, of tokens."""
    peers = list(next(iter(samples.values())).peers)
    rows = [["workload", "dtype", "batch", "regatta", *peers, "/ fastest", "our MFU"]]
    for case, sample in samples.items():
        for unit in sorted({1, sample.tokens}):
            medians = [f"{unit * statistics.median(speeds):.0f}"
                       for speeds in sample.speeds().values()]
            rows.append([case.workload + (" (tokens)" if unit > 1 else ""), case.dtype,
                         str(unit * sample.batch), *medians, f"{sample.ratio():.2f}",
                         f"{sample.mfu():.2f}"])
    return table(rows)


def range_table(samples: Samples) -> list[str]:
    """The table of ranges, lowest to highest."""
    rows = [["workload", "dtype", *next(iter(samples.values())).speeds()]]
    for case, sample in samples.items():
        rows.append([*case, *(f"{min(speeds):.0f} to {max(speeds):.0f}"
                              for speeds in sample.speeds().values())])
    return table(rows)


def split_table(case: Case, sample: Sample) -> list[str]:
    """The table of our step by kind of op, in milliseconds."""
    steps = [report["step"] for report in sample.ours]
    total = statistics.median(step["ms"] for step in steps)
    rows = {op: statistics.median(step["ops_ms"][op] for step in steps)
            for op in steps[0]["ops_ms"]}
    rows["in no kernel"] = statistics.median(step["outside_kernels_ms"] for step in steps)
    lines = [f"{case.workload} {case.dtype}, batch {sample.batch}: our step by kind of op"]
    for op, ms in sorted(rows.items(), key=lambda row: -row[1]) + [("step", total)]:
        if ms >= total / 1000 or op == "in no kernel":
            lines.append(f"  {op:<30} {ms:>9.2f} ms {100 * ms / total:>6.1f} %")
    return lines
