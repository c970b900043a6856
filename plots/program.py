# SPDX-License-Identifier: Apache-2.0
"""Asks `regatta`, the program, for its judgement of records."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from strategies import PlotsError, use_table

ROOT = Path(__file__).resolve().parent.parent
INSTALLED = ROOT.parent.parent / "bin/regatta"  # if ROOT is PREFIX/share/regatta

Json = dict[str, Any]


def find_program() -> str:
    """Path of `regatta`: $REGATTA, the parent process, the newest build, the installed, or in PATH.

    Throws: PlotsError.
    """
    if named := os.environ.get("REGATTA"):
        return named
    built = [one for one in (ROOT / f"build/{preset}/bin/regatta"
                             for preset in ("release", "debug")) if one.exists()]
    candidates = sorted(built, key=lambda one: one.stat().st_mtime, reverse=True)
    candidates.append(INSTALLED)
    try:
        started_by = Path(os.readlink(f"/proc/{os.getppid()}/exe"))
        candidates[:0] = [started_by] if started_by.name == "regatta" else []
    except OSError:
        pass
    found = next((str(one) for one in candidates if one.exists()), shutil.which("regatta"))
    if found is None:
        raise PlotsError("the records of a folder are judged by the program, which is not here; "
                         "build it (ci/race) or name it in the variable REGATTA")
    return found


def judge(folders: Iterable[Path | str]) -> Json:
    """The program's judgement of the records in these folders. Prints the program's warnings.

    Throws: PlotsError, with the program's message, for example for a folder without records.
    """
    command = [find_program(), "report", "--format", "json", *map(str, folders)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise PlotsError(f"cannot start {command[0]}: {error.strerror}; build it (ci/race) or name "
                         "it in the variable REGATTA") from error
    said = done.stderr.strip()
    if done.returncode != 0:
        raise PlotsError(said.removeprefix("regatta: ")
                         or f"{' '.join(command)} ended with exit code {done.returncode}")
    if said:
        print(said, file=sys.stderr)
    judgement: Json = json.loads(done.stdout)
    use_table(judgement["strategies"], judgement["cell_fields"])
    return judgement
