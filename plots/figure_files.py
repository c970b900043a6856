# SPDX-License-Identifier: Apache-2.0
"""Writes figures as files. Equal records give equal bytes: files have no date."""

from collections.abc import Iterable
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from hover import with_titles
from output_files import MARK, new_file, require_free

DOTS_PER_INCH = 160  # of PNG files


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
                              else {"dpi": DOTS_PER_INCH}))
            if is_svg:
                drawn.write_text(with_titles(drawn.read_text()))
            else:
                _use_palette(drawn)
    return files


def _use_palette(file: Path) -> None:
    """Rewrites a PNG with 256 colours, which takes a third of the bytes, and marks it as ours."""
    mark = PngInfo()
    mark.add_text("Software", MARK)
    with Image.open(file) as image:
        few = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(file, format="png", optimize=True, pnginfo=mark, dpi=(DOTS_PER_INCH, DOTS_PER_INCH))
