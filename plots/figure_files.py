# SPDX-License-Identifier: Apache-2.0
"""Writes figures as files. Equal records give equal bytes: files have no date."""

from collections.abc import Iterable
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from hover import with_titles
from output_files import MARK, new_file, require_free


def save_figure(figure: Figure, folder: Path, stem: str, formats: Iterable[str] = ("svg", "png"),
                *, overwrite: bool = False) -> list[Path]:
    """Writes FOLDER/STEM.svg and FOLDER/STEM.png; returns their paths. Throws: PlotsError, before
    anything is written, if a file may not be replaced."""
    files = [folder / f"{stem}.{form}" for form in formats]
    for file in files:
        require_free(file, overwrite)
    for file in files:
        is_svg = file.suffix == ".svg"
        with (new_file(file, overwrite) as drawn,
              matplotlib.rc_context({"svg.hashsalt": "regatta"})):
            figure.savefig(drawn, format=file.suffix[1:], bbox_inches="tight", pad_inches=0.2,
                           **({"metadata": {"Date": None, "Creator": MARK}} if is_svg
                              else {"metadata": {"Software": MARK}, "dpi": 160}))
            if is_svg:
                drawn.write_text(with_titles(drawn.read_text()))
    return files
