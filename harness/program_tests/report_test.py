#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reports as users make them: of real records, of several folders, of damaged records.

usage: harness/program_tests/report_test.py REGATTA SCHEMA
"""

import copy
import functools
import html
import json
import os
import re
import shutil
import statistics
import subprocess
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from test_support import (LIMIT_S, REGATTA, core_seconds, fresh_folder, output_of, record_lines,
                          regatta, run_tests)

QUICK = Path("results/xeon-no-amx-2-cores/quick")
STALENESS = Path("results/epyc-2-cores/staleness")
MANY, MANY_CORE_SECONDS = 10_000, 60
STRATEGIES, SEEDS = 3, 3  # of few_lines()


def lines_of(folder: Path) -> list[str]:
    return [line.rstrip("\n") for line in record_lines(folder)]


def few_lines() -> list[str]:
    """Records of one workload and a few strategies, whose page takes a second."""
    chosen = [f'"strategy":"{name}"' for name in ("single", "in_graph", "all_reduce")]
    return [line for line in lines_of(QUICK)
            if '"workload":"parabola"' in line and any(one in line for one in chosen)]


def folder_of(text: str) -> Path:
    folder = fresh_folder()
    (folder / "records.jsonl").write_text(text)
    return folder


def report(*folders: Path, out: Path | None = None,
           **environment: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    out = out or fresh_folder() / "report"
    names = [str(folder) for folder in folders]
    return regatta("report", *names, "--out", str(out), **environment), out


def page_maker(**environment: str) -> subprocess.CompletedProcess[str]:
    """Runs plots/report.py by itself, without a judgement."""
    return subprocess.run(["/usr/bin/python3", "-B", "plots/report.py", "judgement.json"],
                          capture_output=True, text=True, timeout=LIMIT_S, check=False,
                          env=os.environ | environment)


@functools.cache
def few_folder() -> Path:
    """A folder with few_lines()."""
    return folder_of("\n".join(few_lines()))


@functools.cache
def few_reported() -> tuple[subprocess.CompletedProcess[str], Path]:
    """The report of few_folder(), made once."""
    return report(few_folder())


def paths_in(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths to every field, and to the first element of each list."""
    inner = value.items() if isinstance(value, dict) else (
        [(0, value[0])] if isinstance(value, list) and value else [])
    for key, item in inner:
        yield (*path, key)
        yield from paths_in(item, (*path, key))


def damaged(record: dict[str, Any], number: int, path: tuple[str | int, ...]) -> dict[str, Any]:
    """The record without the field at `path`; with a run_id of its own, if it has one."""
    result = copy.deepcopy(record) | {"run_id": f"{number:032x}"}
    place: Any = result
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return result


class Reports(unittest.TestCase):
    def made(self, *folders: Path, warns: str = "") -> tuple[dict[str, Any], str]:
        """Judgement and page of a report. `warns`: text expected in stderr, which is otherwise
        clean."""
        return self.checked(*report(*folders), warns)

    def checked(self, ran: subprocess.CompletedProcess[str], out: Path,
                warns: str = "") -> tuple[dict[str, Any], str]:
        self.assertEqual(ran.returncode, 0, ran.stderr)
        if warns:
            self.assertIn(warns, ran.stderr)
        else:
            # Matplotlib may report that it builds its font cache on first use.
            complaints = [line for line in ran.stderr.splitlines() if "font cache" not in line]
            self.assertEqual(complaints, [])
        self.assertIn(f"report: {out}/index.html", ran.stdout)
        self.said = ran.stdout
        page = (out / "index.html").read_text()
        return json.loads((out / "judgement.json").read_text()), page

    def refused(self, *folders: Path, says: str) -> None:
        ran, out = report(*folders)
        self.assertEqual(ran.returncode, 1)
        self.assertIn(says, ran.stderr)
        self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)
        self.assertFalse((out / "index.html").exists())


class Right(Reports):
    def test_says_of_real_records_what_they_say(self) -> None:
        judgement, page = self.made(QUICK)
        records = [json.loads(line) for line in lines_of(QUICK)]
        seen = 0
        for workload in judgement["workloads"]:
            for cell in workload["cells"]:
                times = [record["training_time_to_target_ns"] for record in records
                         if record["cell"]["workload"] == workload["workload"]
                         and record["cell"]["strategy"] == cell["cell"]["strategy"]]
                self.assertEqual(cell["count"], len(times))
                seen += len(times)
                if cell["claims_time"]:
                    self.assertAlmostEqual(cell["seconds_to_target"]["median"],
                                           statistics.median(times) / 1e9)
        self.assertEqual(seen, len(records))
        for record in records:
            self.assertIn(html.escape(record["command"]), page)
        self.assertEqual(page.count('<tr class="row"'), 18)
        self.assertIn("too few runs to say which", page)  # 3 seeds
        last = judgement["workloads"][-1]["workload"]
        self.assertRegex(self.said, rf"(?m)^{last}: the fastest of \d+ is one of ")
        self.assertIn("(too few runs to say which)", self.said)
        self.assertIn(records[0]["software"]["git_commit"], page)

    def test_is_one_file_that_asks_no_network_with_its_figures_beside_it(self) -> None:
        ran, out = few_reported()
        self.assertEqual(ran.returncode, 0, ran.stderr)
        page = (out / "index.html").read_text()
        beside = r'(?:src|href)="(?!#|data:|figures/|judgement.json|[^":]*records.jsonl")[^"]*"'
        self.assertEqual(re.findall(beside, page), [])
        self.assertNotIn("@import", page)
        (records,) = re.findall(r'href="([^"]*records.jsonl)"', page)
        self.assertTrue((out / records).exists(), records)
        linked = set(re.findall(r'href="(figures/[^"]+)"', page))
        self.assertGreaterEqual(len(linked), 4)
        for name in linked:
            self.assertIn("<svg", (out / name).read_text())
            self.assertTrue((out / name).with_suffix(".png").exists())

    def test_holds_every_claim_with_a_verdict_and_the_graph_of_every_strategy(self) -> None:
        judgement, page = self.checked(*few_reported())
        section = page.partition('<section id="claims">')[2].partition("</section>")[0]
        claims = re.findall(r'id="claim-(\w+)">\s*<td data-label="claim">.*?'
                            r'<span class="badge [^>]*>[^<]+<', section, re.S)
        names = re.findall(r"\nClaim (\w+)\(", Path("harness/judge/claim_list.h").read_text())
        self.assertCountEqual(claims, names)
        self.assertEqual([one["name"] for one in judgement["claims"]], claims)
        graphs = page.partition('<section id="graphs">')[2].partition("</section>")[0]
        if shutil.which("dot") is None:
            self.assertIn("apt-get install graphviz", graphs)
        else:
            listed = json.loads(output_of("list", "strategies", "--format", "json"))["strategies"]
            strategies = {one["name"] for one in listed}
            self.assertEqual(set(re.findall(r'aria-label="figure: (\w+)"', graphs)),
                             strategies - {"single"})  # shown beside in_graph
            self.assertEqual(graphs.count('<svg class="chart"'), len(strategies) - 1)

    def test_says_how_learning_rates_were_chosen_and_what_a_matrix_left_out(self) -> None:
        self.assertIn("Every strategy ran at the workload's one learning rate",
                      html.unescape(self.checked(*few_reported())[1]))
        folder = folder_of("\n".join(few_lines()))
        note = {"missing": 3, "seconds": 90.0, "command": "regatta matrix x.toml --resume",
                "tuned": "settings chosen by 24 runs"}
        (folder / "matrix.json").write_text(json.dumps({"parabola": note}))
        judgement, page = self.made(folder)
        self.assertEqual(judgement["workloads"][0]["matrices"], [note])
        self.assertIn("Settings chosen by 24 runs.", page)
        for broken in ("{", '{"parabola": {"missing": "x"}}', "[1]"):
            (folder / "matrix.json").write_text(broken)
            said = regatta("report", "--format", "json", str(folder))
            self.assertEqual(json.loads(said.stdout)["workloads"][0]["matrices"], [], said.stderr)

    def test_is_the_same_to_the_byte_from_the_same_records(self) -> None:
        self.assertEqual(self.made(few_folder())[1], self.checked(*few_reported())[1])

    def test_holds_only_runs_of_one_machine_against_each_other(self) -> None:
        epyc = [line for line in lines_of(STALENESS) if '"workload":"parabola"' in line]
        judgement, page = self.made(folder_of("\n".join(few_lines())), folder_of("\n".join(epyc)))
        machines = [one["machine"]["cpu"] for one in judgement["workloads"]]
        self.assertEqual(machines, ["Intel(R) Xeon(R) Processor", "AMD EPYC"])
        self.assertIn("AMD EPYC", page)

    def test_prints_the_judgement_that_a_page_is_drawn_from(self) -> None:
        ran = regatta("report", "--format", "json", str(few_folder()))
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        printed, (judgement, _) = json.loads(ran.stdout), self.checked(*few_reported())
        self.assertEqual(printed, judgement)
        run = printed["workloads"][0]["cells"][0]["runs"][0]
        record = next(one for one in map(json.loads, few_lines()) if one["run_id"] == run["run_id"])
        self.assertEqual([one["examples"] for one in run["evaluations"]],
                         [one["examples"] for one in record["evaluations"]])
        self.assertEqual(run["losses"], [list(one.values()) for one in record["losses"]])

    def test_counts_a_folder_that_is_named_twice_once(self) -> None:
        folder = folder_of("\n".join(few_lines()))
        judgement, _ = self.made(folder, folder, warns="9 records are there more than once")
        self.assertEqual(judgement["workloads"][0]["cells"][0]["count"], SEEDS)

    def test_tells_of_failed_runs_with_their_reason_as_text(self) -> None:
        lines = few_lines()
        failed = json.loads(lines[0])
        failed |= {"status": "failed", "training_time_to_target_ns": None,
                   "full_time_to_target_ns": None, "result_time_to_target_ns": None,
                   "examples_to_target": None,
                   "failure": {"kind": "diverged", "text": "<script>alert(1)</script> & more"}}
        judgement, page = self.made(folder_of("\n".join([json.dumps(failed), *lines[1:]]) + "\n"))
        cell = next(cell for cell in judgement["workloads"][0]["cells"]
                    if cell["cell"]["strategy"] == failed["cell"]["strategy"])
        self.assertEqual((cell["failed"], cell["reached"]), (1, 2))
        self.assertIn("Runs that failed", page)
        self.assertIn("&lt;script&gt;alert(1)&lt;/script&gt; &amp; more", page)
        self.assertNotIn("<script>alert", page)

    def test_ten_thousand_records_take_seconds(self) -> None:
        shapes = [json.loads(line) for line in lines_of(QUICK)]
        lines = []
        for i in range(MANY):
            record = copy.copy(shapes[i % len(shapes)])
            evaluations = record["evaluations"]
            record |= {"run_id": f"{i:032x}", "losses": [],
                       "cell": record["cell"] | {"seed": i},
                       "evaluations": evaluations[:: max(1, len(evaluations) // 4)]}
            lines.append(json.dumps(record))
        begin = core_seconds()
        judgement, page = self.made(folder_of("\n".join(lines) + "\n"))
        took = core_seconds() - begin
        print(f"{MANY} records: {took:.1f} core-seconds, a page of {len(page) / 1e6:.1f} MB")
        self.assertLess(took, MANY_CORE_SECONDS)
        counts = [cell["count"] for one in judgement["workloads"] for cell in one["cells"]]
        self.assertEqual(sum(counts), MANY)


class Damaged(Reports):
    def test_leaves_out_a_last_line_cut_short_and_says_so(self) -> None:
        text = "\n".join(few_lines())
        judgement, page = self.made(folder_of(text[: len(text) - 500]),
                                    warns="records.jsonl:9: no record")
        self.assertIn("records.jsonl:9: no record", page)
        counts = [cell["count"] for one in judgement["workloads"] for cell in one["cells"]]
        self.assertEqual(sum(counts), STRATEGIES * SEEDS - 1)

    def test_refuses_records_of_another_schema(self) -> None:
        lines = few_lines()
        lines[7] = lines[7].replace('"schema":1', '"schema":99', 1)
        self.refused(folder_of("\n".join(lines)), says="records.jsonl:8: schema 99, but")

    def test_does_without_any_one_field(self) -> None:
        whole = next(record for record in map(json.loads, lines_of(QUICK))
                     if record["cell"]["strategy"] == "parameter_server_async")
        paths = list(paths_in(whole))
        self.assertGreater(len(paths), 100)
        lines = [damaged(whole, number, path) for number, path in enumerate(paths)]
        judgement, page = self.made(folder_of("\n".join(json.dumps(one) for one in lines)),
                                    warns="it has no cell/workload")
        counts = [cell["count"] for one in judgement["workloads"] for cell in one["cells"]]
        self.assertEqual(sum(counts), len(paths) - 4)  # - cell, workload, strategy, status
        self.assertEqual(page.count("it has no "), 4)

    def test_refuses_folders_without_records(self) -> None:
        empty = fresh_folder()
        self.refused(empty, says=f"cannot read {empty}/records.jsonl: No such file")
        self.refused(QUICK, empty, says=f"cannot read {empty}/records.jsonl")
        self.refused(folder_of(""), says="holds no whole record")
        self.refused(folder_of("{\n"), says="holds no whole record")
        ran = regatta("report")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("folders is required", ran.stderr)


class Elsewhere(Reports):
    def test_says_which_package_is_missing(self) -> None:
        for package in ("jinja2", "matplotlib"):
            hidden = fresh_folder()
            (hidden / f"{package}.py").write_text(
                f"raise ModuleNotFoundError('hidden', name='{package}')\n")
            ran = page_maker(PYTHONPATH=str(hidden))
            self.assertEqual(ran.returncode, 1)
            self.assertIn(f"apt-get install python3-{package}", ran.stderr)
            self.assertNotIn("Traceback", ran.stderr)

    def test_does_not_depend_on_the_users_python_and_style(self) -> None:
        hidden = fresh_folder()
        for package in ("jinja2", "numpy"):
            (hidden / f"{package}.py").write_text("raise ImportError('of another version')\n")
        (hidden / "matplotlibrc").write_text("text.usetex: True\nfont.size: 40\n")
        user = {"PYTHONPATH": str(hidden), "PYTHONHOME": str(hidden), "PYTHONSAFEPATH": "1",
                "MATPLOTLIBRC": str(hidden / "matplotlibrc"), "MPLBACKEND": "nonsense"}
        self.checked(*(styled := report(few_folder(), **user)))
        plain, drawn = few_reported()[1] / "figures", styled[1] / "figures"
        for figure in plain.glob("*.svg"):
            self.assertEqual((drawn / figure.name).read_bytes(), figure.read_bytes())

    def test_has_the_page_of_one_folder_inside_it(self) -> None:
        folder = folder_of("\n".join(few_lines()[:1]))
        ran = regatta("report", str(folder))
        self.assertIn(f"report: {folder}/report/index.html", ran.stdout, ran.stderr)

    def test_says_where_it_looked_for_the_maker_of_the_page(self) -> None:
        moved = fresh_folder() / "regatta"
        shutil.copy(REGATTA, moved)
        ran = subprocess.run([moved, "report", STALENESS, "--out", fresh_folder()],
                             capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(ran.returncode, 1)
        self.assertIn(f"nor a folder above {moved} has plots/report.py", ran.stderr)

    def test_says_that_it_cannot_write(self) -> None:
        blocked = fresh_folder() / "file"
        blocked.write_text("")
        ran, _ = report(STALENESS, out=blocked / "report")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("choose another one with --out", ran.stderr)


if __name__ == "__main__":
    run_tests()
