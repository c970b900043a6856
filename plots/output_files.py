# SPDX-License-Identifier: Apache-2.0
"""Writes the files of plots/. A file that plots/ made before is replaced, any other only with
--overwrite, and records never. Files are replaced atomically: a reader sees the old file until the
new one is complete."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from strategies import PlotsError

MARK = "drawn by Regatta"  # stands in the head of each file written here
HEAD_BYTES = 4096
RECORDS_BEGIN = b'{"schema":'
OVERWRITE = "--overwrite"


def overwrite_in(arguments: list[str]) -> tuple[bool, list[str]]:
    """Whether --overwrite is the first argument, and the arguments after it."""
    overwrite = arguments[:1] == [OVERWRITE]
    return overwrite, arguments[overwrite:]


def run_command(about: str | None, arguments: list[str],
                draw: Callable[[list[Path], bool], list[Path]], most: int | None = None) -> int:
    """Runs a command that draws folders; returns its exit code. `about`: its docstring, which
    has its usage. `draw`: gets the folders and --overwrite; returns the files that it wrote."""
    overwrite, named = overwrite_in(arguments)
    about = str(about)
    if not named or named[0].startswith("-") or len(named) > (most or len(named)):
        print(about.strip(), file=sys.stderr)
        return 0 if arguments in (["--help"], ["-h"]) else 1
    try:
        files = draw([Path(folder) for folder in named], overwrite)
    except (PlotsError, OSError) as error:
        print(f"{about.split('usage: plots/')[1].split()[0]}: {error}", file=sys.stderr)
        return 1
    if files:
        print(f"figure: {' and '.join(map(str, files))}")
    return 0


def require_free(file: Path, overwrite: bool) -> None:
    """Checks that `file` may be written. Throws: PlotsError if it may not be replaced."""
    if not os.path.lexists(file):
        return
    if not file.is_file():
        raise PlotsError(f"{file} is no regular file; fix: move it away")
    with file.open("rb") as content:
        head = content.read(HEAD_BYTES)
    if head.startswith(RECORDS_BEGIN):
        raise PlotsError(f"{file} holds records, which no command replaces; fix: move it away")
    if MARK.encode() not in head and not overwrite:
        raise PlotsError(f"{file} exists and was not {MARK}; replace it with {OVERWRITE}, or move "
                         "it away")


@contextmanager
def new_file(file: Path, overwrite: bool = False) -> Iterator[Path]:
    """Gives the block a temporary path, which then replaces `file`. Throws: PlotsError."""
    require_free(file, overwrite)
    written = file.with_name(f".{file.name}.{os.getpid()}")
    written.touch(exist_ok=False)
    try:
        yield written
        written.replace(file)
    finally:
        written.unlink(missing_ok=True)
