# SPDX-License-Identifier: Apache-2.0
"""The rows of a report page's tables, each with the runs of one cell. From judgement.json."""

from dataclasses import dataclass
from typing import Any

from headline import factors_text, out_of, standing_text
from wording import bytes_text, count_text, digits_text, metric_text, span_text, time_text

Json = dict[str, Any]


@dataclass
class Value:
    """An entry of the leaderboard."""

    text: str
    sort: float | str | None  # None: sorts last in both directions
    note: str = ""


@dataclass
class RunRow:
    seed: int
    status: str
    outcome: str  # time to the target, or the reason for none
    crossing: str
    command: str
    commit: str


@dataclass
class CellRow:
    label: str
    colour: str
    values: list[Value]
    runs: list[RunRow]
    factors: str  # time, examples and time per example, relative to the first cell
    standing: str  # relative to the first cell, with an interval of the time
    bytes: str
    last: str  # the worker that is usually last at exchanges, and its mean lateness
    wait: str  # in a collective
    pushes: str
    staleness: str
    updates: str
    full: str  # time to target on the full clock
    result: str  # time to target on the result clock
    mfu: str


# Columns of the leaderboard: key and heading.
COLUMNS = (("place", "#"), ("strategy", "strategy"), ("workers", "workers × threads"),
           ("time", "time to target"), ("single", "× single"), ("reached", "reached"),
           ("examples", "examples to target"), ("example", "time per example"),
           ("metric", "metric at the end"))


def _interval(interval: Json | None, text: Any) -> str:
    if interval is None or (interval["low"] is None and interval["high"] is None):
        return ""
    span = span_text(interval["low"], interval["high"], text)
    return "" if span == text(interval["median"]) else span


def _middle(interval: Json | None) -> float | None:
    return None if interval is None else interval["median"]


def _spread(cell: Json) -> str:
    """Times to the target from the fastest run to the slowest."""
    times = [run["seconds_to_target"] for run in cell["runs"]]
    if len(times) < 2:
        return ""
    return span_text(min(time for time in times if time is not None),
                     None if None in times else max(times), time_text)


def _values(place: int, label: str, cell: Json, metric: str, first: str) -> list[Value]:
    time, examples = cell["typical_seconds"], cell["examples_to_target"]
    claims, each = cell["claims_time"], cell["seconds_per_example"]
    end, count = cell["metric"], cell["count"]
    missed = Value("missed" if claims else "not ranked", None,
                   "in the median" if claims else "exchanges nothing")
    failed = f"{cell['failed']} failed" if cell["failed"] else ""
    left = cell["reached"] - cell["held"]
    speed, tokens = _middle(each), cell["tokens_per_example"]
    bits = _middle(cell["bits_per_byte"])
    unit = " tokens/s" if tokens else "/s"
    single, processes = (cell["against_single"] or {}).get("time"), cell["cell"]["processes"]
    return [
        Value(str(place) if claims else "–", place),
        Value(label, label, out_of(cell, first)),
        Value(f"{cell['cell']['workers']} × {cell['cell']['threads_per_worker']}",
              cell["cell"]["workers"],
              f"{processes} processes" if processes > 1 else ""),
        Value(time_text(time), time, _spread(cell)) if claims and time is not None else missed,
        Value(digits_text(single), single) if single else Value("–", None),
        Value(f"{cell['reached']} of {count}", cell["reached"] / count,
              ", ".join(filter(None, [failed, f"{left} fell back" if left else ""]))),
        Value(count_text(_middle(examples)), _middle(examples), _interval(examples, count_text)),
        Value(time_text(speed), speed,
              f"{count_text((tokens or 1) / speed)}{unit}" if speed else ""),
        Value(metric_text(_middle(end), metric), _middle(end), ", ".join(filter(None, [
            _interval(end, lambda value: metric_text(value, metric)),
            "" if bits is None else f"{bits:.3g} bits per byte"]))),
    ]


def _crossing(crossing: Json | None) -> str:
    """`between 2.43 s and 2.57 s (61,440 to 64,000 examples)`"""
    if crossing is None:
        return ""
    at, before = crossing["at"], crossing["before"]
    kept = "" if crossing["held"] else "; fell back later"
    if before is None:
        return f"there at the first evaluation{kept}"
    return (f"between {time_text(before['seconds'])} and {time_text(at['seconds'])}, "
            f"{count_text(before['examples'])} and {count_text(at['examples'])} examples{kept}")


def _run_row(run: Json) -> RunRow:
    outcome = {"reached": time_text(run["seconds_to_target"]), "missed": "missed the target",
               "failed": f"failed: {(run['failure'] or {}).get('text', '')}"}[run["status"]]
    if run["lost_processes"]:
        outcome += f"; went on without {len(run['lost_processes'])} lost"
    commit = run["commit"][:10] or "unknown"
    return RunRow(run["seed"], run["status"], outcome, _crossing(run["crossing"]), run["command"],
                  commit + (" with changes" if run["dirty"] else ""))


def _last(last: Json | None) -> str:
    """`replica1, 1.20 ms`, with the uncertainty of clocks if workers are in several processes."""
    if last is None:
        return "–"
    text = f"{last['place']}, {time_text(last['late_seconds'])}"
    uncertainty = last["uncertainty_seconds"]
    return f"{text} ± {time_text(uncertainty)}" if uncertainty else text


def _times(spans: Json | None) -> str:
    return "–" if spans is None else " / ".join(time_text(span) for span in spans.values())


def cell_row(place: int, label: str, colour: str, cell: Json, metric: str, first: str) -> CellRow:
    """The row of a cell. `first`: the label of the first one."""
    stale = cell["staleness"]
    updates = [f"{cell[key]:,} {word}" for key, word in
               (("updates_dropped", "dropped"), ("lost_updates", "lost")) if cell[key]]
    return CellRow(
        label=label, colour=colour,
        values=_values(place, label, cell, metric, first),
        runs=[_run_row(run) for run in cell["runs"]],
        factors=factors_text(cell), standing=standing_text(cell, first),
        bytes="nothing" if not cell["bytes_per_step_counted"] else
              f"{bytes_text(cell['bytes_per_step_computed'])} / "
              f"{bytes_text(cell['bytes_per_step_counted'])}",
        last=_last(cell["last_worker"]), wait=_times(cell["exchange_wait"]),
        pushes=_times(cell["pushes"]),
        staleness=f"{stale['mean']:.2f}, at most {stale['max']}" if stale["updates"] else "–",
        updates=", ".join(updates) or "–",
        full=time_text(_middle(cell["full_seconds_to_target"])),
        result=time_text(_middle(cell["result_seconds_to_target"])),
        mfu="–" if cell["mfu"] is None else f"{100 * cell['mfu']['median']:.1f} %")
