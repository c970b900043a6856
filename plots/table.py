# SPDX-License-Identifier: Apache-2.0
"""The results as two tables for a terminal of 80 columns: plain ASCII, a row for each strategy."""

import math
import statistics

from labels import labels
from records import SPLIT, Run, format_time, group_runs, median_time, ranked

FIRST = ("strategy", "workers", "to target", "low .. high", "reached", "vs single")
WHY = ("strategy", "examples/s", "final", "step %")


def _split(runs: list[Run]) -> str:
    totals = [sum(run.split.get(part, 0.0) for run in runs) for part in SPLIT]
    whole = sum(totals)
    return "/".join(f"{100 * part / whole:.0f}" for part in totals) if whole > 0 else "-"


def _final(runs: list[Run]) -> str:
    metrics = [run.evaluations[-1].metric for run in runs if run.evaluations]
    if not metrics:
        return "-"
    middle = statistics.median(metrics)
    return f"{middle:.3g}" if runs[0].lower_is_better else f"{middle:.1f} %"


def _spread(runs: list[Run]) -> str:
    if not runs[0].claims_time:
        return "no claim"
    times = [run.time_to_target for run in runs]
    low, high = format_time(min(times)), format_time(max(times))
    if low.split(" ")[1:] == high.split(" ")[1:]:  # the unit once
        low = low.split(" ")[0]
    return f"{low} .. {high}"


def _row(label: str, runs: list[Run], single: float) -> tuple[str, ...]:
    time = median_time(runs)
    reached = sum(math.isfinite(run.time_to_target) for run in runs)
    failed = sum(run.status == "failed" for run in runs)
    comparable = math.isfinite(single) and math.isfinite(time) and time > 0
    return (
        label,
        str(runs[0].variant.workers),
        format_time(time),
        _spread(runs),
        f"{reached} of {len(runs)}" + (f", {failed} failed" if failed else ""),
        f"{single / time:.2f} x" if comparable else "-",
    )


def _why(label: str, runs: list[Run]) -> tuple[str, ...]:
    speeds = [run.examples_per_s for run in runs if math.isfinite(run.examples_per_s)]
    return (label, f"{statistics.median(speeds):,.0f}" if speeds else "-", _final(runs),
            _split(runs))


def _render(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                       for i, (cell, width) in enumerate(zip(row, widths))) for row in rows]
    lines.insert(1, "-" * len(lines[0]))
    return lines


def render_workload(workload: str, runs: list[Run]) -> str:
    """One workload: who came first, and where each strategy's time went."""
    groups = group_runs(runs)
    names = labels(groups)
    singles = [median_time(group) for variant, group in groups.items()
               if variant.strategy == "single"]
    single = min(singles, default=math.inf)
    order = [(names[variant], group) for variant, group in ranked(groups)]
    unit = "" if runs[0].lower_is_better else " %"
    title = f"{workload}: to {runs[0].target_metric} {runs[0].target:g}{unit}"
    lines = [title, *_render([FIRST, *(_row(name, group, single) for name, group in order)]), "",
             *_render([WHY, *(_why(name, group) for name, group in order)])]
    lines += sorted({f"  failed: {run.variant.strategy}, seed {run.seed}: {run.failure}"
                     for run in runs if run.status == "failed"})
    return "\n".join(lines)


def render_table(runs: list[Run]) -> str:
    workloads = dict.fromkeys(run.workload for run in runs)
    note = ("to target: median training time; a run that missed it counts as infinite (-)\n"
            "vs single: how many times as fast as single\n"
            "step %: compute / exposed communication / wait / input / update of a worker")
    return "\n\n".join([*(render_workload(name, [run for run in runs if run.workload == name])
                          for name in workloads), note])
