# SPDX-License-Identifier: Apache-2.0
"""Shared code of the scripts `make` here: a call that shows its output if it fails, and one
calibration for the cells of a study."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(sys.argv[0]).resolve().relative_to(ROOT)


def call(command: list[str]) -> str:
    """Runs a command; returns its stdout. Exits if it failed to start; a run that missed its target
    or diverged is no failure."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 2) or ran.stderr.startswith("regatta: "):
        sys.exit(f"{SCRIPT}: {' '.join(command)}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def calibrate(program: str, cells: Iterable[list[str]], file: Path) -> None:
    """Writes one calibration for all cells: messages, compute times and kernels of the first cell,
    and kernels of other cells that it lacks."""
    merged: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "calibration.json"
        first = Path(folder) / "first.json"
        for cell in cells:
            messages = ("--messages", str(first)) if merged else ()
            call([program, "calibrate", *cell, *messages, "--out", str(made), "--overwrite"])
            new = json.loads(made.read_text())
            if not merged:
                made.rename(first)
            merged = merged or new
            merged["kernels"] = new["kernels"] | merged["kernels"]
    merged["command"] = f"{SCRIPT} " + " ".join(sys.argv[1:])
    file.write_text(json.dumps(merged, indent=1) + "\n")


def name_source(file: Path) -> None:
    """Adds the commit to the calibration's `source`. With another `source` than its default,
    regatta accepts costs from another commit."""
    made = json.loads(file.read_text())
    if made["source"] == "regatta calibrate":
        made["source"] = f"regatta calibrate, at commit {made['git_commit'][:10]}"
        file.write_text(json.dumps(made, indent=1) + "\n")
