# SPDX-License-Identifier: Apache-2.0
"""Committed baselines for ci/regression: results/MACHINE/gate, written by ci/baseline."""

import gzip
import json
from pathlib import Path

from gate_builds import ROOT, Refused

Machine = tuple[str, tuple[str, ...], int]  # CPU, its extensions, cores


def machine_of(folder: Path) -> Machine:
    """The machine of the first record. Throws: Refused if there is no record."""
    try:
        plain, compressed = folder / "records.jsonl", folder / "records.jsonl.gz"
        with gzip.open(compressed) if compressed.exists() else open(plain) as file:
            machine = json.loads(file.readline())["machine"]
        return machine["cpu"], tuple(machine["isa"]), machine["cores_used"]
    except (OSError, ValueError, KeyError) as error:
        raise Refused(f"{folder} holds no records of a gate ({error!r}); ci/baseline FOLDER makes "
                      "them") from error


def baselines() -> list[Path]:
    return [path.parent for path in sorted(ROOT.glob("results/*/gate/records.jsonl*"))]


def baseline_of(machine: Machine) -> Path:
    """The baseline of this machine. Throws: Refused if there is none."""
    for folder in baselines():
        if machine_of(folder) == machine:
            return folder
    raise Refused("no baseline under results/*/gate is of this machine "
                  f"({machine[0]}, {machine[2]} cores, {' '.join(machine[1])}); "
                  "`ci/baseline results/MACHINE/gate` makes one")
