# SPDX-License-Identifier: Apache-2.0
"""The contents of a report page: judgement.json as rows and sentences.

Every number comes from judgement.json; units and wording are added here.
"""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headline import Headline, headline_of, why_of
from inline_svg import Graphic
from page_cells import CellRow, cell_row
from page_claims import Claim, claims_of, command_that_decides
from page_programs import ProgramRow, programs_of
from palette import styles_of
from strategies import strategies_text, table
from labels import labels, workers_text
from judgement import Variant, variant_of
from wording import bytes_text, counts_text, plural

Json = dict[str, Any]


@dataclass
class Failure:
    workload: str
    label: str
    seed: int
    kind: str
    text: str
    command: str


@dataclass
class WorkloadView:
    title: str
    slug: str
    conditions: str
    apart: str  # the conditions, if another view has the same title
    headline: Headline
    missed: str  # cells that missed the target
    same_start: str
    rates: str  # how learning rates and options were chosen
    warnings: list[str]
    cells: list[CellRow]
    why: str
    machine: list[tuple[str, str]]
    builds: list[list[tuple[str, str]]]
    result: list[Graphic] = field(default_factory=list)
    figures: list[Graphic] = field(default_factory=list)


@dataclass
class Records:
    name: str
    link: str  # their path relative to the page; empty: they are missing


@dataclass
class Page:
    folders: list[str]
    records: list[Records]
    runs: int
    counts: str  # cells and strategies of these runs
    strategies: str  # in the program's table
    warnings: list[str]
    workloads: list[WorkloadView]
    failures: list[Failure]
    dates: str
    coverage: str
    programs: list[ProgramRow] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    decides: str = ""  # the command that would decide the undecided claims
    measurements: list[WorkloadView] = field(default_factory=list)
    graphs: list[Graphic] = field(default_factory=list)


def cell_labels(judged: Json) -> list[str]:
    """The same labels as in figures: the strategy, and the settings that distinguish its cells."""
    variants: list[Variant] = [variant_of(cell["cell"]) for cell in judged["cells"]]
    named = labels(variants)
    return [named[variant] for variant in variants]


def _conditions(judged: Json) -> str:
    cells = [cell["cell"] for cell in judged["cells"]]
    unit = " %" if judged["target"]["metric"] == "accuracy" else ""
    parts = [*judged["options"], judged["dataset"], f"target {judged['target']['metric']} "
             f"{judged['target']['value']:g}{unit}",
             "global batch " + counts_text(cell["global_batch"] for cell in cells),
             workers_text((cell["strategy"], cell["workers"], cell["threads_per_worker"])
                          for cell in cells)]
    parts += [f"worker {one['worker']} slowed by a factor of {one['factor']:g}"
              for one in cells[0]["straggler"]]
    if cells[0]["recipe"] > 1:
        parts.append(f"recipe {cells[0]['recipe']}")
    parts.append(variant_of(cells[0]).length)
    machine = judged["machine"]
    parts.append(f"computed from measured costs: {machine['cpu']}" if judged["virtual_time"] else
                 f"{machine['cpu']}, {plural(machine['cores_used'], 'core')}")
    return " · ".join(part for part in parts if part)


def _missed(judged: Json, names: list[str]) -> str:
    missed = [f"{name} ({cell['reached']} of {plural(cell['count'], 'run')} reached it)"
              for name, cell in zip(names, judged["cells"])
              if cell["claims_time"] and cell["metric"] and cell["typical_seconds"] is None]
    return f"Missed the target: {', '.join(missed)}." if missed else ""


def _same_start(judged: Json) -> str:
    same = judged["same_start"]
    if same["differs"]:
        return "Not the same race: " + "; ".join(same["differs"]) + "."
    if same["compared"] == 0:
        return ""
    batches = {cell["cell"]["global_batch"] for cell in judged["cells"]}
    compared = plural(same["compared"], "seed") if len(batches) == 1 else (
        plural(same["compared"], "pair") + " of seed and batch")
    return (f"The same race for all: first weights, and the examples that synchronous strategies "
            f"consumed, were equal in {compared}.")


def _rates(judged: Json) -> str:
    tuned = [one["tuned"] for one in judged["matrices"] if one["tuned"]]
    if tuned:
        return "; ".join(text[:1].upper() + text[1:] for text in tuned) + "."
    if len(judged["cells"]) < 2:
        return ""
    if len({cell["cell"]["rate_scale"] for cell in judged["cells"]}) > 1:
        return "Learning rates differ between cells, and no run of this page chose them."
    return ("Every strategy ran at the workload's one learning rate; those with options of their "
            "own may do better by tuning (regatta matrix --tune).")


def _machine(machine: Json) -> list[tuple[str, str]]:
    rows = [("CPU", machine["cpu"]), ("extensions", " ".join(machine["isa"])),
            ("cores used", f"{machine['cores_used']} of {machine['cores_available']} logical, "
                           f"{machine['cores_physical']} physical"),
            ("memory", bytes_text(machine["memory_bytes"])),
            ("GPUs", ", ".join(machine["gpus"])), ("driver", machine["driver"] or "")]
    return [(name, text) for name, text in rows if text]


def _build(build: Json) -> list[tuple[str, str]]:
    software = build["software"]
    commit = software["git_commit"] + (", with changes" if software["dirty"] else "")
    names = (("compiler", "compiler"), ("onednn", "oneDNN"), ("open_mpi", "Open MPI"),
             ("grpc", "gRPC"), ("cuda", "CUDA"), ("cudnn", "cuDNN"), ("nccl", "NCCL"))
    rows = [("commit", commit), *((name, software[key] or "") for key, name in names)]
    rows += sorted(build["environment"].items())
    return [(name, text) for name, text in rows if text]


def _view(index: int, judged: Json) -> WorkloadView:
    names = cell_labels(judged)
    styles = styles_of(cell["cell"]["strategy"] for cell in judged["cells"])  # as in figures
    metric = judged["target"]["metric"]
    return WorkloadView(
        title=judged["workload"] + (", virtual time" if judged["virtual_time"] else ""), apart="",
        slug=f"{index + 1}-" + re.sub(r"[^A-Za-z0-9_-]", "-", judged["workload"]),
        conditions=_conditions(judged), headline=headline_of(judged, names),
        missed=_missed(judged, names), same_start=_same_start(judged), rates=_rates(judged),
        warnings=judged["warnings"],
        cells=[cell_row(place, name, style.colour, cell, metric, names[0])
               for place, (name, style, cell)
               in enumerate(zip(names, styles, judged["cells"]), start=1)],
        why=why_of(judged, names),
        machine=([("cluster", judged["machine"]["cpu"])] if judged["virtual_time"]
                 else _machine(judged["machine"])),
        builds=[_build(build) for build in judged["software"]])


def _failures(judgement: Json) -> list[Failure]:
    return [Failure(judged["workload"], name, run["seed"], run["failure"]["kind"],
                    run["failure"]["text"], run["command"])
            for judged in judgement["workloads"] + judgement["virtual_time"]
            for name, cell in zip(cell_labels(judged), judged["cells"])
            for run in cell["runs"] if run["status"] == "failed" and run["failure"]]


def _coverage(judgement: Json) -> str:
    """The coverage of the intervals on this page, by the number of runs."""
    by_count = {cell["count"]: cell["seconds_to_target"]["coverage"]
                for judged in judgement["workloads"] for cell in judged["cells"]
                if cell["seconds_to_target"]}
    return ", ".join(f"{100 * coverage:.3g} % ({plural(count, 'run')})"
                     for count, coverage in sorted(by_count.items()))


def records_in(folder: str, page: Path) -> list[Records]:
    """The files of records in a folder. `page`: the folder that will hold the page."""
    files = [Path(folder) / f"{kind}.jsonl{ending}" for kind in ("records", "simulated")
             for ending in ("", ".gz")]
    return ([Records(str(file), os.path.relpath(file, page)) for file in files if file.exists()]
            or [Records(folder, "")])


def page_of(judgement: Json, folder: Path) -> Page:
    """The contents of the page. `folder`: the folder that will hold it."""
    shown = judgement["workloads"] + judgement["virtual_time"]
    every = [*shown, *judgement["measurements"]]
    runs = [run for judged in every for cell in judged["cells"]
            for run in cell["runs"]]
    views = [_view(i, one) for i, one in enumerate(shown)]
    measured = [_view(len(views) + i, one) for i, one in enumerate(judgement["measurements"])]
    titles = [view.title for view in views]
    for view in views:
        view.apart = view.conditions if titles.count(view.title) > 1 else ""
    days = sorted({run["timestamp"][:10] for run in runs} - {""})
    cells = [cell["cell"]["strategy"] for judged in every for cell in judged["cells"]]
    return Page(folders=judgement["folders"],
                records=[one for name in judgement["folders"] for one in records_in(name, folder)],
                runs=len(runs), strategies=strategies_text(table()),
                counts=f"{plural(len(cells), 'cell')}, {strategies_text(cells)}",
                warnings=judgement["warnings"],
                workloads=views, measurements=measured, claims=claims_of(judgement),
                programs=programs_of(judgement, cell_labels),
                decides=command_that_decides(judgement), failures=_failures(judgement),
                coverage=_coverage(judgement),
                dates=" to ".join(dict.fromkeys([days[0], days[-1]])) if days else "")
