# SPDX-License-Identifier: Apache-2.0
"""The table of a report page that holds other programs against Regatta's runs of the same strategy.
From judgement.json."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from wording import bytes_text, count_text, digits_text, time_text

Json = dict[str, Any]


@dataclass
class ProgramRow:
    """A cell of another program beside Regatta's cell of the same strategy, if there is one: the
    one with the most processes, because frameworks have one for each worker."""

    workload: str
    label: str
    framework: str  # its versions, and notes on its set-up
    time: str  # to the target
    own: str  # Regatta's
    times: str  # how many times as long as Regatta's
    speed: str
    sent: str  # bytes on network interfaces for each example
    setup: str
    proof: str  # greatest difference of a loss from `single`


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _framework(runs: list[Json]) -> str:
    told = next((run["program"] for run in runs if run["program"]), None)
    if told is None:
        return "–"
    versions = " ".join(f"{name} {version}" for name, version in told["versions"].items())
    notes = [f"{name}: {text}" for name, text in told["notes"].items()]
    return "; ".join(filter(None, [versions or told["framework"], *notes])) or "–"


def _sent_for_each(run: Json) -> float | None:
    """Bytes on interfaces for each example of a run."""
    last = run["evaluations"][-1]["examples"] if run["evaluations"] else 0
    return run["interface_bytes"] / last if run["interface_bytes"] is not None and last else None


def _proof(runs: list[Json]) -> str:
    proofs = [run["proof"] for run in runs if run["proof"]]
    if not proofs:
        return "none"
    losses = [one["loss_difference"] for one in proofs if one["loss_difference"] is not None]
    if losses:
        return f"{max(losses):.1e} in {len(losses)} of {len(runs)} runs"
    return f"gradient only: {max(one['gradient_difference'] for one in proofs):.1e}"


def _row(judged: Json, cell: Json, label: str, own: Json | None) -> ProgramRow:
    runs, time = cell["runs"], cell["typical_seconds"]
    beside = own["typical_seconds"] if own else None
    speed = _median(run["examples_per_s"] for run in runs)
    sent = _median(map(_sent_for_each, runs))
    return ProgramRow(
        workload=judged["workload"], label=label, framework=_framework(runs),
        time="missed" if time is None else time_text(time),
        own="–" if beside is None else time_text(beside),
        times="–" if time is None or not beside else digits_text(time / beside),
        speed="–" if speed is None else f"{count_text(speed)}/s",
        sent="–" if sent is None else bytes_text(sent),
        setup=time_text(_median(run["setup_seconds"] for run in runs)), proof=_proof(runs))


def _raced(cell: Json) -> tuple[str, str]:
    """Our strategy, with its algorithm of all_reduce as adapters name it, and element type."""
    algorithm = cell["options"].get("all_reduce", "ring")
    return cell["strategy"] + (f"+{algorithm}" if algorithm != "ring" else ""), cell["dtype"]


def programs_of(judgement: Json, labels_of: Any) -> list[ProgramRow]:
    """A row for each cell of another program. `labels_of`: returns the labels of a workload's
    cells."""
    rows = []
    for judged in judgement["workloads"]:
        cells = judged["cells"]
        ours = {_raced(cell["cell"]): cell for cell in sorted(
            reversed(cells), key=lambda cell: cell["cell"]["processes"])  # the fastest of the most
                if not cell["cell"]["program"]}
        rows += [_row(judged, cell, label,
                      ours.get((cell["cell"]["strategy"].rpartition(" ")[2],
                                cell["cell"]["dtype"])))
                 for cell, label in zip(cells, labels_of(judged)) if cell["cell"]["program"]]
    return rows
