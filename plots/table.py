# SPDX-License-Identifier: Apache-2.0
"""Results as two ASCII tables for a terminal of 80 columns, with a row for each strategy."""

import math

from judgement import Cell, Run, ranked, speed, tokens_per_s
from labels import cell_labels
from wording import digits_text, out_text, time_text

FIRST = ("strategy", "workers", "to target", "low .. high", "reached", "vs single")
WHY = ("strategy", "examples/s", "tokens/s", "MFU", "final", "step %")
IF_KNOWN = ("tokens/s", "MFU")  # columns that are left out if no cell has a value


def format_time(seconds: float) -> str:
    """The time in ASCII, with three digits and a suitable unit; `-` if the target was missed."""
    return time_text(seconds).replace("µ", "u").replace("–", "-")


def _split(cell: Cell) -> str:
    parts = cell.step_seconds.values()
    whole = sum(parts)
    return "/".join(f"{100 * part / whole:.0f}" for part in parts) if whole > 0 else "-"


def _final(cell: Cell) -> str:
    if math.isnan(cell.metric):
        return "-"
    bits = "" if math.isnan(cell.bits_per_byte) else f", {cell.bits_per_byte:.3g} bits/byte"
    return f"{cell.metric:.3g}{bits}" if cell.lower_is_better else f"{cell.metric:.1f} %"


def _spread(cell: Cell, runs: list[Run]) -> str:
    if not cell.claims_time:
        return "not ranked"
    times = [run.time_to_target for run in runs]
    low, high = format_time(min(times)), format_time(max(times))
    if low.split(" ")[1:] == high.split(" ")[1:]:  # a common unit appears once
        low = low.split(" ")[0]
    return f"{low} .. {high}"


def _row(label: str, cell: Cell, runs: list[Run]) -> tuple[str, ...]:
    return (
        label,
        f"{cell.variant.workers} x {cell.threads}",
        format_time(cell.seconds_to_target),
        _spread(cell, runs),
        f"{cell.reached} of {cell.count}" + (f", {cell.failed} failed" if cell.failed else ""),
        "-" if math.isnan(cell.times_single) else f"{digits_text(cell.times_single)} x",
    )


def _why(label: str, cell: Cell) -> tuple[str, ...]:
    speeds = (f"{value:,.0f}" for value in (speed(cell), tokens_per_s(cell)))
    return (label, *("-" if text == "nan" else text for text in speeds),
            "-" if math.isnan(cell.mfu) else f"{100 * cell.mfu:.1f} %", _final(cell), _split(cell))


def _render(rows: list[tuple[str, ...]]) -> list[str]:
    rows = list(zip(*(column for column in zip(*rows)
                      if column[0] not in IF_KNOWN or any(text != "-" for text in column[1:]))))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                       for i, (cell, width) in enumerate(zip(row, widths))) for row in rows]
    lines.insert(1, "-" * len(lines[0]))
    return lines


def render_workload(workload: str, runs: list[Run]) -> str:
    """The tables of one workload: the ranking, and the parts of each strategy's time."""
    order = ranked(runs)
    names = cell_labels(cell for cell, _ in order)
    first = order[0][0]
    unit = "" if first.lower_is_better else " %"
    title = f"{workload}: to {first.target_metric} {first.target:g}{unit}"
    lines = [title, *_render([FIRST, *(_row(names[cell], cell, group) for cell, group in order)]),
             "", *_render([WHY, *(_why(names[cell], cell) for cell, _ in order)])]
    lines += [f"  {names[cell]}: {out_text(*cell.left_out, names[first]).replace('×', 'x')}"
              for cell, _ in order if cell.left_out]
    lines += sorted({f"  failed: {run.variant.strategy}, seed {run.seed}: {run.failure}"
                     for run in runs if run.status == "failed"})
    return "\n".join(lines)


def render_table(runs: list[Run]) -> str:
    workloads = dict.fromkeys(run.workload for run in runs)
    note = ("to target: training time, geometric mean; seeds that a strategy did not race\n"
            "are allowed for; the median where a run missed it (-). low .. high: its runs\n"
            "workers: workers x threads of each; vs single: how many times as long as single\n"
            "step %: compute / exposed communication / bubble (wait for stages) /\n"
            "        other wait / input / update / between kernels")
    return "\n\n".join([*(render_workload(name, [run for run in runs if run.workload == name])
                          for name in workloads), note])
