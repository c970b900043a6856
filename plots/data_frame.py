# SPDX-License-Identifier: Apache-2.0
"""Reads records into pandas DataFrames, for notebooks and scripts.

    import sys; sys.path.append("plots")       # installed: share/regatta/plots
    from data_frame import evaluations, runs
    runs("out/quick").groupby("cell.strategy")["training_time_to_target_ns"].median()

Columns have the names of results/schema.json, with dots between levels: `cell.options.algorithm`.
Needs pandas (Debian: python3-pandas), which nothing else of Regatta needs.
"""

from pathlib import Path

import pandas

from record_files import read


def runs(*folders: str | Path) -> pandas.DataFrame:
    """A row for each run in the folders. Lists, such as `evaluations` and `workers`, stay lists.
    `folder` names the run's folder. Throws: FileNotFoundError if a folder has no records."""
    return pandas.json_normalize([record for folder in folders for record in read(Path(folder))])


def evaluations(*folders: str | Path) -> pandas.DataFrame:
    """A row for each evaluation of each run: its fields, and those of the run's cell."""
    records = [record for folder in folders for record in read(Path(folder))]
    return pandas.json_normalize([
        {**evaluation, **{name: record[name] for name in ("run_id", "folder", "status", "cell")}}
        for record in records for evaluation in record["evaluations"]])
