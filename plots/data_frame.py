# SPDX-License-Identifier: Apache-2.0
"""Reads records into pandas DataFrames, for notebooks and scripts.

    import sys; sys.path.append("plots")       # installed: share/regatta/plots
    from data_frame import evaluations, runs
    runs("out/quick").groupby("cell.strategy")["training_time_to_target_ns"].median()

Columns have the names of results/schema.json, with dots between levels: `cell.options.algorithm`.
Needs pandas (Debian: python3-pandas), which nothing else of Regatta needs.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas

FILES = ("records.jsonl", "records.jsonl.gz", "simulated.jsonl", "simulated.jsonl.gz")


def runs(*folders: str | Path) -> pandas.DataFrame:
    """A row for each run in the folders. Lists, such as `evaluations` and `workers`, stay lists.
    `folder` names the run's folder. Throws: FileNotFoundError if a folder has no records."""
    return pandas.json_normalize([record for folder in folders for record in _read(Path(folder))])


def evaluations(*folders: str | Path) -> pandas.DataFrame:
    """A row for each evaluation of each run: its fields, and those of the run's cell."""
    records = [record for folder in folders for record in _read(Path(folder))]
    return pandas.json_normalize([
        {**evaluation, **{name: record[name] for name in ("run_id", "folder", "status", "cell")}}
        for record in records for evaluation in record["evaluations"]])


def _read(folder: Path) -> list[dict[str, Any]]:
    files = [folder / name for name in FILES if (folder / name).exists()]
    if not files:
        raise FileNotFoundError(f"{folder} has none of {', '.join(FILES)}; give a folder that "
                                "`regatta run` or `regatta matrix` wrote by --out")
    records = []
    for file in files:
        with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as lines:
            records += [{**json.loads(line), "folder": str(folder)} for line in lines]
    return records
