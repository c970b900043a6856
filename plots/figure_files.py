# SPDX-License-Identifier: Apache-2.0
"""Writes figures as files. The same records give the same bytes, without a date. A file is replaced
as a whole: a reader sees the old figure until the new one is complete."""

from collections.abc import Iterable
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from hover import with_titles


def save_figure(figure: Figure, folder: Path, stem: str,
                formats: Iterable[str] = ("svg", "png")) -> list[Path]:
    """Writes FOLDER/STEM.svg and FOLDER/STEM.png; returns them."""
    files = [folder / f"{stem}.{form}" for form in formats]
    for file in files:
        drawn = file.with_name(f".{file.name}")
        with matplotlib.rc_context({"svg.hashsalt": "regatta"}):
            figure.savefig(drawn, format=file.suffix[1:], bbox_inches="tight", pad_inches=0.2,
                           **({"metadata": {"Date": None}} if file.suffix == ".svg"
                              else {"dpi": 160}))
        if file.suffix == ".svg":
            drawn.write_text(with_titles(drawn.read_text()))
        drawn.replace(file)
    return files
