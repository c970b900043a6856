# SPDX-License-Identifier: Apache-2.0
"""Figures as files: the same bytes from the same records, without a date."""

from pathlib import Path

import matplotlib
from matplotlib.figure import Figure


def save_figure(figure: Figure, folder: Path, stem: str) -> list[Path]:
    """Writes FOLDER/STEM.svg and FOLDER/STEM.png; returns them."""
    files = [folder / f"{stem}.svg", folder / f"{stem}.png"]
    with matplotlib.rc_context({"svg.hashsalt": "regatta"}):
        figure.savefig(files[0], metadata={"Date": None}, bbox_inches="tight", pad_inches=0.2)
    figure.savefig(files[1], dpi=160, bbox_inches="tight", pad_inches=0.2)
    return files
