# SPDX-License-Identifier: Apache-2.0
"""Lines of a log, one for each trial, and the table of many."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from soaking.trial import Outcome

# In the order of the table; a trial has findings of several sorts at most once each.
SORTS = ("hang", "process left", "file left", "torn record", "lost record", "wrong exit code",
         "wrong reason", "another is blamed", "not resumed", "other losses", "says of itself",
         "no verdict")
Line = dict[str, Any]


def line_of(outcome: Outcome) -> Line:
    trial = outcome.trial
    return {"number": trial.number, "cell": trial.cell.name, "fault": trial.fault.kind,
            "victim": trial.fault.victim, "after": trial.moment.after,
            "checkpoints": bool(trial.checkpoint_every), "end": outcome.end,
            "seconds": outcome.seconds, "resumed": outcome.resumed,
            "findings": [list(finding) for finding in outcome.findings]}


def read(lines: Iterable[str]) -> list[Line]:
    return [json.loads(line) for line in lines]


def role_of(line: Line) -> str:
    victim: str = line["victim"]
    return "rank" if victim.isdigit() else victim


def table(rows: list[Line], name: str, key: Callable[[Line], str]) -> list[str]:
    """How runs ended, by a key."""
    ends = sorted({row["end"] for row in rows}, key=lambda end: (end.startswith("SIG"), end))
    widths = [max(9, len(end) + 1) for end in ends]
    lines = [f"{name:36}{'faults':>8}" + "".join(f"{end:>{width}}"
                                                 for end, width in zip(ends, widths))
             + f"{'most s':>8}{'findings':>10}"]
    for label in sorted({key(row) for row in rows}):
        those = [row for row in rows if key(row) == label]
        counts = Counter(row["end"] for row in those)
        lines.append(f"{label:36}{len(those):8}"
                     + "".join(f"{counts[end]:{width}}" for end, width in zip(ends, widths))
                     + f"{max(row['seconds'] for row in those):8.1f}"
                     + f"{sum(bool(row['findings']) for row in those):10}")
    return lines


def summary_of(lines: list[Line]) -> str:
    rows = [line for line in lines if line["end"] != "missed"]
    missed = len(lines) - len(rows)
    text = [f"{len(rows)} faults in {len(lines)} runs ({missed} had ended before their moment)"]
    if not rows:
        return text[0]
    seconds = sorted(row["seconds"] for row in rows)
    text.append(f"from fault to end: median {seconds[len(seconds) // 2]:.1f} s, 99 % "
                f"{seconds[len(seconds) * 99 // 100]:.1f} s, most {seconds[-1]:.1f} s")
    text.append(f"{sum(row['checkpoints'] for row in rows)} runs with checkpoints, of which "
                f"{sum(row['resumed'] for row in rows)} went on from one")
    text.append("")
    text += table(rows, "signal, victim", lambda row: f"{row['fault']}: {role_of(row)}")
    text.append("")
    text += table(rows, "cell", lambda row: row["cell"])
    text.append("")
    counts = Counter(sort for row in rows for sort in {sort for sort, _ in row["findings"]})
    text += [f"{sort:20}{counts[sort]:6}" for sort in SORTS]
    return "\n".join(text)
