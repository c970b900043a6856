# SPDX-License-Identifier: Apache-2.0
"""Files that plots/ writes: new ones, or in place of those that it wrote before. Another file is
replaced where --overwrite was given, and never one of records. A file is complete or as it was: a
reader sees the old one until the new one is written."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from strategies import PlotsError

MARK = "drawn by Regatta"  # in the head of each file that is written here
HEAD_BYTES = 4096
RECORDS_BEGIN = b'{"schema":'
OVERWRITE = "--overwrite"


def overwrite_in(arguments: list[str]) -> tuple[bool, list[str]]:
    """Whether the flag is the first of them, and those behind it."""
    overwrite = arguments[:1] == [OVERWRITE]
    return overwrite, arguments[overwrite:]


def require_free(file: Path, overwrite: bool) -> None:
    """Throws: PlotsError for a file that may not be replaced."""
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
    """What the block writes to the path that it gets is then at `file`. Throws: PlotsError."""
    require_free(file, overwrite)
    written = file.with_name(f".{file.name}.{os.getpid()}")
    written.touch(exist_ok=False)
    try:
        yield written
        written.replace(file)
    finally:
        written.unlink(missing_ok=True)
