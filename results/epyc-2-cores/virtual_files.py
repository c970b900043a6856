# SPDX-License-Identifier: Apache-2.0
"""Shared code of the scripts `draw` here, which draw a folder of virtual time."""

import sys
from collections.abc import Callable
from pathlib import Path

from judgement import judge
from output_files import overwrite_in
from simulated import Study, studies_of
from strategies import PlotsError


def studies_in(folder: Path, pattern: str, script: str) -> list[Study]:
    """The studies in the records that `script` made in the folder. Throws: PlotsError."""
    files = sorted((*folder.glob(pattern), *folder.glob(f"{pattern}.gz")))
    if not files:
        raise PlotsError(f"{folder} has no {pattern}; fix: {script} --out {folder}")
    return studies_of(judge(file.parent for file in files))


def run_command(about: str, draw: Callable[[Path, bool], list[Path]]) -> None:
    """Runs a command. `about`: its module docstring, which has its usage. `draw`: gets the folder
    and whether to replace files that plots/ did not draw; returns the files that it wrote."""
    try:
        overwrite, folders = overwrite_in(sys.argv[1:])
        if len(folders) != 1 or folders[0].startswith("-"):
            raise PlotsError(about.split("\n\n")[1])
        for file in draw(Path(folders[0]), overwrite):
            print(file)
    except (PlotsError, OSError) as error:
        sys.exit(f"{Path(sys.argv[0]).stem}: {error}")
