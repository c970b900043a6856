# SPDX-License-Identifier: Apache-2.0
"""A cell, its calibration and clusters for it, for tests of virtual time."""

import functools
import json
from pathlib import Path
from typing import Any

from test_support import fresh_folder, output_of

CELL = ("--workload", "parabola", "--strategy", "all_reduce", "--workers", "4", "--processes", "4")
HOSTS = "[[host]]\ncount = 4\ngbit_per_s = 10\nprocesses = 1\n"


@functools.cache
def calibration() -> str:
    file = fresh_folder() / "new" / "calibration.json"
    output_of("calibrate", *CELL, "--out", str(file))
    return file.read_text()


@functools.cache
def messages() -> str:
    """A file with the costs of messages on this machine."""
    file = fresh_folder() / "messages.json"
    file.write_text(calibration())
    return str(file)


@functools.cache
def calibration_of(cell: tuple[str, ...]) -> str:
    """A calibration of the cell's kernels, with the messages of CELL."""
    file = fresh_folder() / "calibration.json"
    output_of("calibrate", *cell, "--messages", messages(), "--out", str(file))
    return file.read_text()


def cluster(text: str = "latency_us = 20\n" + HOSTS, **changes: Any) -> Path:
    """A cluster's file with its calibration beside it, of which some fields are changed."""
    folder = fresh_folder()
    (folder / "calibration.json").write_text(json.dumps(json.loads(calibration()) | changes))
    (folder / "cluster.toml").write_text(f'calibration = "calibration.json"\n{text}')
    return folder / "cluster.toml"


def simulated(file: Path, *flags: str) -> dict[str, Any]:
    out = fresh_folder()
    output_of("run", *CELL, "--cluster", str(file), *flags, "--out", str(out))
    if {path.name for path in out.iterdir()} != {"simulated.jsonl"}:
        raise AssertionError(f"it leaves {list(out.iterdir())}")
    (line,) = (out / "simulated.jsonl").read_text().splitlines()
    record: dict[str, Any] = json.loads(line)
    return record
