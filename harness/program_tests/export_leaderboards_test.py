# SPDX-License-Identifier: Apache-2.0
"""`regatta export --format mllog` says how batch and model were dealt. export_test.cpp has the
values of entries and logs, export_checker_test.py applies MLPerf's checker.

usage: export_leaderboards_test.py REGATTA SCHEMA [unittest arguments]
"""

import json
import re
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from export_support import (AUTHOR, QUICK, cell_of, changed, exported_folder, folder_of, lines_in,
                            parsed)
from test_support import records_in, run_tests


def mllog_lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text().splitlines():
        match = re.fullmatch(r":::MLLOG (\{.*\})", line)
        assert match, line
        yield parsed(match[1])


class Mllog(unittest.TestCase):
    def test_tells_shards_of_layers_from_stages(self) -> None:
        line = lines_in(QUICK)[0]
        cell = json.loads(line)["cell"] | {"workers": 4, "stages": 2}
        for strategy, options, pipeline, tensor, context in (
                ("all_reduce+pipeline", {}, 2, 1, 1), ("all_reduce+tensor_parallel", {}, 1, 2, 1),
                ("pipeline+tensor_parallel", {"shards": 2}, 2, 2, 1),
                ("pipeline+context_parallel", {"shards": 2}, 2, 1, 2)):
            record = changed(line, cell=cell | {
                "strategy": strategy, "options": options, "stages": pipeline * tensor * context})
            (path,) = exported_folder(folder_of(record), "mllog", *AUTHOR).rglob("*.txt")
            value = {entry["key"]: entry["value"] for entry in mllog_lines(path)}
            self.assertEqual(
                [value[f"{kind}_parallelism"] for kind in ("pipeline", "tensor", "context")],
                [pipeline, tensor, context])

    def test_names_no_share_where_shares_differ_or_cannot_be(self) -> None:
        (cell,) = [run["cell"] for run in records_in(QUICK) if cell_of(run) == (
            "resnet9_thin", "all_reduce") and run["cell"]["seed"] == 1]
        line = lines_in(QUICK)[0]
        for change, share in (({}, [cell["global_batch"] // 2]), ({"global_batch": 32}, [16]),
                              ({"global_batch": 24}, []),  # three groups of 8
                              ({"global_batch": 0}, []), ({"global_batch": 2**40}, []),
                              ({"workers": 0}, []), ({"stages": 5}, []),
                              ({"workload": "resnet8_thin"}, [])):
            record = changed(line, cell=cell | change)
            (path,) = exported_folder(folder_of(record), "mllog", *AUTHOR).rglob("*.txt")
            self.assertEqual([entry["value"] for entry in mllog_lines(path)
                              if entry["key"] == "micro_batch_size"], share, change)


if __name__ == "__main__":
    run_tests()
