# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of `regatta export`: committed records, changed ones, and strict parsing."""

import json
import math
import uuid
from pathlib import Path
from typing import Any, NoReturn

from test_support import fresh_folder, output_of, record_lines

RESULTS = Path("results")
QUICK = RESULTS / "xeon-no-amx-2-cores" / "quick"
AUTHOR = ("--author", "Ann O'Nym")


def refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def parsed(text: str) -> Any:
    return json.loads(text, parse_constant=refuse)


def exported(folder: Path, form: str, *flags: str) -> str:
    """Exports to a format that is one file, and returns the text."""
    return output_of("export", str(folder), "--format", form, *flags)


def exported_folder(folder: Path, form: str, *flags: str) -> Path:
    out = fresh_folder() / "new" / "folder"
    output_of("export", str(folder), "--format", form, "--out", str(out), *flags)
    return out


def folder_of(*lines: str) -> Path:
    folder = fresh_folder()
    (folder / "records.jsonl").write_text("".join(lines))
    return folder


def lines_in(folder: Path) -> list[str]:
    return record_lines(folder)


def changed(line: str, **fields: Any) -> str:
    """Returns a copy of the record with changed fields and a new run_id."""
    return json.dumps({**json.loads(line), "run_id": uuid.uuid4().hex, **fields}) + "\n"


def failed(line: str) -> str:
    """The record of a run that diverged after two evaluations."""
    return changed(line, status="failed", training_time_to_target_ns=None, examples_to_target=None,
                   full_time_to_target_ns=None, evaluations=json.loads(line)["evaluations"][:2],
                   failure={"kind": "diverged", "text": 'step 7: "x, y"\r\nis not finite'})


def cell_of(record: dict[str, Any]) -> tuple[str, str]:
    """The key that distinguishes the cells of `QUICK`."""
    return record["cell"]["workload"], record["cell"]["strategy"]


def cells_of(records: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        cells.setdefault(cell_of(record), []).append(record)
    return cells


def seconds_to_target(record: dict[str, Any]) -> float:
    ns = record["training_time_to_target_ns"]
    return math.inf if ns is None else ns / 1e9
