# SPDX-License-Identifier: Apache-2.0
"""Reads the records of a folder as they are, without the program."""

import gzip
import json
from pathlib import Path
from typing import Any

FILES = ("records.jsonl", "records.jsonl.gz", "simulated.jsonl", "simulated.jsonl.gz")


def read(folder: Path) -> list[dict[str, Any]]:
    """The folder's records, each with `folder`. Throws: FileNotFoundError if there are none."""
    files = [folder / name for name in FILES if (folder / name).exists()]
    if not files:
        raise FileNotFoundError(f"{folder} has none of {', '.join(FILES)}; give a folder that "
                                "`regatta run` or `regatta matrix` wrote by --out")
    records = []
    for file in files:
        with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as lines:
            records += [{**json.loads(line), "folder": str(folder)} for line in lines]
    return records
