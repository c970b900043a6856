#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of a slow worker, as a table: plots/straggler.py DIR.

Reads the records of ci/straggler: for each strategy the median examples per second with and without
the straggler, and their ratio beside what is expected. A synchronous strategy waits for the slowest
of n workers: 1 / factor. An asynchronous one loses that worker's share only:
(n - 1 + 1 / factor) / n.
"""

import statistics
import sys

from pathlib import Path

from records import RecordsError, Run, read_records

ASYNCHRONOUS = {"async_shared", "parameter_server_async"}


def _factor(run: Run) -> float:
    """Of `1:3`, 3; 1 without a straggler."""
    return float(run.variant.straggler.split(":")[1]) if run.variant.straggler else 1.0


def table(runs: list[Run]) -> list[str]:
    lines = [f"{'strategy':<16} {'examples/s':>11} {'straggler':>11} {'ratio':>6} {'expected':>9}"
             f" {'runs':>5}"]
    for strategy in dict.fromkeys(run.variant.strategy for run in runs):
        own = [run for run in runs if run.variant.strategy == strategy]
        plain = [run.examples_per_s for run in own if _factor(run) == 1]
        slow = [run for run in own if _factor(run) > 1]
        if not plain or not slow:
            continue
        factor, workers = _factor(slow[0]), slow[0].variant.workers
        expected = 1 / factor
        if strategy in ASYNCHRONOUS:
            expected = (workers - 1 + 1 / factor) / workers
        before = statistics.median(plain)
        after = statistics.median(run.examples_per_s for run in slow)
        lines.append(f"{strategy:<16} {before:>11,.0f} {after:>11,.0f} {after / before:>6.2f}"
                     f" {expected:>9.2f} {len(slow):>5}")
    return lines


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: plots/straggler.py DIR", file=sys.stderr)
        return 1
    try:
        runs = read_records(Path(sys.argv[1]), warn=lambda text: print(text, file=sys.stderr))
    except RecordsError as error:
        print(f"straggler: {error}", file=sys.stderr)
        return 1
    print("\n".join(table(runs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
